"""Cells that add up to totals which are public anyway, such as the population of each region.

Least squares moves the cells of each level together onto its public total, most where their error is largest. What is
known for certain takes a part of every error away, so no interval is longer than before. Post-processing only:
estimates and public numbers go in. The proof that it costs nothing is that of every table: `mechanisms/table/table.md`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np

from tacita.data.schema import Schema
from tacita.errors import UsageError
from tacita.noise.combination import margin
from tacita.tables.consistency import onto_simplex, rounded
from tacita.tables.estimates import Estimates, Floats

PublicTotals = Mapping[str, Mapping[str, float]]

_UNITS = 200  # cells are rounded to a decimal of which the narrowest margin holds about so many


def refuse_public_totals(
    plan: Mapping[str, Any], settings: Mapping[str, Any], totals: PublicTotals, schema: Schema
) -> None:
    """What cannot add up to public totals is refused before anything is spent."""
    if plan.get("statistic") not in ("count", "sum") or plan.get("levels"):
        raise UsageError("public_totals: is for counts and sums without levels; leave public_totals out")
    if other := next((key for key in ("totals", "agree", "rank") if settings.get(key)), None):
        raise UsageError(f"public_totals: cells that add up to public totals have no {other}; leave one of the two out")
    by = tuple(plan["by"])
    if len(totals) != 1 or next(iter(totals)) not in by or len(by) < 2:
        raise UsageError(
            "public_totals: name one column of by and the total of each of its levels, and by another column beside it"
        )
    ((column, known),) = totals.items()
    if wrong := sorted(set(known) ^ set(schema.levels(column))):
        raise UsageError(f"public_totals: {column} needs a total for each of its levels and no other; see {wrong[0]}")
    for level, total in known.items():
        if not np.isfinite(total) or total < 0:
            raise UsageError(f"public_totals: the total of {level} must be a number, 0 or above")
        if total != int(total) and plan["statistic"] == "count" and not plan.get("weights"):
            raise UsageError(f"public_totals: records are counted; the total of {level} must be whole")


def calibrated(
    found: Estimates, totals: PublicTotals, schema: Schema, confidence: float, *, nonnegative: bool
) -> Estimates:
    """The same cells, whose sum in each level is the public total to the last digit."""
    ((column, known),) = totals.items()
    if not np.isfinite(found.value).all():
        return found  # nothing was visible, so nothing is said
    assert found.variance is not None  # counts and sums have one
    code = found.keys[column]
    total = np.array([float(known[level]) for level in schema.levels(column)])
    all_errors = np.bincount(code, weights=found.variance).astype(np.float64)
    number = np.bincount(code)
    part = found.variance / all_errors[code]
    value = found.value + part * (total - np.bincount(code, weights=found.value))[code]
    half = _margins(found, part, all_errors[code], number[code], confidence)
    positive = nonnegative and bool(np.all(np.asarray(found.bounds[0]) >= 0))
    places = _places(list(known.values()), 0 if found.whole else float(half.min()))
    unit = Fraction(1, 10**places)
    shown = np.empty(value.size)
    for level, whole in enumerate(total.tolist()):
        cells = np.flatnonzero(code == level)
        own = onto_simplex(value[cells], whole) if positive else value[cells]
        shown[cells] = rounded(own / float(unit), round(Fraction(whole) / unit)) * float(unit)
    bounds = (found.bounds[0], np.minimum(found.bounds[1], total[code])) if positive else found.bounds
    return replace(
        found,
        value=shown,
        lower=value - half,
        upper=value + half,
        variance=found.variance * (1 - part),
        places=None if found.whole else places,
        bounds=bounds,
    )


def _margins(found: Estimates, part: Any, errors: Any, number: Any, confidence: float) -> Floats:
    """A cell keeps 1 − part of its own noise and takes `part` of the others'; what may lie above a limit stays."""
    assert found.variance is not None
    before = np.maximum(found.upper - found.value, found.value - found.lower)
    rest = np.maximum(errors - found.variance, 0.0)
    noise = margin(confidence, [(found.variance, found.kurtosis)])
    own, others = (1 - part) ** 2 * found.variance, part**2 * rest
    many = float(np.maximum(number - 1, 1).min())
    after = margin(confidence, [(own, found.kurtosis), (others, found.kurtosis / many)])
    return np.asarray(np.minimum(after + np.maximum(before - noise, 0.0), before))


def _places(totals: list[float], narrowest: float) -> int:
    """Decimals of the cells: those of the totals, and as many as the narrowest margin leaves meaningful."""
    digits = max(len(f"{one:.9f}".rstrip("0").split(".")[1]) for one in totals)
    fine = 0 if not 0 < narrowest < np.inf else int(np.ceil(-np.log10(narrowest / _UNITS)))
    return min(max(digits, fine), 9)
