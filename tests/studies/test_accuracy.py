"""The accuracy suite on made-up files: its truth is that of the file, its coverage counts misses, refusals are rows."""

import json
import math
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from statistics import NormalDist
from typing import Any

import numpy as np
import pandas as pd
import pytest

from support.accuracy_files import made_up, people
from support.panels import YEARS, plan, wide_schema
from tacita.errors import SpecError
from tacita.inference import OneMeasurement
from tacita.synthesis.pinned.plain import LIKE_AGES, LIKE_INCOMES, LIKE_WEALTH
from tacita_studies.accuracy import command
from tacita_studies.accuracy.answers import Answers, Panel
from tacita_studies.accuracy.foretold_files import between, skewness
from tacita_studies.accuracy.foretold_panels import of_panel
from tacita_studies.accuracy.lines import Line, Summary, error_of, kept, measured, printed
from tacita_studies.accuracy.measure import combined
from tacita_studies.accuracy.page import page
from tacita_studies.accuracy.rows import AccuracyRow
from tacita_studies.accuracy.statistics import asked
from tacita_studies.accuracy.tries import Compare

KEYS = {
    "plan", "file", "epsilon", "delta", "neighbours", "statistic", "cell", "draw", "truth", "published", "margin",
    "covered", "forecast", "seconds",
}  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return made_up(tmp_path_factory.mktemp("files"))


@pytest.fixture(scope="module")
def out(folder: Path) -> Path:
    told = ["--data", str(folder), "--draws", "2", "--workers", "1", "--out", str(folder / "out")]
    command.run(told)
    return folder / "out"


@pytest.fixture(scope="module")
def rows(out: Path) -> list[dict[str, Any]]:
    document = json.loads((out / "results.json").read_text(encoding="utf-8"))
    assert document["version"]
    return list(document["rows"])


def test_rows_have_the_agreed_form_and_every_draw(rows: list[dict[str, Any]]) -> None:
    assert all(set(row) >= KEYS for row in rows)
    answered = [row for row in rows if row["setting"] == "both"]
    assert {(row["epsilon"], row["draw"]) for row in answered} == {(1.0, 0), (1.0, 1), (100.0, 0), (100.0, 1)}
    assert {row["neighbours"] for row in answered} == {"one person's record replaced"}
    assert all(row["seconds"] > 0 for row in answered)


def test_the_truth_is_that_of_the_file_with_its_missing_values_as_declared(rows: list[dict[str, Any]]) -> None:
    frame = people()
    frame.loc[:4, "sex"] = "unknown"
    means = frame.groupby("sex")["pay"].mean()
    shares = frame["sex"].value_counts(normalize=True)
    for statistic, truth in (("mean of pay by sex", means), ("share of sex", shares)):
        own = [row for row in rows if row["statistic"] == statistic]
        assert {row["cell"]: row["truth"] for row in own} == pytest.approx(dict(truth.items()))
        precise = [row for row in own if row["epsilon"] == 100 and row["cell"] != "unknown"]
        assert all(abs(row["published"] / row["truth"] - 1) < 0.05 for row in precise)


def test_several_files_have_intervals_and_a_forecast_in_ranks(rows: list[dict[str, Any]]) -> None:
    shares = [row for row in rows if row["statistic"] == "share of sex"]
    assert all(row["covered"] == (abs(row["published"] - row["truth"]) <= row["margin"]) for row in shares)
    ranks = [row for row in rows if row["statistic"] == "rank of pay"]
    assert {row["truth"] for row in ranks} == {300.0}
    assert all(row["forecast"] > 0 and row["margin"] is None and row["covered"] is None for row in ranks)


def test_means_are_foretold_the_worse_the_more_skewed_a_number_is() -> None:
    told = {LIKE_AGES: 0.01, LIKE_INCOMES: 0.02, LIKE_WEALTH: 0.2}
    hardly, near, usual, far = (between(sigma, told) for sigma in (0.03, 0.5, LIKE_INCOMES, LIKE_WEALTH))
    assert hardly == pytest.approx(0.001)
    assert 0.01 < near < usual == pytest.approx(0.02)
    assert far == pytest.approx(0.2)
    steps = (np.arange(50_000) + 0.5) / 50_000
    numbers = [np.exp([sigma * NormalDist().inv_cdf(one) for one in steps]) for sigma in (0.5, 2.0)]
    assert [skewness(one) for one in numbers] == pytest.approx([0.5, 2.0], abs=0.1)


