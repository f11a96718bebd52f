"""Which tables are measured and how precisely: public arithmetic, decided before any data.

All one-way tables and all pairs. A pair of two-level attributes needs only its one contrast n₁₁ − n₁₂ − n₂₁ + n₂₂,
because its margins are measured anyway; at the same error per cell that costs a quarter (one record added) or half
(one replaced) of the whole table.
Budgets minimise the summed error of all cells: noise per cell ∝ (cost/cells)^(1/3).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from math import pi, prod, sqrt

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

ONE_WAY = Fraction(1, 4)
_FINE = 10**6  # variances are whole multiples of this fraction
_ROOM = 1 + 2.0**-30  # more than double precision can lose below, so that the sum never exceeds ρ


@dataclass(frozen=True)
class Query:
    """A table of one or two attributes, or the contrast of two two-level ones; noise of this variance per number."""

    attributes: tuple[int, ...]
    contrast: bool
    variance: Fraction
    rho: Fraction


def queries(
    levels: tuple[int, ...], rho: Fraction, replace: bool, pairs: list[tuple[int, int]] | None = None
) -> list[Query]:
    """All queries within a total of ρ; `pairs` restricts the two-way ones."""
    wanted = list(combinations(range(len(levels)), 2)) if pairs is None else pairs
    ones: list[tuple[int, ...]] = [(one,) for one in range(len(levels))]
    share = ONE_WAY if wanted else Fraction(1)
    found = _priced(ones, levels, rho * share, replace)
    return found + (_priced(wanted, levels, rho * (1 - share), replace) if wanted else [])


def error(query: Query, levels: tuple[int, ...]) -> float:
    """Expected L1 error of a table, in records: cells times the mean size of normal noise per cell."""
    return _price(query.attributes, levels, False).spread * sqrt(query.variance) * sqrt(2 / pi)


def growing_error(pairs: Sequence[tuple[int, int]], levels: tuple[int, ...], rho: Fraction, replace: bool) -> Floats:
    """Summed `error` of the first pair, of the first two, and so on, if only these are measured within ρ."""
    prices = [_price(pair, levels, replace) for pair in pairs]
    total = np.cumsum([float(one.cost) / one.weight**2 for one in prices])
    spread = np.cumsum([one.spread * one.weight for one in prices])
    return np.asarray(spread * np.sqrt(total / float(rho * (1 - ONE_WAY))) * sqrt(2 / pi))


@dataclass(frozen=True)
class _Price:
    """`cost` is Δ²/2, `weight` the standard deviation of the noise up to a factor, `spread` what it does to the table:
    the number of cells, or for a contrast four times a quarter."""

    cost: Fraction
    weight: float
    contrast: bool
    spread: float


def _price(attributes: tuple[int, ...], levels: tuple[int, ...], replace: bool) -> _Price:
    contrast = len(attributes) == 2 and all(levels[one] == 2 for one in attributes)
    cells = prod(levels[one] for one in attributes)
    # A replaced record moves one count down and one up, a contrast by two; an added one moves each by one.
    cost = Fraction(2 if contrast else 1) if replace else Fraction(1, 2)
    # A contrast spreads over four cells, a quarter of it on each.
    per_cell = cost / 16 if contrast else cost
    weight = float(per_cell / cells) ** (1 / 3) * (4 if contrast else 1)
    return _Price(cost, weight, contrast, cells / 4 if contrast else cells)


def _priced(sets: Sequence[tuple[int, ...]], levels: tuple[int, ...], rho: Fraction, replace: bool) -> list[Query]:
    prices = [_price(attributes, levels, replace) for attributes in sets]
    total = sum(float(one.cost) / one.weight**2 for one in prices)
    found = []
    for attributes, one in zip(sets, prices, strict=True):
        wanted = one.weight**2 * total / float(rho) * _ROOM
        variance = Fraction(int(wanted * _FINE) + 1, _FINE)
        found.append(Query(attributes, one.contrast, variance, one.cost / variance))
    return found
