"""Where a sum is clamped when no tight bounds are public: read from noisy counts of octaves. Post-processing only.

A sum's noise is as large as the clamp, so declared bounds that are wide "to be safe" ruin it, and a clamp that is too
low cuts off what matters most. The clamp is therefore put just above the octaves in which there visibly are records,
and further up the flatter the counts fall off. What may still lie above is estimated from how many records there are
above each octave, and goes into the margin: what is expected there, and what a few records may have by chance. Where
these do not surely fall by more than half from one octave to the next, amounts may not fall at all: the tail is open,
nothing public bounds what lies above, and no margin is honest.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, log, sqrt

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

_SURE = 1e-4  # chance that noise alone makes an octave visible
_NEXT = 3.0  # an octave beside a visible one needs so many scales of noise: a mistake costs one octave
_CUT = 2.0  # records, in scales of the sum's noise, that may be cut: an octave more would cost twice the noise
_DOUBT = 0.7  # records, in scales of noise, that an octave without visible ones may still hold
_LEAST_FALL, _MOST_FALL = 0.05, 0.6  # how counts fall from one octave to the next
_HIGHEST = 5  # octaves above the last visible one
_EXACT = 0.05  # noise so small leaves whole numbers as they are
_FLATTER = 1.15  # how tails flatten on from where many records are left
_PLACES = ((6.0, _FLATTER), (3.0, 1.0))  # where a fall is read: records above, in deviations of noise; flatter by
_PERHAPS = 0.5  # deviations of noise that are added to what is left there
_MANY, _SURELY = 9.0, 1.28  # the same of the place where a fall shows how it bends
_OF_CHANCE = 0.5  # deviations of how many records there are that count as noise there
_FLATTEST, _BENDS = 1.3, (0.7, 1.2)  # how tails flatten on that fell evenly, and bends of falls that this is turned by
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
    """2^exponent, and how many times that much all records together have above it: `unseen` is a little more than is
    expected, `chance` what few records may have besides. `squares` is how many times its square their squares are more,
    and `chance_squares` may be. Where the tail is `open` there may be more than that, and where `open_squares` more
    squares."""

    exponent: int
    unseen: float
    squares: float = 0.0
    open: bool = False
    open_squares: bool = False
    chance: float = 0.0
    chance_squares: float = 0.0

    @property
    def most(self) -> float:
        return self.unseen + self.chance


def clamp_from(noisy: Floats, lowest: int, scale: float, sum_scale: float) -> Clamp | None:
    """The clamp, from noisy counts of the octaves 2^lowest, 2^(lowest+1), …; None where no record is visible.

    `scale` is that of the counts' noise as a Laplace number's, `sum_scale` that of the sum's in units of the clamp.

    >>> counts = np.array([0.0, 900, 800, 300, 2, -5, 3, 0, 1, 0])
    >>> clamp_from(counts, 0, 4.0, 1.3)
    Clamp(exponent=5, unseen=..., squares=..., open=False, open_squares=False, chance=..., chance_squares=...)
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
    fall = min(max(fall, _fall(noisy, last, scale, _PERHAPS) / _FLATTER), _MOST_FALL)
    above, top = here, last + 1
    while True:
        seen = max(float(noisy[top]), 0.0) if top < size else 0.0
        expected = min(fall * above, seen + _DOUBT * scale)
        fall, above = min(fall, expected / above), expected
        if above + sqrt(above) <= _CUT * sum_scale or top >= last + _HIGHEST or top >= size:
            break
        top += 1
    # An allowance takes the fall as flat as noise usually leaves it, where there surely can be one.
    (unseen, squares), chance = _beyond(above, min(_fall(noisy, last, scale, 1.0), _OPEN), size - top)
    tail = _flattest(noisy, last, scale)
    return Clamp(lowest + top, unseen, squares, tail > _OPEN and size - top > _NEAR, tail > _OPEN_SQUARES, *chance)


def lowered(noisy: Floats, lowest: int, clamp: Clamp, ranks: float) -> Clamp:
    """A lower clamp for weights that only say whose ranks are where. A draw strays by `ranks` times the clamp; what is
    cut off weights moves a rank by no more than that. The clamp that makes the sum of both least is taken.

    >>> lowered(np.array([0.0, 0, 0, 900, 90, 2, 0]), 0, Clamp(7, 0.0), 30.0)
    Clamp(exponent=5, unseen=0.87...)
    """
    best, least = clamp, (ranks + clamp.most) * 2.0**clamp.exponent
    cut, number = clamp.most * 2.0**clamp.exponent, 0.0
    for exponent in range(clamp.exponent - 1, lowest, -1):
        # Whoever was cut is cut by an octave more; the octave above the new clamp is cut for the first time.
        cut += number * 2.0**exponent
        at = exponent - lowest
        here = max(float(noisy[at]), 0.0) if at < len(noisy) else 0.0
        cut, number = cut + here * (WITHIN - 1) * 2.0**exponent, number + here
        if ranks * 2.0**exponent + cut < least:
            best, least = Clamp(exponent, cut / 2.0**exponent), ranks * 2.0**exponent + cut
    return best


