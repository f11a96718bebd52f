"""Tables rehearsed by the hundred: what they count is so, and a plan whose margins are too narrow is found."""

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from support.specifications import levels, number, schema
from tacita.mechanisms.table.noise import Budget, Reach
from tacita_studies.accuracy import command
from tacita_studies.accuracy.coverage import Rehearsed, TableCoverage
from tacita_studies.accuracy.coverage_page import coverage_page, statistic_of
from tacita_studies.accuracy.folder import HERE, TABLES, in_folder
from tacita_studies.accuracy.foretold import share_error
from tacita_studies.accuracy.measure import attempts
from tacita_studies.accuracy.prepared import PREPARED
from tacita_studies.accuracy.tries import Tries

SCHEMA = schema(
    "made-up",
    "person",
    sex=levels("f", "m"),
    pay=number(0, 1000, kind="integer"),
    hours=number(0, 100, kind="integer", missing="own state"),
    weight=number(1, 9, role="weight"),
)
TRIES = """
[cap]
neighbours = "replace"
unit = "person"

[[try]]
name = "counts"
epsilon = "1"
[try.table]
statistic = "count"
by = ["sex"]

[[try]]
name = "several"
epsilon = "4"
vary = { statistic = ["mean", "sum", "median", "variance"] }
[try.table]
of = "pay"
by = ["sex"]

[[try]]
name = "per hour"
epsilon = "4"
[try.table]
statistic = "ratio"
of = ["pay", "hours"]
by = ["sex"]

[[try]]
name = "too small"
epsilon = "1/1000000000000000000000000000000"
[try.table]
statistic = "variance"
of = "pay"

[[try]]
name = "no table"
epsilon = "1"
[try.microdata]
mechanism = "QuantileSynthesis"
columns = ["pay"]
"""
DRAWS = 60


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    where = tmp_path_factory.mktemp("files")
    random = np.random.default_rng(5)
    frame = pd.DataFrame({"sex": random.choice(["f", "m"], 3000), "pay": random.integers(0, 1000, 3000)})
    frame["hours"] = np.where(np.arange(3000) % 3, random.integers(10, 40, 3000), np.nan)
    frame.assign(weight=1.5).to_csv(where / "people.csv.gz", index=False)
    (where / "people.schema.toml").write_text(SCHEMA, encoding="utf-8")
    (where / "people.accuracy.toml").write_text(TRIES, encoding="utf-8")
    return where


@pytest.fixture(scope="module")
def rows(folder: Path) -> list[dict[str, Any]]:
    told = ["--tables", "--data", str(folder), "--draws", str(DRAWS), "--workers", "1", "--out", str(folder / "out")]
    return list(command.run(told)["rows"])


def test_every_table_is_rehearsed_and_its_margins_and_forecasts_hold(rows: list[dict[str, Any]]) -> None:
    answered = [row for row in rows if row["statistic"] != "refused"]
    assert {row["setting"] for row in answered} == {
        "counts", "several, mean", "several, sum", "several, median", "several, variance", "per hour"
    }  # fmt: skip
    for row in answered:
        assert (row["draws"], row["cells"], row["margins"]) == (DRAWS, 2, 2 * DRAWS)
        assert row["covered"] / row["margins"] >= 0.88
        assert row["outcome"] is None or row["outcome"] < 2


def test_a_plan_that_refuses_is_one_row_with_its_words(rows: list[dict[str, Any]]) -> None:
    (row,) = [row for row in rows if row["statistic"] == "refused"]
    assert row["setting"] == "too small"
    assert "epsilon" in row["words"]


def test_the_page_is_made_of_results_alone(folder: Path, rows: list[dict[str, Any]], tmp_path: Path) -> None:
    place = folder / "out" / "coverage.json"
    document = json.loads(place.read_text(encoding="utf-8"))
    page = (folder / "out" / "table-coverage.md").read_text(encoding="utf-8")
    assert page == coverage_page(document)
    assert "too small" in page
    command.run(["--tables", "--from", str(place), "--page", str(tmp_path / "page.md"), "--out", str(tmp_path)])
    assert (tmp_path / "page.md").read_text(encoding="utf-8") == page
    assert {statistic_of(row) for row in rows if row["draws"]} == {
        "count",
        "mean",
        "total",
        "quantile",
        "variance",
        "ratio",
    }


