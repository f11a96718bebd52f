"""Between zero-concentrated privacy and (ε, δ): how much ρ a promise of ε and δ allows, certified."""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache
from math import exp, floor, log, log1p, log10, sqrt

from flint import arb, ctx, fmpq

from tacita.errors import UsageError

_DIGITS = 9
_MOST_EPSILON = 10**6


@lru_cache(maxsize=256)
def rho_for(epsilon: Fraction, delta: Fraction) -> Fraction:
    """The largest ρ, rounded down to nine digits, such that ρ-zero-concentrated privacy implies (ε, δ)-privacy.

    For every order α > 1 it implies δ = exp((α − 1)(αρ − ε))·(1 − 1/α)^α/(α − 1) (Canonne, Kamath and Steinke 2020,
    corollary 13). The best order is searched in double precision; that it proves the claim is checked with balls.

    >>> from fractions import Fraction
    >>> float(rho_for(Fraction(1), Fraction(1, 10**9)))
    0.0149730576
    """
    if not 0 < delta < 1:
        raise UsageError('delta: must lie between 0 and 1, such as "1e-9"')
    if not 0 < epsilon <= _MOST_EPSILON:
        raise UsageError('epsilon: must be above 0 and at most 1,000,000, such as "1"')
    goal, target = log(delta.numerator) - log(delta.denominator), float(epsilon)
    low, high = 0.0, target + 1.0
    while _best(high, target)[0] <= goal:
        high *= 2
    order = 2.0
    for _ in range(200):
        middle = (low + high) / 2
        log_delta, at = _best(middle, target)
        if log_delta <= goal:
            low, order = middle, at
        else:
            high = middle
    if low <= 0:
        raise UsageError("epsilon, delta: too small for noise on counts; raise one of them")
    step = Fraction(10) ** (floor(log10(low)) + 1 - _DIGITS)
    rho = floor(Fraction(low) / step) * step
    while not _proves(rho, Fraction(order), epsilon, delta):
        rho -= step
    return rho


@lru_cache(maxsize=256)
def epsilon_for(rho: Fraction, delta: Fraction) -> Fraction:
    """The inverse of `rho_for`: an ε of nine digits that with this δ allows no more than this ρ, and hardly less.

    >>> from fractions import Fraction
    >>> whole = rho_for(Fraction(1), Fraction(1, 10**9))
    >>> float(epsilon_for(whole / 2, Fraction(1, 10**9)))
    0.696823957
    """
    goal = log(float(rho))
    before = Fraction(float(rho) + 2 * sqrt(float(rho) * -log(float(delta))))
    off, slope, epsilon = _missed(before, delta, goal), 2.0, before
    for _ in range(30):
        if abs(off) < 1e-8:  # `rho_for` has nine digits
            break
        epsilon = Fraction(float(before) * exp(-off / slope))
        now = _missed(epsilon, delta, goal)
        if epsilon != before and now != off:
            slope = (now - off) / log(float(epsilon / before))
        before, off = epsilon, now
    step = Fraction(10) ** (floor(log10(epsilon)) + 1 - _DIGITS)
    epsilon = (floor(epsilon / step) + 1) * step
    while rho_for(epsilon, delta) > rho:
        epsilon -= step
    return epsilon


def _missed(epsilon: Fraction, delta: Fraction, goal: float) -> float:
    return log(float(rho_for(epsilon, delta))) - goal


def _log_delta(alpha: float, rho: float, epsilon: float) -> float:
    return (alpha - 1) * (alpha * rho - epsilon) - log(alpha - 1) + alpha * log1p(-1 / alpha)


def _best(rho: float, epsilon: float) -> tuple[float, float]:
    """The least log δ over orders, by golden section on log(α − 1); it has one valley."""
    step = (5**0.5 - 1) / 2
    left, right = log(1e-6), log(1e9)
    for _ in range(120):
        one, two = right - step * (right - left), left + step * (right - left)
        if _log_delta(1 + 2.718281828459045**one, rho, epsilon) < _log_delta(1 + 2.718281828459045**two, rho, epsilon):
            right = two
        else:
            left = one
    alpha = 1 + 2.718281828459045 ** ((left + right) / 2)
    return _log_delta(alpha, rho, epsilon), alpha


def _proves(rho: Fraction, alpha: Fraction, epsilon: Fraction, delta: Fraction) -> bool:
    with ctx.workprec(256):
        ball = [arb(fmpq(one.numerator, one.denominator)) for one in (rho, alpha, epsilon, delta)]
        r, a, e, d = ball
        least_delta = ((a - 1) * (a * r - e)).exp() * (1 - 1 / a) ** a / (a - 1)
        return bool(least_delta <= d)
