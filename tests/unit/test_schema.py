"""The schema is a person's words: what is wrong in it is named, with the rule and the fix."""

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from tacita.data.confidential import Confidential
from tacita.data.schema import Categorical, Integer, Numeric, Schema
from tacita.errors import SchemaError

TOML = """
[dataset]
identity = "demo-jobs-2026"
unit = "establishment"
lineage = ["demo-jobs-2025"]
source = "public code lists"

[variables.workplace_id]
role = "id"
entity = "workplace"
[variables.place]
type = "categorical"
role = "workplace"
levels_file = "places.csv"
[variables.sex]
type = "categorical"
role = "worker"
levels = ["F", "M", "U"]
labels = { F = "Female" }
missing_codes = ["9"]
missing = "U"
outside = "U"
[variables.pay]
type = "numeric"
role = "confidential"
lower = 0
upper = 250000.5
scale = 1
missing = 0
[variables.hours]
type = "integer"
role = "confidential"
lower = 0
upper = 99
outside = "error"
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "places.csv").write_text("code,label\n01,Ash\n02,Birch\n10,\n", encoding="utf-8")
    (tmp_path / "jobs.schema.toml").write_text(TOML, encoding="utf-8")
    return tmp_path


def plain(**changes: Any) -> dict[str, Any]:
    content: dict[str, Any] = {
        "dataset": {"identity": "demo", "unit": "person"},
        "variables": {
            "sex": {"role": "worker", "type": "categorical", "levels": ["F", "M"]},
            "hours": {"role": "confidential", "type": "integer", "lower": 0, "upper": 99},
        },
    }
    for path, value in changes.items():
        *folders, key = path.split("__")
        place = content
        for name in folders:
            place = place[name]
        if value is None:
            del place[key]
        else:
            place[key] = value
    return content


def test_a_schema_file_is_read_with_its_code_list_and_defaults(folder: Path) -> None:
    schema = Schema.load(folder / "jobs.schema.toml")
    assert schema.identity == "demo-jobs-2026"
    assert schema.lineage == ("demo-jobs-2025",)
    assert schema.levels("place") == ("01", "02", "10"), "leading zeros are part of a code"
    assert schema.categorical("place").labels == ("Ash", "Birch", "10"), "a level without a label shows its code"
    assert schema.categorical("sex").label_of("F") == "Female"
    assert schema.by_role("confidential") == ("pay", "hours")
    assert schema.id_of("workplace") == "workplace_id"
    assert schema.id_of("worker") is None
    assert schema.domain_size(["place", "sex"]) == 9
    assert schema.domain_size([]) == 1
    assert schema["pay"].kind == Numeric(0, 250000.5, missing=0, scale=1)
    assert schema["hours"].kind == Integer(0, 99, outside="error")
    assert schema.code_lists == (folder / "places.csv",)


def test_canonical_form_goes_there_and_back_and_its_hash_ignores_order(folder: Path) -> None:
    schema = Schema.load(folder / "jobs.schema.toml")
    again = Schema.from_dict(json.loads(json.dumps(schema.to_dict(), sort_keys=True)))
    assert again.names != schema.names, "sorting the keys changed the order of declaration"
    assert again == schema
    assert again.hash == schema.hash


def test_every_part_of_the_meaning_changes_the_hash() -> None:
    base = Schema.from_dict(plain()).hash
    for change in (
        {"dataset__identity": "other"},
        {"dataset__unit": "household"},
        {"dataset__lineage": ["demo-2025"]},
        {"variables__sex__levels": ["M", "F"]},
        {"variables__sex__outside": "M"},
        {"variables__hours__upper": 98},
        {"variables__hours__missing": 0},
    ):
        assert Schema.from_dict(plain(**change)).hash != base, change


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"dataset": None}, ["dataset", "missing"]),
        ({"dataset__identity": None}, ["dataset.identity", "missing"]),
        ({"dataset__idenity": "x"}, ["dataset.idenity", "did you mean identity"]),
        ({"dataset__lineage": "x"}, ["dataset.lineage", "list"]),
        ({"variables": {}}, ["variables", "none declared"]),
        ({"spare": 1}, ["spare", "unknown key"]),
        ({"variables__sex": 3}, ["variables.sex", "table"]),
        ({"variables__sex__role": None}, ["variables.sex.role", "missing"]),
        ({"variables__sex__role": "boss"}, ["variables.sex.role", "workplace"]),
        ({"variables__sex__type": "text"}, ["variables.sex.type", "categorical"]),
        ({"variables__sex__levls": []}, ["variables.sex.levls", "did you mean levels"]),
        ({"variables__sex__levels": None}, ["variables.sex.levels", "levels_file"]),
        ({"variables__sex__levels": []}, ["variables.sex.levels", "empty"]),
        ({"variables__sex__levels": [1, 2]}, ["variables.sex.levels", "quotes"]),
        ({"variables__sex__levels": ["F", "M", "F"]}, ["variables.sex.levels", "more than once"]),
        ({"variables__sex__levels": ["F", ""]}, ["variables.sex.levels", "empty cell"]),
        ({"variables__sex__levels": ["F", "error"]}, ["variables.sex.levels", "rename"]),
        ({"variables__sex__levels_file": "x.csv"}, ["variables.sex.levels", "exactly one"]),
        ({"variables__sex__labels": {"X": "?"}}, ["variables.sex.labels", "not in levels"]),
        ({"variables__sex__outside": "X"}, ["variables.sex.outside", "levels"]),
        ({"variables__sex__missing": "X"}, ["variables.sex.missing", "levels"]),
        ({"variables__sex__missing_codes": ["9"]}, ["variables.sex.missing_codes", "missing ="]),
        ({"variables__sex__table": "boss"}, ["variables.sex.table", "workplace"]),
        ({"variables__sex__table": "workplace"}, ["variables.sex.table", 'entity = "workplace"']),
        ({"variables__hours__lower": None}, ["variables.hours.lower", "missing"]),
        ({"variables__hours__lower": 100}, ["variables.hours.lower", "above upper"]),
        ({"variables__hours__lower": "0"}, ["variables.hours.lower", "without quotes"]),
        ({"variables__hours__lower": True}, ["variables.hours.lower", "number"]),
        ({"variables__hours__lower": 0.5}, ["variables.hours.lower", "whole"]),
        ({"variables__hours__upper": float("inf")}, ["variables.hours.upper", "whole"]),
        ({"variables__hours__outside": "F"}, ["variables.hours.outside", "clamp"]),
        ({"variables__hours__missing": 100}, ["variables.hours.missing", "between"]),
        ({"variables__hours__missing": True}, ["variables.hours.missing", "number", '"own state"']),
        ({"variables__hours__missing_codes": [99]}, ["variables.hours.missing_codes", "missing ="]),
        ({"variables__hours__levels": ["1"]}, ["variables.hours.levels", "unknown key"]),
        ({"variables__hours__role": "size", "variables__hours__lower": -1}, ["variables.hours", "lower ≥ 0"]),
        ({"variables__hours__role": "size"}, ["variables.sex.role", "no worker attributes"]),
    ],
)
def test_a_wrong_schema_names_the_key_the_rule_and_the_fix(change: dict[str, Any], words: list[str]) -> None:
    with pytest.raises(SchemaError) as caught:
        Schema.from_dict(plain(**change))
    for word in words:
        assert word in str(caught.value)


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("places.csv", None, ["variables.place.levels_file", "not found"]),
        ("places.csv", "id,name\n1,a\n", ["variables.place.levels_file", '"code"']),
        ("places.csv", "code,label\n01,Ash\n01,Birch\n", ["variables.place.levels", "more than once"]),
        ("jobs.schema.toml", None, ["jobs.schema.toml", "not found"]),
        ("jobs.schema.toml", "[dataset\n", ["jobs.schema.toml", "TOML"]),
    ],
)
def test_files_that_cannot_be_used_are_named(folder: Path, name: str, content: str | None, words: list[str]) -> None:
    (folder / name).unlink()
    if content is not None:
        (folder / name).write_text(content, encoding="utf-8")
    with pytest.raises(SchemaError) as caught:
        Schema.load(folder / "jobs.schema.toml")
    for word in words:
        assert word in str(caught.value)


def test_looking_up_what_is_not_there_says_what_is() -> None:
    schema = Schema.from_dict(plain())
    with pytest.raises(SchemaError, match=r"wage: no such variable.*sex, hours"):
        schema["wage"]
    with pytest.raises(SchemaError, match="hours: is not categorical"):
        schema.levels("hours")


def test_the_rule_of_a_column_decides_where_a_value_goes() -> None:
    kind = Categorical(("a", "b", "other"), outside="other", missing="b", missing_codes=("99",))
    assert [kind.code_of(raw) for raw in ("a", "b", "zz", "99", "", None)] == [0, 1, 2, 1, 1, 1]
    strict = Categorical(("a", "b"))
    assert [strict.code_of(raw) for raw in ("a", "zz", None)] == [0, None, None]


VARIABLES: dict[str, Any] = {
    "voted": {"role": "confidential", "type": "categorical", "levels": ["no", "yes"], "missing": "yes"},
    "registered": {
        "role": "confidential",
        "type": "categorical",
        "levels": ["no", "yes"],
        "missing": "no",
        "outside": "no",
    },
    "sex": {"role": "confidential", "type": "categorical", "levels": ["F", "M"]},
    "age": {"role": "confidential", "type": "integer", "lower": 0, "upper": 99},
}

VOTED = {"voted": "yes", "registered": "no"}


def schema(zeros: Any = None, variables: dict[str, Any] | None = None) -> Schema:
    content = {"dataset": {"identity": "voters", "unit": "person"}, "variables": variables or VARIABLES}
    return Schema.from_dict(content if zeros is None else content | {"zeros": zeros})


def voters(**changed: Any) -> pd.DataFrame:
    plain = {
        "voted": ["no", "yes", "no"],
        "registered": ["no", "yes", "yes"],
        "sex": ["F", "M", "M"],
        "age": [9, 40, 3],
    }
    return pd.DataFrame(plain | changed)


def test_zeros_are_read_from_toml_and_come_back(tmp_path: Path) -> None:
    path = tmp_path / "voters.toml"
    path.write_text(
        '[dataset]\nidentity = "v"\nunit = "person"\n'
        '[variables.voted]\nrole = "confidential"\ntype = "categorical"\nlevels = ["no", "yes"]\n'
        '[variables.registered]\nrole = "confidential"\ntype = "categorical"\nlevels = ["no", "yes"]\n'
        '[[zeros]]\nvoted = "yes"\nregistered = "no"\n'
    )
    found = Schema.load(path)
    assert found.zeros == ((("registered", "no"), ("voted", "yes")),)
    assert found.to_dict()["zeros"] == [{"registered": "no", "voted": "yes"}]
    again = Schema.from_dict(found.to_dict())
    assert again == found
    assert again.zeros == found.zeros


def test_zeros_are_part_of_the_schema_and_their_spelling_is_not() -> None:
    plain, with_zeros = schema(), schema([VOTED])
    assert plain.zeros == ()
    assert "zeros" not in plain.to_dict(), "the hash of a schema without zeros stays what it was"
    assert plain == schema([])
    assert plain != with_zeros
    assert with_zeros == schema([{"registered": "no", "voted": "yes"}])
    assert with_zeros != schema([{"registered": "yes", "voted": "no"}])


@pytest.mark.parametrize(
    ("zeros", "words"),
    [
        (VOTED, r"zeros: must be tables, each written as \[\[zeros\]\]"),
        (["voted"], r"zeros: must be tables"),
        ([VOTED, {"voted": "yes"}], "zeros, number 2: name two or more columns"),
        ([{}], "zeros, number 1: name two or more columns"),
        ([{"voted": "perhaps", "registered": "no"}], 'zeros, number 1: "perhaps" is not a level of voted'),
        ([{"voted": 1, "registered": "no"}], "zeros, number 1: levels are text in quotes"),
        ([{"voted": "yes", "enrolled": "no"}], "enrolled: no such variable"),
        ([{"voted": "yes", "age": "9"}], "age: is not categorical"),
    ],
)
def test_a_wrong_entry_is_named(zeros: Any, words: str) -> None:
    with pytest.raises(SchemaError, match=words):
        schema(zeros)


def test_a_file_that_keeps_to_its_zeros_is_accepted() -> None:
    Confidential.from_frame(voters(), schema([VOTED])).check(["voted", "registered", "sex"])


@pytest.mark.parametrize(
    "changed",
    [
        {"voted": ["no", "yes", "yes"], "registered": ["no", "yes", "no"]},
        {"voted": ["no", "yes", None], "registered": ["no", "yes", "no"]},  # missing becomes "yes"
        {"registered": ["no", None, "yes"]},  # missing becomes "no", and the second person voted
        {"registered": ["no", "elsewhere", "yes"]},  # a level outside becomes "no"
    ],
)
def test_a_file_with_an_impossible_record_is_refused_without_a_word_about_it(changed: Any) -> None:
    data = Confidential.from_frame(voters(**changed), schema([VOTED]))
    with pytest.raises(SchemaError) as caught:
        data.check(["voted", "registered"])
    said = str(caught.value)
    assert "registered, voted: a record has a combination of levels that [[zeros]] calls impossible" in said
    assert "repair the file" in said
    assert not any(word in said for word in ("yes", '"no"', "elsewhere", "1 "))


def test_columns_that_are_not_read_are_not_looked_at() -> None:
    data = Confidential.from_frame(voters(registered=["no", "no", "no"]), schema([VOTED]))
    data.check(["sex", "age"])


def test_a_second_check_looks_at_what_is_new() -> None:
    data = Confidential.from_frame(voters(registered=["no", "no", "no"]), schema([VOTED, {"sex": "F", "voted": "yes"}]))
    data.check(["sex"])
    with pytest.raises(SchemaError, match="registered, voted"):
        data.check(["voted", "registered"])


def test_three_columns_together() -> None:
    three = [{"voted": "yes", "registered": "yes", "sex": "M"}]
    data = Confidential.from_frame(voters(), schema(three))
    with pytest.raises(SchemaError, match="registered, sex, voted: a record has a combination"):
        data.check(["voted", "registered", "sex"])
    Confidential.from_frame(voters(sex=["F", "F", "M"]), schema(three)).check(["voted", "registered", "sex"])
