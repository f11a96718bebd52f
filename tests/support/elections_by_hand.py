"""The chance that each candidate wins an election with geometric noise, summed term by term."""

import numpy as np
from numpy.typing import NDArray


def chances(scores: NDArray[np.int64], scale: float) -> NDArray[np.float64]:
    """P(i wins) for s_i + η_i the largest, the first of equals, P(η = k) ∝ exp(−k/scale), k = 0, 1, …"""
    scores = np.asarray(scores, dtype=np.int64)
    k = np.arange(int(60 * scale) + int(np.ptp(scores)) + 2)
    found = np.empty(scores.size)
    for i, own in enumerate(scores):
        term = -np.expm1(-1 / scale) * np.exp(-k / scale)
        for j, other in enumerate(scores):
            if j != i:
                most = own + k - other - (1 if j < i else 0)  # the most that η_j may be
                term = term * np.where(most >= 0, -np.expm1(-(most + 1) / scale), 0.0)
        found[i] = term.sum()
    return found
