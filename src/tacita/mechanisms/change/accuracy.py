"""How wide the margins of growth and flows will be, said before anything is spent."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tacita.data.schema import Schema
from tacita.mechanisms.change.measuring import CHANGED, Limit, buys_limit, furthest_change
from tacita.mechanisms.table.measuring import BOUGHT
from tacita.mechanisms.table.noise import Reach, prudent, spread_of
from tacita.noise.combination import margin as combined

if TYPE_CHECKING:
    from tacita.mechanisms.change.plan import Change

_SIZES = (100, 1_000, 10_000)  # units of the cells that a forecast speaks of
_MIDDLE = 0.5  # half of all errors are smaller than the median error


def foreseen(plan: Change, schema: Schema) -> tuple[tuple[str, ...], dict[str, float]]:
    """Plain sentences and figures about the expected error."""
    pairs, level, unit = plan.pairs(schema), f"{float(plan.confidence):.0%}", plan.neighbours.unit
    bought, grows = buys_limit(pairs, schema), plan.statistic == "growth"
    limit = Limit.above(furthest_change(pairs, schema))
    size = 1.0 if bought else pairs.steps(schema).size * (1 << limit.halvings) * limit.most
    budget = plan.budget.share(CHANGED) if grows else plan.budget
    reach = (Reach.added_up if grows else Reach.of_one)(limit.most, plan.records)
    variance, kurtosis = spread_of((budget.share(1 - BOUGHT) if bought else budget).law(reach).describe())
    noise = [(np.array([variance / limit.most**2]), kurtosis)]
    half, wide = (size * float(combined(one, noise)[0]) for one in (_MIDDLE, float(prudent(plan.confidence))))
    what, other = ("change", "percent") if grows else ("entry, exit, and each of growing and shrinking", "")
    if not bought:
        sentences = [
            f"{what}: ± {wide:,.3g} with {level} confidence in every cell, half of the errors below {half:.3g}"
        ]
        figures = {"margin_of_change": wide, "median_error_of_change": half}
        if other and not plan.of and not plan.weights:
            points = {n: 100 * wide / n for n in _SIZES}
            said = "; ".join(f"± {one:,.2g} points in a cell of {n:,} {unit}s" for n, one in points.items())
            sentences.append(f"{other}: {said}")
            figures |= {f"points_at_{n}": one for n, one in points.items()}
        return tuple(sentences), figures
    sentences = [
        f"{what}: ± {wide:.3g} times the limit up to which one {unit}'s change counts, with {level} confidence; half "
        f"of the errors are below {half:.3g} limits; the limit is bought with a quarter of the budget"
    ]
    if other:
        points = {n: 100 * wide / n for n in _SIZES}
        said = "; ".join(f"± {one:,.2g} points in a cell of {n:,} {unit}s" for n, one in points.items())
        sentences.append(f"{other}: {said} for each time that the limit holds the mean of the earlier year")
    return tuple(sentences), {"change_in_limits": wide, "median_error_in_limits": half}
