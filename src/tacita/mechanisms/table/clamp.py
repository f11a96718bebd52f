"""Where a sum is clamped when no tight bounds are public: read from noisy counts of octaves. Post-processing only.

A sum's noise is as large as the clamp, so declared bounds that are wide "to be safe" ruin it, and a clamp that is too
low cuts off what matters most. The clamp is therefore put just above the octaves in which there visibly are records,
and further up the flatter the counts fall off. What may still lie above is estimated from how they fall, and goes into
the margin. Where counts may halve, or fall less, from one octave to the next, amounts do not fall at all: the tail is
open, and nothing public bounds what lies above.
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
_FLATTER = 0.3  # how counts may fall above the clamp, where tails of real files are often flatter than below
_HIGHEST = 5  # octaves above the last visible one
_EXACT = 0.05  # noise so small leaves whole numbers as they are
_STEADY = 1.4  # tails of real files are flatter above the clamp than below, by so much in how counts fall
_OPEN, _FLATTEST = 0.5, 0.6  # how counts fall where amounts no longer do, and the flattest fall that is looked for
_ROOM = 1.5  # records, in scales of noise, that an octave of an open tail may hold beyond what its noisy count says
WITHIN = 1.44  # mean of an octave whose logarithms are even, over its lower end
_SQUARED = 2.16  # the same of squares


@dataclass(frozen=True)
class Clamp:
    """2^exponent, and how many times that much all records together may have above it: twice what is expected.
    `squares` is how many times its square their squares may be more. `open` says that there may be more than either."""

    exponent: int
    unseen: float
    squares: float = 0.0
    open: bool = False


def clamp_from(noisy: Floats, lowest: int, scale: float, sum_scale: float) -> Clamp | None:
    """The clamp, from noisy counts of the octaves 2^lowest, 2^(lowest+1), …; None where no record is visible.

    `scale` is that of the counts' noise as a Laplace number's, `sum_scale` that of the sum's in units of the clamp.

    >>> counts = np.array([0.0, 900, 800, 300, 2, -5, 3, 0, 1, 0])
    >>> clamp_from(counts, 0, 4.0, 1.3)
    Clamp(exponent=5, unseen=..., squares=..., open=False)
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
    above, top = here, last + 1
    while True:
        seen = max(float(noisy[top]), 0.0) if top < size else 0.0
        expected = min(fall * above, seen + _DOUBT * scale)
        fall, above = min(fall, expected / above), expected
        if top >= min(last + 2, size) and (above <= sum_scale or top >= last + _HIGHEST or top >= size):
            break
        top += 1
    is_open = top < size and _may_fall(noisy, last, top, scale) > _OPEN
    return Clamp(lowest + top, *_beyond(above, _OPEN if is_open else max(fall, _FLATTER), size - top), is_open)


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


def _may_fall(noisy: Floats, last: int, top: int, scale: float) -> float:
    """How counts may fall above the clamp: as they may do on the way from the fullest of the last visible octaves, and
    a little flatter."""
    here, one, two, three = (max(float(noisy[max(last - back, 0)]), 0.0) for back in range(4))
    full, back = max((three, 3), (two, 2), (one, 1), (here, 0))
    fall, held = _flatter((here + one) / max(one + two, 1e-9)), max(here, scale)
    for at in range(last + 1, top + 1):
        held = min(fall * held, max(float(noisy[at]), 0.0) + _ROOM * scale)
    return _flatter((held / max(full, held)) ** (1 / (top - last + back)))


def _flatter(fall: float) -> float:
    return min(max(_STEADY * fall, _FLATTER), _FLATTEST)


def _beyond(above: float, fall: float, octaves: int) -> tuple[float, float]:
    """What may lie above the clamp, in clamps, and its squares: twice what there is if counts fall as they fell."""
    unseen, squares, step = 0.0, 0.0, 0
    while above > 0.1 and step < octaves:
        unseen += above * (WITHIN * 2.0**step - 1)
        squares += above * (_SQUARED * 4.0**step - 1)
        above, step = above * fall, step + 1
    return 2 * unseen, 2 * squares
