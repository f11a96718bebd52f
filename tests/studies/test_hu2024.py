"""The hu2024 study: population and samples have the printed facts, scores are right, the folder has the agreed form."""

import os
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from tacita.errors import UsageError
from tacita.inference import PartialSynthesis, combine_estimates, survey
from tacita.privacy import text
from tacita_studies import hu2024
from tacita_studies.harness.replicates import silent
from tacita_studies.harness.study import Settings
from tacita_studies.hu2024 import methods
from tacita_studies.hu2024.answers import Answer, from_files, from_sample, score
from tacita_studies.hu2024.measure import MeasuredCase, RepeatedSamples, first_bounds, measure
from tacita_studies.hu2024.population import (
    CASES,
    SALARY_BOUNDS,
    SAMPLE_SIZE,
    WEIGHT_BOUNDS,
    allocation,
    doctorates,
    draw,
    population,
)
from tacita_studies.hu2024.printed import (
    ALL,
    APPLIED,
    BY_FIELD,
    CELLS,
    FIELDS,
    GENDERS,
    INTERIOR,
    LENGTH_RATIO,
    REPEATED,
    STATISTICS,
    UNWEIGHTED,
)
from tacita_studies.hu2024.real import FILES, real_rows
from tacita_studies.hu2024.rows import AS_PRINTED, BARS, COVERED, LENGTHS, SUMMARY, summary_rows

DATA = Path(os.environ.get("TACITA_DATA", Path(__file__).parents[3] / "shared" / "data"))
ONLY = ("survey-10.8", "fbs-1.8", "fbp-1.8", "laplace-paper-10.8")


# ---------------------------------------------------------------- the printed tables


def test_printed_counts_add_up_and_lengths_relate_as_the_captions_say() -> None:
    for statistic, lines in REPEATED.items():
        for field in FIELDS:
            both, men, women = (lines[field, gender].population for gender in (ALL, *GENDERS))
            if statistic == "count":
                assert men + women == both
            else:
                counts = [REPEATED["count"][field, gender].population for gender in GENDERS]
                assert np.average([men, women], weights=counts) == pytest.approx(both, abs=1)
        ratio = np.mean([one.length["FBP"] / one.length["FBS"] for one in lines.values()])
        assert round(ratio, 2) == LENGTH_RATIO[1.8, 3][statistic]
    assert sum(REPEATED["count"][cell].population for cell in INTERIOR) == 100_000


def test_tables_2_and_3_add_up_for_the_methods_that_add_up() -> None:
    table = APPLIED["count"]
    for method in ("Sample", "FBS", "FBP"):
        for field in (ALL, *FIELDS):
            men, women = (table[field, gender].estimate[method] for gender in GENDERS)
            assert men + women == pytest.approx(table[field, ALL].estimate[method], abs=2), (method, field)
    broken = [
        field
        for field in FIELDS
        if abs(sum(table[field, one].estimate["Laplace"] for one in GENDERS) - table[field, ALL].estimate["Laplace"])
        > 2
    ]
    assert len(broken) == len(FIELDS)


# ---------------------------------------------------------------- the population and its samples


def test_the_population_has_the_printed_counts_and_means() -> None:
    for statistic in STATISTICS:
        found = population().truth(statistic)
        for cell in BY_FIELD:
            assert found[CELLS.index(cell)] == pytest.approx(REPEATED[statistic][cell].population, rel=1e-5)


def test_salaries_are_log_normal_with_scale_0_4() -> None:
    frame = population().frame
    spread = np.log(frame["salary"]).groupby([frame["field"], frame["gender"]]).std()
    assert spread.between(0.37, 0.43).all()


def test_salary_and_weight_correlate_as_printed() -> None:
    assert population().correlation == pytest.approx(-0.57, abs=0.015)
    assert population("nearly non-informative").correlation == pytest.approx(0.09, abs=0.002)
    found = [draw("informative", seed)[["salary", "weight"]].corr().iloc[0, 1] for seed in range(10)]
    assert np.mean(found) == pytest.approx(-0.58, abs=0.02)


