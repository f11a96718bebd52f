"""Two values of a cell that enclose a quantile, drawn exactly and together. Proof: table.md.

Values stand on the rungs of a public ladder: every declared step where there are few, a thousand rungs in each octave
further out. Every rung is a candidate, so a value that many records share can be drawn itself, not only a place beside
it. A long empty stretch of a wide domain weighs no more than the octaves in it, and rungs with round numbers weigh more
than others, because people answer in round numbers. Whole numbers throughout.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import ceil

import numpy as np
from numpy.typing import NDArray

from tacita.noise.choice import choose, uniform_below
from tacita.noise.entropy import Spare
from tacita.noise.forcing import settles

Integers = NDArray[np.int64]

_FEW = 1 << 12  # a domain of so few steps has a rung for each
_BITS = 10
_PER_OCTAVE = 1 << _BITS
_OUT_OF_REACH = 64
_ROUNDEST = 4  # the most that one kind of roundness adds to a rung, so that few round numbers do not outweigh ranks


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
        """The weight of all rungs below each, from the lowest on. Every octave weighs the same, be it of few steps, and
        so does the centre: ones are as likely an answer as thousands. Of the numbers of each roundness (multiples of 5,
        10, 50, 100, …) the rungs that hold one weigh together a quarter of what the other rungs of their octave do."""
        rungs = np.arange(self.bottom, self.top + 1)
        weights = np.ones(rungs.size, dtype=np.int64)
        if not self.even:
            first, last = self.first(rungs), self.last(rungs)
            octave = _octave(np.maximum(np.abs(first - self.centre), np.abs(last - self.centre)))
            weights = np.maximum(_PER_OCTAVE >> octave, 1)
            each = weights.copy()
            for multiple in (one * 10**power for power in range(15) for one in (5, 10)):
                here = (last // multiple > (first - 1) // multiple) & (multiple > last - first + 1) & (octave > 0)
                share = np.int64(min(multiple, 1 << 52)) >> np.maximum(octave - _BITS, 0)
                weights += np.where(here, each * np.clip(share >> 2, 1, _ROUNDEST), 0)
        return np.concatenate(([0], np.cumsum(weights, dtype=np.int64)))

    def weight_below(self, rungs: Integers) -> Integers:
        return self.reached[np.asarray(rungs, dtype=np.int64) - self.bottom]

    def at(self, weight: int) -> int:
        """The rung that holds the so-many-th unit of weight."""
        return self.bottom + int(np.searchsorted(self.reached, weight, side="right")) - 1

    @cached_property
    def bottom(self) -> int:
        return int(self.rung(np.array([self.lower]))[0])

    @cached_property
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
    return _stretches(rungs, _reached(counts), ladder, ladder.bottom, ladder.top + 1)


def _reached(counts: Integers) -> Integers:
    """The records below each of the values, and below none."""
    return np.concatenate(([0], np.cumsum(counts, dtype=np.int64)))


def _stretches(
    rungs: Integers, reached: Integers, ladder: Ladder, begin: int, end: int
) -> tuple[Integers, Integers, Integers, Integers]:
    """The same of the rungs from `begin` on and before `end`."""
    edges = np.stack([rungs, rungs + 1], axis=1).ravel()
    borders = np.concatenate(([begin], edges, [end]))
    twice = np.repeat(reached, 2)
    return borders[:-1], np.diff(ladder.weight_below(borders)), twice[:-1], twice[1:]


def _near(
    rungs: Integers, counts: Integers, ladder: Ladder, share: Fraction, shift: int, most: int
) -> tuple[Integers, Integers, Integers, Integers]:
    """Of these stretches those that lie together and hold all whose score is less than `most` at either end: a cell has
    many more values than can be drawn."""
    reached, wanted = _reached(counts), share.numerator * int(counts.sum())
    away = share.denominator * shift + most
    lowest = int(np.searchsorted(reached, (wanted - away) // share.denominator, side="right"))
    highest = int(np.searchsorted(reached, -((-wanted - away) // share.denominator), side="left")) - 1
    start, stop = max(lowest - 1, 0), min(highest + 1, rungs.size)
    begin = int(rungs[start - 1]) + 1 if start else ladder.bottom
    end = int(rungs[stop]) if stop < rungs.size else ladder.top + 1
    return _stretches(rungs[start:stop], reached[start : stop + 1], ladder, begin, end)


def scores_of(below: Integers, upto: Integers, share: Fraction, shift: int) -> Integers:
    """How far each stretch is from the rank share·n + shift, in units of 1/denominator of a record; a value is as far
    as the nearest of its records."""
    return _scores(below, upto, int(upto[-1]), share, shift)


def _scores(below: Integers, upto: Integers, total: int, share: Fraction, shift: int) -> Integers:
    wanted = share.numerator * total + share.denominator * shift
    return np.maximum(np.maximum(share.denominator * below - wanted, wanted - share.denominator * upto), 0)


def furthest(ladder: Ladder, share: Fraction, shift: int, rate: Fraction) -> int:
    """A score that is out of reach, from public settings alone: all pairs that have it weigh less than 2^−90 of the
    best, be the cell empty. Larger scores count as this one, and need not be told apart."""
    return share.denominator * shift + ceil((_OUT_OF_REACH + 2 * int(ladder.reached[-1]).bit_length()) / rate)


@settles("rungs", "counts")
def draw_ends(
    rungs: Integers, counts: Integers, ladder: Ladder, share: Fraction, shift: int, rate: Fraction, spare: Spare
) -> tuple[int, int]:
    """Two rungs, `shift` ranks below and above the quantile, P(v, u) ∝ weight(v)·weight(u)·exp(−rate·max(s(v), t(u))).
    s and t are their distances in `scores_of`, up to `furthest`. A record moves the larger of the two no further than
    one of them, so both have the price of one.

    `rungs` are those that records stand on, rising, `counts` how many records (or steps of weight) are on each.

    >>> from tacita.noise.entropy import SeededEntropy, reserve
    >>> values, counts, ladder = np.array([3, 40, 90]), np.array([1, 9, 1]), Ladder(0, 100)
    >>> draw_ends(values, counts, ladder, Fraction(1, 2), 2, Fraction(9), reserve(8, SeededEntropy(1)))
    (40, 40)
    """
    most = furthest(ladder, share, shift, rate)
    first, weights, below, upto = _near(rungs, counts, ladder, share, shift, most)
    starts, total = ladder.weight_below(first), int(counts.sum())
    low, high = (
        _Side.of(starts, weights, _scores(below, upto, total, share, away), most, int(ladder.reached[-1]))
        for away in (-shift, shift)
    )
    levels = np.unique(np.concatenate([low.scores, high.scores]))
    # So much of the low end and of the high end has at most the score of a level.
    lows, highs = low.reached(levels), high.reached(levels)
    level = choose(np.diff(lows * highs, prepend=0), levels, rate, spare)
    below_it, above_it = (int(one[level - 1]) if level else 0 for one in (lows, highs))
    upto_it, over_it = int(lows[level]), int(highs[level])
    # Either the low end has this score and the high end up to it, or the high end alone.
    here = uniform_below(upto_it * over_it - below_it * above_it, spare)
    if here < (upto_it - below_it) * over_it:
        places = below_it + here // over_it, here % over_it
    else:
        here -= (upto_it - below_it) * over_it
        places = here % below_it, above_it + here // below_it
    return ladder.at(low.place(places[0])), ladder.at(high.place(places[1]))


@dataclass(frozen=True)
class _Side:
    """The stretches of one end by rising score: where each begins on the ladder, by weight, and what is before it. What
    is out of reach comes last, from `left` on downwards and from `right` on upwards."""

    scores: Integers
    starts: Integers
    passed: Integers
    left: int
    right: int

    @classmethod
    def of(cls, starts: Integers, weights: Integers, scores: Integers, most: int, whole: int) -> _Side:
        """`whole` is the weight of all rungs, of which the stretches may be a part."""
        near = np.flatnonzero(scores < most)  # without a gap, since scores fall and then rise
        first, last = near[0], near[-1] + 1
        order = first + np.argsort(scores[first:last], kind="stable")
        passed = np.concatenate(([0], np.cumsum(weights[order], dtype=np.int64)))
        end = int(starts[last - 1] + weights[last - 1])
        out = whole - int(passed[-1])
        return cls(
            np.append(scores[order], most), starts[order], np.append(passed, passed[-1] + out), int(starts[first]), end
        )

    def reached(self, levels: Integers) -> Integers:
        """The weight of the stretches up to each level."""
        return np.asarray(self.passed[np.searchsorted(self.scores, levels, side="right")])

    def place(self, number: int) -> int:
        """Where on the ladder the so-many-th unit of weight lies."""
        at = int(np.searchsorted(self.passed, number, side="right")) - 1
        inside = number - int(self.passed[at])
        if at < self.starts.size:
            return int(self.starts[at]) + inside
        return inside if inside < self.left else self.right + inside - self.left
