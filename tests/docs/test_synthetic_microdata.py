"""The page on synthetic microdata: its example runs as printed, and its specification makes a verified bundle."""

import contextlib
import io
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from support.specifications import head, levels, number, schema
from tacita.cli import app

PAGE = Path(__file__).resolve().parents[2] / "docs" / "synthetic-microdata.md"

SCHEMA = schema(
    "businesses-2026",
    "establishment",
    sector=levels("a", "b"),
    size=number(1, 100000, kind="integer"),
    pay=number(0, 10000000),
)

SPECIFICATION = head("businesses", title="Businesses, 2026", neighbours="add-remove", unit="establishment", epsilon="2")


def block(language: str) -> str:
    (found,) = re.findall(
        rf"^```{language}\n(.*?)^```", PAGE.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE
    )
    return str(found)


@pytest.fixture
def office(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    random = np.random.default_rng(1)
    size = np.ceil(random.lognormal(2, 1, 3000)).astype(int)
    pay = np.round(size * random.lognormal(3.5, 0.4, 3000), 2)
    frame = pd.DataFrame({"sector": random.choice(["a", "b"], 3000), "size": size, "pay": pay})
    frame.to_parquet(tmp_path / "businesses.parquet")
    (tmp_path / "businesses.schema.toml").write_text(SCHEMA, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_example_runs_as_printed_and_the_mean_is_near(office: Path) -> None:
    names: dict[str, object] = {}
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        exec(compile(block("python"), PAGE.name, "exec"), names)
    assert "ε = 1 under one establishment added or removed" in printed.getvalue()
    assert names["files"].m == 5  # type: ignore[attr-defined]
    truth = pd.read_parquet("businesses.parquet")["pay"].mean()
    estimate = names["pay"]
    low, high = estimate.interval(0.95)  # type: ignore[attr-defined]
    assert low < estimate.value < high  # type: ignore[attr-defined]
    assert abs(estimate.value / truth - 1) < 0.35  # type: ignore[attr-defined]


def test_the_specification_makes_a_verified_bundle(office: Path) -> None:
    (office / "release.toml").write_text(SPECIFICATION + block("toml"), encoding="utf-8")
    for words in (["plan", "release.toml"], ["run", "release.toml", "--out", "bundle"], ["verify", "bundle"]):
        outcome = CliRunner().invoke(app, words)
        assert outcome.exit_code == 0, outcome.output
    assert len(list((office / "bundle" / "microdata").glob("implicate-*.parquet"))) == 5
