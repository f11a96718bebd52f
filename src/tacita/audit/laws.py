"""Densities of the noise laws, written down from their definitions and not from the code that draws.

What an audit compares two files with must not share a mistake with the samplers, so none of their functions are used.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from math import ceil, exp, inf, log
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from tacita.errors import UsageError
from tacita.noise.laws import Laplace, QuarticCauchy, Student
from tacita.noise.plateau import PlateauLaw

Floats = NDArray[np.float64]

# Outputs at which densities are compared, in units of the scale: dense in the middle, far out in the tails.
_REACH = np.concatenate([np.linspace(-6, 6, 601), np.sinh(np.linspace(-18, 18, 400))])
_TAIL_REACH = 1000.0  # how far tails of plateaus are followed: further out, only the ratio of the scales matters


@dataclass(frozen=True)
class Placed:
    """A unit law moved to `centre` and stretched by `scale`."""

    centre: float
    scale: float


def log_density(law: Any, z: Floats) -> Floats:
    """ln h(z) of a unit law of one dimension."""
    if isinstance(law, Student):
        v = float(law.nu)
        level = gammaln((v + 1) / 2) - gammaln(v / 2) - 0.5 * np.log(v * np.pi)
        return np.asarray(level - (v + 1) / 2 * np.log1p(z * z / v))
    if isinstance(law, QuarticCauchy):
        return np.asarray(np.log(np.sqrt(2) / np.pi) - np.log1p(z**4))
    if isinstance(law, Laplace):
        return np.asarray(-np.abs(z) - np.log(2))
    if isinstance(law, PlateauLaw):
        return _plateau_log_density(law, z)
    raise UsageError(f"the audit does not know the density of {type(law).__name__}; add it to tacita.audit.laws")


def _plateau_log_density(law: PlateauLaw, z: Floats) -> Floats:
    """Brought back into the first period of its tail, a point has the height of the plateau it then lies on."""
    edges, height = _plateaus(law)
    pivot, growth, ratio = float(law.pivot), float(law.growth), float(law.ratio)
    point, period = np.array(z, dtype=np.float64), np.zeros(np.shape(z))
    for outer, sign in ((edges[-1], 1.0), (-edges[0], -1.0)):
        far = sign * point > outer
        steps = np.ceil(np.log((sign * point[far] + pivot) / (outer + pivot)) / np.log(growth) - 1e-13)
        period[far] = steps
        point[far] = sign * ((sign * point[far] + pivot) / growth**steps - pivot)
    column = np.clip(np.searchsorted(edges, point, side="right") - 1, 0, height.size - 1)
    return np.asarray(height[column] + period * np.log(ratio / growth))


@lru_cache(maxsize=64)
def _plateaus(law: PlateauLaw) -> tuple[Floats, Floats]:
    """Edges, and the logarithm of the density between each two; of tails, in their first period."""
    edges = np.array([float(e) for e in law.edges])
    weights = np.array(law.weights, dtype=np.float64) / 2.0**62
    share = np.ones(weights.size)
    share[: law.tail] = share[-law.tail :] = 1 - float(law.ratio)
    with np.errstate(divide="ignore"):
        return edges, np.log(weights * share / np.diff(edges))


def largest_ratio(law: Any, one: Placed, two: Placed) -> float:
    """The largest |ln density ratio| found over outputs; what it finds is certain, and it looks where the peaks are."""
    if one == two:
        return 0.0
    if min(one.scale, two.scale) <= 0:
        return inf
    outputs = _outputs(law, one, two)
    first, second = (log_density(law, (outputs - x.centre) / x.scale) - log(x.scale) for x in (one, two))
    with np.errstate(invalid="ignore"):
        return float(np.nanmax(np.abs(first - second)))


def _outputs(law: Any, one: Placed, two: Placed) -> Floats:
    if not isinstance(law, PlateauLaw):
        return np.concatenate([x.centre + x.scale * _REACH for x in (one, two)])
    # Between two neighbouring edges of either law the ratio is constant: one output in each stretch tells it.
    edges = _plateau_edges(law)
    cuts = np.unique(np.concatenate([x.centre + x.scale * edges for x in (one, two)]))
    wide = np.diff(cuts) > 1e-9 * (np.abs(cuts[1:]) + max(one.scale, two.scale))
    return np.asarray(((cuts[1:] + cuts[:-1]) / 2)[wide])


@lru_cache(maxsize=64)
def _plateau_edges(law: PlateauLaw) -> Floats:
    edges = np.array([float(e) for e in law.edges])
    growth, pivot, tail = float(law.growth), float(law.pivot), law.tail
    powers = growth ** np.arange(ceil(log(_TAIL_REACH) / log(growth)))[:, None]
    right = (edges[-1 - tail :] + pivot) * powers - pivot
    left = (edges[: tail + 1] - pivot) * powers + pivot
    return np.unique(np.concatenate([edges, right.ravel(), left.ravel()]))


def laplace_failure(one: Placed, two: Placed, epsilon: float) -> float:
    """The least δ at which Laplace noise at two places and scales is (ε, δ)-close, both ways round; exact integrals."""
    return max(_excess(one, two, epsilon), _excess(two, one, epsilon))


def _excess(one: Placed, two: Placed, epsilon: float) -> float:
    """∫ max(p − e^ε·q, 0): ln p − ln q is linear between the two centres, so the set where p is too large is known."""

    def log_ratio(x: float) -> float:
        return abs(x - two.centre) / two.scale - abs(x - one.centre) / one.scale + log(two.scale / one.scale) - epsilon

    low, high = sorted((one.centre, two.centre))
    far = 800.0 * max(one.scale, two.scale)
    cuts = [low - far, low, high, high + far]
    points = list(cuts)
    for a, b in pairwise(cuts):
        at_a, at_b = log_ratio(a), log_ratio(b)
        if at_a * at_b < 0:
            points.append(a + (b - a) * at_a / (at_a - at_b))
    points.sort()
    total = 0.0
    for a, b in pairwise(points):
        if b > a and log_ratio((a + b) / 2) > 0:
            total += _mass(one, a, b) - exp(epsilon) * _mass(two, a, b)
    return max(total, 0.0)


def _mass(at: Placed, low: float, high: float) -> float:
    """P(low < X < high), each side of the centre by itself so that nothing cancels."""
    left = (min(low, at.centre) - at.centre) / at.scale, (min(high, at.centre) - at.centre) / at.scale
    right = (max(low, at.centre) - at.centre) / at.scale, (max(high, at.centre) - at.centre) / at.scale
    return (exp(left[1]) - exp(left[0])) / 2 + (exp(-right[0]) - exp(-right[1])) / 2
