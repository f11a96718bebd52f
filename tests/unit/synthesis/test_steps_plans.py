"""StepsSynthesis and the baselines as plans: claims before data, files that keep the rules, storage."""

import json
from collections.abc import Callable
from fractions import Fraction
from importlib.resources import files
from typing import Any

import numpy as np
import pandas as pd
import pytest

import tacita.synthesis.comparison.steps.measuring as measuring
from support.people import LEVELS, NAMES, ZEROS, persons, schema
from support.shared_desks import shared_desks  # noqa: F401 -- a fixture that every test here uses
from tacita.comparison import DirichletSynthesis, HistogramSynthesis, IndependentSynthesis
from tacita.data.confidential import Confidential
from tacita.data.schema import Schema
from tacita.errors import UsageError, VerificationError
from tacita.implicates import Synthetic
from tacita.noise.entropy import SeededEntropy, SystemEntropy
from tacita.plan import Plan
from tacita.privacy import AddRemoveOne, ReplaceOne
from tacita.synthesis.comparison.steps import StepsSynthesis
from tacita.synthesis.selfcheck import SelfCheck

PERSON = AddRemoveOne("person")
PLANS: dict[str, Callable[..., Any]] = {
    "steps": lambda **more: StepsSynthesis(NAMES, "2", zeros=ZEROS, **more),
    "steps, least, three layers": lambda **more: StepsSynthesis(
        NAMES, "2", zeros=ZEROS, layers=3, rule="least", criterion="deviance", budget="equal", **more
    ),
    "steps, all layers": lambda **more: StepsSynthesis(NAMES, "2", zeros=ZEROS, layers=5, stop="never", **more),
    "steps, public order": lambda **more: StepsSynthesis(NAMES, "2", zeros=ZEROS, election="public", **more),
    "steps, random": lambda **more: StepsSynthesis(NAMES, "2", zeros=ZEROS, election="public", rule="random", **more),
    "steps, stops": lambda **more: StepsSynthesis(NAMES, "2", zeros=ZEROS, layers=4, threshold="10", least=40, **more),
    "steps, weights": lambda **more: StepsSynthesis(NAMES, "2", zeros=ZEROS, budget=["1", "2", "1/2"], **more),
    "histogram": lambda **more: HistogramSynthesis(NAMES, "2", zeros=ZEROS, **more),
    "histogram, projected": lambda **more: HistogramSynthesis(NAMES, "2", zeros=ZEROS, negative="project", **more),
    "independent": lambda **more: IndependentSynthesis(NAMES, "2", zeros=ZEROS, **more),
    "dirichlet": lambda **more: DirichletSynthesis(NAMES, "2", zeros=ZEROS, rows=400, **more),
}
every_plan = pytest.mark.parametrize("make", PLANS.values(), ids=PLANS)
PAPER = StepsSynthesis(NAMES, "2", election="paper", stop="never", sets=3, zeros=ZEROS)


@every_plan
@pytest.mark.parametrize("neighbours", [ReplaceOne("person"), PERSON], ids=["replace", "add-remove"])
def test_claims_come_before_data(make: Callable[..., Any], neighbours: Any) -> None:
    plan = make(neighbours=neighbours)
    assert isinstance(plan, Plan)
    assert (plan.guarantee.holds, plan.guarantee.loss.epsilon) == ("always", 2)
    assert plan.guarantee.neighbours == neighbours
    assert plan.guarantee.assumes
    forecast = plan.forecast(schema())
    assert forecast.sentences
    assert plan.reads(schema()) == tuple(NAMES)
    proof = files("tacita").joinpath(plan.proof).read_text(encoding="utf-8")
    assert type(plan).__name__ in proof.splitlines()[0]
    for heading in ("Precondition", "Algorithm", "Claim", "Proof", "Assumes"):
        assert f"## {heading}" in proof


@every_plan
def test_a_plan_is_what_it_describes(make: Callable[..., Any]) -> None:
    plan = make()
    record = json.loads(json.dumps(plan.describe()))
    assert record.pop("mechanism") == type(plan).__name__
    again = type(plan)(**record)
    assert again == plan
    assert hash(again) == hash(plan)
    with pytest.raises(AttributeError):
        plan.epsilon = Fraction(100)


