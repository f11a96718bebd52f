"""Half-samples of a stratified design (Preston 2009): which units a replicate keeps, and how it weights them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Codes = NDArray[np.int64]


def half_sample_factors(
    stratum: Codes, sampled: Floats, fraction: Floats, replicates: int, rng: np.random.Generator
) -> Floats:
    """Factors of the weights, one row per unit and one column per replicate.

    In every stratum half of the n units (rounded down, m) are drawn without replacement. Units drawn get the factor
    1 − λ + λ·n/m and the others 1 − λ, with λ = √(m·(1 − f)/(n − m)), f being the sampled share of the stratum.

    >>> rng = np.random.default_rng(1)
    >>> half_sample_factors(np.zeros(4, int), np.full(4, 4.0), np.zeros(4), 2, rng).sum(axis=0)
    array([4., 4.])
    """
    half = np.floor(sampled / 2)
    share = np.sqrt(half * (1 - fraction) / np.maximum(sampled - half, 1))
    factors = np.empty((stratum.size, replicates))
    starts = np.searchsorted(np.sort(stratum), stratum)
    for number in range(replicates):
        # Units in random order within their stratum; the first half of each is drawn.
        order = np.lexsort((rng.random(stratum.size), stratum))
        place = np.empty(stratum.size)
        place[order] = np.arange(stratum.size)
        drawn = place - starts < half
        factors[:, number] = 1 - share + np.where(drawn, share * sampled / np.maximum(half, 1), 0.0)
    return factors
