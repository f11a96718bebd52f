"""Growth and flows between two years, of units that may be in both. Proof: change.md."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tacita.lazy import lazily

if TYPE_CHECKING:
    from tacita.mechanisms.change.plan import Change

__all__ = ["Change"]

__getattr__ = lazily(__name__, {"Change": "plan"})
