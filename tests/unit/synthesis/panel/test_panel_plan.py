"""The plan: its claims, what it refuses, and the rules that hold in every synthetic record."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from support.panels import COUNTIES, YEARS, long_plan, long_schema, plan, to_long, wide, wide_schema
from tacita.data.confidential import Confidential
from tacita.errors import RefusedError, TacitaError, UsageError
from tacita.implicates import Synthetic
from tacita.ledger import Ledger
from tacita.noise.entropy import SeededEntropy
from tacita.plan import Plan
from tacita.privacy import AddRemoveOne, Loss
from tacita.release.settings import plan_from_record
from tacita.synthesis.panel import (
    CategoryTree,
    CollapsingMultinomial,
    DirichletMultinomial,
    LifeTable,
    LogitRegression,
    LogRegression,
    NormalRegression,
    NumberTree,
    PanelSynthesis,
    PlainPanelSynthesis,
    QuantileRegression,
)

ALTERNATIVES: dict[str, dict[str, Any]] = {
    "default": {},
    "trees": {
        "gone": CategoryTree(("born", "county")),
        "kind": CategoryTree(("life",)),
        "jobs": NumberTree(("jobs before", "kind", "age")),
        "pay": NumberTree(("jobs", "pay before")),
    },
    "regressions": {
        "kind": LogitRegression(("life", "born", "industry")),
        "jobs": QuantileRegression(("jobs before", "age"), relative_to="jobs before", planes=9, most=300),
        "pay": NormalRegression(("jobs", "pay before"), proper=True),
    },
}


def files_of(given: PlainPanelSynthesis, frame: pd.DataFrame, schema: Any, seed: int = 1) -> list[pd.DataFrame]:
    return list(given.rehearse(frame, schema, seed=seed).implicates)


def check_wide(made: pd.DataFrame, frame: pd.DataFrame) -> None:
    """No impossible record."""
    assert len(made) == len(frame)
    assert "firm" not in made.columns
    for names in (["county"], ["industry"], ["county", "industry"]):
        assert made.groupby(names).size().to_dict() == frame.groupby(names).size().to_dict()
    assert made.born.between(1999, 2006).all()
    assert made.gone.between(2000, 2006).all()
    assert (made.gone >= made.born).all()
    assert made.kind.isin(["single", "switched", "multi"]).all()
    switched = made.kind == "switched"
    assert (made.switched.notna() == switched).all()
    assert (made.switched[switched] > np.maximum(made.born, 2000)[switched]).all()
    assert (made.switched[switched] <= made.gone[switched]).all()
    for year in YEARS:
        alive = (made.born <= year) & (made.gone >= year)
        jobs, pay = made[f"jobs{year}"], made[f"pay{year}"]
        assert (jobs.notna() == alive).all()
        assert (pay.notna() == alive).all()
        assert jobs[alive].between(0, 5000).all()
        assert (jobs[alive] % 1 == 0).all()
        assert (pay[alive] >= 5 * jobs[alive] - 1e-6).all()
        assert (pay[alive] <= 80 * jobs[alive] + 1e-6).all()  # so nobody employed means nobody paid


# ---------------------------------------------------------------- claims


def test_claims_come_before_data() -> None:
    given = plan()
    assert isinstance(given, Plan)
    assert given.guarantee.holds == "never"
    assert str(given.guarantee) == "no guarantee"
    forecast = given.forecast(wide_schema())
    assert any("no guarantee" in line for line in forecast.sentences)
    columns = given.reads(wide_schema())
    assert set(columns) >= {"firm", "county", "industry", "born", "gone", "kind", "switched", "jobs2000", "pay2006"}


def test_the_ledger_refuses_it(tmp_path: Path) -> None:
    ledger = Ledger.open(tmp_path / "a.ledger", cap=Loss("1"), neighbours=AddRemoveOne("firm"))
    with pytest.raises(RefusedError, match="no guarantee"):
        ledger.release(plan(), Confidential.from_frame(wide(60), wide_schema()), label="panel")


@pytest.mark.parametrize("name", ALTERNATIVES)
def test_a_plan_is_what_it_describes(name: str) -> None:
    given = plan(models=ALTERNATIVES[name])
    record = json.loads(json.dumps(given.describe()))
    assert record == given.describe()
    assert record.pop("mechanism") == "PlainPanelSynthesis"
    again = PlainPanelSynthesis(**record)
    assert again == given
    assert hash(again) == hash(given)
    assert again.describe() == given.describe()
    with pytest.raises(AttributeError):
        given.sets = 3  # type: ignore[misc]


def test_scripts_and_descriptions_from_before_there_were_two_plans_still_work() -> None:
    settings: dict[str, Any] = {"keep": ["county"], "years": (2000, 2001), "yearly": {"jobs": "jobs{year}"}}
    with pytest.warns(DeprecationWarning, match="now") as said:
        plain, formal = (PanelSynthesis("firm", **settings, epsilon=epsilon) for epsilon in (None, "4"))
    told = " ".join(str(one.message) for one in said)
    for words in (
        "yearly is called columns",
        "the unit has a name",
        "without epsilon it is called PlainPanelSynthesis",
    ):
        assert words in told
    assert {one.filename for one in said} == {__file__}
    now = {"columns": {"jobs": "jobs{year}"}, "unit": "firm", "keep": ["county"], "years": (2000, 2001)}
    assert (plain, formal) == (PlainPanelSynthesis(**now), PanelSynthesis(epsilon="4", **now))
    for one in (plain, formal):
        (record,) = one.former_descriptions()
        assert record["mechanism"] == "PanelSynthesis"
        assert record["epsilon"] == (None if one is plain else "4")
        assert record["yearly"] == [["jobs", "jobs{year}"]]
        assert plan_from_record(record) == one  # without a word: nobody wrote it


def test_the_models_of_the_paper_stand_where_nothing_is_said() -> None:
    models = plan().sequence(plan().layout(wide_schema()))
    assert models["born"] == DirichletMultinomial(("county", "industry"), ("state", "industry"))
    assert models["gone"] == LifeTable(("born", "industry"))
    assert models["kind"] == CollapsingMultinomial(("life", "born", "industry", "state"))
    jobs, pay = models["jobs"], models["pay"]
    assert isinstance(jobs, NormalRegression)
    assert isinstance(pay, LogRegression)  # which keeps regressions on the size
    assert jobs.relative_to == "jobs before"
    assert {"jobs", "jobs before", "pay before"} <= set(pay.given)
    assert {"jobs before", "pay before", "kind", "life", "age", "industry"} <= set(jobs.given)


# ---------------------------------------------------------------- files


@pytest.mark.parametrize("name", ALTERNATIVES)
def test_no_record_is_impossible(name: str) -> None:
    frame = wide(600)
    frame.loc[frame.sample(frac=0.1, random_state=1).index, ["jobs2003", "kind"]] = [np.nan, None]
    for made in files_of(plan(models=ALTERNATIVES[name]), frame, wide_schema()):
        check_wide(made, frame)


def test_a_group_of_very_few_units_works() -> None:
    frame = pd.concat([wide(60), wide(60, seed=2).head(1).assign(firm=1, industry="222", county="0202")])
    frame = frame[(frame.industry != "222") | (frame.firm == 1)]
    for made in files_of(plan(group="industry"), frame, wide_schema()):
        check_wide(made, frame)


def test_files_follow_the_data_and_differ_from_each_other() -> None:
    frame = wide(4000)
    one, two = files_of(plan(), frame, wide_schema())
    assert (one.jobs2003.fillna(-1) != two.jobs2003.fillna(-1)).mean() > 0.3
    for made in (one, two):
        assert abs((made.kind == "multi").mean() - (frame.kind == "multi").mean()) < 0.025
        assert abs((made.born == 1999).mean() - (frame.born == 1999).mean()) < 0.03
        assert made.jobs2003.sum() == pytest.approx(frame.jobs2003.sum(), rel=0.1)
        seen = made[["jobs2003", "jobs2004"]].dropna()
        truth = frame[["jobs2003", "jobs2004"]].dropna()
        assert np.corrcoef(seen.T)[0, 1] == pytest.approx(np.corrcoef(truth.T)[0, 1], abs=0.04)


def test_a_long_file_gives_long_files_with_numbers_of_their_own() -> None:
    frame = to_long(wide(300))
    given = long_plan(group="sector")
    for made in files_of(given, frame, long_schema()):
        assert not set(made.firm) & set(frame.firm)
        assert not made.duplicated(["firm", "year"]).any()
        assert (
            made.groupby("firm").size()
            == (made.groupby("firm").gone.max() - np.maximum(made.groupby("firm").born.min(), 2000) + 1)
        ).all()
        assert (made.groupby("firm")[["county", "industry", "born", "gone", "kind"]].nunique() == 1).all().all()
        assert made.year.between(made.born, made.gone).all()
        assert made.firm.nunique() == frame.firm.nunique()


def test_the_order_of_the_file_says_nothing() -> None:
    frame = wide(300)
    shuffled = frame.sample(frac=1, random_state=3)
    for one, two in zip(files_of(plan(), frame, wide_schema()), files_of(plan(), shuffled, wide_schema()), strict=True):
        pd.testing.assert_frame_equal(one, two)


def test_the_result_comes_back_and_the_seed_decides() -> None:
    frame = wide(200)
    result = plan().rehearse(frame, wide_schema(), seed=3)
    assert isinstance(result, Synthetic)
    assert result.rehearsal
    assert result.implicates.kind == "partial"
    assert set(result.implicates.synthesized) == set(result.implicates.columns) - {"county", "industry"}
    back = plan().restore(result.to_bytes())
    assert all(one.equals(two) for one, two in zip(back.released, result.released, strict=True))
    assert back.to_bytes() == result.to_bytes()
    assert plan().rehearse(frame, wide_schema(), seed=3).to_bytes() == result.to_bytes()
    assert plan().rehearse(frame, wide_schema(), seed=4).to_bytes() != result.to_bytes()
    assert result.seed == plan().rehearse(frame, wide_schema(), seed=4).seed  # not that of the draws, which is secret
    assert result.sample(m=1).m == 1
    with pytest.raises(UsageError, match="seed: the files were drawn when"):
        result.sample(seed=5)
    with pytest.raises(UsageError, match="2 files were drawn"):
        result.sample(m=3)


def test_a_file_does_not_depend_on_how_many_others_are_drawn() -> None:
    frame = wide(200)
    two, three = (plan(sets=sets).rehearse(frame, wide_schema(), seed=3) for sets in (2, 3))
    assert two.released[1].equals(three.released[1])


# ---------------------------------------------------------------- refusals


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"epsilon": "0"}, "epsilon: must be above 0"),
        ({"years": (2006, 2000)}, "years"),
        ({"keep": []}, "coarser.state: give a column of keep"),
        ({"keep": "county"}, "keep: give a list"),
        ({"columns": {}}, "columns"),
        ({"sets": 0}, "sets"),
        ({"last": None}, "first, last"),
        ({"group": "kind"}, "group: kind is neither"),
        ({"coarser": {"state": ("born", 2)}}, "coarser.state"),
        ({"change": {"switched": ("size", ("x",))}}, "change.switched: size is not in static"),
        ({"ratios": {"jobs": ("pay", 0, 1)}}, "ratios.jobs"),
        ({"models": {"jobs": "magic"}}, "models.jobs: give one of"),
        ({"models": {"jobs": {"model": "NumberTree", "given": ["age"], "depth": 3}}}, "a setting is not one of"),
        ({"unit": "county"}, "unit: county must be an id"),
        ({"keep": ["county", "industry", "kind"]}, "keep: kind has role confidential"),
        ({"columns": {"jobs": "jobs2000"}, "ratios": {}}, "columns.jobs: a wide file"),
        ({"columns": {"jobs": "staff{year}"}, "ratios": {}}, "staff2000: no such variable"),
        ({"change": {"switched": ("kind", ("moved",))}}, '"moved" is not a level of kind'),
        ({"models": {"size": NumberTree(("age",))}}, "models: size is not drawn"),
        ({"models": {"jobs": CategoryTree(("age",))}}, "CategoryTree is no model of a number"),
        ({"models": {"gone": LifeTable(("industry", "born"))}}, "LifeTable is for gone, with born first"),
        ({"models": {"kind": LifeTable(("born",))}}, "models.kind: LifeTable is for gone"),
        ({"models": {"jobs": NumberTree(("pay",))}}, "is given pay, which is not known then"),
        ({"models": {"born": DirichletMultinomial(("gone",))}}, "is given gone, which is not known then"),
        ({"period": "born"}, "columns.jobs: a long file"),
    ],
)
def test_what_cannot_be_is_refused_with_its_name(change: dict[str, Any], said: str) -> None:
    with pytest.raises(TacitaError) as refused:
        plan(**change).reads(wide_schema())
    assert said in str(refused.value)


def test_levels_of_public_columns_have_one_strict_rule() -> None:
    loose = wide_schema().to_dict()
    loose["variables"]["county"]["outside"] = COUNTIES[0]
    with pytest.raises(UsageError, match="keep: county has a rule for values"):
        plan().reads(type(wide_schema()).from_dict(loose))


def test_entropy_is_asked_for_one_seed_only() -> None:
    class Counting(SeededEntropy):
        asked = 0

        def words(self, count: int) -> Any:
            self.asked += count
            return super().words(count)

    entropy = Counting(1)
    plan(sets=4).run(Confidential.from_frame(wide(100), wide_schema()), entropy)
    assert entropy.asked == 2


@pytest.mark.parametrize("epsilon", [None, "8"])
def test_a_panel_needs_no_public_column(epsilon: str | None) -> None:
    given = plan(keep=[], coarser={}, sets=1, epsilon=epsilon)
    frame = wide(200)
    model = given.rehearse(frame, wide_schema(), seed=2)
    (made,) = given.restore(model.to_bytes()).implicates
    assert len(made) == len(frame)
    assert not {"county", "industry"} & set(made.columns)
    assert "as collected" not in str(given.forecast(wide_schema()))
    assert not any("public" in one for one in given.guarantee.assumes)
