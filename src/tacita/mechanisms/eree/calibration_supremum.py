"""What a scale really guarantees: certified suprema of the privacy loss, in ball arithmetic.

A cell with count q and smooth sensitivity S is released as q + k·S·Z. Every function here takes exact
rationals and returns an Arb ball that *contains* the worst privacy loss (or the worst δ) over all pairs of
neighbouring files, all outputs and both directions. `calibration.md`, beside this file, proves that the
supremum over the three-dimensional set (output, shift, dilation) is reached at one of a few points given by
closed forms or by the root of a monotone function; what is left to the machine is to evaluate them without
rounding error.

Names used throughout: c = 1/k is the largest shift in units of the noise scale, R = 1 + α the largest
dilation, g = −ln h the negative log density.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

from flint import arb, ctx, fmpq

Ball = Any  # flint.arb: python-flint ships no types
PRECISION = 192  # bits; far beyond what nine significant digits of a scale need, and still microseconds


def ball(value: Fraction) -> Ball:
    """The tightest ball around a rational at the current precision."""
    return arb(fmpq(value.numerator, value.denominator))


def upper_end(value: Ball) -> Fraction:
    """An exact rational at least as large as everything in the ball."""
    mantissa, exponent = value.upper().man_exp()
    return Fraction(int(mantissa)) * Fraction(2) ** int(exponent)


def _largest(*balls: Ball) -> Ball:
    top = balls[0]
    for one in balls[1:]:
        top = top.max(one)
    return top


# ---------------------------------------------------------------- pure laws: worst log density ratio


def student_loss(alpha: Fraction, k: Fraction, nu: Fraction) -> Ball:
    """Worst loss of Student noise, h ∝ (1 + z²/ν)^(−(ν+1)/2): three closed forms (student.md)."""
    with ctx.workprec(PRECISION):
        c, R, v = 1 / ball(k), 1 + ball(alpha), ball(nu)
        power = (v + 1) / 2

        def log_ratio(above: Ball, below: Ball) -> Ball:
            return power * ((v + above * above) / (v + below * below)).log()

        shift = 2 * power * (c / (2 * v.sqrt())).asinh()
        spread = (R * R - 1) * v
        # The other file has the wider noise, seen from its own tail: c·R·w² − (spread − c²)·w − R·c·ν = 0.
        middle = spread - c * c
        w = (middle + (middle * middle + 4 * R * R * c * c * v).sqrt()) / (2 * R * c)
        wider = log_ratio(c + R * w, w) - R.log()
        # The other file has the wider noise, seen from the centre: c·z² + (spread + c²)·z − c·ν = 0.
        middle = spread + c * c
        z = 2 * c * v / (middle + (middle * middle + 4 * c * c * v).sqrt())
        centre = log_ratio((z + c) / R, z) + R.log()
        return _largest(shift, wider, centre)


def quartic_loss(alpha: Fraction, k: Fraction) -> Ball:
    """Worst loss of h ∝ 1/(1 + z⁴): three peaks, each the one root of a decreasing function (quartic.md)."""
    with ctx.workprec(PRECISION):
        c, R = 1 / ball(k), 1 + ball(alpha)
        c_near, R_near = float(1 / k), float(1 + alpha)

        def log_ratio(above: Ball, below: Ball) -> Ball:
            return ((1 + above**4) / (1 + below**4)).log()

        # 1/z³ − 1/(z+c)³ = c; the root lies where both terms of the bracket below force it.
        z = _root(
            lambda z, c, R: 1 / z**3 - 1 / (z + c) ** 3 - c,
            (c_near + c_near**-3) ** (-1 / 3),
            c_near ** (-1 / 3),
            (c_near, R_near),
            (c, R),
        )
        shift = log_ratio(z + c, z)
        w = _root(
            lambda w, c, R: R / w**3 - 1 / (c + R * w) ** 3 - c,
            (R_near / (c_near + c_near**-3)) ** (1 / 3),
            (R_near / c_near) ** (1 / 3),
            (c_near, R_near),
            (c, R),
        )
        wider = log_ratio(c + R * w, w) - R.log()
        z = _root(
            lambda z, c, R: 1 / z**3 - R**4 / (z + c) ** 3 - c,
            (c_near + R_near**4 * c_near**-3) ** (-1 / 3),
            min(c_near ** (-1 / 3), c_near / (R_near - 1)),
            (c_near, R_near),
            (c, R),
        )
        centre = log_ratio((z + c) / R, z) + R.log()
        return _largest(shift, wider, centre)


def _root(
    slope: Callable[[Any, Any, Any], Any], low: float, high: float, near: tuple[float, float], exact: tuple[Ball, Ball]
) -> Ball:
    """A ball that provably contains the point where `slope` turns from positive to negative.

    Floating point only proposes the place; the signs at both ends are checked in ball arithmetic, and the
    bracket grows until the check succeeds.
    """
    for _ in range(80):
        middle = (low + high) / 2
        low, high = (middle, high) if slope(middle, *near) > 0 else (low, middle)
    width = 1e-14
    while width < 1:
        left, right = arb(low * (1 - width)), arb(high * (1 + width))
        if slope(left, *exact) > 0 and slope(right, *exact) < 0:
            return left.union(right)
        width *= 8
    raise ArithmeticError("the peak of the privacy loss could not be bracketed")


# ---------------------------------------------------------------- Laplace: worst hockey-stick divergence


def laplace_failure(alpha: Fraction, epsilon: Fraction, k: Fraction) -> Ball:
    """Worst δ of Laplace noise at a given ε, for ln(1+α) < ε (laplace.md).

    The worst pair has the largest shift and the dilation 1 or 1 + α; there δ is elementary.
    """
    with ctx.workprec(PRECISION):
        c, R, e = 1 / ball(k), 1 + ball(alpha), ball(epsilon)
        zero, growth = arb(0), e.exp()
        same_scale = _largest(zero, 1 - ((e - c) / 2).exp())
        # From the narrower law to the wider one: only a neighbourhood of the narrower law's centre can fail.
        excess = R * (R.log() - e) + c
        narrow = zero
        if not excess <= 0:
            inside = 1 + (R - 1) / 2 * (-excess / (R - 1)).exp() - (R + 1) / 2 * (-excess / (R + 1)).exp()
            narrow = _largest(zero, inside)
        # From the wider law to the narrower one: its far tails always fail; its centre too if c > ε + ln R.
        reach = R * (e + R.log())
        far_left = (R - 1) / 2 * growth * (-(reach + c) / (R - 1)).exp()
        far_right = (R - 1) / 2 * growth * (-(reach - c) / (R - 1)).exp()
        from_centre = 1 - (R + 1) / 2 * growth * (-(reach + c) / (R + 1)).exp()
        margin = e + R.log() - c
        if margin >= 0:
            wide = far_left + far_right
        elif margin < 0:
            wide = far_left + from_centre
        else:
            wide = far_left + _largest(far_right, from_centre)
        return _largest(same_scale, narrow, wide)
