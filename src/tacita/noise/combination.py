"""Margins of sums of independent noises: how far a weighted sum of Laplace or Gaussian errors strays.

Such a sum lies between the Laplace and the normal law. A normal law whose variance is a gamma number has both as its
ends and any kurtosis between; with the sum's own variance and kurtosis it stands in for the sum.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from tacita.lazy import later
from tacita.noise.usual import DEVIATIONS

special = later("scipy.special")  # a fifth of a second that most plans go without

Floats = NDArray[np.float64]

_LAPLACE = 3.0  # excess kurtosis of a Laplace number, the largest that a sum of them can have


@lru_cache(maxsize=64)
def _table(confidence: float) -> tuple[Floats, Floats]:
    """Standard deviations that hold a draw with this confidence, for kurtoses from normal to Laplace."""
    kurtoses = np.linspace(0, _LAPLACE, 25)
    return kurtoses, np.array(DEVIATIONS.get(confidence) or [_deviations(confidence, one) for one in kurtoses])


def _deviations(confidence: float, kurtosis: float) -> float:
    shape = _LAPLACE / max(kurtosis, 1e-4)
    share = (np.arange(4000) + 0.5) / 4000
    spread = np.sqrt(special.gammaincinv(shape, share) / shape)
    low, high = 0.0, 64.0
    for _ in range(60):
        middle = (low + high) / 2
        covered = 1 - 2 * float(special.ndtr(-middle / spread).mean())
        low, high = (low, middle) if covered >= confidence else (middle, high)
    return high


def deviations(confidence: float, kurtosis: Floats) -> Floats:
    """How many standard deviations on either side hold a sum of this excess kurtosis.

    >>> deviations(0.95, np.array([0.0, 1.5, 3.0])).round(2).tolist()
    [1.96, 2.06, 2.12]
    """
    kurtoses, reach = _table(confidence)
    return np.interp(np.clip(kurtosis, 0, _LAPLACE), kurtoses, reach)


def margin(confidence: float, parts: list[tuple[Floats, float]]) -> Floats:
    """Half the length of an interval that holds the sum of independent errors; each part has the variances of its
    errors and their kurtosis."""
    variance = sum((one for one, _ in parts), np.zeros(1))
    safe = np.where(variance > 0, variance, 1.0)
    fourth = sum((kurtosis * (one / safe) ** 2 for one, kurtosis in parts), np.zeros(1))
    return deviations(confidence, fourth) * np.sqrt(variance)
