"""One value of a cell at a given rank, drawn exactly. Proof: table.md.

Values stand on the rungs of a public ladder: every declared step where there are few, a thousand rungs in each octave
further out. Every rung is a candidate, so a value that many records share can be drawn itself, not only a place beside
it. A long empty stretch of a wide domain weighs no more than the octaves in it, and rungs with round numbers weigh more
than others, because people answer in round numbers. Whole numbers throughout.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from tacita.noise.choice import choose, uniform_below
from tacita.noise.entropy import Spare
from tacita.noise.forcing import settles

Integers = NDArray[np.int64]

_FEW = 1 << 12  # a domain of so few steps has a rung for each
_BITS = 10
_PER_OCTAVE = 1 << _BITS
_ROUNDEST = 16  # the most that one kind of roundness adds to a rung, so that few round numbers do not outweigh ranks


@dataclass(frozen=True)
class Ladder:
    """A rising map from the steps lower … upper to rungs, finest around zero or the bound nearest to it.

    >>> ladder = Ladder(0, 10**6)
    >>> ladder.rung(np.array([0, 7, 1023, 1024, 2048, 2049, 2050])).tolist()
    [0, 7, 1023, 1024, 2048, 2048, 2049]
    >>> ladder.first(np.array([2048, 2049])).tolist(), ladder.last(np.array([2048, 2049])).tolist()
    ([2048, 2050], [2049, 2051])
    """

    lower: int
    upper: int

    @property
    def even(self) -> bool:
        return self.upper - self.lower <= _FEW

    @property
    def centre(self) -> int:
        return self.lower if self.even else min(max(0, self.lower), self.upper)

    def rung(self, steps: Integers) -> Integers:
        away = np.asarray(steps, dtype=np.int64) - self.centre
        if self.even:
            return away
        octave, size = _octave(np.abs(away)), np.abs(away)
        far = _PER_OCTAVE * (octave - _BITS + 1) + ((size - (np.int64(1) << octave)) >> np.maximum(octave - _BITS, 0))
        return np.where(away < 0, -1, 1) * np.where(size < _PER_OCTAVE, size, far)

    @cached_property
    def reached(self) -> Integers:
        """The weight of all rungs below each, from the lowest on: of the numbers of each roundness (multiples of 5, 10,
        50, 100, …) the rungs that hold one weigh together a quarter of what the other rungs of their octave do."""
        rungs = np.arange(self.bottom, self.top + 1)
        weights = np.ones(rungs.size, dtype=np.int64)
        if not self.even:
            first, last = self.first(rungs), self.last(rungs)
            octave = _octave(np.maximum(np.abs(first - self.centre), np.abs(last - self.centre)))
            for multiple in (one * 10**power for power in range(15) for one in (5, 10)):
                here = (last // multiple > (first - 1) // multiple) & (multiple > last - first + 1)
                share = np.int64(min(multiple, 1 << 52)) >> np.maximum(octave - _BITS, 0)
                weights += np.where(here, np.clip(share >> 2, 1, _ROUNDEST), 0)
        return np.concatenate(([0], np.cumsum(weights, dtype=np.int64)))

    def weight_below(self, rungs: Integers) -> Integers:
        return self.reached[np.asarray(rungs, dtype=np.int64) - self.bottom]

    @property
    def bottom(self) -> int:
        return int(self.rung(np.array([self.lower]))[0])

    @property
    def top(self) -> int:
        return int(self.rung(np.array([self.upper]))[0])

    def first(self, rungs: Integers) -> Integers:
        """The lowest step of each rung."""
        rungs = np.asarray(rungs, dtype=np.int64)
        return np.maximum(np.where(rungs < 0, self._far(rungs), self._near(rungs)), self.lower)

    def last(self, rungs: Integers) -> Integers:
        """The highest step of each rung."""
        rungs = np.asarray(rungs, dtype=np.int64)
        return np.minimum(np.where(rungs < 0, self._near(rungs), self._far(rungs)), self.upper)

    def _near(self, rungs: Integers) -> Integers:
        """The step of each rung that is nearest to the centre."""
        return self.centre + np.where(rungs < 0, -1, 1) * self._distance(np.abs(rungs))

    def _far(self, rungs: Integers) -> Integers:
        return self.centre + np.where(rungs < 0, -1, 1) * (self._distance(np.abs(rungs) + 1) - 1)

    def _distance(self, rungs: Integers) -> Integers:
        if self.even:
            return rungs
        octave = np.maximum(rungs // _PER_OCTAVE - 1 + _BITS, _BITS)
        inside = (rungs % _PER_OCTAVE) << (octave - _BITS)
        return np.where(rungs < _PER_OCTAVE, rungs, (np.int64(1) << octave) + inside)


def _octave(size: Integers) -> Integers:
    """The largest e with 2^e ≤ size, of whole numbers up to 2^53, which a double holds exactly; 0 for 0."""
    return np.frexp(np.maximum(size, 1).astype(np.float64))[1].astype(np.int64) - 1


def runs(rungs: Integers, counts: Integers, ladder: Ladder) -> tuple[Integers, Integers, Integers, Integers]:
    """Stretches of candidates that all records see alike: gap, value, gap, value, …, gap.

    For each its first rung, the weight of its rungs, the records below it, and those not above it."""
    edges = np.stack([rungs, rungs + 1], axis=1).ravel()
    borders = np.concatenate(([ladder.bottom], edges, [ladder.top + 1]))
    reached = np.repeat(np.concatenate(([0], np.cumsum(counts, dtype=np.int64))), 2)
    return borders[:-1], np.diff(ladder.weight_below(borders)), reached[:-1], reached[1:]


def scores_of(below: Integers, upto: Integers, share: Fraction, shift: int) -> Integers:
    """How far each stretch is from the rank share·n + shift, in units of 1/denominator of a record; a value is as far
    as the nearest of its records."""
    total = int(upto[-1])
    wanted = share.numerator * total + share.denominator * shift
    return np.maximum(np.maximum(share.denominator * below - wanted, wanted - share.denominator * upto), 0)


@settles("rungs", "counts")
def draw_value(
    rungs: Integers, counts: Integers, ladder: Ladder, share: Fraction, shift: int, rate: Fraction, spare: Spare
) -> int:
    """A rung v with P(v) ∝ weight(v)·exp(−rate·s(v)), s being the distance in `scores_of`.

    `rungs` are those that records stand on, rising, `counts` how many records (or steps of weight) are on each.

    >>> from tacita.noise.entropy import SeededEntropy, reserve
    >>> values, counts, ladder = np.array([3, 40, 90]), np.array([1, 9, 1]), Ladder(0, 100)
    >>> draw_value(values, counts, ladder, Fraction(1, 2), 0, Fraction(9), reserve(8, SeededEntropy(1)))
    40
    """
    first, weights, below, upto = runs(rungs, counts, ladder)
    stretch = choose(weights, scores_of(below, upto, share, shift), rate, spare)
    weight = int(ladder.weight_below(first[stretch])) + uniform_below(int(weights[stretch]), spare)
    return ladder.bottom + int(np.searchsorted(ladder.reached, weight, side="right")) - 1
