"""A draft has the columns and none of the values; a person must finish it."""

import tomllib
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pyreadstat
import pytest

from tacita.data.draft import draft_schema, storage_types
from tacita.data.draft_spec import DRAFTS, KINDS, draft_spec
from tacita.data.schema import Integer, Schema
from tacita.errors import RefusedError, SchemaError, UsageError
from tacita.privacy import Loss
from tacita.release.plans import prepare
from tacita.release.spec import Spec

FRAME = pd.DataFrame({"place": ["Qx17", "Zy18"], "hours": [3761, 4862], "pay": [1.25, 99.75]})


def parquet(path: Path) -> Path:
    pq.write_table(pa.Table.from_pandas(FRAME, preserve_index=False), path)
    return path


@pytest.mark.parametrize("name", ["a.csv", "a.csv.gz", "a.parquet", "a.dta", "a.sav", "a.xpt"])
def test_a_draft_holds_names_and_types_and_no_value(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    if name.endswith((".csv", ".gz")):
        FRAME.to_csv(path, index=False)
    elif name.endswith(".parquet"):
        parquet(path)
    else:
        {"dta": pyreadstat.write_dta, "sav": pyreadstat.write_sav, "xpt": pyreadstat.write_xport}[path.suffix[1:]](
            FRAME, str(path)
        )
    text = draft_schema(path)
    assert list(tomllib.loads(text)["variables"]) == ["place", "hours", "pay"]
    for value in ("Qx17", "Zy18", "3761", "4862", "1.25", "99.75"):
        assert value not in text
    (tmp_path / "draft.toml").write_text(text, encoding="utf-8")
    with pytest.raises(SchemaError, match="unit: still says TODO"):
        Schema.load(tmp_path / "draft.toml")


def test_storage_types_decide_the_kind_of_domain(tmp_path: Path) -> None:
    drafted = tomllib.loads(draft_schema(parquet(tmp_path / "a.parquet")))["variables"]
    assert [drafted[name]["type"] for name in ("place", "hours", "pay")] == ["categorical", "integer", "numeric"]


def test_dates_are_drafted_as_dates(tmp_path: Path) -> None:
    days = pa.array([0, 1], pa.int32()).cast(pa.date32())
    pq.write_table(pa.table({"born": days, "seen": days.cast(pa.timestamp("us"))}), tmp_path / "d.parquet")
    drafted = tomllib.loads(draft_schema(tmp_path / "d.parquet"))["variables"]
    assert [(drafted[name]["type"], drafted[name]["lower"]) for name in ("born", "seen")] == [("date", "TODO")] * 2


def test_a_file_declared_public_gives_levels_and_bounds(tmp_path: Path) -> None:
    confidential, public = parquet(tmp_path / "secret.parquet"), tmp_path / "public.parquet"
    pq.write_table(pa.table({"place": ["b", "a", None], "hours": [0, 80, 40]}), public)
    text = draft_schema(confidential, public)
    drafted = tomllib.loads(text)["variables"]
    assert drafted["place"]["levels"] == ["a", "b"]
    assert (drafted["hours"]["lower"], drafted["hours"]["upper"]) == (0, 80)
    assert drafted["pay"]["lower"] == "TODO", "a column the public file lacks stays open"
    assert "public.parquet" in text
    assert "Qx17" not in text


def test_a_finished_draft_is_a_schema(tmp_path: Path) -> None:
    text = draft_schema(parquet(tmp_path / "a.parquet"))
    for old, new in (
        ('unit = "TODO"', 'unit = "person"'),
        ('role = "TODO"', 'role = "confidential"'),
        ('levels = ["TODO"]', 'levels = ["a"]'),
        ('lower = "TODO"', "lower = 0"),
        ('upper = "TODO"', "upper = 10"),
    ):
        text = text.replace(old, new)
    (tmp_path / "a.toml").write_text(text, encoding="utf-8")
    schema = Schema.load(tmp_path / "a.toml")
    assert schema["hours"].kind == Integer(0, 10)
    assert (schema.identity, schema.unfinished) == ("a", ())


def test_how_a_csv_file_writes_its_values_decides_the_kind_of_domain(tmp_path: Path) -> None:
    lines = ["code,jobs,pay,day,empty,mixed", "01,3,2.50,2026-01-31,,7", "17,NA,-.5,2025-12-01,,x", "02,,1e3,,,7"]
    (tmp_path / "a.csv").write_text("\n".join(lines), encoding="utf-8")
    drafted = tomllib.loads(draft_schema(tmp_path / "a.csv"))["variables"]
    types = {name: entry["type"] for name, entry in drafted.items()}
    assert types == {
        "code": "categorical",
        "jobs": "integer",
        "pay": "numeric",
        "day": "date",
        "empty": "categorical",
        "mixed": "categorical",
    }


@pytest.mark.parametrize(
    "written", ["12/31/2012", "31.12.2012", "1/2/12", "2012/12/31", "2012-12-31 10:15:00", "31-12-2012"]
)
def test_dates_that_are_written_otherwise_come_with_a_hint(tmp_path: Path, written: str) -> None:
    lines = ["day,code", f"{written},1/2", "NA,x"]
    (tmp_path / "a.csv").write_text("\n".join(lines), encoding="utf-8")
    assert storage_types(tmp_path / "a.csv") == {"day": "other date", "code": "text"}
    text = draft_schema(tmp_path / "a.csv", unit="person", role="confidential", numbers="public")
    drafted = tomllib.loads(text)["variables"]
    assert drafted["day"] == drafted["code"] == {"role": "confidential", "type": "categorical", "levels": ["TODO"]}
    assert text.count("# Dates? They are read as 2026-01-31 only") == 1
    assert written not in text


def test_columns_that_say_todo_are_left_aside_and_named_when_used(tmp_path: Path) -> None:
    text = draft_schema(parquet(tmp_path / "a.parquet"), unit="person", role="confidential")
    path = tmp_path / "a.toml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(SchemaError, match="each column still says TODO"):
        Schema.load(path)
    path.write_text(text.replace('levels = ["TODO"]', 'levels = ["x"]'), encoding="utf-8")
    schema = Schema.load(path)
    assert (schema.names, schema.unfinished) == (("place",), ("hours", "pay"))
    with pytest.raises(SchemaError, match=r"variables\.pay: still says TODO"):
        schema["pay"]
    with pytest.raises(SchemaError, match="specification still says TODO"):
        schema["TODO"]


def test_columns_called_weight_are_weights_in_files_of_persons(tmp_path: Path) -> None:
    names = ["finalwgt", "pw", "WEIGHT", "perwt1", "income", "twist", "eight"]
    pq.write_table(pa.table({name: [1.5] for name in names}), tmp_path / "a.parquet")
    drafted = tomllib.loads(draft_schema(tmp_path / "a.parquet", unit="person", role="confidential"))["variables"]
    assert [name for name in names if drafted[name]["role"] == "weight"] == names[:4]
    employers = tomllib.loads(draft_schema(tmp_path / "a.parquet", unit="establishment"))["variables"]
    assert {entry["role"] for entry in employers.values()} == {"TODO"}, "there a person decides"


def test_odd_column_names_and_partitions_survive(tmp_path: Path) -> None:
    folder = tmp_path / "parts" / "state=05"
    folder.mkdir(parents=True)
    pq.write_table(pa.table({"näme of place": ["x"]}), folder / "0.parquet")
    drafted = tomllib.loads(draft_schema(tmp_path / "parts"))["variables"]
    assert list(drafted) == ["näme of place", "state"]
    assert "05" not in draft_schema(tmp_path / "parts")


def test_a_file_that_is_not_there_or_not_known_is_named(tmp_path: Path) -> None:
    with pytest.raises(SchemaError, match=r"nowhere\.csv: no such file"):
        draft_schema(tmp_path / "nowhere.csv")
    (tmp_path / "a.docx").write_text("x", encoding="utf-8")
    with pytest.raises(UsageError, match=r"a\.docx: unknown kind"):
        draft_schema(tmp_path / "a.docx")


@pytest.mark.parametrize("kind", KINDS)
def test_the_starter_specification_points_to_its_files_and_suits_the_kind(kind: Any, tmp_path: Path) -> None:
    spec = tomllib.loads(draft_spec("x.schema.toml", "x.parquet", kind))
    assert (spec["schema"], spec["data"], spec["ledger"]) == ("x.schema.toml", "x.parquet", "x.ledger")
    assert (spec["cap"]["neighbours"] in ("strong", "weak")) == (kind == "jobs"), "employers are for files of jobs"
    assert spec["cap"].get("unit", "establishment") == DRAFTS[kind].unit
    assert Spec.parse(spec, tmp_path / "x.release.toml").cap.loss == Loss(
        "2", delta="1e-9" if kind in ("persons", "households", "survey") else 0
    )


def test_a_finished_draft_for_persons_makes_tables_and_files_within_its_cap(tmp_path: Path) -> None:
    text = draft_schema(parquet(tmp_path / "a.parquet"), unit="person", role="confidential")
    for old, new in (
        ('["TODO"]', '["Qx17", "Zy18"]'),
        ('lower = "TODO"', "lower = 0"),
        ('upper = "TODO"', "upper = 5000"),
    ):
        text = text.replace(old, new)
    (tmp_path / "a.schema.toml").write_text(text, encoding="utf-8")
    spec = draft_spec("a.schema.toml", "a.parquet").replace('by = ["TODO"]', 'by = ["place"]')
    spec = spec.replace('of = "TODO"', 'of = "hours"').replace('# columns = ["TODO"]', '# columns = ["place", "pay"]')
    lines = [
        line.removeprefix("# ") if line.startswith(("# [[", "# n", "# c", "# e", "# d")) else line
        for line in spec.split("\n")
    ]
    path = tmp_path / "a.release.toml"
    path.write_text("\n".join(lines), encoding="utf-8")
    planned = prepare(Spec.load(path))
    assert [one.spec.name for one in planned.products] == ["counts", "means", "records"]
    assert planned.fits
    path.write_text("\n".join(line for line in lines if "chance that this fails" not in line), encoding="utf-8")
    planned = prepare(Spec.load(path))
    assert not planned.fits
    assert 'write delta = "1e-09" in [cap]' in planned.way_to_fit


def test_labels_of_a_stata_file_are_levels_and_no_row_is_read(tmp_path: Path) -> None:
    frame = pd.DataFrame({"sex": [1, 2, 2], "pay": [10.5, 20.25, 4321.0]})
    pyreadstat.write_dta(
        frame,
        str(tmp_path / "a.dta"),
        column_labels={"sex": "Sex of the person"},
        variable_value_labels={"sex": {1: "Man", 2: "Woman", 9: "Unknown"}},
    )
    text = draft_schema(tmp_path / "a.dta", unit="person")
    drafted = tomllib.loads(text)
    assert drafted["dataset"]["unit"] == "person"
    sex = drafted["variables"]["sex"]
    assert (sex["label"], sex["levels"]) == ("Sex of the person", ["1", "2", "9"])
    assert sex["labels"] == {"1": "Man", "2": "Woman", "9": "Unknown"}
    assert "4321" not in text


def test_codes_that_an_spss_file_declares_missing_are_drafted_as_such(tmp_path: Path) -> None:
    frame = pd.DataFrame({"age": [30.0, -1], "trust": [1.0, 9], "scale": [3.0, 99], "hours": [40.0, 998]})
    pyreadstat.write_sav(
        frame,
        str(tmp_path / "a.sav"),
        variable_value_labels={
            "age": {-1: "No answer"},
            "trust": {0: "No", 1: "Yes", 9: "Don't know"},
            "scale": {1: "Left", 10: "Right", 99: "Don't know"},
        },
        missing_ranges={"age": [-1], "trust": [9], "scale": [99], "hours": [{"lo": 997, "hi": 999}]},
    )
    text = draft_schema(tmp_path / "a.sav", unit="person", role="confidential")
    drafted = tomllib.loads(text)["variables"]
    assert (drafted["age"]["type"], drafted["age"]["missing"], drafted["age"]["missing_codes"]) == (
        "numeric",
        "own state",
        [-1],
    ), "a number whose only labels are of missing codes is a number"
    assert (drafted["trust"]["levels"], drafted["trust"]["missing"]) == (["0", "1", "9"], "9")
    assert drafted["hours"]["missing_codes"] == [997, 998, 999]
    gaps = [line for line in text.splitlines() if line.startswith("# codes between these have no label")]
    assert gaps == [
        "# codes between these have no label: add those that occur, or declare a number with missing_codes = [99]"
    ], "of a scale with labelled ends, not of a question whose codes all have one"
    filled = text.replace('lower = "TODO" ', "lower = 0 ").replace('upper = "TODO"', "upper = 120")
    (tmp_path / "a.schema.toml").write_text(filled, encoding="utf-8")
    assert Schema.load(tmp_path / "a.schema.toml")["hours"].kind.own_missing


def test_columns_that_are_called_as_ids_are_come_with_a_hint(tmp_path: Path) -> None:
    """An id that is left a number is not checked, and then the first words of every page say so."""
    ids, others = ["hhid", "loan_id", "Company no", "person", "PERNR", "respno"], ["age", "notes", "paid", "number_of"]
    columns = ids + others
    pq.write_table(pa.table({name: [1] for name in columns}), tmp_path / "a.parquet")
    parts = draft_schema(tmp_path / "a.parquet", unit="person", role="confidential").split("[variables.")[1:]
    hinted = {part.split("]")[0].strip('"') for part in parts if "# an id?" in part}
    assert hinted == set(ids)


def test_a_survey_is_drafted_with_its_design_and_synthetic_files(tmp_path: Path) -> None:
    pq.write_table(pa.table({"sex": ["F"], "finalwgt": [1.5]}), tmp_path / "a.parquet")
    schema = draft_schema(tmp_path / "a.parquet", unit="person", role="confidential")
    assert '# weight = "finalwgt"' in schema[schema.index("# [design]") :]
    spec = draft_spec("a.schema.toml", "a.parquet", "survey", "finalwgt")
    assert '# weight = "finalwgt"' in spec[spec.index("# [[microdata]]") :]
    assert "# check = {}" in spec


def test_labels_of_columns_of_a_sas_file_are_drafted(tmp_path: Path) -> None:
    labels = {"place": "Place of work", "hours": "Hours a week"}
    pyreadstat.write_xport(FRAME, str(tmp_path / "a.xpt"), column_labels=labels)
    drafted = tomllib.loads(draft_schema(tmp_path / "a.xpt", unit="person"))["variables"]
    assert {name: entry.get("label") for name, entry in drafted.items()} == labels | {"pay": None}


@pytest.mark.parametrize("name", ["again.csv", "again.parquet"])
def test_the_confidential_rows_saved_anew_are_no_public_copy(tmp_path: Path, name: str) -> None:
    """In another order and another format they are the same rows, and their values would stand in the schema."""
    confidential, again = parquet(tmp_path / "a.parquet"), FRAME[["pay", "place", "hours"]].iloc[::-1]
    if name.endswith(".csv"):
        again.to_csv(tmp_path / name, index=False)
    else:
        again.astype({"hours": float}).to_parquet(tmp_path / name)
    with pytest.raises(RefusedError, match="holds the rows of the confidential file, saved anew"):
        draft_schema(confidential, tmp_path / name)
    other = again.assign(hours=[1, 2])
    other.to_csv(tmp_path / "public.csv", index=False)
    assert "upper = 2" in draft_schema(confidential, tmp_path / "public.csv")
