"""Densities of the noise laws, written down again from their definitions, for tests that must not trust the code."""

import numpy as np
from numpy.typing import NDArray

from tacita.audit.laws import log_density
from tacita.noise.plateau import PlateauLaw

__all__ = ["log_density", "plateau_masses", "plateaus"]

Floats = NDArray[np.float64]


def plateau_masses(law: PlateauLaw, edges: Floats) -> Floats:
    """P(edges[i] ≤ Z < edges[i+1]) as a sum of overlaps: no differences of distribution functions, so no cancelling."""
    reach = np.abs(edges).max()
    lower, upper, height = [np.array(column) for column in zip(*plateaus(law, reach), strict=True)]
    overlap = np.minimum(upper, edges[1:, None]) - np.maximum(lower, edges[:-1, None])
    return np.maximum(overlap, 0) @ height


def plateaus(law: PlateauLaw, reach: float) -> list[tuple[float, float, float]]:
    """Every plateau that begins before ±reach: its ends and its height."""
    edges = [float(e) for e in law.edges]
    found, n = [], len(law.weights)
    pivot, growth, ratio = float(law.pivot), float(law.growth), float(law.ratio)
    for i, weight in enumerate(law.weights):
        a, b, mass = edges[i], edges[i + 1], weight / 2.0**62
        if law.tail <= i < n - law.tail:
            found.append((a, b, mass / (b - a)))
            continue
        turn = pivot if i < law.tail else -pivot
        period, mass = 0, mass * (1 - ratio)
        while True:
            low, high = ((end - turn) * growth**period + turn for end in (a, b))
            if min(abs(low), abs(high)) > reach and period:
                break
            found.append((low, high, mass * ratio**period / (high - low)))
            period += 1
    return found
