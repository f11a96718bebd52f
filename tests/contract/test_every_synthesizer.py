"""One suite for synthesizers: one is tested by being listed, in `tacita.synthesis.HOMES` and with an example for the
audit. Claims before data, an identity that comes back, files that come back, replay, bad input, words."""

import inspect
import json
import os
import subprocess
import sys
import warnings
from collections.abc import Iterator
from functools import cache
from importlib.metadata import distributions
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

from support.plan_checks import HEADINGS
from support.specifications import head, microdata
from tacita import comparison, synthesis
from tacita.audit.examples import Example, examples
from tacita.data.confidential import Confidential
from tacita.errors import TacitaError, UsageError
from tacita.implicates import Synthetic
from tacita.noise.entropy import SeededEntropy
from tacita.noise.replay import Recording, Replaying, compare
from tacita.plan import Plan, check
from tacita.privacy import AddRemoveOne, Guarantee
from tacita.release.mechanisms import mechanism_named
from tacita.release.settings import plan_from_record
from tacita.synthesis.base import Model, Synthesizer

PLUGIN = Path(__file__).parent.parent / "plugin"
WITHOUT_GUARANTEE = {"PlainPanelSynthesis"}
# What the documentation's table of defaults says of all of them.
DEFAULTS = {"sets": 1}


def plugged_in() -> Iterator[Example]:
    """The examples of the plug-in, through its entry point."""
    sys.path.insert(0, str(PLUGIN))
    try:
        for distribution in distributions(path=[str(PLUGIN)]):
            for entry in distribution.entry_points.select(group="tacita.plans"):
                yield from entry.load()()
    finally:
        sys.path.remove(str(PLUGIN))


def _cases() -> Iterator[Any]:
    seen: set[str] = set()
    for example in (*examples(), *plugged_in()):
        # Every class with its first settings, and with the first of each other relation or number of files.
        if isinstance(example.plan, Synthesizer):
            key = f"{example.name} {example.plan.neighbours} {example.plan.sets}"
            if key not in seen:
                seen.add(key)
                yield pytest.param(example, id=f"{example.name}: {example.setting}")


CASES = list(_cases())
every_example = pytest.mark.parametrize("example", CASES)
every_class = pytest.mark.parametrize("name", [*synthesis.HOMES, "LotterySynthesis"])


def class_of(name: str) -> type[Synthesizer[Any]]:
    found = {type(case.values[0].plan).__name__: type(case.values[0].plan) for case in CASES}
    return found.get(name) or mechanism_named(name)  # type: ignore[return-value]


@cache
def family(example: Example) -> Any:
    return example.files.family(np.random.default_rng(5), 1)


@cache
def base(example: Example) -> Confidential:
    data = Confidential.from_frame(family(example).base, example.files.schema)
    check(example.plan, data)
    return data


@cache
def recorded(example: Example) -> tuple[Model[Any], Recording]:
    """The one run that the tests below look at, with what it asked for."""
    recording = Recording(SeededEntropy(3))
    return example.plan.run(base(example), recording), recording


def test_every_synthesizer_is_listed_once_and_has_an_example() -> None:
    assert {case.values[0].name for case in CASES} == set(synthesis.HOMES) - WITHOUT_GUARANTEE | {"LotterySynthesis"}
    assert set(synthesis.__all__) == set(synthesis.HOMES)
    compared = {name for name, home in synthesis.HOMES.items() if home.startswith("comparison")}
    assert set(comparison.__all__) == compared | {"PerRecord", "SlowSums"}


# ---------------------------------------------------------------- before any data


@every_example
def test_claims_come_before_data(example: Example) -> None:
    plan, schema = example.plan, example.files.schema
    assert isinstance(plan, Plan)
    assert isinstance(plan.guarantee, Guarantee)
    assert plan.guarantee.loss.epsilon == plan.epsilon
    assert plan.guarantee.neighbours == plan.neighbours
    assert plan.guarantee.assumes
    forecast = plan.forecast(schema)
    assert forecast.cells > 0
    assert forecast.sentences
    assert all(value > 0 for value in forecast.figures.values())
    assert set(plan.columns) <= set(plan.reads(schema)) or "Panel" in example.name  # whose columns are patterns
    assert plan.how is not None
    assert plan.how.knows.endswith(".")


@every_example
def test_the_proof_is_there_with_its_headings(example: Example) -> None:
    text = files("tacita").joinpath(example.plan.proof).read_text(encoding="utf-8")
    for heading in HEADINGS:
        assert f"## {heading}" in text, f"{example.plan.proof} has no heading {heading}"


