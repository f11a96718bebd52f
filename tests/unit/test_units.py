"""Who a unit is, looked for among the ids of the file; numbers that a promise counts in steps."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import support.panels as sample
from tacita.data.confidential import Confidential
from tacita.data.draft import draft_schema
from tacita.data.schema import Schema
from tacita.errors import RefusedError, SchemaError
from tacita.ledger import Ledger
from tacita.mechanisms.eree import EdgeLaplace, LogLaplace, SmoothStaircase
from tacita.plan import check, claimed, contribution_of
from tacita.privacy import AddRemoveOne, Guarantee, Loss, NumbersWithin, ReplaceOne, StrongAlpha, unchecked_units
from tacita.synthesis import (
    HistogramSynthesis,
    IndependentSynthesis,
    PairwiseSynthesis,
    QuantileSynthesis,
    StepsSynthesis,
)
from tacita.synthesis.panel import PanelSynthesis, write_panel

CODE = {"role": "confidential", "type": "categorical", "levels": ["0", "1"]}

NUMBER = {"role": "confidential", "type": "integer", "lower": 0, "upper": 100}


def schema_of(unit: str = "person", **ids: str) -> Schema:
    """Two codes and a number, with ids given as column = entity."""
    columns: dict[str, Any] = {name: {"role": "id", "entity": entity} for name, entity in ids.items()}
    return Schema.from_dict(
        {"dataset": {"identity": "visits", "unit": unit}, "variables": columns | {"a": CODE, "b": CODE, "pay": NUMBER}}
    )


def visits(rows_of_one: int, **ids: list[int]) -> pd.DataFrame:
    count = 40 + rows_of_one
    found = {"a": ["0", "1"] * 20 + ["1"] * rows_of_one, "b": ["0"] * 40 + ["1"] * rows_of_one}
    who = [*range(40), *[999] * rows_of_one]
    return pd.DataFrame({**dict.fromkeys(ids or ("pid",), who), **found, "pay": list(range(count))})


def row_plans(relation: Any) -> list[Any]:
    both = ["a", "b"]
    return [
        HistogramSynthesis(both, "1", neighbours=relation),
        IndependentSynthesis(both, "1", neighbours=relation),
        StepsSynthesis(both, "1", neighbours=relation),
        PairwiseSynthesis(both, "1", neighbours=relation),
        QuantileSynthesis(["pay"], "1", neighbours=relation),
    ]


@pytest.mark.parametrize("relation", [AddRemoveOne("person"), ReplaceOne("person")], ids=str)
def test_a_person_with_several_rows_is_refused_and_nothing_is_spent(tmp_path: Path, relation: Any) -> None:
    schema = schema_of(pid="person")
    for plan in row_plans(relation):
        path = tmp_path / f"{type(plan).__name__}.ledger"
        ledger = Ledger.open(path, cap=Loss("1", delta="1e-6"), neighbours=relation)
        before = ledger.entries()
        with pytest.raises(SchemaError, match=r"person\.pid.*more than one row.*at_most") as refused:
            ledger.release(plan, Confidential.from_frame(visits(20), schema), label="visits")
        assert "20" not in str(refused.value)
        assert "999" not in str(refused.value)
        assert ledger.entries() == before
        with pytest.raises(SchemaError, match=r"person\.pid"):
            plan.rehearse(visits(2), schema, seed=1)
        plan.rehearse(visits(1), schema, seed=1)


def test_an_establishment_is_a_workplace(tmp_path: Path) -> None:
    schema = schema_of("establishment", wid="workplace")
    for word in ("establishment", "Establishment", "workplace"):
        plan = HistogramSynthesis(["a"], "1", neighbours=AddRemoveOne(word))
        with pytest.raises(SchemaError, match=r"establishment\.wid"):
            plan.rehearse(visits(3, wid=[]), schema, seed=1)


def test_without_an_id_the_promise_is_on_trust_wherever_it_travels(tmp_path: Path) -> None:
    schema, plan = schema_of(), HistogramSynthesis(["a"], "1", neighbours=ReplaceOne("person"))
    (trusted,) = unchecked_units(claimed(plan, schema))
    assert trusted.startswith("each row of the file is one whole person; the file has no person id")
    ledger = Ledger.open(tmp_path / "l", cap=Loss("1"), neighbours=ReplaceOne("person"))
    frame = visits(20).drop(columns="pid")
    ledger.release(plan, Confidential.from_frame(frame, schema), label="visits")
    (reserved,) = [line["entry"] for line in ledger.extract("visits")["entries"] if line["entry"]["kind"] == "reserve"]
    assert reserved["guarantee"]["assumes"][0].endswith(trusted)
    assert unchecked_units(claimed(plan, schema_of(pid="person"))) == ()


def test_ids_of_something_else_do_not_vouch_for_a_person() -> None:
    schema = schema_of(hid="household")
    (trusted,) = unchecked_units(claimed(HistogramSynthesis(["a"], "1", neighbours=ReplaceOne("person")), schema))
    assert "no person id" in trusted
    (records,) = unchecked_units(claimed(QuantileSynthesis(["pay"], "1"), schema))
    assert "one household with several of them loses that much for each" in records
    assert unchecked_units(claimed(QuantileSynthesis(["pay"], "1"), schema_of())) == ()


@pytest.mark.parametrize("plan", [SmoothStaircase("0.1", "1", by=["place"]), EdgeLaplace("1", by=["place"])], ids=str)
def test_jobs_of_workers_without_ids_are_on_trust(plan: Any) -> None:
    columns: dict[str, Any] = {
        "wid": {"role": "id", "entity": "workplace"},
        "place": {"role": "workplace", "type": "categorical", "levels": ["A", "B"]},
    }
    jobs = Schema.from_dict({"dataset": {"identity": "jobs", "unit": "establishment"}, "variables": columns})
    (trusted,) = unchecked_units(claimed(plan, jobs))
    assert trusted.startswith("each worker holds one job in the file; the file has no worker id")
    known = Schema.from_dict(
        {
            "dataset": {"identity": "jobs", "unit": "establishment"},
            "variables": columns | {"pid": {"role": "id", "entity": "worker"}},
        }
    )
    assert unchecked_units(claimed(plan, known)) == ()
    assert "each worker holds one job in the file" in claimed(plan, known).assumes


def test_a_plan_that_promises_nothing_asks_nothing_of_the_rows() -> None:
    class Nothing:
        guarantee = Guarantee(StrongAlpha("0.1"), Loss("1"), holds="never")

    assert contribution_of(Nothing(), schema_of(pid="person")) is None  # type: ignore[arg-type]


def test_a_promise_for_another_unit_says_what_to_write() -> None:
    plan = PairwiseSynthesis(["a", "b"], "1")
    with pytest.raises(RefusedError, match=r'give the plan neighbours = ReplaceOne\("person"\)'):
        plan.guarantee.under(ReplaceOne("person"))


PLACE: dict[str, Any] = {"role": "workplace", "type": "categorical", "levels": ["A", "B"]}

ID: dict[str, Any] = {"role": "id", "entity": "workplace"}


def size_schema(with_id: bool = True, **size: Any) -> Schema:
    bounds = {"role": "size", "type": "integer", "lower": 0, "upper": 10_000, **size}
    variables = ({"wid": ID} if with_id else {}) | {"place": PLACE, "size": bounds}
    return Schema.from_dict({"dataset": {"identity": "sizes", "unit": "establishment"}, "variables": variables})


def sizes(*numbers: float) -> pd.DataFrame:
    return pd.DataFrame({"wid": range(len(numbers)), "place": ["A"] * len(numbers), "size": numbers})


@pytest.fixture(params=[EdgeLaplace("1", by=["place"]), SmoothStaircase("0.1", "1", by=["place"])], ids=type)
def table(request: pytest.FixtureRequest) -> Any:
    return request.param


def test_a_code_that_is_also_a_size_is_refused_and_one_outside_is_not(table: Any) -> None:
    inside = size_schema(missing=0, missing_codes=[999])
    with pytest.raises(SchemaError, match=r"variables\.size\.missing_codes.*outside") as refused:
        Confidential.from_frame(sizes(998, 5), inside).check(table.reads(inside))
    assert "998" not in str(refused.value)
    outside = size_schema(missing=0, missing_codes=[99_999, -1])
    check(table, Confidential.from_frame(sizes(998, 99_999), outside))


def test_a_code_among_the_values_of_any_measured_number_is_refused() -> None:
    codes: dict[str, Any] = {"role": "confidential", "type": "integer", "lower": 0, "upper": 99, "missing": 0}
    schema = Schema.from_dict(
        {
            "dataset": {"identity": "people", "unit": "person"},
            "variables": {"age": {**codes, "missing_codes": [99]}, "sex": {**PLACE, "role": "confidential"}},
        }
    )
    data = Confidential.from_frame(pd.DataFrame({"age": [1, 2], "sex": ["A", "B"]}), schema)
    with pytest.raises(SchemaError, match=r"variables\.age\.missing_codes"):
        data.check(["age"])
    check(HistogramSynthesis(["sex"], "1"), data)  # nothing is measured of age


def test_sizes_beyond_the_noise_and_between_two_workers_are_refused(table: Any) -> None:
    with pytest.raises(SchemaError, match=r"variables\.size\.upper"):
        table.reads(size_schema(upper=2**31 + 1))
    table.reads(size_schema(upper=2**31))
    with pytest.raises(SchemaError, match=r"establishment\.size: a size is not a whole number"):
        check(table, Confidential.from_frame(sizes(2.5, 7), size_schema()))


@pytest.mark.parametrize("law", [EdgeLaplace, SmoothStaircase, LogLaplace])
def test_rows_without_an_establishment_id_are_refused_when_planned(tmp_path: Path, law: Any) -> None:
    plan = law("1", by=["place"]) if law is EdgeLaplace else law("0.1", "1", by=["place"])
    jobs = Schema.from_dict({"dataset": {"identity": "j", "unit": "person"}, "variables": {"place": PLACE}})
    for schema in (size_schema(with_id=False), jobs):
        with pytest.raises(SchemaError, match='entity = "workplace"'):
            plan.reads(schema)
    with pytest.raises(SchemaError, match=r"establishment\.wid: an establishment has more than one row"):
        check(plan, Confidential.from_frame(sizes(5, 5).assign(wid=1), size_schema()))


def test_a_missing_value_does_not_hide_behind_values_outside_the_list(tmp_path: Path) -> None:
    variables = {"wid": ID, "place": {**PLACE, "outside": "B"}}
    schema = Schema.from_dict({"dataset": {"identity": "j", "unit": "establishment"}, "variables": variables})
    frame = pd.DataFrame({"wid": range(3000), "place": [f"x{at}" for at in range(2999)] + [None]})
    ledger = Ledger.open(tmp_path / "l", cap=Loss("1"), neighbours=StrongAlpha("0.1"))
    before = ledger.entries()
    for seed in range(5):
        mixed = frame.sample(frac=1, random_state=seed)
        with pytest.raises(SchemaError, match=r"job\.place: a value is missing"):
            ledger.release(SmoothStaircase("0.1", "1", by=["place"]), Confidential.from_frame(mixed, schema), label="x")
    assert ledger.entries() == before


@pytest.mark.parametrize(
    "line", ["Jane Doe,1987-03-02,HIV+", "A,12.5", "A,,B", "A,B,A", "jane@office.example,F", "Doe;12:30;1"]
)
def test_a_record_is_not_taken_for_column_names(tmp_path: Path, line: str) -> None:
    path = tmp_path / "people.csv"
    path.write_text(f"{line}\nJohn Roe,1955-01-01,HIV-\n")
    with pytest.raises(SchemaError, match="first line does not hold column names") as refused:
        draft_schema(path)
    assert not any(word in str(refused.value) for word in ("Doe", "HIV", "12", "jane"))
    path.write_text("name,born,q1_2019,HIV\nJohn Roe,1955-01-01,3,HIV-\n")
    assert "[variables.q1_2019]" in draft_schema(path)


def test_row_numbers_without_a_name_are_spoken_of(tmp_path: Path) -> None:
    path = tmp_path / "people.csv"
    path.write_text('"","name","age"\n"1","John Roe",41\n')
    with pytest.raises(SchemaError, match=r"first column has no name .* index = False") as refused:
        draft_schema(path)
    assert "Roe" not in str(refused.value)


# ---------------------------------------------------------------- panels


def in_two_counties(long: bool) -> pd.DataFrame:
    """One firm with rows in two counties: two years in each, or a row for each."""
    wide = sample.wide(60)
    if not long:
        other = wide.iloc[[0]].assign(county="0202" if wide.county.iloc[0] != "0202" else "0101")
        return pd.concat([wide, other], ignore_index=True)
    frame = sample.to_long(wide)
    moved = frame.firm == frame.firm[frame.groupby("firm").firm.transform("size") > 1].iloc[0]
    place = frame.index[moved][-1]
    frame.loc[place, "county"] = "0202" if frame.county[place] != "0202" else "0101"
    return frame


@pytest.mark.parametrize("long", [False, True], ids=["wide", "long"])
@pytest.mark.parametrize("epsilon", [None, "1"], ids=["plain", "formal"])
def test_a_firm_in_two_groups_is_refused_before_anything_is_drawn(tmp_path: Path, long: bool, epsilon: Any) -> None:
    plan = (sample.long_plan if long else sample.plan)(group="county", epsilon=epsilon, sets=1)
    schema = sample.long_schema() if long else sample.wide_schema()
    data = Confidential.from_frame(in_two_counties(long), schema)
    words = "county: rows of one unit disagree" if long else "firm: an id occurs more than once"
    with pytest.raises(SchemaError, match=words):
        check(plan, data)
    with pytest.raises(SchemaError, match=words):
        plan.rehearse(in_two_counties(long), schema, seed=1)
    ledger = Ledger.open(tmp_path / "l", cap=Loss("1"), neighbours=ReplaceOne("firm"))
    before = ledger.entries()
    paid: dict[str, Any] = {} if epsilon is None else {"ledger": ledger, "label": "firms"}
    with pytest.raises(SchemaError, match=words):
        write_panel(plan, data, tmp_path / "out", **paid)
    assert ledger.entries() == before
    assert not (tmp_path / "out").exists()


def test_two_rows_for_one_year_in_different_groups_are_refused() -> None:
    frame = sample.to_long(sample.wide(60))
    frame = pd.concat([frame, frame.iloc[[0]].assign(county="0202")], ignore_index=True)
    plan = sample.long_plan(group="county", epsilon="1")
    with pytest.raises(SchemaError, match="year: a unit has two rows for one year"):
        check(plan, Confidential.from_frame(frame, sample.long_schema()))


@pytest.mark.parametrize(("column", "value"), [("jobs2003", 2.5), ("pay2003", 100.25)])
def test_numbers_between_two_steps_are_refused_where_steps_are_counted(column: str, value: float) -> None:
    frame = sample.wide(60)
    alive = frame.index[(frame.born <= 2003) & (frame.gone >= 2003)]
    check(sample.plan(epsilon="2", alpha="0.1"), Confidential.from_frame(frame, sample.wide_schema()))
    frame.loc[alive[0], column] = value
    data = Confidential.from_frame(frame, sample.wide_schema())
    with pytest.raises(SchemaError, match=f"{column}: a value is not on the declared grid"):
        check(sample.plan(epsilon="2", alpha="0.1"), data)
    check(sample.plan(epsilon="2"), data)  # a whole history may be anything


def test_values_one_step_apart_are_read_one_apart() -> None:
    from tacita.synthesis.panel.formal.units import whole_steps
    from tacita.synthesis.panel.reading import read_group

    plan = PanelSynthesis({"jobs": "jobs{year}"}, "2", unit="firm", keep=["county"], years=(2000, 2006), alpha="0.1")
    assert isinstance(plan.guarantee.neighbours, NumbersWithin)
    read = []
    for more in (0.0, 1.0):
        frame = sample.wide(40)
        for year in sample.YEARS:
            frame[f"jobs{year}"] = np.arange(40) + 0.5 + more
        layout = plan.layout(sample.wide_schema())
        read.append(whole_steps(read_group(Confidential.from_frame(frame, layout.schema), layout, "all"), "jobs"))
    assert (read[1] - read[0] == 1).all()
