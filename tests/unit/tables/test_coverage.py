"""Do published margins hold what they promise? Measured on cells whose truth is known, for every plan."""

import inspect
from math import sqrt
from typing import Any

import numpy as np
import pytest

from support.simulated_cells import cells, dropped_above, measured, schema
from tacita.mechanisms import eree
from tacita.noise.entropy import SeededEntropy
from tacita.tables import publish

CELLS = 20_000
SEED = 20260101
THETA = 60
WORKER = {"by": ["place"], "worker": ["sex"]}
PLACE = {"by": ["place"]}
FREE: dict[str, Any] = {
    "SmoothStaircase": eree.SmoothStaircase("0.1", "2", **PLACE),
    "SmoothStaircase, small ε": eree.SmoothStaircase("0.1", "0.5", **PLACE),
    "SmoothStudent": eree.SmoothStudent("0.1", "2", **PLACE),
    "SmoothGamma": eree.SmoothGamma("0.1", "2", **PLACE),
    "SmoothGamma, paper": eree.SmoothGamma("0.1", "2", calibration="paper", **PLACE),
    "SmoothLaplace": eree.SmoothLaplace("0.1", "2", **PLACE),
    "LogLaplace": eree.LogLaplace("0.1", "1", **PLACE),
    "LogLaplace, small ε": eree.LogLaplace("0.1", "0.08", **PLACE),
    "EdgeLaplace": eree.EdgeLaplace("1", **PLACE),
    "TruncatedLaplace": eree.TruncatedLaplace(THETA, "4", **PLACE),
    "SmoothVector, worker": eree.SmoothVector("0.05", "4", **WORKER),
    "SmoothStaircase, worker": eree.SmoothStaircase("0.05", "4", **WORKER),
    "SmoothStudent, weak, worker": eree.SmoothStudent("0.1", "6", definition="weak", **WORKER),
    "LogLaplace, weak, worker": eree.LogLaplace("0.1", "4", definition="weak", **WORKER),
    "EdgeLaplace, worker": eree.EdgeLaplace("1", **WORKER),
}
PAID: dict[str, Any] = {
    "SmoothStaircase": eree.SmoothStaircase("0.1", "2", margin_share="1/10", **PLACE),
    "SmoothStudent": eree.SmoothStudent("0.1", "2", margin_share="1/5", **PLACE),
    "SmoothGamma": eree.SmoothGamma("0.1", "3", margin_share="1/5", **PLACE),
    "SmoothLaplace": eree.SmoothLaplace("0.1", "3", margin_share="1/5", **PLACE),
    "SmoothVector, worker": eree.SmoothVector("0.05", "4", margin_share="1/10", **WORKER),
    "SmoothStaircase, where": eree.SmoothStaircase("0.1", "3", margin_share="1/10", by=["place"], where={"sex": ["F"]}),
    "SmoothStudent, weak, worker": eree.SmoothStudent("0.1", "6", definition="weak", margin_share="1/5", **WORKER),
}


def width(plan: Any) -> int:
    return 3 if plan.worker else 1


def coverage(plan: Any, counted: Any, confidence: float) -> float:
    """Share of cells whose interval, and whose published value and margin, hold the truth."""
    result = measured(plan, counted, SeededEntropy(SEED))
    lower, upper = result.intervals(confidence)
    assert (lower <= upper).all()
    inside = (lower <= counted.counts) & (counted.counts <= upper)
    table = publish(result, schema(CELLS), confidence=confidence)
    margin = table["margin_of_error"].to_numpy(zero_copy_only=False)
    wide = np.isnan(margin) | (np.abs(table["value"].to_numpy() - counted.counts.ravel()) <= margin)
    # Setting negative values to zero moves them towards the truth, so the published margin can only hold more.
    assert (wide | ~inside.ravel()).all()
    return float(inside.mean())


