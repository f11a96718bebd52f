"""How much one record can move the gradient of quantile regression, and what the printed formula of tran2023 costs.

The gradient of one record is x·(1{y ≤ xθ} − τ), with x = (1, predictors). KNG draws θ with density
exp(−ε·‖G(θ)‖ / (2Δ)) on the sum G over all records; Δ bounds the change of G between neighbours, in the same norm.
tran2023 (equations 4 and 5) prints Δ = 2(1 − τ)·C_X. Above the median that is too small: 50-fold at τ = 0.99.

All numbers are exact fractions. The proof is `kng.md`.

>>> from tacita.privacy import AddRemoveOne, ReplaceOne
>>> gradient_sensitivity("0.99", AddRemoveOne("firm")), gradient_sensitivity("0.99", ReplaceOne("firm"))
(Fraction(99, 100), Fraction(1, 1))
>>> printed_factor("0.99", ReplaceOne("firm"))
Fraction(50, 1)
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Literal

from tacita.errors import UsageError
from tacita.privacy import AddRemoveOne, Neighbours, Number, ReplaceOne, exact

Norm = Literal["max", "sum", "euclid"]


def gradient_sensitivity(tau: Number, neighbours: Neighbours, radius: Number = 1, diameter: Number = 0) -> Fraction:
    """The largest change of the summed gradient between neighbours.

    `radius` is the largest norm of x = (1, predictors) over the public set of predictors, `diameter` the largest
    norm of a difference of two of them. The defaults are those of the intercept alone.

    >>> gradient_sensitivity("0.95", AddRemoveOne("firm"), radius=46)
    Fraction(437, 10)
    >>> gradient_sensitivity("0.5", ReplaceOne("firm"), radius=1, diameter=1)
    Fraction(1, 1)
    """
    t, most, across = _quantile(tau), exact(radius, "radius"), exact(diameter, "diameter")
    if most <= 0 or across < 0:
        raise UsageError(
            "radius, diameter: the public bound on x = (1, predictors) must be above 0, its spread not below"
        )
    if isinstance(neighbours, AddRemoveOne):
        return max(t, 1 - t) * most
    if isinstance(neighbours, ReplaceOne):
        return max(most, max(t, 1 - t) * across)
    raise UsageError("neighbours: quantile regression is proved for AddRemoveOne and ReplaceOne, not for α-neighbours")


def box_size(box: Sequence[tuple[Number, Number]], norm: Norm = "max") -> tuple[Fraction, Fraction]:
    """The radius and the diameter of {(1, x): x in the public box}; Euclidean lengths are rounded up.

    >>> box_size([(0, 1), (0, 1)]), box_size([(0, 1), (0, 1)], "sum")
    ((Fraction(1, 1), Fraction(1, 1)), (Fraction(3, 1), Fraction(2, 1)))
    >>> box_size([])
    (Fraction(1, 1), Fraction(0, 1))
    """
    sides = [(exact(low, "box"), exact(high, "box")) for low, high in box]
    if any(low > high for low, high in sides):
        raise UsageError("box: the lower end of a predictor's public range must not be above its upper end")
    farthest = [Fraction(1), *(max(abs(low), abs(high)) for low, high in sides)]
    widths = [Fraction(0), *(high - low for low, high in sides)]
    return _norm(farthest, norm), _norm(widths, norm)


def rate(tau: Number, epsilon: Number, neighbours: Neighbours, radius: Number = 1, diameter: Number = 0) -> Fraction:
    """ε / (2Δ): what the norm of the summed gradient is multiplied with in the exponent.

    >>> rate("0.5", "1", AddRemoveOne("firm"))
    Fraction(1, 1)
    """
    return exact(epsilon, "epsilon") / (2 * gradient_sensitivity(tau, neighbours, radius, diameter))


def printed_rate(tau: Number, epsilon: Number, radius: Number = 1) -> Fraction:
    """The multiplier of equation 4 of tran2023: (ε/2) / (2(1 − τ)·C_X).

    >>> printed_rate("0.99", "1") / rate("0.99", "1", ReplaceOne("firm"))
    Fraction(50, 1)
    """
    return exact(epsilon, "epsilon") / (4 * (1 - _quantile(tau)) * exact(radius, "radius"))


def printed_factor(tau: Number, neighbours: Neighbours, spread: Number = 0) -> Fraction:
    """True ε over claimed ε of one quantile drawn, exactly, from the printed density.

    `spread` is the diameter of the predictors' public set in units of C_X: 0 without predictors, 1 for the box
    from 0 to C_X. Below 1 the printed formula wastes budget; above 1 it breaks its promise.

    >>> [str(printed_factor(t, AddRemoveOne("firm"))) for t in ("0.01", "0.5", "0.75", "0.99")]
    ['1/2', '1/2', '3/2', '99/2']
    """
    t = _quantile(tau)
    return gradient_sensitivity(t, neighbours, 1, spread) / (2 * (1 - t))


def true_epsilon(shares: Mapping[Fraction, Fraction], neighbours: Neighbours, spread: Number = 0) -> Fraction:
    """What the quantiles of one variable would really cost: Σ share × factor, had every draw been exact.

    `shares` has the claimed ε of each quantile.

    >>> true_epsilon({Fraction(1, 2): Fraction(1, 2), Fraction(99, 100): Fraction(1, 2)}, ReplaceOne("firm"))
    Fraction(51, 2)
    """
    return sum((share * printed_factor(tau, neighbours, spread) for tau, share in shares.items()), Fraction(0))


def _quantile(tau: Number) -> Fraction:
    value = exact(tau, "tau")
    if not 0 < value < 1:
        raise UsageError('tau: a quantile lies strictly between 0 and 1, such as "0.5"')
    return value


def _norm(lengths: list[Fraction], norm: Norm) -> Fraction:
    if norm == "max":
        return max(lengths)
    if norm == "sum":
        return sum(lengths, Fraction(0))
    if norm == "euclid":
        square = sum((one * one for one in lengths), Fraction(0))
        root = Fraction(math.isqrt(square.numerator), math.isqrt(square.denominator))
        if root * root == square:
            return root
        # Rounded up to a multiple of 10⁻¹²: a sensitivity may be too large, never too small.
        digits = 10**12
        return Fraction(math.isqrt(math.ceil(square * digits * digits)) + 1, digits)
    raise UsageError('norm: one of "max", "sum" and "euclid"')
