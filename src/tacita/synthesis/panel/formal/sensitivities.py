"""The most that a neighbouring file changes an answer, for both promises. Proofs: formal.md, alpha.md."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from math import ceil, floor, log, prod
from typing import ClassVar

import numpy as np

from tacita.noise.cube import CubeLaw
from tacita.synthesis.panel.formal.lattice import Floats, Integers
from tacita.synthesis.panel.formal.sums import most_whole


@dataclass(frozen=True)
class Each:
    """Every cell of a table may change by so much, all of them at once: noise on a cube pays for the largest change
    alone. Where it is not asked for, or its scale is small beside the number of cells, it is Laplace noise.

    >>> Each(50).noise(Fraction(1, 2), 10, cube=True), Each(1).noise(Fraction(2), 10, cube=True)
    ((Fraction(100, 1), True), (Fraction(5, 1), False))
    """

    most: int

    def noise(self, epsilon: Fraction, cells: int, *, cube: bool) -> tuple[Fraction, bool]:
        """Its scale, and whether it is on a cube."""
        scale = Fraction(self.most) / epsilon
        return (scale, True) if cube and CubeLaw.suits(scale, cells) else (scale * cells, False)


Sensitivity = int | Fraction | Each


def noise_of(sensitivity: Sensitivity, epsilon: Fraction, cells: int, *, cube: bool) -> tuple[Fraction, bool]:
    """The scale of a question's noise, and whether it is on a cube."""
    if isinstance(sensitivity, Each):
        return sensitivity.noise(epsilon, cells, cube=cube)
    return Fraction(sensitivity) / epsilon, False


def each_rate(cells: int, *, cube: bool) -> float:
    """The scale of Laplace noise with the standard deviation that noise has where each cell changes by 1 at ε = 1."""
    return float((cells + 1) * (cells + 2) / 6) ** 0.5 if cube else float(cells)


def each_scale(cells: int, epsilon: Fraction, *, cube: bool) -> Callable[[Floats], Floats]:
    """The scale of Laplace noise with the standard deviation that noise has where each cell changes by so much: clamps
    are chosen by it. On a cube only from a change on that is large enough for it."""
    least = cells * float(epsilon) / CubeLaw.least

    def scale(change: Floats) -> Floats:
        each = np.where(cube & (change >= least), each_rate(cells, cube=True), each_rate(cells, cube=False))
        return np.asarray(change * each / float(epsilon), dtype=np.float64)

    return scale


@dataclass(frozen=True)
class WholeHistory:
    """Neighbours differ in all that one unit's rows say: another life, another status, other numbers."""

    def rate(self, own: Fraction, joint: Fraction) -> Fraction:
        """About how the scale of the noise grows with a clamp, where a question has an ε of its own and one together
        with the other rungs of its ladder: clamps are chosen by it, noise is not."""
        return 1 / own

    rungs_on_cubes: ClassVar[bool] = True

    def lives(self) -> int:
        """1 to at most one cell, which follows from the life, static variables and public columns alone."""
        return 2

    def counts(self, times: int = 1) -> int:
        """1 to at most one cell, so many times; which cell may follow from numbers."""
        return 2 * times

    def in_one_cell(self, most: int) -> int:
        """A number from 0 to `most` to at most one cell, which follows from the life alone."""
        return 2 * most

    def ladder(self, ends: Sequence[int], shares: Sequence[Fraction], times: int) -> Sequence[Sensitivity]:
        """So many times a number, cut up at ascending ends: what of it lies between two of them, a question each, to a
        cell for each time; but the last rung to one cell. `shares` are the questions' ε; each is 0 where a unit is not
        there."""
        *each, last = [high - low for low, high in pairwise(ends)]
        return [*map(Each, each), last * times]

    def flows(self, clamp: int, largest: int) -> Each:
        """Steps between two numbers up to `largest`, held within ± `clamp`, each to its own "up" or "down"."""
        return Each(clamp)

    def all_flows(self, clamp: int, largest: int, times: int) -> int:
        """So many of them, all to the same "up" and "down"."""
        return 2 * clamp * times

    def logs(self, steps: int, width: float) -> Each:
        """log((1 + number)/(1 + size)), held within a range of this width, in so many whole steps, to each cell."""
        return Each(steps)

    def of_sum(self, clamp: int, times: int) -> int:
        """The sum of so many numbers, clamped, in whole steps of its grain, to one cell."""
        return most_whole(clamp)

    def of_each(self, clamp: int) -> Each:
        """Numbers, each clamped, in whole steps of their grain, each to a cell of its own."""
        return Each(most_whole(clamp))


