"""Totals that are measured directly, and synthetic records that are held to them."""
