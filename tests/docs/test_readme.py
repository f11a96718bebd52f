"""The README and the pages beside it: the example runs, the commands exist, the links lead somewhere."""

import contextlib
import io
import re
import shlex
import tomllib
from pathlib import Path

import pytest
import typer

from tacita.cli import app
from tacita.privacy import Loss, StrongAlpha
from tacita.release.spec import Spec
from tacita.simulated.frame import simulate

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").rglob("*.md"))]


def blocks(language: str) -> list[str]:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```", text, flags=re.DOTALL | re.MULTILINE)


def test_the_python_example_runs_as_printed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (example,) = blocks("python")
    simulate(jobs=2_000, establishments=100).write(tmp_path, form="flat")
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        exec(compile(example, "README.md", "exec"), names)
    assert "ε = 1 under strong α = 0.1 neighbours" in printed.getvalue()
    assert {"value", "margin_of_error", "guarantee"} <= set(names["table"].column_names)  # type: ignore[attr-defined]
    assert names["ledger"].remaining(StrongAlpha("0.1"), names["data"]) == Loss("1")  # type: ignore[attr-defined]


def test_the_python_example_is_short() -> None:
    (example,) = blocks("python")
    assert len([line for line in example.splitlines() if line.strip()]) <= 10


def test_the_specification_is_valid() -> None:
    (example,) = blocks("toml")
    spec = Spec.parse(tomllib.loads(example), Path("release.toml"))
    assert spec.table[0].by == ("place", "sector", "ownership")


def test_every_command_of_the_readme_exists() -> None:
    known = typer.main.get_command(app)
    lines = [line for block in blocks("sh") for line in block.splitlines() if line.startswith("tacita ")]
    assert lines
    for line in lines:
        words = shlex.split(line.split("#")[0])
        command = known.commands[words[1]]  # type: ignore[attr-defined]
        if hasattr(command, "commands"):
            command = command.commands[words[2]]
        options = {option for parameter in command.params for option in parameter.opts}
        assert {word for word in words if word.startswith("--")} <= options, line


def test_every_make_target_of_the_readme_exists() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for page in PAGES:
        for target in re.findall(r"`?make ([a-z-]+)`", page.read_text(encoding="utf-8")):
            assert re.search(rf"^{target}:.*##", makefile, flags=re.MULTILINE), target


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_link_leads_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#]+)\)", page.read_text(encoding="utf-8")):
        assert (page.parent / target).exists(), target


def test_the_odds_table_is_right() -> None:
    import math

    text = (ROOT / "docs" / "guarantees.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| ([\d.]+) \| ([\d.]+) \| (\d+)% \|$", text, flags=re.MULTILINE)
    assert len(rows) == 5
    for epsilon, factor, percent in rows:
        odds = math.exp(float(epsilon))
        assert f"{odds:.3g}" == factor
        assert round(100 * odds / (1 + odds)) == int(percent)
