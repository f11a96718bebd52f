"""Three laws that break what the simulation of section 4.1 is kind about: fixed slopes, light tails, no lumps.

Each keeps the paper's chain X1 → X2 → X3 with 5,000 rows. The bounds are public and wide.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from tacita_studies.tran2023.simulation import ORDER

Numbers = NDArray[np.float64]
Law = Callable[[np.random.Generator, int], tuple[Numbers, Numbers, Numbers]]


@dataclass(frozen=True)
class Variant:
    """A law of three variables, with the bounds that every private method is given.

    `box` is where the paper's layouts top-code predictors; as in section 4.1, near the 99th percentile of the law.
    """

    name: str
    words: str
    upper: Mapping[str, float]
    box: Mapping[str, int]
    law: Law

    def simulate(self, rows: int = 5000, *, seed: int) -> tuple[pd.DataFrame, pd.DataFrame]:
        """A training and a testing file.

        >>> training, testing = VARIANTS[2].simulate(1000, seed=1)
        >>> 0.1 < float((training.x1 == 0).mean()) < 0.3
        True
        """
        random = np.random.default_rng(seed)

        def one() -> pd.DataFrame:
            values = dict(zip(ORDER, self.law(random, rows), strict=True))
            return pd.DataFrame({name: np.minimum(values[name], self.upper[name]) for name in ORDER})

        return one(), one()


def _heteroskedastic(random: np.random.Generator, rows: int) -> tuple[Numbers, Numbers, Numbers]:
    x1, xi, gamma = random.exponential(10.0, (3, rows))
    x2 = 4 + 3 * x1 + (0.5 + 0.05 * x1) * xi
    return x1, x2, 3 + 2 * x1 + x2 + (0.5 + 0.015 * x2) * gamma


def _pareto(random: np.random.Generator, rows: int) -> tuple[Numbers, Numbers, Numbers]:
    # Lomax: P(X > x) = (1 + x/10)⁻², which has a mean of 10 and no variance.
    x1, xi, gamma = 10 * random.pareto(2.0, (3, rows))
    x2 = 4 + 3 * x1 + xi
    return x1, x2, 3 + 2 * x1 + x2 + gamma


def _zeros(random: np.random.Generator, rows: int) -> tuple[Numbers, Numbers, Numbers]:
    x1, xi, gamma = random.exponential(10.0, (3, rows))
    none = random.random((3, rows)) < 0.2
    x1 = np.where(none[0], 0.0, x1)
    x2 = np.where(none[1], 0.0, 4 + 3 * x1 + xi)
    return x1, x2, np.where(none[2], 0.0, 3 + 2 * x1 + x2 + gamma)


VARIANTS = (
    Variant(
        "heteroskedastic slope",
        "the noise of X2 and X3 grows with their predictors, so that slopes differ between quantiles",
        {"x1": 1000.0, "x2": 1000.0, "x3": 2000.0},
        {"x1": 46, "x2": 186},
        _heteroskedastic,
    ),
    Variant(
        "Pareto tail",
        "X1 and both noises have a Pareto tail of index 2: no variance",
        {"x1": 10_000.0, "x2": 40_000.0, "x3": 80_000.0},
        {"x1": 90, "x2": 330},
        _pareto,
    ),
    Variant(
        "point mass at zero",
        "each variable is zero for a fifth of the records, whatever its predictors are",
        {"x1": 1000.0, "x2": 1000.0, "x3": 2000.0},
        {"x1": 44, "x2": 140},
        _zeros,
    ),
)
