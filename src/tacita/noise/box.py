"""Noise for several values whose scales differ: density falling as a power of the largest coordinate, drawn exactly.

The density of Z in d dimensions is proportional to (b + max |Z_i|)^−(a+d). It is a mixture of uniform laws on cubes:
with uniforms V_0, …, V_d and U_1, …, U_d, half the side of the cube is ρ = b·(Π V_j^(−1/(a+j)) − 1), and
Z_i = ρ·(2·U_i − 1). Proof: `box.md`.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from flint import arb, ctx, fmpq
from numpy.typing import NDArray

from tacita.errors import UsageError
from tacita.lazy import later
from tacita.noise.entropy import Entropy, Request, Spare, drawn
from tacita.noise.forcing import settles

special = later("scipy.special")

# Relative error granted to the platform's exp and log, and to the few operations after them: a stated assumption.
_FLOAT_ERROR = 2.0**-40
# A uniform closer to 0 than this is settled in arbitrary precision, where its relative precision is restored.
_TINY = 2.0**-20
# A sum beyond the first number is set to it; noise beyond the second takes any centre there for certain.
_FARTHEST, _BEYOND = 1 << 61, 1 << 65


@dataclass(frozen=True)
class BoxLaw:
    """Law of a vector of `width` coordinates with density ∝ (b + max |z_i|)^−(a+width); a > 1 for a finite mean.

    >>> law = BoxLaw(Fraction(3), Fraction(2), 3)
    >>> law.mean_abs(), float(law.cdf(np.array([0.0]))[0])
    (2.0, 0.5)
    """

    a: Fraction
    b: Fraction
    width: int

    def __post_init__(self) -> None:
        if self.a <= 1 or self.b <= 0 or self.width < 1:
            raise UsageError("a box law needs a > 1, b > 0 and a width of at least 1")

    def mean_abs(self) -> float:
        """E|Z_i|, the same for every coordinate."""
        return float(self.b * (self.width + 1) / (2 * (self.a - 1)))

    def cdf(self, x: NDArray[np.float64]) -> NDArray[np.float64]:
        """The law of one coordinate: uniform up to ρ, and ρ/(b + ρ) is Beta(d + 1, a)."""
        a, b, d, size = float(self.a), float(self.b), self.width, np.abs(x)
        share = size / (b + size)
        within = special.betainc(d + 1, a, share) + size * (a / (b * d)) * (1 - special.betainc(d, a + 1, share))
        return np.asarray(np.where(x < 0, (1 - within) / 2, (1 + within) / 2))

    def describe(self) -> dict[str, str]:
        return {
            "law": "power of the largest coordinate",
            "a": str(self.a),
            "b": str(self.b),
            "coordinates": str(self.width),
        }

    @settles("centre", "scale_num")
    def on_grid(
        self,
        centre: NDArray[np.int64],
        scale_num: NDArray[np.int64],
        scale_den: int,
        entropy: Entropy,
        label: str,
    ) -> NDArray[np.int64]:
        """Integers nearest to centre + scale·Z: one vector (row of `centre`) per cell, one scale per value.

        >>> from tacita.noise.entropy import SeededEntropy
        >>> law = BoxLaw(Fraction(3), Fraction(1), 2)
        >>> law.on_grid(np.array([[5, 6]]), np.array([[0, 0]]), 1, SeededEntropy(1), "x")
        array([[5, 6]])
        """
        scale = scale_num / scale_den
        entropy.announce(Request(label, str(self.describe()), centre, scale))
        rows, d = centre.shape
        flat, spare = drawn(rows * (2 * d + 1), entropy)
        words = flat.reshape(rows, 2 * d + 1)
        # 64 bits are the leading ones of a uniform, which lies within half a step of this midpoint.
        uniform = (words.astype(np.float64) + 0.5) * 2.0**-64
        exponent = -1 / (float(self.a) + np.arange(d + 1))
        reach = float(self.b) * np.exp((exponent * np.log(uniform[:, : d + 1])).sum(axis=1))
        noise = ((reach - float(self.b))[:, None] * (2 * uniform[:, d + 1 :] - 1)) * scale
        doubt = _FLOAT_ERROR * (d + 3) * reach[:, None] * scale + _FLOAT_ERROR
        unsure = (np.abs(noise + 0.5 - np.rint(noise + 0.5)) <= doubt).any(axis=1)
        unsure |= (uniform[:, : d + 1] < _TINY).any(axis=1) & (scale > 0).any(axis=1)
        nearest = np.floor(np.where(unsure[:, None], 0.0, noise) + 0.5).astype(np.int64)
        result: NDArray[np.int64] = np.clip(centre + nearest, -_FARTHEST, _FARTHEST)
        for i in np.flatnonzero(unsure):
            scales = [Fraction(int(one), scale_den) for one in scale_num[i]]
            added = self._round_exactly(words[i], scales, spare)
            sums = (int(one) + more for one, more in zip(centre[i], added, strict=True))
            result[i] = [min(max(whole, -_FARTHEST), _FARTHEST) for whole in sums]
        return result

    def _round_exactly(self, words: NDArray[np.uint64], scales: list[Fraction], spare: Spare) -> list[int]:
        """Settle one vector in interval arithmetic, extending every uniform until all roundings are certain."""
        taken, bits = [int(word) for word in words], 64
        while True:
            with ctx.workprec(2 * bits + 64):
                rounded = self._enclose(taken, bits, scales)
            if rounded is not None:
                return rounded
            taken, bits = [(head << 64) | spare.take() for head in taken], bits + 64

    def _enclose(self, taken: list[int], bits: int, scales: list[Fraction]) -> list[int] | None:
        d = self.width
        if min(taken[: d + 1]) == 0:
            return None
        uniforms = [(arb(head) / arb(2) ** bits).union(arb(head + 1) / arb(2) ** bits) for head in taken]
        logs = sum((-one.log() / _arb(self.a + j) for j, one in enumerate(uniforms[: d + 1])), arb(0))
        half_side = _arb(self.b) * (logs.exp() - 1)
        rounded = []
        for one, scale in zip(uniforms[d + 1 :], scales, strict=True):
            value = half_side * (2 * one - 1) * _arb(scale) + arb("0.5")
            if abs(value) > _BEYOND:
                rounded.append(_BEYOND if value > 0 else -_BEYOND)
            elif (lowest := _floor(value.lower())) == _floor(value.upper()):
                rounded.append(lowest)
            else:
                return None
        return rounded


def _arb(value: Fraction) -> arb:
    return arb(fmpq(value.numerator, value.denominator))


def _floor(value: arb) -> int:
    return int(value.floor().unique_fmpz())
