"""What is read of a number by itself: counts of single values, and private thresholds. Proof: file.md.

A number of few values needs nothing; one of some hundred has each value counted. Else the round values it may have (two
digits and zeros; ends of months) are counted: those that stand out are point masses, and files follow the others'
counts too, as far as these are more than noise. The rest is counted by size. Where it is enough, it is cut by exact
private thresholds, finer towards both ends than parts of equal size would be, and counted between them. Where many
stand in a narrow part
there may be a point mass that is not round, such as the limit of a benefit or the first of a month: ever finer cells
are counted there. What is left is counted by how round it is.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise
from math import ceil, log, sqrt

import numpy as np
from numpy.typing import NDArray

from tacita.data.schema.units import Span
from tacita.mechanisms.kng.line import Lattice, bisect, halves, levels_for
from tacita.noise.discrete import add_discrete_laplace
from tacita.noise.entropy import Entropy
from tacita.noise.gaussian import add_discrete_gaussian
from tacita.synthesis.file.budget import Budget, Question
from tacita.synthesis.file.columns import FEW, LISTED, Grid, Shape
from tacita.synthesis.file.sizes import is_even, ladder

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

# Of what a number gets, where it needs thresholds; they get the rest.
_MASSES, _CROWDED, _BETWEEN, _HABITS, _SIZES = (Fraction(k, 9) for k in (2, 1, 2, 1, 1))
_THRESHOLDS = 1 - _MASSES - _CROWDED - _BETWEEN - _HABITS - _SIZES
_FIRM = 6.0  # a part is cut again while its records times ε are more
_SHALLOWEST, _DEEPEST = 4, 7  # halvings
_USUAL = 128  # values: of so many, as of those whose bounds say how large they are, hardly any are far from all records
_CROWD, _WIDE_CROWD = 4.0, 0.5  # of the records: where noise on all values comes to more, thresholds say more; beyond
_MASS = 0.03  # of the records: a point mass is a state of its own
_MOST_MASSES = 12
_MOST_CELLS = 4096
_MOST_DAYS = 20_000  # between whose bounds months are looked at
_MANY = 0.3  # of the records that have a value: cells of sizes with so many are cut again
_FINER = 16  # cells that one is cut into
_SEEN = 8.0  # deviations of the noise on a size: so many records stand out, spread over some octaves
_CHANCE = 1e-3  # that noise alone makes a point mass
ROUND = np.array([one * 10**zeros for zeros in range(16) for one in (1, 5)], dtype=np.int64)
"""What amounts are multiples of, by habit."""


def noisy(values: Integers, question: Question, entropy: Entropy, label: str) -> Integers:
    """Counts with the noise of a question."""
    add = add_discrete_laplace if question.pure else add_discrete_gaussian
    return add(values, question.noise, entropy, label)


def measure_number(
    values: Floats, grid: Grid, records: int, budget: Budget, amount: Fraction, entropy: Entropy, name: str
) -> Shape:
    units = grid.units(values)
    if grid.size <= FEW:
        return Shape(records)
    if is_listed(grid, records, budget, amount):
        counting = budget.table(amount)
        listed = np.arange(grid.first, grid.last + 1)
        counts = noisy(_counted(units, listed), counting, entropy, f"values of {name}")
        return Shape(records, tuple(listed.tolist()), tuple(counts.tolist()), noise=counting.variance)
    listed = round_values(grid)
    question = budget.table(amount * (_MASSES + _HABITS if grid.days else _MASSES))
    missing = np.count_nonzero(units < grid.first)
    counted = noisy(np.append(_counted(units, listed), missing), question, entropy, f"round values of {name}")
    tallies, without = counted[:-1], max(int(counted[-1]), 0)
    masses = _masses(tallies, listed, records, question)
    rest = units[(units >= grid.first) & ~np.isin(units, list(masses))]
    # Of a number that most records have as 0, or not at all, thresholds are those of the others: many would fall where
    # nobody is.
    others = max(records - sum(masses.values()) - without, 1)
    shares, epsilon = thresholds_for(others, budget, amount * _THRESHOLDS)
    sizing = budget.table(amount * (_SIZES if shares else _SIZES + _BETWEEN))
    rungs = np.array(ladder(grid), dtype=np.int64)
    there = np.append(_parts(rest, rungs), missing)
    sizes, size_noise = noisy(there, sizing, entropy, f"sizes of {name}"), sizing.variance
    edges, finer, finely = np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64), budget.table(amount * _THRESHOLDS)
    if not shares:
        edges = _finer_edges(grid, rungs, sizes, sizing)
        if edges.size:
            finer = noisy(_parts(rest, edges)[1:-1], finely, entropy, f"finer sizes of {name}")
        else:  # no size is so usual that more were to be seen within it
            again, share = noisy(there, finely, entropy, f"sizes of {name}, again"), finely.variance
            share /= share + size_noise
            sizes, size_noise = np.rint(share * sizes + (1 - share) * again).astype(np.int64), share * size_noise
    cuts, between, counting = np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64), budget.table(amount * _BETWEEN)
    if shares:
        lattice = Lattice(
            float(grid.first),
            float(grid.last + 1),
            unit=max(1.0, grid.size * 2.0**-30),
            centre=float(min(max(0, grid.first), grid.last)),
        )
        epsilons = [epsilon] * levels_for(len(shares))
        drawn = bisect(np.sort(rest).astype(np.float64), lattice, shares, epsilons, entropy, name)
        cuts = np.clip(np.ceil(drawn).astype(np.int64), grid.first + 1, grid.last)
        between = noisy(_parts(rest, cuts), counting, entropy, f"{name} between thresholds")
    many = (between if shares else sizes[:-1]) > max(_MASS * records, _clear(counting if shares else sizing, 1))
    ends = [grid.first, *(cuts if shares else rungs).tolist(), grid.last + 1]
    spans = [one for one, crowded in zip(pairwise(ends), many, strict=True) if crowded and one[0] < one[1]]
    if spans:
        more = _closed_in(rest, spans, records, budget, amount * _CROWDED, entropy, name)
        for mass, count in list(more.items())[: _MOST_MASSES - len(masses)]:
            masses[mass] = count
            sizes[np.searchsorted(rungs, mass, side="right")] -= count
            if finer.size and edges[0] <= mass < edges[-1]:
                finer[np.searchsorted(edges, mass, side="right") - 1] -= count
            if shares:
                between[np.searchsorted(cuts, mass, side="right")] -= count
        rest = rest[~np.isin(rest, list(masses))]
    habits: list[list[int]] = []
    if not grid.days:  # multiples of what days are counted by mean nothing
        left = budget.table(amount * (_HABITS if spans else _HABITS + _CROWDED))
        habits = noisy(_habits(rest), left, entropy, f"round parts of {name}").tolist()
    masses = dict(sorted(masses.items()))
    return Shape(
        records,
        tuple(masses),
        tuple(masses.values()),
        shares,
        tuple(cuts.tolist()),
        tuple(between.tolist()),
        tuple(tuple(row) for row in habits),
        counting.variance,
        tuple(tallies.tolist()),
        question.variance,
        tuple(sizes.tolist()),
        size_noise,
        tuple(edges.tolist()),
        tuple(finer.tolist()),
        finely.variance if finer.size else 0.0,
    )


def is_listed(grid: Grid, records: int, budget: Budget, amount: Fraction) -> bool:
    """Whether each value is counted. Of hundreds that nobody has, noise would add more to a mean than records do."""
    if grid.size > LISTED:
        return False
    noise = grid.size * sqrt(budget.table(amount).variance)
    return noise <= (_CROWD if grid.size <= _USUAL or is_even(grid) else _WIDE_CROWD) * records


def _parts(units: Integers, cuts: Integers) -> Integers:
    """How many stand between cuts."""
    return np.bincount(np.searchsorted(cuts, units, side="right"), minlength=cuts.size + 1).astype(np.int64)


def _finer_edges(grid: Grid, rungs: Integers, sizes: Integers, sizing: Question) -> Integers:
    """Where finer cells begin, and the last one ends: from the first to the last cell of sizes that many are in."""
    least = max(_clear(sizing, sizes.size), _MANY * float(np.maximum(sizes[:-1], 0).sum(dtype=np.int64)))
    ends = np.concatenate([[grid.first], rungs, [grid.last + 1]])
    many = np.flatnonzero((sizes[:-1] > least) & (np.diff(ends) > 1))
    if not many.size:
        return np.zeros(0, dtype=np.int64)
    crowded = pairwise(ends[many[0] : many[-1] + 2].tolist())
    starts = [a + (b - a) * k // min(_FINER, b - a) for a, b in crowded for k in range(min(_FINER, b - a))]
    return np.array([*starts, ends[many[-1] + 1]], dtype=np.int64)


def _masses(counts: Integers, listed: Integers, records: int, question: Question) -> dict[int, int]:
    """Which of the listed values, or cells that begin there, stand out, with their noisy counts; the largest first."""
    least = max(_clear(question, listed.size), _MASS * records)
    largest = [int(k) for k in np.argsort(-counts, kind="stable")[:_MOST_MASSES] if counts[k] > least]
    return {int(listed[k]): int(counts[k]) for k in largest}


def _closed_in(
    units: Integers, spans: list[Span], records: int, budget: Budget, amount: Fraction, entropy: Entropy, name: str
) -> dict[int, int]:
    """Single values in these spans that stand out: cells are counted, then finer ones of those that stand out."""
    sizes = cell_sizes(sum(end - first for first, end in spans))
    question = budget.table(amount / len(sizes))
    masses: dict[int, int] = {}
    for size in sizes:
        starts = np.concatenate([np.arange(first, end, size) for first, end in spans])
        ends = np.concatenate([np.minimum(np.arange(first, end, size) + size, end) for first, end in spans])
        at = np.searchsorted(starts, units, side="right") - 1
        there = np.bincount(at[(at >= 0) & (units < ends[at])], minlength=starts.size).astype(np.int64)
        cells = noisy(there, question, entropy, f"cells of {size} of {name}")
        masses = _masses(cells, starts, records, question)
        spans = sorted((start, int(ends[np.searchsorted(starts, start)])) for start in masses)
        if not spans:
            break
    return masses


def cell_sizes(width: int) -> list[int]:
    """How wide cells are, from those that span so many values to single ones; a few of each kind are looked into.

    >>> cell_sizes(500), cell_sizes(10**6), cell_sizes(10**9)
    ([1], [245, 1], [244141, 716, 3, 1])
    """
    sizes = [max(1, ceil(width / _MOST_CELLS))]
    while sizes[-1] > 1:
        sizes.append(max(1, ceil(_MOST_MASSES * sizes[-1] / _MOST_CELLS)))
    return sizes


def _clear(counting: Question, values: int) -> float:
    """A count that none of so many reaches by noise alone, but for a small chance."""
    rare = log(values / _CHANCE)
    return float(counting.noise) * rare if counting.pure else sqrt(2 * counting.variance * rare)


def digits_of(units: Integers) -> Integers:
    return np.searchsorted(10 ** np.arange(17, dtype=np.int64), np.abs(units), side="right")


def _habits(units: Integers) -> Integers:
    """How many values have so many digits and are multiples of each of ROUND and of none beyond."""
    roundest = np.zeros(units.size, dtype=np.int64)
    for k, step in enumerate(ROUND.tolist()):
        roundest[units % step == 0] = k
    cell = digits_of(units) * ROUND.size + roundest
    return np.bincount(cell[units != 0], minlength=18 * ROUND.size).reshape(18, ROUND.size).astype(np.int64)


def _counted(units: Integers, listed: Integers) -> Integers:
    at = np.minimum(np.searchsorted(listed, units), listed.size - 1)
    return np.bincount(at[listed[at] == units], minlength=listed.size).astype(np.int64)


def round_values(grid: Grid) -> Integers:
    """The ends of the grid and, in between, whole numbers of two digits followed by zeros; of dates, the first and the
    last days of months, or of years where months would be too many.

    >>> round_values(Grid(-3, 1200, 1.0))[[0, 1, 2, 3, -3, -2, -1]].tolist()
    [-3, -2, -1, 0, 1000, 1100, 1200]
    >>> round_values(Grid(0, 60, 1.0, days=True)).tolist()
    [0, 30, 31, 58, 59, 60]
    """
    if grid.days:
        unit = "M" if grid.size <= _MOST_DAYS else "Y"
        ends = np.array([grid.first, grid.last]).astype("M8[D]").astype(f"M8[{unit}]")
        starts = np.arange(ends[0], ends[1] + 2).astype("M8[D]").astype(np.int64)
        days = np.concatenate([[grid.first, grid.last], starts, starts - 1])
        return np.unique(days[(days >= grid.first) & (days <= grid.last)])
    sizes = {digits * 10**zeros for digits in range(100) for zeros in range(17)}
    both = sorted({one for size in sizes for one in (size, -size) if grid.first <= one <= grid.last})
    return np.unique(np.array([grid.first, *both, grid.last], dtype=np.int64))


def told_apart(budget: Budget, amount: Fraction) -> int:
    """Of so many records beside point masses more is seen than noise."""
    return ceil(_SEEN * sqrt(budget.table(amount * (_SIZES + _THRESHOLDS + _BETWEEN)).variance))


def thresholds_for(records: int, budget: Budget, amount: Fraction) -> tuple[tuple[Fraction, ...], Fraction]:
    """The shares to cut at and the ε of each level of halving: halves as long as parts stay firm, then the two ends;
    none of few records, of which their sizes say more.

    >>> shares, epsilon = thresholds_for(10_000, Budget(Fraction(1), False, False), Fraction(1, 100))
    >>> len(shares), float(max(shares)) > 0.99
    (129, True)
    """
    chosen: tuple[Fraction, ...] = ()
    for depth in range(_SHALLOWEST, _DEEPEST + 1):
        firm = records * float(budget.threshold(amount / (depth + 1))) / _FIRM
        if firm < 1 << depth:
            break
        ends = [Fraction(1, 1 << k) for k in range(depth + 1, depth + 1 + (1 << (depth - 1))) if 2 * firm > 1 << k]
        chosen = tuple(sorted({*halves(depth), *ends, *(1 - one for one in ends)}))
    return chosen, budget.threshold(amount / max(levels_for(len(chosen)), 1))
