"""The specification: what it says, what it refuses, and the mock rows made from it."""

import copy
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tacita.data.confidential import Confidential
from tacita.data.schema import Schema
from tacita.errors import SpecError
from tacita.privacy import AddRemoveOne, Loss, NumbersWithin, ReplaceOne, StrongAlpha, WeakAlpha
from tacita.release.spec import Spec
from tacita.release.trial import ESTABLISHMENTS, ROWS, mock_tables

BASE: dict[str, Any] = {
    "title": "Jobs",
    "schema": "jobs.schema.toml",
    "data": "jobs.parquet",
    "ledger": "jobs.ledger",
    "cap": {"neighbours": "strong", "alpha": "0.1", "epsilon": "2"},
    "table": [{"name": "employment", "by": ["place"], "mechanism": "SmoothStaircase", "epsilon": "1"}],
}


def parsed(**changes: Any) -> Spec:
    return Spec.parse(BASE | changes, Path("folder/release.toml"))


def test_defaults_are_spelled_out() -> None:
    written = parsed().model_dump(mode="json", by_alias=True)
    assert written["engine"] == "duckdb"
    assert written["cap"]["delta"] == "0"
    assert written["table"][0]["confidence"] == "0.95"
    assert "path" not in written


@pytest.mark.parametrize(
    ("cap", "relation"),
    [
        (
            {"neighbours": "numbers-within", "unit": "firm", "alpha": "0.1", "epsilon": "2"},
            NumbersWithin("firm", "0.1"),
        ),
        ({"neighbours": "strong", "alpha": "0.1", "epsilon": "2"}, StrongAlpha("0.1")),
        ({"neighbours": "weak", "alpha": "1/3", "epsilon": "2"}, WeakAlpha("1/3")),
        ({"neighbours": "add-remove", "unit": "worker", "epsilon": "2"}, AddRemoveOne("worker")),
        ({"neighbours": "replace", "unit": "person", "epsilon": "2"}, ReplaceOne("person")),
    ],
)
def test_caps_become_neighbours(cap: dict[str, str], relation: object) -> None:
    spec = parsed(cap=cap)
    assert spec.cap.relation == relation
    assert spec.cap.loss == Loss("2")


def test_paths_are_seen_from_the_specification() -> None:
    assert parsed().data_source == "folder/jobs.parquet"
    assert parsed(data={"job": "a/job.parquet"}).data_source == {"job": "folder/a/job.parquet"}
    assert parsed(data="duckdb:jobs.db?table=jobs").data_source == "duckdb:folder/jobs.db?table=jobs"


def test_numbers_are_kept_exactly() -> None:
    assert parsed(cap=BASE["cap"] | {"epsilon": "0.10"}).cap.epsilon == "0.1"
    assert parsed(cap=BASE["cap"] | {"epsilon": 2}).cap.loss == Loss("2")


def _in_table(**changes: Any) -> Callable[[dict[str, Any]], None]:
    return lambda spec: spec["table"][0].update(changes)


WRONG: list[tuple[Callable[[dict[str, Any]], Any], list[str]]] = [
    (lambda spec: spec.update(legder="x"), ["unknown key legder", "did you mean ledger?"]),
    (lambda spec: spec.pop("ledger"), ["ledger is missing"]),
    (lambda spec: spec.update(engine="sparc"), ["engine", "'duckdb' or 'spark'"]),
    (lambda spec: spec.update(data=3), ["data", "file name"]),
    (lambda spec: spec.update(cap="2"), ["cap", "table of keys"]),
    (lambda spec: spec.update(path="x"), ["unknown key path"]),
    (lambda spec: spec["cap"].update(epsilon=0.5), ["epsilon of [cap]", 'put quotes around it: "0.5"']),
    (lambda spec: spec["cap"].update(epsilon="a lot"), ["epsilon of [cap]", "number in quotes"]),
    (lambda spec: spec["cap"].update(epsilon=True), ["epsilon of [cap]", "number in quotes"]),
    (lambda spec: spec["cap"].update(alpah="1"), ["unknown key alpah of [cap]", "did you mean alpha?"]),
    (lambda spec: spec["cap"].update(unit="worker"), ["has no unit", "remove"]),
    (lambda spec: spec["cap"].pop("alpha"), ["needs the key alpha"]),
    (lambda spec: spec["cap"].update(neighbours="numbers-within"), ["needs the key unit"]),
    (lambda spec: spec["cap"].update(neighbours="replace", unit="firm"), ["has no alpha"]),
    (lambda spec: spec.update(table=[]), ["one [[table]] for each"]),
    (lambda spec: spec.update(table="employment"), ["table", "[[table]]"]),
    (lambda spec: spec["table"].append(spec["table"][0]), ["employment is used twice"]),
    (_in_table(epsilom="1"), ['unknown key epsilom of table "employment"', "did you mean epsilon?"]),
    (_in_table(name="../etc"), ["name of table", "file name"]),
    (_in_table(by="place"), ['by of table "employment"', "must be a list"]),
    (_in_table(integers="yes"), ["integers of table", "true or false"]),
    (_in_table(margin_share=0.05), ["margin_share of table", "put quotes"]),
    (_in_table(where={"sex": "F"}), ["where.sex of table", "must be a list"]),
    (_in_table(totals=["sector"]), ["totals: sector is not one of this table's attributes"]),
    (
        _in_table(by=["place"], totals=["place"], statistic="mean"),
        ['table "employment"', "totals: are for counts and sums", "leave totals out", '[[table]] with by = ["place"]'],
    ),
    (
        _in_table(by=["place"], levels=["state"], rank=True),
        ['table "employment"', "rank: levels has the coarser cells"],
    ),
    (_in_table(statistic="quantiles", rank=True), ['table "employment"', "rank: several numbers of a cell"]),
    (_in_table(confidence="95"), ["confidence of table", "between 0 and 1"]),
    (lambda spec: spec.update(public_input=[{"what": "x"}]), ["source of [[public_input]] number 1 is missing"]),
]


