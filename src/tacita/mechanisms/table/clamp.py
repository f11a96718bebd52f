"""Where a sum is clamped when no tight bounds are public: read from noisy counts of octaves. Post-processing only.

A sum's noise is as large as the clamp, so declared bounds that are wide "to be safe" ruin it, and a clamp that is too
low cuts off what matters most. The clamp is therefore put just above the octaves in which there visibly are records,
and further up the flatter the counts fall off. What may still lie above is estimated from how many records there are
above each octave, and goes into the margin: what is expected there, and what a few records may have by chance. Where
these may halve, or fall less, from one octave to the next, amounts do not fall at all: the tail is open, nothing public
bounds what lies above, and no margin is honest.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import log, sqrt

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

_SURE = 1e-4  # chance that noise alone makes an octave visible
_NEXT = 3.0  # an octave beside a visible one needs so many scales of noise: a mistake costs one octave
_DOUBT = 0.7  # records, in scales of noise, that an octave without visible ones may still hold
_LEAST_FALL, _MOST_FALL = 0.05, 0.6  # how counts fall from one octave to the next
_HIGHEST = 5  # octaves above the last visible one
_EXACT = 0.05  # noise so small leaves whole numbers as they are
_FLATTER = 1.15  # how tails flatten on from where many records are left
_PLACES = ((6.0, _FLATTER), (3.0, 1.0))  # where a fall is read: records above, in deviations of noise; flatter by
_AHEAD = 4  # octaves above the last visible one whose noisy counts are still added up
_NEAR = 3  # octaves from the clamp up to the declared bound within which that bound says enough
_LIKELY = 1.25  # how much more than expected may lie above the clamp
_CHANCE = 2.0  # and how many deviations of what a few records have there by chance
_FEWEST = 0.02  # records above an octave that are too few to speak of
_OPEN, _OPEN_SQUARES = 0.5, 0.25  # how records above an octave fall where amounts, and squares, no longer do
WITHIN = 1.44  # mean of an octave whose logarithms are even, over its lower end
_SQUARED = 2.16  # the same of squares


@dataclass(frozen=True)
class Clamp:
    """2^exponent, and how many times that much all records together may have above it: more than is expected.
    `squares` is how many times its square their squares may be more. Where the tail is `open` there may be more than
    that, and where `open_squares` more squares."""

    exponent: int
    unseen: float
    squares: float = 0.0
    open: bool = False
    open_squares: bool = False


def clamp_from(noisy: Floats, lowest: int, scale: float, sum_scale: float) -> Clamp | None:
    """The clamp, from noisy counts of the octaves 2^lowest, 2^(lowest+1), …; None where no record is visible.

    `scale` is that of the counts' noise as a Laplace number's, `sum_scale` that of the sum's in units of the clamp.

    >>> counts = np.array([0.0, 900, 800, 300, 2, -5, 3, 0, 1, 0])
    >>> clamp_from(counts, 0, 4.0, 1.3)
    Clamp(exponent=5, unseen=..., squares=..., open=False, open_squares=False)
    """
    scale, sum_scale = (max(one, _EXACT) for one in (scale, sum_scale))
    last = _visible(noisy, scale)
    if last is None:
        return None
    size = len(noisy)
    while last + 1 < size and noisy[last + 1] > _NEXT * scale:
        last += 1
    one, two = (max(float(noisy[max(last - back, 0)]), 0.0) for back in (1, 2))
    here = max(float(noisy[last]), scale)
    fall = min(max((here + one) / max(one + two, 1e-9), _LEAST_FALL), _MOST_FALL)
    tail = _fall(noisy, last, scale)
    fall = min(max(fall, tail / _FLATTER), _MOST_FALL)
    above, top = here, last + 1
    while True:
        seen = max(float(noisy[top]), 0.0) if top < size else 0.0
        expected = min(fall * above, seen + _DOUBT * scale)
        fall, above = min(fall, expected / above), expected
        if top >= min(last + 2, size) and (above <= sum_scale or top >= last + _HIGHEST or top >= size):
            break
        top += 1
    # An allowance takes the fall as flat as noise leaves it; whether there can be one is read with half of that doubt.
    unseen = _beyond(above, min(_fall(noisy, last, scale, doubt=1.0), _OPEN), size - top)
    return Clamp(lowest + top, *unseen, tail > _OPEN and size - top > _NEAR, tail > _OPEN_SQUARES)


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
        cut, number = cut + here * (WITHIN - 1) * 2.0**exponent, number + here
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


def _fall(noisy: Floats, last: int, scale: float, doubt: float = 0.5) -> float:
    """How the number of records above an octave may fall from one to the next: the flattest of what is read where many
    are left, with room for tails that flatten, and where just enough are. Where there are few, it is read where noise
    matters least. `doubt` deviations of noise are added to what is left."""
    end = min(last + 1 + _AHEAD, len(noisy))
    above = np.append(np.cumsum(noisy[:end][::-1])[::-1], 0.0)
    deviation = scale * np.sqrt(2.0 * np.arange(end, -1, -1))
    clear = above[: last + 1] / deviation[: last + 1]
    flattest = 0.0
    for sure, flatter in _PLACES:
        enough = np.flatnonzero(clear >= sure)
        at = int(enough[-1]) if enough.size else int(np.argmax(clear))
        left = max(float(above[at + 1]), 0.0) + doubt * float(deviation[at + 1])
        flattest = max(flattest, flatter * left / max(float(above[at]), left))
    return flattest


def _beyond(above: float, fall: float, octaves: int) -> tuple[float, float]:
    """What may lie above the clamp, in clamps, and its squares: more than there is if counts fall as they fell, and
    what the few records there may have by chance, whose number is as uncertain as a Poisson one."""
    expected, chance = np.zeros(2), np.zeros(2)
    for step in range(octaves):
        if above < _FEWEST:
            break
        each = np.array([WITHIN * 2.0**step - 1, _SQUARED * 4.0**step - 1])
        expected, chance, above = expected + above * each, chance + above * each**2, above * fall
    unseen, squares = (_LIKELY * expected + _CHANCE * np.sqrt(chance)).tolist()
    return unseen, squares
