"""Noise for a whole vector at once: density falling as a power of the L1 norm, drawn exactly.

The density of Z in d dimensions is proportional to (b + |Z_1| + … + |Z_d|)^−(a+d). Drawn one coordinate after
the other it needs only powers of uniforms: with B_0 = b and B_j = B_{j−1}·V_j^{−1/(a+j−1)}, the next absolute
value is B_j − B_{j−1}. Proof: `power.md`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from flint import arb, ctx, fmpq
from numpy.typing import NDArray

from tacita.errors import UsageError
from tacita.noise.entropy import Entropy, Request, Spare, drawn
from tacita.noise.forcing import settles

# Relative error granted to the platform's exp and log, and to the few operations after them: a stated assumption.
_FLOAT_ERROR = 2.0**-40
# A uniform closer to 0 than this is settled in arbitrary precision, where its relative precision is restored.
_TINY = 2.0**-20
# A sum beyond the first number is set to it; noise beyond the second takes any centre there for certain.
_FARTHEST, _BEYOND = 1 << 61, 1 << 65


@dataclass(frozen=True)
class PowerLaw:
    """Law of a d-vector with density ∝ (b + ‖z‖₁)^−(a+d); a > 1 for a finite mean.

    >>> law = PowerLaw(Fraction(3), Fraction(2))
    >>> law.mean_abs(), round(law.margin(0.9), 6)
    (1.0, 2.308869)
    """

    a: Fraction
    b: Fraction

    def __post_init__(self) -> None:
        if self.a <= 1 or self.b <= 0:
            raise UsageError("a power law needs a > 1 and b > 0")

    def mean_abs(self) -> float:
        """E|Z_j|, the same for every coordinate."""
        return float(self.b / (self.a - 1))

    def variance(self) -> float:
        return math.inf if self.a <= 2 else float(2 * self.b**2 / ((self.a - 1) * (self.a - 2)))

    def margin(self, confidence: float) -> float:
        """The m with P(|Z_j| ≤ m) = confidence."""
        return float(self.b) * float((1 - confidence) ** (-1 / float(self.a)) - 1)

    def cdf(self, x: NDArray[np.float64]) -> NDArray[np.float64]:
        """The law of one coordinate."""
        tail: NDArray[np.float64] = 0.5 * (1 + np.abs(x) / float(self.b)) ** -float(self.a)
        return np.where(x < 0, tail, 1 - tail)

    def quantile(self, p: float) -> float:
        return math.copysign(self.margin(abs(2 * p - 1)), p - 0.5)

    def describe(self) -> dict[str, str]:
        return {"law": "power of the L1 norm", "a": str(self.a), "b": str(self.b)}

    @settles("centre", "scale_num")
    def on_grid(
        self,
        centre: NDArray[np.int64],
        scale_num: NDArray[np.int64],
        scale_den: int,
        entropy: Entropy,
        label: str,
    ) -> NDArray[np.int64]:
        """Integers nearest to centre + scale·Z: one vector (row of `centre`) and one scale per cell.

        >>> from tacita.noise.entropy import SeededEntropy
        >>> PowerLaw(Fraction(3), Fraction(1)).on_grid(np.array([[5, 6]]), np.array([0]), 1, SeededEntropy(1), "x")
        array([[5, 6]])
        """
        scale = scale_num / scale_den
        entropy.announce(Request(label, str(self.describe()), centre, scale))
        rows, d = centre.shape
        flat, spare = drawn(rows * d, entropy)
        words = flat.reshape(rows, d)
        negative = (words & np.uint64(1)).astype(bool)
        # The other 63 bits are the leading bits of a uniform; it lies within half a step of this midpoint.
        uniform = ((words >> np.uint64(1)).astype(np.float64) + 0.5) * 2.0**-63
        exponent = -1 / (float(self.a) + np.arange(d))
        reach = float(self.b) * np.cumprod(np.exp(exponent * np.log(uniform)), axis=1)
        before = np.concatenate([np.full((rows, 1), float(self.b)), reach[:, :-1]], axis=1)
        noise = np.where(negative, -1.0, 1.0) * (reach - before) * scale[:, None]
        doubt = (_FLOAT_ERROR + 2.0**-43) * (d + 1) * reach * scale[:, None] + _FLOAT_ERROR
        unsure = (np.abs(noise + 0.5 - np.rint(noise + 0.5)) <= doubt).any(axis=1)
        unsure |= (uniform < _TINY).any(axis=1) & (scale > 0)
        nearest = np.floor(np.where(unsure[:, None], 0.0, noise) + 0.5).astype(np.int64)
        result: NDArray[np.int64] = np.clip(centre + nearest, -_FARTHEST, _FARTHEST)
        for i in np.flatnonzero(unsure):
            exact_scale = Fraction(int(scale_num[i]), scale_den)
            added = self._round_exactly(words[i], exact_scale, spare)
            sums = (int(one) + more for one, more in zip(centre[i], added, strict=True))
            result[i] = [min(max(whole, -_FARTHEST), _FARTHEST) for whole in sums]
        return result

    def _round_exactly(self, words: NDArray[np.uint64], scale: Fraction, spare: Spare) -> list[int]:
        """Settle one vector in interval arithmetic, extending every uniform until all roundings are certain."""
        taken, bits = [int(w) >> 1 for w in words], 63
        signs = [-1 if int(w) & 1 else 1 for w in words]
        while True:
            with ctx.workprec(2 * bits + 64):
                rounded = self._enclose(taken, bits, signs, scale)
            if rounded is not None:
                return rounded
            taken, bits = [(t << 64) | spare.take() for t in taken], bits + 64

    def _enclose(self, taken: list[int], bits: int, signs: list[int], scale: Fraction) -> list[int] | None:
        reach, rounded = _arb(self.b), []
        for j, (head, sign) in enumerate(zip(taken, signs, strict=True)):
            if head == 0:
                return None
            lower = arb(head) / arb(2) ** bits
            uniform = lower.union(arb(head + 1) / arb(2) ** bits)
            further = reach * (-uniform.log() / _arb(self.a + j)).exp()
            value = (further - reach) * sign * _arb(scale) + arb("0.5")
            if abs(value) > _BEYOND:
                rounded.append(_BEYOND * sign)
            elif (lowest := _floor(value.lower())) == _floor(value.upper()):
                rounded.append(lowest)
            else:
                return None
            reach = further
        return rounded


def _arb(value: Fraction) -> arb:
    return arb(fmpq(value.numerator, value.denominator))


def _floor(value: arb) -> int:
    return int(value.floor().unique_fmpz())
