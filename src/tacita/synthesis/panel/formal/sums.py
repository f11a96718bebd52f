"""Whole numbers for sums of a yearly number, and the clamps of these sums, which follow from released counts.

`octaves`, `whole` and `grain` are functions of one unit's numbers; the rest sees released counts only.
"""

from __future__ import annotations

from fractions import Fraction
from math import ceil

import numpy as np
from scipy.optimize import isotonic_regression

from tacita.synthesis.panel.formal.hills import Hills
from tacita.synthesis.panel.formal.lattice import Bins, Floats, Integers
from tacita.synthesis.panel.formal.released import Noisy, size_cap
from tacita.synthesis.panel.formal.smoothing import balanced_cap

_FINEST = 1 << 20  # steps below a clamp: finer ones would not show beside the noise
_DOUBT, _DOUBT_YEARS = 2.0, 0.3  # of what lies above a clamp: of all years, and of one, whose noise is smoothed
_CLEAR = 6.0  # standard deviations of its noise by which a count stands out
_NEXT, _FURTHER = 1.8, 1.0  # scales of noise by which one above such a count does, and for each octave between them
_HIDDEN = 0.7  # units, in scales of noise, that an octave may hide
_LEAST_FALL, _FASTER = 0.6, 0.9  # counts of an octave over those below it: what lies above does not grow without end
_ZIPF = 0.5  # about so many businesses, or towns, are twice as large as the next octave of them
_NONE = 0.5  # fewer units than so many are none
_MANY = 400.0  # units, in scales of noise of a count, from which on counts tell how large ones fall off
_HEAVY = 0.5  # in the middle between a law of sizes whose logarithms are normal and the slowest that counts leave open
# How a unit's years differ from its mean, about: a number of one year is so many times the mean, so often.
_TIMES, _OFTEN = np.array([0.5, 1.0, 2.0, 4.0]), np.array([0.3, 0.45, 0.2, 0.05])
_WITHIN = 2.0 ** ((np.arange(8) + 0.5) / 8)  # numbers of an octave, over its lower end


def octave_count(most: int) -> int:
    """Octaves of whole numbers from 1 to `most`."""
    return most.bit_length()


def octaves(sums: Integers) -> Integers:
    """e where 2^e ≤ number < 2^(e+1); of numbers above 0."""
    return np.asarray(np.searchsorted(2 ** np.arange(62, dtype=np.int64), sums, side="right") - 1, dtype=np.int64)


def grain(clamp: int) -> int:
    """The step in which numbers up to a clamp are added up: a power of two.

    >>> grain(1000), grain(1 << 30)
    (1, 1024)
    """
    return int(2 ** max(0, (clamp - 1).bit_length() - (_FINEST - 1).bit_length()))


