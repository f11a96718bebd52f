"""Exact private quantiles in one dimension: one sort, one draw, no chain. Proof: line.md.

KNG for one quantile has a density that is constant between neighbouring records, so it is drawn by choosing a gap and
then a place in it. Everything is whole numbers: records stand on a public lattice, thresholds are lattice points, a
gap's weight is the number of thresholds in it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacita.data import rowwise
from tacita.errors import UsageError
from tacita.noise.choice import choose, uniform_below
from tacita.noise.entropy import Entropy, Request, Spare, reserve
from tacita.noise.forcing import settles
from tacita.privacy import text

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

# Drawing below a bound rejects up to half of the words. How many were rejected must not show in how many are asked for,
# and with so many at hand a level asks again less than once in 2^60 times.
_WORDS, _WORDS_PER_DRAW = 64, 8


FALL = 0.5  # of `Lattice`: places thin out as the square root of the distance


@dataclass(frozen=True)
class Lattice:
    """A public, monotone map from [lower, upper) to the whole numbers 0 … 2^bits − 1.

    Places are spaced evenly within about `unit` of `centre` and by ratio further out, which is the base measure of
    the draws: a threshold far out in an empty gap is no more likely for the gap being long. With `fall` they become
    fewer by ratio as well: about (distance/unit)^−fall of them are further out. Where few records speak, the one
    threshold that is asked for then stays near the centre.

    >>> lattice = Lattice(0.0, 1000.0, unit=1.0, centre=0.0)
    >>> place = lattice.place(np.array([0.0, 10.0, 999.0, 5000.0]))
    >>> lattice.value(place).round(6).tolist(), bool(place[3] == lattice.places - 1)
    ([0.0, 10.0, 999.0, 1000.0], True)
    >>> sparse = Lattice(-1e9, 1e9, unit=1.0, centre=0.0, fall=FALL)
    >>> share = np.diff(sparse.place(np.array([-1e6, 1e6]))) / sparse.places
    >>> sparse.value(sparse.place(np.array([-2e5, 0.0, 3.0]))).round(3).tolist(), bool(share[0] > 0.99)
    ([-200000.0, 0.0, 3.0], True)
    """

    lower: float
    upper: float
    unit: float
    centre: float
    bits: int = 40
    fall: float = 0.0

    def __post_init__(self) -> None:
        if not self.lower < self.upper or self.unit <= 0:
            raise UsageError("a lattice needs lower < upper and a unit above 0")

    @classmethod
    def spread(cls, lower: float, upper: float) -> Lattice:
        """The default for a variable: finest around zero, or around the bound nearest to it."""
        return cls(lower, upper, unit=(upper - lower) / 2**14, centre=min(max(0.0, lower), upper))

    @property
    def places(self) -> int:
        return 1 << self.bits

    def _ends(self) -> tuple[float, float]:
        ends = [math.asinh((one - self.centre) / self.unit) for one in (self.lower, self.upper)]
        low, high = self._thinned(np.array(ends)).tolist()
        return low, high

    def _thinned(self, away: Floats) -> Floats:
        if not self.fall:
            return away
        return np.asarray(np.sign(away) * (1 - rowwise.exp(-self.fall * np.abs(away))))

    def place(self, values: Floats) -> Integers:
        """Where values stand; values outside the bounds stand at the nearest end."""
        low, high = self._ends()
        share = (self._thinned(rowwise.arcsinh((values - self.centre) / self.unit)) - low) / (high - low)
        return np.clip(np.floor(share * self.places), 0, self.places - 1).astype(np.int64)

    def value(self, places: NDArray[np.int64] | NDArray[np.float64]) -> Floats:
        low, high = self._ends()
        away = low + places / self.places * (high - low)
        if self.fall:
            away = -np.sign(away) * np.log(np.maximum(1 - np.abs(away), 2.0**-60)) / self.fall
        found = self.centre + self.unit * np.sinh(away)
        return np.asarray(np.clip(found, self.lower, self.upper) if self.fall else found)


@dataclass(frozen=True)
class TailLattice:
    """A lattice for the outermost part of a bisection, whose far bound may be far beyond the last record.

    Places thin out with the distance from `start`, measured in the neighbouring gap between released quantiles:
    a share (1 + distance/gap)^-2 of them is further out. That is a base measure; it costs nothing and keeps a
    threshold from falling into the empty part only because that is long.

    >>> tail = TailLattice(10.0, 1000.0, gap=5.0)
    >>> tail.value(tail.place(np.array([10.0, 12.0, 900.0]))).round(3).tolist()
    [10.0, 12.0, 900.0]
    """

    start: float
    end: float
    gap: float
    bits: int = 40

    @property
    def places(self) -> int:
        return 1 << self.bits

    @property
    def _inside(self) -> float:
        return float(_nearer(abs(self.end - self.start) / self.gap))

    def place(self, values: Floats) -> Integers:
        away = np.maximum((values - self.start) * (1 if self.end > self.start else -1), 0) / self.gap
        share = np.minimum(_nearer(away) / self._inside, 1)
        if self.end < self.start:
            share = 1 - share
        return np.asarray(np.clip(np.floor(share * self.places), 0, self.places - 1), dtype=np.int64)

    def value(self, places: NDArray[np.int64] | NDArray[np.float64]) -> Floats:
        share = np.asarray(places) / self.places
        if self.end < self.start:
            share = 1 - share
        # A gap that is tiny beside the whole rounds `_inside` to 1: the outermost place is then the end itself.
        left = np.maximum(1 - share * self._inside, 2.0**-60)
        away = np.minimum(self.gap * (left**-0.5 - 1), abs(self.end - self.start))
        return np.asarray(self.start + (away if self.end > self.start else -away))


def _nearer(away: Any) -> Any:
    """1 − (1 + away)^−2, without the loss of digits where `away` is small."""
    return away * (2 + away) / ((1 + away) * (1 + away))


@settles("places")
def draw_threshold(places: Integers, end: int, share: Fraction, epsilon: Fraction, spare: Spare) -> int:
    """A threshold t in 0 … end with P(t) ∝ exp(−ε·|#{places < t} − share·n| / (2·max(share, 1 − share))).

    `places` are the sorted places of the records, all in 0 … end − 1. ε-private when a record is added or removed;
    where one is replaced, the loss is at most 2ε.

    >>> from tacita.noise.entropy import SeededEntropy
    >>> words = reserve(8, SeededEntropy(1))
    >>> 3 < draw_threshold(np.array([3, 3, 90]), 100, Fraction(1, 2), Fraction(1000), words) <= 90
    True
    """
    if not 0 <= share <= 1 or share.denominator * (places.size + 1) >= 1 << 62:
        raise UsageError("share: must lie between 0 and 1, as a fraction with a small denominator such as 99/100")
    edges = np.concatenate(([-1], places, [end]))
    ranks = np.arange(places.size + 1)
    scores = np.abs(share.denominator * ranks - share.numerator * places.size)
    rate = epsilon / (2 * max(share, 1 - share) * share.denominator)
    gap = choose(np.diff(edges), scores, rate, spare)
    return int(edges[gap]) + 1 + uniform_below(int(edges[gap + 1] - edges[gap]), spare)


def levels_for(targets: int) -> int:
    """How many levels of halving reach so many quantiles.

    >>> levels_for(1), levels_for(31), levels_for(99)
    (1, 5, 7)
    """
    return targets.bit_length()


def halves(levels: int) -> tuple[Fraction, ...]:
    """The quantiles of a full bisection: 1/2^levels, 2/2^levels, …"""
    return tuple(Fraction(j, 1 << levels) for j in range(1, 1 << levels))


def bisect(
    values: Floats,
    lattice: Lattice,
    targets: Sequence[Fraction],
    epsilons: Sequence[Fraction],
    entropy: Entropy,
    label: str,
) -> Floats:
    """Thresholds for the target quantiles, in order: the middle target first, then the middle one of each side.

    A record lies in one part of each level, so a level costs its ε once, however many parts it has. Thresholds
    never cross. The values are sorted and inside the lattice; there is one ε per level.

    >>> from tacita.noise.entropy import SeededEntropy
    >>> even = Lattice(0.0, 800.0, unit=1e6, centre=0.0)
    >>> bisect(np.arange(0.0, 800.0), even, halves(2), [Fraction(9)] * 2, SeededEntropy(1), "size").round(-1).tolist()
    [200.0, 400.0, 600.0]
    """
    if len(epsilons) != levels_for(len(targets)):
        raise UsageError(f"{len(targets)} quantiles need {levels_for(len(targets))} levels, each with its epsilon")
    found = np.full(len(targets), np.nan)
    values, places = values.copy(), lattice.place(values)
    parts = [_Part(0, len(targets), 0, values.size, lattice.lower, lattice.upper, Fraction(0), Fraction(1))]
    for level, epsilon in enumerate(epsilons, start=1):
        sizes = np.array([part.end - part.begin for part in parts])
        law = f"threshold, epsilon={text(epsilon)}"
        entropy.announce(Request(f"{label}, level {level}", law, sizes, np.full(len(parts), float(1 / epsilon))))
        spare = reserve(_WORDS + _WORDS_PER_DRAW * len(parts), entropy)
        finer = []
        for part in parts:
            middle = (part.first + part.last) // 2
            share = (targets[middle] - part.below) / (part.above - part.below)
            measure = _measure(part, lattice, found)
            if isinstance(measure, TailLattice):
                floor, top = 0, measure.places
                here = measure.place(values[part.begin : part.end])
            else:
                floor, top = (int(end) for end in lattice.place(np.array([part.left, part.right])))
                top = lattice.places if part.right == lattice.upper else top
                here = places[part.begin : part.end]
            if bool((here[1:] < here[:-1]).any()):
                # A transcendental function may be off by a last bit, so that near ties change their order.
                order = np.argsort(here, kind="stable")
                for kept in (values, places):
                    kept[part.begin : part.end] = kept[part.begin : part.end][order]
                here = here[order]
            inside = np.clip(here, floor, max(top - 1, floor)) - floor
            threshold = draw_threshold(inside, top - floor, share, epsilon, spare)
            cut = part.begin + int(np.searchsorted(inside, threshold))
            value = float(np.clip(measure.value(np.array([threshold + floor]))[0], part.left, part.right))
            found[middle] = value
            finer.append(_Part(part.first, middle, part.begin, cut, part.left, value, part.below, targets[middle]))
            finer.append(_Part(middle + 1, part.last, cut, part.end, value, part.right, targets[middle], part.above))
        parts = [part for part in finer if part.first < part.last]
    return found


@dataclass(frozen=True)
class _Part:
    """Targets first … last − 1 between two thresholds, and which records lie there (confidential)."""

    first: int
    last: int
    begin: int
    end: int
    left: float
    right: float
    below: Fraction
    above: Fraction


def _measure(part: _Part, lattice: Lattice, found: Floats) -> Lattice | TailLattice:
    """The base measure of a part; the outermost ones look at the released gap next to them."""
    known = found[~np.isnan(found)]
    if known.size < 2 or part.left == part.right:
        return lattice
    if part.right == lattice.upper and part.left == known[-1]:
        gap = max(known[-1] - known[-2], lattice.unit / 16)
        return TailLattice(part.left, lattice.upper, gap, lattice.bits)
    if part.left == lattice.lower and part.right == known[0]:
        gap = max(known[1] - known[0], lattice.unit / 16)
        return TailLattice(part.right, lattice.lower, gap, lattice.bits)
    return lattice
