"""What a synthesis asks of the columns of a file: counts of coded records, and sums of whole numbers.

Rows that are here are arrays, and counted as such. Rows of a cluster or of a server stay there: it codes and counts
them, and what it sends is a count of every cell, value or octave that occurs. Both give the same whole numbers, because
codes and steps follow from one record alone by single IEEE operations, which are the same everywhere.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from tacita.data import rowwise
from tacita.data.cells import whole_numbers
from tacita.data.confidential import Confidential, asked, engine_of, rows
from tacita.data.engine import divided, exactly, nearest
from tacita.data.reading import may_be_missing, read, refuse_gap, ruled
from tacita.data.schema import Categorical
from tacita.lazy import later

ibis = later("ibis")

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Places = tuple[int, ...]

_AT_ONCE = 100  # tables of one question to an engine, whose text grows with them


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
        codes += [(number < (exactly(cut) if self.parts is None else cut), k) for k, cut in enumerate(self.cuts)]
        return ibis.cases(*codes, else_=bins - 1) if codes else ibis.literal(0)


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


class Coded(Protocol):
    """Records of which every column has a code, to be counted."""

    def tables(self, sets: Sequence[Places]) -> Iterator[Integers]:
        """For each set of columns, by their places, how many records have each combination of codes."""


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

    def coded(self, columns: Sequence[Coding]) -> Coded: ...

    def added(self, names: Sequence[str]) -> Added:
        """The product of these columns; what is missing adds nothing."""


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

    def tables(self, sets: Sequence[Places]) -> Iterator[Integers]:
        for places in sets:
            shape = tuple(self.levels[one] for one in places)
            cell = rowwise.cells(len(self.codes), (self.codes[:, one] for one in places), shape)
            yield np.bincount(cell, minlength=prod(shape)).reshape(shape).astype(np.int64)


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

    @property
    def records(self) -> int:
        return len(next(iter(self.columns.values())))

    def values(self, name: str) -> Floats:
        return self.columns[name]

    def coded(self, columns: Sequence[Coding]) -> CodedRows:
        codes = np.column_stack([one.code(self.columns[one.name]) for one in columns])
        return CodedRows(codes, tuple(one.size for one in columns))

    def added(self, names: Sequence[str]) -> AddedRows:
        amounts = np.ones(self.records)
        for name in names:
            amounts = amounts * self.columns[name]
        return AddedRows(np.where(np.isnan(amounts), 0.0, amounts), self.cell, self.cells)


# ---------------------------------------------------------------- rows that stay where they are


@dataclass(frozen=True, eq=False)
class Elsewhere:
    """Columns of which nothing is here."""

    data: Confidential
    names: tuple[str, ...]

    def __post_init__(self) -> None:
        """Refuse what a rule would have to say and does not, as `read` does."""
        for name in self.names:
            if self._facts[f"gap_{self.names.index(name)}"]:
                refuse_gap(name)

    @property
    def records(self) -> int:
        return int(self._facts["records"])

    @cached_property
    def _facts(self) -> dict[str, Any]:
        def write() -> Any:
            table = rows(self.data)
            gaps = {f"gap_{at}": self._gap(table, name) for at, name in enumerate(self.names)}
            told = table.select(**gaps)
            return told.aggregate(records=told.count(), **{name: told[name].any() for name in gaps})

        (found,) = asked(self.data, ("gaps", *self.names), write).to_pylist()
        return dict(found)

    def _gap(self, table: Any, name: str) -> Any:
        value, kind = self._of(table, name), self.data.schema[name].kind
        if isinstance(kind, Categorical):
            return value < 0
        return ibis.literal(False) if may_be_missing(kind) else value.isnull()

    def _of(self, table: Any, name: str) -> Any:
        return ruled(table[name], self.data.schema[name].kind, name)

    def values(self, name: str) -> Floats:
        """As many of each value as were counted: this column alone is long here, and no record is."""

        def write() -> Any:
            table = rows(self.data)
            told = table.select(value=self._of(table, name).cast("float64"))
            return told.group_by("value").aggregate(n=told.count())

        part = asked(self.data, ("values of", name), write)
        value = np.asarray(part["value"].to_numpy(zero_copy_only=False), dtype=np.float64)
        return np.repeat(value, whole_numbers(part, "n"))

    def coded(self, columns: Sequence[Coding]) -> CodedElsewhere:
        states = tuple((one.name, one.states) for one in columns)
        return CodedElsewhere(self, states, tuple(one.size for one in columns))

    def added(self, names: Sequence[str]) -> AddedElsewhere:
        return AddedElsewhere(self, tuple(names))


@dataclass(frozen=True, eq=False)
class CodedElsewhere:
    columns: Elsewhere
    states: tuple[tuple[str, States | None], ...]
    levels: Places

    def tables(self, sets: Sequence[Places]) -> Iterator[Integers]:
        for first in range(0, len(sets), _AT_ONCE):
            yield from self._counted(tuple(sets[first : first + _AT_ONCE]))

    def _counted(self, sets: tuple[Places, ...]) -> Iterator[Integers]:
        """In one pass: a record counts once for each table, in a cell of all of them one after another."""
        shapes = [tuple(self.levels[one] for one in places) for places in sets]
        ends = np.cumsum([0, *(prod(shape) for shape in shapes)]).tolist()
        data = self.columns.data
        key = ("coded", self.states, self.levels, sets)
        part = asked(data, key, lambda: self._question(sets, ends))
        counts = rowwise.sums(whole_numbers(part, "cell"), whole_numbers(part, "n"), ends[-1])
        for shape, begin, end in zip(shapes, ends[:-1], ends[1:], strict=True):
            yield counts[begin:end].reshape(shape)

    def _question(self, sets: tuple[Places, ...], begins: Sequence[int]) -> Any:
        data = self.columns.data
        table, wanted = rows(data), sorted({one for places in sets for one in places})
        codes = {}
        for one in wanted:
            name, states = self.states[one]
            value = self.columns._of(table, name)
            codes[f"code_{one}"] = (value if states is None else states.of(value)).cast("int64")
        coded = engine_of(data).computed_once(table.select(**codes))
        cells = []
        for places, begin in zip(sets, begins, strict=False):
            cell: Any = ibis.literal(0, "int64")
            for one in places:
                cell = cell * self.levels[one] + coded[f"code_{one}"]
            cells.append(cell + begin)
        long = coded.select(cell=ibis.array(cells).unnest())
        return long.group_by("cell").aggregate(n=long.count())


@dataclass(frozen=True, eq=False)
class AddedElsewhere:
    columns: Elsewhere
    names: tuple[str, ...]

    def _amount(self, table: Any) -> Any:
        amount: Any = ibis.literal(1.0)
        for name in self.names:
            amount = amount * self.columns._of(table, name).cast("float64")
        return amount.fill_null(0.0)

    def octaves(self, grain: float, count: int) -> Integers:
        def write() -> Any:
            table = rows(self.columns.data)
            told = table.select(amount=self._amount(table))
            told = told.filter(told.amount != 0.0)
            grains = divided(told.amount.abs(), grain)
            above = [(grains >= exactly(2.0**e), e) for e in range(count - 1, 0, -1)]
            octave = ibis.cases(*above, else_=0) if above else ibis.literal(0)
            told = told.select(place=octave.cast("int64") + ibis.ifelse(told.amount > 0.0, 0, count))
            return told.group_by("place").aggregate(n=told.count())

        part = asked(self.columns.data, ("octaves of", self.names, grain, count), write)
        return rowwise.sums(whole_numbers(part, "place"), whole_numbers(part, "n"), 2 * count)

    def steps(self, size: float, low: int, high: int) -> Integers:
        def write() -> Any:
            table = rows(self.columns.data)
            held = ibis.least(ibis.greatest(divided(self._amount(table), size), float(low)), float(high))
            told = table.select(steps=nearest(held))
            return told.aggregate(total=told.steps.sum())

        part = asked(self.columns.data, ("steps of", self.names, size, low, high), write)
        return whole_numbers(part, "total")