def test_a_plan_that_refuses_is_one_row_with_its_words(rows: list[dict[str, Any]], out: Path) -> None:
    (row,) = [row for row in rows if row["setting"] == "impossible"]
    assert row["statistic"] == "refused"
    assert "age" in row["cell"]
    assert row["published"] is None
    (line,) = [one for one in printed((out / "accuracy.md").read_text(encoding="utf-8")) if not one.answered]
    assert (line.setting, line.price, line.cells) == ("impossible", "1", row["cell"])


def test_published_tables_are_held_against_the_file_cell_by_cell(rows: list[dict[str, Any]]) -> None:
    cells = [row for row in rows if row["setting"] == "jobs" and row["draw"] == 0]
    assert {row["cell"]: row["truth"] for row in cells} == {"01": 11100.0, "02": 11250.0}  # of 0, 2, …; 1, 3, … twice
    assert {row["statistic"] for row in cells} == {"table: total of jobs by place"}
    # The forecast is in units of the largest establishment, 148 and 149 jobs.
    low, high = sorted(row["forecast"] for row in cells)
    assert high / low == pytest.approx(149 / 148)


def test_flows_between_two_years_are_those_of_each_unit(rows: list[dict[str, Any]]) -> None:
    flows = {row["statistic"]: row["truth"] for row in rows if row["setting"] == "gains and losses"}
    lost = sum(range(1, 150, 2)) * 2  # 149, 147, … and as much gained
    assert flows == {
        "table: total of creation": lost,
        "table: total of destruction": lost,
        "table: total of net": 0,
    }


