"""Estimates from noisy sums of magnitudes: values in their own units, with intervals from public things.

Post-processing only. The law of each error follows from the plan that was paid for.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tacita.measured import Measurements
from tacita.mechanisms import magnitude
from tacita.mechanisms.magnitude.base import LARGEST, MagnitudePlan
from tacita.noise.combination import deviations
from tacita.tables.estimates import Estimates, Floats

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
    half = np.maximum(np.concatenate(upper) - np.concatenate(value), np.concatenate(value) - np.concatenate(lower))
    # Tails are heavier than the normal law's, so a sum's margin is taken a little wider than its parts' add up to.
    allowance = 1.1 + 2 * max(0.0, 0.95 - confidence)
    variance = (allowance * half / float(deviations(confidence, np.zeros(1))[0])) ** 2
    several = len(columns) > 1
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
