"""Logistic regression of "is this row original?" by maximum likelihood.

Newton's method (IRLS) on the blocks of a `Design`. The cross-product is the costly part, so it is refreshed only
when the last one no longer brings the fit closer quickly: with good synthetic data the propensities stay near one
value, its first form is nearly right for ever, and later steps cost one pass for the gradient. Whatever the
cross-product, the solution is where the exact gradient vanishes.

Logistic regression with a LASSO penalty, for propensity models with more terms than the rows can bear.

Minimises −log-likelihood / N + λ Σ s_j |β_j|, where s_j is the standard deviation of column j and the intercept is
free. Each step minimises a quadratic bound of the likelihood plus the penalty by coordinate descent on XᵀWX, so a
step costs one pass over the rows however many coordinates move.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

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


_LASSO_STEPS = 200
_PATH = 10
_SMALLEST = 0.01  # last penalty of the path as a share of the first
_CLOSE = 1e-9  # gain per row at which a step is the last
_NEAR = 1e-7  # the same on the way along the path


@dataclass(frozen=True, eq=False)
class _Point:
    beta: Numbers
    eta: Numbers
    objective: float
    fitted: Numbers
    slope: Numbers
    log_likelihood: float


def lasso(passes: Passes, penalty: float | None = None) -> tuple[Propensity, float]:
    """The penalised fit and its λ.

    Without a `penalty` λ is the one of a geometric path with the smallest Akaike information criterion, where the
    non-zero coefficients are the degrees of freedom: it estimates the deviance on fresh rows, as cross-validation
    does, but is deterministic and costs a single path.
    """
    solver = _Solver(passes)
    here = solver.null()
    if penalty is not None:
        here = solver.minimise(here, penalty)
        return solver.propensity(here), penalty
    best, best_penalty, lowest = here, math.inf, solver.criterion(here)
    first = solver.largest_penalty(here)
    for penalty in first * np.geomspace(1, _SMALLEST, _PATH) if first > 0 else ():
        here = solver.minimise(here, float(penalty), _NEAR)
        if solver.criterion(here) < lowest:
            best, best_penalty, lowest = here, float(penalty), solver.criterion(here)
    if math.isinf(best_penalty):
        return solver.propensity(best), first
    return solver.propensity(solver.minimise(best, best_penalty)), best_penalty


class _Solver:
    def __init__(self, passes: Passes) -> None:
        self.passes = passes
        self.design = design = passes.design
        self.n = float(design.total.sum())
        # A quarter of XᵀX bounds the second derivative everywhere, so a step with it never overshoots.
        self.bound = self._whole(passes.whole_gram) / 4
        squares = self.passes.gradient(design.total, squared=True) / self.n
        means = self.passes.gradient(design.total) / self.n
        self.spread = np.sqrt(np.maximum(squares - means**2, 0.0))
        self.spread[self.spread < 1e-12] = 0.0

    def _whole(self, lower: Numbers) -> Numbers:
        return np.asarray((np.tril(lower) + np.tril(lower, -1).T) / self.n)

    def null(self) -> _Point:
        share = float(self.design.original.sum()) / self.n
        beta = np.zeros(self.design.parameters)
        beta[self.design.intercept] = math.log(share / (1 - share))
        return self._point(beta, np.full(self.design.rows, beta[self.design.intercept]), np.zeros_like(beta), 0.0)

    def _point(self, beta: Numbers, eta: Numbers, step: Numbers, penalty: float) -> _Point:
        """The point β + step, given the log-odds at β."""
        direction, level, fitted, slope = self.passes.move(eta, step)
        cost = -level / self.n + penalty * float(self.spread @ np.abs(beta + step))
        return _Point(beta + step, eta + direction, cost, fitted, slope / self.n, level)

    def largest_penalty(self, here: _Point) -> float:
        """The smallest λ at which every coefficient is zero."""
        moving = self.spread > 0
        return float(np.max(np.abs(here.slope[moving]) / self.spread[moving], initial=0.0))

    def minimise(self, here: _Point, penalty: float, close: float = _CLOSE) -> _Point:
        here = replace(here, objective=-here.log_likelihood / self.n + penalty * float(self.spread @ np.abs(here.beta)))
        curvature = self.bound
        weights = penalty * self.spread
        weights[self.spread == 0] = math.inf  # columns that never vary
        weights[self.design.intercept] = 0.0
        for count in range(_LASSO_STEPS):
            if count % 6 == 5:  # far from even odds the bound is loose: use the curvature at this point
                curvature = self._whole(self.passes.gram(self.design.total * here.fitted * (1 - here.fitted)))
                curvature[np.diag_indices_from(curvature)] += 1e-9 * np.diag(self.bound)
            step = _descend(curvature, here.slope, here.beta, weights) - here.beta
            tried = self._point(here.beta, here.eta, step, penalty)
            length = 1.0
            while tried.objective > here.objective and length > 1e-4:
                length /= 2
                tried = self._point(here.beta, here.eta, length * step, penalty)
            gained = here.objective - tried.objective
            if gained >= 0:
                here = tried
            if gained < close:
                break
        return here

    def criterion(self, here: _Point) -> float:
        return -2 * here.log_likelihood + 2 * self.used(here)

    def used(self, here: _Point) -> int:
        """Non-zero coefficients besides the intercept."""
        return int(np.count_nonzero(np.delete(here.beta, self.design.intercept)))

    def propensity(self, here: _Point) -> Propensity:
        design = self.design
        return Propensity(here.fitted, design.original, design.total, self.used(here) + 1, True, design.left_out)


@njit(nogil=True, cache=True)
def _descend(curvature, slope, start, weights):  # type: ignore[no-untyped-def]
    """Minimise −slope·d + ½ d·H·d + Σ weight |start + d| by cycles over the coordinates that still move."""
    beta = start.copy()
    rest = slope.copy()  # slope − H d
    size = len(beta)
    moving = np.ones(size, dtype=np.bool_)
    everything = True
    for _ in range(2000):
        largest = 0.0
        for j in range(size):
            if (not everything and not moving[j]) or curvature[j, j] <= 0 or np.isinf(weights[j]):
                continue
            pull = rest[j] + curvature[j, j] * beta[j]
            value = 0.0
            if pull > weights[j]:
                value = (pull - weights[j]) / curvature[j, j]
            elif pull < -weights[j]:
                value = (pull + weights[j]) / curvature[j, j]
            change = value - beta[j]
            moving[j] = value != 0.0
            if change != 0.0:
                beta[j] = value
                for i in range(size):
                    rest[i] -= curvature[j, i] * change  # the same number, and rows of it lie together
                largest = max(largest, change * change * curvature[j, j])
        if largest < 1e-14:
            if everything:
                break
            everything = True
        else:
            everything = False
    return beta
