"""Code lists of columns for which nobody has a public one: the codes that many records have. Proof: codes.md."""

from __future__ import annotations

from tacita.mechanisms.codes.plan import CodeLists, FoundCodes

__all__ = ["CodeLists", "FoundCodes"]
