"""Quantiles read off noisy counts: a plain histogram, and a tree of counts made consistent.

The bins are public: of equal width on the log scale between public bounds. One record is in one bin, so a histogram
with Laplace noise of scale 1/ε is ε-private under add/remove. In a tree one record is in one node per level: the scale
is the number of levels over ε. What follows the noise is post-processing. (Noise from NumPy: ideal arithmetic is
assumed; this is a peer in a study, not a release.)
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.optimize import isotonic_regression

from tacita.errors import UsageError
from tacita_studies.tran2023.peers.inputs import Bounds, Numbers, checked


def histogram(
    values: Numbers,
    quantiles: Sequence[float],
    epsilon: float,
    bounds: Bounds,
    rng: np.random.Generator,
    *,
    bins: int = 512,
) -> Numbers:
    """Quantiles of a log-scale histogram with Laplace noise, interpolated within a bin.

    >>> rng = np.random.default_rng(1)
    >>> histogram(np.arange(1.0, 10001.0), [0.3, 0.5], 1.0, (1.0, 1e6), rng).round(-3).tolist()
    [3000.0, 5000.0]
    """
    clamped, asked = checked(values, quantiles, epsilon, bounds)
    edges = _log_edges(bounds, bins)
    noisy = _counts(clamped, edges) + rng.laplace(0.0, 1 / epsilon, bins)
    return _read_off(noisy, asked, edges)


def tree(
    values: Numbers,
    quantiles: Sequence[float],
    epsilon: float,
    bounds: Bounds,
    rng: np.random.Generator,
    *,
    fan_out: int = 16,
    levels: int = 3,
) -> Numbers:
    """Quantiles of a b-ary tree of noisy counts after least squares (Hay et al. 2010), on a log scale.

    The root is measured too, so a record is in `levels` + 1 nodes. A node of height l (leaves have 1) weighs its own
    count with (b^l − b^(l−1)) / (b^l − 1) and the sum of its children with the rest; then every node's excess is
    spread evenly over its children.

    >>> rng = np.random.default_rng(1)
    >>> tree(np.arange(1.0, 10001.0), [0.3, 0.5], 1.0, (1.0, 1e6), rng).round(-3).tolist()
    [3000.0, 5000.0]
    """
    clamped, asked = checked(values, quantiles, epsilon, bounds)
    if fan_out < 2 or levels < 1:
        raise UsageError("a tree needs fan_out ≥ 2 and levels ≥ 1")
    edges = _log_edges(bounds, fan_out**levels)
    true = _counts(clamped, edges)
    upward: list[Numbers] = []
    for height in range(1, levels + 2):
        noisy = true + rng.laplace(0.0, (levels + 1) / epsilon, len(true))
        if upward:
            own = (fan_out**height - fan_out ** (height - 1)) / (fan_out**height - 1)
            noisy = own * noisy + (1 - own) * upward[-1].reshape(-1, fan_out).sum(axis=1)
        upward.append(noisy)
        if height <= levels:
            true = true.reshape(-1, fan_out).sum(axis=1)
    settled = upward[-1]
    for children in reversed(upward[:-1]):
        excess = settled - children.reshape(-1, fan_out).sum(axis=1)
        settled = children + np.repeat(excess / fan_out, fan_out)
    return _read_off(settled, asked, edges)


def _log_edges(bounds: Bounds, bins: int) -> Numbers:
    if bounds[0] <= 0:
        raise UsageError("bounds: a log scale needs a lower bound above 0")
    return np.geomspace(*bounds, bins + 1)


def _counts(values: Numbers, edges: Numbers) -> Numbers:
    """Records per bin; the bounds belong to the first and the last bin."""
    at = np.searchsorted(values, edges[1:-1], side="left")
    return np.diff(np.concatenate([[0], at, [len(values)]])).astype(np.float64)


def _read_off(counts: Numbers, quantiles: Numbers, edges: Numbers) -> Numbers:
    """Where the running total passes each quantile's share of the noisy total.

    Least squares makes the running total monotone. Its running maximum would be, too, but noise in empty bins at both
    ends would only ever raise it.
    """
    running = np.maximum(isotonic_regression(np.concatenate([[0.0], np.cumsum(counts)])).x, 0.0)
    if running[-1] <= running[0]:
        return np.full(len(quantiles), edges[0])
    return np.asarray(np.exp(np.interp(quantiles * running[-1], running, np.log(edges))))
