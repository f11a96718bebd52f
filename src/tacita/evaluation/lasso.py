"""Logistic regression with a LASSO penalty, for propensity models with more terms than the rows can bear.

Minimises −log-likelihood / N + λ Σ s_j |β_j|, where s_j is the standard deviation of column j and the intercept is
free. Each step minimises a quadratic bound of the likelihood plus the penalty by coordinate descent on XᵀWX, so a
step costs one pass over the rows however many coordinates move.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from tacita.compiled import njit
from tacita.evaluation.cells import Numbers
from tacita.evaluation.fits import Propensity
from tacita.evaluation.passes import Passes

_STEPS = 200
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
        for count in range(_STEPS):
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
