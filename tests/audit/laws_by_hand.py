"""Densities of the noise laws, written down again from their definitions, for tests that must not trust the code."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from tacita.noise.laws import Laplace, QuarticCauchy, Student
from tacita.noise.plateau import PlateauLaw

Floats = NDArray[np.float64]


def log_density(law: Any, z: Floats) -> Floats:
    """ln h(z) of a unit law of one dimension."""
    if isinstance(law, Student):
        v = float(law.nu)
        level = gammaln((v + 1) / 2) - gammaln(v / 2) - 0.5 * np.log(v * np.pi)
        return np.asarray(level - (v + 1) / 2 * np.log1p(z * z / v))
    if isinstance(law, QuarticCauchy):
        return np.log(np.sqrt(2) / np.pi) - np.log1p(z**4)
    if isinstance(law, Laplace):
        return -np.abs(z) - np.log(2)
    if isinstance(law, PlateauLaw):
        return plateau_log_density(law, z)
    raise AssertionError(f"write down the density of {type(law).__name__} here")


def plateau_log_density(law: PlateauLaw, z: Floats) -> Floats:
    """Brought back into the first period of its tail, a point has the height of the plateau it then lies on."""
    edges = np.array([float(e) for e in law.edges])
    widths = np.diff(edges)
    weights = np.array(law.weights, dtype=np.float64) / 2.0**62
    tail, pivot, growth, ratio = law.tail, float(law.pivot), float(law.growth), float(law.ratio)
    share = np.ones(weights.size)
    share[:tail] = share[-tail:] = 1 - ratio
    height = np.log(weights * share / widths)
    point, period = np.array(z, dtype=np.float64), np.zeros(np.shape(z))
    for outer, sign in ((edges[-1], 1.0), (-edges[0], -1.0)):
        far = sign * point > outer
        steps = np.ceil(np.log((sign * point[far] + pivot) / (outer + pivot)) / np.log(growth) - 1e-13)
        period[far] = steps
        point[far] = sign * ((sign * point[far] + pivot) / growth**steps - pivot)
    column = np.clip(np.searchsorted(edges, point, side="right") - 1, 0, weights.size - 1)
    return height[column] + period * np.log(ratio / growth)


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
