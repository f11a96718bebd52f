"""SurveySynthesis as a plan: claims before data, clear errors that cost nothing, storage, and files to use."""

import json
import re
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from support.weighted_people import PERSON, people, plan, schema
from tacita.data.confidential import Confidential
from tacita.data.schema import Schema
from tacita.errors import TacitaError, UsageError, VerificationError
from tacita.ledger import Ledger
from tacita.noise.entropy import SeededEntropy
from tacita.plan import Plan
from tacita.privacy import AddRemoveOne, Loss
from tacita.privacy.json_form import canonical
from tacita.release.settings import plan_from_record
from tacita.synthesis import SurveySynthesis

SETTINGS: dict[str, dict[str, Any]] = {
    "plain": {},
    "gaussian": {"delta": "1e-6"},
    "one file": {"sets": 1},
    "smoothed": {"weights": "smoothed"},
    "kept": {"keep": ["district"]},
    "no cells": {"by": []},
    "two outcomes": {"columns": ["salary", "hours"], "transforms": {"hours": "log1p"}, "law": "normal"},
    "any law": {"columns": ["salary", "hours"]},
    "any law, population": {"columns": ["hours"], "population": 60_000},
    "population": {"population": 60_000},
    "any law, gaussian": {"columns": ["salary"], "law": "any", "delta": "1e-6"},
    "tiny budget": {"epsilon": "0.01"},
    "identity": {"transforms": {"salary": "identity"}},
}
every = pytest.mark.parametrize("name", SETTINGS)


@every
def test_claims_and_identity(name: str) -> None:
    one = plan(**SETTINGS[name])
    assert isinstance(one, Plan)
    assert one.guarantee.loss == Loss(one.epsilon, delta=one.delta)
    assert one.guarantee.neighbours == PERSON
    assert one.guarantee.holds == "always"
    assert (files("tacita") / one.proof).is_file()
    assert plan_from_record(json.loads(canonical(one.describe()))) == one
    assert hash(one) == hash(plan(**SETTINGS[name]))
    told = one.forecast(schema())
    assert all(value > 0 for value in told.figures.values())
    assert "for one price" in str(told)
    assert set(one.reads(schema())) == {*one.columns, "w", *one.by, *one.keep}


@every
def test_files_have_the_collected_design_and_values_within_their_bounds(name: str) -> None:
    one, collected = plan(**SETTINGS[name]), people()
    found = one.rehearse(collected, schema(), seed=4).implicates
    assert (found.m, found.kind) == (one.sets, "one-measurement")
    assert set(found.synthesized) == {*one.columns, "w"}
    design = [*one.by, *one.keep]
    for frame in found:
        assert len(frame) == len(collected)
        if design:
            pd.testing.assert_series_equal(frame.groupby(design).size(), collected.groupby(design).size())
        for column in (*one.columns, "w"):
            kind = schema()[column].kind
            assert frame[column].between(kind.lower, kind.upper).all()
    if found.m > 1:
        assert not found.frames[0].equals(found.frames[1])


@pytest.mark.parametrize(
    "name",
    [
        *("plain", "gaussian", "kept", "two outcomes", "any law"),
        *(pytest.param(one, marks=pytest.mark.slow) for one in ("one file", "smoothed", "no cells", "population")),
        *(pytest.param(one, marks=pytest.mark.slow) for one in ("any law, population", "any law, gaussian")),
        *(pytest.param(one, marks=pytest.mark.slow) for one in ("tiny budget", "identity")),
    ],
)
def test_what_the_ledger_kept_gives_the_same_files(name: str) -> None:
    one = plan(**SETTINGS[name])
    first = one.rehearse(people(120), schema(), seed=7)
    again = one.restore(first.to_bytes())
    assert again.to_bytes() == first.to_bytes()
    assert all(a.equals(b) for a, b in zip(first.implicates.tables, again.implicates.tables, strict=True))
    assert again.rehearsal
    assert first.sample(2, seed=1).frames[0].equals(again.sample(2, seed=1).frames[0])
    form = type(first).form.encode()
    with pytest.raises(VerificationError, match="not one that Tacita wrote"):
        one.restore(first.to_bytes().replace(form, form[:-1] + b"0"))


def test_with_much_budget_the_files_have_the_statistics_of_the_collected_one() -> None:
    collected = people(2_000)
    found = plan("100000", sets=2).rehearse(collected, schema(), seed=2).implicates
    for frame in found:
        for column in ("salary", "w"):
            mine, true = (np.log(one[column]).groupby([one["field"], one["gender"]]) for one in (frame, collected))
            assert np.allclose(mine.mean(), true.mean(), atol=2e-3)
        together = [np.corrcoef(np.log(one["salary"]), np.log(one["w"]))[0, 1] for one in (frame, collected)]
        assert together[0] == pytest.approx(together[1], abs=5e-3)


