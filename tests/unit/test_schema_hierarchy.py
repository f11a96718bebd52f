"""`[hierarchy.NAME]`: three ways to declare one tree, and what is refused before any file is opened."""

from pathlib import Path
from typing import Any

import pytest

from tacita.data.schema import Schema
from tacita.errors import SchemaError

TRACTS = ["A101", "A102", "A201", "B101"]
TABLES: dict[str, Any] = {
    "county": {"A101": "A1", "A102": "A1", "A201": "A2", "B101": "B1"},
    "state": {"A1": "A", "A2": "A", "B1": "B"},
}


def content(tree: dict[str, Any] | None, **others: Any) -> dict[str, Any]:
    variables = {
        "tract": {"role": "public", "type": "categorical", "levels": TRACTS},
        "industry": {"role": "public", "type": "categorical", "levels": ["11", "12", "21"]},
        "age": {"role": "confidential", "type": "integer", "lower": 0, "upper": 99},
    }
    trees = {} if tree is None else {"geography": tree}
    return {"dataset": {"identity": "people", "unit": "person"}, "variables": variables, "hierarchy": trees | others}


def tree(**given: Any) -> dict[str, Any]:
    return {"column": "tract", "levels": ["county", "state", "nation"], **given}


WRITTEN = "tract,county,state\nA101,A1,A\nA102,A1,A\nA201,A2,A\nB101,B1,B\nC101,C1,C\n"


def test_tables_prefixes_and_a_file_declare_the_same_tree(tmp_path: Path) -> None:
    (tmp_path / "tracts.csv").write_text(WRITTEN, encoding="utf-8")
    ways = [tree(**TABLES), tree(prefix={"county": 2, "state": 1}), tree(file="tracts.csv")]
    schemas = [Schema.from_dict(content(way), folder=tmp_path) for way in ways]
    assert len({schema.hash for schema in schemas}) == 1
    for schema in schemas:
        geography = schema.hierarchy("tract")
        assert geography.levels == ("county", "state", "nation")
        assert [geography.names(level) for level in ("tract", *geography.levels)] == [
            tuple(TRACTS),
            ("A1", "A2", "B1"),
            ("A", "B"),
            ("Total",),
        ]
        assert geography.parent_codes("tract").tolist() == [0, 1, 2, 3]
        assert geography.parent_codes("county").tolist() == [0, 0, 1, 2]
        assert geography.parent_codes("state").tolist() == [0, 0, 0, 1]
        assert geography.parent_codes("nation").tolist() == [0, 0, 0, 0]
        assert Schema.from_dict(schema.to_dict()) == schema
    assert schemas[2].code_lists == (tmp_path / "tracts.csv",)
    assert schemas[0].code_lists == ()


def test_a_schema_without_trees_keeps_its_hash_and_says_that_there_is_none() -> None:
    plain = content(None)
    schema = Schema.from_dict(plain)
    assert "hierarchy" not in schema.to_dict()
    del plain["hierarchy"]
    assert Schema.from_dict(plain).hash == schema.hash
    with pytest.raises(SchemaError, match=r"tract: has no tree .* \[hierarchy.NAME\]"):
        schema.hierarchy("tract")


def test_trees_of_two_columns_stand_beside_each_other() -> None:
    division = {"column": "industry", "levels": ["division", "economy"], "prefix": {"division": 1}}
    schema = Schema.from_dict(content(tree(**TABLES), activity=division))
    assert schema.hierarchy("industry").names("division") == ("1", "2")
    assert [one.column for one in schema.hierarchies] == ["tract", "industry"]
    assert Schema.from_dict(schema.to_dict()) == schema


def test_a_tree_changes_what_the_schema_is() -> None:
    moved = tree(**(TABLES | {"state": {"A1": "A", "A2": "B", "B1": "B"}}))
    hashes = {Schema.from_dict(content(one)).hash for one in (None, tree(**TABLES), moved)}
    assert len(hashes) == 3