def test_every_plan_is_here() -> None:
    listed = {name for name in eree.__all__ if inspect.isclass(one := getattr(eree, name)) and hasattr(one, "run")}
    assert {type(plan).__name__ for plan in FREE.values()} == listed


@pytest.mark.parametrize("confidence", [0.8, 0.9, 0.95])
@pytest.mark.parametrize("per_cell", [1, 4])
@pytest.mark.parametrize("name", FREE)
def test_free_margins_hold_at_least_what_they_promise(name: str, per_cell: int, confidence: float) -> None:
    plan = FREE[name]
    counted = cells(CELLS, per_cell, width(plan))
    if plan.drops_above is not None:
        # What is left out is bias, which no margin covers: the promise is about the counts that are left.
        counted = dropped_above(counted, THETA)
    held = coverage(plan, counted, confidence)
    assert held >= confidence - 3 * sqrt(confidence * (1 - confidence) / (CELLS * width(plan)))


@pytest.mark.parametrize("name", ["SmoothStaircase", "SmoothStudent", "SmoothGamma", "SmoothLaplace", "LogLaplace"])
def test_free_margins_are_not_wider_than_needed_for_a_lone_establishment(name: str) -> None:
    """There the cell is its own largest establishment, so the public bound is exact."""
    plan = FREE[name]
    held = coverage(plan, cells(CELLS, 1, 1, smallest=1000, typical=1000), 0.9)
    assert held == pytest.approx(0.9, abs=0.01)


@pytest.mark.parametrize("confidence", [0.9, 0.95])
@pytest.mark.parametrize("per_cell", [1, 8])
@pytest.mark.parametrize("name", PAID)
def test_paid_margins_are_close_to_what_they_promise(name: str, per_cell: int, confidence: float) -> None:
    plan = PAID[name]
    counted = cells(CELLS, per_cell, width(plan), smallest=600, typical=2000)
    held = coverage(plan, counted, confidence)
    error = 3 * sqrt(confidence * (1 - confidence) / (CELLS * width(plan)))
    assert confidence - error <= held <= confidence + 0.03
    # In small cells the size is blurred upwards, to at least 1/α + 1 workers: never too narrow.
    assert coverage(plan, cells(CELLS, per_cell, width(plan)), confidence) >= confidence - error


def test_paying_narrows_margins_of_large_cells() -> None:
    counted = cells(2000, 30, 1)
    free, paid = (measured(one["SmoothStaircase"], counted, SeededEntropy(1)).intervals(0.9) for one in (FREE, PAID))
    assert np.median(paid[1] - paid[0]) < 0.5 * np.median(free[1] - free[0])


@pytest.mark.parametrize("confidence", [0.8, 0.9, 0.95])
@pytest.mark.parametrize("group", [2, 20, 200])
@pytest.mark.parametrize("name", ["SmoothStaircase", "SmoothStudent", "SmoothGamma", "LogLaplace", "EdgeLaplace"])
def test_margins_of_totals_hold(name: str, group: int, confidence: float) -> None:
    """Sums of lone establishments, where single margins are exact and so the margin of the sum is tested hardest."""
    from tacita.measured import Measured

    counted = cells(CELLS, 1, 1, smallest=300, typical=300)
    result = measured(FREE[name], counted, SeededEntropy(SEED))
    places = (np.arange(CELLS) // group).astype(np.int32)
    # Every group of cells becomes the levels of one made-up attribute.
    renamed = Measured(
        {"place": places, "sector": np.zeros(CELLS, dtype=np.int32)},
        (),
        result.values,
        result.error,
        result.plan,
        result.guarantee,
        True,
    )
    table = publish(renamed, schema(CELLS), totals=["place"], confidence=confidence).slice(CELLS)
    true = np.bincount(places, weights=counted.counts[:, 0])
    held = float((np.abs(table["value"].to_numpy() - true) <= table["margin_of_error"].to_numpy()).mean())
    assert held >= confidence - 3 * sqrt(confidence * (1 - confidence) / true.size)
