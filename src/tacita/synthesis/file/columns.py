"""Columns as states: levels of a category, bins and point masses of a number, and missing.

Public arithmetic on the schema and on what was released of a number (`Shape`). `code` is applied to rows, record by
record.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from tacita.data.coding import States
from tacita.data.reading import refuse_linked
from tacita.data.schema import Categorical, Date, Integer, Numeric, Schema
from tacita.data.schema.units import Domain, Span
from tacita.errors import UsageError

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

FEW = 24  # values: each is a state of its own
LISTED = 512  # values: each may be counted, and bins are made of them


@dataclass(frozen=True)
class Grid:
    """The values a number may have, counted in units of its last place; those of dates are days since 1970."""

    first: int
    last: int
    parts: float
    days: bool = False

    @classmethod
    def of(cls, kind: Integer | Numeric | Date) -> Grid:
        domain = Domain.of(kind)
        return cls(domain.first, domain.last, 10.0**domain.places, isinstance(kind, Date))

    @property
    def size(self) -> int:
        return self.last - self.first + 1

    def units(self, values: Floats) -> Integers:
        """Values as units; a missing one stands below all."""
        absent = np.isnan(values)
        units = np.clip(np.rint(np.where(absent, 0.0, values) * self.parts), self.first, self.last).astype(np.int64)
        return np.where(absent, self.first - 1, units)


@dataclass(frozen=True)
class Shape:
    """What was released of a number. `records` is about how many records there were.

    Where its values are few: `counts` of all `values`. Else `values` are point masses, and of the other values
    `thresholds` (in units) stand near public `shares`, `between` counts them between thresholds, and `habits` by how
    many digits they have and how round they are. `noise` is the variance of the noise on these counts. `tallies` counts
    every round value that the number may have (`round_values`), with noise of the variance `tally_noise`. `sizes`
    counts the other values by how large they are (`sizes.ladder`) and last those that are missing, with noise of the
    variance `size_noise`; of few records there are no thresholds beside them, but where most are of few sizes, these
    are cut at `finer_cuts` and counted (`finer`), with noise of the variance `finer_noise`.
    """

    records: int = 0
    values: tuple[int, ...] = ()
    counts: tuple[int, ...] = ()
    shares: tuple[Fraction, ...] = ()
    thresholds: tuple[int, ...] = ()
    between: tuple[int, ...] = ()
    habits: tuple[tuple[int, ...], ...] = ()
    noise: float = 0.0
    tallies: tuple[int, ...] = ()
    tally_noise: float = 0.0
    sizes: tuple[int, ...] = ()
    size_noise: float = 0.0
    finer_cuts: tuple[int, ...] = ()
    finer: tuple[int, ...] = ()
    finer_noise: float = 0.0

    @property
    def is_wide(self) -> bool:
        """Whether its values are too many to be counted each."""
        return bool(self.sizes or self.thresholds)


@dataclass(frozen=True)
class Category:
    """A categorical column: its levels are its states."""

    name: str
    kind: Categorical

    @property
    def size(self) -> int:
        return len(self.kind.levels)

    @property
    def spans(self) -> list[Span]:
        """The units of each state: places in the list."""
        return [(level, level) for level in range(self.size)]

    @property
    def states(self) -> None:
        return None

    def code(self, values: Floats) -> Integers:
        return values.astype(np.int64)


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

    @property
    def states(self) -> States:
        return States(self.cuts, self.grid.parts, self.grid.first, self.grid.last, self.masses, self.missing)

    def code(self, values: Floats) -> Integers:
        units = self.grid.units(values)
        codes = np.searchsorted(np.array(self.cuts, dtype=np.int64), units, side="right").astype(np.int64)
        for k, mass in enumerate(self.masses):
            codes[units == mass] = len(self.cuts) + 1 + k
        if self.missing:
            codes[units < self.grid.first] = self.size - 1
        return codes

    @property
    def spans(self) -> list[Span]:
        """The first and the last unit of each state; a missing one stands below all."""
        bins = [self.ends(state) for state in range(len(self.cuts) + 1)]
        gone = [(self.grid.first - 1, self.grid.first - 1)] if self.missing else []
        return [*bins, *((mass, mass) for mass in self.masses), *gone]

    def ends(self, state: int) -> tuple[int, int]:
        """The first and the last unit of a bin."""
        first = self.grid.first if state == 0 else self.cuts[state - 1]
        return first, self.grid.last if state == len(self.cuts) else self.cuts[state] - 1


Column = Category | Number


def column_of(schema: Schema, name: str) -> Category | tuple[Grid, bool]:
    """What is public of a column; a number still needs its bins."""
    refuse_linked(schema, name)
    kind = schema[name].kind
    if isinstance(kind, Categorical):
        return Category(name, kind)
    if not isinstance(kind, Integer | Numeric | Date):
        raise UsageError(f"columns: {name} is an id; ids are never synthesized, leave it out")
    return Grid.of(kind), kind.own_missing


def ordered_states(columns: Sequence[Column]) -> tuple[int, ...]:
    """How many first states of each column stand in order; 0 for a category."""
    return tuple(len(one.cuts) + 1 if isinstance(one, Number) else 0 for one in columns)
