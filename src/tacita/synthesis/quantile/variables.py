"""What the plan decides about each variable before any data: its scale, its predictors, its point masses."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from tacita.data import rowwise
from tacita.data.reading import refuse_linked
from tacita.data.schema import Categorical, Integer, Numeric, Schema
from tacita.errors import UsageError
from tacita.synthesis.quantile.curve import Law, Tail

Floats = NDArray[np.float64]
Scale = Literal["identity", "log", "arcsinh"]


@dataclass(frozen=True)
class Range:
    """Public or released bounds of a variable on the scale on which regressions see it.

    `spread` is its standard deviation there where it is known; then slopes are shrunk by their noise.
    """

    lower: float
    upper: float
    tail: Law = "fitted"
    spread: float | None = None

    @property
    def width(self) -> float:
        return self.upper - self.lower


@dataclass(frozen=True)
class Column:
    """A column as the schema declares it, with its modelling scale."""

    name: str
    kind: Categorical | Integer | Numeric
    scale: Scale = "identity"

    @property
    def is_number(self) -> bool:
        return not isinstance(self.kind, Categorical)

    @property
    def step(self) -> float:
        """The distance between neighbouring values that the schema allows."""
        return 10.0**-self.kind.scale if isinstance(self.kind, Numeric) else 1.0

    @property
    def bounds(self) -> tuple[float, float]:
        assert not isinstance(self.kind, Categorical)
        return float(self.kind.lower), float(self.kind.upper)

    def range(self, tail: Tail) -> Range:
        assert not isinstance(self.kind, Categorical)
        low, high = self.modelled(np.array([self.kind.lower, self.kind.upper + self.step], dtype=np.float64))
        return Range(float(low), float(high), tail)

    def modelled(self, values: Floats) -> Floats:
        """On the scale of the model: a public transformation."""
        if self.scale == "log":
            return rowwise.log(np.maximum(values + self._shift, self.step / 2))
        return rowwise.arcsinh(values) if self.scale == "arcsinh" else np.asarray(values)

    def published(self, modelled: Floats) -> NDArray[np.int64] | Floats:
        """From the scale of the model to a value that the schema allows."""
        bounds = self.range("fitted")
        modelled = np.clip(modelled, bounds.lower, bounds.upper)
        if self.scale == "log":
            modelled = np.exp(modelled) - self._shift
        elif self.scale == "arcsinh":
            modelled = np.sinh(modelled)
        return self.rounded(modelled)

    def rounded(self, values: Floats) -> NDArray[np.int64] | Floats:
        """The value that the schema allows. A value stands for the step above it (see `ties.spread_within_step`)."""
        steps = np.floor(values / self.step + 1e-9)
        held = np.clip(np.round(steps * self.step, 9), *self.bounds)
        return held.astype(np.int64) if isinstance(self.kind, Integer) else held

    @property
    def folds(self) -> bool:
        """Whether its scale is that of ratios on either side of 0: no straight line goes through both."""
        return self.scale == "arcsinh" and self.bounds[0] < 0 < self.bounds[1]

    @property
    def _shift(self) -> float:
        assert not isinstance(self.kind, Categorical)
        return 0.0 if self.kind.lower > 0 else self.step - float(self.kind.lower)


@dataclass(frozen=True)
class Variable:
    """One variable to synthesize, with what it is drawn from."""

    column: Column
    numbers: tuple[Column, ...]
    codes: tuple[Column, ...]
    spikes: tuple[float, ...]
    tail: Tail
    weight: int

    @property
    def name(self) -> str:
        return self.column.name

    @property
    def has_predictors(self) -> bool:
        return bool(self.numbers or self.codes)

    @property
    def levels(self) -> tuple[int, ...]:
        return tuple(len(one.kind.levels) for one in self.codes if isinstance(one.kind, Categorical))


def column_of(schema: Schema, name: str, scale: Scale = "identity") -> Column:
    kind = schema[name].kind
    refuse_linked(schema, name)
    if not isinstance(kind, Categorical | Integer | Numeric):
        raise UsageError(f"columns: {name} is an id; ids are never synthesized, leave it out")
    if scale != "identity" and isinstance(kind, Categorical):
        raise UsageError(f"scales: {name} is categorical and has no scale; leave it out of scales")
    if not isinstance(kind, Categorical) and kind.lower >= kind.upper:
        raise UsageError(f"{name}: lower and upper are equal in the schema, so there is nothing to synthesize")
    return Column(name, kind, scale)


def check_spikes(column: Column, spikes: tuple[float, ...]) -> None:
    """Raises where a point mass cannot be a value of the column."""
    kind = column.kind
    if isinstance(kind, Categorical):
        if spikes:
            raise UsageError(f"spikes: {column.name} is categorical; point masses are for numbers")
        return
    for spike in spikes:
        if not kind.lower <= spike <= kind.upper:
            raise UsageError(f"spikes.{column.name}: a point mass lies outside the bounds of the schema")
        if abs(round(spike / column.step) * column.step - spike) > 1e-9 * max(1.0, abs(spike)):
            raise UsageError(
                f"spikes.{column.name}: {spike:g} is not a value that the schema allows, which are multiples of "
                f"{column.step:g}"
            )
