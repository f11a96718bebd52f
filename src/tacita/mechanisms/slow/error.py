"""From noisy steps of a root or logarithm back to the sum: without bias, with an interval. Post-processing only."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from tacita.noise.gaussian import DiscreteGaussian
from tacita.privacy import PerRecord
from tacita.privacy.neighbours import STEPS

Floats = NDArray[np.float64]

_HIGHEST = 300.0  # of a logarithm: sums end far below, and squares stay within doubles
_NODES, _WEIGHTS = np.polynomial.hermite_e.hermegauss(80)


@dataclass(frozen=True)
class SlowError:
    """What noisy steps say of a sum in its own units."""

    relation: PerRecord
    variance: Fraction

    @property
    def law(self) -> DiscreteGaussian:
        return DiscreteGaussian(self.variance)

    @property
    def _offset(self) -> float:
        return float(self.relation.offset)

    @property
    def _step(self) -> float:
        """One step on the scale of f(1 + sum/offset)."""
        ratio = float(self.relation.reference / self.relation.offset)
        power = self._power
        return float(np.log1p(ratio) if power is None else np.expm1(power * np.log1p(ratio))) / STEPS

    @property
    def _power(self) -> float | None:
        return {"square-root": 0.5, "fourth-root": 0.25, "log": None}[self.relation.scaling]

    @property
    def deviation(self) -> float:
        """The standard deviation of the noise on that scale."""
        return float(self._step * math.sqrt(self.variance))

    def place(self, noisy: Floats) -> Floats:
        """Where noisy steps lie on that scale; what was rounded down is in the middle of its step."""
        return (noisy + 0.5) * self._step + (0.0 if self._power is None else 1.0)

    def value(self, noisy: Floats) -> Floats:
        """The sum without bias: polynomials of Hermite for the roots, half a variance less for the logarithm."""
        y, v = self.place(noisy), self.deviation**2
        if self._power is None:
            free = np.exp(np.minimum(y - v / 2, _HIGHEST))
        elif self._power == 0.5:
            free = y**2 - v
        else:
            free = y**4 - 6 * v * y**2 + 3 * v**2
        return self._offset * (free - 1)

    def interval(self, noisy: Floats, confidence: float) -> tuple[Floats, Floats]:
        """Ends between which the sum lies: those of the noise, since root and logarithm only rise."""
        reach = float(self.law.margin(confidence)) + 1.5  # half a step was rounded, and one more
        return self._sum(noisy - reach), self._sum(noisy + reach)

    def _sum(self, noisy: Floats) -> Floats:
        """The sum whose steps these are, at least 0."""
        y = self.place(noisy)
        if self._power is None:
            return np.asarray(self._offset * np.expm1(np.clip(y, 0.0, _HIGHEST)))
        return np.asarray(self._offset * (np.maximum(y, 1.0) ** (1 / self._power) - 1))

    def typical(self, size: float) -> float:
        """The mean absolute error of a sum of this size."""
        ratio = np.log1p(size / self._offset)
        exact = (ratio if self._power is None else np.expm1(self._power * ratio)) / self._step - 0.5
        off = self.value(exact + _NODES * math.sqrt(self.variance)) - size
        return float(np.abs(off) @ _WEIGHTS / _WEIGHTS.sum())
