"""The least noise for flows: a certified power law for creation and destruction together. Proof: `flows.md`."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np
from flint import arb, ctx, fmpq
from numpy.typing import NDArray

from tacita.errors import UsageError
from tacita.mechanisms.eree.calibration import check_parameters
from tacita.noise.power import PowerLaw
from tacita.privacy import text

FLOWS = 2  # what is created, what is destroyed


def smallest_epsilon(alpha: Fraction) -> Fraction:
    """Both flows dilate together, which alone costs 2·ln(1+α); rounded up to three digits."""
    return Fraction(math.ceil(1000 * (FLOWS + 1) * math.log1p(float(alpha)) * 1.01 + 1), 1000)


def certified(law: PowerLaw, alpha: Fraction, epsilon: Fraction) -> bool:
    """Is the privacy loss at most epsilon? The four terms of the supremum, in interval arithmetic.

    >>> law = least_noise(Fraction(1, 10), Fraction(2))
    >>> certified(law, Fraction(1, 10), Fraction(2)), certified(law, Fraction(1, 10), Fraction(19, 10))
    (True, False)
    """
    with ctx.workprec(128):
        a, b, eps, r = (arb(fmpq(v.numerator, v.denominator)) for v in (law.a, law.b, epsilon, 1 + alpha))
        log_r, total = r.log(), a + FLOWS
        plain = total * (1 + 2 / ((1 + r) * b)).log()
        centre = FLOWS * log_r + total * (1 + 1 / (r * b)).log()
        slope = total * (1 + 1 / b).log() - FLOWS * log_r
        tail = a * log_r
        return all(bool(term <= eps) for term in (plain, centre, slope, tail))


@lru_cache(maxsize=256)
def least_noise(alpha: Fraction, epsilon: Fraction) -> PowerLaw:
    """The certified law with the smallest mean absolute error, in units of S = α·(largest size of both years)."""
    check_parameters(alpha, epsilon=epsilon)
    if epsilon < (needed := smallest_epsilon(alpha)):
        raise UsageError(
            f"epsilon: flows need ε of at least {text(needed)} at α = {text(alpha)} for the noise alone; "
            "raise epsilon, lower alpha, or pay less for margins"
        )
    log_r, eps, r = math.log1p(float(alpha)), float(epsilon), 1 + float(alpha)
    shape = np.linspace(1.001, eps / log_r, 4000)[:-1]
    total = shape + FLOWS
    scale = np.maximum.reduce(
        [
            2 / ((1 + r) * np.expm1(eps / total)),
            1 / (r * np.expm1((eps - FLOWS * log_r) / total)),
            1 / np.expm1((eps + FLOWS * log_r) / total),
        ]
    )
    best = int(np.argmin(scale / (shape - 1)))
    a = Fraction(math.floor(shape[best] * 10**6), 10**6)
    b = Fraction(math.ceil(float(scale[best]) * (1 + 1e-6) * 10**6), 10**6)
    law = PowerLaw(a, b)
    if not certified(law, alpha, epsilon):
        raise UsageError(f"epsilon: no certified law at α = {text(alpha)}, ε = {text(epsilon)}; raise epsilon")
    return law


@dataclass(frozen=True)
class NetLaw:
    """The law of Z₁ − Z₂ when (Z₁, Z₂) has density ∝ (b + |z₁| + |z₂|)^−(a+2): the error of creation less destruction.

    Given the norm ρ, which is b times a ratio of Beta(2, a), |Z₁ − Z₂| is ρ where the signs differ, and else uniform.

    >>> law = NetLaw(PowerLaw(Fraction(3), Fraction(2)))
    >>> law.mean_abs(), float(law.cdf(np.array([0.0]))[0])
    (1.5, 0.5)
    """

    each: PowerLaw

    def mean_abs(self) -> float:
        return 1.5 * self.each.mean_abs()

    def cdf(self, x: NDArray[np.float64]) -> NDArray[np.float64]:
        a, b, size = float(self.each.a), float(self.each.b), np.abs(x)
        left = b / (b + size)
        norm_beyond = left**a * (1 + a * (1 - left))
        # Half of what lies beyond has signs that differ; the rest is uniform up to its norm.
        beyond = norm_beyond - size / 2 * (a / b) * left ** (a + 1)
        return np.asarray(np.where(x < 0, beyond / 2, 1 - beyond / 2))

    def describe(self) -> dict[str, str]:
        return {**self.each.describe(), "law": "difference of two, power of the L1 norm"}
