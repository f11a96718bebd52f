"""The ledger as a person meets it: what it pays for, what it refuses, what it remembers."""

from __future__ import annotations

import json
import logging
import random
import secrets
import sqlite3
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tacita.errors import RefusedError, SchemaError, TacitaError, UsageError, VerificationError
from tacita.ledger import Ledger, verify_extract
from tacita.privacy import AddRemoveOne, Guarantee, Loss, Neighbours, ReplaceOne, StrongAlpha, WeakAlpha

WORKER = AddRemoveOne("worker")
TENTH = Loss("0.1")


@dataclass(frozen=True)
class FakeSchema:
    variables: dict[str, Any] = field(default_factory=lambda: {"place": {"levels": ["01", "02"], "label": "Place"}})

    def to_dict(self) -> dict[str, Any]:
        return {"dataset": {}, "variables": self.variables}


@dataclass(frozen=True)
class FakeData:
    identity: str = "jobs-2026"
    content: str = "rows-a"
    lineage: tuple[str, ...] = ()
    schema: FakeSchema = FakeSchema()

    def fingerprint(self) -> str:
        return self.content

    def check(self, columns: tuple[str, ...]) -> None:
        if "missing" in columns:
            raise SchemaError("missing: the file lacks this declared column")


@dataclass(frozen=True)
class FakeResult:
    content: bytes
    rehearsal: bool = False

    def to_bytes(self) -> bytes:
        return self.content


@dataclass(frozen=True)
class FakePlan:
    """Returns 32 fresh random bytes, so that a second draw could never be mistaken for the first."""

    name: str = "table"
    loss: Loss = TENTH
    neighbours: Neighbours = WORKER
    holds: Any = "always"
    reads: str = "place"
    error: BaseException | None = None
    rehearsal: bool = False
    proof: str = "none.md"

    @property
    def guarantee(self) -> Guarantee:
        return Guarantee(self.neighbours, self.loss, self.holds)

    def describe(self) -> dict[str, Any]:
        return {"plan": "fake", "name": self.name, "loss": repr(self.loss)}

    def columns(self, schema: object) -> tuple[str, ...]:
        return (self.reads,)

    def forecast(self, schema: object) -> Any:
        raise NotImplementedError

    def run(self, data: object, entropy: Any) -> FakeResult:
        if self.error is not None:
            raise self.error
        return FakeResult(secrets.token_bytes(32), self.rehearsal)

    def restore(self, stored: bytes) -> FakeResult:
        return FakeResult(stored)


@dataclass(frozen=True)
class FakeEntropy:
    rehearsal: bool = False


def release(ledger: Ledger, plan: FakePlan, data: FakeData | None = None, label: str = "tables") -> FakeResult:
    found: FakeResult = ledger.release(plan, data or FakeData(), label=label, entropy=FakeEntropy())  # type: ignore[arg-type]
    return found


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "panel.ledger"


@pytest.fixture
def ledger(path: Path) -> Ledger:
    return Ledger.open(path, cap=Loss("1"), neighbours=WORKER)


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


def test_relations_are_separate_accounts(path: Path) -> None:
    ledger = Ledger.open(path, cap=Loss("1"), neighbours=StrongAlpha("0.1"))
    ledger = Ledger.open(path, cap=Loss("2"), neighbours=WeakAlpha("0.1"))
    release(ledger, FakePlan("strong", Loss("1"), StrongAlpha("0.1")))
    assert ledger.remaining(WeakAlpha("0.1"), "jobs-2026") == Loss("2")
    with pytest.raises(RefusedError, match=r"under strong α = 0\.1 neighbours the cap is ε = 1"):
        release(ledger, FakePlan("more", Loss("1"), StrongAlpha("0.1")))


def test_a_strong_promise_is_paid_from_a_weak_account_when_there_is_no_strong_one(path: Path) -> None:
    Ledger.open(path, cap=Loss("1"), neighbours=WeakAlpha("0.05"))
    ledger = Ledger.open(path, cap=Loss("1"), neighbours=WeakAlpha("0.1"))
    release(ledger, FakePlan(loss=Loss("0.4"), neighbours=StrongAlpha("0.1")))
    assert ledger.spent(WeakAlpha("0.1"), "jobs-2026") == Loss("0.4")
    assert ledger.spent(WeakAlpha("0.05"), "jobs-2026") == Loss.zero()


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
    with pytest.raises(RefusedError, match=r"no cap is declared for strong α = 0.1 .*Ledger\.open\(path, cap="):
        release(ledger, FakePlan(neighbours=StrongAlpha("0.1")))
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
        Ledger.open(path, cap=Loss("1"), neighbours=WORKER)


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
        ({}, "no such file; correct the path"),
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
        (FakePlan(reads="missing"), SchemaError),
        (FakePlan(loss=Loss("1.01")), RefusedError),
        (FakePlan(holds="never"), RefusedError),
        (FakePlan(neighbours=StrongAlpha("0.1")), RefusedError),
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
    assert [one.name for one in path.parent.iterdir()] == [path.name]


