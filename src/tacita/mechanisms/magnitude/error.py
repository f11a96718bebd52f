"""How far a published sum may be off, from public things only: post-processing, nothing confidential is seen here.

The scale of the noise follows the largest unit of a cell, which is secret. Three public things bound it: no unit is
larger than its cell, none is larger than the schema allows, and a noisy size of the largest that was paid for.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from tacita.noise.error import Floats, UnitLaw, inverted, margin_of

_PAID_DOUBT = 0.8  # share of the doubt that the paid-for interval gets when both are used


@dataclass(frozen=True)
class MagnitudeError:
    """Noise S·Z on a sum in steps, S = max(α·largest, floor), of which Z, α, the floor and the bound are public."""

    law: UnitLaw
    alpha: Fraction
    floor: Fraction
    most: int
    """The largest size that the schema allows."""
    blur: Fraction | None = None
    """Scale of the noise on the logarithm of the paid-for size."""
    grid: int = 1
    """The paid-for size is a multiple of it."""
    within_value: bool = True
    """Whether the size of a unit is part of the sum, so that it cannot exceed it."""
    signed: bool = False
    """Whether the sum may be below 0."""

    def interval(self, values: Floats, confidence: float, largest: Floats | None = None) -> tuple[Floats, Floats]:
        """Ends of an interval that holds the true sum with at least `confidence`."""
        if largest is None or self.blur is None:
            return self._free(values, confidence)
        doubt = 1 - confidence
        stretch = float(self.alpha) * margin_of(self.law, 1 - _PAID_DOUBT * doubt, self.blur)
        margin = stretch * (largest + self.grid / 2) + 0.5
        lower, upper = self._free(values, 1 - (1 - _PAID_DOUBT) * doubt)
        # A value so far below zero that the two have nothing in common keeps the free one: no margin of nothing.
        apart = values + margin < lower
        return (
            np.where(apart, lower, np.maximum(lower, values - margin)),
            np.where(apart, upper, np.minimum(upper, values + margin)),
        )

    def _free(self, values: Floats, confidence: float) -> tuple[Floats, Floats]:
        """What follows without paying."""
        alpha, floor, reach = float(self.alpha), float(self.floor), margin_of(self.law, confidence)
        widest = reach * max(alpha * self.most, floor) + 0.5
        lower, upper = values - widest, values + widest
        if not self.signed:
            lower, upper = np.maximum(lower, 0), np.maximum(upper, 0)
        if self.within_value:
            least, most = inverted(values, reach * alpha, reach * floor, 0.5)
            lower, upper = np.maximum(lower, least), np.minimum(upper, most)
        return lower, np.maximum(lower, upper)

    def describe(self) -> dict[str, str]:
        return self.law.describe() | {
            "scale": f"max({float(self.alpha):g} × largest unit, {float(self.floor):g} steps)",
            "scale_is": "confidential",
        }


@dataclass(frozen=True)
class Column:
    """One published number of each cell: its name, its decimal places and the law of its error."""

    name: str
    places: int
    error: MagnitudeError
    size: int = 0
    """Which of the paid-for sizes goes with it."""
