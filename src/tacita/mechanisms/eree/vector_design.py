"""Parameters of the vector law: the least noise that protects all worker cells of an establishment together.

For density ∝ (b + ‖z‖₁)^−(a+d) the supremum of the privacy loss has a closed form with three terms (proof:
`vector.md`), so calibration is a one-dimensional search followed by a check in interval arithmetic.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache

import numpy as np
from flint import arb, ctx, fmpq

from tacita.errors import UsageError
from tacita.mechanisms.eree.calibration import LARGEST_EPSILON, check_parameters
from tacita.noise.power import PowerLaw
from tacita.privacy import text


def smallest_epsilon(alpha: Fraction, cells: int) -> Fraction:
    """All worker cells dilate together, which alone costs d·ln(1+α); rounded up to three digits."""
    return Fraction(math.ceil(1000 * (cells + 1) * math.log1p(float(alpha)) * 1.01 + 1), 1000)


def certified(law: PowerLaw, alpha: Fraction, epsilon: Fraction, cells: int) -> bool:
    """Is the privacy loss at most epsilon? The three terms of the supremum, in interval arithmetic.

    >>> law = least_noise(Fraction(1, 20), Fraction(4), 8)
    >>> certified(law, Fraction(1, 20), Fraction(4), 8), certified(law, Fraction(1, 20), Fraction(39, 10), 8)
    (True, False)
    """
    with ctx.workprec(128):
        a, b, eps, r = (arb(fmpq(v.numerator, v.denominator)) for v in (law.a, law.b, epsilon, 1 + alpha))
        log_r, total = r.log(), a + cells
        centre = cells * log_r + total * (1 + 1 / (r * b)).log()
        slope = total * (1 + 1 / b).log() - cells * log_r
        plain = total * (1 + 1 / (r * b)).log()
        tail = a * log_r
        return all(bool(term <= eps) for term in (centre, slope, plain, tail))


@lru_cache(maxsize=256)
def least_noise(alpha: Fraction, epsilon: Fraction, cells: int) -> PowerLaw:
    """The certified law with the smallest mean absolute error per cell, in units of S = max(α·largest, 1+α)."""
    check_parameters(alpha, epsilon=epsilon)
    log_r, eps, r = math.log1p(float(alpha)), float(epsilon), 1 + float(alpha)
    if epsilon < (needed := smallest_epsilon(alpha, cells)):
        way_out = "lower alpha or cross fewer worker attributes"
        raise UsageError(
            f"epsilon: SmoothVector needs ε of at least {text(needed)} for {cells} worker cells at α = {text(alpha)}; "
            + (f"raise epsilon, {way_out}" if needed <= LARGEST_EPSILON else f"that protects nobody, so {way_out}")
        )
    shape = np.linspace(1.001, eps / log_r, 4000)[:-1]
    total = shape + cells
    scale = np.maximum(1 / (r * np.expm1((eps - cells * log_r) / total)), 1 / np.expm1((eps + cells * log_r) / total))
    best = int(np.argmin(scale / (shape - 1)))
    a = Fraction(math.floor(shape[best] * 10**6), 10**6)
    b = Fraction(math.ceil(float(scale[best]) * (1 + 1e-6) * 10**6), 10**6)
    law = PowerLaw(a, b)
    if not certified(law, alpha, epsilon, cells):
        raise UsageError(f"epsilon: no certified vector law at α = {text(alpha)}, ε = {text(epsilon)}; raise epsilon")
    return law
