"""Columns of rows that stay where they are: a cluster or a server codes and counts them, and sends counts and sums."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import prod
from typing import Any, Self

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tacita.data import rowwise
from tacita.data.cells import whole_numbers
from tacita.data.coding import Coding, Cross, Places, States
from tacita.data.confidential import Confidential, asked, engine_of, rows
from tacita.data.engine import divided, exactly, nearest
from tacita.data.reading import may_be_missing, refuse_gap, ruled
from tacita.data.schema import Categorical
from tacita.lazy import later

ibis = later("ibis")

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

_AT_ONCE = 100  # tables of one question to an engine, whose text grows with them
_CELL = "cell"


@dataclass(frozen=True, eq=False)
class Elsewhere:
    """Columns of which nothing is here."""

    data: Confidential
    names: tuple[str, ...]
    cross: Cross | None = None
    centres: Mapping[str, float] = field(default_factory=dict)

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
        return self.by(None).values_by_cell(name)[0]

    def values_by_cell(self, name: str) -> tuple[Floats, Integers]:
        """As many of each value as were counted: this column alone is long here, and no record is."""

        def write() -> Any:
            table = rows(self.data)
            told = table.select(value=self._of(table, name).cast("float64"), **self.cell_of(table))
            return told.group_by(list(told.columns)).aggregate(n=told.count())

        part = asked(self.data, ("values of", name, self.grouped), write)
        value, count = np.asarray(part["value"].to_numpy(zero_copy_only=False), dtype=np.float64), _n(part)
        return np.repeat(value, count), np.repeat(self.cells_in(part), count)

    def coded(self, columns: Sequence[Coding]) -> CodedElsewhere:
        return CodedElsewhere(self, tuple((one.name, one.states, one.size) for one in columns))

    def added(self, names: Sequence[str]) -> AddedElsewhere:
        return AddedElsewhere(self, tuple(names))

    def combinations(self, names: Sequence[str], sizes: Sequence[int]) -> tuple[Integers, Integers]:
        wanted = {f"code_{at}": name for at, name in enumerate(names)}

        def write() -> Any:
            table = rows(self.data)
            told = table.select(**{code: self._of(table, name).cast("int64") for code, name in wanted.items()})
            return told.group_by(list(wanted)).aggregate(n=told.count())

        if not names:
            return np.zeros((1, 0), dtype=np.int64), np.array([self.records])
        part = asked(self.data, ("combinations of", *names), write)
        levels = np.column_stack([whole_numbers(part, code) for code in wanted])
        order = np.lexsort(levels.T[::-1])
        return levels[order], _n(part)[order]

    def by(self, cross: Cross | None) -> Self:
        return replace(self, cross=cross)

    def less(self, centres: Mapping[str, float]) -> Self:
        return replace(self, centres=centres)

    # ------------------------------------------------------------ cells

    @property
    def cells(self) -> int:
        return 1 if self.cross is None else len(self.cross)

    @property
    def grouped(self) -> tuple[str, ...]:
        return () if self.cross is None else self.cross.names

    def cell_of(self, table: Any) -> dict[str, Any]:
        """The number of a record's combination among all that are possible."""
        if self.cross is None:
            return {}
        number: Any = ibis.literal(0, "int64")
        for name, size in zip(self.cross.names, self.cross.sizes, strict=True):
            number = number * size + self._of(table, name).cast("int64")
        return {_CELL: number}

    def cells_in(self, part: pa.Table) -> Integers:
        """The cell of each line of an answer."""
        if self.cross is None:
            return np.zeros(part.num_rows, dtype=np.int64)
        return self.cross.place(whole_numbers(part, _CELL))


