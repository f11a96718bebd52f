"""One release, several promises: it counts against every cap it implies, and leaves none unanswered."""

import json
from pathlib import Path
from typing import Any

import pytest

from support.ledger_fakes import WORKER, FakeData, FakePlan, release
from tacita.errors import RefusedError, UsageError, VerificationError
from tacita.ledger import Ledger, verify_extract
from tacita.privacy import Guarantee, Loss, Neighbours, ReplaceOne, StrongAlpha, WeakAlpha

STRONG, WEAK, REPLACED = StrongAlpha("0.1"), WeakAlpha("0.1"), ReplaceOne("worker")
FILE = "jobs-2026"
DATA: Any = FakeData()


def with_caps(path: Path, *caps: tuple[Neighbours, str]) -> Ledger:
    for neighbours, cap in caps:
        ledger = Ledger.open(path, cap=Loss(cap), neighbours=neighbours)
    return ledger


def strong(name: str, loss: str) -> FakePlan:
    return FakePlan(name, Loss(loss), STRONG)


# ---------------------------------------------------------------- every cap that is implied


def test_a_strong_release_lowers_the_weak_budget_too(path: Path) -> None:
    ledger = with_caps(path, (STRONG, "1"), (WEAK, "2"))
    release(ledger, strong("a", "0.4"))
    assert ledger.spent(STRONG, FILE) == ledger.spent(WEAK, FILE) == Loss("0.4")
    assert ledger.remaining(WEAK, FILE) == Loss("1.6")
    assert [str(account.left) for account in ledger.accounts()] == ["ε = 0.6", "ε = 1.6"]
    ledger.verify()


def test_an_add_remove_release_counts_twice_for_replace_and_once_for_its_own(path: Path) -> None:
    ledger = with_caps(path, (WORKER, "1"), (REPLACED, "1"))
    release(ledger, FakePlan("a", Loss("0.5")))
    assert (ledger.spent(WORKER, FILE), ledger.spent(REPLACED, FILE)) == (Loss("0.5"), Loss("1"))
    with pytest.raises(RefusedError, match="under one worker's record replaced the cap is ε = 1, spent is ε = 1"):
        release(ledger, FakePlan("b", Loss("0.1")))


@pytest.mark.parametrize(
    ("caps", "full"), [(("1", "0.5"), "weak α = 0.1"), (("0.5", "1"), "strong α = 0.1"), (("0.5", "0.5"), "strong")]
)
def test_a_release_that_fits_one_cap_and_not_another_is_refused_naming_the_full_one(
    path: Path, caps: tuple[str, str], full: str
) -> None:
    ledger = with_caps(path, (STRONG, caps[0]), (WEAK, caps[1]))
    release(ledger, strong("a", "0.3"))
    before = path.read_bytes()
    with pytest.raises(RefusedError, match=f"under {full}.* the cap is ε = 0.5, spent is ε = 0.3, asked is ε = 0.3"):
        release(ledger, strong("b", "0.3"))
    assert path.read_bytes() == before


def test_admit_adds_up_under_every_cap(path: Path) -> None:
    ledger = with_caps(path, (STRONG, "1"), (WEAK, "0.5"))
    plans: list[Any] = [strong("a", "0.3"), strong("b", "0.2")]
    quotes = ledger.admit(plans, DATA)
    assert [(share.account.neighbours, share.charge) for share in quotes[0].shares] == [
        (STRONG, Loss("0.3")),
        (WEAK, Loss("0.3")),
    ]
    assert (quotes[0].neighbours, quotes[0].left, quotes[0].charge) == (STRONG, Loss("1"), Loss("0.3"))
    assert "and ε = 0.3 under weak α = 0.1 neighbours: cap ε = 0.5" in str(quotes[0])
    with pytest.raises(RefusedError, match=r"under weak .* the cap is ε = 0.5, spent is ε = 0, asked is ε = 0.6"):
        ledger.admit([*plans, strong("c", "0.1")], DATA)


