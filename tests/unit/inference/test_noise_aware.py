"""Intervals for what is made of noisy cells: exact where the noise is known, honest where it is not."""

from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
import pytest

from tacita.data.schema import Schema
from tacita.errors import UsageError
from tacita.inference.noise_aware import NoisyCells, chance_within, margin_of_sum
from tacita.measured import Measured
from tacita.noise.discrete import DiscreteLaplace
from tacita.noise.error import FixedError, HiddenScaleError
from tacita.noise.laws import Student

LAW = DiscreteLaplace(Fraction(3))
SCHEMA = Schema.from_dict(
    {
        "dataset": {"identity": "demo", "unit": "job"},
        "variables": {
            "place": {"type": "categorical", "role": "public", "levels": ["p", "q"]},
            "sex": {"type": "categorical", "role": "public", "levels": ["F", "M", "X"]},
        },
    }
)


def measured(error: Any) -> Measured:
    return Measured(
        keys={"place": np.array([0, 1], dtype=np.int32)},
        worker=("sex",),
        values=np.array([[100, 200, 5], [50, 60, 2]], dtype=np.int64),
        error=error,
        plan={},
        guarantee="for a test",
        rehearsal=True,
    )


def enumerated(weights: list[int], distance: int) -> float:
    """P(|Σ w·noise| ≤ distance) by adding up every combination of draws."""
    reach = np.arange(-70, 71)
    mass = LAW.pmf(reach)
    law = {0: 1.0}
    for weight in weights:
        grown: dict[int, float] = {}
        for (value, chance), (step, more) in product(law.items(), zip(reach, mass, strict=True)):
            key = value + weight * int(step)
            grown[key] = grown.get(key, 0.0) + chance * float(more)
        law = grown
    return sum(chance for value, chance in law.items() if abs(value) <= distance)


@pytest.mark.parametrize("weights", [[1], [1, -1], [2, 1], [1, 1, 1]])
@pytest.mark.parametrize("distance", [0, 3, 12])
def test_the_law_of_a_sum_is_that_of_every_combination(weights: list[int], distance: int) -> None:
    found = chance_within(LAW, np.array(weights, dtype=float), distance)
    assert found == pytest.approx(enumerated(weights, distance), abs=1e-9)


def test_one_cell_has_the_margin_of_its_law() -> None:
    for confidence in (0.5, 0.9, 0.95, 0.99):
        assert margin_of_sum(LAW, np.array([1.0]), confidence) == LAW.margin(confidence)


def test_a_margin_is_the_smallest_that_keeps_the_confidence() -> None:
    weights = np.array([1.0, 1.0, -1.0])
    margin = margin_of_sum(LAW, weights, 0.95)
    assert chance_within(LAW, weights, margin) >= 0.95 > chance_within(LAW, weights, margin - 1)


def test_continuous_weights_agree_with_whole_ones_where_both_apply() -> None:
    wide = DiscreteLaplace(Fraction(200))
    whole = chance_within(wide, np.array([1.0, 2.0, 2.0]), 900)
    assert chance_within(wide, np.array([1.0, 2.0, 2.0]) + 1e-7, 900) == pytest.approx(whole, abs=1e-3)


def test_cells_are_found_by_their_levels() -> None:
    cells = NoisyCells.from_measured(measured(FixedError(LAW)), SCHEMA)
    assert cells.where(sex="F").tolist() == [True, False, False, True, False, False]
    assert cells.sum(cells.where(place="q")).value == 112
    assert cells.sum(cells.where(place="p", sex=("F", "M"))).value == 300
    assert cells.difference(cells.where(sex="M"), cells.where(sex="F")).value == 110
    assert cells.sum(cells.where()).value == 417


def test_cells_in_both_sums_of_a_difference_cancel() -> None:
    cells = NoisyCells.from_measured(measured(FixedError(LAW)), SCHEMA)
    found = cells.difference(cells.where(), cells.where(place="q"))
    assert (found.lower, found.upper) == (
        cells.sum(cells.where(place="p")).lower,
        cells.sum(cells.where(place="p")).upper,
    )
    same = cells.difference(cells.where(), cells.where())
    assert (same.lower, same.upper) == (0, 0)


