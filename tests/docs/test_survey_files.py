"""The page on surveys: its schema and specification make a verified bundle with tables that add up."""

import re
from pathlib import Path

import pandas as pd
import pytest
from typer.testing import CliRunner

from support.weighted_people import people
from tacita.cli import app

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "survey-files.md").read_text(encoding="utf-8")


def test_what_is_printed_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    people(600)[["field", "gender", "salary", "w"]].to_parquet("doctorates.parquet", index=False)
    schema, specification = re.findall(r"^```toml\n(.*?)^```", PAGE, flags=re.DOTALL | re.MULTILINE)
    Path("doctorates.schema.toml").write_text(schema, encoding="utf-8")
    Path("release.toml").write_text(specification, encoding="utf-8")
    for words in (["plan", "release.toml"], ["run", "release.toml", "--out", "bundle"], ["verify", "bundle"]):
        outcome = CliRunner().invoke(app, words)
        assert outcome.exit_code == 0, outcome.output
    (table,) = Path("bundle/tables").glob("doctorates-by-*.csv")
    found = pd.read_csv(table)
    counts = found[found["statistic"] == "count"].set_index(["field", "gender"])["value"]
    for field in ("arts", "law", "maths"):
        assert counts[field, "F"] + counts[field, "M"] == pytest.approx(counts[field, "all"], rel=1e-9)


def test_a_bad_weight_is_refused_and_costs_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    schema, specification = re.findall(r"^```toml\n(.*?)^```", PAGE, flags=re.DOTALL | re.MULTILINE)
    Path("doctorates.schema.toml").write_text(schema, encoding="utf-8")
    Path("release.toml").write_text(specification, encoding="utf-8")
    for bad in (0.0, -3.0, None):
        frame = people(600)[["field", "gender", "salary", "w"]]
        frame.loc[3, "w"] = bad
        frame.to_parquet("doctorates.parquet", index=False)
        outcome = CliRunner().invoke(app, ["run", "release.toml", "--out", "bundle"])
        assert outcome.exit_code != 0
        assert "w: a weight is missing, zero, negative" in str(outcome.exception)
        assert not Path("bundle").exists()