def test_a_preview_adds_up_under_every_cap_and_changes_nothing(path: Path) -> None:
    ledger = with_caps(path, (STRONG, "1"), (WEAK, "0.5"))
    release(ledger, strong("a", "0.3"))
    before = path.read_bytes()
    promises = [Guarantee(STRONG, Loss("0.1")), Guarantee(STRONG, Loss("0.2"))]
    shares = Ledger.open(path, read_only=True).preview(promises, FILE)
    assert [(one.account.neighbours, one.charge, one.account.left, one.fits) for one in shares] == [
        (STRONG, Loss("0.3"), Loss("0.7"), True),
        (WEAK, Loss("0.3"), Loss("0.2"), False),
    ]
    assert all(share.fits for share in ledger.preview(promises, "another file"))
    assert not all(share.fits for share in ledger.preview(promises, "next year's file", [FILE]))
    assert path.read_bytes() == before


def test_a_preview_and_an_admission_take_a_cap_that_is_not_declared_yet(path: Path) -> None:
    ledger = with_caps(path, (WORKER, "2"))
    release(ledger, FakePlan("a", Loss("0.4")))
    before = path.read_bytes()
    (_, added) = ledger.preview([Guarantee(WORKER, Loss("0.3"))], FILE, cap=Loss("1.3"), neighbours=REPLACED)
    assert (added.account.neighbours, added.account.spent, added.charge) == (REPLACED, Loss("0.8"), Loss("0.6"))
    assert not added.fits
    plans: list[Any] = [FakePlan("b", Loss("0.3"))]
    with pytest.raises(RefusedError, match=r"cap is ε = 1.3, spent is ε = 0.8, asked is ε = 0.6"):
        ledger.admit(plans, DATA, cap=Loss("1.3"), neighbours=REPLACED)
    assert len(ledger.admit(plans, DATA, cap=Loss("1.4"), neighbours=REPLACED)[0].shares) == 2
    with pytest.raises(RefusedError, match=r"cannot be ε = 0.5"):
        ledger.preview([], FILE, cap=Loss("0.5"), neighbours=REPLACED)
    with pytest.raises(RefusedError, match=r"is ε = 2 \(entry 2\), not ε = 3"):
        ledger.preview([], FILE, cap=Loss("3"), neighbours=WORKER)
    assert path.read_bytes() == before


def test_caps_of_different_kinds_each_count_in_their_own(path: Path) -> None:
    Ledger.open(path, cap=Loss("1"), neighbours=STRONG)
    ledger = Ledger.open(path, cap=Loss(rho="1"), neighbours=WEAK)
    release(ledger, strong("a", "1"))
    assert ledger.spent(WEAK, FILE) == Loss(rho="0.5")
    with pytest.raises(RefusedError, match=r"cap for strong α = 0\.1 neighbours is in epsilon"):
        release(ledger, FakePlan("b", Loss(rho="0.1"), STRONG))
    with pytest.raises(RefusedError, match=r"cap for weak α = 0\.1 neighbours is in rho, and a loss with delta"):
        release(ledger, FakePlan("b", Loss("0", delta="1e-9"), STRONG))


def test_families_that_join_add_up_under_every_cap(path: Path) -> None:
    ledger = with_caps(path, (STRONG, "1"), (WEAK, "1"))
    for name in ("east", "west"):
        release(ledger, strong(name, "0.4"), FakeData(name, f"rows of {name}"))
    release(ledger, strong("both", "0.2"), FakeData("country", "rows", ("east", "west")))
    assert ledger.remaining(WEAK, "east") == ledger.remaining(WEAK, "country") == Loss.zero()


# ---------------------------------------------------------------- caps declared later


def test_a_cap_declared_later_counts_what_was_released_before(path: Path) -> None:
    ledger = with_caps(path, (STRONG, "1"))
    with pytest.raises(OSError, match="disk"):
        release(ledger, FakePlan("broken off", Loss("0.3"), STRONG, error=OSError("disk")))
    release(ledger, strong("a", "0.3"))
    ledger = with_caps(path, (WEAK, "0.7"))
    assert ledger.spent(WEAK, FILE) == Loss("0.6")
    with pytest.raises(RefusedError, match="under weak"):
        release(ledger, strong("b", "0.2"))
    ledger.verify()


