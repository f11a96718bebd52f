"""Public bins: of sizes, of steps from one year to the next, and of lives. Nothing in here looks at a row."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

_EXACT = 10  # sizes up to this have a bin of their own
_FINE, _COARSE, _FAR = 1.2, 1.5, 64
# Edges of |step| / size. Downwards, a step of the whole size is a bin of its own.
_STEPS = np.array([0.04, 0.08, 0.12, 0.18, 0.25, 0.35, 0.5, 0.7, 1.0, 1.5, 2.5, 4.0, 8.0, 16.0])
_DOWN = 9  # edges that a step downwards can pass


def _lower_ends(most: int) -> Integers:
    """0, 1, …, and then by ratio."""
    ends = list(range(_EXACT + 1))
    while ends[-1] <= most:
        ends.append(max(ends[-1] + 1, round(ends[-1] * (_FINE if ends[-1] < _FAR else _COARSE))))
    return np.array([one for one in ends if one <= most], dtype=np.int64)


@dataclass(frozen=True, eq=False)
class Bins:
    """Whole numbers from 0 to `most` in bins with the given lower ends.

    >>> sizes = Bins.sizes(100)
    >>> sizes.of(np.array([0, 7, 11, 100])).tolist()
    [0, 7, 10, 21]
    """

    lower: Integers
    most: int

    @classmethod
    def sizes(cls, most: int) -> Bins:
        """Fine enough to draw sizes from."""
        return cls(_lower_ends(most), most)

    def coarser(self, counts: Floats, shares: Floats) -> Bins:
        """Bins joined so that they end about where given shares of the counts lie below."""
        below = np.cumsum(counts) / max(float(counts.sum()), 1e-300)
        ends = np.searchsorted(below, shares - 1e-12) + 1
        kept = np.unique(np.concatenate([[0], ends[ends < self.count]]))
        return Bins(self.lower[kept], self.most)

    @cached_property
    def upper(self) -> Integers:
        return np.append(self.lower[1:] - 1, self.most)

    @property
    def count(self) -> int:
        return len(self.lower)

    def of(self, values: NDArray[np.int64] | Floats) -> Integers:
        return np.asarray(np.searchsorted(self.lower, values, side="right") - 1, dtype=np.int64)

    def drawn(self, bins: Integers, random: np.random.Generator) -> Integers:
        """Values within bins, evenly on a scale of logarithms."""
        low, high = self.lower[bins].astype(np.float64), self.upper[bins] + 1.0
        base = np.maximum(low, 0.5)
        found = base * (high / base) ** random.random(len(bins))
        return np.clip(np.floor(found), self.lower[bins], self.upper[bins]).astype(np.int64)

    def capped_means(self, cap: int) -> Floats:
        """The mean of min(value, cap) in each bin, with values spread as in `drawn`."""
        return np.asarray(np.minimum(self._spread, cap).mean(axis=1))

    @cached_property
    def _spread(self) -> Floats:
        shares = (np.arange(64) + 0.5) / 64
        low = np.maximum(self.lower.astype(np.float64), 0.5)
        found = low[:, None] * ((self.upper + 1.0) / low)[:, None] ** shares
        return np.asarray(np.clip(np.floor(found), self.lower[:, None], self.upper[:, None]))


class Steps:
    """Steps from one year's size to the next: down by bins of |step|/size, none, up by such bins.

    >>> Steps.of(np.array([10, 10, 10, 1]), np.array([0, 10, 11, 2])).tolist()
    [0, 10, 13, 20]
    """

    shrink = _DOWN + 1
    same = _DOWN + 1
    count = _DOWN + 2 + len(_STEPS) + 1

    @staticmethod
    def of(before: Integers, after: Integers) -> Integers:
        moved = np.abs(after - before)
        place = np.searchsorted(_STEPS, moved / np.maximum(before, 1), side="right")
        down = _DOWN - np.minimum(place, _DOWN)
        return np.asarray(np.where(after < before, down, np.where(after > before, Steps.same + 1 + place, Steps.same)))

    @staticmethod
    def drawn(before: Integers, bins: Integers, most: int, random: np.random.Generator) -> Integers:
        """Sizes after steps of the given bins, none of which is `same`."""
        edges = np.concatenate([[0.0], _STEPS, [40.0]])
        up = bins > Steps.same
        place = np.where(up, bins - Steps.same - 1, _DOWN - bins)
        base = np.maximum(before, 1)
        # Whole numbers with low ≤ |step|/size < high; where there are none, the nearest one.
        low = np.maximum(np.ceil(edges[place] * base - 1e-9), 1)
        high = np.maximum(np.ceil(edges[place + 1] * base - 1e-9) - 1, low)
        shift = low - 0.5
        moved = np.floor(0.5 + shift * ((high + 0.5) / shift) ** random.random(len(bins)))
        moved = np.clip(moved, low, high).astype(np.int64)
        return np.asarray(np.where(up, np.minimum(before + moved, most), np.maximum(before - moved, 0)))

    @staticmethod
    def edges() -> Floats:
        """Where the bins of one direction begin, as 1 + |step|/size: a power of that is an exponential law of logs."""
        return 1 + np.concatenate([[0.01], _STEPS])

    @staticmethod
    def logs() -> Floats:
        """About the logarithm of the ratio of sizes in each bin."""
        ends = np.concatenate([[0.0], _STEPS, [2 * _STEPS[-1]]])
        middle = (ends[1:] + ends[:-1]) / 2
        down = np.append(middle[:_DOWN], 0.9)
        return np.concatenate([np.log1p(-down)[::-1], [0.0], np.log1p(middle)])

    @staticmethod
    def possible(rows: Bins) -> NDArray[np.bool_]:
        """Which bins hold a step for some size of each row; the others are empty whatever the file."""
        found = np.ones((rows.count, Steps.count), dtype=bool)
        for row in np.flatnonzero(rows.lower * _STEPS[0] < 2):  # of larger sizes every bin holds a whole number
            low, high = int(rows.lower[row]), int(rows.upper[row])
            before = np.arange(low, min(high, low + 100) + 1)[:, None]
            moved = np.arange(1, int(3 * _STEPS[-1]) * max(low, 1) + 1)[None, :]
            found[row] = False
            found[row, Steps.same] = True
            for after in (before - moved, before + moved):
                inside = (after >= 0) & (after <= rows.most)
                found[row, Steps.of(np.broadcast_to(before, after.shape)[inside], after[inside])] = True
        return found


def coarse_steps() -> Integers:
    """Seven kinds of steps: far down, down, a little down, none, a little up, up, far up."""
    kinds = np.zeros(Steps.count, dtype=np.int64)
    kinds[4:7], kinds[7 : Steps.same] = 1, 2
    kinds[Steps.same] = 3
    up = Steps.same + 1
    kinds[up : up + 3], kinds[up + 3 : up + 7], kinds[up + 7 :] = 4, 5, 6
    return kinds


def life_class(last: Integers, begins: Integers, end: int) -> Integers:
    """How long a unit is seen: 1, 2 or 3, 4 to 8, 9 and more years; still there at the end is a class of its own."""
    seen = last - begins + 1
    found = np.searchsorted([2, 4, 9], seen, side="right")
    return np.asarray(np.where(last >= end, 4, found), dtype=np.int64)


LIFE_CLASSES = 5
AGES, TRENDS = 2, 2


def shrunk(before: Integers, after: Integers) -> NDArray[np.bool_]:
    """Whether a size fell by more than a fifth."""
    return np.asarray(5 * (after + 1) < 4 * (before + 1))
