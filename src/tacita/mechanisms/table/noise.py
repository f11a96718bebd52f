"""The noise of a table: discrete Laplace for a pure promise, discrete Gaussian where it is in ρ or a δ is allowed.

A budget is divided by shares: of ε for a pure promise, of ρ otherwise. How far one unit can move the values, in the sum
of absolute changes and in their Euclidean length, is said by whoever asks for noise; table.md proves it for each table.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from math import ceil, isqrt, sqrt

import numpy as np
from numpy.typing import NDArray

from tacita.errors import UsageError
from tacita.noise.concentrated import rho_for
from tacita.noise.discrete import DiscreteLaplace, add_discrete_laplace
from tacita.noise.entropy import Entropy
from tacita.noise.gaussian import DiscreteGaussian, add_discrete_gaussian

Integers = NDArray[np.int64]

PRUDENCE = Fraction(3, 4)  # share of the doubt that margins leave where a value is no plain sum of noises
FINEST = 1 << 22  # steps between the clamps of a sum: finer ones would not show beside the noise


@dataclass(frozen=True)
class Reach:
    """How far one unit can move a set of values: `total` bounds the sum of the changes, `square` their squares."""

    total: int
    square: int

    @classmethod
    def of_one(cls, most: int, records: int) -> Reach:
        """`records` records come or go, each of which changes one value by up to `most`, or several by so much in
        all."""
        return cls(most * records, most * most * records)

    @classmethod
    def added_up(cls, most: int, records: int) -> Reach:
        """The same where the changes of several records may meet in one value, and add up there."""
        return cls(most * records, (most * records) ** 2)


def reach_of(least: int, most: int, records: int) -> Reach:
    """Of one number per record, from `least` to `most`, added to the sum of one cell. A replaced record may stay in its
    cell and change its sign: that moves one sum by the whole length, whose square may be more than that of two ends.

    >>> reach_of(0, 10, 2), reach_of(-10, 10, 2)
    (Reach(total=20, square=200), Reach(total=20, square=400))
    """
    furthest = Reach.of_one(max(abs(least), abs(most), 1), records)
    length = most - least if records > 1 else 0
    return Reach(furthest.total, max(furthest.square, length * length))


@dataclass(frozen=True)
class Budget:
    """ε, or ρ as (ε, δ) allows it or as it is given; `part` is the share of it that is spent here."""

    epsilon: Fraction
    delta: Fraction = Fraction(0)
    part: Fraction = Fraction(1)
    given: Fraction | None = None

    @classmethod
    def of_rho(cls, rho: Fraction) -> Budget:
        return cls(Fraction(0), given=rho)

    def share(self, part: Fraction) -> Budget:
        return replace(self, part=self.part * part)

    @property
    def gaussian(self) -> bool:
        return bool(self.delta) or self.given is not None

    @cached_property
    def rho(self) -> Fraction:
        return (rho_for(self.epsilon, self.delta) if self.given is None else self.given) * self.part

    def law(self, reach: Reach) -> DiscreteLaplace | DiscreteGaussian:
        if not self.gaussian:
            return DiscreteLaplace(reach.total / (self.epsilon * self.part))
        # Rounded up to a fraction that the sampler handles fast: a little more noise than needed.
        variance = Fraction(reach.square) / (2 * self.rho)
        digits = 10**6 if variance < 10**6 else 1
        return DiscreteGaussian(Fraction(ceil(variance * digits), digits))

    def noisy(self, values: Integers, reach: Reach, entropy: Entropy, label: str) -> Integers:
        law = self.law(reach)
        if isinstance(law, DiscreteLaplace):
            return add_discrete_laplace(values, law.scale, entropy, label)
        return add_discrete_gaussian(values, law.variance, entropy, label)

    def finest(self, steps: int, reach: Callable[[int], Reach]) -> int:
        """So many steps, or half, a quarter, … as many: the most of them for whose reach there is a law of noise. Where
        noise is that loud, finer ones would not show beside it.

        >>> Budget(Fraction(1, 2)).finest(8, lambda steps: Reach.of_one(steps, 1))
        8
        """
        while True:
            try:
                self.law(reach(steps))
                return steps
            except UsageError:
                if steps == 1:
                    raise UsageError("epsilon: too small for any noise to be drawn; raise it") from None
                steps //= 2

    def scale(self, reach: Reach) -> float:
        """Of a Laplace number with the variance of this noise, for both laws."""
        return sqrt(spread_of(self.law(reach).describe())[0] / 2)

    @property
    def pure(self) -> Fraction:
        """The ε of draws that have no Gaussian form. A law whose log ratios range over ε has ρ = ε²/8 at most."""
        if not self.gaussian:
            return self.epsilon * self.part
        return _root_below(8 * self.rho)


def _root_below(value: Fraction) -> Fraction:
    """A fraction of nine digits no larger than the square root."""
    scale = 10**18
    return Fraction(isqrt(value.numerator * scale // value.denominator), 10**9)


def prudent(confidence: Fraction) -> Fraction:
    """The confidence at which margins are computed that would be a little short otherwise: as if the weights of the
    noises that make a value were known."""
    return 1 - PRUDENCE * (1 - confidence)


def law_of(described: dict[str, str]) -> DiscreteLaplace | DiscreteGaussian:
    """The law that was published in these words."""
    if described["law"] == "discrete-gaussian":
        return DiscreteGaussian(Fraction(described["variance"]))
    return DiscreteLaplace(Fraction(described["scale"]))


def half_step(law: DiscreteLaplace | DiscreteGaussian) -> float:
    """What margins of combined whole noises need in addition where most of them are 0: half a step. Such noise is no
    smooth one, and a margin a little below a step would miss all errors of that step."""
    return 0.0 if law.margin(Fraction(1, 2)) else 0.5


def spread_of(described: dict[str, str]) -> tuple[float, float]:
    """The variance of a noise and its excess kurtosis, from the public description of its law."""
    law = law_of(described)
    return (law.variance(), 3.0) if isinstance(law, DiscreteLaplace) else (float(law.variance), 0.0)
