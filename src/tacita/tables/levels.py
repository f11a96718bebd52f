"""From noisy tables of several levels to published ones: they agree, so every sum equals its parts.

Least squares joins all levels, then values are rounded together: counts to whole records, sums to a unit that does not
show beside the margin. The margin is that of the joint estimate, and never wider than the level's own. Means, shares
and ratios are those of sums that agree. Post-processing only: everything is computed from `Measurements`, whose facts
are public.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacita.agreement.crossed import CrossedTable, agree_crossed, noisy_tables
from tacita.agreement.overlapping import Agreed
from tacita.agreement.whole import whole_tables
from tacita.data.schema import Schema
from tacita.measured import Measurements
from tacita.mechanisms.table.levels import LEVEL, TableLevels, error_parts
from tacita.mechanisms.table.noise import spread_of
from tacita.noise.combination import margin
from tacita.noise.discrete import DiscreteLaplace
from tacita.tables.estimates import Estimates, decimals_beside, estimated
from tacita.tables.unseen import beyond

Floats = NDArray[np.float64]


def level_estimates(
    result: Measurements, schema: Schema, confidence: float, *, nonnegative: bool, integers: bool
) -> tuple[Estimates, tuple[str, ...]]:
    """One entry per cell of every level, coarsest first, and the level of each."""
    levels = TableLevels.of(schema, tuple(name for name in result.keys if name != LEVEL), result.plan["levels"])
    keys = levels.places(result.keys)
    listed = {name: levels.labelled(schema, name) for name in levels.by}
    names = tuple(name for name, size in zip(levels.names, levels.sizes, strict=True) for _ in range(size))
    if result.facts.get("visible") is False:
        nothing = np.full(len(names), np.nan)
        return Estimates(keys, nothing, nothing - np.inf, nothing + np.inf, listed=listed), names
    if result.statistic not in ("count", "sum"):
        return replace(estimated(_agreeing(result, levels), confidence), keys=keys, listed=listed), names
    (name,) = result.noisy
    facts = result.facts[name]
    counts = "step" not in facts
    step, floor = (1.0, 0.0) if counts else (facts["step"], 0.0 if facts["lower"] >= 0 else -np.inf)
    noises = [spread_of(one) for one in facts["laws"]]
    agreed = _agreed(result.noisy[name], levels, [variance for variance, _ in noises])
    variance = np.concatenate([one.ravel() for one in agreed.variances])
    before, kurtosis = (np.repeat([one[at] for one in noises], levels.sizes) for at in (0, 1))
    heaviest = float(kurtosis.max())
    half = margin(confidence, error_parts(np.minimum(variance, before), before, heaviest))
    half = np.minimum(half, margin(confidence, [(before, heaviest)]))
    if counts:
        own = [_own_margin(one, confidence) for one in facts["laws"]]
        half = np.minimum(half, np.repeat(own, levels.sizes))
    estimate = np.concatenate([one.ravel() for one in agreed.values])
    places = 0 if counts and integers else decimals_beside(float(half.min()) * step)
    shown = _rounded(agreed, levels, 10.0**-places / step, signed=not nonnegative or floor < 0)
    sized = {**facts, "sizes": levels.sizes}
    wide = half * step if counts else beyond(sized, estimate * step, half * step).beside(half * step)
    return Estimates(
        keys,
        shown * step,
        estimate * step - (wide if floor < 0 else half * step),
        estimate * step + wide,
        additive=True,
        whole=counts,
        places=places,
        variance=variance * step**2,
        kurtosis=heaviest,
        bounds=(floor, np.inf),
        listed=listed,
    ), names


def _agreeing(result: Measurements, levels: TableLevels) -> Measurements:
    """What means, shares and ratios are made of, as it agrees across levels."""
    noisy: dict[str, Any] = {}
    facts = dict(result.facts)
    for name, values in result.noisy.items():
        law = name if name in facts else result.statistic
        noises = [spread_of(one) for one in result.facts[law]["laws"]]
        agreed = _agreed(values, levels, [variance for variance, _ in noises])
        noisy[name] = np.concatenate([one.ravel() for one in agreed.values])
        variance = np.concatenate([one.ravel() for one in agreed.variances])
        before = np.repeat([one for one, _ in noises], levels.sizes)
        known = {"agreed": np.minimum(variance, before), "kurtosis": max(one for _, one in noises)}
        facts[law] = {**result.facts[law], **known, "sizes": levels.sizes}
    return replace(result, noisy=noisy, facts=facts)


def _agreed(noisy: NDArray[np.int64], levels: TableLevels, variances: list[float]) -> Agreed:
    layout = levels.layout(variances)
    parts = np.split(noisy.astype(np.float64), np.cumsum(levels.sizes)[:-1])
    tables = [
        CrossedTable(at, part.reshape(layout.shape(at)), variance)
        for at, part, variance in zip(levels.tables, parts, variances, strict=True)
    ]
    return agree_crossed(levels.axes, tables)


def _rounded(agreed: Agreed, levels: TableLevels, unit: float, *, signed: bool) -> Floats:
    """All tables in whole units, so that sums agree to the last digit."""
    layout = levels.layout([1.0] * len(levels.tables))
    scaled = Agreed(
        agreed.cells / unit,
        tuple(one / unit for one in agreed.values),
        tuple(one / unit**2 for one in agreed.variances),
        agreed.exact,
    )
    _, wholes = whole_tables(noisy_tables(layout, scaled.values), scaled, signed=signed)
    return np.concatenate([one.astype(np.float64) for one in wholes]) * unit


def _own_margin(described: dict[str, str], confidence: float) -> float:
    if described["law"] == "discrete-laplace":
        return float(DiscreteLaplace(Fraction(described["scale"])).margin(confidence))
    return np.inf
