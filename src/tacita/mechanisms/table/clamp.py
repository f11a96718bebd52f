"""Where a sum is clamped when no tight bounds are public: read from noisy counts of octaves. Post-processing only.

A sum's noise is as large as the clamp, so declared bounds that are wide "to be safe" ruin it, and a clamp that is too
low cuts off what matters most. How slowly the counts may fall above the last octave in which there visibly are records
follows from how they fell up to there, and from the noisy counts above. From that follows what a clamp may cut off; the
clamp that makes noise and that together least is taken, and what it may cut off goes into the margin.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import hypot, log, sqrt

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

_SURE = 1e-4  # chance that noise alone makes an octave visible
_NEXT = 3.0  # an octave beside a visible one needs so many scales of noise: a mistake costs one octave
_FALLS = np.geomspace(0.02, 0.6, 40)  # how counts may fall from one octave to the next; sums grow upwards from 0.5 on
_FLATTENS = 0.5  # deviation, in logarithms, of the fall above the visible octaves from that below
_STEEPENS = 2.0  # a fall half as high is, by itself, 2 to this power times less likely
_SLOWER = 0.05  # chance that counts fall more slowly than is allowed for
_MARGIN = 3.0  # scales of noise in the margin of a sum
_EXACT = 0.05  # noise so small leaves whole numbers as they are
_WITHIN = 1.44  # mean of an octave whose logarithms are even, over its lower end
_SQUARED = 2.16  # the same of squares


@dataclass(frozen=True)
class Clamp:
    """2^exponent, and how many times that much all records together may have above it; `squares` is how many times its
    square their squares may be more."""

    exponent: int
    unseen: float
    squares: float = 0.0


def clamp_from(noisy: Floats, lowest: int, scale: float, sum_scale: float) -> Clamp | None:
    """The clamp, from noisy counts of the octaves 2^lowest, 2^(lowest+1), …; None where no record is visible.

    `scale` is that of the counts' noise as a Laplace number's, `sum_scale` that of the sum's in units of the clamp.

    >>> counts = np.array([0.0, 900, 800, 300, 2, -5, 3, 0, 1, 0])
    >>> clamp_from(counts, 0, 4.0, 1.3)
    Clamp(exponent=5, unseen=1.51..., squares=5.16...)
    """
    scale, sum_scale = (max(one, _EXACT) for one in (scale, sum_scale))
    last = _visible(noisy, scale)
    if last is None:
        return None
    size = len(noisy)
    while last + 1 < size and noisy[last + 1] > _NEXT * scale:
        last += 1
    above: Floats = max(float(noisy[last]), scale) * _slowest_fall(noisy, last, scale) ** np.arange(1.0, size - last)
    clamps = (Clamp(lowest + top, *_beyond(above[top - last - 1 :])) for top in range(last + 1, size + 1))
    return min(clamps, key=lambda clamp: hypot(_MARGIN * sum_scale, clamp.unseen) * 2.0**clamp.exponent)


def _slowest_fall(noisy: Floats, last: int, scale: float) -> float:
    """How slowly counts may fall from one octave to the next above the last visible one.

    The fall below is taken to go on, a slower one with the chances of a log-normal law that is wider where few records
    show it, a faster one with those of a power: weights and capped numbers end at once. That is held against the noisy
    counts above, as if they fell at one rate: a Pareto tail.
    """
    here, one, two = (max(float(noisy[max(last - back, 0)]), scale) for back in (0, 1, 2))
    below = min(max(sqrt(here / one * (here + one) / (one + two)), _FALLS[0]), 1.0)
    doubt = min(1.0, (2 * scale**2 + here) / here**2 + (2 * scale**2 + one) / one**2)
    above = noisy[last + 1 :]
    expected = here * _FALLS[:, None] ** np.arange(1, above.size + 1)
    spread = np.sqrt(scale**2 + expected / 2)  # of noise and chance, as a Laplace number's
    likely = -(np.abs(above - expected) / spread + np.log(spread)).sum(axis=1)
    slower = np.log(_FALLS / below)
    likely -= np.where(slower > 0, slower**2 / (2 * (_FLATTENS**2 + doubt)), -_STEEPENS * slower)
    chance = np.cumsum(np.exp(likely - likely.max()))
    return float(_FALLS[np.searchsorted(chance, (1 - _SLOWER) * chance[-1])])


def lowered(noisy: Floats, lowest: int, clamp: Clamp, ranks: float) -> Clamp:
    """A lower clamp for weights that only say whose ranks are where. A draw strays by `ranks` times the clamp; what is
    cut off weights moves a rank by no more than that. The clamp that makes the sum of both least is taken.

    >>> lowered(np.array([0.0, 0, 0, 900, 90, 2, 0]), 0, Clamp(7, 0.0), 30.0)
    Clamp(exponent=5, unseen=0.87...)
    """
    best, least = clamp, (ranks + clamp.unseen) * 2.0**clamp.exponent
    cut, number = clamp.unseen * 2.0**clamp.exponent, 0.0
    for exponent in range(clamp.exponent - 1, lowest, -1):
        # Whoever was cut is cut by an octave more; the octave above the new clamp is cut for the first time.
        cut += number * 2.0**exponent
        at = exponent - lowest
        here = max(float(noisy[at]), 0.0) if at < len(noisy) else 0.0
        cut, number = cut + here * (_WITHIN - 1) * 2.0**exponent, number + here
        if ranks * 2.0**exponent + cut < least:
            best, least = Clamp(exponent, cut / 2.0**exponent), ranks * 2.0**exponent + cut
    return best


def _visible(noisy: Floats, scale: float) -> int | None:
    """The highest octave that surely has records, or the fullest of several that have some together."""
    found = []
    for width in (1, 2, 4, 8):
        if width > len(noisy):
            break
        # A sum of `width` Laplace numbers: exponential tail, root of width in its bulk.
        least = scale * (log(len(noisy) / _SURE) + (1.6 * sqrt(width) if width > 1 else -log(2)))
        for at in np.flatnonzero(np.convolve(noisy, np.ones(width), "valid") > least).tolist():
            inside = noisy[at : at + width]
            found.append(at + int(np.flatnonzero(inside >= 0.7 * inside.max())[-1]))
    return max(found, default=None)


def _beyond(counts: Floats) -> tuple[float, float]:
    """What records may have above a clamp, and their squares, from counts of the octaves above: in clamps."""
    steps = 2.0 ** np.arange(counts.size)
    return float((counts * (_WITHIN * steps - 1)).sum()), float((counts * (_SQUARED * steps**2 - 1)).sum())
