"""`SurveyLaplace` against the contract of every plan: claims before data, identity, storage, ledger, answers."""

import json
from fractions import Fraction
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from support.plan_checks import HEADINGS
from support.survey import FIELDS, GENDERS, PLANS, people, plan, schema
from tacita import Ledger, Loss
from tacita.data.confidential import Confidential
from tacita.data.schema import Schema
from tacita.errors import RefusedError, SchemaError, TacitaError, UsageError
from tacita.inference.survey import Count, Mean, noisy_table, sample_table
from tacita.mechanisms.survey import SurveyLaplace
from tacita.noise.entropy import SeededEntropy
from tacita.plan import Plan, Result
from tacita.privacy import ReplaceOne

ALL_PLANS = PLANS | {f"{name}, paper": given | {"calibration": "paper"} for name, given in PLANS.items()}
every_plan = pytest.mark.parametrize("name", ALL_PLANS)
STATISTICS = (Count(), Mean("pay"))


def opened(rows: int = 41, **changed: Any) -> Confidential:
    return Confidential.from_frame(people(rows).assign(**changed), schema())


# ---------------------------------------------------------------- before any data


@every_plan
def test_claims_come_before_data(name: str) -> None:
    given = plan(**ALL_PLANS[name])
    assert isinstance(given, Plan)
    promise = given.guarantee
    assert promise.neighbours == ReplaceOne("person")
    assert promise.loss == Loss(given.epsilon)
    assert promise.holds == ("never" if given.calibration == "paper" else "always")
    assert any("design variables are public" in one for one in promise.assumes)
    forecast = given.forecast(schema())
    assert forecast.cells == schema().domain_size(given.by)
    assert forecast.sentences
    assert set(given.reads(schema())) == {*given.by, *given.means, "w", "field", "gender"}
    proof = files("tacita").joinpath(given.proof).read_text(encoding="utf-8")
    assert proof.startswith("# SurveyLaplace")
    assert all(f"## {heading}" in proof for heading in HEADINGS)


@every_plan
def test_a_plan_is_what_it_describes(name: str) -> None:
    given = plan(**ALL_PLANS[name])
    record = json.loads(json.dumps(given.describe()))
    assert record == given.describe()
    assert record.pop("mechanism") == "SurveyLaplace"
    again = SurveyLaplace(**record)
    assert again == given
    assert hash(again) == hash(given)
    with pytest.raises(AttributeError):
        given.epsilon = Fraction(100)  # type: ignore[misc]


def test_every_setting_is_part_of_the_identity() -> None:
    assert len({json.dumps(plan(**given).describe(), sort_keys=True) for given in ALL_PLANS.values()}) == len(ALL_PLANS)