@dataclass(frozen=True)
class WithinAlpha(WholeHistory):
    """Neighbours differ in the numbers of one unit, each year's by at most max(1, α times the smaller), in whole steps
    of the number. Lives, static variables, public columns and which numbers are missing do not differ.

    >>> change = WithinAlpha(Fraction(1, 10))
    >>> change.in_one_cell(110), change.in_one_cell(109), change.in_one_cell(5)
    (10, 9, 1)
    >>> one = Fraction(1)
    >>> [str(most) for most in change.ladder([0, 110, 1000], [one, one], 1)]  # half of 10, and half of 90
    ['5', '45']
    """

    alpha: Fraction

    def rate(self, own: Fraction, joint: Fraction) -> Fraction:
        return self.alpha / (1 + self.alpha) / joint

    # Rungs are protected together. Their less noise is no reason for wider ones: sums do not say where between their
    # ends the sizes lie.
    rungs_on_cubes: ClassVar[bool] = False

    def in_one_cell(self, most: int) -> int:
        return self._held(0, most)

    def ladder(self, ends: Sequence[int], shares: Sequence[Fraction], times: int) -> list[Fraction]:
        # A number moves little, so within one rung, or from the end of one to the beginning of the next: the rungs
        # need not each be protected as if all of them moved at once.
        each = [max(self._held(low, high), 1) for low, high in pairwise(ends)]
        smaller = np.arange(ends[0], ends[-1])
        larger = np.minimum(smaller + self._most(smaller), ends[-1])
        unit = prod(each)
        moved = np.zeros(len(smaller), dtype=object)
        for (low, high), most in zip(pairwise(ends), each, strict=True):
            rung = np.clip(larger, low, high) - np.clip(smaller, low, high)
            moved += rung.astype(object) * (unit // most)
        together = Fraction(int(moved.max(initial=unit)), unit)
        return [together * most * times * own / sum(shares) for most, own in zip(each, shares, strict=True)]

    def flows(self, clamp: int, largest: int) -> Each:
        return Each(min(clamp, 2 * self._held(0, largest)))

    def all_flows(self, clamp: int, largest: int, times: int) -> int:
        return 2 * min(clamp, self._held(0, largest)) * times

    def logs(self, steps: int, width: float) -> Each:
        # 1 + number at most doubles (from 0 to 1), or grows by α; the same for the size, the other way. One more step
        # for rounding to whole steps, and the logarithm of a float is off by far less than one.
        factor = max(2.0, float(1 + self.alpha))
        return Each(min(steps, ceil(2 * log(factor) / width * steps) + 1))

    def of_sum(self, clamp: int, times: int) -> int:
        # Numbers that sum to s become s + k with k ≤ α·s + times, and s + k ≤ clamp where both are clamped.
        moved = floor((self.alpha * clamp + times) / (1 + self.alpha))
        return min(most_whole(clamp), most_whole(clamp, moved))

    def of_each(self, clamp: int) -> Each:
        return Each(min(most_whole(clamp), most_whole(clamp, self._held(0, clamp))))

    def _most(self, smaller: Integers) -> Integers:
        """How much more than each number its neighbour may be."""
        above, below = self.alpha.numerator, self.alpha.denominator
        fits = int(smaller.max(initial=0)) * above < 1 << 63  # an α of many digits would wrap around
        whole = smaller * above // below if fits else smaller.astype(object) * above // below
        return np.maximum(whole, 1).astype(np.int64)

    def _held(self, low: int, high: int) -> int:
        """The largest k such that some s ≥ low and s + k ≤ high differ by at most max(1, α·s)."""
        if high <= low:
            return 0
        most = max(1, floor(high * self.alpha / (1 + self.alpha)))  # s = k/α and s + k = high, before rounding s up
        while most > 1 and ceil(most / self.alpha) + most > high:
            most -= 1
        return min(high - low, most)
