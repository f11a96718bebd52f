"""The page on categorical files: its schema and specification make a verified bundle, and its example combines it."""

import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from support.pairwise import voters
from tacita.cli import app

DOCS = Path(__file__).resolve().parents[2] / "docs"
PAGE = (DOCS / "categorical-files.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", PAGE, flags=re.DOTALL | re.MULTILINE)


def test_what_is_printed_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    original = voters(3000)[["registered", "voted", "age"]]
    original.loc[:99, "voted"] = [None, "perhaps"] * 50
    original.to_parquet("voters.parquet", index=False)
    schema, specification = blocks("toml")
    Path("voters.schema.toml").write_text(schema, encoding="utf-8")
    Path("release.toml").write_text(specification, encoding="utf-8")
    for words in (["plan", "release.toml"], ["run", "release.toml", "--out", "bundle"], ["verify", "bundle"]):
        outcome = CliRunner().invoke(app, words)
        assert outcome.exit_code == 0, outcome.output
    names: dict[str, object] = {}
    (code,) = blocks("python")
    exec(compile(code, "categorical-files.md", "exec"), names)
    files = names["files"]
    assert (files.m, files.kind) == (5, "one-measurement")  # type: ignore[attr-defined]
    low, high = names["turnout"].interval(0.999)  # type: ignore[attr-defined]
    assert low < (original["voted"] == "yes").mean() < high
    for frame in files:  # type: ignore[attr-defined]
        assert not ((frame["registered"] == "no") & (frame["voted"] == "yes")).any()
        assert "not stated" in set(frame["voted"])


def test_the_limits_on_the_page_are_those_of_the_code() -> None:
    from tacita.synthesis import domain
    from tacita.synthesis.comparison.steps import measuring
    from tacita.synthesis.pairwise import plan

    assert f"{plan._MOST_CELLS // 10**6} million cells in all pairs" in PAGE
    assert f"{measuring.MOST_NODES // 10**6} million nodes in a layer" in PAGE
    assert f"{domain._MOST_LEVELS:,} levels of an attribute, {domain._MOST_ZEROS} impossible combinations" in PAGE
    assert domain.MOST_CELLS == 1 << 62


def test_the_picture_stands_beside_the_page() -> None:
    (picture,) = re.findall(r"!\[[^]]*\]\(([^)]*)\)", PAGE)
    assert (DOCS / picture).read_text(encoding="utf-8").startswith('<svg xmlns="http://www.w3.org/2000/svg"')
