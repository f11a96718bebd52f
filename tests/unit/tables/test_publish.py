"""The table a reader sees: everything adds up, nothing is negative, and ranks lie where they say they may."""

from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.simulated_cells import SEXES, schema
from tacita.errors import UsageError
from tacita.measured import Measured
from tacita.mechanisms.eree import EdgeLaplace, SmoothStaircase, SmoothVector
from tacita.noise.discrete import DiscreteLaplace
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
    # The third cell was moved to zero: what is left of its interval is shorter.
    assert table["margin_of_error"].to_pylist() == [margin, margin, margin - 3, margin]


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
