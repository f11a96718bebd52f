"""One suite for synthesizers: claims before data, an identity that comes back, files that come back, neighbours."""

import json
from dataclasses import FrozenInstanceError
from fractions import Fraction
from importlib.resources import files
from typing import Any

import pytest

from support.plan_checks import HEADINGS
from support.quantile import PLANS, SCHEMA, firms, plan
from tacita import synthesis
from tacita.audit.examples import Example, examples
from tacita.bounded import Bounded
from tacita.data.confidential import Confidential
from tacita.data.schema import Schema
from tacita.errors import SchemaError
from tacita.implicates import Synthetic
from tacita.noise.entropy import SeededEntropy
from tacita.noise.replay import Recording, Replaying, compare
from tacita.plan import Plan, check
from tacita.privacy import AddRemoveOne, Guarantee, Loss
from tacita.release.mock import mock_tables
from tacita.release.plans import plan_from_record
from tacita.release.trial import TRIED

every_plan = pytest.mark.parametrize("name", PLANS)


@every_plan
def test_claims_come_before_data(name: str) -> None:
    given = plan(name)
    assert isinstance(given, Plan)
    promise = given.guarantee
    assert isinstance(promise, Guarantee)
    assert promise.holds == "always"
    assert promise.loss == Loss("2")
    assert promise.neighbours == given.neighbours
    assert promise.assumes
    if given.keep:
        assert "the kept columns are public" in promise.assumes
    forecast = given.forecast(SCHEMA)
    assert forecast.cells > 0
    assert len(forecast.sentences) > len(given.order)
    assert all(value > 0 for value in forecast.figures.values())
    assert set(given.columns(SCHEMA)) == {*given.order, *given.groups, *given.keep}


def test_the_proof_is_there_with_its_headings() -> None:
    for path in (plan("groups").proof, "mechanisms/kng/line.md", "mechanisms/kng/plane.md", "noise/choice.md"):
        text = files("tacita").joinpath(path).read_text(encoding="utf-8")
        for heading in HEADINGS:
            assert f"## {heading}" in text, f"{path} has no heading {heading}"


@every_plan
def test_a_plan_is_what_it_describes(name: str) -> None:
    given = plan(name)
    record = json.loads(json.dumps(given.describe()))
    assert record == given.describe()
    again = plan_from_record(record)
    assert again == given
    assert hash(again) == hash(given)
    assert again.describe() == record
    assert again.guarantee == given.guarantee
    with pytest.raises(FrozenInstanceError):
        given.epsilon = Fraction(100)  # type: ignore[misc]


def test_two_spellings_are_one_plan_and_every_setting_is_part_of_it() -> None:
    one = plan("four numbers", shares={"pay": "1", "size": "2"})
    assert one == plan("four numbers", shares=[("size", Fraction(2)), ("pay", 1)])
    described = {json.dumps(plan(name).describe(), sort_keys=True) for name in PLANS}
    assert len(described) == len(PLANS)


@every_plan
def test_the_result_is_synthetic_and_comes_back(name: str) -> None:
    given = plan(name)
    data = Confidential.from_frame(firms(120), SCHEMA)
    result = given.run(data, SeededEntropy(3))
    assert isinstance(result, Synthetic)
    assert result.rehearsal
    assert result.implicates.kind == "one-measurement"
    assert set(result.implicates.columns) == set(given.columns(SCHEMA))
    assert set(result.implicates.synthesized) == set(result.implicates.columns) - set(given.keep)
    json.dumps(result.measured)
    back = given.restore(result.to_bytes())
    assert back.implicates.tables[0].equals(result.implicates.tables[0])
    assert given.run(data, SeededEntropy(3)).to_bytes() == result.to_bytes()
    assert given.run(data, SeededEntropy(4)).to_bytes() != result.to_bytes()


def hostile(given: Any) -> list[Any]:
    frame = firms(200)
    if isinstance(given.neighbours, AddRemoveOne):
        return [frame.drop(index=at) for at in (frame["size"].idxmax(), frame["pay"].idxmin(), 0)]
    found = []
    for at, value in ((0, (0.0, 0, -100.0, "own")), (199, (1000.0, 500, 3000.0, "ltd"))):
        other = frame.copy()
        other.loc[at, ["size", "jobs", "pay", "legal"]] = value
        found.append(other)
    return found


@every_plan
def test_neighbouring_files_make_the_same_requests(name: str) -> None:
    given = plan(name)
    recording = Recording(SeededEntropy(17))
    result = given.run(Confidential.from_frame(firms(200), SCHEMA), recording)
    assert recording.requests
    for frame in hostile(given):
        replaying = Replaying(recording)
        other = given.run(Confidential.from_frame(frame, SCHEMA), replaying)
        compare(recording, replaying)
        assert other.seed == result.seed
        assert other.implicates.columns == result.implicates.columns


@every_plan
def test_nothing_confidential_is_in_words_or_representations(name: str) -> None:
    """A value that stands out in the rows stands nowhere in what may be printed or logged."""
    frame = firms(50)
    frame.loc[3, ["size", "pay"]] = [987.65, 2345.6]
    data = Confidential.from_frame(frame, SCHEMA)
    source = Recording(SeededEntropy(1))
    plan(name).run(data, source)
    said = repr(data) + repr(plan(name)) + "".join(map(repr, source.requests))
    assert "987.65" not in said
    assert "2345.6" not in said


def test_a_schema_of_another_file_is_refused() -> None:
    other = Schema.from_dict(
        {
            "dataset": {"identity": "other", "unit": "firm"},
            "variables": {"turnover": {"role": "confidential", "type": "integer", "lower": 0, "upper": 9}},
        }
    )
    with pytest.raises(Exception, match="no such variable"):
        plan("two numbers").columns(other)


@pytest.mark.parametrize(
    "example",
    [one for one in examples() if hasattr(synthesis, one.name) or isinstance(one.plan, Bounded)],
    ids=lambda one: f"{one.name}, {one.setting}",
)
def test_mock_rows_are_no_reason_to_refuse_a_sound_plan(example: Example) -> None:
    """A release is tried on mock rows before it is paid for: what stands up to real files must stand up to these."""
    schema = example.files.schema
    tables = mock_tables(schema, seed=0, most_rows=TRIED)
    data = Confidential.from_frame(tables if len(tables) > 1 else tables["job"], schema)
    try:
        check(example.plan, data)
    except SchemaError:
        return  # rows of which nothing is asked: a panel's units need one state for each year
    assert isinstance(example.plan.run(data, SeededEntropy(0)), Synthetic)
