"""PairwiseSynthesis as a plan: claims before data, clear errors that cost nothing, storage, and files to use."""

import json
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.pairwise import CUTS, NAMES, plan, schema, voters
from support.shared_desks import shared_desks  # noqa: F401 -- a fixture that every test here uses
from tacita.data.confidential import Confidential
from tacita.data.schema import Schema
from tacita.errors import SchemaError, TacitaError, UsageError, VerificationError
from tacita.ledger import Ledger
from tacita.noise.entropy import SystemEntropy
from tacita.plan import Plan
from tacita.privacy import AddRemoveOne, Loss, ReplaceOne
from tacita.privacy.json_form import canonical
from tacita.release.settings import plan_from_record
from tacita.synthesis import PairwiseSynthesis

PERSON = ReplaceOne("person")
SETTINGS: dict[str, dict[str, Any]] = {
    "plain": {},
    "all": {"select": "all"},
    "private": {"select": "private"},
    "private, some given": {"select": "private", "pairs": [["voted", "age"], ("sex", "region")]},
    "sets": {"sets": 3},
    "rows": {"rows": 50},
    "added": {"neighbours": AddRemoveOne("person")},
    "added, private, sets, rows": {"neighbours": AddRemoveOne("person"), "select": "private", "sets": 2, "rows": 77},
    "one attribute": {"columns": ["region"], "cuts": {}},
    "one attribute, private": {"columns": ["sex"], "cuts": {}, "select": "private"},
    "tiny budget": {"epsilon": "0.01"},
    "tiny budget, added, rows": {"epsilon": "0.01", "neighbours": AddRemoveOne("person"), "rows": 40},
    "delta": {"delta": "1e-4"},
}
every = pytest.mark.parametrize("name", SETTINGS)


def made(name: str, rows: int = 300, seed: int = 1) -> Any:
    return plan(**SETTINGS[name]).rehearse(voters(rows), schema(), seed=seed)


# ---------------------------------------------------------------- before any data


@every
def test_claims_and_identity(name: str) -> None:
    one = plan(**SETTINGS[name])
    assert isinstance(one, Plan)
    assert one.guarantee.loss == Loss(one.epsilon, delta=one.delta)
    assert one.guarantee.neighbours == one.neighbours
    assert one.guarantee.holds == "always"
    assert (files("tacita") / one.proof).is_file()
    described = json.loads(canonical(one.describe()))
    assert plan_from_record(described) == one
    assert hash(one) == hash(plan(**SETTINGS[name]))
    assert one.reads(schema()) == one.columns
    told = one.forecast(schema())
    assert all(np.isfinite(list(told.figures.values())))
    assert "one-way tables" in str(told)


def test_cuts_are_the_same_however_they_are_written() -> None:
    pairs = [["pay", [0, 1000.5]], ["age", [18, 40, 65]]]
    assert plan(cuts=pairs) == plan(cuts=CUTS) == plan(cuts=dict(reversed(CUTS.items())))


def test_the_forecast_says_when_pairs_are_chosen() -> None:
    assert "chooses" not in str(plan("100", rows=10**6).forecast(schema()))
    assert "chooses" in str(plan("0.01", rows=100).forecast(schema()))


