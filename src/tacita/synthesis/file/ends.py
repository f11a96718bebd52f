"""Ends of a number in which nobody is, as far as noise lets tell. Post-processing only.

Bounds are public and may be wide. Noise on many values or bins that nobody has would add up, and what is left of it
once nothing is negative would stand at the largest values of all.
"""

from __future__ import annotations

from math import log, sqrt

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

_QUIET = 1.5  # standard deviations of the noise on a sum: what has less is taken for empty
_CHANCE = 1e-2  # that one of all values stands out by noise alone
_TOLD = 2.5  # the same, next to what is not empty: noise far out says nothing of it


def without_ends(counts: Floats, noise: float) -> Floats:
    """Counts with both ends emptied as far as all that stands there is no more than noise. A single value that stands
    out is no end.

    >>> without_ends(np.array([1.0, -2.0, 50.0, 60.0, 1.0, -1.0, 2.0]), 4.0).round(1).tolist()
    [0.0, 0.0, 50.0, 60.0, 0.0, 0.0, 0.0]
    """
    kept, clear = counts.copy(), sqrt(2 * noise * log(counts.size / _CHANCE))
    for one_way, other in ((counts, kept), (counts[::-1], kept[::-1])):
        within = np.cumsum(one_way) <= _QUIET * np.sqrt(noise * np.arange(1, counts.size + 1))
        quiet = np.flatnonzero(within & (np.maximum.accumulate(one_way) <= clear))
        if quiet.size:
            cut = int(quiet[-1]) + 1
            inner = np.cumsum(one_way[:cut][::-1]) - _TOLD * np.sqrt(noise * np.arange(1, cut + 1))
            cut -= int(inner.argmax()) + 1 if inner.max() > 0 else 0
            other[:cut] = 0.0
    return kept if kept.any() else counts
