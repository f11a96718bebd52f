"""Linear quantile regression without noise, by an interior-point method."""

from __future__ import annotations

import math
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from numpy.typing import NDArray

from tacita.compiled import njit

Numbers = NDArray[np.float64]


def quantile_planes(
    predictors: Numbers, response: Numbers, quantiles: Sequence[float], weights: Numbers | None = None
) -> Numbers:
    """Coefficients (intercept first) of one linear quantile regression per quantile.

    `weights` says how many records each row stands for: integers repeat, and a row per distinct record is faster.

    An interior-point method finds the plane; the solution is then moved to the vertex it points to, which passes
    through as many records as there are coefficients, unless that has a larger loss.

    >>> x = np.arange(9.0)
    >>> quantile_planes(x[:, None], 2 * x + np.tile([-1.0, 0.0, 5.0], 3), [0.5]).round(6).tolist()
    [[0.0, 2.0]]
    """
    design = np.column_stack([np.ones(len(response)), predictors])
    counts = np.ones(len(response)) if weights is None else weights
    if design.shape[1] == 1:
        return np.quantile(response, quantiles, method="inverted_cdf", weights=weights)[:, None]
    scale = np.abs(design).max(axis=0)
    scale[scale == 0] = 1.0
    unit = max(float(np.abs(response).max()), math.ulp(1.0))
    columns, wanted = np.ascontiguousarray((design / scale).T), response / unit

    def loss(plane: Numbers, quantile: float) -> float:
        return check_loss(wanted - plane @ columns, quantile, counts)

    def fit(quantile: float) -> Numbers:
        beta = _interior_point(columns, wanted, counts, quantile)
        near = np.argsort(np.abs(wanted - beta @ columns))[: len(columns)]
        if np.linalg.matrix_rank(columns[:, near]) == len(columns):
            vertex = np.linalg.solve(columns[:, near].T, wanted[near])
            if loss(vertex, quantile) <= loss(beta, quantile):
                beta = vertex
        return np.asarray(beta * unit / scale)

    with ThreadPoolExecutor(2) as pool:
        return np.array(list(pool.map(fit, quantiles)))


def check_loss(residual: Numbers, quantile: float, counts: Numbers | float = 1.0) -> float:
    """Σ ρ_τ(r) with ρ_τ(r) = r (τ − 1{r ≤ 0}), each residual as often as its record counts."""
    return float(np.sum(counts * residual * (quantile - (residual <= 0))))


@njit(nogil=True, cache=True)
def _interior_point(columns, response, counts, quantile):  # type: ignore[no-untyped-def]
    """The dual of quantile regression by a primal-dual method with Mehrotra's corrector.

    max yᵀa subject to Xᵀa = (1 − τ) Xᵀw, 0 ≤ a ≤ w. The multipliers of the equations are the coefficients; `up` and
    `down` are those of the two bounds, and up − down is the residual.
    """
    p, n = columns.shape
    a = (1 - quantile) * counts
    beta = np.linalg.solve(columns @ columns.T, columns @ response)
    residual = response - beta @ columns
    # Both multipliers away from zero: a start well inside the region.
    start = np.abs(residual).mean() + 1e-12
    up = np.maximum(residual, 0.0) + 0.1 * start
    down = up - residual
    for row in range(n):
        if down[row] <= 0.0:
            down[row] = 0.1 * start
            up[row] = down[row] + residual[row]
    weighted = np.empty((p, n))
    for _ in range(100):
        free = counts - a
        gap = np.sum(up * free + down * a)
        if gap < 1e-11 * n:
            break
        q = 1.0 / (down / a + up / free)
        for k in range(p):
            weighted[k] = columns[k] * q
        normal = weighted @ columns.T
        for k in range(p):  # near a plane through more records than coefficients it would turn singular
            normal[k, k] *= 1 + 1e-12
            normal[k, k] += 1e-300
        off = response - beta @ columns - up + down  # zero but for rounding
        push, pull = -down, -up
        da, dbeta = _direction(columns, weighted, normal, q, off, push, pull)
        ddown, dup = push - down / a * da, pull + up / free * da
        primal, dual = _length(a, da, free, -da), _length(down, ddown, up, dup)
        if min(primal, dual) < 1.0:
            reached = np.sum((up + dual * dup) * (free - primal * da) + (down + dual * ddown) * (a + primal * da))
            target = gap / (2 * n) * (reached / gap) ** 3
            push = target / a - down - da * ddown / a
            pull = target / free - up + da * dup / free
            da, dbeta = _direction(columns, weighted, normal, q, off, push, pull)
            ddown, dup = push - down / a * da, pull + up / free * da
            primal, dual = _length(a, da, free, -da), _length(down, ddown, up, dup)
        a = a + primal * da
        beta = beta + dual * dbeta
        down = down + dual * ddown
        up = up + dual * dup
    return beta


@njit(nogil=True, cache=True)
def _direction(columns, weighted, normal, q, off, push, pull):  # type: ignore[no-untyped-def]
    """Newton's step: Xᵀda = 0 and the linearised optimality and complementarity conditions."""
    wanted = off - pull + push
    dbeta = np.linalg.solve(normal, weighted @ wanted)
    return q * (wanted - dbeta @ columns), dbeta


@njit(nogil=True, cache=True)
def _length(first, first_step, second, second_step):  # type: ignore[no-untyped-def]
    """The longest step, up to 1, that keeps both vectors positive with a little to spare."""
    most = 1.0 / 0.9995
    for row in range(len(first)):
        if first_step[row] < 0.0:
            most = min(most, -first[row] / first_step[row])
        if second_step[row] < 0.0:
            most = min(most, -second[row] / second_step[row])
    return min(1.0, 0.9995 * most)
