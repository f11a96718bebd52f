"""Estimates from noisy sums of magnitudes: values in their own units, with intervals from public things.

Post-processing only. The law of each error follows from the plan that was paid for.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tacita.measured import Measurements
from tacita.mechanisms import magnitude
from tacita.mechanisms.magnitude.base import LARGEST, MagnitudePlan
from tacita.mechanisms.magnitude.growth import CHANGE, PERCENT, YEARS
from tacita.noise.combination import deviations
from tacita.tables.estimates import Estimates, Floats
from tacita.tables.growth_margin import joint_stretch

MEASURE = "measure"


def magnitudes(result: Measurements, keys: dict[str, Any], confidence: float) -> Estimates:
    """One entry per cell and measure, measure after measure."""
    settings = {name: value for name, value in result.plan.items() if name != "mechanism"}
    plan: MagnitudePlan = getattr(magnitude, result.plan["mechanism"]).from_record(settings)
    facts = result.facts["magnitudes"]
    columns = plan.columns({name: (one["places"], one["most"]) for name, one in facts.items()})
    value: list[Floats] = []
    lower: list[Floats] = []
    upper: list[Floats] = []
    least = []
    for column in columns:
        noisy, size = (result.noisy.get(name) for name in (column.name, f"{LARGEST}{column.size}"))
        assert noisy is not None  # every column was measured
        steps = noisy.astype(np.float64)
        ends = column.error.interval(steps, confidence, None if size is None else size.astype(np.float64))
        for listed, one in zip((value, lower, upper), (steps, *ends), strict=True):
            listed.append(one / 10**column.places)
        least.append(np.full(steps.size, -np.inf if column.error.signed else 0.0))
    if isinstance(plan, magnitude.SmoothGrowth):
        return _growth(plan, result, keys, confidence, (value, lower, upper), 10 ** columns[0].places)
    several = len(columns) > 1
    half = np.maximum(np.concatenate(upper) - np.concatenate(value), np.concatenate(value) - np.concatenate(lower))
    # Tails are heavier than the normal law's, so a sum's margin is taken a little wider than its parts' add up to.
    allowance = 1.1 + 2 * max(0.0, 0.95 - confidence)
    variance = (allowance * half / float(deviations(confidence, np.zeros(1))[0])) ** 2
    return Estimates(
        {name: np.tile(code, len(columns)) for name, code in keys.items()},
        np.concatenate(value),
        np.concatenate(lower),
        np.concatenate(upper),
        additive=True,
        whole=all(column.places == 0 for column in columns),
        decimals=max(column.places for column in columns),
        variance=variance,
        bounds=(np.concatenate(least), np.full(half.size, np.inf)),
        parts=tuple(column.name for column in columns for _ in range(result.cells)) if several else None,
        parted_by=MEASURE,
    )


def _growth(
    plan: magnitude.SmoothGrowth,
    result: Measurements,
    keys: dict[str, Any],
    confidence: float,
    totals: tuple[list[Floats], list[Floats], list[Floats]],
    parts: int,
) -> Estimates:
    """Both totals, the change, and the change in percent: all w for which later − w·earlier is likely zero but for
    noise (`mechanisms/magnitude/growth.md`)."""
    (earlier, later), *_ = totals
    if plan.blur is None:
        ends = _from_ends(plan, result, 1 - (1 - confidence) / 2, parts)
    else:
        sizes = [result.noisy[f"{LARGEST}{at}"].astype(np.float64) / parts for at in range(2)]
        reach = float(plan.alpha) * joint_stretch(plan.law(), plan.blur, confidence)
        # Half a step of rounding of each total, and the grid of the sizes.
        noise = [reach * (size + column.error.grid / 2 / parts) + 1 / parts
                 for size, column in zip(sizes, plan.columns(_domains(result)), strict=True)]  # fmt: skip
        wide = np.hypot(*noise)
        ends = later - earlier - wide, later - earlier + wide, *_fieller(later, earlier, noise[1], noise[0])
    least, most, lowest, highest = ends
    known = np.isfinite(highest) & (earlier > 0)
    rate = np.where(known, later / np.where(known, earlier, 1.0), np.nan)
    value = [earlier, later, later - earlier, 100 * (rate - 1)]
    low = [*totals[1], least, np.where(known, 100 * (lowest - 1), -np.inf)]
    high = [*totals[2], most, np.where(known, 100 * (highest - 1), np.inf)]
    names = (*YEARS, CHANGE, PERCENT)
    return Estimates(
        {name: np.tile(code, len(names)) for name, code in keys.items()},
        np.concatenate(value),
        np.concatenate(low),
        np.concatenate(high),
        bounds=(np.repeat([0.0, 0.0, -np.inf, -100.0], result.cells), np.full(4 * result.cells, np.inf)),
        parts=tuple(name for name in names for _ in range(result.cells)),
        parted_by=MEASURE,
    )


def _domains(result: Measurements) -> dict[str, tuple[int, int]]:
    return {name: (one["places"], one["most"]) for name, one in result.facts["magnitudes"].items()}


def _fieller(later: Floats, earlier: Floats, noise: Floats, below: Floats) -> tuple[Floats, Floats]:
    """All w ≥ 0 with (later − w·earlier)² ≤ noise² + w²·below²; unbounded where the earlier total may be nothing."""
    leading = earlier**2 - below**2
    bounded = (leading > 0) & (earlier > 0)
    safe = np.where(bounded, leading, 1.0)
    root = np.sqrt(np.maximum((later * earlier) ** 2 - leading * (later**2 - noise**2), 0.0))
    low, high = (np.maximum((later * earlier + sign * root) / safe, 0.0) for sign in (-1, 1))
    return np.where(bounded, low, 0.0), np.where(bounded, high, np.inf)


def _from_ends(
    plan: magnitude.SmoothGrowth, result: Measurements, confidence: float, parts: int
) -> tuple[Floats, Floats, Floats, Floats]:
    """Where no size was paid for: from an interval of each total with half of the doubt."""
    ends = [
        [one / parts for one in column.error.interval(result.noisy[column.name].astype(np.float64), confidence)]
        for column in plan.columns(_domains(result))
    ]
    (low, high), (later_low, later_high) = ends
    shut = np.where(low > 0, low, 1.0)
    highest = np.where(low > 0, later_high / shut, np.inf)
    lowest = later_low / np.where(np.isfinite(high) & (high > 0), high, np.inf)
    return later_low - high, later_high - low, lowest, highest