def test_where_records_are_many_files_have_the_shape_of_the_collected_one() -> None:
    """Log salaries skewed to the left: their mean would be a tenth too high under a normal law."""
    collected = people(20_000)
    random = np.random.default_rng(2)
    collected["salary"] = np.rint(np.exp(11.5 - random.exponential(0.8, len(collected)))).astype(int)
    found = plan("20", sets=2).rehearse(collected, schema(), seed=2)
    assert found.measured["shape"]
    for frame in found.implicates:
        assert frame["salary"].mean() == pytest.approx(collected["salary"].mean(), rel=0.03)
        shares = (0.05, 0.25, 0.5, 0.75, 0.95)
        assert np.allclose(frame["salary"].quantile(shares), collected["salary"].quantile(shares), rtol=0.1)


def test_smoothed_weights_vary_less_and_tell_the_same_total() -> None:
    collected = people(2_000)
    plain, smooth = (
        next(iter(plan("1000", sets=2, weights=weights).rehearse(collected, schema(), seed=2).implicates))
        for weights in ("synthetic", "smoothed")
    )
    assert smooth["w"].std() < 0.9 * plain["w"].std()
    assert smooth["w"].sum() == pytest.approx(collected["w"].sum(), rel=0.02)


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"columns": []}, "columns: name the columns, at least one"),
        ({"columns": "salary"}, "columns: give a list"),
        ({"by": "field"}, "by: give a list"),
        ({"weight": None}, "weight: name the column"),
        ({"epsilon": "0"}, "epsilon: must be above 0"),
        ({"epsilon": 1.0}, "epsilon: give it as a string"),
        ({"delta": "2"}, "delta: must lie between"),
        ({"weights": "raw"}, "weights: must be"),
        ({"sets": 0}, "sets: must be"),
        ({"sets": True}, "sets: must be"),
        ({"population": "many"}, "population: must be a whole number"),
        ({"neighbours": AddRemoveOne("person")}, "neighbours: must be ReplaceOne"),
    ],
)
def test_a_wrong_setting_is_named(changed: dict[str, Any], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        plan(**changed)


@pytest.mark.parametrize(
    ("changed", "entries", "words"),
    [
        ({"columns": ["height"]}, {}, "height: no such variable"),
        ({"columns": ["gender"], "by": []}, {}, "gender: must be a number"),
        ({"columns": ["hours"], "law": "normal"}, {}, 'hours: is modelled by its logarithm.*"log1p"'),
        ({"columns": ["w"]}, {}, "w: is named twice"),
        ({"by": ["salary"], "columns": ["hours"], "transforms": {"hours": "log1p"}}, {}, "salary: design variables"),
        ({}, {"gender": {"role": "confidential"}}, "gender: goes into the synthetic files as collected"),
        ({"transforms": {"w": "identity"}}, {}, "transforms: w is not among the outcomes"),
        ({"transforms": {"salary": "root"}}, {}, "transforms.salary: must be one of"),
        ({}, {"w": {"lower": 0}}, "w: is modelled by its logarithm"),
        ({}, {"salary": {"lower": 5, "upper": 5}}, "salary: lower equals upper"),
    ],
)
def test_a_schema_that_cannot_carry_the_plan_is_refused(
    changed: dict[str, Any], entries: dict[str, Any], words: str
) -> None:
    one = plan(**changed)
    for ask in (one.reads, one.forecast):
        with pytest.raises(TacitaError, match=words):
            ask(schema(**entries))


@pytest.mark.parametrize(("epsilon", "delta"), [("1e-6", "0"), ("1e-6", "1e-12"), ("0.001", "1e-12")])
def test_a_price_that_no_noise_can_be_drawn_for_costs_nothing(epsilon: str, delta: str) -> None:
    data = Confidential.from_frame(people(), schema())
    with pytest.raises(UsageError, match="epsilon: too small for any noise to be drawn"):
        SurveySynthesis(["salary"], epsilon, delta=delta, weight="w", by=["field"], neighbours=PERSON).suits(data)


def test_too_few_records_for_the_cells_cost_nothing(tmp_path: Path) -> None:
    data = Confidential.from_frame(people(5), schema())
    ledger = Ledger.open(tmp_path / "people.ledger", cap=Loss("8"), neighbours=PERSON)
    with pytest.raises(UsageError, match="by: the sample has too few records"):
        ledger.release(plan("8"), data, label="people")
    assert ledger.spent(PERSON, data) == Loss("0")


def test_a_release_is_paid_for_once(tmp_path: Path) -> None:
    data = Confidential.from_frame(people(80), schema())
    ledger = Ledger.open(tmp_path / "people.ledger", cap=Loss("9"), neighbours=PERSON)
    first, again = (ledger.release(plan("8"), data, label="people") for _ in range(2))
    assert not first.rehearsal
    assert ledger.spent(PERSON, data) == Loss("8")
    assert first.implicates.frames[0].equals(again.implicates.frames[0])


def test_rows_in_another_order_release_the_same() -> None:
    one, collected = plan(), people(200)
    mixed = collected.sample(frac=1, random_state=3)
    runs = [one.run(Confidential.from_frame(each, schema()), SeededEntropy(5)) for each in (collected, mixed)]
    assert runs[0].to_bytes() == runs[1].to_bytes()


def test_it_is_exported() -> None:
    import tacita

    assert tacita.SurveySynthesis is SurveySynthesis


@pytest.mark.parametrize(
    ("design", "words"),
    [
        ({"weight": "hours", "public": ["field", "gender"]}, r"weight: the schema's \[design\] says hours"),
        ({"weight": "w", "strata": ["district"], "public": ["field", "gender", "district"]}, "keep: district is"),
        ({"weight": "w", "public": ["field"]}, r"gender: goes into the synthetic files.*\[design\] does not list"),
    ],
)
def test_a_declared_design_and_the_plan_must_agree(design: dict[str, Any], words: str) -> None:
    content = schema(hours={"lower": 1, "role": "weight"}).to_dict() | {"design": design}
    with pytest.raises(UsageError, match=words):
        plan().reads(Schema.from_dict(content))


def test_a_declared_design_that_agrees_is_taken() -> None:
    design = {"weight": "w", "strata": ["field"], "psu": ["district"], "public": ["field", "gender", "district"]}
    declared = Schema.from_dict(schema().to_dict() | {"design": design})
    assert "district" in plan(keep=["district"]).reads(declared)


def test_the_order_of_settings_of_an_earlier_version_is_refused_with_the_new_way() -> None:
    with pytest.raises(UsageError, match=r"write SurveySynthesis\(columns, epsilon, weight=…, by=…, …\)"):
        SurveySynthesis(["salary"], "w", ["field"], "1")  # type: ignore[call-arg, arg-type, misc]


def test_what_may_be_zero_needs_no_law_and_keeps_its_totals() -> None:
    about = schema()
    plain, normal = plan(columns=["hours"]), plan(columns=["hours"], law="normal", transforms={"hours": "log1p"})
    assert not plain.normal(about)
    assert normal.normal(about)
    assert plan().normal(about), "salaries are above 0"
    assert any(
        "transforms are not used" in words
        for words in plan(columns=["hours"], transforms={"hours": "log1p"}).forecast(about).sentences
    )
    with pytest.raises(UsageError, match="has no scale"):
        plan(law="any", transforms={"salary": "log"})


def test_few_records_without_design_variables_are_one_cell() -> None:
    """So few that no cell would be crossed: all records are then one."""
    made = plan(columns=["hours"], by=[], sets=1).rehearse(people(60), schema(), seed=4)
    assert len(made.implicates.frames[0]) == 60


def test_no_weight_is_missing_where_records_are_few() -> None:
    """What is known of weights is then hardly more than their bounds."""
    about = schema(w={"upper": 1_000_000, "scale": 0})
    collected = people(60).assign(w=lambda one: one["w"].round().clip(1).astype(int))
    for seed in range(6):
        made = plan("1", columns=["salary", "hours"]).rehearse(collected, about, seed=seed)
        assert all(frame["w"].between(1, 1_000_000).all() for frame in made.implicates)


def test_files_of_any_law_have_the_weighted_totals_that_were_measured() -> None:
    frame = people(4000)
    frame.loc[frame.index % 3 == 0, "hours"] = 0.0  # a third does not work, which no law on a scale knows
    made = plan(epsilon="20", columns=["hours"], sets=1).rehearse(frame, schema(), seed=4)
    file = made.implicates.frames[0].to_pandas()
    for one in ("field", "gender", "district"):
        if one in file:
            assert file[one].value_counts().to_dict() == frame[one].value_counts().to_dict(), "the design is public"
    assert (file["hours"] == 0).mean() == pytest.approx(1 / 3, abs=0.03)
    total = (frame["w"] * frame["hours"]).sum()
    assert (file["w"] * file["hours"]).sum() == pytest.approx(total, rel=0.03)
    assert file["w"].sum() == pytest.approx(frame["w"].sum(), rel=0.02)


@pytest.mark.parametrize("law", ["any", "normal"])
def test_weights_add_up_to_a_public_population(law: str) -> None:
    made = plan("4", population=70_000, law=law).rehearse(people(600), schema(), seed=3)
    assert all(file["w"].sum() == pytest.approx(70_000, rel=0.002) for file in made.implicates)


@pytest.mark.parametrize("law", ["normal", "any"])
def test_means_stay_where_weights_add_up_to_another_number_than_the_public_one(law: str) -> None:
    """They were 17% off: totals of answers were held as measured, and the weights to a fifth more."""
    file = people(3_000)
    population = round(1.2 * file.w.sum())
    made = plan("20", by=["gender"], population=population, law=law).rehearse(file, schema(), seed=3)
    assert made.released.totals is not None
    for one in (frame.to_pandas() for frame in made.sample(m=3).frames):
        assert one.w.sum() == pytest.approx(population, rel=0.001)
        assert np.average(one.salary, weights=one.w) == pytest.approx(np.average(file.salary, weights=file.w), rel=0.03)


@pytest.mark.parametrize("law", ["any", "normal"])
def test_a_population_that_weights_cannot_add_up_to_costs_nothing(law: str, tmp_path: Path) -> None:
    data = Confidential.from_frame(people(80), schema())
    ledger = Ledger.open(tmp_path / "people.ledger", cap=Loss("8"), neighbours=PERSON)
    with pytest.raises(UsageError, match=r"population: 80 records .* do not add up to 79; correct it"):
        ledger.release(plan("8", population=79, law=law), data, label="people")
    assert ledger.spent(PERSON, data) == Loss("0")


def test_cells_of_any_law_have_the_totals_that_were_measured() -> None:
    """The model hardly knows what a cell adds up to; what was measured of it does."""
    frame = people(3000)
    few_hours = (frame["field"] == "arts") & (frame["gender"] == "F")
    frame.loc[few_hours, "hours"] = (5 + frame.loc[few_hours, "hours"] / 10).round(1)
    made = plan("40", columns=["hours"], law="any", sets=1).rehearse(frame, schema(), seed=4)
    file = made.implicates.frames[0].to_pandas()
    totals = [(one["w"] * one["hours"]).groupby([one["field"], one["gender"]]).sum() for one in (frame, file)]
    assert np.allclose(totals[0], totals[1], rtol=0.05)


def test_where_cells_are_large_files_have_what_was_measured_of_them_though_a_law_has_it_wrong() -> None:
    """Logarithms of salaries are skewed in one cell, which a normal law with one spread for all misses by a quarter."""
    frame = people(6000)
    odd = (frame["field"] == "maths").to_numpy()
    rest = np.random.default_rng(5).exponential(1.0, odd.sum())
    frame.loc[odd, "salary"] = np.rint(20_000 * np.exp(np.minimum(rest, 3.5))).astype(int)
    one = plan("40", by=["field"], sets=1)
    made = one.rehearse(frame, schema(), seed=4)
    assert made.released.totals is not None
    file = made.implicates.frames[0].to_pandas()
    means = [(each["w"] * each["salary"]).groupby(each["field"]).sum() for each in (frame, file)]
    assert np.allclose(means[0], means[1], rtol=0.05)
    assert one.restore(made.to_bytes()).sample(1, seed=9).frames[0] == made.sample(1, seed=9).frames[0]
    assert plan("40", by=["field"], weights="smoothed").rehearse(frame, schema(), seed=4).released.totals is None
    assert plan("40").rehearse(people(1000), schema(), seed=4).released.totals is None, "too few records in a cell"


def test_an_outcome_within_narrow_bounds_has_its_range_drawn_where_records_are_enough() -> None:
    """Or else noise would be as wide as the bounds, however alike the records are."""
    about, collected = schema(salary={"lower": 30_000, "upper": 200_000}), people(5_000)
    collected["salary"] = np.rint(70_000 * np.exp(np.random.default_rng(2).normal(0, 0.02, 5_000))).astype(int)
    wide = {rows: plan("2", sets=1).rehearse(collected.head(rows), about, seed=1).released for rows in (60, 5_000)}
    assert [one.located for one in wide.values()] == [1, 2]  # the weight's range is drawn
    assert wide[60].ranges[0].high == pytest.approx(np.log(200_000))
    assert wide[5_000].ranges[0].half < 0.2


def test_narrow_public_bounds_are_the_range_and_cost_nothing() -> None:
    """Weights of strata are a few values, between which a drawn range may end."""
    about, one = schema(w={"lower": 20, "upper": 100}), plan("4")
    collected = people().assign(w=lambda each: np.where(each["field"] == "arts", 90.0, 25.0))
    for seed in range(6):
        made = one.rehearse(collected, about, seed=seed)
        assert made.released.located == 1
        assert made.released.ranges[-1].low == pytest.approx(np.log(20))
        assert made.released.ranges[-1].high == pytest.approx(np.log(100))
        total = np.mean([file["w"].sum() for file in made.implicates])
        assert total == pytest.approx(collected["w"].sum(), rel=0.1)


def test_the_forecast_says_from_how_many_records_on_margins_know_what_the_law_has_wrong() -> None:
    told = str(plan("4").forecast(schema()))
    assert re.search(r"from (799|80\d) records on, and 400 for each cell", told)
    assert "margins may be too narrow" in told
