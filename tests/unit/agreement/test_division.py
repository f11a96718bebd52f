"""Shares of one budget over tables that will agree."""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tacita.agreement.crossed import Axis
from tacita.agreement.division import _in_percent, best_shares, equal_shares, mean_variances, shares_for
from tacita.errors import UsageError

GEOGRAPHY = Axis(tuple(np.arange(240) // size for size in (1, 6, 60, 240)))
INDUSTRY = Axis(tuple(np.arange(12) // size for size in (1, 3, 12)))
SECTOR = Axis.flat(8)
LAYOUTS = {
    "a tree": ([GEOGRAPHY], [(at,) for at in range(4)]),
    "a tree by sector": ([GEOGRAPHY, SECTOR], list(product(range(4), range(2)))),
    "some tables": ([GEOGRAPHY, SECTOR], [(3, 0), (1, 1), (0, 0)]),
    "crossed trees": ([GEOGRAPHY, INDUSTRY], list(product(range(4), range(3)))),
}


@pytest.mark.parametrize("power", [1, 2])
@pytest.mark.parametrize("name", LAYOUTS)
def test_best_shares_are_exact_and_no_worse_than_equal_ones_or_their_neighbours(name: str, power: int) -> None:
    axes, levels = LAYOUTS[name]
    shares = best_shares(axes, levels, power=power)
    assert sum(shares) == 1
    assert all(share > 0 for share in shares)
    lost = mean_variances(axes, levels, shares, power=power).sum()
    # Whole percents cost a little; half a percent of the variance where a share is small.
    assert lost <= 1.005 * mean_variances(axes, levels, equal_shares(len(levels)), power=power).sum()
    if name == "crossed trees":
        return
    for giver, taker in product(range(len(levels)), repeat=2):
        moved = list(shares)
        moved[giver] -= Fraction(1, 50)
        moved[taker] += Fraction(1, 50)
        if giver != taker and moved[giver] > 0:
            assert lost <= 1.002 * mean_variances(axes, levels, moved, power=power).sum()


def test_weights_draw_the_budget_to_what_matters() -> None:
    axes, levels = LAYOUTS["a tree"]
    plain = best_shares(axes, levels)
    top = best_shares(axes, levels, weights=[1, 1, 1, 50])
    assert top[3] > plain[3]
    before, after = (mean_variances(axes, levels, one) for one in (plain, top))
    assert after[3] < before[3]


@pytest.mark.parametrize("power", [1, 2])
def test_wanted_deviations_are_met_by_the_budget_that_is_named(power: int) -> None:
    axes, levels = LAYOUTS["a tree by sector"]
    wanted = np.array([6.0, 6.0, 6.0, 6.0, 3.0, 3.0, 3.0, 3.0])
    shares, budget = shares_for(axes, levels, wanted.tolist(), power=power)
    assert sum(shares) == 1
    reached = mean_variances(axes, levels, shares, power=power) / budget**power
    assert (reached <= wanted**2 * (1 + 1e-9)).all()
    equal = mean_variances(axes, levels, equal_shares(len(levels)), power=power) / wanted**2
    assert budget < float(equal.max()) ** (1 / power)


def test_what_makes_no_sense_is_refused() -> None:
    axes, levels = LAYOUTS["a tree"]
    for weights in ([1.0], [0.0] * 4, [-1.0, 1.0, 1.0, 1.0]):
        with pytest.raises(UsageError, match="weights"):
            best_shares(axes, levels, weights=weights)
    with pytest.raises(UsageError, match="deviations"):
        shares_for(axes, levels, [0.0, 1.0, 1.0, 1.0])


@settings(max_examples=200)
@given(st.lists(st.floats(1e-9, 1.0), min_size=1, max_size=60))
def test_percents_are_never_nothing_and_add_up(weights: list[float]) -> None:
    shares = _in_percent(np.array(weights) / sum(weights))
    assert sum(shares) == 1
    assert min(shares) > 0
