"""Continuous noise laws of unit scale, each known twice: fast in double precision, and certified in ball arithmetic.

Everything that decides a released value goes through `enclose` (an interval that contains the draw) or `cdf_arb`
(a ball that contains the distribution function). The plain `cdf`, `quantile` and `mean_abs` serve forecasts and
margins of error. What `enclose` assumes and why its intervals are right: rounding.md.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import lgamma
from typing import Any, Protocol

import numpy as np
from flint import arb, ctx, fmpq
from numpy.typing import NDArray

from tacita.errors import TacitaError, UsageError
from tacita.noise.entropy import Words
from tacita.privacy import text

Floats = NDArray[np.float64]

# The assumption on double precision: a tail quantile z is computed with an error of at most this times (1 + z).
FLOAT_ERROR = 2.0**-40
# Below this many words from either end, one word is too wide a step in the tail to be covered by the slack.
_TAIL_WORDS = 1 << 44
# Twice FLOAT_ERROR: one part for the computation, the other for rounding the word and for its unseen bits.
_SLACK = 2 * FLOAT_ERROR


class Law(Protocol):
    """A continuous law of unit scale; a mechanism multiplies it by its own scale."""

    @property
    def name(self) -> str: ...

    def describe(self) -> dict[str, str]:
        """The law and its exact parameters as plain JSON values."""
        ...

    def cdf(self, x: Floats) -> Floats: ...

    def quantile(self, p: float) -> float: ...

    def mean_abs(self) -> float: ...

    def log_density(self, x: Floats) -> Floats: ...

    def enclose(self, words: Words) -> tuple[Floats, Floats]:
        """Ends of an interval that contains Z = F⁻¹(U), U being any number whose first 64 bits are the word."""
        ...

    def cdf_arb(self, x: Any, prec: int) -> Any:
        """A ball that contains F(x) for every point of the ball `x`, computed with `prec` bits."""
        ...


def ball(value: Fraction) -> Any:
    """The narrowest ball of the current precision around a rational number."""
    return arb(fmpq(value.numerator, value.denominator))


class SymmetricLaw(ABC):
    """A law symmetric about zero, given by its tail: P(Z > z) for z >= 0 and the inverse of that.

    Its Mills ratio P(Z > z) / density(z) must be at most 2(1 + z); rounding.md proves it for each law here.
    """

    @property
    @abstractmethod
    def name(self) -> str: ...

    @abstractmethod
    def describe(self) -> dict[str, str]: ...

    @abstractmethod
    def tail(self, z: Floats) -> Floats:
        """P(Z > z), for z >= 0."""

    @abstractmethod
    def tail_quantile(self, t: Floats) -> Floats:
        """The z >= 0 with P(Z > z) = t, for 0 < t <= 1/2."""

    @abstractmethod
    def tail_arb(self, z: Any) -> Any:
        """A ball that contains P(Z > z), for z >= 0, at the current precision."""

    def cdf(self, x: Floats) -> Floats:
        x = np.asarray(x, dtype=np.float64)
        tail = self.tail(np.abs(x))
        return np.where(x < 0, tail, 1 - tail)

    def quantile(self, p: float) -> float:
        if not 0 < p < 1:
            raise UsageError("p: must lie strictly between 0 and 1")
        z = float(self.tail_quantile(np.array([min(p, 1 - p)]))[0])
        return -z if p < 0.5 else z

    def cdf_arb(self, x: Any, prec: int) -> Any:
        with ctx.workprec(prec):
            if x.is_zero():
                return arb(1) / 2  # exact, whatever the tail's own rounding
            if x < 0:
                return self.tail_arb(-x)
            if x > 0:
                return 1 - self.tail_arb(x)
            furthest = self.tail_arb(x.abs_upper())  # the ball holds zero: all of F between its two ends
            return furthest.union(1 - furthest)

    def enclose(self, words: Words) -> tuple[Floats, Floats]:
        _check_assumption(self)
        words = np.asarray(words, dtype=np.uint64)
        negative = words < np.uint64(1 << 63)
        from_end = np.where(negative, words, ~words)
        middle = (from_end.astype(np.float64) + 0.5) * 2.0**-64
        z = self.tail_quantile(np.minimum(middle, 0.5))
        slack = _SLACK * (1 + z)
        near, far = z - slack, z + slack
        deep = np.flatnonzero(from_end < _TAIL_WORDS)
        if deep.size:
            near[deep], far[deep] = self._enclose_deep(from_end[deep])
        return np.where(negative, -far, near), np.where(negative, -near, far)

    def _enclose_deep(self, from_end: Words) -> tuple[Floats, Floats]:
        """Far out, the two ends of a word's own interval differ: the quantile of each, infinite at the very end."""
        count = from_end.astype(np.float64)  # exact: below 2**44
        near = self.tail_quantile((count + 1) * 2.0**-64)
        far = np.full(count.shape, np.inf)
        inner = count > 0
        far[inner] = self.tail_quantile(count[inner] * 2.0**-64)
        return near - _SLACK * (1 + near), far + _SLACK * (1 + far)


