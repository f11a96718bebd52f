"""Logistic regression of "is this row original?" by maximum likelihood.

Newton's method (IRLS) on the blocks of a `Design`. The cross-product is the costly part, so it is refreshed only
when the last one no longer brings the fit closer quickly: with good synthetic data the propensities stay near one
value, its first form is nearly right for ever, and later steps cost one pass for the gradient. Whatever the
cross-product, the solution is where the exact gradient vanishes.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg.lapack import dpstrf

from tacita.compiled import njit
from tacita.evaluation.cells import Numbers
from tacita.evaluation.passes import Passes, likelihood

_TOLERANCE = 1e-15  # what one more step could still gain in log-likelihood, per row
_SLOW_TOLERANCE = 1e-7  # the same where gains only ever fall by a constant factor, or with a ridge
_DEPENDENT = 1e-9  # share of a column's square that other columns leave unexplained, below which it is dropped
_STEPS = 60
_RIDGE = 1.0  # a coefficient per standard deviation has a standard normal prior


@dataclass(frozen=True, eq=False)
class Propensity:
    """Fitted probabilities of being original, one per distinct row, with the counts of the row."""

    probability: Numbers
    original: Numbers
    total: Numbers
    parameters: int
    converged: bool
    left_out: tuple[str, ...] = ()
    ridge: float = 0.0

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


def logistic(passes: Passes) -> Propensity:
    """Maximum likelihood. Columns that others determine are dropped, so `parameters` is the rank of the design.

    Where a level occurs in one file only the estimate runs to infinity; its propensities run to 0 or 1 and the fit
    stops when the log-likelihood no longer changes. Where full steps keep overshooting (products of heavy-tailed
    numbers that nearly separate the files) there is no usable maximum: the fit is made again with a weak ridge, as
    tran2023 does, and `ridge` says so.
    """
    fit = _Newton(passes)
    if not fit.climb(ridge=0.0):
        fit.climb(ridge=_RIDGE)
    return fit.propensity()


class _Newton:
    """A fit on its way: where it is, and the columns that count."""

    def __init__(self, passes: Passes) -> None:
        design, gram = passes.design, passes.whole_gram
        self.design, self.passes = design, passes
        self.rows = float(design.total.sum())
        self.kept = independent(gram)
        self.gram = gram[np.ix_(self.kept, self.kept)]
        # Nested categories may make the intercept itself one of the columns that are dropped.
        at = design.intercept
        self.means = np.concatenate([gram[at, :at], gram[at:, at]])[self.kept] / self.rows
        share = float(design.original.sum()) / self.rows
        self.beta = np.zeros(len(self.kept))  # besides the starting log-odds
        self.eta = np.full(design.rows, math.log(share / (1 - share)))
        _, self.level, self.fitted, self.slope = passes.move(self.eta, np.zeros(design.parameters))
        self.converged, self.ridge = False, 0.0

    def climb(self, ridge: float) -> bool:
        """Go on to the maximum of log-likelihood − ½ ridge Σ (s_j β_j)²; False if steps without a ridge overshoot."""
        design, total = self.design, self.design.total
        self.ridge, self.converged = ridge, False
        pull = ridge * self._variances()
        solve = self._solver(pull)
        level = self.level - float(pull @ self.beta**2) / 2
        gain = exact = math.inf
        shortened = 0
        for _ in range(_STEPS):
            uphill = self.slope[self.kept] - pull * self.beta
            step = solve(uphill)
            last, gain = gain, float(uphill @ step)
            if gain < (_SLOW_TOLERANCE if ridge else _TOLERANCE) * self.rows:
                self.converged = True
                break
            if gain > 0.1 * last:  # the cross-product in hand no longer fits the propensities
                solve = self._solver(pull)
                step = solve(uphill)
                before, exact = exact, float(uphill @ step)
                gain = exact
                # A level that only one file has moves its estimate by about one per step for ever: gains fall slowly
                # even with the exact cross-product, and the propensities are near enough to 0 or 1 long before.
                if 0.2 * before < gain < _SLOW_TOLERANCE * self.rows:
                    self.converged = True
                    break
            direction, now, self.fitted, self.slope = self.passes.move(self.eta, self._all(step))
            length = 1.0
            while now - pull @ (self.beta + length * step) ** 2 / 2 < level - 1e-12 * abs(level) and length > 1e-6:
                length /= 2
                now, _ = likelihood(self.eta + length * direction, design.original, total)
            self.eta, self.beta = self.eta + length * direction, self.beta + length * step
            if length < 1:
                shortened += 1
                _, now, self.fitted, self.slope = self.passes.move(self.eta, np.zeros(design.parameters))
            self.level, level = now, now - float(pull @ self.beta**2) / 2
            if shortened > 1 and not ridge:
                return False
        return True

    def _variances(self) -> Numbers:
        """Of the columns; zero for the intercept."""
        return np.maximum(np.diag(self.gram) / self.rows - self.means**2, 0.0)

    def _solver(self, pull: Numbers) -> Callable[[Numbers], Numbers]:
        if not self.beta.any():  # all propensities are equal: the cross-product is known
            weight = float(self.fitted[0] * (1 - self.fitted[0]))
            return _solver(self.gram * weight + np.diag(pull))
        weighted = self.passes.gram(self.design.total * self.fitted * (1 - self.fitted))
        return _solver(weighted[np.ix_(self.kept, self.kept)] + np.diag(pull))

    def _all(self, step: Numbers) -> Numbers:
        whole = np.zeros(self.design.parameters)
        whole[self.kept] = step
        return whole

    def propensity(self) -> Propensity:
        design = self.design
        return Propensity(
            self.fitted, design.original, design.total, len(self.kept), self.converged, design.left_out, self.ridge
        )


def independent(gram: Numbers) -> NDArray[np.int64]:
    """Positions of a largest set of linearly independent columns, from the lower triangle of XᵀX."""
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
            factor = np.linalg.cholesky(scaled)
        except np.linalg.LinAlgError:
            prop *= 100
            continue
        return lambda right: scale * _triangular(factor, scale * right)


@njit(nogil=True, cache=True)
def _triangular(factor, right):  # type: ignore[no-untyped-def]
    """Solve LLᵀx = b by rows of L."""
    out = right.copy()
    for i in range(len(out)):
        for j in range(i):
            out[i] -= factor[i, j] * out[j]
        out[i] /= factor[i, i]
    for i in range(len(out) - 1, -1, -1):
        out[i] /= factor[i, i]
        for j in range(i):
            out[j] -= factor[i, j] * out[i]
    return out
