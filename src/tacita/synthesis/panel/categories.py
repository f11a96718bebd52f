"""Multinomial laws of categories by cell: a Dirichlet prior from coarser cells, or cells that collapse."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from tacita.errors import UsageError
from tacita.synthesis.panel.predictors import Flags, Floats, Integers, Predictors

_BLOCK = 100_000  # units whose chances stand in memory at once


@dataclass(frozen=True, eq=False)
class Limits:
    """The first and last level that each unit may have, and those between them that it may not."""

    low: Integers
    high: Integers
    barred: Flags | None = None

    def at(self, who: Integers) -> Limits:
        return Limits(self.low[who], self.high[who], None if self.barred is None else self.barred[who])

    def allowed(self, levels: int) -> Flags:
        level = np.arange(levels)
        found = (level >= self.low[:, None]) & (level <= self.high[:, None])
        return np.asarray(found if self.barred is None else found & ~self.barred)


class FittedCategories(Protocol):
    def draw(self, given: Predictors, random: np.random.Generator, limits: Limits) -> Integers: ...


class CategoryModel(Protocol):
    """The law of a category given predictors; `draw` makes one file's values, all within their limits."""

    @property
    def needs(self) -> tuple[str, ...]: ...

    def fit(
        self, response: Integers, levels: int, given: Predictors, random: np.random.Generator
    ) -> FittedCategories: ...


def pick(chances: Floats, random: np.random.Generator, limits: Limits) -> tuple[Integers, Flags]:
    """One level for each row of chances (which need not add up to 1), and which rows had any chance."""
    steps = np.cumsum(np.where(limits.allowed(chances.shape[1]), chances, 0.0), axis=1)
    total = steps[:, -1]
    # Strictly below the total, so that the level found is one that raised it.
    aim = np.minimum(random.random(len(chances)) * total, np.nextafter(total, 0.0))
    return np.minimum((steps <= aim[:, None]).sum(axis=1), chances.shape[1] - 1), total > 0


@dataclass(frozen=True, eq=False)
class Table:
    """Counts by cell and level, of the cells that occur."""

    cells: Integers
    counts: Floats

    @classmethod
    def of(cls, cell: Integers, response: Integers, levels: int) -> Table:
        cells, place = np.unique(cell, return_inverse=True)
        counts = np.bincount(place * levels + response, minlength=len(cells) * levels)
        return cls(cells, counts.reshape(len(cells), levels).astype(np.float64))

    def find(self, cell: Integers) -> Integers:
        """The row of each cell; -1 where it does not occur."""
        place = np.minimum(np.searchsorted(self.cells, cell), len(self.cells) - 1)
        return np.where(self.cells[place] == cell, place, -1)


@dataclass(frozen=True)
class DirichletMultinomial:
    """Cells of `given` with a prior from the coarser cells of `prior`, whose own prior is the whole group.

    Each prior counts as much as `weight` records, so a cell where all records agree can still yield other values:
    that is what the coarsened and down-weighted prior of kinney2007, section 2.3, is for.
    """

    given: tuple[str, ...]
    prior: tuple[str, ...] = ()
    weight: float = 2.0

    def __post_init__(self) -> None:
        if self.weight <= 0:
            raise UsageError("weight: must be above 0; it is how many records the prior counts for")

    @property
    def needs(self) -> tuple[str, ...]:
        return (*self.given, *self.prior)

    def fit(self, response: Integers, levels: int, given: Predictors, random: np.random.Generator) -> FittedDirichlet:
        whole = np.bincount(response, minlength=levels) + self.weight / levels
        fine = Table.of(given.cells(self.given), response, levels)
        coarse = Table.of(given.cells(self.prior), response, levels)
        return FittedDirichlet(self, fine, coarse, whole / whole.sum())


@dataclass(frozen=True, eq=False)
class FittedDirichlet:
    model: DirichletMultinomial
    fine: Table
    coarse: Table
    whole: Floats

    def draw(self, given: Predictors, random: np.random.Generator, limits: Limits) -> Integers:
        weight = self.model.weight
        cells, first, mine = np.unique(given.cells(self.model.given), return_index=True, return_inverse=True)
        above = self.coarse.find(given.cells(self.model.prior)[first])
        prior = np.where(above[:, None] >= 0, self.coarse.counts[above], 0.0) + weight * self.whole
        here = self.fine.find(cells)
        counts = np.where(here[:, None] >= 0, self.fine.counts[here], 0.0)
        chances = random.standard_gamma(counts + weight * prior / prior.sum(axis=1, keepdims=True))
        found = np.empty(given.rows, dtype=np.int64)
        for start in range(0, given.rows, _BLOCK):
            block = np.arange(start, min(start + _BLOCK, given.rows))
            found[block], _ = pick(chances[mine[block]], random, limits.at(block))
        return found


