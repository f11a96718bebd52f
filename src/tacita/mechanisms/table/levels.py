"""The levels of one table: which coarser tables are measured beside the finest cells, with which share of the budget.

A record lies in one cell of every level, so each level is a measurement of its own and their shares add up to the
whole price. Layout and shares follow from schema and plan alone; nothing here sees rows but `sums`, which adds up whole
numbers of cells.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from itertools import product
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from tacita.agreement.crossed import Axis, Layout, expected
from tacita.agreement.division import best_shares, equal_shares
from tacita.data.schema import Schema
from tacita.errors import UsageError

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]

Division = Literal["best", "equal"]

LEVEL = "level"
MOST_TABLES = 64


@dataclass(frozen=True, eq=False)
class TableLevels:
    """Tables over the cross of `by`, coarsest first and the finest cells last.

    `tables[t]` has a level number for each column: 0 is the column itself, higher ones are those of its tree.
    """

    by: tuple[str, ...]
    axes: tuple[Axis, ...]
    codes: tuple[tuple[tuple[str, ...], ...], ...]
    """For each column and level the codes that are published."""
    tables: tuple[tuple[int, ...], ...]
    names: tuple[str, ...]
    """What each table is called in the column `level`."""

    @classmethod
    def of(cls, schema: Schema, by: Sequence[str], levels: Sequence[str]) -> TableLevels:
        """The cross of all named levels of each column, and of the columns themselves."""
        trees = {tree.column: tree for tree in schema.hierarchies if tree.column in by}
        known = {level: tree for tree in trees.values() for level in tree.levels}
        if strangers := [level for level in levels if level not in known]:
            listed = f"; declared for {', '.join(trees)} are {', '.join(known)}" if known else ""
            raise UsageError(
                f"levels: {strangers[0]} is no level of a [hierarchy] over one of the columns in by{listed}"
            )
        axes, codes, places, words = [], [], [], []
        for column in by:
            tree = trees.get(column)
            wanted = [] if tree is None else [level for level in tree.levels if level in levels]
            own = [column, *wanted]
            axes.append(
                Axis((np.arange(len(schema.levels(column))),))
                if tree is None
                else Axis(tuple(tree.parent_codes(level) for level in own))
            )
            codes.append((schema.levels(column),) if tree is None else tuple(tree.names(level) for level in own))
            places.append(range(len(own) - 1, -1, -1))
            words.append(own)
        tables = tuple(sorted(product(*places), key=lambda at: _size(at, axes)))
        if len(tables) > MOST_TABLES:
            raise UsageError(f"levels: they cross to more than {MOST_TABLES} tables; name fewer levels")
        names = tuple(" × ".join(own[at] for own, at in zip(words, one, strict=True)) for one in tables)
        return cls(tuple(by), tuple(axes), tuple(codes), tables, names)

    def layout(self, variances: Sequence[float]) -> Layout:
        return Layout.of(self.axes, self.tables, variances)

    def variances(self, variances: Sequence[float]) -> list[Floats]:
        """The variance of every cell after agreement, from that of each table's noise."""
        return expected(self.layout(variances))

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        return tuple(_size(one, self.axes) for one in self.tables)

    def sums(self, cells: Integers) -> list[Integers]:
        """Every table of the finest cells: whole numbers, so the order of adding does not matter."""
        shape = tuple(axis.sizes[0] for axis in self.axes)
        return [self._summed(cells.reshape(shape), one).ravel() for one in self.tables]

    def _summed(self, cells: Integers, table: tuple[int, ...]) -> Integers:
        for at, (axis, level) in enumerate(zip(self.axes, table, strict=True)):
            if level:
                coarse = np.zeros((axis.sizes[level], *np.moveaxis(cells, at, 0).shape[1:]), dtype=np.int64)
                np.add.at(coarse, axis.levels[level], np.moveaxis(cells, at, 0))
                cells = np.moveaxis(coarse, 0, at)
        return cells

    def keys(self) -> dict[str, NDArray[np.int32]]:
        """Codes of every row, table after table, and the number of its table under `level`."""
        shapes = [tuple(axis.sizes[at] for axis, at in zip(self.axes, one, strict=True)) for one in self.tables]
        codes = [np.unravel_index(np.arange(size), shape) for size, shape in zip(self.sizes, shapes, strict=True)]
        columns = {name: np.concatenate([one[at] for one in codes]).astype(np.int32) for at, name in enumerate(self.by)}
        return columns | {LEVEL: np.repeat(np.arange(len(self.tables), dtype=np.int32), self.sizes)}

    def listed(self, column: str) -> tuple[str, ...]:
        """The codes of all levels of a column, its own first."""
        return tuple(code for codes in self.codes[self.by.index(column)] for code in codes)

    def labelled(self, schema: Schema, column: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """The same codes, and what each is called: those of coarser levels by themselves."""
        codes, labels = self.listed(column), schema.categorical(column).labels
        return codes, (*labels, *codes[len(labels) :])

    def places(self, keys: Mapping[str, NDArray[np.int32]]) -> dict[str, Integers]:
        """The same keys with codes that count through `listed`, so that each has one name."""
        spread = {}
        for at, column in enumerate(self.by):
            starts = np.cumsum([0, *(len(codes) for codes in self.codes[at])], dtype=np.int64)
            of_table = np.array([starts[table[at]] for table in self.tables])
            spread[column] = keys[column].astype(np.int64) + of_table[keys[LEVEL]]
        return spread


@dataclass(frozen=True, eq=False)
class Split:
    """Levels with the share of the budget that each is measured with."""

    levels: TableLevels
    shares: tuple[Fraction, ...]


@lru_cache(maxsize=64)  # a search, asked for again by every run of a plan
def split_of(schema: Schema, by: tuple[str, ...], levels: tuple[str, ...], division: Division, power: int) -> Split:
    """Levels and shares by the rule; `power` says how a table's variance falls with its share: 2 for ε, 1 for ρ."""
    tables = TableLevels.of(schema, by, levels)
    if division == "equal":
        return Split(tables, equal_shares(len(tables.tables)))
    return Split(tables, best_shares(tables.axes, tables.tables, power=power))


def error_parts(after: Floats, before: Floats, kurtosis: float) -> list[tuple[Floats, float]]:
    """Variance and kurtosis of the independent parts of a joint estimate's error: the cell's own noise, which has the
    weight after / before in it, and what came from other levels, as if from one of them."""
    own = after**2 / before
    return [(own, kurtosis), (after - own, kurtosis)]


def _size(table: tuple[int, ...], axes: Sequence[Axis]) -> int:
    return int(np.prod([axis.sizes[at] for axis, at in zip(axes, table, strict=True)], dtype=np.int64))