def test_a_cap_that_is_exceeded_already_cannot_be_declared(path: Path) -> None:
    ledger = with_caps(path, (WORKER, "1"))
    release(ledger, FakePlan("a", Loss("0.4")))
    release(ledger, FakePlan("b", Loss("0.2")))
    before = path.read_bytes()
    with pytest.raises(RefusedError, match=r"cannot be ε = 1: jobs-2026 had lost ε = 1.2 under it by entry 5"):
        with_caps(path, (REPLACED, "1"))
    assert path.read_bytes() == before
    assert with_caps(path, (REPLACED, "1.2")).remaining(REPLACED, FILE) == Loss.zero()


def test_a_cap_in_a_kind_that_cannot_count_earlier_releases_cannot_be_declared(path: Path) -> None:
    ledger = Ledger.open(path, cap=Loss(rho="1"), neighbours=STRONG)
    release(ledger, FakePlan("a", Loss(rho="0.1"), STRONG))
    with pytest.raises(RefusedError, match=r"cap for weak α = 0\.1 neighbours is in epsilon, but a loss in rho"):
        with_caps(path, (WEAK, "5"))


def test_a_cap_that_earlier_releases_say_nothing_about_needs_a_waiver_first(path: Path) -> None:
    ledger = with_caps(path, (WORKER, "1"))
    release(ledger, FakePlan("worker level"))
    with pytest.raises(RefusedError, match=r"strong α = 0.1 .* already broken.*\(entries: 3\).*ledger\.waive"):
        with_caps(path, (STRONG, "1"))
    ledger.waive(STRONG, reason="the tables of 2025 were worker level")
    with_caps(path, (STRONG, "1"))
    (account,) = [one for one in ledger.accounts() if one.neighbours == STRONG]
    assert account.silent == (3,)
    assert "the tables of 2025 were worker level" in str(account)
    ledger.verify()


# ---------------------------------------------------------------- promises a plan says nothing about


@pytest.mark.parametrize(
    ("other", "plan"),
    [
        (STRONG, FakePlan(neighbours=WORKER)),  # worker level, as EdgeLaplace
        (STRONG, FakePlan(neighbours=WEAK)),
        (WeakAlpha("0.2"), FakePlan(neighbours=STRONG)),
        (WORKER, FakePlan(neighbours=REPLACED)),
        (REPLACED, FakePlan(loss=Loss("0.1", delta="1e-9"))),  # nothing is proved for delta > 0
    ],
)
def test_a_plan_that_is_silent_on_a_declared_promise_is_refused_until_it_is_waived(
    path: Path, other: Neighbours, plan: FakePlan
) -> None:
    ledger = Ledger.open(path, cap=Loss("1", delta="1e-6"), neighbours=plan.neighbours)
    with_caps(path, (other, "1"))
    before = path.read_bytes()
    refusal = rf"promised protection under {other} \(cap ε = 1, entry 3\), and this plan says nothing about it"
    attempts: list[Any] = [release, lambda ledger, plan: ledger.admit([plan], DATA)]
    for attempt in attempts:
        with pytest.raises(RefusedError, match=refusal) as refused:
            attempt(ledger, plan)
        assert refused.value.exit_code == 3
        assert "ledger.waive(neighbours, reason=…)" in str(refused.value)
    assert path.read_bytes() == before
    ledger.waive(other, reason="board decision of 3 March")
    release(ledger, plan)
    assert ledger.spent(plan.neighbours, FILE) == plan.loss
    assert ledger.spent(other, FILE) == Loss.zero()
    ledger.verify()