@every_plan
@pytest.mark.parametrize("neighbours", [ReplaceOne("person"), PERSON], ids=["replace", "add-remove"])
def test_files_keep_the_rules_and_storage_keeps_the_files(make: Callable[..., Any], neighbours: Any) -> None:
    plan = make(neighbours=neighbours, sets=2)
    result = plan.rehearse(persons(), schema(), seed=4)
    assert isinstance(result, Synthetic)
    assert result.rehearsal
    json.dumps(result.measured)
    frames = list(result.implicates)
    assert len(frames) == 2
    for frame in frames:
        assert list(frame.columns) == NAMES
        for name, size in LEVELS.items():
            assert set(frame[name]) <= {str(one) for one in range(size)}
        assert not ((frame["voted"] == "1") & (frame["registered"] == "0")).any()
        if neighbours == ReplaceOne("person"):
            assert len(frame) == 400
        else:
            assert abs(len(frame) - 400) < 200
    back = plan.restore(result.to_bytes())
    assert back.measured == result.measured
    for one, two in zip(back.implicates, frames, strict=True):
        pd.testing.assert_frame_equal(one, two)
    assert back.to_bytes() == result.to_bytes()


@every_plan
def test_a_release_is_no_rehearsal(make: Callable[..., Any]) -> None:
    assert make().run(Confidential.from_frame(persons(), schema()), SystemEntropy()).rehearsal is False


def test_much_budget_gives_the_file_back() -> None:
    """With hardly any noise the cross-tabulation is the original one, at any depth and on either path."""
    original = persons().value_counts().sort_index()
    for layers in (0, 2, 5):
        plan = StepsSynthesis(NAMES, "4000", layers=layers, zeros=ZEROS)
        frame = next(iter(plan.rehearse(persons(), schema(), seed=1).sample(1, seed=2)))
        pd.testing.assert_series_equal(frame.value_counts().sort_index(), original)


def test_the_sparse_way_gives_the_file_back_too(monkeypatch: pytest.MonkeyPatch) -> None:
    sparse = measuring.measure_cells
    monkeypatch.setattr(measuring, "measure_cells", lambda *given: sparse(*given, dense=0))
    result = StepsSynthesis(NAMES, "4000", layers=2, zeros=ZEROS).rehearse(persons(), schema(), seed=1)
    assert all(cells.sums is None for cells in result.released[0].cells)
    frame = next(iter(result.sample(1, seed=2)))
    pd.testing.assert_series_equal(frame.value_counts().sort_index(), persons().value_counts().sort_index())


def test_the_most_and_the_least_telling_attribute_are_elected() -> None:
    most = StepsSynthesis(NAMES, "200", criterion="deviance").rehearse(persons(4000), schema(), seed=1)
    assert NAMES[most.released[0].layers[0].attribute[0]] == "income"
    least = StepsSynthesis(NAMES, "200", rule="least", criterion="deviance").rehearse(persons(4000), schema(), seed=1)
    assert NAMES[least.released[0].layers[0].attribute[0]] == "sex"
    public = StepsSynthesis(["sex", "income"], "1", election="public", layers=1).rehearse(persons(), schema(), seed=1)
    assert public.released[0].layers[0].attribute.tolist() == [0]


def test_nodes_split_by_attributes_of_their_own() -> None:
    """Where registered is 0 nobody voted: the attribute is then no candidate any more."""
    plan = StepsSynthesis(NAMES, "400", layers=5, zeros=ZEROS, stop="never")
    layers = plan.rehearse(persons(4000), schema(), seed=1).released[0].layers
    assert max(len(set(layer.attribute.tolist())) for layer in layers[1:-1]) > 1
    assert layers[-1].parent.size == 5 * 3 * 3 * 2


def test_small_nodes_and_dull_ones_are_left_whole() -> None:
    deep = {"layers": 5, "zeros": ZEROS}
    small = StepsSynthesis(NAMES, "2", least=200, **deep).rehearse(persons(), schema(), seed=1).released[0]  # type: ignore[arg-type]
    for layer in small.layers:
        assert ((layer.attribute == -1) | (layer.noisy >= 200)).all()
    dull = StepsSynthesis(NAMES, "2", threshold="100000", **deep).rehearse(persons(), schema(), seed=1).released[0]  # type: ignore[arg-type]
    assert len(dull.layers) == 1
    # What the tree did not spend went to the cells: ε' = 1, less one election of five at a fifth together.
    assert [1 / cells.scale for cells in dull.cells] == [1 - Fraction(1, 25)]


def test_counts_of_the_estimate_add_up() -> None:
    result = StepsSynthesis(NAMES, "1", layers=3, zeros=ZEROS, stop="never").rehearse(persons(), schema(), seed=3)
    found = result.estimates()
    tree = result.released[0]
    for at, parent in enumerate(tree.parents()):
        sums = np.bincount(parent, weights=found.values[at + 1], minlength=found.values[at].size)
        np.testing.assert_allclose(sums, found.values[at], atol=1e-8)
    assert found.values[0].tolist() == [400]
    assert found.variances[0].tolist() == [0]


