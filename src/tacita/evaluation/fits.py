"""Logistic regression of "is this row original?" by maximum likelihood and with a LASSO penalty.

Newton's method (IRLS) on the blocks of a `Design`. The cross-product is the costly part, so it is refreshed only
when the last one stops halving the distance quickly: with good synthetic data the propensities stay near one value,
its first form is nearly right for ever, and later steps cost one pass for the gradient. Whatever the cross-product,
the solution is where the exact gradient vanishes.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numba
import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve
from scipy.linalg.lapack import dpstrf

from tacita.evaluation.cells import WORKERS, Numbers
from tacita.evaluation.design import Design

_TOLERANCE = 1e-13  # Newton decrement per row: what one more step could still gain in log-likelihood
_DEPENDENT = 1e-9  # share of a column's square that other columns leave unexplained, below which it is dropped
_PASSES = 60
_FAR = 35.0  # |log-odds| beyond which a propensity is 0 or 1 to the last bit that matters


@dataclass(frozen=True, eq=False)
class Propensity:
    """Fitted probabilities of being original, one per distinct row, with the counts of the row."""

    probability: Numbers
    original: Numbers
    total: Numbers
    parameters: int
    converged: bool
    left_out: tuple[str, ...] = ()

    @property
    def rows(self) -> float:
        return float(self.total.sum())

    @property
    def share(self) -> float:
        """Share of original rows in the stacked file."""
        return float(self.original.sum()) / self.rows

    def pmse(self) -> float:
        """Mean squared distance of the propensities from the share: 0 (alike) to c(1 − c), at most 0.25."""
        return float(self.total @ (self.probability - self.share) ** 2) / self.rows

    def ks_distance(self) -> float:
        """Largest distance between the empirical distributions of the propensities in the two groups."""
        score = np.round(self.probability, 12)  # equal rows must tie, whatever order their sums were taken in
        order = np.argsort(score, kind="stable")
        last = np.append(score[order][1:] != score[order][:-1], True)
        synthetic = self.total - self.original
        gap = np.cumsum(self.original[order]) / self.original.sum() - np.cumsum(synthetic[order]) / synthetic.sum()
        return float(np.abs(gap[last]).max())


class _Passes:
    """Passes over the blocks of one design: log-odds, gradient, cross-product. Workers share nothing but the sum."""

    def __init__(self, design: Design) -> None:
        self.design = design
        self.value_of = np.array([group.value for group in design.groups], dtype=np.int64)

    def _sum(self, part: Callable[[int], list[NDArray[np.float64]]]) -> list[NDArray[np.float64]]:
        with ThreadPoolExecutor(WORKERS) as pool:
            first, *others = pool.map(part, range(WORKERS))
        for other in others:
            for held, more in zip(first, other, strict=True):
                held += more
        return first

    def log_odds(self, beta: Numbers) -> Numbers:
        out = np.empty(self.design.rows)
        split = self.design.intercept

        def part(worker: int) -> list[NDArray[np.float64]]:
            for block in self.design.blocks(worker):
                eta = block.dense @ beta[split:]
                _add_dummies(block.index, self.value_of, block.numbers, beta, eta)
                out[block.rows] = eta
            return []

        self._sum(part)
        return np.clip(out, -_FAR, _FAR)

    def gradient(self, residual: Numbers) -> Numbers:
        """Xᵀr."""
        split = self.design.intercept

        def part(worker: int) -> list[NDArray[np.float64]]:
            found = np.zeros(self.design.parameters)
            for block in self.design.blocks(worker):
                here = residual[block.rows]
                found[split:] += block.dense.T @ here
                _scatter(block.index, self.value_of, block.numbers, here, found)
            return [found]

        return self._sum(part)[0]

    def gram(self, weight: Numbers) -> Numbers:
        """XᵀWX, whole and symmetric."""
        split, size = self.design.intercept, self.design.parameters

        def part(worker: int) -> list[NDArray[np.float64]]:
            sparse, cross = np.zeros((split, split)), np.zeros((split, size - split))
            dense = np.zeros((size - split, size - split))
            for block in self.design.blocks(worker):
                here = weight[block.rows]
                weighted = block.dense * here[:, None]
                dense += weighted.T @ block.dense
                _cross_dummies(block.index, self.value_of, block.numbers, here, sparse)
                _cross_dense(block.index, self.value_of, block.numbers, weighted, cross)
            return [sparse, cross, dense]

        sparse, cross, dense = self._sum(part)
        out = np.empty((size, size))
        out[:split, :split] = np.tril(sparse) + np.tril(sparse, -1).T
        out[:split, split:] = cross
        out[split:, :split] = cross.T
        out[split:, split:] = dense
        return out


def logistic(design: Design) -> Propensity:
    """Maximum likelihood. Columns that others determine are dropped, so `parameters` is the rank of the design.

    Where a level occurs in one file only the estimate runs to infinity; its propensities run to 0 or 1 and the fit
    stops when the log-likelihood no longer changes.
    """
    passes = _Passes(design)
    n, share = design.total, float(design.original.sum() / design.total.sum())
    gram = passes.gram(n)
    kept = independent(gram)
    beta = np.zeros(design.parameters)
    beta[design.intercept] = math.log(share / (1 - share))
    solve = _solver(gram[np.ix_(kept, kept)] * share * (1 - share))
    del gram
    eta = passes.log_odds(beta)
    level, fitted = _likelihood(eta, design)
    gain, converged = math.inf, False
    for _ in range(_PASSES):
        slope = passes.gradient(design.original - n * fitted)[kept]
        step = solve(slope)
        last, gain = gain, float(slope @ step)
        if gain < _TOLERANCE * n.sum():
            converged = True
            break
        if gain > 0.05 * last:  # the cross-product in hand no longer fits the propensities
            solve = _solver(passes.gram(n * fitted * (1 - fitted))[np.ix_(kept, kept)])
            step = solve(slope)
            gain = float(slope @ step)
        towards = np.zeros(design.parameters)
        towards[kept] = step
        direction = passes.log_odds(towards) if np.abs(towards).max() < 1 else passes.log_odds(beta + towards) - eta
        length = 1.0
        while True:
            tried = np.clip(eta + length * direction, -_FAR, _FAR)
            now, fitted = _likelihood(tried, design)
            if now >= level - 1e-12 * abs(level) or length < 1e-6:
                break
            length /= 2
        beta = beta + length * towards
        eta, level = tried, now
    return Propensity(fitted, design.original, n, len(kept), converged, design.left_out)


def _likelihood(eta: Numbers, design: Design) -> tuple[float, Numbers]:
    """Log-likelihood and fitted probabilities."""
    level = float(design.original @ eta - design.total @ np.logaddexp(0.0, eta))
    return level, 1.0 / (1.0 + np.exp(-eta))


def independent(gram: Numbers) -> NDArray[np.int64]:
    """Positions of a largest set of linearly independent columns, from their cross-product."""
    scale = np.sqrt(np.diag(gram))
    used = np.flatnonzero(scale > 0)
    scaled = gram[np.ix_(used, used)] / np.outer(scale[used], scale[used])
    _, pivot, rank, _ = dpstrf(scaled, tol=_DEPENDENT, lower=1)
    return np.sort(used[pivot[:rank] - 1])


def _solver(matrix: Numbers) -> Callable[[Numbers], Numbers]:
    """Solve with a positive definite matrix after scaling its diagonal to one; a nearly singular one is propped."""
    scale = 1 / np.sqrt(np.maximum(np.diag(matrix), 1e-300))
    scaled = matrix * np.outer(scale, scale)
    prop = 1e-12
    while True:
        try:
            scaled[np.diag_indices_from(scaled)] += prop
            factor = cho_factor(scaled, lower=True)
        except np.linalg.LinAlgError:
            prop *= 100
            continue
        return lambda right: scale * cho_solve(factor, scale * right)


@numba.njit(nogil=True, cache=True)
def _add_dummies(index, value_of, numbers, beta, eta):  # type: ignore[no-untyped-def]
    for s in range(index.shape[0]):
        q = value_of[s]
        for row in range(index.shape[1]):
            i = index[s, row]
            if i >= 0:
                eta[row] += beta[i] if q < 0 else beta[i] * numbers[q, row]


@numba.njit(nogil=True, cache=True)
def _scatter(index, value_of, numbers, residual, out):  # type: ignore[no-untyped-def]
    for s in range(index.shape[0]):
        q = value_of[s]
        for row in range(index.shape[1]):
            i = index[s, row]
            if i >= 0:
                out[i] += residual[row] if q < 0 else residual[row] * numbers[q, row]


@numba.njit(nogil=True, cache=True)
def _cross_dummies(index, value_of, numbers, weight, out):  # type: ignore[no-untyped-def]
    for s in range(index.shape[0]):
        for t in range(s + 1):
            qs, qt = value_of[s], value_of[t]
            for row in range(index.shape[1]):
                i, j = index[s, row], index[t, row]
                if i >= 0 and j >= 0:
                    w = weight[row]
                    if qs >= 0:
                        w *= numbers[qs, row]
                    if qt >= 0:
                        w *= numbers[qt, row]
                    out[i, j] += w


@numba.njit(nogil=True, cache=True)
def _cross_dense(index, value_of, numbers, weighted, out):  # type: ignore[no-untyped-def]
    for s in range(index.shape[0]):
        q = value_of[s]
        for row in range(index.shape[1]):
            i = index[s, row]
            if i >= 0:
                for column in range(weighted.shape[1]):
                    out[i, column] += weighted[row, column] if q < 0 else weighted[row, column] * numbers[q, row]
