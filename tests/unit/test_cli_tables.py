"""Every kind of table through the whole way: plan, run, verify."""

from pathlib import Path

import pytest

from support.command_line import SPEC, Call, replaced

ALPHA = 'neighbours = "strong"\nalpha = "0.1"\nepsilon = "9"'
WEAK = 'neighbours = "weak"\nalpha = "0.1"\nepsilon = "9"'


def unit(name: str) -> str:
    return f'neighbours = "add-remove"\nunit = "{name}"\nepsilon = "9"'


@pytest.mark.parametrize(
    ("cap", "table"),
    [
        (ALPHA, 'mechanism = "SmoothStaircase"\nby = ["place"]\nmargin_share = "1/4"\ntotals = ["place"]'),
        (ALPHA, 'mechanism = "SmoothStaircase"\nby = []\nintegers = false\nnonnegative = false'),
        (ALPHA, 'mechanism = "SmoothStaircase"\nby = ["place"]\nworker = ["sex"]'),
        (ALPHA, 'mechanism = "SmoothVector"\nby = ["place"]\nworker = ["sex"]\nmargin_share = "1/4"\ntotals = ["sex"]'),
        (ALPHA, 'mechanism = "LogLaplace"\nby = ["place"]\nconfidence = "0.9"'),
        (ALPHA, 'mechanism = "SmoothStudent"\nby = ["place"]\nrank = true'),
        (ALPHA, 'mechanism = "SmoothGamma"\nby = ["place"]'),
        (WEAK, 'mechanism = "SmoothStaircase"\nby = ["place"]\nwhere = { sex = ["F"] }'),
        (WEAK, 'mechanism = "SmoothStaircase"\nby = ["place"]\nworker = ["sex"]\nmargin_share = "1/4"'),
        (ALPHA + '\ndelta = "0.01"', 'mechanism = "SmoothLaplace"\nby = ["place"]\ndelta = "0.001"'),
        (unit("worker"), 'mechanism = "EdgeLaplace"\nby = ["place"]\nworker = ["sex"]'),
        (unit("establishment"), 'mechanism = "TruncatedLaplace"\nby = ["place"]\ntheta = 20'),
    ],
)
def test_every_kind_of_table_runs_and_verifies(folder: Path, tacita: Call, cap: str, table: str) -> None:
    head = SPEC[: SPEC.index("[cap]")]
    spec = folder / "release.toml"
    spec.write_text(f'{head}[cap]\n{cap}\n[[table]]\nname = "one"\nepsilon = "2"\n{table}\n')
    assert tacita("plan", spec).code == 0
    done = tacita("run", spec, "--out", folder / "bundle")
    assert done.code == 0, done.err
    checked = tacita("verify", folder / "bundle", "--ledger", folder / "jobs.ledger")
    assert checked.code == 0, checked.err
    assert "the tables follow from them" in checked.out


def test_plan_says_how_the_ledger_stands(folder: Path, tacita: Call) -> None:
    spec = folder / "release.toml"
    assert "The ledger is new; ε = 1 would be left" in tacita("plan", spec).out
    assert tacita("run", spec, "--out", folder / "one").code == 0
    assert "strong α = 0.1 neighbours ε = 2 ε = 1 ε = 1 ε = 0 It fits." in tacita("plan", spec).out
    replaced('epsilon = "1"', 'epsilon = "3/2"')(folder)
    assert "It does not fit what is left under strong α = 0.1 neighbours (ε = 1)" in tacita("plan", spec).out
    replaced('epsilon = "2"', 'epsilon = "5"')(folder)
    said = tacita("plan", spec).out
    assert "The ledger's cap is ε = 2, not ε = 5" in said
    assert "Correct [cap]." in said


def test_a_release_over_the_cap_is_planned_and_said_not_to_fit(folder: Path, tacita: Call) -> None:
    replaced('epsilon = "1"', 'epsilon = "3"')(folder)
    said = tacita("plan", folder / "release.toml")
    assert said.code == 0
    assert "It does not fit the cap" in said.out


def test_a_cap_that_this_release_would_break_leaves_the_ledger_as_it_was(folder: Path, tacita: Call) -> None:
    """A second spec on the same ledger, with a plan that says nothing about what the first one promised."""
    spec = folder / "release.toml"
    assert tacita("run", spec, "--out", folder / "one").code == 0
    ledger = (folder / "jobs.ledger").read_bytes()
    worker = 'neighbours = "add-remove"\nunit = "worker"'
    text = spec.read_text().replace('neighbours = "strong"\nalpha = "0.1"', worker)
    spec.write_text(text.replace("SmoothStaircase", "EdgeLaplace"))
    said = tacita("run", spec, "--out", folder / "two")
    assert said.code == 3
    assert "promises protection under strong" in said.err
    assert (folder / "jobs.ledger").read_bytes() == ledger
