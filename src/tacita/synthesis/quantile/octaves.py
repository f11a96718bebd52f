"""The distribution of a number with wide bounds, from noisy counts of octaves. Public arithmetic and post-processing.

Amounts of money span many powers of two, and nobody knows beforehand which. Halving after halving spends a part of the
budget on each level, and what it misses on the way it misses at the end: far out, where a mean is made. Counts of
octaves spend it once, and few of them lie above the records that a mean hangs on.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import floor, log, log2, sqrt

import numpy as np
from numpy.typing import NDArray

from tacita.mechanisms.kng.line import halves
from tacita.synthesis.pinned.measuring import rising
from tacita.synthesis.quantile.curve import Curve, Tail
from tacita.synthesis.quantile.variables import Column

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

_WIDE = 12  # octaves between the bounds; with fewer, bisection costs no more and knows the values themselves
_PER_OCTAVE = 1000  # records times ε for each part that octaves are cut into: few parts are smooth, many are noisy
_MOST_PARTS = 8
_WINDOWS = (1, 2, 4, 8)  # parts in which the records may stand out together
_CHANCE = 0.01  # that noise alone makes records stand out
_MUCH = 0.5  # of the fullest part of a window
_NEXT = 6.0  # scales of noise, in two parts that follow: records go on there. A mistake costs one part
_LEAST_FALL, _MOST_FALL = 0.05, 0.5  # by which counts fall from octave to octave beyond those that are seen
_DOUBT = 0.5  # scales of noise: so many records may be in a part unseen
_FEWEST = 0.25  # of a record, in a part
_FIRM = 4.0  # deviations of the noise: a quantile with fewer records further out is not told
_FINE = 16  # places inside a part


def is_wide(column: Column) -> bool:
    """Whether bounds, which are public, leave open how large values are."""
    lower, upper = column.bounds
    nearest = min(abs(lower), abs(upper)) if lower * upper > 0 else 0.0
    return log2(max(abs(lower), abs(upper)) / max(nearest, column.step)) >= _WIDE


@dataclass(frozen=True, eq=False)
class Octaves:
    """Parts of the range of a number, each as long as half, a quarter, … of an octave on either side of 0."""

    edges: Floats
    step: float
    per_octave: int

    @classmethod
    def of(cls, column: Column, worth: Fraction) -> Octaves:
        """`worth` is the number of records times ε."""
        parts = 1 << max(min(floor(log2(max(float(worth), 1.0) / _PER_OCTAVE)), _MOST_PARTS.bit_length() - 1), 0)
        lower, upper, step = column.bounds[0], column.bounds[1] + column.step, column.step
        most = max(abs(lower), abs(upper)) / step
        sizes = np.unique(np.rint(2.0 ** (np.arange(0, parts * (floor(log2(most)) + 1)) / parts)))
        edges = np.concatenate((-sizes[::-1], [0.0], sizes)) * step
        return cls(np.concatenate(([lower], edges[(edges > lower) & (edges < upper)], [upper])), step, parts)

    @property
    def parts(self) -> int:
        return self.edges.size - 1

    def place(self, values: Floats) -> Integers:
        """The part of each value, by that value alone."""
        return np.clip(np.searchsorted(self.edges, values, side="right") - 1, 0, self.parts - 1).astype(np.int64)

    def _seen(self, noisy: Floats, scale: float) -> tuple[int, int] | None:
        """The parts that records are in, on either side of 0; None where noise hides them."""
        zero = int(np.searchsorted(self.edges, 0.0)) if self.edges[0] < 0 < self.edges[-1] else 0
        sides = [
            (at + found[0], at + found[1])
            for at, side in ((0, noisy[:zero]), (zero, noisy[zero:]))
            if side.size and (found := _ends(side, scale, noisy.size)) is not None
        ]
        return (sides[0][0], sides[-1][1]) if sides else None

    def curve(self, noisy: Floats, scale: float, records: int, tail: Tail) -> tuple[Curve, int] | None:
        """The quantile function of so many records, as far as counts with noise of this scale tell it; and how many
        parts its records are in. None where noise hides them."""
        seen = self._seen(noisy, scale)
        if seen is None:
            return None
        first, last = seen
        beyond, short = self._unseen(noisy, last, scale), self._unseen(noisy[::-1], noisy.size - first, scale)[::-1]
        counts = noisy[first:last]
        counts = counts + (records - float(counts.sum() + beyond.sum() + short.sum())) / counts.size
        counts = np.concatenate((short, counts, beyond))
        edges = self.edges[first - short.size : last + beyond.size + 1]
        below = np.concatenate(([0.0], np.clip(rising(np.cumsum(counts))[:-1], 0.0, records), [records]))
        below = np.maximum.accumulate(below) / max(records, 1)
        shares = _told(below, scale, records, short.size, beyond.size)
        values = np.interp(shares, *self._between(edges, below))
        return Curve(shares, values, self.edges[0], self.edges[-1], tail=tail, careful=True), counts.size

    def _unseen(self, noisy: Floats, high: int, scale: float) -> Floats:
        """Records beyond the last part in which they are seen: fewer from part to part, as before, and no more than
        noise may hide."""
        last, before = (max(float(noisy[max(high - back, 0) : high - back + 2].sum()) / 2, 0.0) for back in (2, 4))
        fall = min(max((last / before) ** 0.5 if before else 0.0, _LEAST_FALL), _MOST_FALL ** (1 / self.per_octave))
        found, here = [], min(last, max(float(noisy[high - 1]), scale))
        for one in noisy[high:].tolist():
            here = min(fall * here, max(one, 0.0) + _DOUBT * scale)
            if here < _FEWEST:
                break
            found.append(here)
        return np.array(found)

    def _between(self, edges: Floats, below: Floats) -> tuple[Floats, Floats]:
        """Shares of the records below many values, smooth between the edges as ratios are."""
        from scipy.interpolate import PchipInterpolator  # slow to load, and plans do without

        at = np.sign(edges) * np.log1p(np.abs(edges) / self.step)
        fine = np.interp(np.arange((at.size - 1) * _FINE + 1) / _FINE, np.arange(at.size), at)
        rising = np.maximum.accumulate(np.clip(PchipInterpolator(at, below)(fine), 0.0, 1.0))
        return rising, np.sign(fine) * np.expm1(np.abs(fine)) * self.step


def _ends(noisy: Floats, scale: float, parts: int) -> tuple[int, int] | None:
    """The first part that records are in, and the first after them: from where they stand out most, as far as they go
    on. Real amounts leave no octaves empty between them, and noise that stands alone far out is not followed."""
    best, low, high = log(parts / _CHANCE), 0, 0
    for width in _WINDOWS:
        # A sum of several Laplace numbers has their exponential tail, and the root of their number in its bulk.
        usual = 2.0 * sqrt(width) if width > 1 else -log(2)
        sums = np.convolve(noisy, np.ones(width), "valid") if width <= noisy.size else np.zeros(1)
        if sums.max() / scale - usual > best:
            best, low = float(sums.max()) / scale - usual, int(sums.argmax())
            low, high = _inner(noisy, low, low + width)
    if not high:
        return None
    while high < noisy.size and noisy[high : high + 2].sum() > _NEXT * scale:
        high += 1
    while low > 0 and noisy[max(low - 2, 0) : low].sum() > _NEXT * scale:
        low -= 1
    return low, high


def _inner(noisy: Floats, low: int, high: int) -> tuple[int, int]:
    """What of a window makes it stand out."""
    there = np.flatnonzero(noisy[low:high] >= _MUCH * noisy[low:high].max())
    return low + int(there[0]), low + int(there[-1]) + 1


def _told(below: Floats, scale: float, records: int, short: int, over: int) -> Floats:
    """Shares whose quantiles are told: quarters always, more where more records lie further out than noise hides."""
    parts = below.size - 1
    middle = halves(min(max(parts.bit_length(), 3), 7))
    ends = [Fraction(1, 1 << k) for k in range(3, 11)]
    chosen = []
    for share in sorted({*middle, *ends, *(1 - one for one in ends)}):
        at = float(np.interp(float(share), below, np.arange(parts + 1))) if records else 0.0
        beyond = at - short if share < Fraction(1, 2) else parts - over - at
        outside = float(min(share, 1 - share)) * records
        if min(share, 1 - share) >= Fraction(1, 4) or outside > _FIRM * scale * sqrt(2 * max(beyond, 1.0)):
            chosen.append(float(share))
    return np.array(chosen)
