"""What tables, choices and thresholds cost, and how the whole is divided: public arithmetic. Proof: file.md.

With δ the whole is a ρ of zero-concentrated privacy and tables get discrete Gaussian noise; without, it is ε itself and
they get discrete Laplace noise. Amounts are in that one currency, and simply add up.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import isqrt, pi, sqrt

from tacita.synthesis.pairwise.queries import price, some_queries

_FINE = 10**12
_ROOM = 1 + 2.0**-30  # more than double precision can lose in a sum of prices


@dataclass(frozen=True)
class Question:
    """A table, or the contrast over its two-level attributes; `noise` is a variance, or the scale of Laplace noise."""

    attributes: tuple[int, ...]
    contrast: bool
    noise: Fraction
    cost: Fraction
    pure: bool

    @property
    def variance(self) -> float:
        return 2 * float(self.noise) ** 2 if self.pure else float(self.noise)

    def error(self, levels: tuple[int, ...]) -> float:
        """Expected sum of the sizes of the noise, in records."""
        mean = float(self.noise) if self.pure else sqrt(2 / pi * float(self.noise))
        return price(self.attributes, levels, False).numbers * mean


@dataclass(frozen=True)
class Budget:
    """The whole of a plan, under its relation."""

    total: Fraction
    pure: bool
    replace: bool

    def tables(
        self, sets: Sequence[tuple[int, ...]], levels: tuple[int, ...], amount: Fraction, leaning: float = 1.0
    ) -> list[Question]:
        """Tables of these attributes within an amount, so divided that the summed error of all cells is least; the less
        `leaning` to large ones, the more alike is the noise of all of them."""
        if not self.pure:
            asked = some_queries(sets, levels, amount, self.replace, leaning)
            return [Question(one.attributes, one.contrast, one.variance, one.rho, False) for one in asked]
        change = 2 if self.replace else 1
        prices = {one: price(one, levels, self.replace) for one in sets}
        weights = {attributes: one.numbers ** (leaning / 2) for attributes, one in prices.items()}
        total, questions = change * sum(weights.values()), []
        for attributes, one in prices.items():
            scale = Fraction(int(total / weights[attributes] / float(amount) * _ROOM * _FINE) + 1, _FINE)
            questions.append(Question(attributes, one.contrast, scale, change / scale, True))
        return questions

    def one(self, attributes: tuple[int, ...], levels: tuple[int, ...], amount: Fraction) -> Question:
        """One table of these attributes that costs no more than an amount."""
        return self.tables([attributes], levels, amount)[0]

    def table(self, amount: Fraction) -> Question:
        """One table of counts, whose attributes have no number: every record is in one cell or in none."""
        noise = (2 if self.replace else 1) / amount / (1 if self.pure else 2)
        return Question((), False, noise, amount, self.pure)

    def threshold(self, amount: Fraction) -> Fraction:
        """The ε of one level of a bisection."""
        if self.pure:
            return amount / 2 if self.replace else amount
        return _root(2 * amount if self.replace else 8 * amount)

    def rate(self, amount: Fraction) -> Fraction:
        """Of one choice by distances, which one record changes by 1, or by 2 where it is replaced."""
        change = 2 if self.replace else 1
        return amount / (2 * change) if self.pure else _root(2 * amount / change**2)

    def typical(self, amount: Fraction, tables: int) -> float:
        """Standard deviation of the noise of so many tables that share an amount evenly."""
        return sqrt(self.table(amount / tables).variance)


def _root(square: Fraction) -> Fraction:
    """The square root, rounded down."""
    return Fraction(isqrt(int(square * _FINE**2)), _FINE)
