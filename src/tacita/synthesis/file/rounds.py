"""Which tables of three columns may be chosen, and what each gets. Public arithmetic. Proof: file.md.

Tables of three columns are worth their price where noise leaves something to see in them. They get a part of what
tables get, in rounds; what they do not use goes back to the pairs.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from math import ceil, log, prod

import numpy as np
from numpy.typing import NDArray

from tacita.synthesis.file.budget import Budget
from tacita.synthesis.file.graph import tabulate

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

_SHARE = Fraction(1, 2)  # of what columns and pairs get, at most
_CLEAR = 2_000  # times the noise of a table: so many records give rounds their whole share, and fewer less
_LEAST_SHARE = Fraction(1, 10)  # with less, splitting the noise costs more than tables of three columns bring
_CHOICE = Fraction(1, 10)  # of what a table gets: for choosing it
_PER_COLUMN, _FEWEST, _MOST = 2, 12, 24  # tables at the first level of noise
_PLENTY = 3_500  # times the noise of a table: so many records let up to twice as many tables share the amount
_FINER = 4  # times as much for a table once nothing is worth the noise: half of it
_LEAST_SEEN = Fraction(1, 50)  # of the records: where noise on a single table hides more, there are no rounds
_WORTH = 0.01  # of the records beyond the noise
_SURE = 3.0  # exponents by which a table that is worth nothing is less likely than none
_CROWDED = 50  # times the noise that all records come to, spread over the cells
_MOST_CELLS = 20_000  # of a table: views of larger ones are slow to walk through
_MOST_CANDIDATES = 4_000
_MOST_COLUMNS = 100
_MOST_CELLS_IN_ALL = 10_000_000
_MOST_COUNTED = 200_000_000  # records times candidates


@dataclass(frozen=True)
class Level:
    """A level of noise: what one table gets, with its choice, and the noise it will have."""

    amount: Fraction
    noise: float

    @property
    def choosing(self) -> Fraction:
        return self.amount * _CHOICE

    @property
    def table(self) -> Fraction:
        return self.amount * (1 - _CHOICE)

    @property
    def hidden(self) -> int:
        """Records of a cell by which noise would move it anyway."""
        return ceil(self.noise)

    def finer(self, budget: Budget) -> Level:
        return level_of(self.amount * _FINER, budget)

    def worth(self, records: int, candidates: int, rate: Fraction) -> int:
        """Records beyond the noise from which a table is worth measuring, and not chosen by chance alone."""
        return ceil(max(_WORTH * records, (log(candidates + 1) + _SURE) / float(rate)))


def level_of(amount: Fraction, budget: Budget) -> Level:
    return Level(amount, budget.typical(amount * (1 - _CHOICE), 1))


def first_level(levels: tuple[int, ...], records: int, budget: Budget, amount: Fraction) -> Level | None:
    """The first level within an amount; None where no table of three columns would show anything."""
    if (
        sum(size > 1 for size in levels) < 3
        or not amount
        or budget.typical(amount * (1 - _CHOICE), 1) > _LEAST_SEEN * records
    ):
        return None
    return level_of(amount / most_tables(levels, records, budget, amount), budget)


def most_tables(levels: tuple[int, ...], records: int, budget: Budget, amount: Fraction) -> int:
    """How many tables the first level of noise has room for: more of them where each is clear enough."""
    usual = min(max(_PER_COLUMN * sum(size > 1 for size in levels), _FEWEST), _MOST)
    clear = records / level_of(amount / usual, budget).noise / _PLENTY
    return round(usual * min(max(clear**2, 1.0), 2.0))


def share_of_rounds(levels: tuple[int, ...], records: int, budget: Budget, amount: Fraction) -> Fraction:
    """The part of an amount for columns and pairs that goes to rounds: the more noise, the less, and none where no
    table would show anything."""
    level = first_level(levels, records, budget, amount * _SHARE)
    if level is None:
        return Fraction(0)
    share = _SHARE * Fraction(min(1.0, records / level.noise / _CLEAR)).limit_denominator(100)
    return share if share >= _LEAST_SHARE and first_level(levels, records, budget, amount * share) else Fraction(0)


def candidates(
    levels: tuple[int, ...],
    records: int,
    noise: float,
    known: Collection[tuple[int, ...]],
    pool: Integers,
    tied: Collection[tuple[int, ...]] = (),
) -> list[tuple[int, ...]]:
    """Tables of three columns, and pairs, that are not known yet and whose cells are not too many for the noise.

    Of two columns that are `tied`, of which each nearly says the other, a third column shows no more than their pairs
    with it do. Where there are more tables than can be looked at, those are that have most in common as far as is
    known: by the pairs that were measured, in the `pool` of records that stands for them.
    """
    sizes, most = np.array(levels), min(_MOST_CELLS, _CROWDED * records / noise)
    related = _related(levels, known, pool)
    room = min(_MOST_CANDIDATES, _MOST_COUNTED // records)
    wide = np.flatnonzero(sizes > 1)
    wide = np.sort(wide[np.argsort(-related[wide].max(axis=1, initial=0.0), kind="stable")[:_MOST_COLUMNS]])
    pairs, threes = (np.array(list(combinations(wide.tolist(), k)), dtype=np.int64).reshape(-1, k) for k in (2, 3))
    for pair in tied:
        threes = threes[np.isin(threes, pair).sum(axis=1) < 2]
    sides = np.sort([related[threes[:, a], threes[:, b]] for a, b in ((0, 1), (0, 2), (1, 2))], axis=0)
    threes = threes[np.argsort(-(sides[1] + sides[2]), kind="stable")]
    found = [tuple(one) for some in (pairs, threes) for one in some[sizes[some].prod(axis=1) <= most].tolist()]
    found = [one for one in found if one not in known][:room]
    cells = np.cumsum([prod(levels[a] for a in one) for one in found])
    return sorted(one for one, here in zip(found, cells.tolist(), strict=True) if here <= _MOST_CELLS_IN_ALL)


def _related(levels: tuple[int, ...], known: Collection[tuple[int, ...]], pool: Integers) -> Floats:
    """How far the tables of measured pairs are from those of unrelated columns."""
    related = np.zeros((len(levels), len(levels)))
    shares = [np.bincount(pool[:, a], minlength=size) / len(pool) for a, size in enumerate(levels)]
    for a, b in (one for one in known if len(one) == 2):
        off = tabulate(pool, levels, (a, b)) / len(pool) - np.outer(shares[a], shares[b])
        related[a, b] = related[b, a] = np.abs(off).sum()
    return related


def apart(one: tuple[int, ...], chosen: Collection[tuple[int, ...]]) -> bool:
    """Whether a table has at most one column in common with each of those chosen before in the same round: what those
    show of two columns will be known only then."""
    return all(len(set(one) & set(other)) < 2 for other in chosen)
