"""A release counts against every cap that its guarantee implies: what `plan` says, what `run` does, what verifies."""

import json
from pathlib import Path
from typing import Any

import pytest

from support.command_line import SPEC, Call
from tacita.ledger import Ledger
from tacita.privacy import AddRemoveOne, Loss, Neighbours, ReplaceOne, StrongAlpha, WeakAlpha

STRONG, WEAK, WORKER = StrongAlpha("0.1"), WeakAlpha("0.1"), AddRemoveOne("worker")
ONE, ANOTHER = AddRemoveOne("establishment"), ReplaceOne("establishment")
CAPS = {
    STRONG: 'neighbours = "strong"\nalpha = "0.1"',
    WEAK: 'neighbours = "weak"\nalpha = "0.1"',
    WORKER: 'neighbours = "add-remove"\nunit = "worker"',
    ONE: 'neighbours = "add-remove"\nunit = "establishment"',
    ANOTHER: 'neighbours = "replace"\nunit = "establishment"',
}


def write_spec(folder: Path, relation: Neighbours, cap: str, *, epsilon: str = "1", name: str = "places") -> Path:
    """A table that says something about every relation of its family."""
    if isinstance(relation, StrongAlpha | WeakAlpha):
        method = 'mechanism = "SmoothStaircase"\ndefinition = "strong"'
    else:
        method = 'mechanism = "TruncatedLaplace"\ntheta = 20'
    spec = folder / f"{name}.toml"
    spec.write_text(
        f'{SPEC[: SPEC.index("[cap]")]}[cap]\n{CAPS[relation]}\nepsilon = "{cap}"\n'
        f'[[table]]\nname = "{name}"\nby = ["place"]\nepsilon = "{epsilon}"\n{method}\n'
    )
    return spec


def declare(folder: Path, *caps: tuple[Neighbours, str]) -> Ledger:
    for relation, epsilon in caps:
        ledger = Ledger.open(folder / "jobs.ledger", cap=Loss(epsilon), neighbours=relation)
    return ledger


# The relation of [cap] and its epsilon; the other cap; whether a table of ε = 1 may be released.
SITUATIONS: list[tuple[Neighbours, str, Neighbours, str, bool]] = [
    (STRONG, "2", WEAK, "1", True),
    (STRONG, "2", WEAK, "1/2", False),
    (WEAK, "2", STRONG, "1/2", False),
    (STRONG, "2", WORKER, "1/2", False),
    (ONE, "2", ANOTHER, "2", True),
    (ONE, "2", ANOTHER, "3/2", False),  # replacing one is removing one and adding another: twice the loss
    (ANOTHER, "2", ONE, "1", True),
    (ANOTHER, "2", ONE, "1/2", False),
]


@pytest.mark.parametrize(("relation", "cap", "other", "limit", "fits"), SITUATIONS)
@pytest.mark.parametrize("declared", [True, False])
def test_plan_foresees_what_run_does(
    folder: Path,
    tacita: Call,
    relation: Neighbours,
    cap: str,
    other: Neighbours,
    limit: str,
    fits: bool,
    declared: bool,
) -> None:
    declare(folder, (other, limit), *([(relation, cap)] if declared else []))
    spec = write_spec(folder, relation, cap)
    before = (folder / "jobs.ledger").read_bytes()
    planned = tacita("plan", spec)
    assert planned.code == (0 if fits else 3), planned.err
    assert (folder / "jobs.ledger").read_bytes() == before
    assert ("It fits every cap" in planned.out) == fits
    assert ("would refuse" in planned.out) != fits
    assert str(other) in planned.out
    assert ("has no cap for" in planned.out) != declared

    done = tacita("run", spec, "--out", folder / "bundle")
    assert done.code == (0 if fits else 3), done.err
    if fits:
        checked = tacita("verify", folder / "bundle", "--ledger", folder / "jobs.ledger")
        assert checked.code == 0, checked.err
    else:
        assert f"under {other}" in done.err
        assert (folder / "jobs.ledger").read_bytes() == before


def test_what_others_spent_under_another_cap_counts(folder: Path, tacita: Call) -> None:
    declare(folder, (WEAK, "3/2"), (STRONG, "5"))
    assert tacita("run", write_spec(folder, STRONG, "5"), "--out", folder / "one").code == 0
    again = write_spec(folder, STRONG, "5", epsilon="3/4", name="more")
    said = tacita("plan", again).out
    assert "weak α = 0.1 neighbours ε = 1.5 ε = 1 ε = 0.75 too little" in said
    assert "strong α = 0.1 neighbours ε = 5 ε = 1 ε = 0.75 ε = 3.25" in said
    assert "does not fit what is left under weak α = 0.1 neighbours (ε = 0.5)" in said
    assert tacita("run", again, "--out", folder / "two").code == 3


