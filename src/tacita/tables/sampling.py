"""How far estimates of a survey's table stray by chance of sampling: variances from what was measured of the sample.

Post-processing only. They lean to the safe side: the noise's own standard deviation is added to every noisy sum of
squares, and is thereby the least that a variance can be.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tacita.lazy import later
from tacita.measured import Measurements
from tacita.mechanisms.table.noise import spread_of

special = later("scipy.special")

Floats = NDArray[np.float64]

_LEAST = 4.0  # sampling units that every cell is taken to have, where noise leaves that open


def measured(result: Measurements) -> bool:
    return "sampling" in result.facts


def of_residuals(result: Measurements, confidence: float) -> Floats:
    """Variance of the sum of residuals in each cell, whose own sum is 0."""
    squares, lean = _squares(result)
    return (np.maximum(squares, 0.0) + lean) * _few(result, confidence)


def of_sums(result: Measurements, totals: Floats, noise: Floats, confidence: float) -> Floats:
    """Variance of sums: squares of what each record (or unit) of the sample adds, less that of the mean."""
    squares, lean = _squares(result)
    facts = result.facts["sampling"]
    # On the safe side: a larger sample, and a total without what noise adds to its square.
    sample = max(facts["sample"] + np.sqrt(spread_of(facts["sample_law"])[0]), _LEAST)
    mean = np.maximum(totals**2 - noise, 0.0) / sample
    return np.asarray((np.maximum(squares - mean, 0.0) + lean) * _few(result, confidence))


def _squares(result: Measurements) -> tuple[Floats, float]:
    facts = result.facts["sampling"]
    unit = facts["step"] ** 2
    lean = float(np.sqrt(spread_of(facts["law"])[0]))
    return result.noisy["squares"].astype(np.float64) * unit, lean * unit


def _few(result: Measurements, confidence: float) -> Floats:
    """Few sampling units say little of a variance: by what Student's law is wider than the normal one, squared."""
    if "units" not in result.noisy:
        return np.ones(1)
    lean = np.sqrt(spread_of(result.facts["sampling"]["units_law"])[0])
    units = np.maximum(result.noisy["units"].astype(np.float64) - lean, _LEAST)
    upper = (1 + confidence) / 2
    return np.asarray((special.stdtrit(units - 1, upper) / special.ndtri(upper)) ** 2 * units / (units - 1))
