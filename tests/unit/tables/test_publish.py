"""The table a reader sees: everything adds up, ranks and margins hold what they promise."""

import inspect
from fractions import Fraction
from math import sqrt
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.simulated_cells import SEXES, cells, dropped_above, measured, schema
from tacita.errors import UsageError
from tacita.measured import Measured
from tacita.mechanisms import eree
from tacita.mechanisms.eree import EdgeLaplace, SmoothStaircase, SmoothVector
from tacita.noise.discrete import DiscreteLaplace
from tacita.noise.entropy import SeededEntropy
from tacita.noise.error import FixedError
from tacita.tables import publish

PLACES = 6

SCHEMA = schema(PLACES)

GUARANTEE = "ε = 1 under one worker added or removed"

EDGE = FixedError(DiscreteLaplace(Fraction(3)))


def result(values: Any, *, worker: bool = False, error: Any = EDGE, sectors: int = 2) -> Measured:
    """Noisy values by place and sector, in the order of their codes."""
    values = np.asarray(values, dtype=np.int64).reshape(-1, len(SEXES) if worker else 1)
    rows = np.arange(values.shape[0])
    keys = {"place": (rows // sectors).astype(np.int32), "sector": (rows % sectors).astype(np.int32)}
    return Measured(
        keys, ("sex",) if worker else (), values, error, {}, "ε = 1 under one worker added or removed", True
    )


noisy = st.lists(st.integers(-40, 300), min_size=2 * PLACES, max_size=2 * PLACES)

noisy_workers = st.lists(st.integers(-40, 300), min_size=6 * PLACES, max_size=6 * PLACES)


def test_what_a_row_says() -> None:
    table = publish(result([5, 7, -3, 4]), SCHEMA, confidence="0.9")
    assert table.column_names == [
        "place", "sector", "sector_label", "value", "margin_of_error", "confidence", "guarantee",
    ]  # fmt: skip
    assert table["place"].to_pylist() == ["00000", "00000", "00001", "00001"]
    assert table["sector_label"].to_pylist() == ["Industry", "Services"] * 2
    assert table["value"].to_pylist() == [5, 7, 0, 4]
    assert set(table["confidence"].to_pylist()) == {0.9}
    assert set(table["guarantee"].to_pylist()) == {GUARANTEE}
    margin = DiscreteLaplace(Fraction(3)).margin(0.9)
    # The third cell was moved to zero, and is no surer for that.
    assert table["margin_of_error"].to_pylist() == [margin] * 4


def test_no_noise_however_low_makes_a_zero_that_is_sure() -> None:
    margins = publish(result([5, 7, -300, 4]), SCHEMA)["margin_of_error"].to_pylist()
    assert len(set(margins)) == 1
    assert margins[0] > 0


def test_a_total_over_nothing_is_not_published_beside_its_cell() -> None:
    """Where `totals` names every attribute, each cell stood in the table twice."""
    values = [5, 7, -3, 4]
    assert publish(result(values), SCHEMA, totals=["sector", "place"]).equals(publish(result(values), SCHEMA))


def test_worker_attributes_run_fastest() -> None:
    table = publish(result(range(6), worker=True), SCHEMA)
    assert table["sex"].to_pylist() == list(SEXES) * 2
    assert table["sector"].to_pylist() == ["1"] * 3 + ["2"] * 3
    assert table["value"].to_pylist() == list(range(6))


@given(noisy, st.sampled_from([["place"], ["sector"]]))
@settings(max_examples=40)
def test_children_add_to_their_totals(values: list[int], totals: list[str]) -> None:
    check_sums(publish(result(values), SCHEMA, totals=totals), totals, len(values), values)


@given(noisy_workers, st.sampled_from([["place"], ["sex"], ["place", "sex"], ["place", "sector"]]))
@settings(max_examples=40)
def test_children_of_worker_cells_add_to_their_totals(values: list[int], totals: list[str]) -> None:
    check_sums(publish(result(values, worker=True), SCHEMA, totals=totals), totals, len(values), values)


def check_sums(table: pa.Table, totals: list[str], count: int, values: list[int]) -> None:
    frame = table.to_pandas()
    cells, sums = frame.iloc[:count], frame.iloc[count:]
    assert frame["value"].dtype == np.int64
    assert (frame["value"] >= 0).all()
    added = cells.groupby(totals)["value"].sum()
    assert len(sums) == len(added)
    for row in sums.to_dict("records"):
        key = tuple(row[name] for name in totals)
        assert added[key if len(totals) > 1 else key[0]] == row["value"]
    # A total is the plain sum of what was measured, unless that is negative.
    noisy_sums = cells.assign(value=values).groupby(totals)["value"].sum().clip(lower=0)
    assert (noisy_sums == added).all()
    for name in {"place", "sector"} - set(totals):
        assert set(sums[name]) == {"Total"}


@given(noisy, st.booleans(), st.sampled_from([0.5, 0.9, 0.99]))
@settings(max_examples=60)
def test_ranks_lie_within_what_they_leave_open(values: list[int], with_totals: bool, confidence: float) -> None:
    totals = ["place"] if with_totals else []
    table = publish(result(values), SCHEMA, totals=totals, rank=True, confidence=confidence).to_pandas()
    cells = table.iloc[: len(values)]
    assert sorted(cells["rank"]) == list(range(1, len(values) + 1))
    assert (cells["rank_best"] >= 1).all()
    assert (cells["rank_worst"] <= len(values)).all()
    assert (cells["rank_best"] <= cells["rank"]).all()
    assert (cells["rank"] <= cells["rank_worst"]).all()
    assert cells.sort_values("rank")["value"].is_monotonic_decreasing
    assert table.iloc[len(values) :]["rank"].isna().all()


@given(noisy)
@settings(max_examples=30)
def test_the_margin_reaches_both_ends_of_the_interval(values: list[int]) -> None:
    """Wherever a cell was moved, value ± margin still holds all of the interval that counts can lie in."""
    one = result(values)
    lower, upper = (end.ravel() for end in one.intervals(0.9))
    for totals in ([], ["place"]):
        table = publish(one, SCHEMA, totals=totals, confidence=0.9).slice(0, len(values))
        value, margin = table["value"].to_numpy(), table["margin_of_error"].to_numpy()
        assert (value + margin >= upper).all()
        assert (value - margin <= np.maximum(lower, 0)).all()


@given(noisy)
@settings(max_examples=20)
def test_left_alone_the_values_are_the_measured_ones(values: list[int]) -> None:
    table = publish(result(values), SCHEMA, nonnegative=False, totals=["place"])
    assert table["value"].to_pylist()[: len(values)] == values
    assert table["value"].to_pylist()[len(values) :] == [a + b for a, b in zip(values[::2], values[1::2], strict=True)]


def test_fractions_add_up_too() -> None:
    table = publish(result([10, -4, 3, 8]), SCHEMA, totals=["place"], integers=False)
    values = table["value"].to_pylist()
    assert values[0] + values[1] == pytest.approx(values[4])
    assert values[2] + values[3] == pytest.approx(values[5])
    assert min(values) >= 0


@pytest.mark.parametrize("worker", [False, True])
@pytest.mark.parametrize("totals", [[], ["place"]])
@pytest.mark.parametrize("rank", [False, True])
def test_an_empty_result_is_an_empty_table_of_the_same_form(worker: bool, totals: list[str], rank: bool) -> None:
    full = publish(result(range(12), worker=worker), SCHEMA, totals=totals, rank=rank)
    empty = publish(result([], worker=worker), SCHEMA, totals=totals, rank=rank)
    assert empty.num_rows == 0
    assert empty.schema.names == full.schema.names
    assert empty.schema.types == full.schema.types


def test_one_number_for_all_jobs() -> None:
    one = Measured({}, (), np.array([[42]]), EDGE, {}, "", True)
    table = publish(one, SCHEMA, rank=True)
    assert table["value"].to_pylist() == [42]
    assert table["rank"].to_pylist() == [1]


def test_where_nothing_public_bounds_the_noise_there_is_no_margin() -> None:
    plan = SmoothStaircase("0.1", "2", by=["place"], where={"sex": ["F"]})
    table = publish(result([5, 6, 7, 8], error=plan.error_law(1)), SCHEMA, totals=["place"])
    assert table["margin_of_error"].null_count == table.num_rows
    assert table["value"].to_pylist()[:4] == [5, 6, 7, 8]
    ranked = publish(result([5, 6, 7, 8], error=plan.error_law(1)), SCHEMA, rank=True)
    assert set(ranked["rank_best"].to_pylist()) == {1}
    assert set(ranked["rank_worst"].to_pylist()) == {4}


@pytest.mark.parametrize("stranger", ["sex", "county", "value"])
def test_totals_name_attributes_of_the_table(stranger: str) -> None:
    with pytest.raises(UsageError, match=f"totals: {stranger}"):
        publish(result([1, 2, 3, 4]), SCHEMA, totals=[stranger])


@pytest.mark.parametrize("confidence", ["0", "1", "1.5", "-0.1", 0.0, 1.0, "ninety"])
def test_a_confidence_is_a_share(confidence: Any) -> None:
    with pytest.raises(UsageError, match="confidence"):
        publish(result([1, 2, 3, 4]), SCHEMA, confidence=confidence)


def test_both_kinds_of_plan_publish() -> None:
    """Types that reach readers do not depend on the mechanism."""
    forms = {
        tuple(publish(result(range(6), worker=True, error=error), SCHEMA, totals=["place"]).schema.types)
        for error in (
            EdgeLaplace("1", by=["place"], worker=["sex"]).error_law(3),
            SmoothVector("0.05", "4", by=["place"], worker=["sex"]).error_law(3),
        )
    }
    assert len(forms) == 1


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
