"""Codes of records, from 0 on: places of categories in their lists, numbers by what they have reached, and cells."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from tacita.data import rowwise
from tacita.data.engine import exactly, nearest
from tacita.lazy import later

ibis = later("ibis")

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Places = tuple[int, ...]


@dataclass(frozen=True)
class States:
    """How a number becomes a code: how many of the rising `cuts` it has reached; then codes of their own for single
    values, `masses`, and the last one for what is missing. Numbers are as the schema's rule leaves them, or, with
    `parts`, whole steps of one over it, held between `first` and `last`."""

    cuts: tuple[float, ...]
    parts: float | None = None
    first: int = 0
    last: int = 0
    masses: tuple[int, ...] = ()
    missing: bool = False

    def of(self, number: Any) -> Any:
        absent, number = number.isnull(), number.cast("float64")
        if self.parts is not None:
            number = ibis.least(ibis.greatest(nearest(number * self.parts), self.first), self.last)
        bins = len(self.cuts) + 1
        codes = [(absent, bins + len(self.masses))] if self.missing else []
        codes += [(number == mass, bins + k) for k, mass in enumerate(self.masses)]
        reached = self._reached(number, 0, bins - 1)
        return ibis.cases(*codes, else_=reached) if codes else reached

    def _reached(self, number: Any, least: int, most: int) -> Any:
        """By halving: hundreds of cuts take some nine comparisons."""
        if least == most:
            return ibis.literal(least, "int64")
        middle = (least + most) // 2
        cut = self.cuts[middle]
        below = number < (exactly(cut) if self.parts is None else cut)
        return ibis.ifelse(below, self._reached(number, least, middle), self._reached(number, middle + 1, most))


class Coding(Protocol):
    """A column with its codes, from 0 below `size`."""

    @property
    def name(self) -> str: ...

    @property
    def size(self) -> int: ...

    @property
    def states(self) -> States | None:
        """None for a category, whose codes are places in its list of levels."""

    def code(self, values: Floats) -> Integers: ...


@dataclass(frozen=True, eq=False)
class Cross:
    """Combinations of categories that occur, as cells: `levels` has a row for each, in rising order."""

    names: tuple[str, ...]
    sizes: tuple[int, ...]
    levels: Integers

    def __len__(self) -> int:
        return len(self.levels)

    @property
    def all(self) -> int:
        """Combinations that are possible."""
        return prod(self.sizes)

    def place(self, numbers: Integers) -> Integers:
        """The cell of a combination that occurs, from its number among those that are possible."""
        columns = (self.levels[:, at] for at in range(len(self.sizes)))
        return np.searchsorted(rowwise.cells(len(self.levels), columns, self.sizes), numbers).astype(np.int64)


@dataclass(frozen=True)
class InCell:
    """The cell of a record as one of its codes."""

    size: int
    name: str = ""
    states: None = None

    def code(self, values: Floats) -> Integers:
        return values.astype(np.int64)


@dataclass(frozen=True)
class InList:
    """A category whose codes below `size` are all that occur."""

    name: str
    size: int
    states: None = None

    def code(self, values: Floats) -> Integers:
        return values.astype(np.int64)