def test_a_waiver_is_shown_wherever_the_account_is(path: Path) -> None:
    ledger = with_caps(path, (STRONG, "1"), (WORKER, "1"))
    ledger.waive(STRONG, reason="board decision of 3 March")
    release(ledger, FakePlan(), label="worker level")
    note = (
        "(promise waived in entry 4: board decision of 3 March; "
        "not counted, since they say nothing about it: entries 5)"
    )
    shown = {account.neighbours: str(account) for account in ledger.accounts()}
    assert note in shown[STRONG]
    assert "waived" not in shown[WORKER]
    assert ledger.entries()[3].label == "board decision of 3 March"
    assert "strong α = 0.1 neighbours: no longer promised for later releases" in str(ledger.entries()[3])
    extract = json.loads(json.dumps(ledger.extract("worker level")))
    verify_extract(extract)
    assert ledger.verify(extract) == extract["head"]["sha256"]
    kinds = [line["entry"]["kind"] for line in extract["entries"]]
    assert kinds == ["open", "cap", "cap", "waive", "reserve", "commit"]
    assert [one["neighbours"]["kind"] for one in extract["accounts"]] == ["add-remove-one", "strong-alpha"]
    assert [one["waived"] for one in extract["accounts"]] == [None, {"entry": 4, "reason": "board decision of 3 March"}]
    assert [one["silent"] for one in extract["accounts"]] == [[], [5]]


def test_a_waived_cap_still_bounds_what_implies_it(path: Path) -> None:
    ledger = with_caps(path, (STRONG, "1"), (WEAK, "0.5"))
    ledger.waive(WEAK, reason="board")
    release(ledger, strong("a", "0.5"))
    quote = ledger.quote(strong("b", "0.1"), DATA)  # type: ignore[arg-type]
    assert "promise waived in entry 4: board" in str(quote)
    with pytest.raises(RefusedError, match="under weak"):
        release(ledger, strong("b", "0.1"))
    ledger.raise_cap(Loss("0.6"), reason="board", neighbours=WEAK)
    release(ledger, strong("b", "0.1"))


def test_a_waiver_lifts_one_promise_and_gives_no_account(path: Path) -> None:
    ledger = with_caps(path, (STRONG, "1"))
    ledger.waive(STRONG, reason="board")
    with pytest.raises(RefusedError, match="no cap is declared for one worker added or removed"):
        release(ledger, FakePlan())
    with_caps(path, (WORKER, "1"))
    release(ledger, FakePlan())
    with pytest.raises(RefusedError):
        with_caps(path, (ReplaceOne("establishment"), "1"))


def test_a_strong_release_lowers_the_workers_budget_too(path: Path) -> None:
    ledger = with_caps(path, (STRONG, "1"), (WORKER, "1"))
    release(ledger, strong("a", "0.4"))
    assert ledger.remaining(WORKER, FILE) == Loss("0.6")


def test_a_waiver_needs_a_reason_and_something_to_waive(path: Path) -> None:
    ledger = with_caps(path, (STRONG, "1"))
    with pytest.raises(UsageError, match="reason: must say why"):
        ledger.waive(STRONG, reason=" ")
    with pytest.raises(UsageError, match="nothing to waive"):
        ledger.waive(WEAK, reason="board")
    ledger.waive(STRONG, reason="board")
    with pytest.raises(UsageError, match="waived already, in entry 3"):
        ledger.waive(STRONG, reason="board again")
    with pytest.raises(RefusedError, match="reading only"):
        Ledger.open(path, read_only=True).waive(STRONG, reason="board")


def test_what_was_released_is_returned_whatever_is_promised_later(path: Path) -> None:
    ledger = with_caps(path, (STRONG, "1"))
    first = release(ledger, strong("a", "1"))
    with_caps(path, (WEAK, "1"), (WeakAlpha("0.05"), "1"))
    assert release(ledger, strong("a", "1")).content == first.content
    assert ledger.admit([strong("a", "1")], DATA)[0].stored == 3  # type: ignore[list-item]


def test_a_silent_spend_sealed_by_hand_is_noticed(path: Path) -> None:
    ledger = with_caps(path, (STRONG, "1"), (WEAK, "1"))
    release(ledger, strong("a", "0.1"))
    with ledger._store.writing() as writer:
        facts = dict(writer.records()[3].body)
        for key in ("number", "previous", "kind", "time", "private"):
            del facts[key]
        weak = {"kind": "weak-alpha", "alpha": "0.1"}
        facts |= {"guarantee": {**facts["guarantee"], "neighbours": weak}, "account": weak}
        writer.append("reserve", facts, {"fingerprint": "rows-a"})
    with pytest.raises(VerificationError, match="entry 6: this guarantee does not answer the caps of its time"):
        ledger.verify()
