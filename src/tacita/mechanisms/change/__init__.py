"""Growth and flows between two years, of units that may be in both. Proof: change.md."""

from __future__ import annotations

from tacita.mechanisms.change.plan import Change

__all__ = ["Change"]
