"""Specifications, schemas and files changed at random, run in processes that are watched."""
