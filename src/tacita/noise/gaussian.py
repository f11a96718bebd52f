"""Exact discrete Gaussian noise for whole tables: P(k) proportional to exp(−k²/(2σ²)), σ² rational. Proof: gaussian.md.

A draw is a discrete Laplace number that is kept with the right chance (Canonne, Kamath and Steinke 2020). The chance is
compared with a random word in double precision with a bound on its error, and by balls where that leaves doubt.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import erf, isqrt, sqrt

import numpy as np
from numpy.typing import NDArray

from tacita.errors import UsageError
from tacita.noise.choice import exp_ball
from tacita.noise.discrete import discrete_laplace
from tacita.noise.entropy import Entropy, Request, drawn
from tacita.noise.uniform import Uniform
from tacita.privacy import text

Integers = NDArray[np.int64]

LARGEST_VARIANCE = 1 << 60
# What double precision can lose in exp(−x) for x up to 745: the rounding of x and that of exp itself.
_DOUBT = 2.0**-40


def discrete_gaussian(count: int, variance: Fraction, entropy: Entropy) -> Integers:
    """`count` independent draws with P(k) proportional to exp(−k²/(2·variance)), exactly.

    >>> from tacita.noise.entropy import SeededEntropy
    >>> discrete_gaussian(5, Fraction(9, 2), SeededEntropy(1)).shape
    (5,)
    """
    if not isinstance(variance, Fraction) or not 0 < variance <= LARGEST_VARIANCE:
        raise UsageError("variance: give a Fraction above 0 and at most 2^60")
    scale = Fraction(isqrt(variance.numerator // variance.denominator) + 1)
    centre = variance / scale
    found = np.empty(0, dtype=np.int64)
    while found.size < count:
        wanted = int((count - found.size) * 1.7) + 16
        proposed = discrete_laplace(wanted, scale, entropy)
        words, spare = drawn(wanted, entropy)
        gap = np.abs(np.abs(proposed).astype(np.float64) - float(centre))
        chance = np.exp(-(gap**2) / (2 * float(variance)))
        level = words.astype(np.float64) * 2.0**-64
        keep = level < chance
        for i in np.flatnonzero(np.abs(level - chance) <= _DOUBT).tolist():
            exponent = (abs(int(proposed[i])) - centre) ** 2 / (2 * variance)
            uniform = Uniform(int(words[i]), spare)
            keep[i] = not uniform.at_least(lambda precision, x=exponent: exp_ball(-x, precision))  # type: ignore[misc]
        found = np.concatenate([found, proposed[keep]])
    return found[:count]


def add_discrete_gaussian(values: Integers, variance: Fraction, entropy: Entropy, label: str) -> Integers:
    """The values with independent discrete Gaussian noise of one public variance.

    ρ-zero-concentrated private with ρ = Δ²/(2·variance), Δ being the largest Euclidean change of the values.
    """
    true = np.asarray(values)
    if true.dtype.kind not in "iu":
        raise UsageError(f"{label}: discrete noise needs whole numbers; give integer counts")
    law = DiscreteGaussian(variance)
    entropy.announce(Request(label, str(law), true, np.broadcast_to(np.float64(sqrt(variance)), true.shape)))
    return np.asarray(true.astype(np.int64) + discrete_gaussian(true.size, variance, entropy).reshape(true.shape))


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

    def __str__(self) -> str:
        return f"discrete-gaussian variance={text(self.variance)}"

    def describe(self) -> dict[str, str]:
        return {"law": "discrete-gaussian", "variance": text(self.variance)}

    def margin(self, confidence: float) -> int:
        """The smallest m with P(|noise| ≤ m) at least the confidence; the tail is below that of the normal law at m + ½
        up to a relative error that vanishes for σ ≥ 1."""
        sigma = sqrt(self.variance)
        m = 0
        while erf((m + 0.5) / (sigma * sqrt(2))) < confidence:
            m += max(1, int(sigma / 64))
        return m
