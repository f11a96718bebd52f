"""Sums with noise on their root or logarithm, for comparison: per-record zero-concentrated privacy.

What a unit loses grows with its number, without end; the noise of a cell grows with the cell.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tacita.lazy import lazily

if TYPE_CHECKING:
    from tacita.mechanisms.slow.sums import SlowSums

__all__ = ["SlowSums"]

__getattr__ = lazily(__name__, {"SlowSums": "sums"})