def test_records_in_impossible_cells_are_left_out() -> None:
    frame = persons()
    frame.loc[:49, ["voted", "registered"]] = ["1", "0"]
    for plan in (PLANS["steps"](), PLANS["dirichlet"](), PLANS["independent"]()):
        made = next(iter(plan.rehearse(frame, schema(), seed=1).implicates))
        assert len(made) == 400
        assert not ((made["voted"] == "1") & (made["registered"] == "0")).any()


def test_numbers_are_binned_on_public_cuts() -> None:
    frame = persons().assign(age=np.random.default_rng(1).integers(18, 90, size=400))
    age = {"role": "confidential", "type": "integer", "lower": 18, "upper": 80}
    plan = StepsSynthesis(["sex", "age"], "4000", layers=1, cuts={"age": [30, 50]})
    made = next(iter(plan.rehearse(frame, schema(age=age), seed=1).implicates))
    assert made["age"].between(18, 80).all()
    held = frame["age"].clip(18, 80)
    assert pd.cut(made["age"], [0, 29, 49, 99]).value_counts().to_dict() == (
        pd.cut(held, [0, 29, 49, 99]).value_counts().to_dict()
    )


def test_several_files_differ_by_the_noise_and_by_records() -> None:
    result = StepsSynthesis(NAMES, "0.5", zeros=ZEROS).rehearse(persons(), schema(), seed=1)
    shares = [float((frame["sex"] == "1").mean()) for frame in result.sample(20, seed=1)]
    assert np.std(shares) > 0.005
    assert result.sample(2, seed=5).tables[0].equals(result.sample(2, seed=5).tables[0])
    assert result.sample(1, rows=1000).rows == (1000,)


def test_the_paper_has_no_guarantee_and_a_tree_for_every_file() -> None:
    assert PAPER.guarantee.holds == "never"
    assert str(PAPER.guarantee) == "no guarantee"
    result = PAPER.rehearse(persons(), schema(), seed=1)
    assert len(result.released) == 3
    # ε/m for each file, half of it for the cells; and the same elected tree each time, free of noise.
    assert {1 / cells.scale for tree in result.released for cells in tree.cells} == {Fraction(1, 3)}
    assert len({tuple(tree.layers[0].attribute) for tree in result.released}) == 1
    assert result.implicates.kind == "partial"
    assert PAPER.restore(result.to_bytes()).implicates.tables[2].equals(result.implicates.tables[2])
    with pytest.raises(UsageError, match="each cost its share"):
        result.sample(4)


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"layers": 9}, "layers"),
        ({"election": "free"}, "election"),
        ({"budget": "most"}, "budget"),
        ({"budget": ["1", "1"]}, "budget: give 3"),
        ({"election_share": "1"}, "election_share"),
        ({"threshold": "5", "rule": "least"}, "threshold"),
        ({"threshold": "-5"}, "threshold"),
        ({"stop": "small", "election": "paper"}, "stop"),
        ({"cuts": {"age": [1]}}, "cuts"),
        ({"cuts": {"sex": [2, 1]}}, "rising"),
        ({"zeros": [{"sex": "1"}]}, "zeros"),
        ({"sets": 0}, "sets"),
        ({"epsilon": "0"}, "epsilon"),
        ({"neighbours": "add"}, "neighbours"),
        ({"columns": ["sex", "sex"]}, "columns"),
        ({"columns": "sex"}, "columns"),
    ],
)
def test_a_wrong_argument_is_named(given: dict[str, Any], says: str) -> None:
    with pytest.raises(UsageError, match=says):
        StepsSynthesis(**({"columns": NAMES, "epsilon": "1"} | given))


@every_plan
def test_the_common_settings_are_checked_alike(make: Callable[..., Any]) -> None:
    for wrong in ({"sets": True}, {"cuts": {"age": [1]}}, {"cuts": {"sex": [2, 1]}}, {"neighbours": "add"}):
        with pytest.raises(UsageError, match=next(iter(wrong))):
            make(**wrong)
    with pytest.raises(TypeError, match="unexpected keyword argument 'layer'"):
        make(layer=3)


def test_what_the_schema_cannot_carry_is_refused_before_any_data() -> None:
    age = {"role": "confidential", "type": "integer", "lower": 18, "upper": 80}
    with pytest.raises(UsageError, match="cuts: age is a number"):
        StepsSynthesis(["age", "sex"], "1").reads(schema(age=age))
    with pytest.raises(UsageError, match="outside its bounds"):
        StepsSynthesis(["age", "sex"], "1", cuts={"age": [10]}).reads(schema(age=age))
    with pytest.raises(UsageError, match="no level of voted"):
        StepsSynthesis(NAMES, "1", zeros=[{"voted": "7", "sex": "0"}]).reads(schema())
    with pytest.raises(UsageError, match="cuts: sex is categorical"):
        StepsSynthesis(NAMES, "1", cuts={"sex": [1]}).reads(schema())


