"""The door to the rows: what it opens, what it refuses, and that it never says what it saw."""

import copy
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from tacita.data.confidential import Confidential, rows
from tacita.data.schema import Schema
from tacita.errors import RefusedError, SchemaError, TacitaError, UsageError
from tacita.ledger import Ledger
from tacita.privacy import Loss, ReplaceOne
from tacita.synthesis import HistogramSynthesis

SECRET = "Zq83"  # a value that no message may contain


def categorical(role: str, levels: list[str], **more: Any) -> dict[str, Any]:
    return {"role": role, "type": "categorical", "levels": levels, **more}


def schema_of(linked: bool = False, **changes: dict[str, Any]) -> Schema:
    workplace, worker = ({"table": "workplace"}, {"table": "worker"}) if linked else ({}, {})
    variables: dict[str, Any] = {
        "workplace_id": {"role": "id", "entity": "workplace"},
        "worker_id": {"role": "id", "entity": "worker"},
        "place": categorical("workplace", ["01", "02"], **workplace),
        "sex": categorical("worker", ["F", "M"], **worker),
        "pay": {"role": "confidential", "type": "numeric", "lower": 0, "upper": 1000, "outside": "error"},
    }
    for name, change in changes.items():
        variables[name] = {**variables[name], **change}
    return Schema.from_dict({"dataset": {"identity": "demo", "unit": "establishment"}, "variables": variables})


def jobs() -> pd.DataFrame:
    return pd.DataFrame(
        {
            "workplace_id": ["a", "a", "b", "c"],
            "worker_id": ["1", "2", "3", "4"],
            "place": ["01", "01", "02", "01"],
            "sex": ["F", "M", "M", "F"],
            "pay": [10.0, 20.5, 30.0, 0.0],
        }
    )


def linked() -> dict[str, pd.DataFrame]:
    return {
        "job": pd.DataFrame({"workplace_id": ["a", "b"], "worker_id": ["1", "2"], "pay": [1.0, 2.0]}),
        "workplace": pd.DataFrame({"workplace_id": ["a", "b", "c"], "place": ["01", "02", "01"]}),
        "worker": pd.DataFrame({"worker_id": ["1", "2", "3"], "sex": ["F", "M", "M"]}),
    }


ALL = ("workplace_id", "worker_id", "place", "sex", "pay")


# ---------------------------------------------------------------- opaque


@pytest.mark.parametrize(
    "look",
    [
        iter,
        len,
        list,
        lambda data: data[0],
        lambda data: "F" in data,
        lambda data: data.head(),
        lambda data: data.pay,
        lambda data: data.to_pandas(),
        pickle.dumps,
        copy.copy,
        copy.deepcopy,
    ],
)
def test_rows_cannot_be_looked_at(look: Callable[[Any], Any]) -> None:
    data = Confidential.from_frame(jobs(), schema_of())
    with pytest.raises(RefusedError):
        look(data)


def test_it_shows_its_name_and_declared_columns_only() -> None:
    frame = jobs().assign(sex=SECRET)
    data = Confidential.from_frame(frame, schema_of())
    assert repr(data) == str(data) == f"Confidential('demo', columns={list(ALL)})"
    assert not hasattr(data, "columns")
    assert not hasattr(data, "__dict__"), "no bag of attributes to dump"
    assert data
    assert (data.identity, data.lineage) == ("demo", ())


# ---------------------------------------------------------------- bad files


def spoil(**columns: Any) -> pd.DataFrame:
    return jobs().assign(**columns)


