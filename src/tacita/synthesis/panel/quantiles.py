"""Quantile regression as a model of a yearly number: many planes, and values between them. Without noise."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tacita.errors import UsageError
from tacita.synthesis.panel.numbers import Scale
from tacita.synthesis.panel.planes import quantile_planes
from tacita.synthesis.panel.predictors import Floats, Predictors


@dataclass(frozen=True)
class QuantileRegression:
    """`planes` linear quantile regressions of the log of the response, on the logs of numbers and on categories.

    A value lies at random between two neighbouring planes. Every file fits its own planes, to records with random
    weights (a Bayesian bootstrap), of which at most `most` are used. `relative_to` as in `NormalRegression`. Slower
    than that one, and it takes nothing for granted about the shape of the law.
    """

    given: tuple[str, ...] = ()
    relative_to: str | None = None
    planes: int = 19
    most: int = 3000

    def __post_init__(self) -> None:
        if self.planes < 3 or self.most < 50:
            raise UsageError("planes, most: at least 3 planes from at least 50 records")

    @property
    def needs(self) -> tuple[str, ...]:
        more = () if self.relative_to is None else (self.relative_to,)
        return tuple(dict.fromkeys((*self.given, *more)))

    def fit(self, response: Floats, given: Predictors, scale: Scale, random: np.random.Generator) -> FittedQuantiles:
        names = given.among(self.given)
        chosen = np.arange(given.rows)
        if given.rows > self.most:
            chosen = np.sort(random.choice(given.rows, self.most, replace=False))
        fewer = given.at(chosen)
        base = fewer.base(self.relative_to)
        wanted = scale.logs(scale.blurred(response[chosen], random))
        if base is not None:
            wanted -= base.logs
        design = fewer.design(names)[:, 1:]
        varies = design.std(axis=0) > 1e-9
        return FittedQuantiles(self, names, varies, design[:, varies], wanted, base is not None, scale)


@dataclass(frozen=True, eq=False)
class FittedQuantiles:
    model: QuantileRegression
    names: tuple[str, ...]
    varies: np.ndarray[tuple[int], np.dtype[np.bool_]]
    design: Floats
    response: Floats
    relative: bool
    scale: Scale

    def draw(self, given: Predictors, random: np.random.Generator) -> Floats:
        count = self.model.planes
        levels = (np.arange(count) + 0.5) / count
        weights = random.exponential(size=len(self.response))
        planes = quantile_planes(self.design, self.response, levels.tolist(), weights)
        inside = np.clip(
            given.design(self.names)[:, 1:][:, self.varies], self.design.min(axis=0), self.design.max(axis=0)
        )
        # Planes may cross between records; sorted values do not.
        values = np.sort(planes[:, 0] + inside @ planes[:, 1:].T, axis=1)
        place = np.clip(random.random(given.rows) * count - 0.5, 0, count - 1)
        left = np.minimum(place.astype(np.int64), count - 2)
        rows = np.arange(given.rows)
        found = values[rows, left] + (values[rows, left + 1] - values[rows, left]) * (place - left)
        base = given.base(self.model.relative_to) if self.relative else None
        return self.scale.from_logs(found if base is None else found + base.logs)
