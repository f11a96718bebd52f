"""Combinations that cannot occur: declared in the schema, checked in the file before anything is spent."""

from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from tacita.data.confidential import Confidential
from tacita.data.schema import Schema
from tacita.errors import SchemaError

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