@pytest.mark.parametrize(
    ("frame", "words"),
    [
        (spoil(place=["01", "01", "02", SECRET]), ["job.place", "not among the declared levels", "outside ="]),
        (spoil(place=["01", "01", "02", None]), ["job.place", "missing", "missing ="]),
        (spoil(place=["01", "01", "02", ""]), ["job.place", "missing", "missing ="]),
        (spoil(pay=[1.0, 2.0, 3.0, np.nan]), ["job.pay", "NaN", "missing ="]),
        (spoil(pay=[1.0, 2.0, 3.0, np.inf]), ["job.pay", "outside 0.0 to 1000.0", "clamp"]),
        (spoil(pay=[1.0, 2.0, 3.0, -8317.0]), ["job.pay", "outside 0.0 to 1000.0", "clamp"]),
        (spoil(pay=["1", "2", "3", SECRET]), ["job.pay", "not a number"]),
        (spoil(worker_id=["1", "2", "3", "3"]), ["job.worker_id", "more than one job"]),
        (spoil(workplace_id=["a", "a", "b", None]), ["job.workplace_id", "id is missing"]),
        (jobs().iloc[:0], ["job", "no rows"]),
    ],
)
def test_a_file_that_breaks_a_strict_rule_is_refused_without_a_word_about_its_values(
    frame: pd.DataFrame, words: list[str]
) -> None:
    data = Confidential.from_frame(frame, schema_of())
    with pytest.raises(SchemaError) as caught:
        data.check(ALL)
    for word in words:
        assert word in str(caught.value)
    for value in (SECRET, "8317"):
        assert value not in str(caught.value)


def test_a_missing_column_is_named_and_so_is_its_other_spelling() -> None:
    with pytest.raises(SchemaError, match=r"job\.sex: the schema declares this column and the file lacks it"):
        Confidential.from_frame(jobs().drop(columns="sex"), schema_of())
    with pytest.raises(SchemaError, match=r'job\.sex: .*the file writes it "SEX"'):
        Confidential.from_frame(jobs().rename(columns={"sex": "SEX"}), schema_of())


def test_only_the_columns_of_the_plan_are_checked() -> None:
    data = Confidential.from_frame(spoil(sex=["F", "M", "M", SECRET]), schema_of())
    data.check(["place"])
    with pytest.raises(SchemaError, match=r"job\.sex"):
        data.check(["place", "sex"])
    with pytest.raises(SchemaError, match="wage: no such variable"):
        data.check(["wage"])


def test_a_lenient_rule_lets_any_file_through() -> None:
    lenient = schema_of(
        place={"levels": ["01", "02", "?"], "outside": "?", "missing": "?", "missing_codes": ["99"]},
        pay={"outside": "clamp", "missing": 0},
    )
    frame = spoil(place=["01", "01", SECRET, "99"], pay=[np.nan, np.inf, -np.inf, -5.0])
    Confidential.from_frame(frame, lenient).check(ALL)


def test_rows_of_one_establishment_that_disagree_on_its_place_are_refused() -> None:
    with pytest.raises(SchemaError, match=r"job\.place: rows of one establishment disagree.*link a workplace table"):
        Confidential.from_frame(spoil(place=["01", "02", "02", "01"]), schema_of()).check(ALL)


def test_declared_missing_codes_are_not_out_of_range() -> None:
    coded = schema_of(pay={"missing_codes": [-9], "missing": 0})
    Confidential.from_frame(spoil(pay=[1.0, 2.0, -9.0, np.nan]), coded).check(ALL)
    with pytest.raises(SchemaError, match=r"job\.pay"):
        Confidential.from_frame(spoil(pay=[1.0, 2.0, -8.0, np.nan]), coded).check(ALL)


def test_whole_numbers_are_whole() -> None:
    strict = schema_of(pay={"type": "integer", "outside": "error"})
    with pytest.raises(SchemaError, match=r"job\.pay.*whole number"):
        Confidential.from_frame(jobs(), strict).check(["pay"])


# ---------------------------------------------------------------- linked tables