@dataclass(frozen=True, eq=False)
class CodedElsewhere:
    columns: Elsewhere
    coding: tuple[tuple[str, States | None, int], ...]

    def tables(self, sets: Sequence[Places]) -> Iterator[Integers]:
        for first in range(0, len(sets), _AT_ONCE):
            yield from self._counted(tuple(sets[first : first + _AT_ONCE]))

    def sums(self, factors: Sequence[Places], middle: int) -> Integers:
        def write() -> Any:
            coded = self._codes(sorted({one for places in factors for one in places}), cells=True)
            products = {}
            for at, places in enumerate(factors):
                product: Any = ibis.literal(1, "int64")
                for one in places:
                    product = product * (coded[f"code_{one}"] - middle)
                products[f"sum_{at}"] = product
            cell = {name: coded[name] for name in (_CELL,) if self.columns.cross is not None}
            told = coded.select(**cell, **products)
            grouped = told.group_by(list(cell)) if cell else told
            return grouped.aggregate(**{name: told[name].sum() for name in products})

        key = ("sums of", self.coding, tuple(factors), middle, self.columns.grouped)
        part = asked(self.columns.data, key, write)
        found = np.zeros((self.columns.cells, len(factors)), dtype=np.int64)
        for at in range(len(factors)):
            found[:, at] = rowwise.sums(
                self.columns.cells_in(part), whole_numbers(part, f"sum_{at}"), self.columns.cells
            )
        return found

    def _counted(self, sets: tuple[Places, ...]) -> Iterator[Integers]:
        """In one pass: a record counts once for each table, in a cell of all of them one after another."""
        cross = self.columns.cross
        wide = [cross.all if cross is not None and not name else size for name, _, size in self.coding]
        ends = np.cumsum([0, *(prod(wide[one] for one in places) for places in sets)], dtype=np.int64).tolist()
        key = ("coded", self.coding, sets, self.columns.grouped)
        part = asked(self.columns.data, key, lambda: self._question(sets, wide, ends))
        cell, count = whole_numbers(part, _CELL), _n(part)
        order = np.argsort(cell)
        cell, count = cell[order], count[order]
        for places, begin, end in zip(sets, ends[:-1], ends[1:], strict=True):
            here = slice(*np.searchsorted(cell, [begin, end]))
            codes = np.unravel_index(cell[here] - begin, tuple(wide[one] for one in places))
            shape = tuple(self.coding[one][2] for one in places)
            own = (
                cross.place(code) if cross is not None and not self.coding[one][0] else code
                for one, code in zip(places, codes, strict=True)
            )
            place = rowwise.cells(len(cell[here]), own, shape)
            yield rowwise.sums(place, count[here], prod(shape)).reshape(shape)

    def _codes(self, wanted: Sequence[int], *, cells: bool) -> Any:
        """Numbers first, each computed once, and then their codes: the comparisons of one may be hundreds."""
        columns, engine = self.columns, engine_of(self.columns.data)
        table = rows(columns.data)
        cell, values = columns.cell_of(table), {}
        for one in wanted:
            name = self.coding[one][0]
            values[f"value_{one}"] = columns._of(table, name) if name else cell.get(_CELL, ibis.literal(0, "int64"))
        kept = cell if cells else {}
        told = engine.computed_once(table.select(**kept, **values))
        codes = {}
        for one in wanted:
            value, states = told[f"value_{one}"], self.coding[one][1]
            codes[f"code_{one}"] = (value if states is None else states.of(value)).cast("int64")
        return engine.computed_once(told.select(*kept, **codes))

    def _question(self, sets: tuple[Places, ...], wide: Sequence[int], begins: Sequence[int]) -> Any:
        coded = self._codes(sorted({one for places in sets for one in places}), cells=False)
        cells = []
        for places, begin in zip(sets, begins, strict=False):
            cell: Any = ibis.literal(0, "int64")
            for one in places:
                cell = cell * wide[one] + coded[f"code_{one}"]
            cells.append(cell + begin)
        long = coded.select(**{_CELL: ibis.array(cells).unnest()})
        return long.group_by(_CELL).aggregate(n=long.count())


@dataclass(frozen=True, eq=False)
class AddedElsewhere:
    columns: Elsewhere
    names: tuple[str, ...]

    def _amount(self, table: Any) -> Any:
        amount: Any = ibis.literal(1.0)
        for name in self.names:
            number = self.columns._of(table, name).cast("float64")
            centre = self.columns.centres.get(name, 0.0)
            amount = amount * (number - exactly(centre) if centre else number)
        return amount.fill_null(0.0)

    @property
    def _key(self) -> tuple[object, ...]:
        return self.names, tuple(sorted(self.columns.centres.items())), self.columns.grouped

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

        part = asked(self.columns.data, ("octaves of", self._key, grain, count), write)
        return rowwise.sums(whole_numbers(part, "place"), _n(part), 2 * count)

    def steps(self, size: float, low: int, high: int) -> Integers:
        def write() -> Any:
            table = rows(self.columns.data)
            held = ibis.least(ibis.greatest(divided(self._amount(table), size), float(low)), float(high))
            told = table.select(steps=nearest(held), **self.columns.cell_of(table))
            grouped = told.group_by(_CELL) if self.columns.cross is not None else told
            return grouped.aggregate(total=told.steps.sum())

        part = asked(self.columns.data, ("steps of", self._key, size, low, high), write)
        return rowwise.sums(self.columns.cells_in(part), whole_numbers(part, "total"), self.columns.cells)


def _n(part: pa.Table) -> Integers:
    return whole_numbers(part, "n")
