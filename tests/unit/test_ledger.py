"""The ledger as a person meets it: what it pays for and what it refuses."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from support.ledger_fakes import FILE_ALONE, WORKER, FakeData, FakePlan, FakeResult, FakeSchema, release
from tacita.errors import RefusedError, SchemaError, TacitaError, UsageError
from tacita.ledger import Ledger
from tacita.noise.entropy import SeededEntropy, SystemEntropy
from tacita.privacy import AddRemoveOne, Loss, ReplaceOne, StrongAlpha, WeakAlpha

# ---------------------------------------------------------------- spending


@pytest.mark.parametrize(("loss", "times"), [("0.1", 10), ("1/3", 3), ("1", 1), ("1/7", 7)])
def test_equal_shares_fill_the_cap_exactly_and_the_next_is_refused(ledger: Ledger, loss: str, times: int) -> None:
    for turn in range(times):
        release(ledger, FakePlan(f"table {turn}", Loss(loss)))
    assert ledger.spent(WORKER, "jobs-2026") == Loss("1")
    assert ledger.remaining(WORKER, "jobs-2026") == Loss.zero()
    with pytest.raises(RefusedError, match=r"cap is ε = 1, spent is ε = 1, asked is ε = 0.001, left is ε = 0\."):
        release(ledger, FakePlan("one more", Loss("0.001")))


def test_the_same_request_returns_the_stored_bytes_whatever_the_label(ledger: Ledger, path: Path) -> None:
    first = release(ledger, FakePlan(), label="2026 tables")
    before = path.read_bytes()
    again = release(Ledger.open(path), FakePlan(), label="another label")
    assert again.to_bytes() == first.to_bytes()
    assert path.read_bytes() == before


def test_a_stored_result_is_returned_even_when_the_budget_is_gone(ledger: Ledger) -> None:
    first = release(ledger, FakePlan(loss=Loss("1")))
    assert release(ledger, FakePlan(loss=Loss("1"))).to_bytes() == first.to_bytes()


def test_other_rows_or_another_domain_are_another_request(ledger: Ledger) -> None:
    first = release(ledger, FakePlan())
    other_rows = release(ledger, FakePlan(), FakeData(content="rows-b"))
    levels = FakeSchema({"place": {"levels": ["01", "02", "03"], "label": "Place"}})
    other_domain = release(ledger, FakePlan(), FakeData(schema=levels))
    assert len({first.content, other_rows.content, other_domain.content}) == 3
    assert ledger.spent(WORKER, "jobs-2026") == Loss("0.3")


def test_a_corrected_label_is_still_the_same_request(ledger: Ledger) -> None:
    first = release(ledger, FakePlan())
    wording = FakeSchema({"place": {"levels": ["01", "02"], "label": "Place of work"}})
    assert release(ledger, FakePlan(), FakeData(schema=wording)).content == first.content


def test_the_same_description_with_another_promise_is_another_request(ledger: Ledger) -> None:
    @dataclass(frozen=True)
    class Vague(FakePlan):
        def describe(self) -> dict[str, Any]:
            return {"plan": "vague"}

    first = release(ledger, Vague(loss=Loss("0.1")))
    assert release(ledger, Vague(loss=Loss("0.2"))).content != first.content
    assert ledger.spent(WORKER, "jobs-2026") == Loss("0.3")


def test_of_two_equal_runs_side_by_side_the_second_waits_and_gets_the_same_for_nothing(ledger: Ledger) -> None:
    @dataclass(frozen=True)
    class Slow(FakePlan):
        def run(self, data: object, entropy: Any) -> FakeResult:
            running.set()
            time.sleep(0.3)
            return super().run(data, entropy)

    running = threading.Event()
    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(release, ledger, Slow())
        running.wait()
        second = pool.submit(release, ledger, FakePlan())
        assert first.result().content == second.result().content
    assert ledger.spent(WORKER, "jobs-2026") == Loss("0.1")


@FILE_ALONE
def test_a_turn_that_a_killed_run_left_behind_is_cleared_away(ledger: Ledger, path: Path) -> None:
    left = path.with_name(f".{path.name}.{'0' * 32}.running")
    left.touch()
    release(ledger, FakePlan())
    assert [one.name for one in path.parent.iterdir()] == [path.name]


# ---------------------------------------------------------------- families


def test_a_renamed_copy_finds_its_own_budget_and_its_own_results(ledger: Ledger) -> None:
    first = release(ledger, FakePlan(loss=Loss("0.7")))
    renamed = FakeData(identity="brand-new")
    assert ledger.remaining(WORKER, renamed) == Loss("0.3")  # type: ignore[arg-type]
    assert release(ledger, FakePlan(loss=Loss("0.7")), renamed).content == first.content
    with pytest.raises(RefusedError, match=r"for brand-new .* shares its budget with jobs-2026"):
        release(ledger, FakePlan("other", Loss("0.4")), renamed)


def test_a_new_vintage_and_declared_lineage_share_the_budget(ledger: Ledger) -> None:
    release(ledger, FakePlan(loss=Loss("0.5")))
    release(ledger, FakePlan(loss=Loss("0.2")), FakeData(content="rows of the next quarter"))
    heir = FakeData(identity="jobs-2027", content="rows-c", lineage=("jobs-2026",))
    assert ledger.remaining(WORKER, heir) == Loss("0.3")  # type: ignore[arg-type]
    with pytest.raises(RefusedError, match=r"left is ε = 0\.3"):
        release(ledger, FakePlan(loss=Loss("0.4")), heir)
    release(ledger, FakePlan(loss=Loss("0.3")), heir)
    assert ledger.remaining(WORKER, "jobs-2026") == Loss.zero()


def test_unrelated_data_sets_have_budgets_of_their_own(ledger: Ledger) -> None:
    release(ledger, FakePlan(loss=Loss("1")))
    release(ledger, FakePlan(loss=Loss("1")), FakeData("hospital stays", "rows-h"))
    assert [account.identities for account in ledger.accounts()] == [("jobs-2026",), ("hospital stays",)]
    assert {account.left for account in ledger.accounts()} == {Loss.zero()}


def test_families_that_turn_out_to_be_one_may_hold_more_than_the_cap_and_spend_no_more(ledger: Ledger) -> None:
    release(ledger, FakePlan(loss=Loss("0.6")), FakeData("east", "rows-e"))
    release(ledger, FakePlan(loss=Loss("0.3")), FakeData("west", "rows-w"))
    both = FakeData("country", "rows-ew", ("east", "west"))
    release(ledger, FakePlan(loss=Loss("0.1")), both)
    for identity in ("east", "west", "country"):
        assert ledger.spent(WORKER, identity) == Loss("1")
    release(ledger, FakePlan(loss=Loss("1")), FakeData("north", "rows-n"))
    with pytest.raises(RefusedError, match=r"spent is ε = 2, .* left is ε = 0\."):
        release(ledger, FakePlan(loss=Loss("0.1")), FakeData("all", "rows-all", ("country", "north")))
    ledger.verify()


# ---------------------------------------------------------------- accounts


def test_a_strong_promise_is_paid_from_a_weak_account_when_there_is_no_strong_one(path: Path) -> None:
    Ledger.open(path, cap=Loss("1"), neighbours=WeakAlpha("0.05"))
    ledger = Ledger.open(path, cap=Loss("1"), neighbours=WeakAlpha("0.1"))
    release(ledger, FakePlan(loss=Loss("0.4"), neighbours=StrongAlpha("0.1")))
    assert ledger.spent(WeakAlpha("0.1"), "jobs-2026") == Loss("0.4")
    assert ledger.spent(WeakAlpha("0.05"), "jobs-2026") == Loss("0.4")
    assert ledger.entries()[3].neighbours == WeakAlpha("0.1")  # the entry names the one that protects most


def test_add_remove_is_paid_twice_from_a_replace_account(path: Path) -> None:
    ledger = Ledger.open(path, cap=Loss("1"), neighbours=ReplaceOne("worker"))
    release(ledger, FakePlan(loss=Loss("0.5")))
    assert ledger.remaining(ReplaceOne("worker"), "jobs-2026") == Loss.zero()


def test_a_pure_loss_is_paid_in_rho_where_the_cap_is_in_rho_and_not_the_other_way_round(tmp_path: Path) -> None:
    in_rho = Ledger.open(tmp_path / "rho.ledger", cap=Loss(rho="1"), neighbours=WORKER)
    release(in_rho, FakePlan(loss=Loss("1")))
    release(in_rho, FakePlan(loss=Loss(rho="0.5")))
    assert in_rho.spent(WORKER, "jobs-2026") == Loss(rho="1")
    in_epsilon = Ledger.open(tmp_path / "epsilon.ledger", cap=Loss("1"), neighbours=WORKER)
    with pytest.raises(RefusedError, match="cap for one worker added or removed is in epsilon"):
        release(in_epsilon, FakePlan(loss=Loss(rho="0.5")))


def test_delta_is_capped_too(ledger: Ledger) -> None:
    with pytest.raises(RefusedError, match="budget does not allow it"):
        release(ledger, FakePlan(loss=Loss("0.1", delta="1e-9")))


def test_a_relation_without_a_cap_is_refused_with_the_way_to_declare_one(ledger: Ledger) -> None:
    match = r"no cap is declared for one establishment added or removed .*Ledger\.open\(path, cap="
    with pytest.raises(RefusedError, match=match):
        release(ledger, FakePlan(neighbours=AddRemoveOne("establishment")))
    with pytest.raises(RefusedError, match="no cap is declared"):
        ledger.remaining(ReplaceOne("worker"), "jobs-2026")


# ---------------------------------------------------------------- caps


def test_opening_again_needs_the_same_cap_or_none(ledger: Ledger, path: Path) -> None:
    before = path.read_bytes()
    Ledger.open(path)
    Ledger.open(path, cap=Loss("1"), neighbours=WORKER)
    with pytest.raises(RefusedError, match=r"is ε = 1 \(entry 2\), not ε = 2; .*raise_cap"):
        Ledger.open(path, cap=Loss("2"), neighbours=WORKER)
    assert path.read_bytes() == before


def test_a_cap_rises_only_with_a_reason_that_stays_on_record(ledger: Ledger, path: Path) -> None:
    with pytest.raises(UsageError, match="reason: must say why"):
        ledger.raise_cap(Loss("2"), reason=" ")
    with pytest.raises(RefusedError, match="a cap only rises"):
        ledger.raise_cap(Loss("0.5"), reason="tighter")
    with pytest.raises(RefusedError, match="same kind of loss"):
        ledger.raise_cap(Loss(rho="9"), reason="other kind")
    ledger.raise_cap(Loss("2"), reason="board decision of 3 March")
    release(ledger, FakePlan(loss=Loss("1.5")))
    assert ledger.entries()[2].label == "board decision of 3 March"
    assert ledger.caps() == {WORKER: Loss("2")}
    ledger.verify()
    with pytest.raises(RefusedError, match="entry 3"):
        Ledger.open(path, cap=Loss("1.5"), neighbours=WORKER)


def test_the_cap_from_before_a_raise_still_opens_the_ledger_and_the_raised_one_holds(
    ledger: Ledger, path: Path
) -> None:
    for epsilon in ("2", "3"):
        ledger.raise_cap(Loss(epsilon), reason="board")
    before = path.read_bytes()
    for epsilon in ("1", "2", "3"):
        opened = Ledger.open(path, cap=Loss(epsilon), neighbours=WORKER)
        assert opened.caps() == {WORKER: Loss("3")}
    assert path.read_bytes() == before
    assert ledger.raised_from(WORKER) == (Loss("1"), Loss("2"))
    Ledger.open(path, cap=Loss("1"), neighbours=WORKER, holds="always")  # firmer, and not lower again
    assert ledger.caps() == {WORKER: Loss("3")}
    assert ledger.raised_from(WORKER) == (Loss("1"), Loss("2"))
    ledger.verify()


def test_raise_cap_needs_the_relation_where_there_are_several(ledger: Ledger, path: Path) -> None:
    Ledger.open(path, cap=Loss("1"), neighbours=StrongAlpha("0.1"))
    with pytest.raises(UsageError, match="several caps"):
        ledger.raise_cap(Loss("2"), reason="why not")
    ledger.raise_cap(Loss("2"), reason="board", neighbours=StrongAlpha("0.1"))
    assert ledger.caps() == {WORKER: Loss("1"), StrongAlpha("0.1"): Loss("2")}
    with pytest.raises(UsageError, match="no cap is declared for weak"):
        ledger.raise_cap(Loss("2"), reason="board", neighbours=WeakAlpha("0.1"))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "no such file; correct the path|there is none on this server; correct the address"),
        ({"cap": Loss("1")}, "cap and neighbours go together"),
        ({"neighbours": WORKER}, "cap and neighbours go together"),
        ({"cap": Loss.zero(), "neighbours": WORKER}, "cap: must be above 0"),
        ({"cap": Loss("1"), "neighbours": WORKER, "read_only": True}, "read_only"),
    ],
)
def test_a_wrong_opening_creates_nothing(path: Path, arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        Ledger.open(path, **arguments)
    assert not path.exists()


def test_a_missing_folder_is_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="its folder does not exist"):
        Ledger.open(tmp_path / "nowhere" / "x.ledger", cap=Loss("1"), neighbours=WORKER)


# ---------------------------------------------------------------- refusals leave no trace


@pytest.mark.parametrize(
    ("plan", "error"),
    [
        (FakePlan(column="missing"), SchemaError),
        (FakePlan(loss=Loss("1.01")), RefusedError),
        (FakePlan(holds="never"), RefusedError),
        (FakePlan(neighbours=AddRemoveOne("establishment")), RefusedError),
    ],
)
def test_what_is_refused_before_the_reservation_leaves_the_file_as_it_was(
    ledger: Ledger, path: Path, plan: FakePlan, error: type[TacitaError]
) -> None:
    release(ledger, FakePlan("first"))
    before = path.read_bytes()
    with pytest.raises(error):
        release(ledger, plan)
    assert path.read_bytes() == before
    assert isinstance(path, str) or [one.name for one in path.parent.iterdir()] == [path.name]


class OwnWords(SystemEntropy):
    """Calls itself the system's source, and could listen to every draw or make no noise at all."""

    __slots__ = ()


