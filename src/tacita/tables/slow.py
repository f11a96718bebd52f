"""Estimates from sums with noise on their root or logarithm: without bias, with intervals that hold on that scale."""

from __future__ import annotations

from typing import Any

import numpy as np

from tacita.measured import Measurements
from tacita.mechanisms.slow import SlowSums
from tacita.mechanisms.slow.sums import SLOW
from tacita.noise.combination import deviations
from tacita.tables.estimates import Estimates


def slow(result: Measurements, keys: dict[str, Any], confidence: float) -> Estimates:
    """One entry per cell. Post-processing: the law of the noise follows from the plan that was paid for."""
    plan = SlowSums.from_record({name: value for name, value in result.plan.items() if name != "mechanism"})
    noisy = result.noisy[plan.of].astype(np.float64)
    places = int(result.facts[SLOW]["places"])
    value, (lower, upper) = plan.error.value(noisy), plan.error.interval(noisy, confidence)
    half = np.maximum(upper - value, value - lower)
    return Estimates(
        keys,
        value,
        lower,
        upper,
        additive=True,
        whole=places == 0,
        decimals=places,
        # Intervals reach further up than down; totals take the longer side of each, which is wide enough.
        variance=(half / float(deviations(confidence, np.zeros(1))[0])) ** 2,
        bounds=(0.0, np.inf),
    )