@lru_cache(maxsize=64)
def _check_assumption(law: SymmetricLaw) -> None:
    """Hold FLOAT_ERROR against certified values at 48 points, once per law: an old SciPy does not meet it."""
    tails = np.concatenate((2.0 ** -np.arange(2.0, 66.0, 2.0), 0.5 - 2.0 ** -np.arange(2.0, 34.0, 2.0)))
    for t, z in zip(tails.tolist(), law.tail_quantile(tails).tolist(), strict=True):
        slack = FLOAT_ERROR * (1 + z)
        with ctx.workprec(192):
            low, high = law.tail_arb(arb(z) + slack), law.tail_arb((arb(z) - slack).max(arb(0)))
            within = low < t < high
        if not within:
            raise TacitaError(
                f"{law.name}: this machine's floating-point quantiles are not accurate enough for exact rounding; "
                "upgrade SciPy to 1.17 or later"
            )


@dataclass(frozen=True)
class Laplace(SymmetricLaw):
    """Density exp(-|z|)/2.

    >>> Laplace().mean_abs(), round(Laplace().quantile(0.95), 3)
    (1.0, 2.303)
    """

    @property
    def name(self) -> str:
        return "laplace"

    def describe(self) -> dict[str, str]:
        return {"law": self.name}

    def tail(self, z: Floats) -> Floats:
        return np.asarray(0.5 * np.exp(-z))

    def tail_quantile(self, t: Floats) -> Floats:
        return np.asarray(-np.log(2 * t))

    def tail_arb(self, z: Any) -> Any:
        return (-z).exp() / 2

    def mean_abs(self) -> float:
        return 1.0

    def log_density(self, x: Floats) -> Floats:
        return np.asarray(-np.abs(x) - np.log(2), dtype=np.float64)


