"""Several releases at once, runs that end badly on the way, and ledgers that are exchanged while a run is under way."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from support.ledger_fakes import WORKER, FakeData, FakePlan, FakeResult, release
from tacita.errors import RefusedError, UsageError, VerificationError, spent
from tacita.ledger import Ledger
from tacita.privacy import Loss

DATA: Any = FakeData()


def together(*plans: FakePlan) -> list[Any]:
    return [(plan, plan.name) for plan in plans]


@dataclass(frozen=True)
class Meanwhile(FakePlan):
    """Something happens to the ledger between reservation and commit."""

    event: Callable[[], object] = lambda: None

    def run(self, data: object, entropy: Any) -> FakeResult:
        self.event()
        return super().run(data, entropy)


def kinds(ledger: Ledger) -> list[str]:
    return [entry.kind for entry in ledger.entries()][2:]


# ---------------------------------------------------------------- all or none


def test_a_set_is_reserved_in_one_step_before_the_first_run(ledger: Ledger) -> None:
    seen: list[Loss] = []
    first = Meanwhile("a", event=lambda: seen.append(ledger.spent(WORKER, "jobs-2026")))
    made = ledger.release_all(together(first, FakePlan("b"), FakePlan("a")), DATA)
    assert seen == [Loss("0.2")]
    results = [one.result.content for one in made]
    assert results[0] == results[2] != results[1]  # named twice, drawn and paid once
    assert [one.entry for one in made] == [3, 4, 3]
    assert kinds(ledger) == ["reserve", "reserve", "commit", "begin", "commit"]
    ledger.verify()


def test_a_set_that_does_not_fit_leaves_the_ledger_as_it_was(ledger: Ledger, path: Path) -> None:
    before = path.read_bytes()
    with pytest.raises(RefusedError, match=r"asked is ε = 1\.2, left is ε = 1\."):
        ledger.release_all(together(FakePlan("a", Loss("0.6")), FakePlan("b", Loss("0.6"))), DATA)
    assert path.read_bytes() == before


def test_of_two_sets_that_do_not_fit_together_the_second_spends_nothing(ledger: Ledger) -> None:
    """Both were admitted by a look at the ledger; only one can be reserved."""
    rival: list[Any] = together(FakePlan("c", Loss("0.4")), FakePlan("d", Loss("0.4")))

    def overtaken() -> None:
        with pytest.raises(RefusedError, match="budget does not allow it"):
            ledger.release_all(rival, DATA)

    ledger.release_all(together(Meanwhile("a", Loss("0.3"), event=overtaken), FakePlan("b", Loss("0.3"))), DATA)
    assert ledger.spent(WORKER, "jobs-2026") == Loss("0.6")


def test_a_run_that_fails_does_not_strand_the_others(ledger: Ledger) -> None:
    plans = together(FakePlan("a"), FakePlan("b", error=OSError("disk")), FakePlan("c"))
    with pytest.raises(OSError, match="disk") as caught:
        ledger.release_all(plans, DATA)
    assert "ε = 0.1 under one worker added or removed" in spent(caught.value)
    assert "(entry 4)" in spent(caught.value)
    assert [entry.state for entry in ledger.entries() if entry.kind == "reserve"] == [
        "released",
        "failed (OSError), counts as spent",
        "released",
    ]
    ledger.release_all(together(FakePlan("a"), FakePlan("c")), DATA)
    assert ledger.spent(WORKER, "jobs-2026") == Loss("0.3")


def test_what_was_reserved_and_not_begun_is_taken_up_for_nothing(ledger: Ledger, path: Path) -> None:
    """As after a kill in the first run: it has seen rows and stays spent, the second has not."""
    plans = together(FakePlan("a", error=KeyboardInterrupt()), FakePlan("b"))
    with pytest.raises(KeyboardInterrupt):
        ledger.release_all(plans, DATA)
    assert kinds(ledger) == ["reserve", "reserve", "failed"]
    assert ledger.entries()[3].state == "reserved, not begun; asking again takes it up"
    assert not ledger.interrupted()
    quote = ledger.quote(FakePlan("b"), DATA)
    assert (quote.waiting, quote.is_free) == (4, True)
    assert "taken up, at no charge" in str(quote)
    first = release(Ledger.open(path), FakePlan("b"))
    assert release(ledger, FakePlan("b")).content == first.content
    assert ledger.spent(WORKER, "jobs-2026") == Loss("0.2")
    ledger.verify()


def test_what_waits_is_taken_up_even_when_the_budget_is_gone(ledger: Ledger) -> None:
    with pytest.raises(KeyboardInterrupt):
        ledger.release_all(
            together(FakePlan("a", Loss("0.5"), error=KeyboardInterrupt()), FakePlan("b", Loss("0.5"))), DATA
        )
    release(ledger, FakePlan("b", Loss("0.5")))
    assert ledger.remaining(WORKER, "jobs-2026") == Loss.zero()


def test_a_beginning_out_of_place_is_noticed(ledger: Ledger) -> None:
    release(ledger, FakePlan())
    with ledger._store.writing() as writer:
        writer.append("begin", {"reserve": 3})
    with pytest.raises(VerificationError, match="entry 5: begins a run that was not waiting"):
        ledger.verify()


def test_every_plan_is_tried_out_before_anything_is_reserved(ledger: Ledger, path: Path) -> None:
    """Parameters for which there is no law of noise come to light in the forecast, not in the run."""

    @dataclass(frozen=True)
    class Lawless(FakePlan):
        def forecast(self, schema: object) -> Any:
            raise UsageError("epsilon: too small for this law")

    before = path.read_bytes()
    with pytest.raises(UsageError, match="too small"):
        ledger.release_all(together(FakePlan("a"), Lawless("b")), DATA)
    assert path.read_bytes() == before


# ---------------------------------------------------------------- exchanged on the way


def test_an_older_ledger_put_back_during_a_run_is_not_written_to(ledger: Ledger, path: Path) -> None:
    release(ledger, FakePlan("before"))
    older = path.read_bytes()
    with pytest.raises(VerificationError, match=r"older state while a run was under way: entry 5 is not in it"):
        release(ledger, Meanwhile(event=lambda: path.write_bytes(older)))
    assert path.read_bytes() == older
    ledger.verify()
    release(ledger, FakePlan())
    assert ledger.spent(WORKER, "jobs-2026") == Loss("0.2")


def test_another_entry_in_the_place_of_the_reservation_is_noticed(ledger: Ledger, path: Path) -> None:
    release(ledger, FakePlan("before"))
    older = path.read_bytes()

    def exchanged() -> None:
        path.write_bytes(older)
        release(ledger, FakePlan("other"))

    with pytest.raises(VerificationError, match="entry 5 is not in it"):
        release(ledger, Meanwhile(event=exchanged))
    ledger.verify()
    assert ledger.spent(WORKER, "jobs-2026") == Loss("0.2")


def test_a_ledger_removed_during_a_run_is_said_to_be_gone(ledger: Ledger, path: Path) -> None:
    with pytest.raises(VerificationError, match="no result was kept or handed out"):
        release(ledger, Meanwhile(event=path.unlink))
    assert not path.exists()


# ---------------------------------------------------------------- rows that change


def test_rows_that_change_before_the_run_cost_nothing_and_after_it_give_no_result(ledger: Ledger, path: Path) -> None:
    @dataclass(frozen=True)
    class Watched(FakeData):
        until: int = 0

        def refuse_changed(self) -> None:
            looks.append(1)
            if len(looks) > self.until:
                raise RefusedError("data: was changed")

    looks: list[int] = []
    before = path.read_bytes()
    with pytest.raises(RefusedError, match="was changed"):
        release(ledger, FakePlan(), Watched(until=1))
    assert path.read_bytes() == before
    looks.clear()
    with pytest.raises(RefusedError, match=r"(?s)was changed.*Spent all the same"):
        release(ledger, FakePlan(), Watched(until=2))
    assert ledger.quote(FakePlan(), DATA).stored is None


# ---------------------------------------------------------------- a report that fails


def test_a_report_that_raises_loses_no_result_and_burns_nothing(ledger: Ledger) -> None:
    def broken(label: str) -> None:
        raise RuntimeError(f"no screen for {label}")

    made = ledger.release_all(together(FakePlan("a"), FakePlan("b")), DATA, starting=broken)
    assert [one.entry for one in made] == [3, 4]
    assert kinds(ledger) == ["reserve", "reserve", "commit", "begin", "commit"]
    assert not ledger.interrupted()


def test_a_person_who_interrupts_the_report_gets_the_result_at_no_charge(ledger: Ledger) -> None:
    def interrupted(label: str) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        ledger.release_all(together(FakePlan("a"), FakePlan("b")), DATA, starting=interrupted)
    assert kinds(ledger) == ["reserve", "reserve", "commit"]  # the second was not begun: it waits
    assert not ledger.interrupted()
    ledger.release_all(together(FakePlan("a"), FakePlan("b")), DATA)
    assert ledger.spent(WORKER, "jobs-2026") == Loss("0.2")