def test_tables_of_any_statistic_are_compared_in_its_own_units(rows: list[dict[str, Any]]) -> None:
    frame = people()
    frame.loc[:4, "sex"] = "unknown"
    pay = frame.groupby("sex")["pay"]
    middle = pay.apply(lambda one: np.sort(one)[(len(one) - 1) // 2])
    for setting, truth in (
        ("table, mean", pay.mean()),
        ("table, median", middle),
        ("table, variance", pay.var()),
        ("shares", frame["sex"].value_counts(normalize=True)),
    ):
        own = {row["cell"]: row for row in rows if row["setting"] == setting and row["draw"] == 0}
        assert {cell: row["truth"] for cell, row in own.items()} == pytest.approx(dict(truth.items()))
        assert all(own[sex]["published"] == pytest.approx(own[sex]["truth"], rel=0.05) for sex in ("f", "m"))
        assert {row["plan"] for row in own.values()} == {"Table"}
    means = [row for row in rows if row["setting"] == "table, mean"]
    assert all(row["foretold"] == "median" and row["forecast"] > 0 for row in means)


def test_a_wrong_published_number_is_not_covered() -> None:
    row = AccuracyRow("Table", "demo", "counts", 1.0, 0.0, "one record replaced")
    right, wrong, silent = (row.with_numbers(100.0, 98.0, margin) for margin in (2.0, 1.0, float("inf")))
    assert (right.covered, wrong.covered, silent.covered, silent.margin) == (True, False, None, None)
    summary = Summary.of([one.as_json() for one in (right, wrong, silent)])
    assert (summary.margins, summary.covered, summary.median) == (2, 0.5, pytest.approx(0.02))


def test_no_error_that_was_foretold_is_one_that_came_true() -> None:
    """Of exits that are not there a plan says nothing is off; published ones are infinitely more than that."""
    row = AccuracyRow("PanelSynthesis", "demo", "firms", 4.0, 0.0, "one firm replaced", foretold="median")
    cells = [(0.0, 0.0, 0.0), (0.0, 0.0, 0.0), (7.0, 20.0, 34.0), (0.0, 0.0, 5.0)]
    rows = [replace(row, forecast=said).with_numbers(truth, got, None).as_json() for said, truth, got in cells]
    assert Summary.of(rows[:3]).outcome_over_forecast == 1.0
    assert Summary.of(rows[2:]).outcome_over_forecast == math.inf


def test_errors_of_a_panel_are_foretold_for_units_as_unlike_as_they_are() -> None:
    """The more unlike and the farther they move, the larger; of few entries by as many as there are."""
    one, units = plan(epsilon="4"), 300
    normal = np.array([NormalDist().inv_cdf((at + 0.5) / units) for at in range(units)])
    told = []
    for width, moves in ((0.3, 0.02), (1.8, 0.2)):
        sizes = np.exp(4 + width * normal)
        values = {year: sizes * np.exp(moves * (-1.0) ** (at + np.arange(units))) for at, year in enumerate(YEARS)}
        years = [pd.DataFrame({"u": np.arange(units), "year": year, "jobs": own}) for year, own in values.items()]
        records = pd.concat(years).assign(pay=lambda frame: frame["jobs"])
        told.append(of_panel(one, one.layout(wide_schema()), records, Panel("u", "year")))
    for name in ("total of jobs by year", "total of pay by year", "creation of jobs"):
        alike, unlike = (said[name](1000.0) for said in told)
        assert alike < unlike
    assert told[0]["entry"](2.0) == 2.0
    assert told[0]["exit"](1e6) < 100


def test_the_interval_of_several_files_is_that_of_the_rule() -> None:
    files = [Answers(np.array([value]), np.array([4.0])) for value in (9.0, 11.0, 10.0)]
    value, margin = combined(files, "one-measurement")
    rule = OneMeasurement()
    assert value == pytest.approx([10.0])
    assert margin[0] > 1.96 * np.sqrt(4.0 + rule.share(3) * 1.0)
    assert np.isnan(combined(files[:1], "one-measurement")[1]).all()


@pytest.mark.parametrize(
    ("compare", "expected"),
    [
        ({"statistic": "count", "by": "g"}, {"a": 2, "b": 2}),
        ({"statistic": "count", "weight": "w"}, {"all": 10}),
        ({"statistic": "total", "of": "x", "weight": "w"}, {"all": 1 + 4 + 9 + 40}),
        ({"statistic": "mean", "of": "x", "by": "g", "weight": "w"}, {"a": 5 / 3, "b": 7}),
        ({"statistic": "variance", "of": "x", "by": "g"}, {"a": 0.5, "b": 24.5}),
        ({"statistic": "ratio", "of": ["x", "w"], "by": "g"}, {"a": 1, "b": 13 / 7}),
        ({"statistic": "quantile", "of": "x", "at": [0.5]}, {"0.5": 2}),
        ({"statistic": "share", "of": "h", "by": "g"}, {"a × u": 0.5, "a × v": 0.5, "b × v": 1}),
        ({"statistic": "correlation", "of": ["x", "w"]}, {"x with w": 1}),
        ({"statistic": "distance", "of": ["g", "h"]}, {"1 pairs": 0}),
        ({"statistic": "regression", "model": "x ~ log(e)"}, {"log(e)": 3}),
    ],
)
def test_a_statistic_is_what_its_name_says(compare: dict[str, Any], expected: dict[str, float]) -> None:
    frame = pd.DataFrame({"g": list("aabb"), "h": list("uvvv"), "x": [1.0, 2, 3, 10], "w": [1.0, 2, 3, 4]})
    frame["e"] = np.exp(frame["x"] / 3)
    (one,) = asked(Compare(**compare), frame)
    assert dict(zip(one.cells, one.truth, strict=True)) == pytest.approx(expected)
    assert one.answer(frame).value == pytest.approx(one.truth)


def test_the_variance_of_a_mean_and_of_a_share_is_that_of_a_sample() -> None:
    random = np.random.default_rng(3)
    frame = pd.DataFrame({"x": random.normal(size=2000), "g": random.choice(["a", "b"], 2000, p=[0.3, 0.7])})
    (mean,), (share,) = (asked(Compare(statistic=one, of=of), frame) for one, of in (("mean", "x"), ("share", "g")))
    assert mean.answer(frame).variance == pytest.approx([1 / 2000], rel=0.1)
    assert share.answer(frame).variance == pytest.approx([0.21 / 2000] * 2, rel=0.1)


def test_flows_of_a_panel() -> None:
    frame = pd.DataFrame({"id": [1, 1, 2, 3, 3], "year": [2000, 2001, 2000, 2001, 2002], "jobs": [5, 9, 4, 2, 1]})
    panel = Panel("id", "year")
    flows = {what: next(asked(Compare(statistic=what), frame, panel)) for what in ("entry", "exit")}
    flows |= {
        what: next(asked(Compare(statistic=what, of="jobs"), frame, panel)) for what in ("creation", "destruction")
    }
    assert {what: (one.cells, list(one.truth)) for what, one in flows.items()} == {
        "entry": (("2001", "2002"), [1, 0]),
        "exit": (("2000", "2001"), [1, 1]),
        "creation": (("2001", "2002"), [6, 0]),
        "destruction": (("2001", "2002"), [4, 10]),
    }
    with pytest.raises(SpecError, match="is for panels"):
        next(asked(Compare(statistic="entry"), frame))


def test_a_cell_without_an_answer_is_infinitely_far_off() -> None:
    row = {"statistic": "mean of pay", "truth": 5.0, "published": None}
    assert error_of(row) == float("inf")
    assert error_of({**row, "truth": 0.0, "published": 1.0}) is None
    assert error_of({**row, "statistic": "share of sex", "truth": 0.0, "published": 0.25}) == 0.25


def test_the_page_is_made_of_results_alone(out: Path, tmp_path: Path) -> None:
    document = json.loads((out / "results.json").read_text(encoding="utf-8"))
    lines = printed((out / "accuracy.md").read_text(encoding="utf-8"))
    assert sorted(lines, key=str) == sorted(measured([document]), key=str)
    assert {one.measured for one in lines if one.answered} == {f"{document['date']}, 2 draws"}
    told = ["--from", str(out / "results.json"), "--page", str(tmp_path / "page.md"), "--out", str(tmp_path)]
    command.run([*told, "--data", str(out.parent)])
    assert (tmp_path / "page.md").read_text(encoding="utf-8") == (out / "accuracy.md").read_text(encoding="utf-8")
    assert not (tmp_path / "results.json").exists()


def test_a_later_run_keeps_what_it_was_not_asked_for_with_its_day(folder: Path, out: Path, tmp_path: Path) -> None:
    document = json.loads((out / "results.json").read_text(encoding="utf-8"))
    earlier = measured([{**document, "date": "2001-01-01"}])
    gone = replace(earlier[0], setting="no longer tried")
    elsewhere = replace(earlier[0], file="another file")
    path = tmp_path / "page.md"
    path.write_text(page([gone, *earlier, elsewhere]), encoding="utf-8")
    told = ["--data", str(folder), "--file", "people", "--plan", "Table", "--draws", "1", "--workers", "1"]
    command.run([*told, "--out", str(tmp_path / "out"), "--keep", str(path)])
    now = printed(path.read_text(encoding="utf-8"))
    assert gone not in now
    assert elsewhere in now
    again = [one for one in now if (one.file, one.plan) == ("people", "Table")]
    assert {one.measured for one in again} == {f"{datetime.now(UTC):%Y-%m-%d}, 1 draw"}
    asked_before = [one.statistic for one in earlier if (one.file, one.plan) == ("people", "Table")]
    assert [one.statistic for one in again] == asked_before
    others = [one for one in now if one not in again and one != elsewhere]
    before = [one for one in earlier if (one.file, one.plan) != ("people", "Table")]
    assert sorted(others, key=str) == sorted(before, key=str)


def test_a_page_is_read_as_it_was_printed() -> None:
    line = Line(
        "made up",
        "Table",
        "counts, a to b",
        "1, δ = 1e-09",
        "2026-11-19, 2 draws",
        "table: count",
        "3",
        "1.0%, 12 times",
    )
    others = [
        replace(line, setting="b", error="no answer, no answer", covered="96% (1,922 of 2,001)", outcome="1,204.50"),
        replace(line, setting="b", statistic="share of x", error="0.01, 0.2"),
        Line("made up", "Table", "c; d", "no guarantee", "earlier, 1 draw", "refused", "Lower “ε”; it is 2."),
    ]
    first = page([line, *others])
    assert sorted(printed(first), key=str) == sorted((line, *others), key=str)
    assert page(kept(printed(first), [], {})) == page(kept([line, *others], [], {}))
    assert [(one.errors, one.margins, one.over_forecast) for one in (line, *others[:2])] == [
        ((0.01, 11.0), (0, 0), None),
        ((np.inf, np.inf), (1922, 2001), 1204.5),
        (None, (0, 0), None),
    ]
