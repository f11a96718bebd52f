"""The audit that is part of the package: every plan passes it, every broken twin fails it, and it says what it did."""

import importlib.metadata
import inspect
import json
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from tacita import synthesis
from tacita.audit import evidence, examples, run, twins
from tacita.audit.examples import Example
from tacita.audit.forced import Finding, Outcome, force
from tacita.audit.run import PlanReport, Size, known_plans, try_claim
from tacita.audit.toy import Toy
from tacita.cli import app
from tacita.errors import UsageError, VerificationError
from tacita.mechanisms import eree, magnitude, slow
from tacita.privacy import NumbersWithin

ALL = examples.examples()
NEIGHBOURS = 4
LEAST_TWINS = 15


def test_every_plan_of_the_package_has_examples() -> None:
    plans = {
        name
        for module in (eree, magnitude, slow, synthesis)
        for name in module.__all__
        if inspect.isclass(thing := getattr(module, name)) and hasattr(thing, "guarantee")
    }
    promise_nothing = {"PlainPanelSynthesis"}
    assert plans - promise_nothing | {"SurveyLaplace", "Bounded", "SelfCheck"} <= set(known_plans())
    assert len(ALL) >= 150


@pytest.mark.parametrize("plan", known_plans())
def test_no_plan_loses_more_than_it_claims(plan: str) -> None:
    """A few neighbours of its first and last claim; `tacita audit`, which `.ci/run` runs as well, tries all of them."""
    claims = [one for one in ALL if one.name == plan]
    for at, claim in enumerate({id(one): one for one in (claims[0], claims[-1])}.values()):
        found, _ = try_claim(claim, neighbours=NEIGHBOURS, law_draws=1000, seed=100 + at)
        assert found.findings == (), claim.setting
        assert found.worst <= 1 + 1e-9, claim.setting
        assert found.neighbours >= NEIGHBOURS or claim.plan.guarantee.holds != "always", claim.setting


def test_the_neighbours_are_hostile_enough() -> None:
    """Where the noise is as small as the proof lets it be, some neighbour uses nearly all that was promised."""
    tight = [one for one in ALL if one.name in ("EdgeLaplace", "HistogramSynthesis", "SmoothVector")]
    for claim in [tight[0], tight[-1], *(one for one in tight if one.setting == "worker")]:
        worst = (try_claim(claim, neighbours=8, seed=seed)[0].worst for seed in (3, 4, 5))
        assert any(one > 0.9 for one in worst), claim.setting


def test_there_are_enough_twins_and_each_has_a_plan() -> None:
    assert len(twins.twins()) >= LEAST_TWINS
    assert len({one.name for one in twins.twins()}) == len(twins.twins())
    assert {one.of for one in twins.twins()} <= set(known_plans())


# A sixth of them here: `.ci/run` audits with all of them, and an audit that lets one pass fails.
_TWINS = [
    pytest.param(one, marks=[pytest.mark.slow] if at % 6 else [], id=one.name) for at, one in enumerate(twins.twins())
]


@pytest.mark.parametrize("twin", _TWINS)
def test_every_broken_twin_is_caught(twin: Any) -> None:
    assert twins.caught_by(twin) in ("loss", "bytes", "requests", "refusal", "law")


def test_the_sound_toy_passes_on_the_files_of_all_twins() -> None:
    """Otherwise twins might be caught for something that they all have."""
    toys = [one.example for one in twins.twins() if isinstance(one.example.plan, Toy)]
    # Most twins share their files: each family of them is tried once under each relation.
    files = {(id(one.files), one.plan.neighbours): one.files for one in toys}
    for (_, neighbours), family in files.items():
        if not isinstance(neighbours, NumbersWithin):
            for outcome in force(Toy(neighbours), family, np.random.default_rng(2), families=3, near=6):
                assert outcome.findings == ()


# ---------------------------------------------------------------- the command and its documents


def _quick(monkeypatch: pytest.MonkeyPatch, chosen: tuple[Example, ...], caught: tuple[Any, ...] = ()) -> None:
    """An audit of a few claims in this process."""
    monkeypatch.setattr(run, "examples", lambda: chosen)
    monkeypatch.setattr(run, "twins", lambda: caught)
    monkeypatch.setattr(run.os, "cpu_count", lambda: 1)


def _edge() -> tuple[Example, ...]:
    return tuple(one for one in ALL if one.name == "EdgeLaplace")[:2]


