"""The law of a weighted sum of independent discrete Laplace draws, from its characteristic function."""

from __future__ import annotations

from functools import lru_cache
from math import ceil, exp, log2, pi, sqrt

import numpy as np
from numpy.typing import NDArray

from tacita.noise.discrete import DiscreteLaplace

Floats = NDArray[np.float64]
Weights = tuple[tuple[float, int], ...]

_LARGEST_TABLE = 1 << 20
_FAR = 15.0  # standard deviations beyond which Laplace noise has less than one part in 10⁹ left


def chance_within(law: DiscreteLaplace, weights: Floats, distance: float) -> float:
    """P(|Σ wᵢ·noiseᵢ| ≤ distance).

    With whole-number weights the sum lives on the whole numbers and its law is one Fourier transform away. Otherwise
    the noise is replaced by the continuous Laplace law of the same variance: close once several cells enter.

    >>> from fractions import Fraction
    >>> law = DiscreteLaplace(Fraction(2))
    >>> round(chance_within(law, np.array([1.0]), 6.0), 4), law.margin(0.95)
    (0.9624, 6)
    """
    grouped = _grouped(weights)
    if not grouped:
        return 1.0
    if _is_tabulated(law, grouped):
        cumulated = _on_whole_numbers(law, grouped)
        return float(cumulated[min(int(distance + 1e-9), cumulated.size - 1)])
    return _continuous(sqrt(law.variance() / 2), grouped, distance)


def margin_of_sum(law: DiscreteLaplace, weights: Floats, confidence: float) -> float:
    """The smallest margin that |Σ wᵢ·noiseᵢ| keeps with at least this confidence.

    >>> from fractions import Fraction
    >>> margin_of_sum(DiscreteLaplace(Fraction(2)), np.array([1.0, -1.0, 1.0]), 0.95)
    10.0
    """
    grouped = _grouped(weights)
    if not grouped:
        return 0.0
    if _is_tabulated(law, grouped):
        return float(np.searchsorted(_on_whole_numbers(law, grouped), confidence, side="left"))
    scale = sqrt(law.variance() / 2)
    low, high = 0.0, scale * sum(value * count for value, count in grouped)
    while _continuous(scale, grouped, high) < confidence:
        low, high = high, 2 * high
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (low, middle) if _continuous(scale, grouped, middle) >= confidence else (middle, high)
    return high


def _grouped(weights: Floats) -> Weights:
    """Each size of weight with how often it occurs; the sign of a symmetric draw does not matter."""
    size = np.abs(np.asarray(weights, dtype=np.float64))
    values, counts = np.unique(size[size > 0], return_counts=True)
    return tuple((float(value), int(count)) for value, count in zip(values, counts, strict=True))


def _is_tabulated(law: DiscreteLaplace, grouped: Weights) -> bool:
    return all(value == round(value) for value, _ in grouped) and _table_size(law, grouped) <= _LARGEST_TABLE


def _table_size(law: DiscreteLaplace, grouped: Weights) -> int:
    """Twice the reach beyond which nothing is left that a double could see, as a power of two."""
    spread = sqrt(sum(count * value**2 for value, count in grouped) * law.variance())
    reach = 40 * float(law.scale) * grouped[-1][0] + 12 * spread + 16
    return 1 << ceil(log2(2 * reach))


@lru_cache(maxsize=64)
def _on_whole_numbers(law: DiscreteLaplace, grouped: Weights) -> Floats:
    """P(|sum| ≤ x) for x = 0, 1, …"""
    size = _table_size(law, grouped)
    q = exp(-1 / float(law.scale))
    u = 2 * pi * np.arange(size // 2 + 1) / size
    transform = np.ones(u.size)
    for value, count in grouped:
        transform *= ((1 - q) ** 2 / ((1 - q) ** 2 + 2 * q * (1 - np.cos(value * u)))) ** count
    masses = np.maximum(np.fft.irfft(transform, size), 0.0)
    both_sides = masses[: size // 2].copy()
    both_sides[1:] *= 2
    return np.asarray(np.minimum(np.cumsum(both_sides), 1.0))


def _continuous(scale: float, grouped: Weights, distance: float) -> float:
    """The same for Laplace noise: P(|S| ≤ x) = (2/π)·∫ φ(u)·sin(ux)/u du."""
    if len(grouped) == 1 and grouped[0][1] == 1:
        return 1 - exp(-distance / (scale * grouped[0][0]))
    if distance <= 0:
        return 0.0
    spread = scale * sqrt(2 * sum(count * value**2 for value, count in grouped))
    x = distance / spread
    if x > _FAR:
        return 1.0
    # The plain rectangle rule is exact up to what the law has beyond 2π/step − x, which this step makes nothing.
    step = 2 * pi / (x + 2 * _FAR)
    for end in (30.0, 100.0, 400.0):
        if _log_transform(scale / spread, grouped, np.array([end]))[0] < -20:
            break
    u = step * np.arange(1, ceil(end / step) + 1, dtype=np.float64)
    integrand = np.exp(_log_transform(scale / spread, grouped, u)) * np.sin(u * x) / u
    return float(np.clip(2 / pi * step * (x / 2 + integrand.sum()), 0.0, 1.0))


def _log_transform(scale: float, grouped: Weights, u: Floats) -> Floats:
    logs = np.zeros(u.size)
    for value, count in grouped:
        logs -= count * np.log1p((scale * value * u) ** 2)
    return logs