@pytest.mark.parametrize("case", CASES)
def test_samples_are_stratified_within_the_public_bounds_and_unbiased(case: Any) -> None:
    samples = [draw(case, seed) for seed in range(40)]
    persons = population(case).frame.groupby("field").size()
    for one in samples:
        assert len(one) == SAMPLE_SIZE
        assert (one.groupby("field").size() - persons / 100).abs().max() < 1
        assert one["salary"].between(*SALARY_BOUNDS).all()
        assert one["weight"].between(*WEIGHT_BOUNDS).all()
    totals = np.array([one.groupby("field")["weight"].sum().to_numpy() for one in samples])
    error = totals.std(axis=0, ddof=1) / np.sqrt(len(samples))
    assert (np.abs(totals.mean(axis=0) - persons.to_numpy()) < 4 * error).all()
    assert samples[0].equals(draw(case, 0))
    assert not samples[0].equals(samples[1])


def test_systematic_drawing_fixes_how_many_of_each_gender() -> None:
    """What Table 4 shows: see `sampling`."""
    spread = {}
    for case in ("informative", "with replacement"):
        men = [(draw(case, seed).query("field == '1'")["gender"] == "male").sum() for seed in range(30)]
        spread[case] = np.std(men)
    assert spread["informative"] < 1
    assert spread["with replacement"] > 5


def test_allocation_gives_everything_away() -> None:
    random = np.random.default_rng(1)
    for _ in range(20):
        persons = random.integers(1, 1000, size=7)
        found = allocation(persons, 100)
        assert found.sum() == 100
        assert np.abs(found - 100 * persons / persons.sum()).max() < 1


# ---------------------------------------------------------------- answers and scores


def test_answers_of_the_sample_are_those_of_the_survey_estimators() -> None:
    frame, about = draw("informative", 3), doctorates()
    found = from_sample(frame, about)
    design = survey.Design(weights="weight", strata="field")
    mean = survey.mean(frame, "salary", design, by=("field", "gender"))
    count = survey.total(frame, None, design, by="gender")
    for at, name in enumerate(mean.names):
        field, gender = (part.split("=")[1] for part in name.split(", "))
        place = CELLS.index((field, gender))
        assert found["mean"].estimate[place] == pytest.approx(mean.value[at])
        assert found["mean"].error[place] == pytest.approx(mean.standard_error[at])
    for at, name in enumerate(count.names):
        place = CELLS.index((ALL, name.split("=")[1]))
        assert found["count"].estimate[place] == pytest.approx(count.value[at])


def test_answers_of_files_follow_the_rule_of_partial_synthesis() -> None:
    frame, about = draw("informative", 3), doctorates()
    files = methods.Pseudo.at("FBS", "1.8").plan(about).rehearse(frame, about.schema, seed=1).implicates
    found = from_files(files, about, 3)
    design = survey.Design(weights="weight", strata="field")
    estimates = [survey.mean(one, "salary", design, by="gender") for one in list(files)[:3]]
    expected = combine_estimates(estimates, PartialSynthesis())
    for at, name in enumerate(expected.names):
        place = CELLS.index((ALL, name.split("=")[1]))
        assert found["mean"].estimate[place] == pytest.approx(expected.value[at])
        assert found["mean"].lower[place] == pytest.approx(expected.interval()[0][at])
    one = from_files(files, about, 1)
    assert one["mean"].estimate == pytest.approx(from_sample(next(iter(files)), about)["mean"].estimate)


def test_counts_of_synthetic_files_add_up() -> None:
    frame, about = draw("informative", 5), doctorates()
    for method in methods.everybody(("survey-10.8", "fbs-1.8", "fbp-1.8")):
        for answers in method.make(frame, about, 1).answers.values():
            count = dict(zip(CELLS, answers["count"].estimate, strict=True))
            for field in (ALL, *FIELDS):
                assert count[field, "male"] + count[field, "female"] == pytest.approx(count[field, ALL], rel=1e-12)


def test_scores_count_errors_and_coverage() -> None:
    truth = np.array([10.0, 20.0])
    answers = [
        Answer(truth + shift, np.array([1.0, 2.0]), truth + shift - 2, truth + shift + 2) for shift in (-1.0, 1.0, 3.0)
    ]
    found = score(answers, truth)
    assert found.rmse == pytest.approx([np.sqrt(11 / 3)] * 2)
    assert found.first_rmse == pytest.approx([np.sqrt(2), np.sqrt(5)])
    assert found.coverage == pytest.approx([2 / 3] * 2)
    assert found.length == pytest.approx([4.0] * 2)
    assert found.cv[1] == pytest.approx(2 / 21)
    assert found.bias == pytest.approx([1.0] * 2)


# ---------------------------------------------------------------- methods


