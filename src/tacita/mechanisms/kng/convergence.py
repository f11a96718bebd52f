"""Have several chains reached the same law? Rank-normalised split R-hat and bulk effective sample size.

After Vehtari, Gelman, Simpson, Carpenter and Bürkner (2021). Both numbers are computed from chains that ran on
confidential rows: they are confidential themselves.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri
from scipy.stats import rankdata

Numbers = NDArray[np.float64]


def split_rhat(chains: Numbers) -> float:
    """The larger of the R-hats of the ranks and of the ranks of distances from the median; rows are chains.

    >>> random = np.random.default_rng(1)
    >>> same = random.normal(size=(4, 1000))
    >>> split_rhat(same) < 1.01 < 1.5 < split_rhat(same + np.arange(4)[:, None])
    True
    """
    halves = _split(chains)
    if not _moves(halves):
        return math.inf
    folded = np.abs(halves - np.median(halves))
    return max(_rhat(_scores(halves)), _rhat(_scores(folded)))


def bulk_ess(chains: Numbers) -> float:
    """How many independent draws the chains are worth in the centre of the law.

    >>> random = np.random.default_rng(1)
    >>> 3000 < bulk_ess(random.normal(size=(4, 1000))) < 5000
    True
    >>> bulk_ess(np.cumsum(random.normal(size=(4, 1000)), axis=1)) < 50
    True
    """
    halves = _split(chains)
    if not _moves(halves):
        return 0.0
    z = _scores(halves)
    many, length = z.shape
    size = 2 ** math.ceil(math.log2(2 * length))
    centred = z - z.mean(axis=1, keepdims=True)
    spectrum = np.abs(np.fft.rfft(centred, size, axis=1)) ** 2
    covariance = np.fft.irfft(spectrum, size, axis=1)[:, :length] / length
    within = covariance[:, 0].mean() * length / (length - 1)
    pooled = within * (length - 1) / length + z.mean(axis=1).var(ddof=1)
    if pooled <= 0:
        return 0.0
    correlation = 1 - (within - covariance.mean(axis=0) * length / (length - 1)) / pooled
    correlation[0] = 1.0
    # Geyer: sums of neighbouring pairs are positive and fall; the first that is not ends the sum.
    pairs = correlation[: length // 2 * 2].reshape(-1, 2).sum(axis=1)
    stop = np.flatnonzero(pairs < 0)
    pairs = np.minimum.accumulate(pairs[: stop[0] if stop.size else pairs.size])
    time = max(-1 + 2 * float(pairs.sum()), 1 / math.log10(many * length))
    return float(many * length / time)


def _split(chains: Numbers) -> Numbers:
    half = chains.shape[1] // 2
    return np.concatenate([chains[:, :half], chains[:, -half:]])


def _moves(halves: Numbers) -> bool:
    return halves.shape[1] >= 4 and bool(np.isfinite(halves).all()) and bool((np.ptp(halves, axis=1) > 0).all())


def _scores(halves: Numbers) -> Numbers:
    ranks = rankdata(halves.ravel()).reshape(halves.shape)
    return np.asarray(ndtri((ranks - 0.375) / (halves.size + 0.25)))


def _rhat(z: Numbers) -> float:
    length = z.shape[1]
    within = float(z.var(axis=1, ddof=1).mean())
    between = length * float(z.mean(axis=1).var(ddof=1))
    return math.sqrt(((length - 1) / length * within + between / length) / within) if within > 0 else math.inf