def test_a_promise_that_the_plan_is_silent_on_is_foreseen(folder: Path, tacita: Call) -> None:
    ledger = declare(folder, (WORKER, "2"))
    spec = write_spec(folder, ONE, "2")
    said = tacita("plan", spec).out
    assert "The ledger does not allow it: `tacita run` would refuse." in said
    assert "says nothing about it" in said
    assert tacita("run", spec, "--out", folder / "one").code == 3
    ledger.waive(WORKER, reason="The board decided so on 1 March.")
    said = tacita("plan", spec).out
    assert "says nothing about one worker added or removed; that promise was waived on record" in said
    assert "It fits" in said
    assert tacita("run", spec, "--out", folder / "one").code == 0


def test_a_cap_that_cannot_hold_what_was_released_is_foreseen(folder: Path, tacita: Call) -> None:
    assert tacita("run", write_spec(folder, ONE, "5"), "--out", folder / "one").code == 0
    spec = write_spec(folder, ANOTHER, "3/2", epsilon="1/4", name="more")
    said = tacita("plan", spec).out
    assert "cannot be ε = 1.5" in said
    assert "It fits" not in said
    assert tacita("run", spec, "--out", folder / "two").code == 3


# ---------------------------------------------------------------- the bundle


def _ledger(bundle: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((bundle / "ledger.json").read_text())
    return found


def test_a_bundle_kept_under_replace_one_verifies_where_the_entry_names_add_remove(folder: Path, tacita: Call) -> None:
    declare(folder, (ONE, "3"), (ANOTHER, "6"))
    bundle = folder / "bundle"
    assert tacita("run", write_spec(folder, ANOTHER, "6"), "--out", bundle).code == 0
    ledger = _ledger(bundle)
    (entry,) = [line["entry"] for line in ledger["extract"]["entries"] if line["entry"]["kind"] == "reserve"]
    assert (entry["account"]["kind"], entry["charge"]["epsilon"]) == ("add-remove-one", "1")
    assert (ledger["neighbours"]["kind"], ledger["this_release"]["epsilon"]) == ("replace-one", "2")
    assert (ledger["cap"]["epsilon"], ledger["left"]["epsilon"]) == ("6", "4")
    assert tacita("verify", bundle).code == 0


def test_two_tables_that_ask_for_the_same_are_paid_for_once(folder: Path, tacita: Call) -> None:
    spec = folder / "release.toml"
    table = SPEC[SPEC.index("[[table]]") :]
    spec.write_text(SPEC + table.replace('"places"', '"again"') + 'title = "The same, unrounded"\nintegers = false\n')
    assert "ε = 1 would be left" in tacita("plan", spec).out
    done = tacita("run", spec, "--out", folder / "bundle")
    assert done.code == 0, done.err
    assert "after ε = 1 ε = 1" in done.out
    checked = tacita("verify", folder / "bundle")
    assert checked.code == 0, checked.err


def test_the_page_names_the_promises_that_were_waived(folder: Path, tacita: Call) -> None:
    ledger = declare(folder, (WORKER, "2"), (STRONG, "5"))
    ledger.waive(WORKER, reason="Workers are covered by <another> act.")
    assert tacita("run", write_spec(folder, STRONG, "5"), "--out", folder / "one").code == 0
    page = (folder / "one" / "report.html").read_text()
    section = page[page.index("<h2>The guarantee") : page.index("<h2>The budget")]
    assert "Promises that were lifted" in section
    assert "Whether any one worker is in the file at all" in section
    assert "covered by &lt;another&gt; act. This release keeps it all the same." in section


def test_the_page_says_where_a_release_is_silent_on_a_waived_promise(folder: Path, tacita: Call) -> None:
    ledger = declare(folder, (WORKER, "2"))
    ledger.waive(WORKER, reason="The board decided so")
    assert tacita("run", write_spec(folder, ONE, "2"), "--out", folder / "one").code == 0
    page = (folder / "one" / "report.html").read_text()
    assert "in entry 3 of the ledger. The reason on record: The board decided so. This release says nothing" in page


def test_a_page_without_waivers_does_not_speak_of_them(folder: Path, tacita: Call) -> None:
    assert tacita("run", write_spec(folder, STRONG, "5"), "--out", folder / "one").code == 0
    assert "lifted" not in (folder / "one" / "report.html").read_text()
