"""Columns as states: levels of a category, bins and point masses of a number, and missing; and back to values.

Public arithmetic on the schema and on what was released of a number (`Shape`). `code` is applied to rows, record by
record.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tacita.data.reading import refuse_linked
from tacita.data.schema import Categorical, Integer, Numeric, Schema
from tacita.errors import UsageError
from tacita.synthesis.quantile.curve import Curve

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

FEW = 24  # values: each is a state of its own
LISTED = 512  # values: each is counted, and bins are made of them
_MASS = 0.9  # at most so much of a bin stands on its point masses


@dataclass(frozen=True)
class Grid:
    """The values a number may have, counted in units of its last place."""

    first: int
    last: int
    parts: float
    whole: bool

    @classmethod
    def of(cls, kind: Integer | Numeric) -> Grid:
        parts = 10.0**kind.scale if isinstance(kind, Numeric) else 1.0
        first, last = int(np.ceil(kind.lower * parts - 1e-6)), int(np.floor(kind.upper * parts + 1e-6))
        return cls(first, last, parts, isinstance(kind, Integer))

    @property
    def size(self) -> int:
        return self.last - self.first + 1

    def units(self, values: Floats) -> Integers:
        """Values as units; a missing one stands below all."""
        absent = np.isnan(values)
        units = np.clip(np.rint(np.where(absent, 0.0, values) * self.parts), self.first, self.last).astype(np.int64)
        return np.where(absent, self.first - 1, units)

    def column(self, units: Integers, absent: NDArray[np.bool_]) -> pa.Array:
        values: Any = units if self.whole else units / self.parts
        return pa.array(values, mask=absent)


@dataclass(frozen=True)
class Shape:
    """What was released of a number: counts of single values, and thresholds with the share of values below each.

    `values` and `counts` are all values where they are few, else those that stand out; thresholds are in units, and
    about values that no point mass has. `records` is about how many records there were.
    """

    records: int = 0
    values: tuple[int, ...] = ()
    counts: tuple[int, ...] = ()
    shares: tuple[Fraction, ...] = ()
    thresholds: tuple[float, ...] = ()


@dataclass(frozen=True)
class Category:
    """A categorical column: its levels are its states."""

    name: str
    kind: Categorical

    @property
    def size(self) -> int:
        return len(self.kind.levels)

    def code(self, values: Floats) -> Integers:
        return values.astype(np.int64)

    def column(self, codes: Integers, random: np.random.Generator) -> pa.Array:
        return pa.array(self.kind.levels, type=pa.string()).take(pa.array(codes.astype(np.int32)))


@dataclass(frozen=True)
class Number:
    """A number: bins between `cuts` (each the first unit of the bin above), then `masses`, then missing."""

    name: str
    grid: Grid
    missing: bool
    shape: Shape
    cuts: tuple[int, ...]
    masses: tuple[int, ...]

    @property
    def size(self) -> int:
        return len(self.cuts) + 1 + len(self.masses) + self.missing

    def code(self, values: Floats) -> Integers:
        units = self.grid.units(values)
        codes = np.searchsorted(np.array(self.cuts, dtype=np.int64), units, side="right").astype(np.int64)
        for k, mass in enumerate(self.masses):
            codes[units == mass] = len(self.cuts) + 1 + k
        if self.missing:
            codes[units < self.grid.first] = self.size - 1
        return codes

    def column(self, codes: Integers, random: np.random.Generator) -> pa.Array:
        units = np.full(codes.size, self.grid.first, dtype=np.int64)
        for state in range(len(self.cuts) + 1):
            here = np.flatnonzero(codes == state)
            if here.size:
                units[here] = self._drawn(state, here.size, random)
        for k, mass in enumerate(self.masses):
            units[codes == len(self.cuts) + 1 + k] = mass
        absent = codes == self.size - 1 if self.missing else np.zeros(codes.size, dtype=np.bool_)
        return self.grid.column(units, absent)

    # ------------------------------------------------------------ within a bin

    def _ends(self, state: int) -> tuple[int, int]:
        """The first and the last unit of a bin."""
        first = self.grid.first if state == 0 else self.cuts[state - 1]
        return first, self.grid.last if state == len(self.cuts) else self.cuts[state] - 1

    def _drawn(self, state: int, count: int, random: np.random.Generator) -> Integers:
        first, last = self._ends(state)
        if not self.shape.thresholds:
            return self._listed(first, last, count, random)
        low, high = (float(one) for one in self._reached(np.array([first, last + 1])))
        # Half a record is left beyond the outermost value that can be drawn.
        u = np.clip(low + (high - low) * random.random(count), self._edge, 1 - self._edge)
        units = np.clip(np.floor(self._curve(u)), first, last).astype(np.int64)
        held = [
            (value, number)
            for value, number in zip(self.shape.values, self.shape.counts, strict=True)
            if first <= value <= last and value not in self.masses and number > 0
        ]
        if held:
            whole = max((high - low) * self._continuous, 1.0)
            share = np.array([number for _, number in held]) / max(whole, sum(number for _, number in held) / _MASS)
            chosen = np.searchsorted(np.cumsum(share), random.random(count), side="right")
            stands = chosen < len(held)
            units[stands] = np.array([value for value, _ in held])[chosen[stands]]
        return units

    def _listed(self, first: int, last: int, count: int, random: np.random.Generator) -> Integers:
        """Values of a bin by their own counts, or evenly where nothing was counted of them."""
        held = dict(zip(self.shape.values, self.shape.counts, strict=True))
        values = [one for one in range(first, last + 1) if one not in self.masses] if held else []
        if not values:
            return random.integers(first, last + 1, count)
        weights = np.maximum([held.get(one, 0) for one in values], 0.0)
        shares = np.cumsum(weights / weights.sum()) if weights.sum() > 0 else np.linspace(0, 1, len(values) + 1)[1:]
        at = np.searchsorted(shares, random.random(count), side="right")
        return np.array(values, dtype=np.int64)[np.minimum(at, len(values) - 1)]

    @property
    def _continuous(self) -> float:
        """About how many values the thresholds are about."""
        counts = zip(self.shape.values, self.shape.counts, strict=True)
        return max(self.shape.records - sum(count for value, count in counts if value in self.masses), 1.0)

    @property
    def _edge(self) -> float:
        return 0.5 / max(self.shape.records, 1)

    @cached_property
    def _curve(self) -> Curve:
        values, shares = _rising(np.array(self.shape.thresholds), np.array([float(one) for one in self.shape.shares]))
        return Curve(shares, values, float(self.grid.first), float(self.grid.last + 1))

    def _reached(self, units: Integers) -> Floats:
        """The share of values below these units."""
        values, shares = self._curve.values, self._curve.shares
        ends = np.concatenate(([self.grid.first], values, [self.grid.last + 1]))
        return np.asarray(np.interp(units, ends, np.concatenate(([0.0], shares, [1.0]))))


def _rising(values: Floats, shares: Floats) -> tuple[Floats, Floats]:
    """Thresholds that coincide as one, with the middle of their shares."""
    different, place = np.unique(values, return_inverse=True)
    total, number = np.zeros(different.size), np.zeros(different.size)
    np.add.at(total, place, shares)
    np.add.at(number, place, 1)
    return different, total / number


Column = Category | Number


def column_of(schema: Schema, name: str) -> Category | tuple[Grid, bool]:
    """What is public of a column; a number still needs its bins."""
    refuse_linked(schema, name)
    kind = schema[name].kind
    if isinstance(kind, Categorical):
        return Category(name, kind)
    if not isinstance(kind, Integer | Numeric):
        raise UsageError(f"columns: {name} is an id; ids are never synthesized, leave it out")
    return Grid.of(kind), kind.own_missing