def test_the_command_writes_the_promised_form(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    mine = tuple(one for one in twins.twins() if one.of == "EdgeLaplace")
    _quick(monkeypatch, _edge(), mine)
    arguments = ["audit", "--neighbours", "6", "--json", str(tmp_path / "a.json"), "--out", str(tmp_path / "ledger")]
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 0, result.output
    assert "Nothing found: 2 claims" in result.output
    found = json.loads((tmp_path / "a.json").read_text())
    (plan,) = found["plans"]
    assert found["version"] == evidence.VERSION
    assert plan["plan"] == "EdgeLaplace"
    assert (plan["claims"], plan["worst_loss_over_claim"]) == (2, pytest.approx(1.0))
    assert plan["neighbours_tried"] >= 6
    assert plan["twins"] == [{"name": mine[0].name, "caught_by": "loss"}]
    assert plan["canary_lower_bound"] <= 6
    assert plan["seconds"] > 0
    kept = json.loads((tmp_path / "ledger" / evidence.evidence_name()).read_text())
    assert "seconds" not in kept["plans"][0]
    assert evidence.evidence_beside(tmp_path / "ledger" / "jobs.ledger") == kept


def test_something_found_is_exit_code_four(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    broken = next(one.example for one in twins.twins() if one.of == "EdgeLaplace")
    _quick(monkeypatch, (broken,))
    from tacita import cli

    with pytest.raises(SystemExit) as stopped:
        cli.main(["audit", "--json", str(tmp_path / "a.json")])
    assert stopped.value.code == VerificationError.exit_code == 4
    found = json.loads((tmp_path / "a.json").read_text())
    assert found["passed"] is False
    assert found["plans"][0]["findings"][0]["check"] == "loss"


def test_an_unknown_plan_is_named() -> None:
    with pytest.raises(UsageError, match="there is no plan Nonsense"):
        run.audit(("Nonsense",))


def test_a_plan_on_which_nothing_could_be_tried_has_not_passed() -> None:
    class Refusing(Toy):
        def suits(self, data: Any) -> None:
            raise UsageError("never")

    example = Example("refusing", Refusing(), twins.twins()[0].example.files)
    found, _ = try_claim(example, neighbours=8)
    assert [one.check for one in found.findings] == ["nothing tried"]


def test_plans_of_other_packages_are_audited(monkeypatch: pytest.MonkeyPatch) -> None:
    mine = Example("third party", Toy(), twins.twins()[4].example.files)
    entry = SimpleNamespace(load=lambda: lambda: [mine])
    monkeypatch.setattr(importlib.metadata, "entry_points", lambda group: [entry] if group == "tacita.plans" else [])
    assert list(examples.third_party()) == [mine]
    found, _ = try_claim(mine, neighbours=8, law_draws=500)
    assert found.findings == ()


def _report(**changed: Any) -> PlanReport:
    sound = PlanReport("EdgeLaplace", 1, Outcome(9, 9, 0, 0.9), 0.5, 1.0, (("half of the noise", "loss"),))
    return replace(sound, **changed)


def test_evidence_must_be_whole_of_this_version_and_passed() -> None:
    sound = evidence.evidence(evidence.document((_report(),)))
    assert "9 neighbouring files" in evidence.check(sound, evidence.VERSION)
    with pytest.raises(VerificationError, match=r"is about tacita"):
        evidence.check(sound, "9.9.9")
    over = Outcome(9, 9, 0, 1.2, (Finding("loss", "too much"),))
    missed = (("half of the noise", None),)
    for bad in (_report(outcome=over), _report(twins=missed)):
        with pytest.raises(VerificationError, match="did not pass"):
            evidence.check(evidence.document((bad,)), evidence.VERSION)
    for nonsense in ({}, {"form": 1}, [], {**sound, "plans": []}, {**sound, "plans": [{}]}):
        with pytest.raises(VerificationError, match=r"evidence\.json"):
            evidence.check(nonsense, evidence.VERSION)


def test_evidence_beside_a_ledger_is_of_this_version_or_not_there(tmp_path: Path) -> None:
    ledger = tmp_path / "jobs.ledger"
    assert evidence.evidence_beside(ledger) is None
    evidence.write(tmp_path / evidence.evidence_name("9.9.9"), {})
    assert evidence.evidence_beside(ledger) is None
    evidence.write(tmp_path / evidence.evidence_name(), {"form": "something else"})
    with pytest.raises(UsageError, match="make it again"):
        evidence.evidence_beside(ledger)


def test_the_full_size_is_larger() -> None:
    assert Size.full().neighbours > Size().neighbours >= 500