def test_a_seeded_source_and_an_empty_label_are_refused_without_a_trace(ledger: Ledger, path: Path) -> None:
    before = path.read_bytes()
    with pytest.raises(RefusedError, match="entropy: a seeded source"):
        ledger.release(FakePlan(), FakeData(), label="x", entropy=FakeEntropy(rehearsal=True))  # type: ignore[arg-type]
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


# ---------------------------------------------------------------- runs that go wrong


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
    with pytest.raises(RefusedError, match=r"returned a rehearsal.*stays spent"):
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
    assert ledger.extract(4)["entries"][2]["entry"]["after_unfinished"] == [3]
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


# ---------------------------------------------------------------- the record


def test_entries_say_what_happened_in_order(ledger: Ledger) -> None:
    release(ledger, FakePlan(), label="2026 tables")
    entries = ledger.entries()
    assert [(entry.number, entry.kind) for entry in entries] == [(1, "open"), (2, "cap"), (3, "reserve"), (4, "commit")]
    assert (entries[2].label, entries[2].identity, entries[2].loss) == ("2026 tables", "jobs-2026", Loss("0.1"))
    assert entries[2].state == "released"
    assert "ε = 0.1 under one worker added or removed" in str(entries[2])


def test_the_extract_is_public_checkable_alone_and_silent_about_the_rows(ledger: Ledger) -> None:
    content = "fingerprint-of-rows"
    release(ledger, FakePlan("mine"), FakeData(content=content), label="mine")
    release(ledger, FakePlan("other"), FakeData(content=content), label="other")
    extract = json.loads(json.dumps(ledger.extract("mine")))
    verify_extract(extract)
    assert content not in json.dumps(extract)
    assert "salt" not in json.dumps(extract)
    assert [line["entry"]["kind"] for line in extract["entries"]] == ["open", "cap", "reserve", "commit"]
    assert extract["head"] == {"number": 6, "sha256": ledger.verify(extract)}
    assert extract["accounts"][0]["left"] == {"epsilon": "0.8", "delta": "0"}
    extract["entries"][2]["entry"]["charge"]["epsilon"] = "0.01"
    with pytest.raises(VerificationError, match="entry 3 is not what was sealed"):
        verify_extract(extract)


def test_two_ledgers_seal_the_same_rows_under_different_hashes(tmp_path: Path) -> None:
    """Otherwise a published hash would let anyone test a guess at the whole confidential file."""
    seals = set()
    for name in ("a", "b"):
        ledger = Ledger.open(tmp_path / name, cap=Loss("1"), neighbours=WORKER)
        release(ledger, FakePlan())
        seals.add(ledger.extract("tables")["entries"][2]["entry"]["private"])
    assert len(seals) == 2


def test_extract_by_number_and_its_errors(ledger: Ledger) -> None:
    release(ledger, FakePlan(), label="first")
    assert ledger.extract(3) == ledger.extract([3]) == ledger.extract("first")
    for wrong in ("second", 4, [99], []):
        with pytest.raises(UsageError):
            ledger.extract(wrong)  # type: ignore[arg-type]


def test_verify_notices_a_file_put_back_to_an_older_state(ledger: Ledger, path: Path) -> None:
    older = path.read_bytes()
    release(ledger, FakePlan())
    published = ledger.extract("tables")
    path.write_bytes(older)
    ledger.verify()  # consistent in itself …
    with pytest.raises(VerificationError, match="older state"):
        ledger.verify(published)  # … but not with what was published


def test_verify_notices_another_ledger(ledger: Ledger, tmp_path: Path) -> None:
    release(ledger, FakePlan())
    other = Ledger.open(tmp_path / "other.ledger", cap=Loss("1"), neighbours=WORKER)
    with pytest.raises(VerificationError, match="another ledger"):
        other.verify(ledger.extract("tables"))


# ---------------------------------------------------------------- the file