@dataclass(frozen=True)
class Student(SymmetricLaw):
    """Student's t with ν > 1 degrees of freedom, at its natural scale: density ∝ (1 + z²/ν)^(-(ν+1)/2).

    >>> round(Student(Fraction(3)).mean_abs(), 4), round(Student(Fraction(3)).quantile(0.975), 4)
    (1.1027, 3.1824)
    """

    nu: Fraction

    def __post_init__(self) -> None:
        if not isinstance(self.nu, Fraction) or not 1 < self.nu <= 1000:
            raise UsageError("nu: give the degrees of freedom as a Fraction above 1 and at most 1000")

    @property
    def name(self) -> str:
        return f"student nu={text(self.nu)}"

    def describe(self) -> dict[str, str]:
        return {"law": "student", "nu": text(self.nu)}

    def tail(self, z: Floats) -> Floats:
        from scipy.special import stdtr  # slow to load, and only Student's law needs it

        return np.asarray(stdtr(float(self.nu), -z), dtype=np.float64)

    def tail_quantile(self, t: Floats) -> Floats:
        from scipy.special import stdtrit

        return np.asarray(np.abs(stdtrit(float(self.nu), t)), dtype=np.float64)

    def tail_arb(self, z: Any) -> Any:
        # P(Z > z) = I(ν/(ν + z²); ν/2, 1/2) / 2, with I the regularised incomplete beta function. Near the centre
        # that argument is close to 1, where I has a root singularity, so P(0 < Z < z) is taken instead.
        nu, half, square = ball(self.nu), arb(1) / 2, z * z
        if z < 1:
            return half - (square / (nu + square)).beta_lower(half, nu / 2, regularized=True) / 2
        return (nu / (nu + square)).beta_lower(nu / 2, half, regularized=True) / 2

    def mean_abs(self) -> float:
        """E|Z| = 2√ν Γ((ν+1)/2) / (√π (ν-1) Γ(ν/2))."""
        nu = float(self.nu)
        return float(2 * np.sqrt(nu / np.pi) / (nu - 1) * np.exp(lgamma((nu + 1) / 2) - lgamma(nu / 2)))

    def log_density(self, x: Floats) -> Floats:
        nu = float(self.nu)
        top = lgamma((nu + 1) / 2) - lgamma(nu / 2) - 0.5 * np.log(nu * np.pi)
        return np.asarray(top - (nu + 1) / 2 * np.log1p(np.square(x) / nu))


@dataclass(frozen=True)
class QuarticCauchy(SymmetricLaw):
    """Density √2/π · 1/(1 + z⁴): the law of haney2017's Smooth Gamma mechanism.

    >>> round(QuarticCauchy().mean_abs(), 4), round(QuarticCauchy().quantile(0.975), 4)
    (0.7071, 1.7934)
    """

    @property
    def name(self) -> str:
        return "quartic-cauchy"

    def describe(self) -> dict[str, str]:
        return {"law": self.name}

    def tail(self, z: Floats) -> Floats:
        """The closed form where it keeps its digits, the series in 1/z⁴ where it would cancel."""
        z = np.asarray(z, dtype=np.float64)
        near = np.minimum(z, 4.0)
        root = np.sqrt(2) * near
        angle = np.arctan2(root, 1 - near * near)
        closed = 0.5 - (np.log1p(2 * root / (1 + near * near - root)) / 2 + angle) / (2 * np.pi)
        far = np.maximum(z, 4.0)
        w = far**-4.0
        series = np.zeros_like(far)
        for k in range(8, -1, -1):
            series = 1 / (4 * k + 3) - w * series
        return np.asarray(np.where(z < 4.0, closed, np.sqrt(2) / np.pi * far**-3.0 * series))

    def tail_quantile(self, t: Floats) -> Floats:
        """Newton's method: on t against z near the centre, on log t against log z in the tail."""
        t = np.asarray(t, dtype=np.float64)
        top = np.sqrt(2) / np.pi
        central = t > 0.2
        z = np.where(central, (0.5 - t) / top, np.cbrt(top / 3 / t))
        for _ in range(7):
            tail, density = self.tail(z), top / (1 + z**4)
            outward = z * (tail / t) ** (tail / (density * np.where(central, 1.0, z)))
            z = np.where(central, z + (tail - t) / density, outward)
        return np.asarray(np.maximum(z, 0.0))

    def tail_arb(self, z: Any) -> Any:
        root2 = arb(2).sqrt()
        inner = 1 + z * z
        logs = ((inner + root2 * z) / (inner - root2 * z)).log() / 2
        # atan(√2 z + 1) + atan(√2 z - 1) is the angle that climbs from 0 to π as z goes from 0 to infinity.
        angle = (root2 * z + 1).atan() + (root2 * z - 1).atan()
        return arb(1) / 2 - (logs + angle) / (2 * arb.pi())

    def mean_abs(self) -> float:
        """E|Z| = 1/√2."""
        return float(np.sqrt(0.5))

    def log_density(self, x: Floats) -> Floats:
        return np.asarray(0.5 * np.log(2) - np.log(np.pi) - np.log1p(np.square(np.square(x))))
