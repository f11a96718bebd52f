"""What is read of a number by itself: counts of single values, and private thresholds. Proof: file.md.

A number of few values needs nothing; one of some hundred has each value counted; else the round values it may have
(two digits and zeros) are counted, those that stand out are point masses, and the rest is cut by exact private
thresholds, finer towards both ends than bins of equal size would be.
"""

from __future__ import annotations

from fractions import Fraction
from math import sqrt

import numpy as np
from numpy.typing import NDArray

from tacita.mechanisms.kng.line import Lattice, bisect, halves, levels_for
from tacita.noise.discrete import add_discrete_laplace
from tacita.noise.entropy import Entropy
from tacita.noise.gaussian import add_discrete_gaussian
from tacita.synthesis.file.budget import Budget, Question
from tacita.synthesis.file.columns import FEW, LISTED, Grid, Number, Shape

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

_COUNTING = Fraction(1, 4)  # of what a number gets, where thresholds get the rest
_FIRM = 6.0  # a part is cut again while its records times ε are more
_DEEPEST = 7
_CLEAR = 4.5  # standard deviations of its noise: a count that is no chance
_NOTICED = 0.002  # of the records: below, a point mass is not worth telling


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
    if grid.size <= LISTED:
        listed = np.arange(grid.first, grid.last + 1)
        counts = noisy(_counted(units, listed), budget.table(amount), entropy, f"values of {name}")
        return Shape(records, tuple(listed.tolist()), tuple(counts.tolist()))
    listed = round_values(grid)
    question = budget.table(amount * _COUNTING)
    counts = noisy(_counted(units, listed), question, entropy, f"round values of {name}")
    clear = counts > max(_CLEAR * sqrt(question.variance), _NOTICED * records)
    shape = Shape(records, tuple(listed[clear].tolist()), tuple(counts[clear].tolist()))
    shares, epsilon = thresholds_for(records, budget, amount * (1 - _COUNTING))
    rest = units[units >= grid.first]
    rest = rest[~np.isin(rest, masses_of(shape))]
    lattice = Lattice(
        float(grid.first),
        float(grid.last + 1),
        unit=max(1.0, grid.size * 2.0**-30),
        centre=float(min(max(0, grid.first), grid.last)),
    )
    ordered = np.sort(rest).astype(np.float64)
    cuts = bisect(ordered, lattice, shares, [epsilon] * levels_for(len(shares)), entropy, name)
    return Shape(records, shape.values, shape.counts, shares, tuple(cuts.tolist()))


def _counted(units: Integers, listed: Integers) -> Integers:
    at = np.minimum(np.searchsorted(listed, units), listed.size - 1)
    return np.bincount(at[listed[at] == units], minlength=listed.size).astype(np.int64)


def round_values(grid: Grid) -> Integers:
    """The ends of the grid and, in between, whole numbers of two digits followed by zeros.

    >>> round_values(Grid(-3, 1200, 1.0, True))[[0, 1, 2, 3, -3, -2, -1]].tolist()
    [-3, -2, -1, 0, 1000, 1100, 1200]
    """
    sizes = {digits * 10**zeros for digits in range(100) for zeros in range(17)}
    both = sorted({one for size in sizes for one in (size, -size) if grid.first <= one <= grid.last})
    return np.unique(np.array([grid.first, *both, grid.last], dtype=np.int64))


def thresholds_for(records: int, budget: Budget, amount: Fraction) -> tuple[tuple[Fraction, ...], Fraction]:
    """The shares to cut at and the ε of each level of halving: halves as long as parts stay firm, then the two ends.

    >>> shares, epsilon = thresholds_for(10_000, Budget(Fraction(1), False, False), Fraction(1, 100))
    >>> len(shares), float(max(shares)) > 0.99
    (127, True)
    """
    chosen: tuple[Fraction, ...] = halves(2)
    for depth in range(2, _DEEPEST + 1):
        firm = records * float(budget.threshold(amount / (depth + 1))) / _FIRM
        if depth > 2 and firm < 1 << depth:
            break
        ends = [Fraction(1, 1 << k) for k in range(depth + 1, depth + 1 + (1 << (depth - 1))) if firm > 1 << k]
        chosen = tuple(sorted({*halves(depth), *ends, *(1 - one for one in ends)}))
    return chosen, budget.threshold(amount / levels_for(len(chosen)))


# ---------------------------------------------------------------- bins, from what was released


def masses_of(shape: Shape, most: int = 6, least: float = 0.03) -> list[int]:
    """Values so frequent that they are states of their own."""
    ranked = sorted(zip(shape.counts, shape.values, strict=True), reverse=True)
    return sorted(value for count, value in ranked[:most] if count > least * shape.records)


def number_of(name: str, grid: Grid, missing: bool, shape: Shape, bins: int) -> Number:
    """The column with its states."""
    if grid.size <= FEW:
        return Number(name, grid, missing, shape, tuple(range(grid.first + 1, grid.last + 1)), ())
    if not shape.thresholds:
        return Number(name, grid, missing, shape, _filled(grid, shape, bins), ())
    shares = np.array([float(one) for one in shape.shares])
    wanted = [k / bins for k in range(1, bins)]
    tail = 1 / (4 * bins)
    if shares[-1] >= 1 - tail:
        wanted.append(1 - tail)
    if grid.first < 0 and shares[0] <= tail:
        wanted.append(tail)
    near = {int(np.abs(shares - one).argmin()) for one in wanted}
    cuts = {int(np.ceil(shape.thresholds[one])) for one in near}
    masses = masses_of(shape)
    return Number(
        name, grid, missing, shape, tuple(sorted(cut for cut in cuts if grid.first < cut <= grid.last)), tuple(masses)
    )


def _filled(grid: Grid, shape: Shape, bins: int) -> tuple[int, ...]:
    """Cuts between listed values: a bin is full with its share of the records."""
    cuts, held = [], 0.0
    full = sum(max(count, 0) for count in shape.counts) / bins
    for value, count in zip(shape.values, shape.counts, strict=True):
        here = max(count, 0)
        if value > grid.first and held > 0 and held + here / 2 > full:
            cuts.append(value)
            held = 0.0
        held += here
    return tuple(cuts)
