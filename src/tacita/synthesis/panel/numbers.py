"""What models of numbers have in common: the published scale, and the forms of fitting and drawing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from tacita.data.schema import Integer, Numeric
from tacita.synthesis.panel.predictors import Floats, Predictors


@dataclass(frozen=True)
class Scale:
    """The values a number may have: multiples of a step between two public bounds.

    >>> Scale(0.0, 50.0, 1.0).published(np.array([-3.0, 7.4, 99.0])).tolist()
    [0.0, 7.0, 50.0]
    """

    lower: float
    upper: float
    step: float

    @classmethod
    def of(cls, kind: Integer | Numeric) -> Scale:
        step = 10.0**-kind.scale if isinstance(kind, Numeric) else 1.0
        return cls(float(kind.lower), float(kind.upper), step)

    def published(self, values: Floats) -> Floats:
        return np.asarray(np.round(np.clip(values, self.lower, self.upper) / self.step) * self.step)

    def logs(self, values: Floats) -> Floats:
        """The scale on which skewed numbers are modelled: logs of 1 + the number of steps."""
        return np.asarray(np.log1p(np.maximum(values, self.lower - self.step / 2) / self.step))

    def from_logs(self, logs: Floats) -> Floats:
        return np.asarray(np.expm1(logs) * self.step)

    def blurred(self, values: Floats, random: np.random.Generator) -> Floats:
        """A published value stands for everything that is rounded to it."""
        return np.asarray(values + self.step * (random.random(len(values)) - 0.5))


class FittedNumbers(Protocol):
    def draw(self, given: Predictors, random: np.random.Generator) -> Floats: ...


class NumberModel(Protocol):
    """The law of a number given predictors. `fit` sees units with nothing missing; `draw` makes one file's values."""

    @property
    def given(self) -> tuple[str, ...]: ...

    @property
    def needs(self) -> tuple[str, ...]: ...

    def fit(self, response: Floats, given: Predictors, scale: Scale, random: np.random.Generator) -> FittedNumbers: ...
