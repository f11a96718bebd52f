"""What fuzzing found once: each of these raised an unexpected exception, or waited for ever."""

import copy
import datetime
import os
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from support.fuzzing.mutating import to_toml
from support.fuzzing.starting_points import STARTS
from tacita.data.schema import Schema
from tacita.errors import SchemaError, SpecError, TacitaError
from tacita.privacy import Guarantee, Loss, ReplaceOne
from tacita.release.evaluation_spec import EvaluationSpec
from tacita.release.plans import prepare
from tacita.release.spec import Spec
from tacita.release.words import odds_example

BY_NAME = {start.name.split("-")[1]: start for start in STARTS}


def planned(folder: Path, mechanism: str, **settings: Any) -> None:
    """Plan a release of one product whose settings were changed so."""
    start = BY_NAME[mechanism]
    spec = copy.deepcopy(start.spec)
    (spec.get("table") or spec["microdata"])[0].update(settings)
    (folder / "x.schema.toml").write_text(to_toml(start.schema), encoding="utf-8")
    (folder / "release.toml").write_text(to_toml(spec), encoding="utf-8")
    prepare(Spec.load(folder / "release.toml")).forecasts()


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], None]:
    """Plans a mechanism with the settings that nobody changed, once: a refusal is then due to what was changed."""
    return cache(lambda mechanism: planned(tmp_path_factory.mktemp("sound"), mechanism))


@pytest.mark.parametrize(
    ("mechanism", "settings"),
    [
        ("HistogramSynthesis", {"columns": [{"a": 1}]}),
        ("PanelSynthesis", {"coarser": {"state": ["county", [2]]}}),
        ("PanelSynthesis", {"coarser": {"state": ["county", "total"]}}),
        ("PanelSynthesis", {"change": {"switched": ["kind"]}}),
        ("PanelSynthesis", {"keep": ["county", {"a": 1}]}),
        ("PanelSynthesis", {"keep": ["county", datetime.date(2020, 1, 1)]}),
        ("QuantileSynthesis", {"predictors": datetime.time(1, 2)}),
        ("QuantileSynthesis", {"columns": ["size", {}]}),
        ("PseudoPosterior", {"total": "=cmd"}),
        ("SurveySynthesis", {"columns": 3}),
    ],
)
def test_settings_of_the_wrong_kind(
    tmp_path: Path, mechanism: str, settings: dict[str, Any], sound: Callable[[str], None]
) -> None:
    sound(mechanism)
    with pytest.raises(TacitaError, match="files") as caught:
        planned(tmp_path, mechanism, **settings)
    assert caught.value.exit_code == 2


@pytest.mark.parametrize("key", ["a-b", "a b", "", "]]>", "1", "é\x07"])
@pytest.mark.parametrize("place", [(), ("cap",), ("public_input", 0), ("table", 0)])
def test_an_unknown_key_is_named_whatever_it_is(key: str, place: tuple[Any, ...]) -> None:
    spec = copy.deepcopy(BY_NAME["SmoothStaircase"].spec)
    inner: Any = spec
    for part in place:
        inner = inner[part]
    inner[key] = 1
    with pytest.raises(SpecError, match="unknown key") as caught:
        Spec.parse(spec, Path("release.toml"))
    assert key.replace("\x07", "\N{REPLACEMENT CHARACTER}") in str(caught.value)


@pytest.mark.parametrize("key", ["schema", "data", "ledger"])
@pytest.mark.parametrize("path", ["", "a\x00b", "a" * 300, "x/" + "é" * 200, "a\nb"])
def test_a_path_that_no_file_can_have(key: str, path: str) -> None:
    with pytest.raises(SpecError, match=f"{key}: must be the name of a file"):
        Spec.parse(BY_NAME["SmoothStaircase"].spec | {key: path}, Path("release.toml"))


HOSTILE = {
    "nested lists": "x = " + "[" * 20_000,
    "nested tables": "x = " + "{a = " * 20_000,
    "a number of 5,000 digits": "x = " + "9" * 5000,
    "no text": b"\xff\xfe\x00",
    "no TOML": "=",
}


@pytest.mark.parametrize("content", HOSTILE.values(), ids=HOSTILE)
def test_hostile_toml(tmp_path: Path, content: str | bytes) -> None:
    path = tmp_path / "x.toml"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    for load, error in ((Spec.load, SpecError), (EvaluationSpec.load, SpecError), (Schema.load, SchemaError)):
        with pytest.raises(error, match="TOML"):
            load(path)


def test_what_is_no_file(tmp_path: Path) -> None:
    """A pipe would be waited for, and a device read for ever."""
    os.mkfifo(tmp_path / "pipe.toml")
    for path in (tmp_path, tmp_path / "pipe.toml", Path("/dev/zero")):
        with pytest.raises(SpecError, match="is not a file"):
            Spec.load(path)
        with pytest.raises(SchemaError, match="is not a file"):
            Schema.load(path)


@pytest.mark.parametrize("epsilon", ["5000", "9223372036854775807"])
def test_a_loss_too_large_for_a_factor_has_words(epsilon: str) -> None:
    promise = Guarantee(ReplaceOne("person"), Loss(epsilon))
    assert "a factor beyond 10^300" in promise.odds_factor
    assert "even odds" in odds_example(promise)


@pytest.mark.parametrize("confidence", ["0.9999999999999999", "1", "0", "-1"])
def test_a_confidence_that_no_interval_reaches(tmp_path: Path, confidence: str) -> None:
    """The first was looked for without end."""
    planned(tmp_path, "SmoothStaircase", confidence="0.999999999")
    with pytest.raises(SpecError, match=r"confidence.*between 0 and 1, at most 0\.999999999"):
        planned(tmp_path, "SmoothStaircase", confidence=confidence)


@pytest.mark.parametrize("type_", ["integer", "numeric"])
def test_a_bound_of_more_digits_than_a_double_has_room_for(type_: str) -> None:
    bounds = {"role": "confidential", "type": type_, "lower": 0, "upper": 10**400}
    dataset = {"identity": "x", "unit": "person"}
    with pytest.raises(SchemaError, match=r"^variables\.pay\.upper: has more digits"):
        Schema.from_dict({"dataset": dataset, "variables": {"pay": bounds}})


def test_a_rule_with_a_number_of_more_digits_than_a_double_has_room_for() -> None:
    number = {"role": "confidential", "type": "integer", "lower": 0, "upper": 9}
    content = {"dataset": {"identity": "x", "unit": "person"}, "variables": {"a": number, "b": number}}
    Schema.from_dict({**content, "rules": [{"computes": "a", "as": "b * 1"}]})
    with pytest.raises(SchemaError, match="rules, number 1"):
        Schema.from_dict({**content, "rules": [{"computes": "a", "as": f"b * {10**400}"}]})
