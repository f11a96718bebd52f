"""The command line before and after a release: drafts, help, what it loads, and looking at a bundle."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from support.command_line import SECRET, Call, replaced, write_jobs


def test_init_drafts_without_reading_values(folder: Path, tacita: Call) -> None:
    write_jobs(folder / "jobs.parquet", lambda job: SECRET)
    out = folder / "drafts"
    assert tacita("init", folder / "jobs.parquet", "--out", out).code == 0
    schema, spec = out / "jobs.schema.toml", out / "jobs.release.toml"
    assert "place" in schema.read_text()
    assert SECRET not in schema.read_text() + spec.read_text()
    assert tacita("init", folder / "jobs.parquet", "--out", out).code == 2
    said = tacita("plan", spec)
    assert said.code == 2
    assert "TODO" in said.err


VERBS = [
    "init",
    "plan",
    "explore",
    "run",
    "verify",
    "rehearse",
    "report",
    "study",
    "demo",
    "ledger show",
    "ledger verify",
]


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_has_help_with_an_example(tacita: Call, verb: str) -> None:
    said = tacita(*verb.split(), "--help")
    assert said.code == 0
    assert re.search(rf"Example:\s+tacita {verb} ", said.out)


def test_help_loads_no_engine() -> None:
    """So that it answers at once."""
    slow = ("duckdb", "flint", "ibis", "importlib.metadata", "numpy", "pyarrow", "pydantic")
    code = (
        "import sys; from tacita.cli import main\n"
        "try: main()\n"
        f"finally: print([one for one in {slow} if one in sys.modules])"
    )
    said = subprocess.run([sys.executable, "-c", code, "--help"], check=False, capture_output=True, text=True)
    assert "verify" in said.stdout, said.stderr
    assert said.stdout.splitlines()[-1] == "[]"


def test_plan_loads_no_library_that_only_rows_and_pictures_need_and_no_other_mechanism(folder: Path) -> None:
    mechanisms = "tacita.mechanisms.magnitude.base", "tacita.mechanisms.change.plan", "tacita.mechanisms.slow.sums"
    slow = (
        *("altair", "ibis", "numba", "pandas", "pyarrow.compute", "pyarrow.parquet", "scipy.stats"),
        *(*mechanisms, "tacita.synthesis.selfcheck"),
    )
    code = (
        "import sys; from tacita.cli import main\n"
        "try: main()\n"
        f"finally: print([one for one in {slow} if one in sys.modules])"
    )
    command = [sys.executable, "-c", code, "plan", str(folder / "release.toml")]
    said = subprocess.run(command, check=False, capture_output=True, text=True)
    assert "The error to expect" in said.stdout, said.stderr
    assert said.stdout.splitlines()[-1] == "[]"


def test_a_small_table_in_a_fresh_process_loads_no_compiler() -> None:
    code = (
        "import sys, numpy as np; from fractions import Fraction\n"
        "from tacita.noise.discrete import add_discrete_laplace; from tacita.noise.entropy import SystemEntropy\n"
        "draw = lambda n: add_discrete_laplace(np.zeros(n, dtype=int), Fraction(2), SystemEntropy(), 'jobs').size\n"
        "print(draw(300), draw(300), 'numba' in sys.modules, draw(5000), 'numba' in sys.modules)"
    )
    said = subprocess.run([sys.executable, "-c", code], check=False, capture_output=True, text=True)
    assert said.stdout.split() == ["300", "300", "False", "5000", "True"], said.stderr


def test_report_refuses_a_changed_bundle_and_other_files(folder: Path, tacita: Call) -> None:
    bundle, page = folder / "bundle", folder / "page.html"
    assert tacita("run", folder / "release.toml", "--out", bundle).code == 0
    assert tacita("report", bundle, "--out", page).code == 0
    assert tacita("report", bundle, "--out", page, "--force").code == 0
    ledger = (folder / "jobs.ledger").read_bytes()
    for out in (folder / "jobs.ledger", bundle / "report.html", folder):
        assert tacita("report", bundle, "--out", out, "--force").code == 2
    assert (folder / "jobs.ledger").read_bytes() == ledger
    plan = bundle / "plan.json"
    plan.write_text(plan.read_text().replace("Test tables", "Forged tables"))
    said = tacita("report", bundle, "--out", folder / "other.html")
    assert said.code == 4
    assert "plan.json was changed" in said.err
    assert not (folder / "other.html").exists()


def test_verify_says_that_a_bundle_can_be_forged(folder: Path, tacita: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    assert tacita("run", "release.toml", "--out", "jobs:v2").code == 0
    said = tacita("verify", "jobs:v2")
    assert said.code == 0, said.err
    assert "who can write to it can forge one" in said.out


@pytest.mark.parametrize(
    ("old", "new", "part"),
    [
        ('name = "places"', f'name = "{"x" * 300}"', "at most 100 characters"),
        ('levels = ["north", "south"]', 'levels = ["north", "south", "Total"]', 'is called "Total"'),
        ("Test tables", "Test \\u0001 tables", "title holds a control character"),
        ('levels = ["north", "south"]', 'levels = ["north", "south", "\\u0007"]', "holds a control character"),
    ],
)
def test_names_that_a_bundle_cannot_carry_are_refused(
    folder: Path, tacita: Call, old: str, new: str, part: str
) -> None:
    replaced('by = ["place"]', 'by = ["place"]\ntotals = ["place"]')(folder)
    replaced(old, new)(folder)
    said = tacita("run", folder / "release.toml", "--out", folder / "bundle")
    assert said.code == 2
    assert part in said.err
    assert sorted(path.name for path in folder.iterdir()) == ["jobs.parquet", "jobs.schema.toml", "release.toml"]
