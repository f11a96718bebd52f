"""The least noise for several numbers of a unit together: a certified law of the largest coordinate.

Proof: `magnitude.md`. Public numbers only.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache

import numpy as np
from flint import arb, ctx, fmpq

from tacita.mechanisms.eree.calibration import check_parameters
from tacita.noise.power import BoxLaw


def certified(law: BoxLaw, alpha: Fraction, epsilon: Fraction) -> bool:
    """Is the privacy loss at most epsilon? The three terms of the supremum, in interval arithmetic.

    >>> law = least_noise(Fraction(1, 10), Fraction(2), 3)
    >>> certified(law, Fraction(1, 10), Fraction(2)), certified(law, Fraction(1, 10), Fraction(19, 10))
    (True, False)
    """
    d = law.width
    with ctx.workprec(128):
        a, b, eps, r = (arb(fmpq(v.numerator, v.denominator)) for v in (law.a, law.b, epsilon, 1 + alpha))
        log_r, total = r.log(), a + d
        centre = d * log_r + total * (1 + 1 / (r * b)).log()
        slope = (d - 2) * log_r + total * (1 + 1 / b).log()
        tail = (a + 2 * d - 2) * log_r
        return all(bool(term <= eps) for term in (centre, slope, tail))


@lru_cache(maxsize=256)
def least_noise(alpha: Fraction, epsilon: Fraction, width: int) -> BoxLaw | None:
    """The certified law with the smallest mean absolute error, in units of S = max(α·largest, 1 + α) of each number;
    None where ε is too small for any."""
    check_parameters(alpha, epsilon=epsilon)
    log_r, eps, r, d = math.log1p(float(alpha)), float(epsilon), 1 + float(alpha), width
    heaviest = eps / log_r - 2 * d + 2
    if heaviest <= 1.01 or eps <= 1.01 * d * log_r:
        return None
    shape = np.linspace(1.001, heaviest, 4000)[:-1]
    total = shape + d
    scale = np.maximum(
        1 / (r * np.expm1((eps - d * log_r) / total)),
        1 / np.expm1((eps - (d - 2) * log_r) / total),
    )
    best = int(np.argmin(scale / (shape - 1)))
    a = Fraction(math.floor(shape[best] * 10**6), 10**6)
    b = Fraction(math.ceil(float(scale[best]) * (1 + 1e-6) * 10**6), 10**6)
    law = BoxLaw(a, b, d)
    return law if certified(law, alpha, epsilon) else None