@pytest.mark.parametrize(
    ("table", "frame", "words"),
    [
        (
            "job",
            pd.DataFrame({"workplace_id": ["a", SECRET], "worker_id": ["1", "2"], "pay": [1.0, 2.0]}),
            ["job.workplace_id", "workplace table lacks"],
        ),
        (
            "job",
            pd.DataFrame({"workplace_id": ["a", "b"], "worker_id": ["1", SECRET], "pay": [1.0, 2.0]}),
            ["job.worker_id", "worker table lacks"],
        ),
        (
            "workplace",
            pd.DataFrame({"workplace_id": ["a", "b", "a"], "place": ["01", "02", "01"]}),
            ["workplace.workplace_id", "more than once"],
        ),
        (
            "worker",
            pd.DataFrame({"worker_id": ["1", "2", "2"], "sex": ["F", "M", "M"]}),
            ["worker.worker_id", "more than once"],
        ),
        (
            "workplace",
            pd.DataFrame({"workplace_id": ["a", "b", "c"], "place": ["01", "02", SECRET]}),
            ["workplace.place", "declared levels"],
        ),
    ],
)
def test_broken_links_are_named(table: str, frame: pd.DataFrame, words: list[str]) -> None:
    data = Confidential.from_frame({**linked(), table: frame}, schema_of(linked=True))
    with pytest.raises(SchemaError) as caught:
        data.check(ALL)
    for word in words:
        assert word in str(caught.value)
    assert SECRET not in str(caught.value)


def test_linked_tables_that_fit_pass_even_when_one_stores_ids_as_numbers() -> None:
    tables = linked()
    tables["worker"]["worker_id"] = [1, 2, 3]
    Confidential.from_frame(tables, schema_of(linked=True)).check(ALL)


def test_the_set_of_linked_tables_must_fit_the_schema() -> None:
    tables = linked()
    with pytest.raises(SchemaError, match=r"variables\.sex\.table: no worker table was given"):
        Confidential.from_frame({name: tables[name] for name in ("job", "workplace")}, schema_of(linked=True))
    with pytest.raises(UsageError, match=r"data\.job: is missing"):
        Confidential.from_frame({"workplace": tables["workplace"]}, schema_of(linked=True))
    with pytest.raises(UsageError, match=r"data\.firm: linked tables are called"):
        Confidential.from_frame({**tables, "firm": tables["job"]}, schema_of(linked=True))


# ---------------------------------------------------------------- fingerprint


def mark(frame: Any, schema: Schema | None = None) -> str:
    return Confidential.from_frame(frame, schema or schema_of()).fingerprint()


def test_a_copy_is_recognised_whatever_its_order_name_and_format(tmp_path: Path) -> None:
    frame = jobs()
    known = mark(frame)
    assert mark(frame.iloc[::-1]) == known
    assert mark(frame[list(reversed(ALL))]) == known
    assert mark(frame.assign(extra=1)) == known, "columns the schema does not declare do not count"
    assert mark(frame.assign(worker_id=[1, 2, 3, 4])) == known, "ids stored as numbers"
    assert mark(frame.assign(worker_id=[1.0, 2.0, 3.0, 4.0])) == known, "ids stored as SAS stores them"
    assert mark(pa.Table.from_pandas(frame, preserve_index=False)) == known
    frame.to_csv(tmp_path / "renamed.csv", index=False)
    assert Confidential.open(tmp_path / "renamed.csv", schema_of()).fingerprint() == known


def test_a_decimal_comma_matters_only_to_those_who_read_the_column(tmp_path: Path) -> None:
    jobs().assign(pay=["10,0", "20,5", "30,0", "0,0"]).to_csv(tmp_path / "jobs.csv", index=False)
    data = Confidential.open(tmp_path / "jobs.csv", schema_of())
    data.check(["place", "sex"])
    assert data.fingerprint()
    with pytest.raises(SchemaError, match=r"job\.pay: a value is missing, NaN or not a number.*point, not a comma"):
        data.check(["pay"])


def test_the_same_file_under_another_identity_or_other_rules_is_recognised() -> None:
    other = schema_of(place={"outside": "02"}, pay={"upper": 50.0, "outside": "clamp"})
    assert mark(jobs(), other) == mark(jobs())


@pytest.mark.parametrize(
    "changed",
    [
        spoil(pay=[10.0, 20.5, 30.0, 0.000001]),
        spoil(place=["01", "01", "02", "02"]),
        spoil(place=["01", "01", "02", None]),
        spoil(sex=["M", "F", "M", "F"]),
        pd.concat([jobs(), jobs().iloc[:1]]),
        jobs().iloc[1:],
    ],
)
def test_another_content_has_another_fingerprint(changed: pd.DataFrame) -> None:
    assert mark(changed) != mark(jobs())


