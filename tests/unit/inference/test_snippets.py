"""What readers copy: it runs, it gives the numbers of the package, and the page prints it as it is."""

import contextlib
import io
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from tacita import Implicates, Schema
from tacita.inference import (
    Estimate,
    FullSynthesis,
    OneMeasurement,
    PartialSynthesis,
    Rule,
    combine_estimates,
    snippets,
)

PAGE = Path(__file__).parents[3] / "docs" / "using-a-release.md"
SCHEMA = """\
[dataset]
identity = "demo"
unit = "person"
[variables.pay]
type = "numeric"
role = "confidential"
lower = 0
upper = 100
"""


@pytest.mark.parametrize("name", ["PYTHON", "R", "R_EXAMPLE", "STATA", "STATA_EXAMPLE"])
def test_the_page_prints_the_text_that_is_tested(name: str) -> None:
    assert f"\n{getattr(snippets, name)}```\n" in PAGE.read_text(encoding="utf-8")


def test_the_python_text_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "release.schema.toml").write_text(SCHEMA)
    frames = tuple(pd.DataFrame({"pay": pay}) for pay in ([9.0, 11.0, 10.0], [12.0, 10.0, 11.0], [8.0, 10.0, 9.0]))
    Implicates(frames, Schema.load(tmp_path / "release.schema.toml"), ("pay",), "partial").write(tmp_path / "microdata")
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    with contextlib.redirect_stdout(io.StringIO()):
        exec(compile(snippets.PYTHON, "using-a-release.md", "exec"), names)
    assert names["mean_pay"].value == pytest.approx(10)
    assert names["mean_pay"].variance == pytest.approx(2 / 3)


RULES = [
    ("partial", PartialSynthesis(), 1.0),
    ("one-measurement", OneMeasurement(), 1.0),
    ("full", FullSynthesis(), 1.0),
    ("full", FullSynthesis(size_ratio=2.0), 2.0),
]
ANSWERS = [
    ([9.0, 12.0, 15.0], [3.0, 4.0, 5.0]),
    ([9.9, 10.0, 10.2, 10.1], [3.0, 4.0, 5.0, 3.5]),
    ([5.0, 5.0], [2.0, 1.0]),
]


@pytest.mark.parametrize(("kind", "rule", "ratio"), RULES, ids=lambda one: str(one))
@pytest.mark.parametrize("answers", ANSWERS, ids=["spread", "alike", "equal"])
def test_the_r_text_gives_the_numbers_of_the_package(
    kind: str, rule: Rule, ratio: float, answers: tuple[list[float], list[float]]
) -> None:
    command = shutil.which("Rscript")
    if command is None:
        pytest.skip("R is not installed (Debian: r-base-core)")
    q, u = (f"c({', '.join(map(str, one))})" for one in answers)
    call = f'cat(sprintf("%.17g", combine_synthetic({q}, {u}, "{kind}", 0.9, {ratio})))'
    run = subprocess.run([command, "-e", snippets.R + call], capture_output=True, text=True, check=True)
    found = combine_estimates([Estimate(*pair) for pair in zip(*answers, strict=True)], rule)
    expected = [found.value, found.variance, found.df, *found.interval(0.9)]
    np.testing.assert_allclose([float(one) for one in run.stdout.split()], expected, rtol=1e-9)


def test_the_r_example_runs_on_the_files_of_a_bundle(tmp_path: Path) -> None:
    command = shutil.which("Rscript") or pytest.skip("R is not installed (Debian: r-base-core)")
    (tmp_path / "microdata").mkdir()
    random = np.random.default_rng(4)
    slopes = []
    for number in range(1, 6):
        frame = pd.DataFrame({"age": random.uniform(18, 65, 50), "pay": random.normal(50, 9, 50)})
        frame.to_csv(tmp_path / "microdata" / f"implicate-{number:02d}.csv", index=False)
        slopes.append(float(np.polyfit(frame["age"], frame["pay"], 1)[0]))
    code = snippets.R + "answer <- {" + snippets.R_EXAMPLE + '}\ncat(answer[["estimate"]])'
    run = subprocess.run([command, "-e", code], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert float(run.stdout) == pytest.approx(np.mean(slopes), rel=1e-5)


def test_the_stata_text_has_its_blocks_closed_and_its_quotes_paired() -> None:
    """Stata is not at hand to run it; what can be checked without is."""
    for text in (snippets.STATA, snippets.STATA_EXAMPLE):
        assert text.count("{") == text.count("}")
        assert text.count("`") == text.count("'")
    assert snippets.STATA.count("program define") == snippets.STATA.splitlines().count("end") == 1
    for kind in ("partial", "full", "one-measurement"):
        assert kind in snippets.STATA