def test_rehearsals_differ_and_do_not_depend_on_what_was_remembered(folder: Path) -> None:
    (file,) = in_folder(folder)
    counts = next(one for one in attempts(file) if one.name == "counts")
    first, again, other = (Rehearsed(counts).coverage(20, seed) for seed in (1, 1, 2))
    assert first == again
    assert first != other


def test_margins_that_are_too_narrow_are_found(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Twice the noise that margins are made for."""
    (file,) = in_folder(folder)
    counts = next(one for one in attempts(file) if one.name == "counts")
    honest = Budget.noisy

    def loud(self: Budget, *given: Any) -> Any:
        return honest(self.share(Fraction(1, 2)), *given)

    monkeypatch.setattr(Budget, "noisy", loud)
    (row,) = Rehearsed(counts).coverage(DRAWS, 1)
    assert row["covered"] / row["margins"] < 0.9
    assert row["outcome"] > 1.5


def test_what_is_counted_is_what_it_says() -> None:
    one = TableCoverage("demo", "Table", "counts", 1.0, "table: count")
    none = np.nan
    truth, value, margin, ratio = [10.0, 10, 10, none], [12.0, 12, none, 1], [2.0, none, none, 1], [1.0, 3, none, 9]
    one.add(*(np.array(column) for column in (truth, value, margin, ratio)))
    told = one.as_json()
    assert (told["cells"], told["margins"], told["covered"], told["open"], told["silent"]) == (3, 1, 1, 1, 1)
    assert (told["outcome"], told["error"]) == (2.0, pytest.approx(0.2))


def test_the_suite_has_the_tables_that_it_is_for() -> None:
    named = {path.name.removesuffix(".accuracy.toml"): Tries.load(path) for path in TABLES.glob("*.accuracy.toml")}
    asked = {"adult", "cps2016", "ses", "ppp", "scf2019", "taxcalc_cps", "colombian_years"}
    assert set(named) == asked | {"eusilc", "nhanes2", "sd2011", "apistrat"}
    assert set(named) <= set(PREPARED)
    tables = [one for tries in named.values() for one in tries.tried]
    assert len(tables) >= 30
    assert {epsilon for one in tables for epsilon in one.epsilon} == {"0.5", "1", "4"}
    assert all(any((folder / f"{name}.schema.toml").is_file() for folder in (HERE, TABLES)) for name in named)


@pytest.mark.parametrize(("levels", "share"), [(2, 0.3), (4, 0.05), (12, 0.1)])
@pytest.mark.parametrize("epsilon", ["1/10", "1", "4"])
def test_the_foretold_error_of_a_share_is_the_median_of_what_its_noises_make(
    epsilon: str, levels: int, share: float
) -> None:
    law = Budget(Fraction(epsilon)).law(Reach.of_one(1, 2))
    chance = np.random.default_rng(7)
    q = 1 - np.exp(-1 / float(law.scale))
    noise = chance.geometric(q, (100_000, levels)) - chance.geometric(q, (100_000, levels))
    errors = np.abs((1 - share) * noise[:, 0] - share * noise[:, 1:].sum(axis=1))
    told = share_error(law, levels, share)
    below, upto = np.mean(errors < told * 0.93), np.mean(errors <= told * 1.07 + 1e-9)
    assert below < 0.51
    assert upto > 0.49


def test_tables_in_which_most_values_have_no_margin_are_told_apart() -> None:
    row = {
        "file": "demo",
        "plan": "Table",
        "setting": "a",
        "epsilon": 1.0,
        "statistic": "table: mean of pay",
        "cells": 1,
    }
    row |= {
        "draws": 60,
        "margins": 60,
        "covered": 58,
        "open": 0,
        "silent": 0,
        "outcome": 1.1,
        "error": 0.1,
        "words": "",
    }
    few = row | {"setting": "b", "margins": 20, "covered": 19, "open": 40, "outcome": 9.0}
    empty = row | {"setting": "c", "margins": 1, "covered": 0, "silent": 59, "outcome": 72.0}
    page = " ".join(coverage_page({"rows": [row, few, empty]}).split())
    assert "Of 1 forecasts, 1 are within a factor of 1.5; 0 errors are more than 1.5, and 0 more than 3" in page
    assert (
        "In another 2 most cells have no margin or no value: the errors of those that have one are within that factor "
        "in 0." in page
    )
