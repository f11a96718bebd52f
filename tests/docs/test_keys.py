"""The page of all keys: as the code has them, every example accepted, and found from every message about a key."""

from __future__ import annotations

import inspect
import re
import runpy
import tomllib
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tacita import synthesis
from tacita.data.schema import Schema
from tacita.errors import RefusedError, SchemaError, SpecError, UsageError, in_words
from tacita.release.mechanisms import mechanism_named
from tacita.release.settings import tuples
from tacita.release.spec import Spec
from tacita.release.spec_values import Part

ROOT = Path(__file__).resolve().parents[2]
TOOL = SimpleNamespace(**runpy.run_path(str(ROOT / "docs" / "tools" / "keys.py")))
STATES = """{"features": [{"properties": {"STATE": "A"}, "geometry": {"type": "Polygon", "coordinates":
 [[[0, 0], [1, 0], [1, 1], [0, 0]]]}}]}"""
EXAMPLES = [(section, key) for section, words in TOOL.WORDS.items() for key in words["keys"]]


def test_the_page_is_the_one_that_the_code_gives() -> None:
    assert (ROOT / "docs" / "keys.md").read_text(encoding="utf-8") == TOOL.page(), "run python docs/tools/keys.py"


def test_every_part_of_a_specification_has_its_section() -> None:
    parts = {one for one in Part.__subclasses__() if one.__module__.startswith("tacita.")}
    assert set(TOOL.PARTS.values()) == parts


def test_a_key_without_words_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(TOOL.WORDS["cap"]["keys"], "at_most")
    with pytest.raises(SystemExit, match=r"cap and the code do not have the same keys: \['at_most'\]"):
        TOOL.page()


def example(section: str, key: str) -> dict[str, Any]:
    words = TOOL.WORDS[section]
    told = words["keys"][key]
    context = told.get("context", words.get("context", ""))
    return tomllib.loads(context) | tomllib.loads(told["example"])


@pytest.mark.parametrize(("section", "key"), EXAMPLES)
def test_an_example_is_accepted(section: str, key: str, tmp_path: Path) -> None:
    written = example(section, key)
    assert key in written or key in ("neighbours", "models", "COLUMN")
    if section == "specification":
        assert Spec.parse(written, Path("release.toml")).title
    elif section in TOOL.PARTS:
        TOOL.PARTS[section].model_validate(parts(written))
    elif section != "settings":
        (tmp_path / "places.csv").write_text("code,label\nA1,Here\n")
        (tmp_path / "places-tree.csv").write_text("place,state\nA1,A\nB1,B\n")
        (tmp_path / "states.geojson").write_text(STATES)
        (tmp_path / "regions.csv").write_text("married,grown\nyes,yes\nno,no\n")
        assert Schema.from_dict(schema_with(section, written), folder=tmp_path).unit == "person"


def parts(written: dict[str, Any]) -> dict[str, Any]:
    """Parts within parts, which a whole specification turns itself."""
    return {key: tuple(one) if key == "contributions" else one for key, one in written.items()}


def schema_with(section: str, written: dict[str, Any]) -> dict[str, Any]:
    yes_no = {"type": "categorical", "role": "confidential", "levels": ["no", "yes"]}
    number = {"type": "integer", "role": "confidential", "lower": 0, "upper": 1000, "missing": "own state"}
    age = {"type": "integer", "role": "confidential", "lower": 0, "upper": 100}
    names = ("smoker", "married", "grown", "registered", "voted")
    schema: dict[str, Any] = {
        "dataset": {"identity": "people", "unit": "person"},
        "variables": {
            **dict.fromkeys(names, yes_no),
            **dict.fromkeys(("tax", "net", "income"), number),
            "age": age,
            "place": {"type": "categorical", "role": "design", "levels": ["A1", "B1"]},
            "school": {"type": "categorical", "role": "design", "levels": ["1", "2"]},
            "w": {"type": "numeric", "role": "weight", "lower": 1, "upper": 9},
            "size": {"type": "integer", "role": "design", "lower": 1, "upper": 90},
        },
    }
    if section in ("rules", "zeros"):
        return schema | {section: [written]}
    if section == "variables":
        return schema | {"variables": schema["variables"] | {"new": written}}
    return schema | {section: {"geography": written} if section == "hierarchy" else written}


