"""What a wanted margin of a table costs."""

from __future__ import annotations

import re
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from tacita.errors import UsageError
from tacita.mechanisms.table.accuracy import UNSIGNED, clamped_ends, counted_reach, gradient, in_clamps
from tacita.mechanisms.table.noise import Budget, prudent
from tacita.noise.combination import margin as combined

if TYPE_CHECKING:
    from tacita.mechanisms.table.plan import Table

ROUNDED = 1.015  # what rounding to three digits may add to a margin


def epsilon_for(table: Table) -> Fraction:
    """The least ε of two digits whose margin is the wanted one."""
    wanted, relative = _wanted(table.margin)
    if table.statistic not in ("count", "sum", "mean") or table.weights:
        raise UsageError(f"margin: a {table.statistic} is planned by epsilon; give that instead")
    if relative or table.statistic == "mean":
        if isinstance(table.margin_at, bool) or not isinstance(table.margin_at, int) or table.margin_at < 1:
            raise UsageError("margin_at: say for a cell of how many records the margin is meant, such as 1000")
        wanted *= table.margin_at if relative else 1
    if table.statistic != "count" and not isinstance(table.clamp, tuple):
        raise UsageError(
            "margin: the error of a sum or mean depends on where numbers are clamped; give clamp = [lower, upper]"
        )
    if table.statistic != "count" and relative:
        raise UsageError("margin: in percent it is for counts; give it in the units of the column")
    candidates = [Fraction(two, 10) * Fraction(10) ** power for power in range(-4, 4) for two in range(10, 100)]
    low, high = 0, len(candidates) - 1
    if _margin(table, candidates[high]) > wanted:
        raise UsageError("margin: is narrower than any epsilon up to 9,900 gives; ask for a wider one")
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if _margin(table, candidates[middle]) <= wanted else (middle + 1, high)
    return candidates[low]


def _margin(table: Table, epsilon: Fraction) -> float:
    budget = Budget(epsilon, table.delta)
    if table.statistic == "count":
        return float(budget.law(counted_reach(table)).margin(table.confidence))
    low, high = table.clamp if isinstance(table.clamp, tuple) else (0.0, 1.0)
    ends = clamped_ends(low, high, False) if table.statistic == "sum" else UNSIGNED
    wide = ROUNDED * float(combined(float(prudent(table.confidence)), [in_clamps(table, budget, ends)])[0])
    if table.statistic == "sum":
        return wide * max(abs(low), abs(high))
    return wide * gradient("mean", high - low) / float(table.margin_at or 1)


def _wanted(given: Any) -> tuple[float, bool]:
    matched = re.fullmatch(r"\s*([0-9]+(?:\.[0-9]+)?)\s*(%?)\s*", given) if isinstance(given, str) else None
    if matched is None or float(matched[1]) <= 0:
        raise UsageError('margin: give it in quotes, in units or in percent, such as "200" or "5%"')
    relative = matched[2] == "%"
    return float(matched[1]) / (100 if relative else 1), relative
