"""The same table in several periods, each of a release of its own: what changed, with margins that cover both.

Post-processing only: it starts from the measurements of the releases, whose noises are independent of each other.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa

from tacita.data.schema import Schema
from tacita.errors import UsageError
from tacita.measured import Measurements
from tacita.noise.combination import margin as combined
from tacita.tables.estimates import Estimates, Floats, estimated, margin

_SAME = ("mechanism", "statistic", "of", "by", "where", "weights", "levels")
MEASURES = ("earlier", "later", "change", "percent")


def series(results: Mapping[str, Measurements], schema: Schema, *, confidence: float = 0.95) -> pa.Table:
    """From each period to the next, by cell: both values, the change, and the change in percent.

    `results` has what was measured in each period, in their order: counts or sums by the same columns. A change from
    one period to the next and the one that follows share the noise of the period between them; their covariance stands
    in `covariance_with_next`, so that changes can be added up: the variance of a sum of two is that of both and twice
    their covariance. Variances are in the column `variance`.

    >>> import pandas as pd
    >>> from tacita.mechanisms.table import Table
    >>> schema = Schema.from_dict({"dataset": {"identity": "x", "unit": "person"}, "variables": {
    ...     "sex": {"role": "confidential", "type": "categorical", "levels": ["f", "m"]}}})
    >>> people, plan = pd.DataFrame({"sex": ["f", "m"] * 500}), Table("count", "1", by=["sex"])
    >>> years = {str(year): plan.rehearse(people, schema, seed=year) for year in (2024, 2025, 2026)}
    >>> found = series(years, schema)
    >>> found.num_rows, found["measure"].to_pylist()[:4]
    (16, ['earlier', 'later', 'change', 'percent'])
    """
    names = list(results)
    if len(names) < 2:
        raise UsageError("results: a series has at least two periods; give what was measured in each")
    _refuse_others(results)
    found = {name: estimated(result, confidence) for name, result in results.items()}
    for name, one in found.items():
        if not one.additive or one.variance is None or one.parts is not None:
            raise UsageError(f"results: {name} has no counts or sums, whose changes a series is made of")
    parts = [
        _change(found[one], found[two], found[two].variance if at + 2 < len(names) else None, schema, confidence)
        | {"from": one, "to": two}
        for at, (one, two) in enumerate(pairwise(names))
    ]
    return pa.concat_tables(_table(one, confidence) for one in parts)


def _refuse_others(results: Mapping[str, Measurements]) -> None:
    (first, one), *rest = results.items()
    if one.plan.get("levels"):
        raise UsageError("results: tables of several levels have no series; take the level that you need by itself")
    for name, other in rest:
        for key in _SAME:
            if one.plan.get(key) != other.plan.get(key):
                raise UsageError(f"results: {key} of {first} and {name} differ; a series is of one table throughout")
        if any(not np.array_equal(one.keys[key], other.keys[key]) for key in one.keys):
            raise UsageError(f"results: {first} and {name} have different cells; a series needs the same throughout")


def _change(
    before: Estimates, after: Estimates, shared: Floats | None, schema: Schema, confidence: float
) -> dict[str, Any]:
    """All numbers of two periods, cell after cell. What may lie above a limit is no noise: it is added as it is."""
    assert before.variance is not None
    assert after.variance is not None
    earlier, later = before.value, after.value
    low, high = zip(*(_unseen(one, confidence) for one in (before, after)), strict=True)
    noises = [(before.variance, before.kurtosis), (after.variance, after.kurtosis)]
    half = combined(confidence, noises)
    change = later - earlier
    # The true factor w makes later − w·earlier zero but for noise: the interval is of all w for which that is likely.
    least = margin(confidence, [noises[0]])
    known = earlier > 1.5 * least
    safe = np.where(known, earlier, 1.0)
    factor = later / safe
    wide = margin(confidence, [(factor**2 * before.variance, before.kurtosis), noises[1]])
    curved = 1 + 0.25 * (least / safe) ** 2
    down, up = (
        (wide + np.abs(factor) * one + two) / safe * curved for one, two in ((high[0], low[1]), (low[0], high[1]))
    )
    percent = np.where(known, 100 * (factor - 1), np.nan)
    values = np.stack([earlier, later, change, percent], axis=1)
    lower = np.stack(
        [before.lower, after.lower, change - half - high[0] - low[1], percent - 100 * np.where(known, down, np.inf)],
        axis=1,
    )
    upper = np.stack(
        [before.upper, after.upper, change + half + low[0] + high[1], percent + 100 * np.where(known, up, np.inf)],
        axis=1,
    )
    empty = np.full(earlier.size, np.nan)
    spread = np.stack([before.variance, after.variance, before.variance + after.variance, empty], axis=1)
    next_to = np.stack([empty, empty, empty if shared is None else -shared, empty], axis=1)
    keys = {name: pa.array(schema.levels(name)).take(pa.array(code)) for name, code in before.keys.items()}
    return {
        "keys": keys, "values": values, "lower": lower, "upper": upper, "variance": spread, "covariance": next_to
    }  # fmt: skip


def _unseen(found: Estimates, confidence: float) -> tuple[Floats, Floats]:
    """What an interval has beyond that of its noise, below and above."""
    assert found.variance is not None
    noise = margin(confidence, [(found.variance, found.kurtosis)])
    below, above = (np.maximum(one - noise, 0.0) for one in (found.value - found.lower, found.upper - found.value))
    return below, above


def _table(part: dict[str, Any], confidence: float) -> pa.Table:
    values = part["values"]
    cells, measures = values.shape
    rows = pa.array(np.repeat(np.arange(cells), measures))
    half = np.maximum(part["upper"] - values, values - part["lower"])
    return pa.table(
        {
            **{name: column.take(rows) for name, column in part["keys"].items()},
            "from": pa.repeat(part["from"], cells * measures),
            "to": pa.repeat(part["to"], cells * measures),
            "measure": pa.array(MEASURES * cells),
            "value": _numbers(values),
            "margin_of_error": _numbers(np.where(np.isfinite(values), half, np.nan)),
            "confidence": pa.array(np.full(cells * measures, confidence)),
            "variance": _numbers(part["variance"]),
            "covariance_with_next": _numbers(part["covariance"]),
        }
    )


def _numbers(values: Floats) -> pa.Array:
    flat = values.ravel()
    return pa.array(flat, mask=~np.isfinite(flat))
