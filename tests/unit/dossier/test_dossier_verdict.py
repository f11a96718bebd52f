"""One verdict per product, and what it rests on: weighted estimates, trends, limits."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from support.bundles import PEOPLE, people, published, released, ruled, spec, table
from support.command_line import Call
from support.dossier import original, request
from support.specifications import key, levels, microdata, number, schema, section
from tacita.dossier.findings import Findings, _of_files, verdicts
from tacita.dossier.pictures import bins, has_long_tails
from tacita.dossier.request import request_of
from tacita.dossier.run import evaluate
from tacita.dossier.tables import TableCheck, check_tables
from tacita.errors import SpecError
from tacita.evaluation import compare
from tacita.release.evaluation_spec import EvaluationSpec, LimitsSpec, PanelSpec
from tacita.release.spec import Spec

TRUTH = ruled(people()).groupby(["tract", "sex"])["hours"].mean().to_numpy()


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Any:
    asked = table("hours", statistic="mean", of="hours", by=["tract", "sex"], epsilon="100")
    return released(tmp_path_factory.mktemp("people"), PEOPLE, people(), spec(asked))


def _check(bundle: Any, values: Any, margin: Any = 1.0) -> TableCheck:
    published(bundle[0], "hours", values, np.broadcast_to(margin, 8))
    (check,), _ = check_tables(*bundle)
    return check


def _verdict(*checks: TableCheck, **limits: float) -> tuple[str, str]:
    findings = Findings("t", "m", "v", 0, (), (), None, None, (), (), (), checks, ())
    (one,) = verdicts(findings, LimitsSpec(**limits))
    return one.grade, one.why


def test_a_table_near_the_truth_is_fit_and_one_far_from_it_unfit(bundle: Any) -> None:
    assert _verdict(_check(bundle, TRUTH))[0] == "fit"
    grade, why = _verdict(_check(bundle, 3 * TRUTH))
    assert grade == "unfit"
    assert "0% of 8 cells lie within their margin, 95% promised" in why


def test_a_limit_makes_care_and_twice_the_limit_unfit(bundle: Any) -> None:
    check = replace(_check(bundle, TRUTH), off=0.3)
    assert _verdict(check)[0] == "fit with care"
    assert "cells that hold 30% of the records are off by more than 20%" in _verdict(check)[1].lower()
    assert _verdict(check, cells_off=0.5)[0] == "fit"
    assert _verdict(check, cells_off=0.1)[0] == "unfit"


def test_few_cells_outside_their_margin_are_left_to_chance(bundle: Any) -> None:
    check = _check(bundle, TRUTH)
    assert _verdict(replace(check, coverage=0.5, margins=2))[0] == "fit"
    assert _verdict(replace(check, coverage=0.8, margins=500))[0] == "fit with care"
    assert _verdict(replace(check, coverage=0.5, margins=500))[0] == "unfit"


def test_a_table_without_a_value_or_without_a_margin_is_unfit(bundle: Any) -> None:
    assert _verdict(_check(bundle, np.full(8, np.nan))) == ("unfit", "No cell has a published value.")
    assert _verdict(replace(_check(bundle, TRUTH), withheld=8)) == (
        "fit with care",
        "No cell has a value that could be compared.",
    )
    grade, why = _verdict(_check(bundle, TRUTH, margin=np.full(8, np.nan)))
    assert (grade, why) == ("unfit", "No cell has a margin.")


def test_records_in_cells_without_a_value_count_against_a_table(bundle: Any) -> None:
    check = _check(bundle, np.where(np.arange(8) < 2, np.nan, TRUTH))
    assert 0.2 < check.empty < 0.3
    grade, why = _verdict(check)
    assert grade == "fit with care"
    assert why.endswith("of the records have no published value.")


def test_margins_that_are_wide_against_the_value_count_against_a_table(bundle: Any) -> None:
    grade, why = _verdict(_check(bundle, TRUTH, margin=0.736 * TRUTH))  # as 769 ± 566
    assert grade == "unfit"
    assert why == "Cells that hold 100% of the records have no margin, or one above 50% of the value."
    assert _verdict(_check(bundle, TRUTH, margin=0.4 * TRUTH))[0] == "fit"
    (check,), _ = check_tables(*bundle, LimitsSpec(margin=0.3))
    assert (check.loose, _verdict(check, margin=0.3)[0]) == (1, "unfit")


def test_the_verdict_stands_first_on_the_page_and_in_the_record(
    paths: dict[str, Path], made: tuple[Findings, Path], tmp_path: Path
) -> None:
    page = (made[1] / "dossier.html").read_text(encoding="utf-8")
    assert page.index("Verdict</h2>") < page.index('class="lead"')
    (good,) = json.loads((made[1] / "dossier.json").read_text())["verdicts"]
    assert good["grade"] == "fit"
    original(seed=4).assign(pay=lambda frame: 3 * frame["pay"]).to_parquet(tmp_path / "s.parquet", index=False)
    (poor,) = evaluate(request(paths, synthetic=(tmp_path / "s.parquet",)), tmp_path / "out").verdicts()
    assert poor.grade == "unfit"
    assert "the mean of pay is" in poor.why.lower()
    lenient = LimitsSpec(mean=1, pairs=1, trend=1)
    assert all(one.grade != "unfit" for one in verdicts(made[0], lenient))


def test_limits_are_read_from_the_specification() -> None:
    assert EvaluationSpec.model_validate({"limits": {"coverage": 0.9}}).limits == LimitsSpec(coverage=0.9)
    text = {"title": "T", "schema": "s.toml", "data": "d.csv", "ledger": "l", "evaluation": {"limits": {"mean": 2}}}
    with pytest.raises(SpecError, match="mean"):
        Spec.parse({**text, "cap": {"neighbours": "strong", "alpha": "0.1", "epsilon": "1"}}, Path("r.toml"))


# ---------------------------------------------------------------- surveys

SURVEY = schema(
    "doctors", "person", field=levels("arts", "law", role="public"), w=number(1, 60, role="weight"), pay=number(0, 900)
) + section("design", weight="w", public=["field"])
FILES = """
[[microdata]]
name = "doctors"
title = "Doctors"
mechanism = "QuantileSynthesis"
epsilon = "8"
columns = ["w", "pay"]
groups = ["field"]
sets = 2
tables = [["field"]]
"""


def doctors() -> pd.DataFrame:
    random = np.random.default_rng(3)
    pay = random.lognormal(4, 0.5, 600).clip(0, 900).round(2)
    weight = np.where(pay > 60, random.uniform(1, 5, 600), random.uniform(30, 50, 600)).round(2)
    return pd.DataFrame({"field": random.choice(["arts", "law"], 600), "w": weight, "pay": pay})


def test_a_survey_bundle_is_scored_by_weighted_estimates(tmp_path: Path) -> None:
    bundle, data = released(tmp_path, SURVEY, doctors(), spec(FILES))
    counts, means = check_tables(bundle, data)[0]
    frame = doctors().assign(wages=lambda one: one["w"] * one["pay"])
    by_field = frame.groupby("field")[["w", "wages"]].sum()
    assert dict(one[:2] for one in counts.worst) == pytest.approx(by_field["w"].to_dict())
    assert dict(one[:2] for one in means.worst) == pytest.approx((by_field["wages"] / by_field["w"]).to_dict())
    assert [one.name for one in means.parts] == ["all"]
    assert counts.product == means.product == "doctors-by-field"

    findings = evaluate(request_of(tmp_path / "release.toml", bundle=bundle), tmp_path / "dossier")
    assert findings.weight == "w"
    weights, pay = findings.estimates()
    assert weights.totals[0] == pytest.approx(frame["w"].sum())
    assert pay.original == pytest.approx(frame["wages"].sum() / frame["w"].sum())
    assert pay.original < 0.9 * frame["pay"].mean()  # the weights matter here
    assert findings.verdicts()[0].title == "Doctors"
    assert len(findings.verdicts()) == 2
    assert "Weighted means and totals" in (tmp_path / "dossier" / "dossier.html").read_text(encoding="utf-8")


# ---------------------------------------------------------------- panels and pictures


def test_wide_panels_show_the_trends_of_long_ones(tmp_path: Path) -> None:
    random = np.random.default_rng(1)
    wide = pd.DataFrame({"firm": range(80)} | {f"emp{year}": random.poisson(3, 80) for year in range(2001, 2005)})
    long = wide.melt("firm", var_name="year", value_name="jobs")
    values = []
    for name, frame, panel in (
        ("wide", wide, {"employment": "emp{year}", "years": [2001, 2004]}),
        ("long", long, {"unit": "firm", "period": "year", "employment": "jobs"}),
    ):
        frame.to_parquet(tmp_path / f"{name}.parquet", index=False)
        other = frame.sample(frac=1, replace=False, random_state=2)
        other.assign(**{column: other[column] * 2 for column in other if column[:3] in ("emp", "job")}).to_parquet(
            tmp_path / f"{name}-synthetic.parquet", index=False
        )
        asked = EvaluationSpec.model_validate({"panel": panel, "known": ()})
        paths = {"original": tmp_path / f"{name}.parquet"}
        given = request(
            paths, "original", schema=None, asked=asked, synthetic=(tmp_path / f"{name}-synthetic.parquet",)
        )
        findings = evaluate(given, tmp_path / name)
        values.append({one.name: one.score.value for one in findings.answers if one.group == "trends"})
        assert "Trends over time</h2>" in (tmp_path / name / "dossier.html").read_text(encoding="utf-8")
    assert values[0] == pytest.approx(values[1])
    assert values[0]["employment trend"] == pytest.approx(1)


@pytest.mark.parametrize("panel", [{"employment": "emp"}, {"employment": "emp", "years": [2001, 2002]}])
def test_a_panel_is_long_or_wide(panel: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="employment"):
        PanelSpec.model_validate(panel)


def test_a_panel_of_the_specification_needs_no_question(tmp_path: Path) -> None:
    files = """
    [[microdata]]
    name = "plants"
    mechanism = "PanelSynthesis"
    epsilon = "1"
    unit = "plant"
    years = [2001, 2004]
    keep = ["sector"]
    columns = { employment = "emp{year}" }
    """
    (tmp_path / "file.schema.toml").write_text(PEOPLE, encoding="utf-8")
    (tmp_path / "release.toml").write_text(spec(files), encoding="utf-8")
    assert request_of(tmp_path / "release.toml").asked.panel == PanelSpec(employment="emp{year}", years=(2001, 2004))


def test_a_long_panel_whose_unit_follows_the_cap_shows_its_trends_too(tmp_path: Path) -> None:
    """The column that tells units apart is the schema's id of the unit, whatever it is called."""
    files = microdata(
        "plants",
        mechanism="PanelSynthesis",
        epsilon="1",
        years=[2001, 2004],
        period="year",
        columns={"employment": "jobs"},
    )
    columns = {"plant_no": key("plant"), "year": number(2001, 2004, role="public"), "jobs": number(0, 900)}
    (tmp_path / "file.schema.toml").write_text(schema("plants", "plant", **columns), encoding="utf-8")
    asked = spec(files, cap='neighbours = "replace"\nunit = "plant"')
    (tmp_path / "release.toml").write_text(asked, encoding="utf-8")
    found = request_of(tmp_path / "release.toml").asked.panel
    assert found == PanelSpec(unit="plant_no", period="year", employment="jobs")


def test_files_that_their_own_page_calls_too_small_are_never_just_fit() -> None:
    findings = Findings("t", "m", "v", 0, (), (), None, None, (), (), (), (), (), unsure=True)
    (measure,) = _of_files(findings, LimitsSpec())
    assert measure.grade == "fit with care"
    assert "trying out code" in measure.said


def test_long_tails_are_drawn_in_widening_steps() -> None:
    random = np.random.default_rng(1)
    wealth = np.where(random.random(4000) < 0.2, 0.0, np.exp(random.normal(8, 2.5, 4000)))
    wealth[:200] *= -1
    assert has_long_tails(wealth)
    assert not has_long_tails(random.normal(0, 1, 4000))
    frame = pd.DataFrame({"wealth": wealth})
    labels, shares = bins(compare(frame, frame).synthetic, "wealth")
    assert shares[0][labels.index("0")] == pytest.approx((wealth == 0).mean())  # a bin of its own
    assert labels[0].startswith("< -")
    assert labels[-1].endswith(" M")
    assert shares[0].max() < 0.25


def test_the_help_names_the_part_of_the_specification(tacita: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "160")
    assert "the keys of [evaluation] as a TOML file" in tacita("evaluate", "--help").out
