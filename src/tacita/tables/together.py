"""Tables of one release that agree with each other: counts of the same records by different columns.

Least squares joins what all of them say (`tacita.agreement.marginals`), so every common sum is the same before rounding
and every margin at most as wide as before. Cells that may not be negative are then moved together onto the total that
all tables share. Post-processing only: everything is computed from `Measurements`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from tacita.agreement.marginals import Marginal, agree_marginals
from tacita.data.schema import Schema
from tacita.errors import UsageError
from tacita.measured import Measured, Measurements
from tacita.noise.combination import margin
from tacita.privacy import exact
from tacita.privacy.json_form import canonical
from tacita.tables.consistency import onto_simplex, rounded
from tacita.tables.estimates import Estimates, estimated
from tacita.tables.publish import publish

_PLACES = 6  # decimals of cells that need not be whole: common sums are then the same in the files


def publish_all(
    results: Sequence[Measured | Measurements], schema: Schema, settings: Sequence[Mapping[str, Any]]
) -> list[pa.Table]:
    """Each table as `publish` makes it with its settings; those that say `agree` agree with each other."""
    groups: dict[str, list[int]] = {}
    for at, (result, own) in enumerate(zip(results, settings, strict=True)):
        if own.get("agree"):
            groups.setdefault(_records_of(result, own), []).append(at)
    joined: dict[int, Estimates] = {}
    for places in groups.values():
        joined |= zip(places, _joined([(results[at], settings[at]) for at in places], schema), strict=True)
    rest = [{key: value for key, value in own.items() if key != "agree"} for own in settings]
    return [
        publish(result, schema, **own, agreed=joined.get(at))
        for at, (result, own) in enumerate(zip(results, rest, strict=True))
    ]


def refuse_disagreement(plan: Mapping[str, Any], settings: Mapping[str, Any]) -> None:
    """What cannot agree with other tables is refused before anything is spent."""
    if plan.get("statistic") != "count" or plan.get("weights") or plan.get("levels") or "at_most" in plan:
        raise UsageError("agree: is for counts of records without weights, levels or at_most; leave agree out")
    if settings.get("totals"):
        raise UsageError("agree: a total is a table by fewer columns; ask for that table instead of totals")


def _records_of(result: Measured | Measurements, settings: Mapping[str, Any]) -> str:
    """Which records a table counts: only tables of the same ones can agree."""
    refuse_disagreement(result.plan, settings)
    return canonical(result.plan["where"])


def _joined(tables: Sequence[tuple[Any, Mapping[str, Any]]], schema: Schema) -> list[Estimates]:
    alone = [estimated(result, float(exact(str(own["confidence"]), "confidence"))) for result, own in tables]
    shapes = [tuple(len(schema.levels(name)) for name in one.keys) for one in alone]
    agreed = agree_marginals(
        [
            Marginal(tuple(one.keys), one.value.reshape(shape), float(_variance(one)[0]))
            for one, shape in zip(alone, shapes, strict=True)
        ]
    )
    return [_estimates(before, after, own) for before, after, (_, own) in zip(alone, agreed, tables, strict=True)]


def _estimates(before: Estimates, after: Marginal, settings: Mapping[str, Any]) -> Estimates:
    value, own = after.values.ravel(), (before.upper - before.lower) / 2
    confidence = float(exact(str(settings["confidence"]), "confidence"))
    half = np.minimum(margin(confidence, [(np.full(value.size, after.variance), before.kurtosis)]), own)
    shown = value
    if settings.get("nonnegative", True):
        total = max(float(value.sum()), 0.0)
        shown = onto_simplex(value, total)
        shown = rounded(shown, round(total)).astype(np.float64) if settings.get("integers", True) else shown
    return replace(
        before,
        value=shown,
        lower=value - half,
        upper=value + half,
        places=None if settings.get("integers", True) else _PLACES,
        variance=np.full(value.size, after.variance),
    )


def _variance(estimates: Estimates) -> Any:
    assert estimates.variance is not None  # a count's always is
    return estimates.variance