@dataclass(frozen=True)
class CollapsingMultinomial:
    """Shares of the cell of `given`; where it will not do, of the cell without the last of them, and so on.

    A cell will not do where it does not occur, has fewer than `least` records, or where one value has a share above
    `most` (kinney2007, section 2.4). Where not even the first of `given` is left and it is ordered, such as a length of
    life, its neighbours join until they will do: in a small group, dropping it would cut all ties to it. A file's
    shares are a draw from their posterior given the counts.
    """

    given: tuple[str, ...]
    most: float = 0.99
    least: int = 50

    def __post_init__(self) -> None:
        if not 0 < self.most <= 1 or self.least < 1:
            raise UsageError("most, least: most is a share above 0 and up to 1, least a number of records")

    @property
    def needs(self) -> tuple[str, ...]:
        return self.given

    def fit(self, response: Integers, levels: int, given: Predictors, random: np.random.Generator) -> FittedCollapsing:
        return FittedCollapsing(self, levels, self.tables(response, levels, given))

    def tables(self, response: Integers, levels: int, given: Predictors) -> tuple[Table, ...]:
        """From all of `given` to none."""
        return tuple(
            Table.of(given.cells(self.given[:kept]), response, levels) for kept in range(len(self.given), -1, -1)
        )

    def will_do(self, counts: Floats) -> Flags:
        totals = counts.sum(axis=1)
        return np.asarray((totals >= self.least) & (counts.max(axis=1) <= self.most * totals))


@dataclass(frozen=True, eq=False)
class FittedCollapsing:
    model: CollapsingMultinomial
    levels: int
    tables: Sequence[Table]

    def draw(self, given: Predictors, random: np.random.Generator, limits: Limits) -> Integers:
        found = np.empty(given.rows, dtype=np.int64)
        waiting = np.arange(given.rows)
        for dropped, table in enumerate(self.tables[:-1]):
            fits = self.model.will_do(table.counts)
            names = self.model.given[: len(self.model.given) - dropped]
            row = table.find(given.cells(names)[waiting])
            served = (row >= 0) & fits[row]
            chances = random.standard_gamma(table.counts)
            waiting = self._picked(found, chances, row, served, waiting, limits, random)
        served = np.ones(len(waiting), dtype=bool)
        chances, row = self.rest(given.at(waiting), random)
        waiting = self._picked(found, chances, row, served, waiting, limits, random)
        # Nobody at all has a value within these limits: any of them, evenly.
        if len(waiting):
            found[waiting], _ = pick(np.ones((len(waiting), self.levels)), random, limits.at(waiting))
        return found

    def rest(self, given: Predictors, random: np.random.Generator) -> tuple[Floats, Integers]:
        """Chances for units whose cells will not do, and which row of them is whose."""
        whole = self.tables[-1].counts
        column = given.columns[self.model.given[0]] if self.model.given else None
        if column is None or not column.ordered:
            return random.standard_gamma(whole), np.zeros(given.rows, dtype=np.int64)
        own = np.zeros((column.levels, self.levels))
        own[self.tables[-2].cells] = self.tables[-2].counts
        found = np.repeat(whole, column.levels, axis=0)
        # From the widest neighbourhood to the narrowest: what stays is the narrowest that will do.
        below = np.vstack([np.zeros(self.levels), np.cumsum(own, axis=0)])
        level = np.arange(column.levels)
        for reach in range(column.levels - 1, -1, -1):
            near = below[np.minimum(level + reach + 1, column.levels)] - below[np.maximum(level - reach, 0)]
            found = np.where(self.model.will_do(near)[:, None], near, found)
        return random.standard_gamma(found), column.values

    @staticmethod
    def _picked(
        found: Integers, chances: Floats, row: Integers, served: Flags, waiting: Integers, limits: Limits,
        random: np.random.Generator,
    ) -> Integers:  # fmt: skip
        """Draws for those of the waiting that are served; the others, and those without a chance, are given back."""
        left = ~served
        for who in np.array_split(np.flatnonzero(served), max(1, -(-int(served.sum()) // _BLOCK))):
            values, possible = pick(chances[row[who]], random, limits.at(waiting[who]))
            found[waiting[who]] = values
            left[who] = ~possible
        return waiting[left]
