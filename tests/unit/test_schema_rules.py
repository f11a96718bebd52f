"""[[rules]] of a schema: how they are read, what is refused, and how a confidential file is held against them."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from support.ruled_people import RULES, VARIABLES, broken, content, people, schema
from tacita.data.confidential import Confidential
from tacita.data.reading import read
from tacita.data.schema import Rulebook, Schema
from tacita.errors import SchemaError
from tacita.release.trial import mock_tables


def test_rules_come_back_and_are_part_of_the_schema() -> None:
    ruled = schema()
    assert Schema.from_dict(json.loads(json.dumps(ruled.to_dict()))) == ruled
    assert "rules" not in schema([]).to_dict(), "the hash of a schema without rules stays what it was"
    assert ruled != schema(RULES[:-1])
    same = (
        [{"never": {"housing": ["own", "rented"], "rooms": "none"}}],
        [{"never": {"rooms": ["none"], "housing": {"not": "institution"}}}],
    )
    assert schema(same[0]) == schema(same[1]), "how a rule is spelled does not matter"


def test_toml_dates_and_a_file_of_codes(tmp_path: Path) -> None:
    (tmp_path / "zips.csv").write_text("zip,state\n10,A\n11,A\n20,B\n")
    (tmp_path / "s.toml").write_text(
        '[dataset]\nidentity = "z"\nunit = "person"\n'
        '[variables.zip]\nrole = "public"\ntype = "categorical"\nlevels = ["10", "11", "20"]\n'
        '[variables.state]\nrole = "public"\ntype = "categorical"\nlevels = ["A", "B"]\n'
        '[variables.born]\nrole = "public"\ntype = "date"\nlower = 1900-01-01\nupper = 2026-12-31\n'
        '[[rules]]\ndetermines = "state"\nfrom = "zip"\nfile = "zips.csv"\n'
        '[[rules]]\nnever = { born = { least = 2000-01-01 }, state = "B" }\n'
    )
    found = Schema.load(tmp_path / "s.toml")
    assert found.rules[0].entry["map"] == {"10": "A", "11": "A", "20": "B"}
    assert found.code_lists == (tmp_path / "zips.csv",)
    assert Schema.from_dict(found.to_dict()) == found


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        ({"never": {"age": 3}}, "two or more columns"),
        ({"never": {"sex": "F", "age": 3}}, "sex is not declared"),
        ({"never": {"smokes": "maybe", "age": 3}}, "smokes: must be one of the column's levels"),
        ({"never": {"smokes": "no", "age": 300}}, "age: lies outside the declared bounds"),
        ({"never": {"smokes": "no", "wage": 0.15}}, "more places after the point"),
        ({"never": {"smokes": "no", "age": "missing"}}, 'needs missing = "own state"'),
        ({"never": {"smokes": {"least": 1}, "age": 3}}, "are for numbers and dates"),
        ({"when": {"smokes": "no"}}, "then: must name columns"),
        ({"when": {"smokes": "no"}, "then": {"smokes": "yes"}}, "smokes stands in when and in then"),
        ({"less": ["age", "start"]}, "numbers with numbers"),
        ({"less": ["age", "smokes"]}, "smokes is categorical"),
        ({"less": ["age"]}, "from the least on"),
        ({"sum": ["wage", "age"], "equals": "other"}, "fewer places after the point"),
        ({"sum": ["cigarettes", "age"], "equals": "other"}, 'missing = "own state" for other'),
        ({"determines": "group", "from": "age", "bins": {"young": [0, 17], "old": [65, 99]}}, "have no group"),
        ({"determines": "group", "from": "age", "bins": {"young": [0, 17], "old": [17, 99]}}, "two values of group"),
        ({"determines": "group", "from": "age", "map": {"1": "young"}}, "with bins"),
        ({"computes": "bmi", "as": "weight / __import__('os')"}, "must be a formula of columns and numbers"),
        ({"computes": "bmi", "as": "weight ** height"}, "must be a formula of columns and numbers"),
        ({"computes": "bmi", "as": "weight / size"}, "size is not declared"),
        ({"computes": "height", "as": "weight * 2"}, 'declare missing = "own state" for height'),
        ({"column": "rooms", "only_when": {"smokes": "yes"}}, "with otherwise"),
        ({"never": {"smokes": "no", "age": 3}, "less": ["age", "other"]}, "has one of these forms"),
        ({"less": ["age", "other"], "orequal": True}, "unknown key; did you mean or_equal"),
    ],
)
def test_what_is_no_rule_is_refused_with_its_number(rule: dict[str, Any], message: str) -> None:
    with pytest.raises(SchemaError, match="rules, number 1") as refused:
        schema([rule])
    assert message in str(refused.value)


@pytest.mark.parametrize(
    "more",
    [
        [{"when": {"smokes": one}, "then": {"group": "young"}} for one in ("no", "yes")]
        + [{"when": {"smokes": one}, "then": {"group": "old"}} for one in ("no", "yes")],
        [
            {"less": ["wage", "other"]},
            {"less": ["other", "wage"]},
            {"never": {"wage": {"most": 49_999}, "age": {"most": 99}}},
        ],
    ],
)
def test_rules_that_nobody_can_keep_are_refused(more: list[dict[str, Any]]) -> None:
    with pytest.raises(SchemaError, match="no record can keep them all"):
        schema([RULES[0], *more])


def test_a_column_follows_from_one_rule_and_never_from_itself() -> None:
    with pytest.raises(SchemaError, match="group already follows from rule 1"):
        schema([RULES[0], RULES[0]])
    circle = [
        {"determines": "smokes", "from": "housing", "map": {"own": "no", "rented": "no", "institution": "yes"}},
        {"determines": "housing", "from": "smokes", "map": {"no": "own", "yes": "institution"}},
    ]
    with pytest.raises(SchemaError, match="in a circle"):
        schema(circle)


def _change(**values: Any) -> pd.DataFrame:
    frame = people(200)
    for name, value in values.items():
        frame[name] = frame[name].astype(object) if isinstance(value, str) else frame[name]
        frame.loc[7, name] = value
    return frame


@pytest.mark.parametrize(
    ("change", "word"),
    [
        ({"age": 30, "group": "old"}, "group, age: a record breaks the rule with determines"),
        ({"smokes": "no", "cigarettes": 3.0}, "cigarettes, smokes: a record breaks the rule with only_when"),
        ({"income": 69_999.0}, "wage, other, income: a record breaks the rule with sum"),
        ({"start": pd.Timestamp("2019-05-05"), "end": pd.Timestamp("2019-05-04")}, "start, end: a record breaks"),
        ({"bmi": 50.0, "weight": 70.0}, "height, weight, bmi: a record breaks the rule with computes"),
        ({"housing": "own", "rooms": "none"}, "housing, rooms: a record breaks the rule with when"),
    ],
)
def test_a_file_that_breaks_a_rule_is_refused_or_let_pass(change: dict[str, Any], word: str) -> None:
    frame = _change(**change)
    assert sum(broken(frame).values()) > 0
    with pytest.raises(SchemaError, match=word):
        Confidential.from_frame(frame, schema()).check(list(VARIABLES))
    lenient = schema([{**rule, "broken": "allow"} for rule in RULES])
    Confidential.from_frame(frame, lenient).check(list(VARIABLES))
    Confidential.from_frame(people(200), schema()).check(list(VARIABLES))


def test_only_rules_about_what_is_read_are_asked() -> None:
    frame = _change(housing="own", rooms="none")
    Confidential.from_frame(frame, schema()).check(["age", "wage"])


@pytest.mark.parametrize("engine", ["duckdb", pytest.param("spark", marks=pytest.mark.spark)])
@pytest.mark.parametrize("form", ["frame", "parquet", "csv"])
def test_dates_are_read_alike_from_every_file(form: str, engine: str, tmp_path: Path) -> None:
    rows = people(60)
    if form == "frame":
        data = Confidential.from_frame(rows, schema(), engine=engine)
    else:
        path = tmp_path / f"people.{form}"
        rows.to_parquet(path) if form == "parquet" else rows.to_csv(path, index=False)
        data = Confidential.open(path, schema(), engine=engine)
    data.check(["start", "end"])
    days = read(data, ["start", "end"])
    for name in days:
        wanted = (rows[name] - pd.Timestamp("1970-01-01")).dt.days.to_numpy(dtype=float)
        assert np.array_equal(np.sort(days[name]), np.sort(wanted), equal_nan=True)


def test_text_that_is_no_date_is_missing_and_numbers_are_refused() -> None:
    variables = {"start": VARIABLES["start"], "end": VARIABLES["end"]}
    dated = Schema.from_dict({"dataset": {"identity": "d", "unit": "person"}, "variables": variables})
    odd = ["2010-02-03", "2010-02-30", "2010", "3 May 2010", "2010-02-03T10:00:00", None, "1990-01-01"]
    data = Confidential.from_frame(pd.DataFrame({"start": ["2010-01-01"] * 7, "end": odd}), dated)
    wanted = [14643.0, np.nan, np.nan, np.nan, 14643.0, np.nan, 11323.0]
    assert np.array_equal(read(data, ["end"])["end"], np.array(wanted), equal_nan=True)
    data = Confidential.from_frame(pd.DataFrame({"start": odd, "end": odd}), dated)
    with pytest.raises(SchemaError, match="start: a value is missing, or not a date"):
        data.check(["start"])
    empty = Confidential.from_frame(pd.DataFrame({"start": ["2010-01-01"], "end": [None]}), dated)
    assert np.isnan(read(empty, ["end"])["end"]).all()
    with pytest.raises(SchemaError, match="is declared as a date and stored as int64"):
        Confidential.from_frame(pd.DataFrame({"start": [20100101], "end": [1]}), dated)


def test_mock_rows_keep_the_rules() -> None:
    rows = mock_tables(schema(), seed=1, most_rows=500)["person"]
    assert set(broken(rows.to_pandas()).values()) == {0}
    Confidential.from_frame(rows, schema()).check(list(VARIABLES))


def test_a_rulebook_says_what_follows_and_what_is_left() -> None:
    book = Rulebook.of(schema(), tuple(VARIABLES))
    assert [one.column for one in book.derived] == ["group", "income", "bmi"]
    assert "age" in book.drawn
    assert "group" not in book.drawn
    assert book.borders("age") == (15, 18, 65)
    fewer = Rulebook.of(schema(), ("group", "smokes", "income"))
    assert fewer.drawn == ("group", "smokes", "income"), "without age there is nothing that group follows from"
    assert content()["rules"] == RULES
