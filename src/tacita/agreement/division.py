"""How one budget is divided over tables that will agree: equally, for the smallest variance, or for wanted margins.

Shares are public and chosen before any data. They are whole percents that add up to one, so that the plan's parameters
stay exact. A table's noise has a variance of 1 / share² under ε, of 1 / share under ρ (`power`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from math import prod

import numpy as np
from numpy.typing import NDArray

from tacita.agreement.crossed import Axis, Layout, Levels, expected
from tacita.errors import UsageError
from tacita.lazy import later

optimize = later("scipy.optimize")

Floats = NDArray[np.float64]
Share = Fraction | float

PERCENT = 100
_SHARPNESS = 12  # how closely a mean of high powers follows the largest


def equal_shares(tables: int) -> tuple[Fraction, ...]:
    """The stated rule: every table the same.

    >>> equal_shares(3)
    (Fraction(1, 3), Fraction(1, 3), Fraction(1, 3))
    """
    return (Fraction(1, tables),) * tables


def best_shares(
    axes: Sequence[Axis], levels: Sequence[Levels], *, weights: Sequence[float] | None = None, power: int = 2
) -> tuple[Fraction, ...]:
    """The shares with the smallest weighted sum of the tables' mean variances after agreement.

    A total of two parts is known from them; one of many parts needs a share of its own:

    >>> [[str(share) for share in best_shares([Axis.flat(size)], [(1,), (0,)])] for size in (2, 50)]
    [['1/100', '99/100'], ['1/2', '1/2']]
    """
    wanted = np.ones(len(levels)) if weights is None else np.asarray(weights, dtype=np.float64)
    if wanted.size != len(levels) or not (wanted >= 0).all() or not wanted.any():
        raise UsageError("weights: one per table, 0 or more and not all 0")
    return _searched(axes, levels, power, lambda variances: float(np.log(wanted @ variances)))


def shares_for(
    axes: Sequence[Axis], levels: Sequence[Levels], deviations: Sequence[float], *, power: int = 2
) -> tuple[tuple[Fraction, ...], float]:
    """The shares with which wanted standard deviations are met for the least budget, and that budget: the multiple of
    the one at which a table with all of it has noise of variance 1."""
    wanted = np.asarray(deviations, dtype=np.float64) ** 2
    if wanted.size != len(levels) or not (wanted > 0).all():
        raise UsageError("deviations: one per table, each above 0")

    def worst(variances: Floats) -> float:
        ratios = np.log(variances / wanted)
        return float(ratios.max() + np.log(np.mean(np.exp(_SHARPNESS * (ratios - ratios.max())))) / _SHARPNESS)

    shares = _searched(axes, levels, power, worst)
    missed = mean_variances(axes, levels, shares, power=power) / wanted
    return shares, float(missed.max() ** (1 / power))


def mean_variances(
    axes: Sequence[Axis], levels: Sequence[Levels], shares: Sequence[Share], *, power: int = 2
) -> Floats:
    """Each table's mean variance after agreement, for a budget at which all of it would give noise of variance 1."""
    layout = Layout.of(axes, levels, [float(share) ** -power if share else np.inf for share in shares])
    return np.array([float(np.mean(one)) for one in expected(layout)])


def _searched(
    axes: Sequence[Axis], levels: Sequence[Levels], power: int, loss: Callable[[Floats], float]
) -> tuple[Fraction, ...]:
    layout = Layout.of(axes, levels, [1.0] * len(levels))
    if len(levels) == 1:
        return (Fraction(1),)
    # Crossed trees are estimated exactly where variances are a product: there each axis has shares by level, and a
    # table the product of its levels' shares.
    crossed = layout.tree is None and layout.factors is not None
    places = [tuple(used.index(at) for used, at in zip(layout.used, one, strict=True)) for one in levels]
    sizes = [len(one) for one in layout.used] if crossed else [len(levels)]

    def parts(logits: Floats) -> list[Floats]:
        raised = [np.exp(one) for one in np.split(logits, np.cumsum(sizes)[:-1])]
        return [one / one.sum() for one in raised]

    def joined(parts: Sequence[Sequence[Share]]) -> list[Share]:
        if not crossed:
            return list(parts[0])
        return [prod(part[at] for part, at in zip(parts, place, strict=True)) for place in places]

    def lost(logits: Floats) -> float:
        return loss(mean_variances(axes, levels, joined([one.tolist() for one in parts(logits)]), power=power))

    best = optimize.minimize(lost, np.zeros(sum(sizes)), method="L-BFGS-B", bounds=[(-5.0, 5.0)] * sum(sizes))
    return tuple(Fraction(share) for share in joined([_in_percent(one) for one in parts(best.x)]))


def _in_percent(shares: Floats) -> tuple[Fraction, ...]:
    """Whole percents that add up to one, none of them 0; finer where there are many tables."""
    grid = PERCENT * (1 + shares.size // 20)
    floors = np.maximum(np.floor(shares * grid).astype(np.int64), 1)
    while floors.sum() > grid:
        floors[np.argmax(np.where(floors > 1, floors - shares * grid, -np.inf))] -= 1
    order = np.argsort(floors - shares * grid, kind="stable")
    floors[order[: grid - int(floors.sum())]] += 1
    return tuple(Fraction(int(one), grid) for one in floors)