# ---------------------------------------------------------------- mistakes


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"columns": []}, "columns: name the columns"),
        ({"columns": "sex"}, r'columns: give a list of names, such as \["sex"\]'),
        ({"columns": None}, "columns: give a list of names"),
        ({"columns": ["sex", 3]}, "columns: give a list of names"),
        ({"columns": ["sex", "sex"], "cuts": {}}, "columns: a name is listed twice"),
        ({"columns": ["sex"]}, "cuts: age is not in columns"),
        ({"epsilon": 1.0}, "epsilon: give it as a string"),
        ({"epsilon": "0"}, "epsilon: must be above 0"),
        ({"epsilon": "-1"}, "epsilon: must be above 0"),
        ({"delta": "0"}, "delta: must lie between 0 and 1"),
        ({"delta": "1"}, "delta: must lie between 0 and 1"),
        ({"delta": 1e-9}, "delta: give it as a string"),
        ({"pairs": ["age"]}, "pairs: give two names each"),
        ({"pairs": [["age", "sex", "pay"]]}, "pairs: give two names each"),
        ({"pairs": [["age", "age"]]}, "pairs: age stands beside itself"),
        ({"pairs": [["age", "sex"], ["sex", "age"]]}, "pairs: a pair is listed twice"),
        ({"pairs": [["age", "height"]]}, "pairs: height is not in columns"),
        ({"select": "some"}, "select: must be one of auto, all, private"),
        ({"rows": 0}, "rows: must be a whole number"),
        ({"rows": 2.5}, "rows: must be a whole number"),
        ({"sets": 0}, "sets: must be a whole number"),
        ({"sets": True}, "sets: must be a whole number"),
        ({"neighbours": None}, "neighbours: must be"),
        ({"cuts": {"age": 18}}, "cuts: give a list of borders"),
        ({"cuts": {"age": ["18"]}}, r"cuts\.age: must be numbers without quotes"),
        ({"cuts": 4}, "cuts: give one entry for each column"),
    ],
)
def test_a_wrong_setting_is_named(changed: dict[str, Any], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        plan(**changed)


def _many(levels: int) -> Schema:
    entry = {"role": "confidential", "type": "categorical", "levels": [str(one) for one in range(levels)]}
    variables = {"region": entry, "other": entry}
    return Schema.from_dict({"dataset": {"identity": "many", "unit": "person"}, "variables": variables})


@pytest.mark.parametrize(
    ("settings", "given", "words"),
    [
        ({"columns": ["height"], "cuts": {}}, schema(), "height: no such variable"),
        ({"cuts": {}}, schema(), "cuts: age is a number"),
        ({"columns": ["region"], "cuts": {}}, _many(7000), "pairs, more than 20,000,000"),
        ({"columns": ["region", "other"], "cuts": {}, "epsilon": "1/1000000000"}, _many(2000), "epsilon: too small"),
        ({"epsilon": "1/200000", "neighbours": AddRemoveOne("person")}, schema(), "rows: the number of records"),
    ],
)
def test_a_schema_that_cannot_carry_the_plan_is_refused(settings: dict[str, Any], given: Schema, words: str) -> None:
    one = plan(**settings)
    for ask in (one.reads, one.forecast):
        with pytest.raises(TacitaError, match=words):
            ask(given)


def _with_zeros(zeros: list[dict[str, str]]) -> Schema:
    return Schema.from_dict(schema(zeros=False).to_dict() | {"zeros": zeros})


def test_zeros_that_cannot_be_kept_are_refused() -> None:
    with pytest.raises(UsageError, match="zeros: region, sex, voted make an impossible combination of more than two"):
        plan().reads(_with_zeros([{"sex": "F", "voted": "yes", "region": "N"}]))
    plan(columns=["sex", "voted"], cuts={}).reads(_with_zeros([{"sex": "F", "voted": "yes", "region": "N"}]))
    nothing = [{"sex": u, "voted": v} for u in ("F", "M") for v in ("no", "yes")]
    with pytest.raises(UsageError, match="zeros: no combination"):
        plan().reads(_with_zeros(nothing))


def test_linked_tables_are_refused_before_they_are_read() -> None:
    content = schema(zeros=False).to_dict()
    content["variables"]["person"] = {"role": "id", "entity": "worker"}
    content["variables"]["sex"]["table"] = "worker"
    with pytest.raises(UsageError, match="sex: stands in the worker table"):
        plan().reads(Schema.from_dict(content))


STRICT: dict[str, Any] = {"region": {"missing": None, "outside": "error"}}


@pytest.mark.parametrize(
    ("settings", "file", "words"),
    [
        ({"epsilon": "9"}, {}, "over|exceed|left|cap"),
        ({"cuts": {}}, {}, "cuts: age is a number"),
        ({}, {"region": "Z"}, "person.region: a value is not among"),
        ({}, {"region": None}, "person.region: a value is missing"),
        ({}, {"registered": "no", "voted": "yes"}, r"\[\[zeros\]\] calls impossible"),
    ],
)
def test_a_mistake_costs_nothing(settings: dict[str, Any], file: dict[str, Any], words: str, tmp_path: Path) -> None:
    strict = schema(**STRICT)
    ledger = Ledger.open(tmp_path / "voters.ledger", cap=Loss("3", delta="1e-6"), neighbours=PERSON)
    frame = voters()
    for name, value in file.items():
        frame.loc[7, name] = value
    data = Confidential.from_frame(frame, strict)
    with pytest.raises(TacitaError, match=words):
        ledger.release(plan(neighbours=PERSON, **settings), data, label="voters")
    assert ledger.spent(PERSON, data) == Loss(0, delta=0)


def test_a_release_is_paid_for_once(tmp_path: Path) -> None:
    ledger = Ledger.open(tmp_path / "voters.ledger", cap=Loss("3", delta="1e-6"), neighbours=PERSON)
    data = Confidential.from_frame(voters(), schema())
    one = plan(neighbours=PERSON, sets=2)
    first = ledger.release(one, data, label="voters")
    again = ledger.release(one, data, label="voters again")
    assert not first.rehearsal
    assert ledger.spent(PERSON, data) == Loss("2", delta="1e-9")
    for ours, theirs in zip(first.implicates.frames, again.implicates.frames, strict=True):
        assert ours.equals(theirs)


# ---------------------------------------------------------------- files


@every
def test_files_keep_to_the_schema(name: str) -> None:
    one, model = plan(**SETTINGS[name]), made(name)
    found = model.implicates
    assert found.m == one.sets
    assert found.kind == "one-measurement"
    assert found.columns == one.columns
    data = Confidential.from_frame(found.frames[0].to_pandas(), _narrowed(one.columns))
    data.check(one.columns)  # levels, bounds, whole numbers, and the impossible combination
    for frame in found.frames:
        assert frame.num_rows == model.rows
        assert [str(frame.schema.field(name).type) for name in one.columns] == [TYPES[n] for n in one.columns]
        assert all(column.null_count == 0 for column in frame.columns)
    if one.rows:
        assert model.rows == one.rows
    elif isinstance(one.neighbours, ReplaceOne):
        assert model.rows == 300
    else:
        drawn = {one.rehearse(voters(300), schema(), seed=seed).rows for seed in range(4)}
        assert len(drawn) > 1, "the number of records is confidential here"


TYPES = {
    "sex": "string",
    "registered": "string",
    "voted": "string",
    "region": "string",
    "age": "int64",
    "pay": "double",
}


def _narrowed(attributes: tuple[str, ...]) -> Schema:
    """The strict schema of the synthetic columns: nothing is mended, everything is refused."""
    content = schema().to_dict()
    content["variables"] = {name: content["variables"][name] for name in attributes}
    for entry in content["variables"].values():
        entry.pop("missing", None)
        entry["outside"] = "error"
    if not {"registered", "voted"} <= set(attributes):
        content.pop("zeros", None)
    return Schema.from_dict(content)


@every
def test_what_is_stored_comes_back(name: str) -> None:
    one, model = plan(**SETTINGS[name]), made(name)
    back = one.restore(model.to_bytes())
    assert back.to_bytes() == model.to_bytes()
    assert back.rehearsal
    assert back.measured == model.measured
    for ours, theirs in zip(back.implicates.frames, model.implicates.frames, strict=True):
        assert ours.equals(theirs)
    for ours, theirs in zip(back.sample(2, seed=8).frames, model.sample(2, seed=8).frames, strict=True):
        assert ours.equals(theirs)


def test_other_bytes_are_not_taken_for_a_result() -> None:
    model = made("plain")
    with pytest.raises(VerificationError, match="not one that Tacita wrote"):
        plan().restore(model.to_bytes().replace(b"pairwise-model-1", b"pairwise-model-0"))


def test_a_seed_decides_everything_and_a_release_has_none() -> None:
    assert made("sets", seed=4).to_bytes() == made("sets", seed=4).to_bytes()
    assert made("sets", seed=4).to_bytes() != made("sets", seed=5).to_bytes()
    data = Confidential.from_frame(voters(), schema())
    one, two = (plan().run(data, SystemEntropy()) for _ in range(2))
    assert not one.rehearsal
    assert one.to_bytes() != two.to_bytes()


def test_the_order_of_records_does_not_show() -> None:
    one = plan().rehearse(voters(), schema(), seed=3)
    two = plan().rehearse(voters()[::-1], schema(), seed=3)
    assert one.to_bytes() == two.to_bytes()


def test_files_of_one_measurement_differ_by_its_noise() -> None:
    """The variance between files of a share is that of the noise; a single file follows the tables as they stand."""
    model = plan("1", columns=["region"], cuts={}, neighbours=PERSON).rehearse(voters(3000), schema(), seed=1)
    (answer,) = model.released.answers
    sample = [frame.to_pandas()["region"].value_counts().get("N", 0) for frame in model.sample(40, seed=2).frames]
    assert 0.5 < np.var(sample, ddof=1) / float(answer.query.variance) < 1.8
    (single,) = model.sample(1).frames
    assert (
        abs(single.to_pandas()["region"].value_counts()["N"] - answer.values[0]) <= abs(answer.values.sum() - 3000) + 5
    )
    assert not model.sample(2, seed=1).frames[0].equals(model.sample(2, seed=1).frames[1])
    for wrong in (0, -1, True, 1.5):
        with pytest.raises(UsageError, match="m: give the number of files"):
            model.sample(wrong)


@pytest.mark.parametrize("rows", [40, 300, 5000])
@pytest.mark.parametrize("neighbours", [PERSON, AddRemoveOne("person")])
def test_larger_and_smaller_files_have_the_same_shares(rows: int, neighbours: Any) -> None:
    given, names = voters(2000), ["sex", "registered", "voted", "region"]
    one = plan("50", columns=names, cuts={}, rows=rows, neighbours=neighbours)
    (frame,) = one.rehearse(given, schema(), seed=1).implicates.frames
    later = plan("50", columns=names, cuts={}, neighbours=neighbours).rehearse(given, schema(), seed=1)
    assert later.sample(rows=rows).tables[0].equals(frame), "the length can be chosen when files are drawn"
    found = frame.to_pandas()
    assert len(found) == rows
    for a in names:
        for b in names:
            ours = pd.crosstab(found[a], found[b], normalize=True).stack()
            theirs = pd.crosstab(given[a], given[b], normalize=True).stack()
            gap = ours.sub(theirs, fill_value=0).abs().max()
            assert gap < 0.01 + 1.5 / rows


def test_noisy_numbers_of_records_are_near() -> None:
    model = plan("3", neighbours=AddRemoveOne("person")).rehearse(voters(2000), schema(), seed=1)
    assert model.released.records == model.rows
    assert abs(model.released.records - 2000) < 40


def test_much_budget_gives_the_tables_back() -> None:
    given = voters(3000)
    (frame,) = plan("200").rehearse(given, schema(), seed=1).implicates.frames
    found = frame.to_pandas()
    for data in (given, found):
        data["age"] = pd.cut(data["age"], [-1, 17, 39, 64, 99])
        data["pay"] = pd.cut(data["pay"], [-51, -0.005, 1000.495, 5000])
    for a in NAMES:
        for b in NAMES:
            if a < b:
                gap = pd.crosstab(found[a], found[b]).sub(pd.crosstab(given[a], given[b]), fill_value=0)
                assert gap.abs().to_numpy().sum() / 2 / 3000 < 0.02


def test_unrelated_attributes_stay_unrelated() -> None:
    """No sampler that sorts: Cramér's V of independent attributes is that of chance."""
    random, rows = np.random.default_rng(7), 40_000
    entry = {"role": "confidential", "type": "categorical", "levels": ["0", "1", "2"]}
    names = [f"v{one}" for one in range(5)]
    content = {"dataset": {"identity": "x", "unit": "person"}, "variables": dict.fromkeys(names, entry)}
    file = pd.DataFrame({name: random.choice(["0", "1", "2"], rows, p=[0.6, 0.3, 0.1]) for name in names})
    one = PairwiseSynthesis(names, "2", select="all", sets=2)
    for frame in one.rehearse(file, Schema.from_dict(content), seed=1).implicates.frames:
        found = frame.to_pandas()
        for a in names:
            for b in names:
                if a < b:
                    assert cramers_v(found[a], found[b]) < 0.02


def test_unmeasured_pairs_stay_unrelated_too() -> None:
    random, rows, names = np.random.default_rng(7), 20_000, ["a", "b", "c", "d"]
    entry = {"role": "confidential", "type": "categorical", "levels": ["0", "1", "2"]}
    content = {"dataset": {"identity": "x", "unit": "person"}, "variables": dict.fromkeys(names, entry)}
    file = pd.DataFrame({name: random.choice(["0", "1", "2"], rows) for name in names})
    file["b"] = file["a"]
    one = PairwiseSynthesis(names, "8", select="private")
    model = one.rehearse(file, Schema.from_dict(content), seed=1)
    measured = [answer.query.attributes for answer in model.released.answers]
    assert measured[:4] == [(0,), (1,), (2,), (3,)]
    assert len(measured) == 4 + 3
    assert (0, 1) in measured
    found = model.implicates.frames[0].to_pandas()
    assert cramers_v(found["a"], found["b"]) > 0.95
    for x, y in (("a", "c"), ("a", "d"), ("b", "c"), ("b", "d"), ("c", "d")):
        assert cramers_v(found[x], found[y]) < 0.02


def cramers_v(one: pd.Series, two: pd.Series) -> float:
    table = pd.crosstab(one, two).to_numpy().astype(float)
    free = np.outer(table.sum(1), table.sum(0)) / table.sum()
    return float(np.sqrt(((table - free) ** 2 / free).sum() / table.sum() / (min(table.shape) - 1)))


@settings(max_examples=6, deadline=None)
@given(st.integers(1, 6), st.integers(1, 5), st.integers(0, 2**30))
def test_any_small_file_gives_a_file(rows: int, width: int, seed: int) -> None:
    """Few records, constant columns, levels that nobody has, columns of one level."""
    random = np.random.default_rng(seed)
    sizes = random.integers(1, 5, width)
    names = [f"v{one}" for one in range(width)]
    content: dict[str, Any] = {"dataset": {"identity": "x", "unit": "person"}, "variables": {}}
    for name, size in zip(names, sizes, strict=True):
        levels = [str(one) for one in range(size)]
        content["variables"][name] = {"role": "confidential", "type": "categorical", "levels": levels}
    file = pd.DataFrame(
        {name: random.integers(0, max(size // 2, 1), rows) for name, size in zip(names, sizes, strict=True)}
    )
    for select in ("auto", "all", "private"):
        one = PairwiseSynthesis(names, "1", select=select, sets=2)  # type: ignore[arg-type]
        model = one.rehearse(file.astype(str), Schema.from_dict(content), seed=seed)
        for frame in model.implicates.frames:
            assert frame.num_rows == rows
            for name, size in zip(names, sizes, strict=True):
                assert set(frame[name].to_pylist()) <= {str(level) for level in range(size)}


def test_an_empty_file_is_refused() -> None:
    with pytest.raises(SchemaError, match="no rows"):
        plan().rehearse(voters()[:0], schema(), seed=1)