def test_linked_tables_have_one_fingerprint() -> None:
    tables = linked()
    known = mark(tables, schema_of(linked=True))
    assert mark({name: frame.iloc[::-1] for name, frame in tables.items()}, schema_of(linked=True)) == known
    tables["workplace"].loc[2, "place"] = "02"
    assert mark(tables, schema_of(linked=True)) != known


# ---------------------------------------------------------------- the door itself


def test_rows_hold_declared_columns_exactly_as_stored() -> None:
    data = Confidential.from_frame(spoil(sex=[" F", "M", "M", "F"], extra=1), schema_of())
    assert rows(data).columns == ALL
    with pytest.raises(UsageError, match="workplace: this data set has no such table"):
        rows(data, "workplace")


def test_an_engine_failure_never_quotes_the_engine(tmp_path: Path) -> None:
    (tmp_path / "bad.parquet").write_bytes(b"PAR1" + SECRET.encode() * 10)
    with pytest.raises(TacitaError) as caught:
        Confidential.open(tmp_path / "bad.parquet", schema_of()).fingerprint()
    assert SECRET not in str(caught.value)
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__


MONTHS = [f"2026-{one:02d}" for one in range(1, 13)]


def schema(**changed: Any) -> Schema:
    month = {"role": "confidential", "type": "categorical", "levels": [*MONTHS, "other"], "outside": "other"}
    about = {"identity": "visits", "unit": "person"}
    return Schema.from_dict({"dataset": about, "variables": {"month": month | changed}})


def opened(values: list[Any], **changed: Any) -> Confidential:
    return Confidential.from_frame(pd.DataFrame({"month": values}), schema(**changed))


def test_dates_against_months_are_refused_and_nothing_is_spent(tmp_path: Path) -> None:
    """All became "other", ε was spent, and the table was published without a word."""
    data = opened(["2026-01-03", "2026-02-11", "2026-02-12"])
    ledger = Ledger.open(tmp_path / "visits.ledger", cap=Loss("1"), neighbours=ReplaceOne("person"))
    plan = HistogramSynthesis(["month"], "1")
    with pytest.raises(SchemaError, match="month: no value of the column is among the declared levels") as said:
        ledger.release(plan, data, label="visits")
    assert "2026-0" not in str(said.value)
    assert ledger.accounts()[0].spent.is_zero


@pytest.mark.parametrize(
    ("values", "changed"),
    [
        (["2026-01-03", "2026-01"], {}),
        (["other", "else"], {}),
        ([None, None], {"missing": "other"}),
        (["-9", None], {"missing": "other", "missing_codes": ["-9"]}),
        ([3, 4, 4000], {"levels": [*map(str, range(3000)), "other"]}),
        ([2999, 4000], {"levels": [*map(str, range(3000)), "other"]}),
    ],
)
def test_one_value_that_is_declared_is_enough(values: list[Any], changed: dict[str, Any]) -> None:
    opened(values, **changed).check(["month"])


@pytest.mark.parametrize(
    ("values", "changed"),
    [
        (["-9", None, "else"], {"missing": "other", "missing_codes": ["-9"]}),
        ([4000, 4001], {"levels": [*map(str, range(3000)), "other"]}),
    ],
)
def test_missing_values_do_not_stand_for_declared_ones(values: list[Any], changed: dict[str, Any]) -> None:
    with pytest.raises(SchemaError, match="no value of the column"):
        opened(values, **changed).check(["month"])


def test_a_file_of_which_every_value_is_outside_only_elsewhere_is_taken() -> None:
    """Columns that no product reads are not looked at."""
    both = schema().to_dict()
    both["variables"]["sex"] = {"role": "confidential", "type": "categorical", "levels": ["f", "m"]}
    frame = pd.DataFrame({"month": ["x", "y"], "sex": ["f", "m"]})
    Confidential.from_frame(frame, Schema.from_dict(both)).check(["sex"])