@every_class
def test_the_first_arguments_are_the_same_everywhere(name: str) -> None:
    settings = list(inspect.signature(class_of(name)).parameters.values())
    positional = [one.name for one in settings if one.kind is one.POSITIONAL_OR_KEYWORD]
    assert positional == (["columns"] if name in WITHOUT_GUARANTEE else ["columns", "epsilon"])
    assert all(one.kind in (one.POSITIONAL_OR_KEYWORD, one.KEYWORD_ONLY) for one in settings)
    for one in settings:
        if one.name in DEFAULTS:
            assert one.default == DEFAULTS[one.name]
        if one.name == "neighbours" and one.default is not one.empty:
            assert str(one.default) == "one record replaced"


@every_class
def test_its_documentation_has_an_example(name: str) -> None:
    assert f">>> print({name}(" in inspect.getdoc(class_of(name)) or f"= {name}(" in inspect.getdoc(class_of(name))


@every_example
def test_a_plan_is_what_it_describes(example: Example, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tacita.release.settings.mechanism_named", class_of)
    plan = example.plan
    record = json.loads(json.dumps(plan.describe()))
    assert record == plan.describe()
    again = plan_from_record(record)
    assert again == plan
    assert hash(again) == hash(plan)
    assert again.describe() == record
    with pytest.raises(AttributeError):
        plan.epsilon = 100
    for former in plan.former_descriptions():
        assert plan_from_record(former) == plan


@every_example
def test_names_that_settings_had_before_still_work(example: Example) -> None:
    plan = example.plan
    settings = {key: value for key, value in plan.describe().items() if key != "mechanism"}
    if "neighbours" in settings:
        settings["neighbours"] = plan.neighbours
    for old, now in type(plan).former.items():
        if now in settings:
            former = {old if key == now else key: value for key, value in settings.items()}
            with pytest.warns(DeprecationWarning, match=f"{old} is called {now} now"):
                assert type(plan)(**former) == plan


# ---------------------------------------------------------------- what is said no to


WRONG = [
    ("columns", "sex"),
    ("columns", []),
    ("epsilon", "0"),
    ("epsilon", "-1"),
    ("epsilon", "much"),
    ("epsilon", 0.5),
    ("sets", 0),
    ("sets", True),
    ("sets", 1.5),
    ("neighbours", "person"),
]


def _wrong() -> Iterator[Any]:
    for case in CASES:
        known = inspect.signature(type(case.values[0].plan)).parameters
        for setting, value in WRONG:
            if setting in known:
                yield pytest.param(case.values[0], setting, value, id=f"{case.id}, {setting} = {value!r}")


@pytest.mark.parametrize(("example", "setting", "value"), list(_wrong()))
def test_a_wrong_setting_is_named(example: Example, setting: str, value: Any) -> None:
    plan = example.plan
    given = {key: value for key, value in plan.describe().items() if key != "mechanism"}
    if "neighbours" in given:
        given["neighbours"] = plan.neighbours
    with pytest.raises(UsageError, match=setting):
        type(plan)(**{**given, setting: value})


@every_example
def test_a_schema_of_another_file_is_refused(example: Example) -> None:
    bare = example.files.schema.to_dict()
    last = [name for name in example.plan.reads(example.files.schema) if name in bare["variables"]][-1]
    del bare["variables"][last]
    bare = {key: value for key, value in bare.items() if key not in ("design", "zeros")}
    with pytest.raises(TacitaError, match=last):
        example.plan.reads(type(example.files.schema).from_dict(bare))


# ---------------------------------------------------------------- what comes of a run


@every_example
def test_the_result_comes_back_as_it_was(example: Example) -> None:
    plan, (model, _) = example.plan, recorded(example)
    assert isinstance(model, Synthetic)
    assert isinstance(model, type(plan).model)
    assert model.rehearsal
    json.dumps(model.measured)
    assert model.implicates.m == plan.sets
    assert set(model.implicates.synthesized) <= set(model.implicates.columns)
    stored = model.to_bytes()
    back = plan.restore(stored)
    assert back.to_bytes() == stored
    assert back.measured == model.measured
    assert all(one.equals(two) for one, two in zip(back.implicates.tables, model.implicates.tables, strict=True))
    with pytest.raises(TacitaError, match="not one that Tacita wrote"):
        plan.restore(b'{"form":"another"}')


@every_example
def test_samples_are_the_same_for_the_same_seed_and_differ_otherwise(example: Example) -> None:
    model, _ = recorded(example)
    first = model.sample(seed=9).tables[0]
    assert first.equals(model.sample(seed=9).tables[0])
    if model.implicates.rows[0] > 20 and first.equals(model.implicates.tables[0]):
        assert any(not model.sample(seed=at).tables[0].equals(first) for at in (10, 11))
    for wrong in (0, -1, True, 1.5, "two"):
        with pytest.raises(UsageError, match="m: "):
            model.sample(wrong)  # type: ignore[arg-type]
    if model.paid_files is None:
        assert model.sample(2).m == 2
    else:
        with pytest.raises(UsageError, match="cost its share"):
            model.sample(model.paid_files + 1)
    with pytest.raises(UsageError, match="rows"):
        model.sample(rows=0)


@every_example
def test_the_same_draws_give_the_same_result_and_others_another(example: Example) -> None:
    first, recording = recorded(example)
    assert recording.requests
    replaying = Replaying(recording)
    assert example.plan.run(base(example), replaying).to_bytes() == first.to_bytes()
    compare(recording, replaying)
    assert example.plan.run(base(example), SeededEntropy(18)).to_bytes() != first.to_bytes()


# What others ask follows from what they drew: `tacita audit` hands over outputs instead.
@pytest.mark.parametrize("example", [case for case in CASES if not case.values[0].adaptive])
def test_neighbouring_files_make_the_same_requests(example: Example) -> None:
    _, recording = recorded(example)
    for near in family(example).near[:3]:
        replaying = Replaying(recording)
        example.plan.run(Confidential.from_frame(near, example.files.schema), replaying)
        compare(recording, replaying)


@every_example
def test_nothing_confidential_is_in_words_or_representations(example: Example) -> None:
    frame = family(example).base
    data, (model, source) = base(example), recorded(example)
    said = repr(data) + repr(example.plan) + repr(model) + "".join(map(repr, source.requests))
    held = (next(iter(frame.values())) if isinstance(frame, dict) else frame).to_pandas()
    for name in held.select_dtypes("number"):
        for value in held[name].dropna().unique():
            if len(str(value)) > 5:
                assert str(value) not in said


# ---------------------------------------------------------------- beyond the package


_VERBS = """
from tacita.cli import main
for verb in (["plan", "release.toml"], ["run", "release.toml", "--out", "bundle"], ["verify", "bundle"]):
    try:
        main(verb)
    except SystemExit as stop:
        assert not stop.code, verb
"""


def test_the_plug_in_is_short_and_a_specification_can_name_it(tmp_path: Path) -> None:
    assert len((PLUGIN / "lottery.py").read_text().splitlines()) <= 80
    (example,) = plugged_in()
    frame = example.files.family(np.random.default_rng(1), 1).base
    pq.write_table(frame, tmp_path / "people.parquet")
    schema = """[dataset]
identity = "people"
unit = "person"
[variables]
person = {role = "id", entity = "person"}
sex = {role = "confidential", type = "categorical", levels = ["a", "b"]}
region = {role = "confidential", type = "categorical", levels = ["a", "b"], missing = "a"}
"""
    (tmp_path / "people.schema.toml").write_text(schema)
    (tmp_path / "release.toml").write_text(
        head("people", title="People", neighbours="add-remove", unit="person", epsilon="1")
        + microdata("people", mechanism="LotterySynthesis", epsilon="1", columns=["sex", "region"])
    )
    path = os.pathsep.join([str(PLUGIN), *filter(None, [os.environ.get("PYTHONPATH")])])
    done = subprocess.run(  # that finds the plug-in by its entry point; one process, because starting one takes seconds
        [sys.executable, "-c", _VERBS],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert (tmp_path / "bundle" / "microdata" / "implicate-01.parquet").is_file()


def test_only_what_is_asked_for_is_loaded() -> None:
    """The first use of one synthesizer does not load the others."""
    script = (
        "import sys, tacita as tc; tc.PairwiseSynthesis(['a'], '1');"
        "print([n for n in sys.modules if n.startswith('tacita.synthesis.') and 'pairwise' not in n])"
    )
    loaded = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout
    for other in ("quantile", "panel", "survey", "comparison"):
        assert f"synthesis.{other}" not in loaded


def test_old_names_at_the_top_warn() -> None:
    import tacita as tc

    with pytest.warns(DeprecationWarning, match=r"tacita\.comparison"):
        assert tc.StepsSynthesis is comparison.StepsSynthesis
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert AddRemoveOne("person") == tc.AddRemoveOne("person")
