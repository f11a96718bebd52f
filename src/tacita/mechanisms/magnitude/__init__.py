"""Tables of magnitudes (payroll, sales, amounts, jobs) when one unit's numbers may change by a factor 1 + α.

`SmoothSums` adds numbers up by cell, `SmoothFlows` what was gained and lost between two years, `SmoothGrowth` has the
totals of both. The noise of a cell follows its largest unit, a noisy size of which is released too, so that margins of
error can be published.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tacita.lazy import lazily

if TYPE_CHECKING:
    from tacita.mechanisms.magnitude.flows import SmoothFlows
    from tacita.mechanisms.magnitude.growth import SmoothGrowth
    from tacita.mechanisms.magnitude.sums import SmoothSums

MEASURES = {"flows": "SmoothFlows", "growth": "SmoothGrowth", "sum": "SmoothSums"}
HOMES = {"SmoothFlows": "flows", "SmoothGrowth": "growth", "SmoothSums": "sums"}

__all__ = ["SmoothFlows", "SmoothGrowth", "SmoothSums"]

__getattr__ = lazily(__name__, HOMES)