MESSAGES = [
    (SpecError('release.toml: epsilon of table "jobs" is missing; add it'), "#table"),
    (SpecError("release.toml: alpha of [cap]: put quotes around it"), "#cap"),
    (SpecError("release.toml: unknown key schemma; did you mean schema?"), "#specification"),
    (SpecError('release.toml: tables: what is divided is ρ; add account = "rho" to [cap]'), "#tables"),
    (SpecError('release.toml: share of check of microdata "people": is above 1'), "#microdata"),
    (UsageError('microdata "people": sets: must be a whole number'), "#microdata"),
    (SchemaError("variables.age.lower: is missing"), "#variables"),
    (SchemaError("rules, number 2: a rule has one of these forms"), "#rules"),
    (SchemaError("dataset: is missing; add a [dataset] table"), "#dataset"),
    (
        SchemaError('table "t": person.month: no value fits, so that all become what variables.month.outside names'),
        "#variables",
    ),
]


@pytest.mark.parametrize(("error", "place"), MESSAGES)
def test_a_message_about_a_key_says_where_it_is_explained(error: Exception, place: str) -> None:
    _, message, _ = in_words(error, [])
    assert message.endswith(f". Keys: docs/keys.md{place}")
    headings = re.findall(r"^## (.*)$", (ROOT / "docs" / "keys.md").read_text(encoding="utf-8"), flags=re.MULTILINE)
    assert place.removeprefix("#") in ("", *headings)


@pytest.mark.parametrize(
    "error",
    [
        SchemaError("data d.csv: is not text in UTF-8"),
        UsageError("--seed: must be a number"),
        RefusedError('table "jobs": no guarantee'),
    ],
)
def test_other_messages_have_no_pointer(error: Exception) -> None:
    assert "docs/keys.md" not in in_words(error, [])[1]


# ---------------------------------------------------------------- settings of synthesizers

PANEL = {
    "columns": {"employment": "emp{year}", "payroll": "pay{year}"},
    "unit": "firm",
    "keep": ["county", "sic4"],
    "years": [1976, 2001],
    "static": ["multiunit"],
}
SURVEY = {"columns": ["salary"], "epsilon": "4", "weight": "w", "by": ["field"]}
CODES = {"columns": ["age", "vote", "voted", "registered"], "epsilon": "1"}
# What each needs at least, with the columns that the examples name.
LEAST: dict[str, dict[str, Any]] = {
    "FileSynthesis": {"columns": ["age", "vote", "w"], "epsilon": "1"},
    "PairwiseSynthesis": CODES,
    "PanelSynthesis": {**PANEL, "epsilon": "4"},
    "PlainPanelSynthesis": PANEL,
    "QuantileSynthesis": {"columns": ["size", "jobs", "pay"], "epsilon": "1"},
    "SurveySynthesis": SURVEY,
    "CensoredPosterior": SURVEY,
    "DirichletSynthesis": CODES,
    "HistogramSynthesis": CODES,
    "IndependentSynthesis": CODES,
    "PseudoPosterior": SURVEY,
    "StepsSynthesis": CODES,
}
BESIDE: dict[str, dict[str, Any]] = {
    "first": {"last": "lastyear"},
    "last": {"first": "firstyear"},
    "shares": {"columns": ["size", "pay"]},
    "unit_weight": {"likelihood": "FBP"},
}
# Where a setting of the same name is something else, as its rule says.
ELSE = {("columns", "PanelSynthesis"), ("columns", "PlainPanelSynthesis"), ("keep", "FileSynthesis")} | {
    (setting, "CensoredPosterior") for setting in ("columns", "alpha")
}
TRIED = [
    (setting, mechanism)
    for setting, words in TOOL.WORDS["settings"]["keys"].items()
    for mechanism in LEAST
    if setting in inspect.signature(mechanism_named(mechanism)).parameters
    and words["example"]
    and (setting, mechanism) not in ELSE
]


def test_every_synthesizer_is_tried() -> None:
    assert set(LEAST) == set(synthesis.HOMES)


@pytest.mark.parametrize(("setting", "mechanism"), TRIED)
def test_an_example_of_a_setting_makes_a_plan(setting: str, mechanism: str) -> None:
    given = LEAST[mechanism] | BESIDE.get(setting, {}) | example("settings", setting)
    assert mechanism_named(mechanism)(**tuples(given)).describe()["mechanism"] == mechanism
