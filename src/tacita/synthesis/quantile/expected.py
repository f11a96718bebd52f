"""What may be expected of a number, from public facts alone: its ε, the number of records, its predictors."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import exp, expm1, hypot, log, pi, sqrt
from statistics import NormalDist

from tacita.synthesis.pinned.plain import LIKE_AGES, LIKE_INCOMES, LIKE_WEALTH, TAIL, likely_off
from tacita.synthesis.quantile.budget import (
    ABUNDANT,
    ALONE,
    CELLS,
    CLOSENESS,
    CONNECTED,
    COUNTED,
    ENOUGH,
    FIRST,
    LOOK,
    OCTAVES,
    OWN,
    SCALED,
    TOTAL,
    TOTALLED,
    own_targets,
)
from tacita.synthesis.quantile.ranks import UNLIKE, classes

_NORMAL = NormalDist()
# Deviation of a correlation, in inverse records times ε, by the number of classes it is read from: that of
# `ranks.correlation_of` for independent normal numbers.
_SEEN = {2: 2.2, 4: 5.6, 8: 11.0}
# Octaves that amounts of money usually lie in, and the mean error of a quantile between them, in scales of the noise of
# a count: noise of as many counts as lie on either side, whose sum is known.
_SEEN_OCTAVES, _OCTAVES_OFF = 12, 2.0
_UNRELATED = 0.4  # where numbers are drawn by themselves


@dataclass(frozen=True)
class Expected:
    """The error of a quantile in ranks, how many quantiles there are, and the error of a mean as a share of it: that of
    a number as alike as ages are, of one as skewed as incomes, and of one as skewed as wealth."""

    ranks: float
    quantiles: int
    alike: float
    mean: float
    heavy: float


def expected_error(
    epsilon: Fraction, records: int, has_predictors: bool, cells: int, *, stays: bool, wide: bool = False
) -> Expected:
    """From the ε of a record added or removed; `stays` where it is replaced in its group, and totals have half the
    noise; `wide` where bounds are so wide that octaves are counted.

    >>> few, many = (expected_error(Fraction(1, 2), records, True, 1, stays=True) for records in (1000, 100_000))
    >>> few.heavy > few.mean > many.mean > many.alike
    True
    """
    if wide and TOTALLED <= records * epsilon < ABUNDANT:
        return _from_octaves(epsilon, records, has_predictors, cells, 2 if stays else 1)
    epsilon -= min(epsilon * COUNTED, Fraction(ENOUGH, 1 << records.bit_length()))
    worth = records * epsilon
    if has_predictors and SCALED * cells <= worth < ABUNDANT:
        epsilon *= (1 - LOOK) * (1 - CLOSENESS)  # what is left to ranks; planes are taken where they do better
    connected, added = has_predictors and worth >= CONNECTED, worth >= TOTALLED
    share = OWN if connected else FIRST if added else Fraction(1)
    total = float(epsilon * (1 - share) * (TOTAL if connected else 1)) if added else None
    targets, paid = own_targets(epsilon * share, records)
    variances = [2 / float(one) ** 2 for one in paid]
    ranks = sqrt(sum(variances) / 3 + variances[-1])
    errors = []
    for sigma in (LIKE_AGES, LIKE_INCOMES, LIKE_WEALTH):
        error = _from_quantiles(sigma, ranks, len(targets), float(targets[0]), records)
        if total is not None:
            error = min(error, likely_off(sigma, 1 / total / (2 if stays else 1), records))
        errors.append(error)
    return Expected(ranks, len(targets), *errors)


def _from_octaves(epsilon: Fraction, records: int, has_predictors: bool, cells: int, steps: int) -> Expected:
    """Where octaves are counted. A number as skewed as incomes are has its mean from them, one as skewed as wealth from
    them and its total, weighed by their noise; a total of a record that stays has so many `steps` of noise less."""
    if records * epsilon >= SCALED * cells:
        epsilon -= min(epsilon * COUNTED, Fraction(ENOUGH, 1 << records.bit_length()))
        epsilon *= (1 - LOOK) * (1 - CLOSENESS if has_predictors else 1)
    share = OCTAVES if has_predictors else ALONE
    counted = 1 / float(epsilon * share)
    total = 1 / float(epsilon * (1 - share) * (TOTAL if has_predictors else 1) * steps)
    alike, usual, heavy = (likely_off(sigma, counted, records) for sigma in (LIKE_AGES, LIKE_INCOMES, LIKE_WEALTH))
    summed = likely_off(LIKE_WEALTH, total, records)
    # About half of what both are off by is the tail beyond what was seen, which is the same for both.
    weighed = hypot(heavy * summed / hypot(heavy, summed), summed) / sqrt(2)
    return Expected(_OCTAVES_OFF * counted, _SEEN_OCTAVES, alike, usual, weighed)


def correlation_error(epsilon: Fraction, records: int, numbers: int, *, codes: bool, wide: bool = False) -> float:
    """Of the rank correlation of a number with one of the `numbers` before it, if its tail is long: about the mean size
    of the error, from noise and from numbers that do not go together as normal ones do.

    >>> one, three = (correlation_error(Fraction(1, 2), 1000, numbers, codes=False) for numbers in (1, 3))
    >>> one < three
    True
    """
    epsilon -= min(epsilon * COUNTED, Fraction(ENOUGH, 1 << records.bit_length()))
    if records * epsilon < CONNECTED:
        return _UNRELATED
    each = epsilon * (1 - (OCTAVES if wide else OWN)) * (1 - TOTAL) * (1 - CELLS if codes else 1) / numbers
    size = classes(records, each)
    return min(hypot(UNLIKE[size], sqrt(2 / pi) * _SEEN[size] / float(records * each)), _UNRELATED)


def _from_quantiles(sigma: float, ranks: float, quantiles: int, last: float, records: int) -> float:
    """Of the mean of a log-normal number, as a share of it."""
    if quantiles == 1:  # files then have the mean of an exponential law
        return hypot(1 - 1 / log(2) / exp(sigma**2 / 2), expm1(sigma * min(2.5 * ranks / records, 1.0)))
    z = -_NORMAL.inv_cdf(last)
    # Quantiles that are all off by so many ranks move the mean by that share of what lies between the outer ones.
    between = (exp(sigma * z) - exp(-sigma * z)) / exp(sigma**2 / 2)
    moved = ranks / records * between / sqrt(log(quantiles + 1, 2))
    return hypot(moved, TAIL * _NORMAL.cdf(sigma - z))
