"""A law whose density is constant on plateaus: near-optimal for privacy, and exact with integers alone.

The line is cut into finitely many core plateaus and, on each side, one period of tail plateaus that repeats
for ever, each time stretched by `growth` around a pivot and lighter by `ratio`. The weights are integers that
sum to 2^62 and `ratio` has denominator 2^32, so a draw is a comparison of random integers followed by a
uniform position on one plateau: no logarithm, no rounding of a probability. Proof: `plateau.md`.
"""

from __future__ import annotations

import hashlib
import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from tacita.errors import UsageError
from tacita.noise.entropy import Entropy, Request, Spare, drawn
from tacita.noise.forcing import settles

WEIGHT_BITS = 62
RATIO_BITS = 32
# Half a grid step is compared with this much slack, relative to the largest term of the sum: generous against
# the dozen IEEE operations of the fast path, each good to 2^-53; and twice what growth loses in each period.
_SLACK, _SLACK_PER_PERIOD = 2.0**-44, 2.0**-52
# Published counts are 64-bit integers; a sum beyond this (never seen at sensible scales) is set to it. Noise beyond the
# second number takes any centre there for certain.
_FARTHEST, _BEYOND = 1 << 61, 2.0**65


@dataclass(frozen=True)
class PlateauLaw:
    """Density constant between `edges`; the first and last `tail` plateaus repeat outwards for ever.

    Tail period p of the right side is the first one stretched around -pivot by growth^p, with ratio^p of its
    mass; the left side is its mirror image around +pivot. `weights` count all periods of a tail plateau.
    """

    edges: tuple[Fraction, ...]
    weights: tuple[int, ...]
    tail: int
    growth: Fraction
    pivot: Fraction
    ratio: Fraction

    def __post_init__(self) -> None:
        widths_positive = all(a < b for a, b in zip(self.edges, self.edges[1:], strict=False))
        if not widths_positive or len(self.weights) != len(self.edges) - 1 or min(self.weights) < 0:
            raise UsageError("a plateau law needs rising edges and one weight of at least 0 between each two")
        if sum(self.weights) != 1 << WEIGHT_BITS:
            raise UsageError(f"the weights of a plateau law must sum to 2^{WEIGHT_BITS} exactly")
        if not 0 < self.ratio < 1 or (self.ratio * 2**RATIO_BITS).denominator != 1:
            raise UsageError(f"the ratio of a plateau law must be a multiple of 2^-{RATIO_BITS} between 0 and 1")
        inner = (self.edges[-1 - self.tail], -self.edges[self.tail])
        outer = (self.edges[-1], -self.edges[0])
        if any(far + self.pivot != self.growth * (near + self.pivot) for near, far in zip(inner, outer, strict=True)):
            raise UsageError("each tail period of a plateau law must begin where the one before it ends")

    def height(self, index: int) -> Fraction:
        """The density on a plateau (first period for tails), in exact arithmetic."""
        mass = Fraction(self.weights[index], 1 << WEIGHT_BITS)
        if index < self.tail or index >= len(self.weights) - self.tail:
            mass *= 1 - self.ratio
        return mass / (self.edges[index + 1] - self.edges[index])

    # ------------------------------------------------------------ error law

    @cached_property
    def _periods(self) -> int:
        """Enough tail periods for float quantiles: the mass left out is below 1e-16."""
        return max(2, math.ceil(-37 / math.log(float(self.ratio))))

    @cached_property
    def _pieces(self) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
        """All plateaus as floats, from left to right: lower edge, upper edge, mass."""
        edge = np.array([float(e) for e in self.edges])
        mass = np.array([w / 2**WEIGHT_BITS for w in self.weights])
        lo, hi, k = edge[:-1], edge[1:], self.tail
        scale = float(self.growth) ** np.arange(self._periods)
        share = (1 - float(self.ratio)) * float(self.ratio) ** np.arange(self._periods)
        pivot = float(self.pivot)

        def right(x: NDArray[np.float64]) -> NDArray[np.float64]:
            return ((x + pivot) * scale[:, None] - pivot).ravel()

        def left(x: NDArray[np.float64]) -> NDArray[np.float64]:
            return ((x - pivot) * scale[::-1, None] + pivot).ravel()

        lower = np.concatenate([left(lo[:k]), lo[k:-k], right(lo[-k:])])
        upper = np.concatenate([left(hi[:k]), hi[k:-k], right(hi[-k:])])
        masses = np.concatenate(
            [(share[::-1, None] * mass[:k]).ravel(), mass[k:-k], (share[:, None] * mass[-k:]).ravel()]
        )
        return lower, upper, masses

    @cached_property
    def _moments(self) -> tuple[float, float, float]:
        """E Z, E|Z| and E Z², the tails in closed form (geometric sums)."""
        edge = np.array([float(e) for e in self.edges])
        mass = np.array([w / 2**WEIGHT_BITS for w in self.weights])
        lo, hi, k, pivot = edge[:-1], edge[1:], self.tail, float(self.pivot)
        q, g = float(self.ratio), float(self.growth)
        once = (1 - q) / (1 - q * g) if q * g < 1 else math.inf
        twice = (1 - q) / (1 - q * g * g) if q * g * g < 1 else math.inf
        first, second = (lo + hi) / 2, (lo**2 + lo * hi + hi**2) / 3
        for side, sign in ((slice(0, k), -1.0), (slice(-k, None), 1.0)):
            from_pivot = sign * first[side] + pivot
            from_pivot_squared = second[side] + 2 * pivot * sign * first[side] + pivot**2
            second[side] = twice * from_pivot_squared - 2 * pivot * once * from_pivot + pivot**2
            first[side] = sign * (once * from_pivot - pivot)
        absolute = np.where((lo < 0) & (hi > 0), (lo**2 + hi**2) / (2 * (hi - lo)), np.abs(first))
        return float(mass @ first), float(mass @ absolute), float(mass @ second)

    def mean(self) -> float:
        return self._moments[0]

    def mean_abs(self) -> float:
        """E|Z|; infinite when the tails are too heavy."""
        return self._moments[1]

    def variance(self) -> float:
        return self._moments[2] - self._moments[0] ** 2

    def cdf(self, x: NDArray[np.float64]) -> NDArray[np.float64]:
        lo, hi, mass = self._pieces
        knots = np.append(lo, hi[-1])
        shares: NDArray[np.float64] = np.interp(x, knots, np.append(0.0, np.cumsum(mass)))
        return shares

    def quantile(self, p: float) -> float:
        lo, hi, mass = self._pieces
        return float(np.interp(p, np.append(0.0, np.cumsum(mass)), np.append(lo, hi[-1])))

    def margin(self, confidence: float) -> float:
        """The smallest m with P(|Z| ≤ m) of at least `confidence`."""
        low, high = 0.0, max(-self.quantile((1 - confidence) / 4), self.quantile(1 - (1 - confidence) / 4))
        for _ in range(80):
            mid = (low + high) / 2
            below, above = self.cdf(np.array([-mid, mid]))
            low, high = (low, mid) if above - below >= confidence else (mid, high)
        return high

    def describe(self) -> dict[str, str]:
        return {
            "law": "plateau",
            "plateaus": str(len(self.weights)),
            "sha256": self._digest,
            "growth": str(self.growth),
            "pivot": str(self.pivot),
            "ratio": str(self.ratio),
        }

    # ------------------------------------------------------------ exact sampling

    @cached_property
    def _digest(self) -> str:
        """Tells one law from another without listing hundreds of plateaus."""
        listed = ",".join(map(str, (*self.edges, *self.weights)))
        return hashlib.sha256(listed.encode()).hexdigest()[:16]

    @cached_property
    def _cumulative(self) -> NDArray[np.uint64]:
        return np.cumsum(np.array(self.weights, dtype=np.uint64))

    def draw(self, count: int, entropy: Entropy) -> Draws:
        """Which plateau, which period and how far along it: integers only, so exact."""
        column = np.searchsorted(self._cumulative, entropy.words(count) >> np.uint64(64 - WEIGHT_BITS), side="right")
        along, spare = drawn(count, entropy)
        period = np.zeros(count, dtype=np.int64)
        threshold = np.uint64(self.ratio * 2**RATIO_BITS)
        going = np.flatnonzero((column < self.tail) | (column >= len(self.weights) - self.tail))
        while going.size:
            stays = (entropy.words(going.size) >> np.uint64(64 - RATIO_BITS)) < threshold
            going = going[stays]
            period[going] += 1
        return Draws(column.astype(np.int64), period, along, spare)

    @settles("centre", "scale_num")
    def on_grid(
        self,
        centre: NDArray[np.int64],
        scale_num: NDArray[np.int64],
        scale_den: int,
        entropy: Entropy,
        label: str,
    ) -> NDArray[np.int64]:
        """The integers nearest to centre + scale·Z, distributed exactly so (half rounds up).

        >>> from tacita.noise.entropy import SeededEntropy
        >>> law = PlateauLaw((Fraction(-2), Fraction(-1), Fraction(1), Fraction(2)), (2**60, 2**61, 2**60), 1,
        ...                  Fraction(11, 10), Fraction(9), Fraction(1, 4))
        >>> law.on_grid(np.array([100, 0]), np.array([0, 0]), 1, SeededEntropy(1), "example")
        array([100,   0])
        """
        entropy.announce(Request(label, str(self.describe()), centre, scale_num / scale_den))
        draws = self.draw(centre.size, entropy)
        lo = np.array([float(e) for e in self.edges[:-1]])[draws.column]
        width = np.array([float(b - a) for a, b in zip(self.edges, self.edges[1:], strict=False)])[draws.column]
        turn = self._turning_point(draws.column)
        scale = scale_num / scale_den
        with np.errstate(over="ignore", invalid="ignore"):  # after very many periods: far, or settled exactly
            stretch = float(self.growth) ** draws.period
            unit = (lo - turn + width * (draws.along * 2.0**-64)) * stretch + turn
            noise = scale * unit
            size = scale * ((np.abs(lo) + width + np.abs(turn)) * stretch + np.abs(turn)) + 1
            slack = (_SLACK + _SLACK_PER_PERIOD * draws.period) * size
            sure = np.abs(noise + 0.5 - np.rint(noise + 0.5)) > slack
            far = np.abs(noise) >= _BEYOND
        nearest = np.floor(np.where(sure & ~far, noise, 0.0) + 0.5).astype(np.int64)
        result: NDArray[np.int64] = np.clip(centre + nearest, -_FARTHEST, _FARTHEST)
        result[far] = np.where(noise[far] > 0, _FARTHEST, -_FARTHEST)
        for i in np.flatnonzero(~sure & ~far):
            exact_scale = Fraction(int(scale_num[i]), scale_den)
            whole = int(centre[i]) + self._round_exactly(draws, int(i), exact_scale)
            result[i] = min(max(whole, -_FARTHEST), _FARTHEST)
        return result

    def _turning_point(self, column: NDArray[np.int64]) -> NDArray[np.float64]:
        pivot = float(self.pivot)
        right = column >= len(self.weights) - self.tail
        return np.where(column < self.tail, pivot, np.where(right, -pivot, 0.0))

    def _round_exactly(self, draws: Draws, i: int, scale: Fraction) -> int:
        """Settle one rounding by extending the position with further random bits until it is certain."""
        column, bits, taken = int(draws.column[i]), 64, int(draws.along[i])
        turn = Fraction(0)
        if column < self.tail:
            turn = self.pivot
        elif column >= len(self.weights) - self.tail:
            turn = -self.pivot
        a, b = self.edges[column], self.edges[column + 1]
        stretch = self.growth ** int(draws.period[i])
        while True:
            ends = [
                math.floor(
                    scale * ((a - turn + (b - a) * Fraction(taken + more, 1 << bits)) * stretch + turn) + Fraction(1, 2)
                )
                for more in (0, 1)
            ]
            # The upper end is never reached (its probability is zero), so an exact hit there belongs below.
            top = scale * ((a - turn + (b - a) * Fraction(taken + 1, 1 << bits)) * stretch + turn) + Fraction(1, 2)
            upper = ends[1] - 1 if top == ends[1] and scale > 0 else ends[1]
            if ends[0] >= upper:
                return ends[0]
            taken, bits = (taken << 64) | draws.spare.take(), bits + 64


@dataclass(frozen=True)
class Draws:
    """Random integers behind a set of draws."""

    column: NDArray[np.int64]
    period: NDArray[np.int64]
    along: NDArray[np.uint64]
    spare: Spare
