"""What a synthesis asks of the columns of a file: counts of coded records, and sums of whole numbers.

Rows that are here are arrays, and counted as such. Rows of a cluster or of a server stay there: it codes and counts
them, and what it sends is a count of every cell, value or octave that occurs. Both give the same whole numbers, because
codes and steps follow from one record alone by single IEEE operations, which are the same everywhere.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import prod
from typing import Protocol, Self

import numpy as np
from numpy.typing import NDArray

from tacita.data import rowwise
from tacita.data.coding import Coding, Cross, InCell, Places
from tacita.data.confidential import Confidential, engine_of
from tacita.data.elsewhere import Elsewhere
from tacita.data.reading import read

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


class Coded(Protocol):
    """Records of which every column has a code, to be counted."""

    def tables(self, sets: Sequence[Places]) -> Iterator[Integers]:
        """For each set of columns, by their places, how many records have each combination of codes."""

    def sums(self, factors: Sequence[Places], middle: int) -> Integers:
        """In each cell, the sum of every product of codes, each less `middle`: a row for each cell."""


class Added(Protocol):
    """What every record adds, to be counted and summed."""

    def octaves(self, grain: float, count: int) -> Integers:
        """How many records add 2^e to 2^(e+1) grains, for e below `count`; then the same of those below 0. Octaves
        beyond the ends count with the last ones."""

    def steps(self, size: float, low: int, high: int) -> Integers:
        """What the records of each cell add in whole steps of a size, each held between two of them."""


class Columns(Protocol):
    """Columns of a file, one record per unit."""

    @property
    def records(self) -> int: ...

    def values(self, name: str) -> Floats:
        """One column by itself, in any order; missing numbers of their own state as NaN."""

    def values_by_cell(self, name: str) -> tuple[Floats, Integers]:
        """One column and the cell of each of its values, in any order."""

    def coded(self, columns: Sequence[Coding]) -> Coded: ...

    def added(self, names: Sequence[str]) -> Added:
        """The product of these columns in each cell; what is missing adds nothing."""

    def combinations(self, names: Sequence[str], sizes: Sequence[int]) -> tuple[Integers, Integers]:
        """Which combinations of categories occur, in rising order, a row for each; and how many records have it."""

    def by(self, cross: Cross | None) -> Self:
        """The same with these cells, or with all records in one."""

    def less(self, centres: Mapping[str, float]) -> Self:
        """The same with numbers counted from centres, where they are added up."""


def columns_of(data: Confidential, names: Sequence[str]) -> Columns:
    """The columns where they are: sent for from an engine of this process, counted by any other."""
    if engine_of(data).elsewhere:
        return Elsewhere(data, tuple(dict.fromkeys(names)))
    return Here(read(data, names))


# ---------------------------------------------------------------- rows in this process


@dataclass(frozen=True, eq=False)
class CodedRows:
    """A row of codes for every record."""

    codes: Integers
    levels: Places
    cell: Integers | None = None
    cells: int = 1

    def tables(self, sets: Sequence[Places]) -> Iterator[Integers]:
        for places in sets:
            shape = tuple(self.levels[one] for one in places)
            cell = rowwise.cells(len(self.codes), (self.codes[:, one] for one in places), shape)
            yield np.bincount(cell, minlength=prod(shape)).reshape(shape).astype(np.int64)

    def sums(self, factors: Sequence[Places], middle: int) -> Integers:
        cell = np.zeros(len(self.codes), dtype=np.int64) if self.cell is None else self.cell
        found = np.zeros((self.cells, len(factors)), dtype=np.int64)
        for at, places in enumerate(factors):
            products = np.ones(len(cell), dtype=np.int64)
            for one in places:
                products *= self.codes[:, one] - middle
            found[:, at] = rowwise.sums(cell, products, self.cells)
        return found


@dataclass(frozen=True, eq=False)
class AddedRows:
    """A number for every record, in one cell or in several."""

    amounts: Floats
    cell: Integers | None = None
    cells: int = 1

    def octaves(self, grain: float, count: int) -> Integers:
        octave = np.clip(np.frexp(np.abs(self.amounts) / grain)[1] - 1, 0, count - 1).astype(np.int64)
        place = np.where(self.amounts > 0, octave, octave + count)[self.amounts != 0]
        return np.bincount(place, minlength=2 * count).astype(np.int64)

    def steps(self, size: float, low: int, high: int) -> Integers:
        steps = np.clip(np.rint(self.amounts / size), low, high).astype(np.int64)
        if self.cell is None:
            return np.array([steps.sum(dtype=np.int64)])
        return rowwise.sums(self.cell, steps, self.cells)


@dataclass(frozen=True, eq=False)
class Here:
    """Arrays; amounts are added up by the cell of a record, where there are several."""

    columns: Mapping[str, Floats]
    cell: Integers | None = None
    cells: int = 1
    centres: Mapping[str, float] = field(default_factory=dict)

    @property
    def records(self) -> int:
        return len(next(iter(self.columns.values())))

    def values(self, name: str) -> Floats:
        return self.columns[name]

    def values_by_cell(self, name: str) -> tuple[Floats, Integers]:
        return self.columns[name], self._cell

    def coded(self, columns: Sequence[Coding]) -> CodedRows:
        codes = [self._cell if isinstance(one, InCell) else one.code(self.columns[one.name]) for one in columns]
        return CodedRows(np.column_stack(codes), tuple(one.size for one in columns), self.cell, self.cells)

    def added(self, names: Sequence[str]) -> AddedRows:
        amounts = np.ones(self.records)
        for name in names:
            amounts = amounts * (self.columns[name] - self.centres.get(name, 0.0))
        return AddedRows(np.where(np.isnan(amounts), 0.0, amounts), self.cell, self.cells)

    def combinations(self, names: Sequence[str], sizes: Sequence[int]) -> tuple[Integers, Integers]:
        found, counts = np.unique(self._numbers(names, sizes), return_counts=True)
        levels = np.zeros((found.size, len(sizes)), dtype=np.int64)
        for at in range(len(sizes) - 1, -1, -1):
            found, levels[:, at] = np.divmod(found, sizes[at])
        return levels, counts.astype(np.int64)

    def by(self, cross: Cross | None) -> Self:
        if cross is None:
            return replace(self, cell=None, cells=1)
        return replace(self, cell=cross.place(self._numbers(cross.names, cross.sizes)), cells=len(cross))

    def less(self, centres: Mapping[str, float]) -> Self:
        return replace(self, centres=centres)

    @property
    def _cell(self) -> Integers:
        return np.zeros(self.records, dtype=np.int64) if self.cell is None else self.cell

    def _numbers(self, names: Sequence[str], sizes: Sequence[int]) -> Integers:
        return rowwise.cells(self.records, (self.columns[name] for name in names), sizes)