def whole(values: Integers, clamp: int) -> Integers:
    """Numbers from 0 on, clamped, in steps of the grain.

    >>> whole(np.array([0, 7, 2000]), 1000).tolist()
    [0, 7, 1000]
    """
    step = grain(clamp)
    return np.asarray((np.minimum(values, clamp) + step // 2) // step, dtype=np.int64)


def most_whole(clamp: int, moved: int | None = None) -> int:
    """The most by which `whole` changes where a clamped number changes by up to `moved`; by default, by anything."""
    step = grain(clamp)
    return (clamp + step // 2) // step if moved is None else ceil(moved / step)


def sum_clamp(counts: Noisy, units: int, rate: Fraction, most: int) -> int:
    """A clamp for the sum of all years of a unit. `rate` is the scale of the sum's noise over its clamp."""
    return size_cap(unit_counts(counts, units), _bins(counts, most), rate, doubt=_DOUBT)


def above_clamp(counts: Noisy, units: int, clamp: int, most: int, heavy: float | None = None) -> float:
    """What is expected to lie above it in all; more, if large units are many (`unit_counts`)."""
    bins = _bins(counts, most)
    return float(unit_counts(counts, units, heavy) @ (bins.capped_means(most) - bins.capped_means(clamp)))


def tails_apart(counts: Noisy, units: int, clamp: int, most: int) -> float:
    """By how much that differs between laws of sizes that fall off fast and slowly: noise hides which it is. The slow
    one is that of Zipf, as far as counts leave it open, whatever one of them says."""
    bins = _bins(counts, most)
    above = bins.capped_means(most) - bins.capped_means(clamp)
    fast, slow = unit_counts(counts, units, 0.0), unit_counts(counts, units, 1.0, _ZIPF)
    return max(float((slow - fast) @ above), 0.0) * untold(counts, units)


def unseen_above(counts: Noisy, units: int, clamp: int) -> float:
    """About how far what lies above a clamp may be off: each of the two octaves above it has as many units that counts
    do not tell as noise hides in one count, but no more than follow from the octave below the clamp."""
    at = min(max((clamp + 1).bit_length() - 2, 0), len(counts.values) - 1)
    below, scale = float(unit_counts(counts, units)[at]), float(counts.scale)
    few = float(np.hypot(1.5 * min(scale, below), 3 * min(scale, _LEAST_FALL * below)))
    return clamp * few * untold(counts, units) ** 0.5


def year_clamp(counts: Noisy, units: int, life: float, years: int, rate: float, most: int) -> int:
    """A clamp for the sums of single years, of units that are there for `life` of them on average."""
    caps = np.unique(np.minimum(np.rint(2.0 ** np.arange(0, most.bit_length(), 0.5)).astype(np.int64), most))
    covered = _below(counts, units, life, caps) * life / years
    return balanced_cap(caps, covered, caps * rate * 2**0.5, _DOUBT_YEARS)


def share_below(counts: Noisy, units: int, life: float, clamp: int, most: int) -> float:
    """About which part of all years' numbers lies below a clamp of single years."""
    part, whole_ = _below(counts, units, life, np.array([clamp, most])).tolist()
    return float(part / max(whole_, 1e-300))


def _below(counts: Noisy, units: int, life: float, caps: Integers) -> Floats:
    each, often = yearly_law(counts, units, life)
    return np.array([often @ np.minimum(each, cap) for cap in caps.tolist()])


def yearly_law(counts: Noisy, units: int, life: float) -> tuple[Floats, Floats]:
    """Numbers of single years, and how many units have each, about."""
    each = np.multiply.outer(2.0 ** np.arange(len(counts.values)) / life, np.multiply.outer(_WITHIN, _TIMES))
    often = np.multiply.outer(unit_counts(counts, units), np.multiply.outer(np.full(8, 1 / 8), _OFTEN))
    return each.ravel(), often.ravel()


def _bins(counts: Noisy, most: int) -> Bins:
    return Bins(2 ** np.arange(len(counts.values), dtype=np.int64), most)


def untold(counts: Noisy, units: int) -> float:
    """Whether noise hides how large units fall off, from 0 to 1: hardly, where units are very many beside it."""
    return float(min(1.0, (_MANY * float(counts.scale) / max(units, 1)) ** 4))


def unit_counts(counts: Noisy, units: int, heavy: float | None = None, least: float = 0.0) -> Floats:
    """Units in each octave: as counted where that stands out, else as a hill through all counts has them. Above the
    last count that stands out they fall off ever faster, for a unit that noise makes up there would outweigh all: as
    the hill does, or as slowly as counts leave open, and in between the nearer to this the more `heavy` is; by no more
    than to the share `least` in an octave where counts leave that open."""
    heavy = _HEAVY * untold(counts, units) if heavy is None else heavy
    own, scale = np.asarray(counts.values, dtype=np.float64), float(counts.scale)
    hills = Hills.of(own, counts.spread, units)
    clear, law = own > _CLEAR * counts.spread, hills.counts(None)
    top = int(np.flatnonzero(clear)[-1]) if clear.any() else min(int(hills.likeliest[0]), len(own) - 1)
    for at in range(top + 1, len(own)):
        # Large units are few, and sizes of businesses have no gap for long: the nearer, the less a mistake costs.
        if own[at] > scale * (_NEXT + _FURTHER * (at - top)):
            top, clear[at] = at, True
    law[clear] = own[clear]
    less = float(np.exp(-1 / scale))
    beyond = np.arange(len(own)) > top
    # Large units are the fewer the larger: a count below those above it is one with them.
    told = np.where(beyond, 0.0, own)
    told[beyond] = isotonic_regression(own[beyond], increasing=False).x if beyond.any() else 0.0
    open_ = np.maximum(told, 0.0) + min(_HIDDEN * scale, less / (1 - less))  # of whole numbers, little noise hides none
    slowly = np.where(beyond, open_, law)
    return (1 - heavy) * _falling(np.minimum(law, slowly), top, 0.0) + heavy * _falling(slowly, top, least)


def _falling(law: Floats, top: int, least: float) -> Floats:
    """At most so many in each octave above one, as those below it let it fall off."""
    held, fall = law.copy(), _LEAST_FALL
    for at in range(top + 1, len(law)):
        held[at] = min(held[at], fall * held[at - 1])
        fall = max(_FASTER * min(fall, held[at] / max(held[at - 1], 1e-300)), least)
    held[(np.cumsum(held[::-1])[::-1] < _NONE) & (np.arange(len(held)) > top)] = 0.0  # laws have no end, units do
    return held
