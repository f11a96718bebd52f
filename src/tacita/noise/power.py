"""Noise for several values at once, drawn exactly: density falling as a power of the L1 norm, or of the largest
coordinate where scales differ.

The density of Z in d dimensions is proportional to (b + |Z_1| + … + |Z_d|)^−(a+d). Drawn one coordinate after
the other it needs only powers of uniforms: with B_0 = b and B_j = B_{j−1}·V_j^{−1/(a+j−1)}, the next absolute
value is B_j − B_{j−1}. Proof: `power.md`.

The density of Z in d dimensions is proportional to (b + max |Z_i|)^−(a+d). It is a mixture of uniform laws on cubes:
with uniforms V_0, …, V_d and U_1, …, U_d, half the side of the cube is ρ = b·(Π V_j^(−1/(a+j)) − 1), and
Z_i = ρ·(2·U_i − 1). Proof: `box.md`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from flint import arb, ctx
from numpy.typing import NDArray

from tacita.errors import UsageError
from tacita.lazy import later
from tacita.noise.entropy import Entropy, Request, Spare, drawn
from tacita.noise.forcing import settles
from tacita.noise.laws import ball

special = later("scipy.special")

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
        tiny = (uniform < _TINY).any(axis=1) & (scale > 0)

        def exactly(cell: int) -> list[int]:
            signs = [-1 if int(word) & 1 else 1 for word in words[cell]]
            exact_scale = Fraction(int(scale_num[cell]), scale_den)
            heads = [int(word) >> 1 for word in words[cell]]
            return _extended(heads, 63, spare, lambda taken, bits: self._enclose(taken, bits, signs, exact_scale))

        return _nearest(centre, noise, doubt, tiny, exactly)

    def _enclose(self, taken: list[int], bits: int, signs: list[int], scale: Fraction) -> list[int] | None:
        reach, rounded = ball(self.b), []
        for j, (head, sign) in enumerate(zip(taken, signs, strict=True)):
            if head == 0:
                return None
            lower = arb(head) / arb(2) ** bits
            uniform = lower.union(arb(head + 1) / arb(2) ** bits)
            further = reach * (-uniform.log() / ball(self.a + j)).exp()
            if (whole := _certain((further - reach) * sign * ball(scale))) is None:
                return None
            rounded.append(whole)
            reach = further
        return rounded


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
        tiny = np.asarray((uniform[:, : d + 1] < _TINY).any(axis=1) & (scale > 0).any(axis=1))

        def exactly(cell: int) -> list[int]:
            scales = [Fraction(int(one), scale_den) for one in scale_num[cell]]
            heads = [int(word) for word in words[cell]]
            return _extended(heads, 64, spare, lambda taken, bits: self._enclose(taken, bits, scales))

        return _nearest(centre, noise, doubt, tiny, exactly)

    def _enclose(self, taken: list[int], bits: int, scales: list[Fraction]) -> list[int] | None:
        d = self.width
        if min(taken[: d + 1]) == 0:
            return None
        uniforms = [(arb(head) / arb(2) ** bits).union(arb(head + 1) / arb(2) ** bits) for head in taken]
        logs = sum((-one.log() / ball(self.a + j) for j, one in enumerate(uniforms[: d + 1])), arb(0))
        half_side = ball(self.b) * (logs.exp() - 1)
        rounded = []
        for one, scale in zip(uniforms[d + 1 :], scales, strict=True):
            if (whole := _certain(half_side * (2 * one - 1) * ball(scale))) is None:
                return None
            rounded.append(whole)
        return rounded


def _nearest(
    centre: NDArray[np.int64],
    noise: NDArray[np.float64],
    doubt: NDArray[np.float64],
    tiny: NDArray[np.bool_],
    exactly: Callable[[int], list[int]],
) -> NDArray[np.int64]:
    """Integers nearest to centre + noise; a cell is settled exactly where a rounding is in doubt or a uniform tiny."""
    unsure = (np.abs(noise + 0.5 - np.rint(noise + 0.5)) <= doubt).any(axis=1) | tiny
    nearest = np.floor(np.where(unsure[:, None], 0.0, noise) + 0.5).astype(np.int64)
    result: NDArray[np.int64] = np.clip(centre + nearest, -_FARTHEST, _FARTHEST)
    for i in np.flatnonzero(unsure).tolist():
        sums = (int(one) + more for one, more in zip(centre[i], exactly(i), strict=True))
        result[i] = [min(max(whole, -_FARTHEST), _FARTHEST) for whole in sums]
    return result


def _extended(
    heads: list[int], bits: int, spare: Spare, enclose: Callable[[list[int], int], list[int] | None]
) -> list[int]:
    """Settle one vector in interval arithmetic, extending every uniform until all roundings are certain."""
    while True:
        with ctx.workprec(2 * bits + 64):
            rounded = enclose(heads, bits)
        if rounded is not None:
            return rounded
        heads, bits = [(head << 64) | spare.take() for head in heads], bits + 64


def _certain(noise: arb) -> int | None:
    """The whole number nearest to all of a ball; None where its ends disagree."""
    value = noise + arb("0.5")
    if abs(value) > _BEYOND:
        return _BEYOND if value > 0 else -_BEYOND
    lowest, highest = (int(end.floor().unique_fmpz()) for end in (value.lower(), value.upper()))
    return lowest if lowest == highest else None
