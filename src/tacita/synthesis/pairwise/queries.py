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

ONE_WAY = Fraction(1, 4)
_FINE = 10**6  # variances are whole multiples of this fraction


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


def _priced(sets: Sequence[tuple[int, ...]], levels: tuple[int, ...], rho: Fraction, replace: bool) -> list[Query]:
    weights, costs, contrasts = [], [], []
    for attributes in sets:
        contrast = len(attributes) == 2 and all(levels[one] == 2 for one in attributes)
        cells = 1
        for one in attributes:
            cells *= levels[one]
        # Δ²/2: a replaced record moves one count down and one up, a contrast by two; an added one moves each by one.
        cost = Fraction(2 if contrast else 1) if replace else Fraction(1, 2)
        # A contrast spreads over four cells, a quarter of it on each.
        per_cell = cost / 16 if contrast else cost
        weights.append(float(per_cell / cells) ** (1 / 3) * (4 if contrast else 1))
        costs.append(cost)
        contrasts.append(contrast)
    total = sum(float(cost) / weight**2 for cost, weight in zip(costs, weights, strict=True))
    found = []
    for attributes, cost, weight, contrast in zip(sets, costs, weights, contrasts, strict=True):
        wanted = weight**2 * total / float(rho)
        variance = Fraction(int(wanted * _FINE) + 1, _FINE)
        found.append(Query(attributes, contrast, variance, cost / variance))
    return found
