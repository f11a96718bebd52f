"""What may be expected of a number, from public facts alone: its ε, the number of records, its predictors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import exp, log, sqrt
from statistics import NormalDist

from tacita.synthesis.quantile.budget import (
    ABUNDANT,
    CLOSENESS,
    CONNECTED,
    COUNTED,
    ENOUGH,
    LOOK,
    OWN,
    SCALED,
    own_targets,
)

_TAIL = 0.3  # of what lies beyond the last quantile: by how much a fitted tail is usually off
_NORMAL = NormalDist()


@dataclass(frozen=True)
class Expected:
    """The error of a quantile in ranks, how many quantiles there are, and the error of a mean as a share of it."""

    ranks: float
    quantiles: int
    mean: float


def expected_error(epsilon: Fraction, records: int, has_predictors: bool, cells: int) -> Expected:
    """The mean is that of a log-normal number with σ = 1, which is as skewed as incomes are.

    >>> expected_error(Fraction(1, 2), 1000, True, 1).mean > expected_error(Fraction(1, 2), 100_000, True, 1).mean
    True
    """
    epsilon -= min(epsilon * COUNTED, Fraction(ENOUGH, 1 << records.bit_length()))
    worth = records * epsilon
    if has_predictors and SCALED * cells <= worth < ABUNDANT:
        epsilon *= (1 - LOOK) * (1 - CLOSENESS)  # what is left to ranks; planes are taken where they do better
    targets, paid = own_targets(epsilon * OWN if has_predictors and worth >= CONNECTED else epsilon, records)
    return _expected(paid, len(targets), float(targets[0]), records)


def _expected(levels: Sequence[Fraction], quantiles: int, last: float, records: int) -> Expected:
    variances = [2 / float(paid) ** 2 for paid in levels]
    ranks = sqrt(sum(variances) / 3 + variances[-1])
    z = -_NORMAL.inv_cdf(last)
    # Quantiles that are all off by so many ranks move the mean by that share of what lies between the outer ones.
    moved = ranks / records * (exp(z) - exp(-z)) / exp(0.5) / sqrt(log(quantiles + 1, 2))
    beyond = _TAIL * _NORMAL.cdf(1 - z)
    return Expected(ranks, quantiles, sqrt(moved**2 + beyond**2))