def test_every_method_says_what_it_promises() -> None:
    about = doctorates()
    said = {entry: one.guarantee(entry, about) for one in methods.everybody() for entry in one.entries(about)}
    for entry, words in said.items():
        if entry.mode == "always":
            assert words.startswith(f"ε = {entry.epsilon} under one person's record replaced:")
        elif entry.mode == "asymptotic":
            # Named by the paper's 2Δm; what is promised is about a replaced record and costs twice that.
            promised = text(2 * Fraction(entry.epsilon or 0))
            assert words.startswith(f"ε = {promised} under one person's record replaced (asymptotically)")
            assert float(entry.epsilon or 0) == pytest.approx(2 * (entry.bound or 0) * (entry.sets or 0))
        else:
            assert words.startswith("none")
    assert {entry.epsilon for entry in said if entry.method == "FBS"} == {"3.6", "10.8", "18", "6.8", "20.4", "34"}
    files = [one.file for one in methods.everybody()]
    assert len(set(files)) == len(files)


def test_record_bounds_are_as_in_figure_3() -> None:
    """The largest bound before weighting differs from sample to sample; ours lie around the printed one."""
    largest = []
    for seed in range(4):
        found = first_bounds(methods.everybody(("fbs-1.8", "fbp-1.8")), seed)
        assert [one.arm for one in found] == ["FBS", "FBP"]
        for one in found:
            assert 0.9 * 1.8 <= one.after.max() <= 1.8
            assert len(one.before) == SAMPLE_SIZE
        largest.append([one.before.max() / UNWEIGHTED[one.arm] for one in found])
    assert np.mean(largest, axis=0) == pytest.approx([1.0, 1.0], abs=0.12)


def test_the_same_seed_gives_the_same_answers() -> None:
    experiment = RepeatedSamples("informative", methods.everybody(("fbs-1.8", "laplace-paper-10.8")), seed=7)
    first, second = experiment(1), experiment(1)
    assert set(first) == {"sample", "fbs-1.8", "laplace-paper-10.8"}
    for file, outcome in first.items():
        for entry, answers in outcome.scores.items():
            for statistic in STATISTICS:
                assert (answers[statistic].estimate == second[file].scores[entry][statistic].estimate).all()


# ---------------------------------------------------------------- the folder


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("study") / "hu"
    hu2024.run(out, replicates=1, only=ONLY, keep_data=True, seed=4)
    return out


@pytest.mark.usefixtures("rows_of_the_agreed_form")
def test_results_have_the_agreed_form(document: dict[str, Any]) -> None:
    assert document["study"] == "hu2024"
    assert {row["table"] for row in document["rows"]} >= {"Table 4", "Table 5", SUMMARY, "Section 4.1", "Time"}
    assert {row["case"] for row in document["rows"] if row["table"] == SUMMARY} == set(CASES)


def test_printed_coverage_and_length_stand_beside_ours(document: dict[str, Any]) -> None:
    beside = [row for row in document["rows"] if row["method"] in ("FBS", "FBP") and row.get("cell") is not None]
    for statistic, table in (("count", "Table 4"), ("mean", "Table 5")):
        for arm in ("FBS", "FBP"):
            here = [
                row for row in beside if row["method"] == arm and row["table"] == table and row["paper"] is not None
            ]
            coverage = [row["paper"] for row in here if row["metric"] == "coverage"]
            assert coverage == [REPEATED[statistic][cell].coverage[arm] for cell in BY_FIELD]
            assert len(here) == 48


def test_kept_files_of_the_first_sample(folder: Path) -> None:
    for case in CASES:
        kept = folder / case.replace(" ", "-") / "replicate-000"
        assert pd.read_parquet(kept / "sample.parquet").equals(draw(case, 4))
        names = {path.stem for path in kept.glob("synthetic-*.parquet")}
        assert {"synthetic-fbs-1.8-01", "synthetic-fbp-1.8-05", "synthetic-survey-10.8-01"} <= names
    frame = pd.read_parquet(folder / "informative" / "replicate-000" / "synthetic-fbs-1.8-01.parquet")
    assert set(frame.columns) == {"field", "gender", "salary", "weight"}
    assert frame["weight"].sum() == pytest.approx(100_000, rel=1e-3)


def test_the_page_stands_alone(folder: Path) -> None:
    page = (folder / "report.html").read_text(encoding="utf-8")
    assert page.count("<svg") == 5
    for outside in ("http://", "https://", "<script"):
        assert outside not in page
    for words in ("Nearly non-informative samples", "Tables 4 and 5 beside ours", "Asymptotic means", "no independent"):
        assert words in page
    assert "None" not in page
    assert ">nan<" not in page