def test_dirichlet_needs_a_public_size_and_sells_no_more_files_than_were_paid() -> None:
    with pytest.raises(UsageError, match="rows"):
        DirichletSynthesis(NAMES, "1", neighbours=PERSON)
    result = DirichletSynthesis(NAMES, "1", sets=2).rehearse(persons(), schema(), seed=1)
    assert [len(frame) for frame in result.sample(2)] == [400, 400]
    with pytest.raises(UsageError, match="cost its share"):
        result.sample(3)


def test_what_was_not_stored_here_is_refused() -> None:
    stored = IndependentSynthesis(NAMES, "1").rehearse(persons(), schema(), seed=1).to_bytes()
    with pytest.raises(VerificationError):
        IndependentSynthesis(NAMES, "1").restore(stored.replace(b"independent-model-1", b"independent-model-0"))
    other = DirichletSynthesis(NAMES, "1").rehearse(persons(), schema(), seed=1).to_bytes()
    with pytest.raises(VerificationError):
        StepsSynthesis(NAMES, "1").restore(other)


def test_independent_columns_keep_their_shares() -> None:
    result = IndependentSynthesis(NAMES, "500").run(Confidential.from_frame(persons(4000), schema()), SeededEntropy(1))
    made = next(iter(result.sample(1, seed=1)))
    for name in NAMES:
        difference = made[name].value_counts() - persons(4000)[name].value_counts()
        assert difference.abs().max() <= 3


def test_a_size_limit_is_stated_before_the_run_and_kept_within_it(monkeypatch: pytest.MonkeyPatch) -> None:
    wide = {f"b{at}": {"role": "confidential", "type": "categorical", "levels": list("0123456789")} for at in range(9)}
    for given in ({"stop": "never"}, {"least": 0}):
        with pytest.raises(UsageError, match="layers: 9 layers may have 1,000,000,000 nodes"):
            StepsSynthesis(list(wide), "1", layers=9, **given).reads(schema(**wide))  # type: ignore[arg-type]
    assert StepsSynthesis(list(wide), "1", layers=9).reads(schema(**wide)) == tuple(wide)
    with pytest.raises(UsageError, match="so large a domain needs"):
        DirichletSynthesis(list(wide), "1e-9", rows=1000).reads(schema(**wide))
    monkeypatch.setattr(measuring, "MOST_NODES", 12)
    layers = StepsSynthesis(NAMES, "2", layers=5, stop="never").rehearse(persons(), schema(), seed=1).released[0].layers
    assert max(layer.parent.size for layer in layers) <= 12


def test_noise_alone_grows_no_tree() -> None:
    """A nearly empty file with many levels and layers: nodes that hold nothing are seldom split."""
    wide = {f"b{at}": {"role": "confidential", "type": "categorical", "levels": list("0123456789")} for at in range(12)}
    frame = persons(40).assign(**dict.fromkeys(wide, "0"))
    tree = StepsSynthesis(list(wide), "1", layers=12).rehearse(frame, schema(**wide), seed=1).released[0]
    assert sum(layer.parent.size for layer in tree.layers) < 500


@pytest.mark.parametrize("method", [HistogramSynthesis, StepsSynthesis, IndependentSynthesis])
def test_noise_that_leaves_no_record_leaves_a_file_all_the_same(method: Callable[..., Any]) -> None:
    """A check draws the file inside of a run: had that failed, all would be paid and nothing released."""
    two = {"role": "confidential", "type": "categorical", "levels": ["a", "b"], "outside": "b", "missing": "b"}
    public = Schema.from_dict({"dataset": {"identity": "one", "unit": "person"}, "variables": {"x": two, "y": two}})
    data = Confidential.from_frame(pd.DataFrame({"x": ["a"], "y": ["b"]}), public)
    given: Any = {"neighbours": AddRemoveOne("person"), "zeros": [{"x": "a", "y": "a"}, {"x": "b", "y": "b"}]}
    plan = SelfCheck(method(["x", "y"], "1/10", **given))
    rows = []
    for seed in range(8):
        files = plan.run(data, SeededEntropy(seed)).implicates
        assert files is not None
        frame = files.tables[0].to_pandas()
        assert not ((frame.x == "a") & (frame.y == "a") | (frame.x == "b") & (frame.y == "b")).any()
        rows.append(len(frame))
    assert min(rows) == 1  # in some of them noise left none
