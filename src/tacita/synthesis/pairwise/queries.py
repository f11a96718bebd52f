"""Which tables are measured and how precisely: public arithmetic, decided before any data.

All one-way tables and all pairs. In a pair a two-level attribute enters by the difference of its levels only, because
the sum over them is a one-way table, which is measured anyway: n₁ᵥ − n₂ᵥ for every level v of the other attribute, and
the one number n₁₁ − n₁₂ − n₂₁ + n₂₂ where both have two levels.
Budgets minimise the summed error of all cells: standard deviation ∝ (cost/numbers)^(1/3).
A replaced record does not change all of these as much as each of them could be changed, so together they cost less
than one by one: `together`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from math import log, pi, prod, sqrt

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

ONE_WAY = Fraction(2, 5)
_FINE = 10**6  # variances are whole multiples of this fraction
_ROOM = 1 + 2.0**-30  # more than double precision can lose below, so that the sum never exceeds ρ
_MOST_WAYS = 50_000


@dataclass(frozen=True)
class Query:
    """A table of one or two attributes, or the contrast over its two-level ones; noise of this variance per number.

    `rho` is what the query costs alone.
    """

    attributes: tuple[int, ...]
    contrast: bool
    variance: Fraction
    rho: Fraction


def queries(levels: tuple[int, ...], rho: Fraction, replace: bool) -> list[Query]:
    """All one-way tables and all pairs within a total of ρ."""
    ones, pairs = singles(levels), list(combinations(range(len(levels)), 2))
    share = float(ONE_WAY) if pairs else 1.0
    prices = {sets: price(sets, levels, replace) for sets in (*ones, *pairs)}
    variances = _variances(ones, prices, share) | _variances(pairs, prices, 1 - share)
    return _queries(prices, variances, (together(levels, variances) if replace else 1.0) / float(rho))


def some_queries(
    sets: Sequence[tuple[int, ...]], levels: tuple[int, ...], rho: Fraction, replace: bool, leaning: float = 1.0
) -> list[Query]:
    """Tables of these attributes or pairs, whose costs add up to ρ; the less `leaning` to large ones, the more alike is
    the noise of all of them."""
    prices = {one: price(one, levels, replace) for one in sets}
    return _queries(prices, _variances(sets, prices, 1.0, leaning), 1 / float(rho))


def singles(levels: tuple[int, ...]) -> list[tuple[int, ...]]:
    return [(one,) for one in range(len(levels))]


def _queries(
    prices: dict[tuple[int, ...], Price], variances: dict[tuple[int, ...], float], factor: float
) -> list[Query]:
    found = []
    for attributes, one in prices.items():
        variance = Fraction(int(variances[attributes] * factor * _ROOM * _FINE) + 1, _FINE)
        found.append(Query(attributes, one.contrast, variance, one.cost / variance))
    return found


def together(levels: tuple[int, ...], variances: dict[tuple[int, ...], float]) -> float:
    """What all one-way tables and all pairs cost together when one record is replaced: the most that Σ Δ²/(2·variance)
    can be over all sets of attributes in which the two records differ.

    Variances depend on the numbers of levels only, so that only counts matter: how many attributes of two levels
    differ, how many of three, and so on. Where these are too many ways, all is added up as if it changed at once.
    """
    sizes = sorted(set(levels))
    held = [[a for a, size in enumerate(levels) if size == one] for one in sizes]
    alone = sum(float(price(sets, levels, True).cost) / variance for sets, variance in variances.items())
    counted = [
        1 if size == 1 else len(one) + 1 for size, one in zip(sizes, held, strict=True)
    ]  # one level never differs
    if prod(counted) > _MOST_WAYS:
        return alone
    ways = [one.ravel().astype(np.float64) for one in np.indices(counted)]
    total = np.zeros_like(ways[0])
    for g, (size, here) in enumerate(zip(sizes, held, strict=True)):
        differ, same = ways[g], len(here) - ways[g]
        total += differ / variances[here[0],]
        if len(here) > 1:
            both, one = (0, 2) if size == 2 else (1, 1)
            total += (both * differ * (differ - 1) / 2 + one * differ * same) / variances[here[0], here[1]]
        for h in range(g):
            # Half of Δ² is 2 where only a two-level attribute changes, and 1 in all other cases.
            first, second = (2 if sizes[one] == 2 else 1 for one in (g, h))
            there, rest = ways[h], len(held[h]) - ways[h]
            pair = min(here[0], held[h][0]), max(here[0], held[h][0])
            total += (differ * there + first * differ * rest + second * same * there) / variances[pair]
    return min(float(total.max()), alone) if total.max() > 0 else alone


def error(query: Query, levels: tuple[int, ...]) -> float:
    """Expected L1 error of a table, in records: numbers times the mean size of normal noise on each."""
    return price(query.attributes, levels, False).numbers * sqrt(query.variance) * sqrt(2 / pi)


def expected_distance(noise: float, cells: int) -> float:
    """How far a table of two columns will be off in the files, as a share of the records, where noise moves `noise` of
    them. Tables are made to agree, and of cells too small to be told from the noise the single columns are known; few
    cells hold most records. So the more cells, the less is lost where noise is all there is.

    >>> [round(expected_distance(noise, 400), 3) for noise in (0.01, 0.1, 10.0)]
    [0.009, 0.04, 0.066]
    """
    return 1 / (1 / noise + max(log(cells), 1.0) / 0.4) if noise else 0.0


def mean_off(errors: Mapping[tuple[int, ...], float], levels: tuple[int, ...], records: int) -> tuple[float, float]:
    """What noise moves in tables with these `error`s, and by how much files will be off: shares of the records, on
    average."""
    if not errors:
        return 0.0, 0.0
    noise = {attributes: one / records / 2 for attributes, one in errors.items()}
    distances = [expected_distance(one, prod(levels[a] for a in attributes)) for attributes, one in noise.items()]
    return float(np.mean(np.minimum([*noise.values()], 1.0))), float(np.mean(distances))


def pair_errors(levels: tuple[int, ...], rho: Fraction, wanted: int, replace: bool) -> dict[tuple[int, int], int]:
    """`error` of every pair in whole records, if so many pairs of the usual kind are measured within ρ."""
    prices = {pair: price(pair, levels, replace) for pair in combinations(range(len(levels)), 2)}
    usual = wanted * float(np.mean([float(one.cost) / one.weight**2 for one in prices.values()]))
    scale = sqrt(usual / float(rho)) * sqrt(2 / pi)
    return {pair: round(one.numbers * one.weight * scale) for pair, one in prices.items()}


@dataclass(frozen=True)
class Price:
    """`cost` is Δ²/2, `numbers` how many there are, `weight` the standard deviation of the noise up to a factor.

    A number of a contrast spreads over two or four cells, a half or a quarter of it on each.
    """

    cost: Fraction
    numbers: int
    contrast: bool

    @property
    def weight(self) -> float:
        return float((self.cost / self.numbers) ** (1 / 3))


def price(attributes: tuple[int, ...], levels: tuple[int, ...], replace: bool) -> Price:
    sizes = [levels[one] for one in attributes]
    contrast = len(sizes) == 2 and 2 in sizes
    # A replaced record moves one count down and one up, or one number of a contrast by two; an added one moves one.
    cost = Fraction(2 if contrast else 1) if replace else Fraction(1, 2)
    return Price(cost, prod(size for size in sizes if not (contrast and size == 2)), contrast)


def _variances(
    sets: Sequence[tuple[int, ...]], prices: dict[tuple[int, ...], Price], rho: float, leaning: float = 1.0
) -> dict[tuple[int, ...], float]:
    weights = {one: prices[one].weight ** (2 * leaning) for one in sets}
    total = sum(float(prices[one].cost) / weights[one] for one in sets)
    return {one: weights[one] * total / rho for one in sets}