def test_wrong_settings_are_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="replicates"):
        hu2024.run(tmp_path / "a", replicates=0)
    with pytest.raises(UsageError, match="data: there is no such folder"):
        hu2024.run(tmp_path / "a", data=tmp_path / "nowhere")
    assert not (tmp_path / "a").exists()


# ---------------------------------------------------------------- the bars


def test_a_bar_knows_its_limits() -> None:
    (lengths,) = [
        bar for bar in BARS if (bar.method, bar.metric) == ("FBS", LENGTHS) and bar.where["statistic"] == "mean"
    ]
    assert lengths.limit == "at least 0.85 and at most 1.15"
    assert not lengths.met(0.8)
    assert all(bar.met(22) for bar in BARS if bar.metric == COVERED)
    assert len(BARS) == 18


# Printed intervals for the means of FBP cover less often than ours of the same length; why is not known.
OUT_OF_REACH = ("FBP", "mean", AS_PRINTED)


def measured_summaries(
    only: tuple[str, ...], replicates: int
) -> tuple[MeasuredCase, dict[tuple[str, str, str, Any, Any], float]]:
    found = measure("informative", methods.everybody(only), Settings(replicates, 2024))
    rows = {
        (row.method, row.where["statistic"], row.metric, row.where["epsilon"], row.where["sets"]): row.ours or 0.0
        for row in summary_rows(found)
        if row.table == SUMMARY
    }
    return found, rows


def test_fbs_intervals_are_as_long_as_printed_on_a_few_samples() -> None:
    """A reduced form of the slow test below."""
    _, rows = measured_summaries(("fbs-1.8", "fbp-1.8"), 4)
    for arm in ("FBS", "FBP"):
        for statistic in STATISTICS:
            assert 0.85 <= rows[arm, statistic, LENGTHS, "10.8", 3] <= 1.15


@pytest.mark.slow
def test_bars_over_100_samples() -> None:
    entrants = methods.everybody(("survey-3.6", "survey-10.8", "fbs-1.8", "fbp-1.8"))
    found = measure("informative", entrants, Settings(100, 2024, workers=2))
    rows = list(summary_rows(found))
    for bar in BARS:
        row = bar.row(rows)
        assert row is not None, bar
        value = row.ours or 0.0
        if (bar.method, bar.where["statistic"], bar.metric) == OUT_OF_REACH:
            assert value < 20
            coverage = found.scores[
                next(one for one in found.entries if one.arm == "FBP" and one.sets == 3), "mean"
            ].coverage
            assert coverage[[CELLS.index(cell) for cell in BY_FIELD]].mean() > 0.9
        else:
            assert bar.met(value), (bar, value)


@pytest.mark.slow
def test_the_default_stays_near_the_sample_in_every_case() -> None:
    for case in CASES:
        found = measure(case, methods.everybody(("survey-10.8",)), Settings(30, 2024, workers=2))
        for statistic in STATISTICS:
            ratios = found.ratios(next(one for one in found.entries if one.epsilon == "10.8"), statistic)
            assert np.median(ratios) <= 1.15, (case, statistic)
            assert ratios.max() <= 1.8, (case, statistic)


# ---------------------------------------------------------------- real files


@pytest.mark.realdata
@pytest.mark.parametrize("file", FILES, ids=lambda one: f"{one.path.split('/')[1].split('.')[0]}-{one.about.weight}")
def test_real_files_are_described_in_full(file: Any) -> None:
    if not (DATA / file.path).exists():
        pytest.skip(f"{file.path} is not in the data folder; set TACITA_DATA")
    frame, about = file.read(DATA), file.about
    for name, levels in about.levels.items():
        assert set(frame[name]) == set(levels), name
    for name, (lower, upper) in about.bounds.items():
        assert frame[name].between(lower, upper).mean() > 0.99, name
    assert frame[about.weight].between(*about.bounds[about.weight]).all()


@pytest.mark.realdata
def test_schools_are_compared_with_their_population() -> None:
    (api,) = [one for one in FILES if "apistrat" in one.path]
    if not (DATA / api.path).exists():
        pytest.skip(f"{api.path} is not in the data folder; set TACITA_DATA")
    rows = list(real_rows(DATA, 1, silent, methods.in_short(("fbs-1.8",)), [api]))
    sample = {row.metric: row.ours for row in rows if row.method == methods.SAMPLE.method}
    assert sample["counts: distance, median"] == 0
    assert sample["means: standard error over the file's, median"] == 1
    assert (sample["means: cells covered, of 12"] or 0) >= 10
