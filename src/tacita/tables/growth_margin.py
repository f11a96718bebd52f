"""How far the difference of two noisy totals strays whose scales are known from noisy sizes. Public laws only.

`mechanisms/magnitude/growth.md` says what is computed here, and why.
"""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaincinv
from scipy.stats import qmc

from tacita.mechanisms.magnitude.base import NoiseLaw
from tacita.noise.power import BoxLaw

Floats = NDArray[np.float64]

_POINTS = 14  # two to this power points, evenly spread: the third digit of a 95% point is right
_RATIOS = np.linspace(0.0, 1.0, 11)
_SAFE = 1.01
_FARTHEST = 1e6  # in scales; no point of the grid is further out


@lru_cache(maxsize=64)
def joint_stretch(law: NoiseLaw, blur: Fraction, confidence: float) -> float:
    """c of growth.md: times α and the length of both noisy sizes, it bounds the error with this confidence."""
    even = qmc.Sobol(5, scramble=False).random_base2(_POINTS) + 0.5 / 2**_POINTS
    even = np.clip(even, 1e-9, 1 - 1e-9)
    one, two = _pair(law, even[:, :3])
    stretch = [np.exp(float(blur) * _laplace(even[:, at])) for at in (3, 4)]
    away = [
        np.quantile(np.abs(two - t * one) / np.hypot(stretch[1], t * stretch[0]), confidence) for t in _RATIOS.tolist()
    ]
    return float(_SAFE * max(away))


def _pair(law: NoiseLaw, even: Floats) -> tuple[Floats, Floats]:
    """Two values of the law: of one box, or independent."""
    if isinstance(law, BoxLaw):
        share = betaincinv(law.width + 1, float(law.a), even[:, 0])
        reach = float(law.b) * share / (1 - share)
        return reach * (2 * even[:, 1] - 1), reach * (2 * even[:, 2] - 1)
    grid = np.concatenate(([0.0], np.geomspace(1e-4, _FARTHEST, 4000)))
    grid = np.concatenate((-grid[:0:-1], grid))
    reached = law.cdf(grid)
    return np.interp(even[:, 1], reached, grid), np.interp(even[:, 2], reached, grid)


def _laplace(even: Floats) -> Floats:
    return np.where(even < 0.5, np.log(2 * even), -np.log(2 - 2 * even))
