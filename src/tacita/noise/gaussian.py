"""Exact discrete Gaussian noise for whole tables: P(k) proportional to exp(−k²/(2σ²)), σ² rational. Proof: gaussian.md.

A draw is a discrete Laplace number that is kept with the right chance (Canonne, Kamath and Steinke 2020). The chance is
compared with a random word in double precision with a bound on its error, and by balls where that leaves doubt.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import ceil, isqrt, log, sqrt
from typing import Any

import numpy as np
from flint import arb, ctx, fmpq
from numpy.typing import NDArray

from tacita.errors import UsageError
from tacita.noise.choice import exp_ball
from tacita.noise.discrete import LARGEST_VALUE, _share, discrete_laplace
from tacita.noise.entropy import Entropy, Request, Uniform, drawn
from tacita.noise.forcing import settles
from tacita.privacy import text

Integers = NDArray[np.int64]

LARGEST_VARIANCE = 1 << 60
SMALLEST_VARIANCE = Fraction(1, 1 << 60)
# More than double precision can lose in exp(−x) and in the random number it is compared with: see gaussian.md.
_DOUBT = 2.0**-40
_SUMMED = 1 << 14  # up to this variance the law is summed up term by term


def discrete_gaussian(count: int, variance: Fraction, entropy: Entropy) -> Integers:
    """`count` independent draws with P(k) proportional to exp(−k²/(2·variance)), exactly.

    >>> from tacita.noise.entropy import SeededEntropy
    >>> discrete_gaussian(5, Fraction(9, 2), SeededEntropy(1)).shape
    (5,)
    """
    _checked(variance)
    scale = Fraction(isqrt(variance.numerator // variance.denominator) + 1)
    centre = variance / scale
    accepted = np.empty(0, dtype=np.int64)
    while accepted.size < count:
        wanted = int((count - accepted.size) * 1.7) + 16
        proposed = discrete_laplace(wanted, scale, entropy)
        words, spare = drawn(wanted, entropy)
        chance = _chance(proposed, centre, variance)
        level = words.astype(np.float64) * 2.0**-64
        keep = level < chance
        for i in np.flatnonzero(np.abs(level - chance) <= _DOUBT).tolist():
            exponent = (abs(int(proposed[i])) - centre) ** 2 / (2 * variance)
            uniform = Uniform(int(words[i]), spare)
            keep[i] = not uniform.at_least(lambda precision, x=exponent: exp_ball(-x, precision))  # type: ignore[misc]
        accepted = np.concatenate([accepted, proposed[keep]])
    return accepted[:count]


def _chance(proposed: Integers, centre: Fraction, variance: Fraction) -> NDArray[np.float64]:
    gap = np.abs(proposed).astype(np.float64) - float(centre)
    return np.asarray(np.exp(-(gap**2) / (2 * float(variance))))


@settles("values")
def add_discrete_gaussian(values: Integers, variance: Fraction, entropy: Entropy, label: str) -> Integers:
    """The values with independent discrete Gaussian noise of one public variance.

    ρ-zero-concentrated private with ρ = Δ²/(2·variance), Δ being the largest Euclidean change of the values.
    """
    true = np.asarray(values)
    if true.dtype.kind not in "iu":
        raise UsageError(f"{label}: discrete noise needs whole numbers; give integer counts")
    law = DiscreteGaussian(variance)
    entropy.announce(Request(label, str(law), true, np.broadcast_to(np.float64(sqrt(variance)), true.shape)))
    # Clipping is 1-Lipschitz: it cannot widen the distance between two files' values, and nothing can wrap around.
    if true.dtype == np.uint64:
        true = np.minimum(true, np.uint64(LARGEST_VALUE))
    held = np.clip(true.astype(np.int64), -(LARGEST_VALUE - 1), LARGEST_VALUE - 1)
    return np.asarray(held + discrete_gaussian(true.size, variance, entropy).reshape(true.shape))


def _checked(variance: Fraction) -> Fraction:
    if not isinstance(variance, Fraction) or not SMALLEST_VARIANCE <= variance <= LARGEST_VARIANCE:
        raise UsageError("variance: give a Fraction between 2^-60 and 2^60")
    return variance


@dataclass(frozen=True)
class DiscreteGaussian:
    """The error law of discrete Gaussian noise.

    >>> law = DiscreteGaussian(Fraction(100))
    >>> print(law)
    discrete-gaussian variance=100
    >>> law.margin(0.95)
    20
    """

    variance: Fraction

    def __post_init__(self) -> None:
        _checked(self.variance)

    def __str__(self) -> str:
        return f"discrete-gaussian variance={text(self.variance)}"

    def describe(self) -> dict[str, str]:
        return {"law": "discrete-gaussian", "variance": text(self.variance)}

    def margin(self, confidence: float | Fraction) -> int:
        """A whole m with P(|noise| ≤ m) at least the confidence, certified.

        It is the smallest such m for variances up to 2^14. Beyond that the normal law stands in for the sum, on the
        safe side (gaussian.md), and m may be larger by one.
        """
        share = _share(confidence, "confidence")
        # The tail at s standard deviations is below 3·exp(−s²/2).
        sigma = sqrt(self.variance)
        most = ceil(sigma * sqrt(2 * (log(share.denominator) - log(share.denominator - share.numerator) + 5))) + 2
        return self._summed(share, most) if self.variance <= _SUMMED else self._bounded(share, most)

    def _summed(self, share: Fraction, most: int) -> int:
        with ctx.workprec(256 + share.denominator.bit_length()):
            variance, last = _ball(self.variance), 4 * most
            reached = [arb(1)]
            for k in range(1, last + 1):
                reached.append(reached[-1] + 2 * (-arb(k**2) / (2 * variance)).exp())
            # Later terms fall by exp(−last/variance) or more each, so their sum is below the last one's variance/last.
            whole = reached[-1] + (reached[-1] - reached[-2]) * variance / last
            return next(m for m, so_far in enumerate(reached) if so_far >= _ball(share) * whole)

    def _bounded(self, share: Fraction, most: int) -> int:
        low, high = -1, most
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if self._covers(middle, share) else (middle, high)
        return high

    def _covers(self, m: int, share: Fraction) -> bool:
        """Whether a bound on the tail shows that P(|noise| ≤ m) reaches the share."""
        with ctx.workprec(256):
            variance = _ball(self.variance)
            tail = ((arb(m) + arb(0.5)) / (2 * variance).sqrt()).erfc()
            if m < variance.sqrt():
                tail += arb(fmpq(1, 8)) / variance
            return bool(tail <= _ball(1 - share))


def _ball(value: Fraction) -> Any:
    return arb(fmpq(value.numerator, value.denominator))
