"""Logistic and multinomial regression, for responses of few categories."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import cho_factor, cho_solve, solve_triangular

from tacita.errors import UsageError
from tacita.synthesis.panel.categories import Limits, pick
from tacita.synthesis.panel.predictors import Floats, Integers, Predictors

_PRIOR = 0.1  # precision of the normal prior of a coefficient on the standardised scale
_STEPS, _CLOSE = 50, 1e-8
_MOST_LEVELS = 12


@dataclass(frozen=True)
class LogitRegression:
    """Log odds of every category against the first, linear in the logs of numbers and in categories.

    With two categories it is logistic regression. Each file draws its coefficients from the normal approximation of
    their posterior.
    """

    given: tuple[str, ...]

    @property
    def needs(self) -> tuple[str, ...]:
        return self.given

    def fit(self, response: Integers, levels: int, given: Predictors, random: np.random.Generator) -> FittedLogit:
        if levels > _MOST_LEVELS:
            raise UsageError(
                f"LogitRegression: is for up to {_MOST_LEVELS} categories, and this variable has {levels}; "
                "use CollapsingMultinomial or DirichletMultinomial"
            )
        design = given.design(self.given)
        centre, spread = design.mean(axis=0), design.std(axis=0)
        centre[0], spread[spread < 1e-9] = 0.0, 1.0
        design = (design - centre) / spread
        seen = np.eye(levels)[response]
        beta = np.zeros((design.shape[1], levels - 1))
        loss = _loss(design, seen, beta)
        for _ in range(_STEPS):
            root, gradient = _newton(design, seen, beta)
            step = cho_solve(root, gradient).reshape(beta.shape, order="F")
            length, better = 1.0, _loss(design, seen, beta + step)
            while better > loss + 1e-12 * abs(loss) and length > 1e-6:
                length /= 2
                better = _loss(design, seen, beta + length * step)
            beta = beta + length * step
            if loss - better < _CLOSE * max(1.0, abs(loss)):
                break
            loss = better
        root, _ = _newton(design, seen, beta)
        return FittedLogit(self, centre, spread, beta, np.triu(root[0]))


def _chances(design: Floats, beta: Floats) -> Floats:
    odds = np.column_stack([np.zeros(len(design)), design @ beta])
    odds -= odds.max(axis=1, keepdims=True)
    found = np.exp(odds)
    return np.asarray(found / found.sum(axis=1, keepdims=True))


def _loss(design: Floats, seen: Floats, beta: Floats) -> float:
    """Minus the log posterior."""
    chances = np.maximum((_chances(design, beta) * seen).sum(axis=1), 1e-300)
    return float(-np.log(chances).sum() + _PRIOR / 2 * np.sum(beta**2))


def _newton(design: Floats, seen: Floats, beta: Floats) -> tuple[tuple[Floats, bool], Floats]:
    """The Cholesky factor of the information and the gradient, coefficients of one category after another."""
    columns, others = beta.shape
    chances = _chances(design, beta)[:, 1:]
    gradient = design.T @ (seen[:, 1:] - chances) - _PRIOR * beta
    information = np.empty((others * columns, others * columns))
    for one in range(others):
        for two in range(one, others):
            weight = chances[:, one] * ((one == two) - chances[:, two])
            block = design.T @ (design * weight[:, None])
            rows, across = slice(one * columns, (one + 1) * columns), slice(two * columns, (two + 1) * columns)
            information[rows, across] = block
            information[across, rows] = block.T
    information[np.diag_indices(len(information))] += _PRIOR
    return cho_factor(information), gradient.ravel(order="F")


@dataclass(frozen=True, eq=False)
class FittedLogit:
    model: LogitRegression
    centre: Floats
    spread: Floats
    beta: Floats
    root: Floats  # upper triangular, root'root = information

    def draw(self, given: Predictors, random: np.random.Generator, limits: Limits) -> Integers:
        noise = solve_triangular(self.root, random.standard_normal(self.beta.size))
        beta = self.beta + noise.reshape(self.beta.shape, order="F")
        design = (given.design(self.model.given) - self.centre) / self.spread
        values, _ = pick(_chances(design, beta), random, limits)
        return values
