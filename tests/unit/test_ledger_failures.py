"""Runs that go wrong after they were paid for: what stays spent, what is written down and what is not."""

import json
import logging
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from support.ledger_fakes import WORKER, FakeData, FakePlan, FakeResult, release
from tacita.errors import RefusedError
from tacita.ledger import Ledger
from tacita.privacy import Loss


def test_a_failed_run_stays_spent_and_its_message_is_not_written_down(ledger: Ledger, path: Path) -> None:
    with pytest.raises(ZeroDivisionError, match="secret-wage-91234"):
        release(ledger, FakePlan(error=ZeroDivisionError("secret-wage-91234")))
    assert ledger.spent(WORKER, "jobs-2026") == Loss("0.1")
    assert [entry.kind for entry in ledger.entries()] == ["open", "cap", "reserve", "failed"]
    assert ledger.entries()[2].state == "failed (ZeroDivisionError), counts as spent"
    assert b"91234" not in path.read_bytes()
    ledger.verify()


def test_an_interrupted_run_is_recorded_as_well(ledger: Ledger) -> None:
    with pytest.raises(KeyboardInterrupt):
        release(ledger, FakePlan(error=KeyboardInterrupt()))
    assert ledger.spent(WORKER, "jobs-2026") == Loss("0.1")
    assert not ledger.interrupted()


def test_a_rehearsal_result_is_refused_and_not_stored(ledger: Ledger) -> None:
    with pytest.raises(RefusedError, match=r"(?s)returned a rehearsal.*Spent all the same"):
        release(ledger, FakePlan(rehearsal=True))
    assert [entry.kind for entry in ledger.entries()][-1] == "failed"
    assert ledger.quote(FakePlan(), FakeData()).stored is None  # type: ignore[arg-type]


def test_asking_again_after_a_failure_is_a_new_charge_that_says_so(
    ledger: Ledger, caplog: pytest.LogCaptureFixture
) -> None:
    with pytest.raises(OSError, match="disk"):
        release(ledger, FakePlan(loss=Loss("0.4"), error=OSError("disk")))
    quote = ledger.quote(FakePlan(loss=Loss("0.4")), FakeData())  # type: ignore[arg-type]
    assert (quote.unfinished, quote.stored, quote.left) == ((3,), None, Loss("0.6"))
    assert "asking again is a new charge" in str(quote)
    with caplog.at_level(logging.WARNING):
        release(ledger, FakePlan(loss=Loss("0.4")))
    assert "asking again is a new charge" in caplog.text
    assert ledger.spent(WORKER, "jobs-2026") == Loss("0.8")


def test_the_refusal_after_a_failure_says_where_the_budget_went(ledger: Ledger) -> None:
    with pytest.raises(OSError, match="disk"):
        release(ledger, FakePlan(loss=Loss("0.8"), error=OSError("disk")))
    with pytest.raises(RefusedError, match=r"never delivered a result \(entries: 3\)"):
        release(ledger, FakePlan(loss=Loss("0.8")))


def test_a_reservation_whose_end_was_never_written_stays_spent_and_is_listed(ledger: Ledger, path: Path) -> None:
    """As after a kill: the run has begun, and then nothing more reaches the file."""

    @dataclass(frozen=True)
    class Cut(FakePlan):
        def run(self, data: object, entropy: Any) -> FakeResult:
            ledger._store.read_only = True
            return super().run(data, entropy)

    with pytest.raises(RefusedError):  # and the result that could not be stored is not handed out
        release(ledger, Cut(loss=Loss("0.4")))
    ledger = Ledger.open(path)
    assert [entry.number for entry in ledger.interrupted()] == [3]
    assert ledger.interrupted()[0].state == "reserved, never finished, counts as spent"
    assert ledger.remaining(WORKER, "jobs-2026") == Loss("0.6")
    release(ledger, FakePlan(loss=Loss("0.4")))
    assert ledger.remaining(WORKER, "jobs-2026") == Loss("0.2")
    assert [entry.number for entry in ledger.interrupted()] == [3]
    assert "after_unfinished" not in json.dumps(ledger.extract(4))  # how it went is not for the public
    ledger.verify()


def test_a_run_that_fails_when_its_failure_cannot_be_written_still_says_why(ledger: Ledger, path: Path) -> None:
    @dataclass(frozen=True)
    class Cut(FakePlan):
        def run(self, data: object, entropy: Any) -> FakeResult:
            ledger._store.read_only = True
            raise MemoryError

    with pytest.raises(MemoryError):
        release(ledger, Cut())
    assert len(Ledger.open(path).interrupted()) == 1
