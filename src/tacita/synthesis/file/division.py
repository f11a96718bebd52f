"""How many pairs are measured, and what single columns, choices and pairs get. Public arithmetic. Proof: file.md."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from math import sqrt

import numpy as np
from numpy.typing import NDArray

from tacita.synthesis.file.budget import Budget, Question
from tacita.synthesis.file.trends import trend_of
from tacita.synthesis.pairwise.queries import mean_off

Floats = NDArray[np.float64]

CHOOSING = Fraction(7, 100)
_ONES = Fraction(1, 10)  # of what tables get, where noise hardly matters
_MOST_ONES = Fraction(2, 5)
_QUIET = 0.035  # of the records moved by the noise of a pair: then all pairs are measured
_PER_COLUMN = 8
_FEW_PER_COLUMN = 2  # at least: of few columns all pairs, since one left out costs more than its noise
_MOST_CELLS = 1_000_000  # of a pair
_LOUD = 0.5  # leaning to large pairs where not all are measured: much of their noise does not pass
_HIDDEN = 0.3  # of the noise: of deviations, those are followed most that stand out from it
_MOST_MOVED = 2.0  # times what a cell has
_PER_TREND = 12  # cells whose noise passes for each trend: a field with trends follows single cells too


@dataclass(frozen=True)
class Division:
    """How the amount for tables is spent: on single columns, on choosing, on pairs, and on how many of them."""

    ones: Fraction
    choosing: Fraction
    pairs: Fraction
    number: int
    noise: float
    """Share of the records that noise moves in a table of two columns, on average."""
    distance: float = 0.0
    """Share of the records by which such a table of the files will be off."""
    leaning: float = 1.0
    """To large pairs, as in `Budget.tables`."""


def open_pairs(levels: tuple[int, ...]) -> list[tuple[int, int]]:
    """Pairs that can be measured at all."""
    wide = [a for a, size in enumerate(levels) if size > 1]
    return [(a, b) for a, b in combinations(wide, 2) if levels[a] * levels[b] <= _MOST_CELLS]


def division(
    levels: tuple[int, ...], records: int, budget: Budget, amount: Fraction, kept: Collection[tuple[int, ...]] = ()
) -> Division:
    """The more noise, the more goes to single columns and the fewer pairs are measured beside those that are kept."""
    pairs = [pair for pair in open_pairs(levels) if pair not in kept]
    if not pairs:
        return Division(amount, Fraction(0), Fraction(0), 0, 0.0)
    all_of_them = budget.tables(pairs, levels, amount * (1 - _ONES))
    loud = float(np.mean([one.error(levels) for one in all_of_them])) / records
    if loud <= _QUIET:
        noise, distance = _off(all_of_them, levels, records)
        return Division(amount * _ONES, Fraction(0), amount * (1 - _ONES), len(pairs), noise, distance)
    ones = min(_MOST_ONES, _ONES * Fraction((loud / _QUIET) ** 0.45).limit_denominator(1000))
    number = min(round(len(pairs) * (_QUIET / loud) ** 0.3), _PER_COLUMN * len(levels), len(pairs))
    number = max(number, min(_FEW_PER_COLUMN * len(levels), len(pairs)))
    choosing = CHOOSING if number < len(pairs) else Fraction(0)
    rest = 1 - ones - choosing
    asked = budget.tables(pairs, levels, amount * rest * len(pairs) / number, _LOUD)
    off = _off(asked, levels, records)
    return Division(amount * ones, amount * choosing, amount * rest, number, *off, _LOUD)


def off_anyway(one: Question, levels: tuple[int, ...], ordered: tuple[int, ...], free: Floats) -> int:
    """Records by which a table would be off though it is measured: what its noise hides, of which little passes where
    the field has trends over the states of a number, and which moves no cell by much more than it has. Of what was
    released before, and so no secret."""
    trend = trend_of(one.attributes, levels, ordered)
    passing = 1.0 if trend is None else min(1.0, sqrt(_PER_TREND * trend.shape[1] / free.size))
    each = passing * one.error(levels) / free.size
    return round(_HIDDEN * float(np.minimum(each, _MOST_MOVED * free).sum()))


def _off(asked: Sequence[Question], levels: tuple[int, ...], records: int) -> tuple[float, float]:
    return mean_off({one.attributes: one.error(levels) for one in asked}, levels, records)
