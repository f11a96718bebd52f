"""One value of a cell at a given rank, drawn exactly. Proof: table.md.

Values stand on the declared steps of their column. Every step is a candidate, so a value that many records share can be
drawn itself, not only a place beside it. Far from the centre candidates thin out by octaves, so that a long empty
stretch of a wide domain weighs no more than the octaves in it. Whole numbers throughout.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from tacita.noise.choice import choose, uniform_below
from tacita.noise.entropy import Spare
from tacita.noise.forcing import settles

Integers = NDArray[np.int64]

EVEN = 1 << 12  # a domain of so few steps has one candidate for each, all alike


@dataclass(frozen=True)
class Ladder:
    """The candidates lower … upper, and how much of them lies below a place.

    >>> ladder = Ladder(0, 10**6)
    >>> ladder.below(np.array([0, 1, 2, 4, 8])).tolist() == [k << 20 for k in range(5)]
    True
    >>> all(ladder.at(int(ladder.below(np.array([x]))[0])) == x for x in (0, 1, 5, 77, 123456, 10**6))
    True
    """

    lower: int
    upper: int

    @property
    def even(self) -> bool:
        return self.upper - self.lower <= EVEN

    @property
    def centre(self) -> int:
        return min(max(0, self.lower), self.upper)

    @property
    def octaves(self) -> int:
        return max(1, max(self.upper - self.centre, self.centre - self.lower).bit_length())

    def below(self, places: Integers) -> Integers:
        """The weight of all candidates below each of the places, which lie in lower … upper + 1."""
        places = np.asarray(places, dtype=np.int64)
        if self.even:
            return places - self.lower
        up = self._reach(np.maximum(places - self.centre, 0))
        down = self._reach(np.maximum(self.centre + 1 - places, 0))
        whole = int(self._reach(np.array([self.centre + 1 - self.lower]))[0])
        shared = 1 << self.octaves  # the centre itself, which both sides count from
        return np.where(places > self.centre, whole - shared + up, whole - down)

    def _reach(self, distance: Integers) -> Integers:
        """The weight of the candidates at distances 0 … distance − 1 on one side."""
        top = self.octaves
        octave = np.frexp(np.maximum(distance, 1).astype(np.float64))[1].astype(np.int64) - 1
        inside = (distance - (np.int64(1) << octave)) << np.maximum(top - octave, 0)
        return np.where(distance > 0, ((octave + 1) << top) + inside, 0)

    def at(self, weight: int) -> int:
        """The candidate into whose weight a number from 0 to `total` − 1 falls."""
        low, high = self.lower, self.upper
        while low < high:
            middle = (low + high + 1) // 2
            if int(self.below(np.array([middle]))[0]) <= weight:
                low = middle
            else:
                high = middle - 1
        return low

    @property
    def total(self) -> int:
        return int(self.below(np.array([self.upper + 1]))[0])


def runs(places: Integers, counts: Integers, ladder: Ladder) -> tuple[Integers, Integers, Integers, Integers]:
    """Stretches of candidates that all records see alike: gap, value, gap, value, …, gap.

    For each the weight of the candidates before it, its own weight, the records below it, and those not above it."""
    edges = np.stack([places, places + 1], axis=1).ravel()
    borders = ladder.below(np.concatenate(([ladder.lower], edges, [ladder.upper + 1])))
    reached = np.repeat(np.concatenate(([0], np.cumsum(counts, dtype=np.int64))), 2)
    return borders[:-1], np.diff(borders), reached[:-1], reached[1:]


def scores_of(below: Integers, upto: Integers, share: Fraction, shift: int) -> Integers:
    """How far each stretch is from the rank share·n + shift, in units of 1/denominator of a record; a value is as far
    as the nearest of its records."""
    total = int(upto[-1])
    wanted = share.numerator * total + share.denominator * shift
    return np.maximum(np.maximum(share.denominator * below - wanted, wanted - share.denominator * upto), 0)


@settles("places", "counts")
def draw_value(
    places: Integers, counts: Integers, ladder: Ladder, share: Fraction, shift: int, rate: Fraction, spare: Spare
) -> int:
    """A candidate v with P(v) ∝ weight(v)·exp(−rate·s(v)), s being the distance in `scores_of`.

    `places` are the distinct values, rising, `counts` how many records (or steps of weight) have each.

    >>> from tacita.noise.entropy import SeededEntropy, reserve
    >>> draw_value(np.array([3, 40, 90]), np.array([1, 9, 1]), Ladder(0, 100), Fraction(1, 2), 0, Fraction(9),
    ...     reserve(8, SeededEntropy(1)))
    40
    """
    before, weights, below, upto = runs(places, counts, ladder)
    stretch = choose(weights, scores_of(below, upto, share, shift), rate, spare)
    return ladder.at(int(before[stretch]) + uniform_below(int(weights[stretch]), spare))
