"""Regression of logarithms with residuals of records that are alike, for numbers that go with others."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import solve_triangular

from tacita.errors import UsageError
from tacita.synthesis.panel.normal import ridge
from tacita.synthesis.panel.numbers import Scale
from tacita.synthesis.panel.predictors import Floats, Predictors, standard


@dataclass(frozen=True)
class LogRegression:
    """The log of the response regressed on the logs of numbers and on categories. Each value has the residual of one of
    the `near` records whose expected values are nearest, so that the law of residuals may be any, and another for
    each size. Least squares keeps what regressions of these numbers on each other tell (a production function).
    """

    given: tuple[str, ...] = ()
    near: int = 40

    def __post_init__(self) -> None:
        if self.near < 10:
            raise UsageError("near: residuals of at least 10 records, so that no single one is laid on many units")

    @property
    def needs(self) -> tuple[str, ...]:
        return self.given

    def fit(self, response: Floats, given: Predictors, scale: Scale, random: np.random.Generator) -> FittedLogs:
        names = given.among(self.given)
        raw = given.design(names)[:, 1:]
        centre, spread = standard(raw)
        design = (raw - centre) / spread
        logs = scale.logs(scale.blurred(response, random))
        level = float(logs.mean())
        root, slopes = ridge(design.T @ design, design.T @ (logs - level))
        expected = level + design @ slopes
        order = np.argsort(expected, kind="stable")
        ends = design.min(axis=0), design.max(axis=0)
        return FittedLogs(
            self.near,
            names,
            centre,
            spread,
            ends,
            root,
            slopes,
            level,
            expected[order],
            (logs - expected)[order],
            scale,
        )


@dataclass(frozen=True, eq=False)
class FittedLogs:
    """The regression, and its records in the order of what was expected of them; a draw has slopes of its own."""

    near: int
    names: tuple[str, ...]
    centre: Floats
    spread: Floats
    ends: tuple[Floats, Floats]  # of the predictors: a regression says nothing beyond
    root: Floats
    slopes: Floats
    level: float
    expected: Floats
    residuals: Floats
    scale: Scale

    def draw(self, given: Predictors, random: np.random.Generator) -> Floats:
        design = np.clip((given.design(self.names)[:, 1:] - self.centre) / self.spread, *self.ends)
        apart = float(np.std(self.residuals))
        slopes = self.slopes + apart * solve_triangular(self.root, random.standard_normal(len(self.slopes)))
        expected = self.level + design @ slopes
        records = len(self.expected)
        near = min(self.near, records)
        start = np.clip(np.searchsorted(self.expected, expected) - near // 2, 0, records - near)
        return self.scale.from_logs(expected + self.residuals[start + random.integers(0, near, given.rows)])