def test_the_systems_own_source_may_be_named(ledger: Ledger) -> None:
    ledger.release(FakePlan(), FakeData(), label="x", entropy=SystemEntropy())  # type: ignore[arg-type]


def test_another_source_and_an_empty_label_are_refused_without_a_trace(ledger: Ledger, path: Path) -> None:
    before = path.read_bytes()
    for other in (SeededEntropy(1), OwnWords(), object()):
        with pytest.raises(RefusedError, match="entropy: a release draws from the operating system alone"):
            ledger.release(FakePlan(), FakeData(), label="x", entropy=other)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="label: must say"):
        release(ledger, FakePlan(), label="")
    assert path.read_bytes() == before


def test_a_plan_that_cannot_be_described_exactly_is_refused(ledger: Ledger) -> None:
    @dataclass(frozen=True)
    class Odd(FakePlan):
        def describe(self) -> dict[str, Any]:
            return {"scale": float("nan")}

    with pytest.raises(UsageError, match="JSON cannot carry"):
        release(ledger, Odd())


# ---------------------------------------------------------------- several at once


def test_admit_refuses_a_set_of_releases_that_does_not_fit_as_a_whole(ledger: Ledger, path: Path) -> None:
    release(ledger, FakePlan("done", Loss("0.4")))
    before = path.read_bytes()
    fits: list[Any] = [FakePlan("done", Loss("0.4")), FakePlan("a", Loss("0.3")), FakePlan("b", Loss("0.3"))]
    data: Any = FakeData()
    assert [quote.stored for quote in ledger.admit(fits, data)] == [3, None, None]
    assert ledger.admit([*fits, fits[1]], data)[-1].charge == Loss("0.3")  # named twice, paid once
    with pytest.raises(RefusedError, match=r"spent is ε = 0.4, asked is ε = 0.7, left is ε = 0.6"):
        ledger.admit([*fits, FakePlan("c")], data)
    assert path.read_bytes() == before