@pytest.mark.parametrize(("change", "parts"), WRONG, ids=[" / ".join(parts) for _, parts in WRONG])
def test_a_mistake_names_the_key_and_the_fix(change: Callable[[dict[str, Any]], Any], parts: list[str]) -> None:
    raw = copy.deepcopy(BASE)
    change(raw)
    with pytest.raises(SpecError) as caught:
        Spec.parse(raw, Path("release.toml"))
    for part in ["release.toml: ", *parts]:
        assert part in str(caught.value)


def test_a_misspelt_key_comes_before_the_one_it_leaves_missing() -> None:
    raw = copy.deepcopy(BASE)
    raw["tittle"] = raw.pop("title")
    with pytest.raises(SpecError, match=r"^release.toml: unknown key tittle; did you mean title\?.*; title is missing"):
        Spec.parse(raw, Path("release.toml"))


@pytest.mark.parametrize(
    ("content", "message"),
    [(b"title = ", "not valid TOML"), (b"\xff\xfe", "not a UTF-8 text file"), (None, "there is no such file")],
)
def test_a_file_that_is_no_specification(tmp_path: Path, content: bytes | None, message: str) -> None:
    path = tmp_path / "release.toml"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(SpecError, match=re.escape(message)):
        Spec.load(path)


PLACE: dict[str, Any] = {"role": "workplace", "type": "categorical", "levels": ["north", "south", "unknown"]}

SEX: dict[str, Any] = {"role": "worker", "type": "categorical", "levels": ["F", "M"]}

IDS: dict[str, Any] = {
    "workplace_id": {"role": "id", "entity": "workplace"},
    "worker_id": {"role": "id", "entity": "worker"},
}


def schema(**variables: Any) -> Schema:
    return Schema.from_dict({"dataset": {"identity": "mock", "unit": "establishment"}, "variables": variables})


FLAT = schema(**IDS, place=PLACE, sex=SEX)

LINKED = schema(**IDS, place=PLACE | {"table": "workplace"}, sex=SEX | {"table": "worker"})

SIZES = schema(
    workplace_id=IDS["workplace_id"],
    place=PLACE,
    employment={"role": "size", "type": "integer", "lower": 0, "upper": 100_000},
)


@pytest.mark.parametrize("one", [FLAT, LINKED, SIZES], ids=["flat", "linked", "sizes"])
def test_mock_rows_fit_the_schema_they_come_from(one: Schema) -> None:
    tables = mock_tables(one, seed=1)
    data = Confidential.from_frame(tables if len(tables) > 1 else tables[one.row], one)
    data.check([variable.name for variable in one.variables])


def test_linked_tables_hold_their_own_columns() -> None:
    tables = mock_tables(LINKED, seed=1)
    assert {name: table.column_names for name, table in tables.items()} == {
        "job": ["workplace_id", "worker_id"],
        "workplace": ["workplace_id", "place"],
        "worker": ["worker_id", "sex"],
    }
    assert [tables[name].num_rows for name in ("job", "workplace", "worker")] == [ROWS, ESTABLISHMENTS, ROWS]


def test_an_establishment_sits_in_one_place() -> None:
    jobs = mock_tables(FLAT, seed=1)["job"].to_pandas()
    assert jobs.groupby("workplace_id")["place"].nunique().max() == 1


def test_levels_are_about_equally_common() -> None:
    shares = mock_tables(FLAT, seed=1)["job"].to_pandas()["sex"].value_counts(normalize=True)
    assert shares.between(0.47, 0.53).all()  # five standard errors and more around one half


def test_the_seed_decides() -> None:
    assert mock_tables(FLAT, seed=1)["job"].equals(mock_tables(FLAT, seed=1)["job"])
    assert not mock_tables(FLAT, seed=1)["job"].equals(mock_tables(FLAT, seed=2)["job"])
