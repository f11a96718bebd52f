"""How many of N discrete Laplace draws reach a threshold, exactly, without drawing all N. Proof: binomial.md.

It lets a table with far more empty cells than rows be noised at a cost that does not follow its size.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from math import exp
from typing import Any

from flint import arb, ctx, fmpq

from tacita.errors import UsageError
from tacita.noise.entropy import Spare, Uniform

_MOST = 1 << 62
_GUARD = 128  # bits lost to logarithms of factorials of numbers below 2^62, and some


def reaching(count: int, threshold: int, scale: Fraction, spare: Spare) -> int:
    """A draw of the number of i <= count with X_i >= threshold, X_i independent, P(X = k) ∝ exp(-|k|/scale).

    >>> from tacita.noise.entropy import SeededEntropy, reserve
    >>> 8_500 < reaching(10**12, 20, Fraction(11, 10), reserve(64, SeededEntropy(1))) < 9_600
    True
    >>> reaching(0, 1, Fraction(1), reserve(64, SeededEntropy(1)))
    0
    """
    if not 0 <= count <= _MOST or threshold < 1 or scale <= 0:
        raise UsageError("reaching: needs a count from 0 to 2^62, a threshold of at least 1 and a scale above 0")
    if count == 0:
        return 0
    uniform = Uniform(spare.take(), spare)
    cdf = _distribution(count, threshold, scale)
    rough = exp(-threshold / float(scale)) / (1 + exp(-1 / float(scale)))
    from scipy.stats import binom  # slow to load, and few plans draw this

    start = int(binom.ppf(min(max(uniform.leading * 2.0**-64, 1e-300), 1 - 1e-16), count, rough))
    start = min(max(start, 0), count)

    def above(k: int) -> bool:
        """Whether the draw exceeds k."""
        return k < count and uniform.at_least(lambda precision: cdf(k, precision))

    # The double-precision guess is nearly always right; the search settles it for certain from wherever it starts.
    low, high, step = start - 1, start, 1
    while above(high):
        low, high, step = high, min(high + step, count), 2 * step
    step = 1
    while low >= 0 and not above(low):
        low, high, step = max(low - step, -1), low, 2 * step
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if above(middle) else (low, middle)
    return high


def _distribution(count: int, threshold: int, scale: Fraction) -> Callable[[int, int], Any]:
    """Enclosures of P(draw <= k), by precision."""

    def cdf(k: int, precision: int) -> Any:
        with ctx.workprec(precision + _GUARD):
            q = (-1 / arb(fmpq(scale.numerator, scale.denominator))).exp()
            p = q**threshold / (1 + q)
            mean = float(p.mid()) * count
            if k <= mean:
                return _tail(count, k, p, precision, downwards=True)
            return 1 - _tail(count, k + 1, p, precision, downwards=False)

    return cdf


def _tail(count: int, k: int, p: Any, precision: int, *, downwards: bool) -> Any:
    """P(draw <= k) for k at most the mean, or P(draw >= k) for k above it: terms shrink away from the mean."""
    odds = p / (1 - p)
    term = (
        arb(count + 1).lgamma()
        - arb(k + 1).lgamma()
        - arb(count - k + 1).lgamma()
        + k * p.log()
        + (count - k) * (1 - p).log()
    ).exp()
    total, small = arb(0), 2.0 ** -min(precision, 900)
    while True:
        total += term
        if k == (0 if downwards else count):
            return total
        ratio = k / ((count - k + 1) * odds) if downwards else (count - k) * odds / (k + 1)
        after = term * ratio
        if ratio < 1 and float(after.upper()) < small * float((1 - ratio).lower()) * max(float(total.lower()), small):
            # Ratios only shrink from here on, so the rest is at most a geometric series.
            rest = (after / (1 - ratio)).upper()
            return total + arb(rest / 2, rest / 2)
        term = after
        k += -1 if downwards else 1