def test_the_forecast_is_the_noise() -> None:
    given = plan(epsilon="1", by=["field"], means=[])
    typical = given.forecast(schema()).figures["count: typical noise"]
    # Half of ε for one statistic whose weights lie between 1 and 40: scale 39/0.5.
    assert typical == pytest.approx(78, rel=1e-4)


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"epsilon": "0"}, "epsilon: must be above 0"),
        ({"epsilon": 0.5}, "epsilon: give it as a string"),
        ({"by": "field"}, "by: give a list"),
        ({"means": ["pay", "pay"]}, "means: a name is listed twice"),
        ({"calibration": "printed"}, "calibration: must be one of proved, paper"),
        ({"replicates": 1}, "replicates: must be a whole number from 2"),
        ({"replicates": True}, "replicates: must be a whole number"),
        ({"variance_share": "1"}, "variance_share: must lie strictly between"),
    ],
)
def test_wrong_settings_are_named(changed: dict[str, Any], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        plan(**changed)


@pytest.mark.parametrize(
    ("changed", "design", "words"),
    [
        ({"by": ["secret"]}, {}, "by: secret is not public"),
        ({"by": ["district"]}, {}, "by: district is not public"),
        ({"means": ["secret"]}, {}, "means: secret is not a number"),
        ({"means": ["w"]}, {}, "means: w is a part of the design"),
        ({"means": ["salary"]}, {}, "salary: no such variable"),
        ({"by": ["gender"]}, {"public": ["gender"]}, "strata: field is not public"),
        ({}, {"psu": ["district"]}, "psu: district is not public"),
        ({}, {"population": "fpc"}, "population: fpc is not public"),
    ],
)
def test_a_schema_that_cannot_carry_the_plan_is_refused(changed: Any, design: Any, words: str) -> None:
    with pytest.raises(TacitaError, match=words):
        plan(**changed).reads(schema(**design))


def test_a_schema_without_a_design_is_refused() -> None:
    content = schema().to_dict()
    del content["design"]
    with pytest.raises(SchemaError, match="design: the schema declares none"):
        plan().reads(Schema.from_dict(content))


# ---------------------------------------------------------------- with data


@every_plan
def test_the_result_comes_back_and_is_reproducible(name: str) -> None:
    given = plan(**ALL_PLANS[name])
    result = given.run(opened(), SeededEntropy(3))
    one: Result = result
    assert one.rehearsal
    back = given.restore(result.to_bytes())
    assert back.to_bytes() == result.to_bytes()
    np.testing.assert_array_equal(back.value, result.value)
    assert noisy_table(back).equals(noisy_table(result))
    assert given.run(opened(), SeededEntropy(3)).to_bytes() == result.to_bytes()
    assert given.run(opened(), SeededEntropy(4)).to_bytes() != result.to_bytes()


def test_counts_add_up_to_the_last_bit() -> None:
    found = plan(epsilon="0.3").run(opened(), SeededEntropy(1)).value[0]
    assert (found[:, 0] + found[:, 1] == found[:, 2]).all()
    assert (found[0] + found[1] + found[2] == found[3]).all()
    assert (found[2] + found[1] + found[0] == found[3]).all()


def test_an_empty_cell_is_zero_and_has_no_mean() -> None:
    found = plan().run(opened(), SeededEntropy(1))
    law, male = FIELDS.index("law"), GENDERS.index("m")
    assert found.value[0, law, male] == 0
    assert found.variance[0, law, male] == 0
    assert np.isnan(found.value[1, law, male])
    assert np.isfinite(np.delete(found.value[1].ravel(), law * 3 + male)).all()


@pytest.mark.parametrize("calibration", ["proved", "paper"])
def test_with_a_huge_budget_the_answers_are_those_of_the_sample(calibration: Any) -> None:
    data = opened(300)
    found = noisy_table(plan(epsilon="100000000", calibration=calibration, replicates=400).run(data, SeededEntropy(2)))
    exact = sample_table(people(300), schema(), ["field", "gender"], STATISTICS)
    assert found["statistic"].tolist() == exact["statistic"].tolist()
    assert found[["field", "gender"]].equals(exact[["field", "gender"]])
    np.testing.assert_allclose(found["estimate"], exact["estimate"], rtol=1e-4, atol=1e-4)
    # Preston's replicates estimate the same variance as linearisation, up to their own spread of about 1/√(2·400).
    ratio = (found["standard_error"] / exact["standard_error"])[exact["standard_error"] > 1e-6]
    assert ratio.between(0.85, 1.15).all()
    assert len(ratio) >= 20


def test_the_stated_variance_is_that_of_sampling_and_noise_together() -> None:
    data, given = opened(300), plan(epsilon="2000", replicates=10, variance_share="0.99")
    runs = [given.run(data, SeededEntropy(seed)) for seed in range(80)]
    exact = sample_table(people(300), schema(), ["field", "gender"], STATISTICS)
    value, error = (exact[name].to_numpy().reshape(2, 4, 3) for name in ("estimate", "standard_error"))
    errors = np.array([run.value for run in runs]) - value
    stated = np.mean([run.variance for run in runs], axis=0)
    for place in ((0, 3, 2), (0, 0, 2), (0, 3, 0), (0, 2, 1), (1, 3, 2), (1, 0, 2)):
        assert 0.7 < stated[place] / (error[place] ** 2 + np.mean(errors[:, *place] ** 2)) < 1.5, place


def test_noise_on_few_replicates_overstates_the_variance_and_never_understates_it() -> None:
    data, given = opened(120), plan(epsilon="2", means=[], replicates=4)
    runs = [given.run(data, SeededEntropy(seed)) for seed in range(40)]
    truth = sample_table(people(120), schema(), ["field", "gender"])["estimate"].to_numpy().reshape(4, 3)
    error = np.mean((np.array([run.value[0][3, 2] for run in runs]) - truth[3, 2]) ** 2)
    assert np.mean([run.variance[0][3, 2] for run in runs]) > error


def test_values_out_of_bounds_are_clamped_and_counts_stay_within_their_bounds() -> None:
    found = plan(epsilon="0.01").run(opened(w=1e9), SeededEntropy(8))
    size = np.array(found.measured["size"]).reshape(3, 2)
    assert (found.value[0, :3, :2] <= 40.0 * size).all()
    assert (found.value[0, :3, :2] >= 1.0 * size).all()
    means = found.value[1][np.isfinite(found.value[1])]
    assert ((means >= 10) & (means <= 900)).all()


def test_the_ledger_takes_the_proved_one_and_charges_for_it(tmp_path: Path) -> None:
    ledger = Ledger.open(tmp_path / "ledger", cap=Loss("2"), neighbours=ReplaceOne("person"))
    with pytest.raises(RefusedError):
        ledger.release(plan(calibration="paper"), opened(), label="paper")
    result = ledger.release(plan(), opened(), label="tables")
    assert not result.rehearsal
    with pytest.raises(RefusedError):
        ledger.release(plan(means=["hours"]), opened(), label="more")


def test_nothing_is_spent_on_a_broken_file(tmp_path: Path) -> None:
    ledger = Ledger.open(tmp_path / "ledger", cap=Loss("2"), neighbours=ReplaceOne("person"))
    with pytest.raises(SchemaError, match=r"person\.w: a weight is missing, zero"):
        ledger.release(plan(), opened(w=0.0), label="broken")
    ledger.release(plan(), opened(), label="all is left")


@pytest.mark.parametrize("calibration", ["proved", "paper"])
def test_the_paper_s_accounting(calibration: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """ε = 8 with two variables, counts and one mean: 0.5 for each estimate and 0.05 for each of ten replicates."""
    if calibration == "proved":
        given = plan(epsilon="8", means=["pay"])
        assert given._point_scale(10) == 10 / Fraction(2)
        assert given._replicated_scale(10) == 10 / Fraction(2)
        return
    from tacita.mechanisms.survey import laplace

    seen: list[tuple[Fraction, Fraction]] = []

    def spy(sample: Any, factors: Any, shape: Any, point: Fraction, spread: Fraction, entropy: Any) -> Any:
        seen.append((point, spread))
        return np.zeros((2, 4, 3)), np.zeros((2, 4, 3))

    monkeypatch.setattr(laplace, "paper_estimates", spy)
    plan(epsilon="8", calibration="paper").run(opened(), SeededEntropy(1))
    assert seen == [(Fraction(1, 2), Fraction(1, 20))]


def test_the_local_sensitivities_are_those_of_equations_8_and_9() -> None:
    from tacita.mechanisms.survey.paper import _answers
    from tacita.mechanisms.survey.sample import read

    frame = people()
    sample = read(opened(), ["gender"], ["pay"])
    women = frame[frame["gender"] == "f"]
    men = frame[frame["gender"] == "m"]
    ranges = [one["w"].max() - one["w"].min() for one in (women, men)]
    products = [(one["w"] * one["pay"]) for one in (women, men)]
    expected = [
        (product.max() - product.min()) / (one["w"].sum() - ranged)
        for product, one, ranged in zip(products, (women, men), ranges, strict=True)
    ]
    assert _answers(sample, sample.cell, 2, None)[1] == pytest.approx(max(ranges))
    assert _answers(sample, sample.cell, 2, "pay")[1] == pytest.approx(max(expected))
