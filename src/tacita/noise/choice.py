"""Exact draws from a finite law P(i) ∝ w_i·exp(−rate·k_i), w and k whole, rate rational. Proof: choice.md.

Double precision with a bound on all its errors settles nearly every draw from one 64-bit word. Where the word falls too
near a border to tell, the same cumulative weights are enclosed by balls, with more bits until the balls let go.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
from flint import arb, ctx, fmpq
from numpy.typing import NDArray

from tacita.errors import UsageError
from tacita.noise.entropy import Spare, Uniform
from tacita.noise.forcing import settles

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]

# Relative error of one weight: exp of an argument of at most 745 whose own rounding is 2^-52 of it, and a product.
_WEIGHT_ERROR = 2.0**-41
_WIDEST = 1 << 62
_FORGOTTEN = 745.0  # exp(−745) is the last double above zero; what is below is bounded by it


@settles("scores")
def choose(widths: Integers, scores: Integers, rate: Fraction, spare: Spare, *, shift: Integers | None = None) -> int:
    """The index i with probability exactly proportional to widths[i]·2^shift[i]·exp(−rate·scores[i]).

    >>> from tacita.noise.entropy import SeededEntropy, reserve
    >>> choose(np.array([5, 0, 1]), np.array([0, -9, 10**6]), Fraction(1, 2), reserve(64, SeededEntropy(1)))
    0
    """
    widths, scores = np.asarray(widths, dtype=np.int64), np.asarray(scores, dtype=np.int64)
    if rate < 0 or widths.size == 0 or bool((widths < 0).any()) or not bool((widths > 0).any()):
        raise UsageError("a draw needs at least one choice of weight above 0, and a rate of 0 or more")
    open_ones = scores[widths > 0]
    if int(open_ones.max()) - int(open_ones.min()) >= _WIDEST:
        raise UsageError("scores: lie 2^62 or more apart, where 64-bit differences wrap around; no score is that large")
    shifts = np.zeros(widths.size, dtype=np.int64) if shift is None else np.asarray(shift, dtype=np.int64)
    reached, lost = _reached(widths, scores, rate, shifts)

    uniform = Uniform(spare.take(), spare)
    here = uniform.leading * 2.0**-64 * float(reached[-1])
    low, high = np.searchsorted(reached, [here - 2 * lost, here + 2 * lost], side="right")
    if low == high < widths.size and widths[low]:
        return int(low)
    return _certain(widths, shifts, scores, rate, uniform)


def _reached(widths: Integers, scores: Integers, rate: Fraction, shifts: Integers) -> tuple[Floats, float]:
    """Cumulative weights in double precision, and how far each may be from its exact share of the last one."""
    logs = shifts * np.log(2.0) - float(rate) * (scores - scores[widths > 0].min())
    # A choice of width 0 may have the best score of all, and its weight would be infinitely many times nothing.
    logs = np.where(widths > 0, logs - logs[widths > 0].max(), -_FORGOTTEN)
    reached: Floats = np.cumsum(widths * np.exp(np.maximum(logs, -_FORGOTTEN)), dtype=np.float64)
    lost = float(reached[-1]) * (_WEIGHT_ERROR * (1 + float(shifts.max(initial=0))) + 2.0**-52 * widths.size)
    return reached, lost + float(widths.sum(dtype=np.float64) * np.exp(-_FORGOTTEN))


def _certain(widths: Integers, shifts: Integers, scores: Integers, rate: Fraction, uniform: Uniform) -> int:
    """The same draw by ball arithmetic."""
    kept = np.flatnonzero(widths)
    floor = int(scores[kept].min())
    known: dict[int, list[Any]] = {}

    def shares(precision: int) -> list[Any]:
        """Enclosures of P(index <= kept[j])."""
        if precision not in known:
            with ctx.workprec(precision + 64):
                step = -arb(fmpq(rate.numerator, rate.denominator))
                reached, sums = arb(0), []
                for i in kept.tolist():
                    reached += (step * (int(scores[i]) - floor)).exp() * (int(widths[i]) << int(shifts[i]))
                    sums.append(reached)
                known.clear()
                known[precision] = [one / reached for one in sums]
        return known[precision]

    first, last = 0, kept.size - 1
    while first < last:
        middle = (first + last) // 2
        if uniform.at_least(lambda precision, at=middle: shares(precision)[at]):  # type: ignore[misc]
            first = middle + 1
        else:
            last = middle
    return int(kept[first])


def accepts(exponent: Fraction, spare: Spare) -> bool:
    """True with probability exactly exp(−exponent).

    >>> from tacita.noise.entropy import SeededEntropy, reserve
    >>> accepts(Fraction(0), reserve(64, SeededEntropy(1)))
    True
    """
    if exponent < 0:
        raise UsageError("exponent: must be 0 or more")
    if exponent == 0:
        return True
    uniform = Uniform(spare.take(), spare)
    return not uniform.at_least(lambda precision: exp_ball(-exponent, precision))


def exp_ball(exponent: Fraction, precision: int) -> Any:
    """A ball that contains exp(exponent)."""
    with ctx.workprec(precision):
        return arb(fmpq(exponent.numerator, exponent.denominator)).exp()


def uniform_bits(bits: int, spare: Spare) -> int:
    """A whole number below 2^bits, each equally likely."""
    if not 0 <= bits <= 64:
        raise UsageError("bits: must lie between 0 and 64")
    return spare.take() >> (64 - bits)


def uniform_below(end: int, spare: Spare) -> int:
    """A whole number from 0 to end − 1, each equally likely: draw as many bits as needed, reject what is too large."""
    if not 0 < end <= 1 << 64:
        raise UsageError("end: must lie between 1 and 2^64")
    bits = (end - 1).bit_length()
    while True:
        number = uniform_bits(bits, spare)
        if number < end:
            return number