def test_shares_stay_between_zero_and_one_and_ratios_above_zero() -> None:
    cells = NoisyCells.with_laplace(np.array([-2.0, 40.0, 1.0]), LAW)
    first, last, everything = (np.array(one, dtype=bool) for one in ([1, 0, 0], [0, 0, 1], [1, 1, 1]))
    share = cells.share(first, everything)
    assert share.lower == share.value == 0
    assert 0 < share.upper < 1
    assert cells.share(everything, everything).upper == 1
    assert cells.ratio(~last, last).upper == np.inf  # the denominator may be zero
    assert cells.ratio(first, ~first).lower == 0


def test_a_wider_confidence_gives_a_wider_interval() -> None:
    cells = NoisyCells.from_measured(measured(FixedError(LAW)), SCHEMA)
    narrow, wide = (cells.ratio(cells.where(sex="F"), cells.where(sex="M"), one) for one in (0.8, 0.99))
    assert wide.lower < narrow.lower < narrow.value < narrow.upper < wide.upper


def test_cells_drawn_together_add_up_and_others_by_their_squares() -> None:
    law = HiddenScaleError(Student(Fraction(3)), Fraction(1), Fraction(1, 10), Fraction(1), bounded_by="row")
    result = measured(law)
    cells = NoisyCells.from_measured(result, SCHEMA)
    lower, upper = result.intervals(0.95)
    half = np.maximum(upper - result.values, result.values - lower)
    row = cells.sum(cells.where(place="p"))
    assert row.upper - row.value == pytest.approx(half[0].sum())
    table = cells.sum(cells.where())
    assert table.upper - table.value == pytest.approx(1.1 * np.sqrt((half.sum(axis=1) ** 2).sum()))


def test_a_published_table_is_enough_at_its_own_confidence() -> None:
    table = pd.DataFrame({"sex": ["F", "M"], "value": [30, 50], "margin_of_error": [3.0, 4.0], "confidence": 0.9})
    cells = NoisyCells.from_table(table)
    found = cells.sum(cells.where(), 0.9)
    assert (found.value, found.upper - found.value) == (80, pytest.approx(1.2 * 5))
    assert cells.share(cells.where(sex="F"), cells.where(), 0.9).value == 0.375
    with pytest.raises(UsageError, match="its own confidence only"):
        cells.sum(cells.where(), 0.95)


def test_a_cell_without_a_margin_leaves_the_sum_open() -> None:
    table = pd.DataFrame({"value": [30, 50], "margin_of_error": [3.0, np.nan], "confidence": 0.95})
    found = NoisyCells.from_table(table).sum(np.array([True, True]))
    assert (found.lower, found.upper) == (-np.inf, np.inf)


@pytest.mark.parametrize(
    ("ask", "said"),
    [
        (lambda cells: cells.sum(np.zeros(6, dtype=bool)), "no cell is chosen"),
        (lambda cells: cells.sum(np.ones(5, dtype=bool)), "one true or false per cell, 6 in all"),
        (lambda cells: cells.sum(cells.where(), 95), "confidence"),
        (lambda cells: cells.share(cells.where(), cells.where(sex="F")), "part: has cells that are not in whole"),
        (lambda cells: cells.where(age="old"), "age: no attribute of these cells; they have place, sex"),
        (lambda cells: cells.where(sex="W"), "sex: no cell has the level W"),
        (lambda cells: cells.linear(np.ones(2)), "weights: 2 given for 6"),
        (lambda cells: NoisyCells.from_table(pd.DataFrame({"value": [1]})), "margin_of_error: no such column"),
    ],
)
def test_questions_without_an_answer_are_refused(ask: Any, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        ask(NoisyCells.from_measured(measured(FixedError(LAW)), SCHEMA))


def test_a_ratio_is_never_negative_even_where_the_noisy_numerator_is() -> None:
    cells = NoisyCells.with_laplace(np.array([-3.0, 100.0]), DiscreteLaplace(Fraction(2)))
    found = cells.ratio(np.array([True, False]), np.array([False, True]))
    assert found.value == found.lower == 0
    assert 0 < found.upper < 0.1
