"""The public law of a published value's error: intervals a reader may trust, computed from public things only.

For smooth mechanisms the scale of the noise depends on the largest establishment of a cell, which is secret.
An interval therefore uses what is public: either a bound that follows from the value itself (an establishment
is never larger than its cell), or a noisy size of the largest establishment that was paid for.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

_PAID_DOUBT = 0.8  # share of the doubt that the paid-for interval gets when both are used


class UnitLaw(Protocol):
    """What an error law needs to know of the noise, in units of its scale."""

    def __hash__(self) -> int: ...

    def cdf(self, x: Floats) -> Floats: ...

    def describe(self) -> dict[str, str]: ...


class ErrorLaw(Protocol):
    """Turns noisy values into intervals. `values` has one row per workplace cell, one column per worker cell."""

    def interval(self, values: Floats, confidence: float, largest: Floats | None = None) -> tuple[Floats, Floats]:
        """Ends of an interval that holds the true value with at least `confidence`; ±∞ where nothing is known."""
        ...

    def describe(self) -> dict[str, str]: ...


@lru_cache(maxsize=512)
def margin_of(law: UnitLaw, confidence: float, blur: Fraction = Fraction(0)) -> float:
    """The smallest m with P(|Z| ≤ m·e^η) ≥ confidence, where η is Laplace noise of scale `blur`.

    >>> from tacita.noise.laws import Laplace
    >>> round(margin_of(Laplace(), 0.95), 3)
    2.996
    """
    # Midpoints of equal shares of the Laplace law: enough of them that the third digit is right.
    share = (np.arange(4000) + 0.5) / 4000 if blur else np.array([0.5])
    eta = np.where(share < 0.5, np.log(2 * share), -np.log(2 - 2 * share)) * float(blur)
    stretch = np.exp(eta)
    low, high = 0.0, 1.0

    def covered(m: float) -> bool:
        return float((law.cdf(m * stretch) - law.cdf(-m * stretch)).mean()) >= confidence

    while not covered(high):
        low, high = high, 2 * high
    for _ in range(60):
        mid = (low + high) / 2
        low, high = (low, mid) if covered(mid) else (mid, high)
    return high


@dataclass(frozen=True)
class FixedError:
    """Noise whose scale is public: the same margin for every value.

    Where something was `left_out` before counting, nothing public says how much, so there is no upper end.
    """

    law: IntegerLaw
    left_out: bool = False

    def interval(self, values: Floats, confidence: float, largest: Floats | None = None) -> tuple[Floats, Floats]:
        margin = self.law.margin(confidence)
        return values - margin, np.full_like(values, np.inf) if self.left_out else values + margin

    def describe(self) -> dict[str, str]:
        return self.law.describe()


class IntegerLaw(Protocol):
    def margin(self, confidence: float) -> int: ...

    def describe(self) -> dict[str, str]: ...


@dataclass(frozen=True)
class HiddenScaleError:
    """Noise k·S·Z with S = max(α·largest establishment, floor), of which only Z, k, α and the floor are public.

    `bounded_by` says what the largest establishment cannot exceed: the value itself, the sum of the row (all
    worker cells of the workplace cell), or nothing that is published.
    """

    law: UnitLaw
    k: Fraction
    alpha: Fraction
    floor: Fraction
    bounded_by: str = "value"
    blur: Fraction | None = None

    def interval(self, values: Floats, confidence: float, largest: Floats | None = None) -> tuple[Floats, Floats]:
        if largest is None or self.blur is None:
            return self._free(values, confidence)
        # Both intervals are used, each at its share of the doubt: the free one is shorter in small cells.
        doubt = 1 - confidence
        per_worker = float(self.k * self.alpha) * margin_of(self.law, 1 - _PAID_DOUBT * doubt, self.blur)
        margin = per_worker * (largest + 0.5) + 0.5
        lower, upper = self._free(values, 1 - (1 - _PAID_DOUBT) * doubt)
        # A value so far below zero that the two have nothing in common keeps the free one: no margin of nothing.
        apart = values + margin < lower
        shorter = np.where(apart, lower, np.maximum(lower, values - margin))
        return shorter, np.where(apart, upper, np.minimum(upper, values + margin))

    def _free(self, values: Floats, confidence: float) -> tuple[Floats, Floats]:
        """What follows from the published values alone."""
        k, alpha, floor = float(self.k), float(self.alpha), float(self.floor)
        if self.bounded_by == "value":
            q = k * margin_of(self.law, confidence)
            return inverted(values, q * alpha, q * floor, 0.5)
        if self.bounded_by == "row":
            d = values.shape[1]
            # Half of the doubt goes to the bound on the scale, shared by the d errors of the row's sum.
            q = d * k * margin_of(self.law, 1 - (1 - confidence) / (2 * d))
            _, most = inverted(values.sum(axis=1, keepdims=True), q * alpha, q * floor, 0.5 * d)
            margin = k * margin_of(self.law, (1 + confidence) / 2) * np.maximum(alpha * most, floor) + 0.5
            return values - margin, values + margin
        return np.full_like(values, -np.inf), np.full_like(values, np.inf)

    def describe(self) -> dict[str, str]:
        return self.law.describe() | {
            "scale": f"{float(self.k):.8g} × max({float(self.alpha):g} × largest establishment, {float(self.floor):g})",
            "scale_is": "confidential",
        }


@dataclass(frozen=True)
class LogError:
    """Value = (count + γ)·e^(λη)·factor − γ: the interval inverts it exactly, and nothing is hidden."""

    lam: Fraction
    gamma: Fraction
    factor: Fraction

    def interval(self, values: Floats, confidence: float, largest: Floats | None = None) -> tuple[Floats, Floats]:
        stretch = math.exp(float(self.lam) * -math.log(1 - confidence))
        gamma, factor = float(self.gamma), float(self.factor)
        lower = (values - 0.5 + gamma) / factor / stretch - gamma
        upper = (values + 0.5 + gamma) / factor * stretch - gamma
        return lower, upper

    def describe(self) -> dict[str, str]:
        return {
            "law": "log-laplace",
            "lambda": f"{float(self.lam):.12g}",
            "gamma": str(self.gamma),
            "factor": f"{float(self.factor):.12g}",
            "scale": "multiplicative",
        }


def inverted(values: Floats, share: float, least: float, rounding: float) -> tuple[Floats, Floats]:
    """All n ≥ 0 with |value − n| ≤ max(share·n, least) + rounding: noise, then at most half a count per rounding.

    >>> inverted(np.array([100.0]), 0.25, 2.5, 0.5)
    (array([79.6]), array([134.]))
    """
    lower = np.maximum(0, np.minimum(values - rounding - least, (values - rounding) / (1 + share)))
    if share >= 1:
        return lower, np.full_like(values, np.inf)
    least_upper = least + rounding  # also for a value so low that no count could have led to it
    return lower, np.maximum(np.maximum(values + least_upper, (values + rounding) / (1 - share)), least_upper)