def unseen_below(octaves: int, scale: float) -> int:
    """How many records that lie in one octave far above all others are not told from noise half of the time.

    >>> unseen_below(27, 4.0)
    48
    """
    return ceil(_seen(octaves, max(scale, _EXACT)))


def _seen(octaves: int, scale: float) -> float:
    return scale * (log(octaves / _SURE) - log(2))


def _visible(noisy: Floats, scale: float) -> int | None:
    """The highest octave that surely has records, or the fullest of several that have some together."""
    found = []
    for width in (1, 2, 4, 8):
        if width > len(noisy):
            break
        # A sum of `width` Laplace numbers: exponential tail, root of width in its bulk.
        least = _seen(len(noisy), scale) if width == 1 else scale * (log(len(noisy) / _SURE) + 1.6 * sqrt(width))
        for at in np.flatnonzero(np.convolve(noisy, np.ones(width), "valid") > least).tolist():
            inside = noisy[at : at + width]
            found.append(at + int(np.flatnonzero(inside >= 0.7 * inside.max())[-1]))
    return max(found, default=None)


def _fall(noisy: Floats, last: int, scale: float, doubt: float) -> float:
    """How the number of records above an octave may fall from one to the next: the flattest of what is read where many
    are left, with room for tails that flatten, and where just enough are. Where there are few, it is read where noise
    matters least. `doubt` deviations of noise are added to what is left."""
    above, deviation = _above(noisy, last, scale)
    places = (_place(above, deviation, last, sure) for sure, _ in _PLACES)
    return max(flatter * _left(above, deviation, at, doubt) for at, (_, flatter) in zip(places, _PLACES, strict=True))


def _flattest(noisy: Floats, last: int, scale: float) -> float:
    """The same for whether amounts fall at all, on the safe side: tails whose falls grew steeper before go on to, those
    that fell evenly may flatten, and those that flattened flatten on. How many records there are is chance, too."""
    above, deviation = _above(noisy, last, scale)
    deviation = np.hypot(deviation, _OF_CHANCE * np.sqrt(np.maximum(above, 0.0)))
    many, enough = (_place(above, deviation, last, sure) for sure in (_MANY, _PLACES[-1][0]))
    # Noise bends what is left of few: a tail flattens where it did an octave before, too.
    bend = min((_bend(above, at) for at in (many - 1, many) if at > 0), default=1.0)
    flatter = _FLATTEST * min(max(bend, _BENDS[0]), _BENDS[1])
    return max(flatter * _left(above, deviation, many, _SURELY), _left(above, deviation, enough, _PERHAPS))


def _bend(above: Floats, at: int) -> float:
    """How many times as flat the number of records above an octave falls there as one octave before."""
    before, here, after = np.maximum(above[at - 1 : at + 2], 1e-9).tolist()
    return float(after * before / here**2)


def _above(noisy: Floats, last: int, scale: float) -> tuple[Floats, Floats]:
    """Records above each octave, and the deviation of their noise."""
    end = min(last + 1 + _AHEAD, len(noisy))
    return np.append(np.cumsum(noisy[:end][::-1])[::-1], 0.0), scale * np.sqrt(2.0 * np.arange(end, -1, -1))


def _place(above: Floats, deviation: Floats, last: int, sure: float) -> int:
    """The highest octave above which so many deviations of records are left, or where noise matters least."""
    clear = above[: last + 1] / deviation[: last + 1]
    enough = np.flatnonzero(clear >= sure)
    return int(enough[-1] if enough.size else np.argmax(clear))


def _left(above: Floats, deviation: Floats, at: int, doubt: float) -> float:
    """The share of the records above an octave that may be left above the next."""
    left = max(float(above[at + 1]), 0.0) + doubt * float(deviation[at + 1])
    return left / max(float(above[at]), left)


def _beyond(above: float, fall: float, octaves: int) -> tuple[tuple[float, float], tuple[float, float]]:
    """What lies above the clamp, in clamps, and its squares: more than there is if counts fall as they fell. And what
    the few records there may have besides by chance, whose number is as uncertain as a Poisson one."""
    expected, chance = np.zeros(2), np.zeros(2)
    for step in range(octaves):
        if above < _FEWEST:
            break
        each = np.array([WITHIN * 2.0**step - 1, _SQUARED * 4.0**step - 1])
        expected, chance, above = expected + above * each, chance + above * each**2, above * fall
    (unseen, squares), (stray, more) = (_LIKELY * expected).tolist(), (_CHANCE * np.sqrt(chance)).tolist()
    return (unseen, squares), (stray, more)
