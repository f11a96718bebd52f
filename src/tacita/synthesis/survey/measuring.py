"""All that is read from confidential rows: where values lie, and noisy sums and cross-products. Proof: survey.md."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import isqrt, log10

import numpy as np

from tacita.data.coding import States
from tacita.data.gathered import Columns as Gathered
from tacita.errors import UsageError
from tacita.mechanisms.kng.line import draw_threshold
from tacita.noise.discrete import DiscreteLaplace, add_discrete_laplace
from tacita.noise.entropy import Entropy, Request, reserve
from tacita.noise.gaussian import DiscreteGaussian, add_discrete_gaussian
from tacita.privacy import text
from tacita.synthesis.survey.columns import Floats, Frame, Integers, Measure
from tacita.synthesis.survey.totals import FAR, Totals

STEPS = 256  # a value is a whole number of half-ranges/STEPS: sums are whole numbers, and noise on them is exact
_PLACES = 1 << 30  # of a threshold between the public bounds
_SHARES = (Fraction(1, 4), Fraction(3, 4))
_ENOUGH = 60  # ε times records of a threshold: a quartile then lands in an empty stretch less than once in 500 times
_LEAST_LOCATING, _MOST_LOCATING = Fraction(1, 20), Fraction(1, 3)  # of the budget, for where the values lie
SHAPE_LEVELS = 4  # of halving: fifteen quantiles
TOTALS = Fraction(1, 2)  # of the budget, for weighted totals where records are many
_SHAPING = Fraction(1, 10)  # of the budget, for shapes
_WORTH = 100  # ε times records of a level: quantiles are then right to a few hundredths, and better than a guess
_LEAST_RANGE = 1 / 64  # of the public range
_NARROW = 2.0  # of a logarithm: as long as ranges are that are drawn for most weights and incomes
_WORDS = 256


@dataclass(frozen=True)
class Budget:
    """Noise for d numbers per record, in units of half-ranges: see survey.md for why cross-products cost nothing.

    `threshold` is the ε of each quartile. `shape` is that of each level of a number's quantiles if a record is added
    or removed; 0 if they are not asked for. `spread` is the scale (Laplace) or the variance (Gaussian) of the noise on
    a sum; squares and products have it times `square` and `product` (for a variance, times the square of `square`).
    """

    threshold: Fraction
    shape: Fraction
    spread: Fraction
    square: Fraction
    product: Fraction
    gaussian: bool

    @classmethod
    def pure(cls, epsilon: Fraction, d: int, records: int, located: int | None = None) -> Budget:
        """`located` of the d numbers have their range drawn, usually all."""
        # 2/square + (d − 1)/product = 1
        quartiles = 2 * (d if located is None else located)
        locating = _held(_located_for(quartiles, records, gaussian=False), epsilon) if quartiles else Fraction(0)
        level = epsilon * _SHAPING / (2 * d * SHAPE_LEVELS)
        shape = level if level * records >= _WORTH else Fraction(0)
        left = epsilon - locating - shape * 2 * d * SHAPE_LEVELS
        square, product = Fraction(4), Fraction(2 * max(d - 1, 1))
        return cls(locating / max(quartiles, 1), shape, 2 * d / left, square, product, gaussian=False)

    @classmethod
    def concentrated(cls, rho: Fraction, d: int, records: int, located: int | None = None) -> Budget:
        # 32/27 + 2(d − 1)/product² ≤ 2, with product² = 5(d − 1)/2 and square = 1; a draw of a threshold with ε is ε²/8
        quartiles = 2 * (d if located is None else located)
        locating = _held(_located_for(quartiles, records, gaussian=True), rho) if quartiles else Fraction(0)
        threshold = _root(8 * locating / max(quartiles, 1))
        # A replaced record costs a level twice its ε, and (2ε)²/2 bounds that.
        level = _root(rho * _SHAPING / (2 * d * SHAPE_LEVELS))
        shape = level if level * records >= _WORTH else Fraction(0)
        left = rho - locating - 2 * shape**2 * d * SHAPE_LEVELS
        return cls(threshold, shape, 2 * d / left, Fraction(1), Fraction(5 * max(d - 1, 1), 2), gaussian=True)

    def deviation(self) -> float:
        """The standard deviation of the noise on a sum, in half-ranges."""
        return float(self.spread) ** 0.5 if self.gaussian else float(self.spread) * 2**0.5

    def refuse_too_loud(self, located: int) -> None:
        """Before anything is spent: no noise can be drawn for so small a budget."""
        try:
            for factor in (self.square**2 if self.gaussian else self.square, self.product):
                loudest = self.spread * factor * (STEPS**4 if self.gaussian else STEPS**2)
                DiscreteGaussian(loudest) if self.gaussian else DiscreteLaplace(loudest)
            possible = self.threshold > 0 or not located
        except UsageError:
            possible = False
        if not possible:
            raise UsageError("epsilon: too small for any noise to be drawn; raise it")

    def noisy_sums(self, values: Integers, entropy: Entropy, label: str) -> Integers:
        if self.gaussian:
            return add_discrete_gaussian(values, self.spread * STEPS**2, entropy, label)
        return add_discrete_laplace(values, self.spread * STEPS, entropy, label)

    def noisy_products(self, values: Integers, same: bool, entropy: Entropy, label: str) -> Integers:
        """Squares of one number, or products of two."""
        if self.gaussian:
            factor = self.square**2 if same else self.product
            return add_discrete_gaussian(values, self.spread * factor * STEPS**4, entropy, label)
        factor = self.square if same else self.product
        return add_discrete_laplace(values, self.spread * factor * STEPS**2, entropy, label)


@dataclass(frozen=True)
class Range:
    """The released range of a number on its modelled scale; values outside count as its ends."""

    low: float
    high: float

    @property
    def middle(self) -> float:
        return (self.low + self.high) / 2

    @property
    def half(self) -> float:
        return (self.high - self.low) / 2

    def held(self, values: Floats) -> Floats:
        """In half-ranges from the middle, between −1 and 1."""
        return np.asarray(np.clip((values - self.middle) / self.half, -1.0, 1.0))

    def steps(self, values: Floats) -> Integers:
        return np.asarray(np.rint(self.held(values) * STEPS), dtype=np.int64)


@dataclass(frozen=True, eq=False)
class Measurement:
    """Released: the public frame, ranges, the sums of each cell, and the cross-products of all records, in steps; and
    quantiles of what is left around the cells' means, and weighted totals, where they were asked for.

    `located` of the ranges were drawn. Where `totals` are None none were asked for.
    """

    frame: Frame
    ranges: tuple[Range, ...]
    sums: Integers
    products: Integers
    shape: Floats
    located: int
    totals: Totals | None = None


def measure(
    gathered: Gathered,
    frame: Frame,
    measures: Sequence[Measure],
    known: Sequence[bool],
    budget: Budget,
    entropy: Entropy,
) -> Measurement:
    """`known` are the numbers whose public bounds are their range."""
    d = len(measures)
    reach = _reach(frame.records, budget)
    ranges = tuple(
        Range(one.low, one.high)
        if public
        else _located(one.forward(gathered.values(one.name)), one, budget.threshold, reach, entropy)
        for one, public in zip(measures, known, strict=True)
    )
    stepped = [Stepped.of(one, range_) for one, range_ in zip(measures, ranges, strict=True)]
    exact_sums = gathered.coded(stepped).sums([(at,) for at in range(d)], STEPS)
    sums = np.zeros((frame.cells, d), dtype=np.int64)
    for at, one in enumerate(measures):
        sums[:, at] = budget.noisy_sums(exact_sums[:, at], entropy, f"sums of {one.name} in cells")
    pairs = [(i, j) for i in range(d) for j in range(i, d)]
    exact_products = gathered.by(None).coded(stepped).sums(pairs, STEPS)
    products = np.zeros((d, d), dtype=np.int64)
    for at, (i, j) in enumerate(pairs):
        label = f"sum of products of {measures[i].name} and {measures[j].name}"
        products[i, j] = products[j, i] = budget.noisy_products(exact_products[:, at], i == j, entropy, label)[0]
    return Measurement(frame, ranges, sums, products, np.zeros((0, 0)), located_of(known))


def ranges_known(measures: Sequence[Measure], total: Fraction, records: int, *, gaussian: bool) -> list[bool]:
    """Of which numbers the public bounds are the range, and none is drawn: where they are about as good as any, of
    weights, the last, which often are a few values between which a drawn range may end; and of all where records are
    too few for thresholds to be drawn as surely as wanted."""
    few = _located_for(2 * len(measures), records, gaussian) >= total * _MOST_LOCATING
    narrow = [one.transform == "log" and one.high - one.low <= _NARROW for one in measures]
    return [near and (few or at == len(measures) - 1) for at, near in enumerate(narrow)]


def located_of(known: Sequence[bool]) -> int:
    """How many numbers have their range drawn."""
    return list(known).count(False)


def _located_for(quartiles: int, records: int, gaussian: bool) -> Fraction:
    """What so many thresholds should get."""
    each = Fraction(_ENOUGH, records)
    return quartiles * (each**2 / 8 if gaussian else each)


@dataclass(frozen=True)
class Stepped:
    """A number by its whole steps above the lowest end of a released range: of each step, the first value in it."""

    name: str
    starts: tuple[float, ...]

    @classmethod
    def of(cls, one: Measure, range_: Range) -> Stepped:
        """Found by halving the stretch between two values, on the scale of the numbers a machine can tell apart."""
        lower, upper = float(one.kind.lower), float(one.kind.upper)
        wanted = np.arange(1 - STEPS, STEPS + 1)
        low, high = (np.full(wanted.size, _rank(np.array([end]))[0]) for end in (lower, upper))
        while (low < high).any():
            middle = (low >> 1) + (high >> 1) + (low & high & 1)
            reached = range_.steps(one.forward(_ranked(middle))) >= wanted
            low, high = np.where(reached, low, np.minimum(middle + 1, high)), np.where(reached, middle, high)
        starts = _ranked(low)
        reached = range_.steps(one.forward(starts)) >= wanted
        return cls(one.name, tuple(starts[reached].tolist()))

    @property
    def size(self) -> int:
        return len(self.starts) + 1

    @property
    def states(self) -> States:
        return States(self.starts)

    def code(self, values: Floats) -> Integers:
        return np.searchsorted(np.array(self.starts), values, side="right").astype(np.int64)


def middles_of(measures: Sequence[Measure], ranges: Sequence[Range], records: int, budget: Budget) -> dict[str, float]:
    """From where the totals of answers are measured: from the middle of the released range where values vary little
    beside it; else from 0, or the bound next to 0."""
    found = {}
    for one, range_ in zip(measures, ranges, strict=True):
        apart = range_.half / _reach(records, budget) / 2
        low, middle, high = one.back(range_.middle + np.array([-apart, 0.0, apart])).tolist()
        far = abs(middle) > FAR * (high - low)
        found[one.name] = middle if far else min(max(0.0, float(one.kind.lower)), float(one.kind.upper))
    return found


def _rank(values: Floats) -> Integers:
    """Floats in their order as whole numbers; both zeros are 0."""
    bits = (values + 0.0).view(np.int64)
    return np.where(bits < 0, -(bits & np.int64(2**63 - 1)), bits)


def _ranked(ranks: Integers) -> Floats:
    return np.where(ranks < 0, -1.0, 1.0) * np.abs(ranks).view(np.float64)


def _reach(records: int, budget: Budget) -> float:
    """How far from the middle of the quartiles values count in full, in distances between the quartiles.

    2.5 of them are 3.4 standard deviations of a normal variable; where noise is small beside the number of records,
    more of a heavy tail is worth having.
    """
    return min(2.5 + 0.5 * max(0.0, log10(records / budget.deviation() / 1e4)), 5.0)


def _located(values: Floats, one: Measure, epsilon: Fraction, reach: float, entropy: Entropy) -> Range:
    unit = (one.high - one.low) / _PLACES
    places = np.clip(np.floor((values - one.low) / unit), 0, _PLACES - 1).astype(np.int64)
    places.sort()
    found = []
    for share in _SHARES:
        law = f"threshold, replaced record, epsilon={text(epsilon)}"
        label = f"{one.name}: quantile {text(share)}"
        entropy.announce(Request(label, law, np.array([places.size]), np.array([float(1 / epsilon)])))
        # A replaced record moves one rank by one and leaves their number as it is: see survey.md.
        held = epsilon * max(share, 1 - share)
        found.append(one.low + draw_threshold(places, _PLACES, share, held, reserve(_WORDS, entropy)) * unit)
    middle, apart = sum(found) / 2, abs(found[1] - found[0])
    half = max(reach * apart, (one.high - one.low) * _LEAST_RANGE)
    return Range(max(one.low, middle - half), min(one.high, middle + half))


def _root(value: Fraction) -> Fraction:
    """Rounded down to six digits."""
    return Fraction(isqrt(int(value * 10**12)), 10**6)


def _held(wanted: Fraction, budget: Fraction) -> Fraction:
    return min(max(wanted, budget * _LEAST_LOCATING), budget * _MOST_LOCATING)
