"""Do counts and numbers follow a law? P-values that are exact at any sample size, and one declared failure rate.

Pearson's chi-square is an approximation: a cell with expectation 0.09 that is hit twice has a "p-value" of 1e-10. Here
every p-value is valid as it stands, P(p ≤ a) ≤ a for every a, so that a test with fresh entropy fails by chance as
often as is declared and no more:

- counts over cells: a multinomial law is a tree of binomial ones. Halve the cells again and again; given the count of
  a part, the count of its left half is binomial. The least of these exact p-values times their number is valid
  (Bonferroni). Two trees are asked, one in the order of the cells (which sees shifts) and one in the order of their
  chances (which sees noise that is too small or too large);
- a share: one binomial law;
- numbers from a continuous law: Kolmogorov's statistic with its law at this number.
"""

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import binom, kstwo

# The chance that one check fails although the law is right, and that any check of the whole suite does.
ONE_CHECK, WHOLE_SUITE = 1e-7, 1e-4
# Scales a fifth off, which the same statistic with as many draws must reject.
WRONG = [Fraction(4, 5), Fraction(6, 5)]
MOST_CHECKS = round(WHOLE_SUITE / ONE_CHECK)
_made = 0


def fits(p: float) -> bool:
    """Whether a p-value speaks for the law: false by chance once in ten million checks.

    A check of a law known to be wrong says `not fits(p)`. It counts too, though it fails by chance for another reason
    (too few draws); such tests take enough draws for p-values far below the rate.
    """
    global _made
    _made += 1
    assert _made <= MOST_CHECKS, f"more than {MOST_CHECKS} checks: the whole suite would fail too often by chance"
    return p > ONE_CHECK


def begin_anew() -> None:
    """Count checks from nothing: another run of the suite in the same process has a failure rate of its own."""
    global _made
    _made = 0


def share_p_value(hits: ArrayLike, tries: ArrayLike, chance: ArrayLike) -> NDArray[np.float64]:
    """Twice the smaller tail of the binomial law: the exact p-value of a share, or of each of several."""
    hits, tries, chance = np.asarray(hits), np.asarray(tries), np.clip(np.asarray(chance, dtype=float), 0, 1)
    tail = np.minimum(binom.cdf(hits, tries, chance), binom.sf(hits - 1, tries, chance))
    return np.asarray(np.minimum(1, 2 * tail))


def counts_p_value(seen: ArrayLike, chances: ArrayLike) -> float:
    """The exact p-value of counts over cells whose chances are known; something impossible has 0."""
    seen, chances = np.asarray(seen, dtype=np.int64).ravel(), np.asarray(chances, dtype=float).ravel()
    assert seen.shape == chances.shape
    assert abs(chances.sum() - 1) < 1e-6, f"chances sum to {chances.sum()}"
    if seen[chances <= 0].any():
        return 0.0
    seen, chances = seen[chances > 0], chances[chances > 0]
    orders = [np.arange(seen.size)]
    if (np.diff(chances) > 0).any():  # else the second tree is the first
        orders.append(np.argsort(-chances, kind="stable"))
    splits = np.concatenate([_splits(seen[order], chances[order]) for order in orders])
    if not len(splits):
        return 1.0
    return float(min(1, len(splits) * share_p_value(splits[:, 0], splits[:, 1], splits[:, 2]).min()))


def _splits(seen: NDArray[np.int64], chances: NDArray[np.float64]) -> NDArray[np.float64]:
    """Count of the left half, count of the part, chance of the left half given the part: for every part of the tree.

    A part is cut where its chances are nearest to halves. Parts that are expected less than once stay whole: they can
    say little, and each further split makes the others say less. Which parts these are depends on the law alone.
    """
    counted, reached = np.append(0, np.cumsum(seen)), np.append(0.0, np.cumsum(chances))
    draws, found, parts = int(counted[-1]), [], [(0, seen.size)]
    while parts:
        low, high = parts.pop()
        mass = reached[high] - reached[low]
        if high - low < 2 or mass * draws < 1:
            continue
        half = reached[low] + mass / 2
        middle = int(np.searchsorted(reached, half))
        middle -= bool(half - reached[middle - 1] < reached[middle] - half)
        middle = min(max(middle, low + 1), high - 1)
        # Summed anew: a difference of sums near 1 would lose the digits of a tiny chance.
        left, right = chances[low:middle].sum(), chances[middle:high].sum()
        found.append((counted[middle] - counted[low], counted[high] - counted[low], left / (left + right)))
        parts += [(low, middle), (middle, high)]
    return np.array(found, dtype=float).reshape(-1, 3)


def values_p_value(values: ArrayLike, below: Callable[[Any], Any]) -> float:
    """The p-value of numbers from a continuous law with this distribution function (Kolmogorov's, exact)."""
    reached = np.sort(np.asarray(below(np.asarray(values, dtype=float).ravel()), dtype=float))
    place = np.arange(reached.size + 1) / reached.size
    return float(kstwo.sf(max((place[1:] - reached).max(), (reached - place[:-1]).max()), reached.size))


def cells_of(values: ArrayLike, lowest: int, cells: int) -> NDArray[np.int64]:
    """Counts of whole numbers: everything below `lowest`, each of the `cells` numbers from it on, everything above."""
    place = np.clip(np.asarray(values) - lowest + 1, 0, cells + 1).astype(np.int64)
    return np.bincount(place.ravel(), minlength=cells + 2)


def cells_p_value(draws: NDArray[np.int64], lowest: int, chances: NDArray[np.float64]) -> float:
    """Against exact chances of everything below `lowest`, of lowest, lowest + 1, … and of everything above."""
    return counts_p_value(cells_of(draws, lowest, chances.size - 2), chances)