def test_a_changed_byte_is_noticed_or_changes_nothing(ledger: Ledger, path: Path) -> None:
    """Flip bytes all over the file: either `verify` fails, or every entry and every result is what it was."""
    results = [release(ledger, FakePlan(name)).content for name in ("a", "b")]
    with pytest.raises(OSError, match="x"):
        release(ledger, FakePlan("c", error=OSError("x")))
    entries, original = ledger.entries(), path.read_bytes()
    carried = [b'"kind":"reserve"', b'"fingerprint":"rows-a"', b'"epsilon":"0.1"', b"append-only", *results]
    inside = [original.index(text) + 3 for text in carried]
    chosen = random.Random(20260301).sample(range(len(original)), 300)
    caught = 0
    for position in inside + chosen:
        altered = bytearray(original)
        altered[position] ^= 0x01
        path.write_bytes(altered)
        try:
            Ledger.open(path).verify()
            assert position not in inside
            assert ledger.entries() == entries
            assert [release(ledger, FakePlan(name)).content for name in ("a", "b")] == results
        except TacitaError:
            caught += 1
    assert caught >= len(inside)


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE entries SET body = '{}' WHERE number = 3",
        "DELETE FROM entries WHERE number = 4",
        "INSERT OR REPLACE INTO entries VALUES (3, '{}', NULL, '')",
        "INSERT INTO entries VALUES (9, '{}', NULL, '')",
        "UPDATE results SET content = x'00'",
        "DELETE FROM results",
        "INSERT OR REPLACE INTO results VALUES (4, x'00')",
    ],
)
def test_the_file_itself_refuses_to_forget(ledger: Ledger, path: Path, statement: str) -> None:
    release(ledger, FakePlan())
    connection = sqlite3.connect(path)
    with pytest.raises(sqlite3.IntegrityError, match="append-only"):
        connection.execute(statement)
    connection.close()
    ledger.verify()


@pytest.mark.parametrize(
    "statement",
    [
        "DROP TRIGGER entries_no_update",
        "DROP TRIGGER entries_no_delete; DELETE FROM entries WHERE number = 2",
        "DROP TRIGGER results_no_delete; DELETE FROM results",
        "DROP TRIGGER entries_no_update; UPDATE entries SET private = NULL",
        "INSERT INTO results VALUES (3, x'00')",
    ],
)
def test_verify_notices_what_a_determined_hand_changes(ledger: Ledger, path: Path, statement: str) -> None:
    release(ledger, FakePlan())
    connection = sqlite3.connect(path)
    connection.executescript(statement)
    connection.close()
    with pytest.raises(VerificationError):
        ledger.verify()


def test_a_spend_sealed_by_hand_beyond_the_cap_is_noticed(ledger: Ledger, path: Path) -> None:
    release(ledger, FakePlan())
    with ledger._store.writing() as writer:
        facts = dict(writer.records()[2].body)
        facts["charge"] = {"epsilon": "5", "delta": "0"}
        for key in ("number", "previous", "kind", "time", "private"):
            del facts[key]
        writer.append("reserve", "2026-01-01T00:00:00+00:00", facts, {"fingerprint": "rows-a"})
    with pytest.raises(VerificationError, match="entry 5: this spend does not fit under the cap"):
        ledger.verify()


def test_a_file_that_is_no_ledger_is_said_to_be_none(tmp_path: Path) -> None:
    text = tmp_path / "notes.txt"
    text.write_text("not a database " * 100)
    database = tmp_path / "other.db"
    connection = sqlite3.connect(database)
    connection.execute("CREATE TABLE t (x)")
    connection.close()
    for path in (text, database):
        before = path.read_bytes()
        with pytest.raises(VerificationError):
            Ledger.open(path)
        with pytest.raises(VerificationError):
            Ledger.open(path, cap=Loss("1"), neighbours=WORKER)
        assert path.read_bytes() == before


def test_reading_needs_no_permission_to_write(ledger: Ledger, path: Path) -> None:
    release(ledger, FakePlan(loss=Loss("0.4")))
    before = path.read_bytes()
    path.chmod(0o444)
    path.parent.chmod(0o555)
    try:
        reader = Ledger.open(path, read_only=True)
        reader.verify()
        assert reader.remaining(WORKER, "jobs-2026") == Loss("0.6")
        assert len(reader.entries()) == 4
        with pytest.raises(RefusedError, match="reading only"):
            release(reader, FakePlan("another"))
    finally:
        path.parent.chmod(0o755)
    assert path.read_bytes() == before


def test_an_interrupted_creation_is_taken_up_again(path: Path) -> None:
    path.touch()
    with pytest.raises(UsageError, match="creation was interrupted and nothing was spent"):
        Ledger.open(path)
    Ledger.open(path, cap=Loss("1"), neighbours=WORKER).verify()


def test_the_ledger_shows_its_name_and_nothing_of_its_folder(ledger: Ledger) -> None:
    assert repr(ledger) == "Ledger('panel.ledger')"