@pytest.mark.parametrize(
    ("declared", "words"),
    [
        ("county", ["hierarchy.geography", "must be a table"]),
        (tree(column="place"), ["hierarchy.geography.column", "place"]),
        (tree(column="age"), ["hierarchy.geography.column", "categorical"]),
        (tree(levels=[]), ["hierarchy.geography.levels"]),
        (tree(levels=["tract", "state"]), ["hierarchy.geography.levels", "tract itself"]),
        (tree(levels=["file", "state"]), ["hierarchy.geography.levels", "file"]),
        (tree(levels=["industry"], industry={}), ["hierarchy.geography", "without a parent"]),
        (tree(levels=["industry"]), ["hierarchy.geography.levels", "industry is also a column"]),
        (tree(**TABLES, region={}), ["hierarchy.geography.region", "unknown key"]),
        (tree(**TABLES, prefix={"county": 2}), ["hierarchy.geography", "two ways"]),
        (tree(county=TABLES["county"]), ["hierarchy.geography.state", "must be a table"]),
        (tree(county={"A101": "A1"}, state={}), ["hierarchy.geography.county", "without a parent", "B101"]),
        (
            tree(county=TABLES["county"] | {"Z9": "Z"}, state=TABLES["state"]),
            ["hierarchy.geography.county", '"Z9" is not a code of the level below'],
        ),
        (tree(prefix=2), ["hierarchy.geography.prefix", "characters"]),
        (tree(prefix={"county": 2, "state": 2}), ["prefix.state", "fewer than the level below"]),
        (tree(prefix={"county": 2}), ["prefix.state", "whole number"]),
        (tree(prefix={"county": 2, "state": True}), ["prefix.state", "whole number"]),
        (tree(prefix={"county": 2, "stat": 1}), ["prefix.stat", "did you mean state?"]),
        (tree(column="TODO"), ["hierarchy.geography.column", "TODO"]),
    ],
)
def test_what_is_no_tree_is_refused_by_its_key(declared: Any, words: list[str]) -> None:
    with pytest.raises(SchemaError) as problem:
        Schema.from_dict(content(declared))
    for word in words:
        assert word in str(problem.value)


def test_codes_that_are_too_short_for_their_prefix_are_named() -> None:
    short = content({"column": "industry", "levels": ["division"], "prefix": {"division": 2}})
    short["variables"]["industry"]["levels"] = ["111", "112", "2"]
    with pytest.raises(SchemaError, match=r'prefix.division: "2" is shorter'):
        Schema.from_dict(short)


@pytest.mark.parametrize(
    ("written", "words"),
    [
        (WRITTEN.replace("A102,A1,A", "A102,A1,B"), ['county "A1" lies in two codes of state', '"A" and "B"']),
        (WRITTEN + "A101,A2,A\n", ['two parents for tract "A101"']),
        (WRITTEN.replace("B101,B1,B\n", ""), ['"B101" is without a parent']),
        (WRITTEN.replace("B101,B1,B", "B101,,B"), ['"B101" is without a parent']),
        (WRITTEN.replace("tract,county,state", "code,county,state"), ["header line with the column tract"]),
        (WRITTEN.replace("tract,county,state", "tract,kreis,state"), ["header line with the column county"]),
        (None, ["was not found beside the schema"]),
    ],
)
def test_a_file_that_is_no_tree_is_refused(tmp_path: Path, written: str | None, words: list[str]) -> None:
    if written is not None:
        (tmp_path / "tracts.csv").write_text(written, encoding="utf-8")
    with pytest.raises(SchemaError) as problem:
        Schema.from_dict(content(tree(file="tracts.csv")), folder=tmp_path)
    for word in ("hierarchy.geography", *words):
        assert word in str(problem.value)


def test_two_trees_may_not_be_mistaken_for_each_other() -> None:
    again = {"column": "tract", "levels": ["region"], "prefix": {"region": 1}}
    with pytest.raises(SchemaError, match="tract already has the tree geography"):
        Schema.from_dict(content(tree(**TABLES), regions=again))
    same = {"column": "industry", "levels": ["nation"]}
    with pytest.raises(SchemaError, match="nation is also a level of geography"):
        Schema.from_dict(content(tree(**TABLES), activity=same))
