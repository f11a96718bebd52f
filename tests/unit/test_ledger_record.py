"""What the ledger remembers, what it shows, and what it notices when its file was touched."""

import json
import random
import sqlite3
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from support.ledger_fakes import FILE_ALONE, WORKER, FakeData, FakePlan, release
from tacita.data.confidential import Confidential
from tacita.data.schema import Schema
from tacita.errors import RefusedError, TacitaError, UsageError, VerificationError
from tacita.ledger import Ledger, verify_extract
from tacita.ledger.sqlite_store import SqliteStore
from tacita.privacy import Loss, StrongAlpha

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


@FILE_ALONE
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


@FILE_ALONE
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


@FILE_ALONE
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


@pytest.mark.parametrize(
    ("promised", "charged", "rule"),
    [
        ("5", "5", "this spend does not fit under the cap for one worker added or removed"),
        ("0.1", "0.01", "the charge is not what its guarantee costs"),
        ("5", "0.1", "the charge is not what its guarantee costs"),
    ],
)
def test_a_spend_sealed_by_hand_against_the_rules_is_noticed(
    ledger: Ledger, promised: str, charged: str, rule: str
) -> None:
    release(ledger, FakePlan())
    with ledger._store.writing() as writer:
        facts = dict(writer.records()[2].body)
        facts["guarantee"] = {**facts["guarantee"], "loss": {"epsilon": promised, "delta": "0"}}
        facts["charge"] = {"epsilon": charged, "delta": "0"}
        for key in ("number", "previous", "kind", "time", "private"):
            del facts[key]
        writer.append("reserve", facts, {"fingerprint": "rows-a"})
    with pytest.raises(VerificationError, match=f"entry 5: {rule}"):
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


@FILE_ALONE
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


@FILE_ALONE
def test_a_file_on_a_read_only_disk_can_be_shown_and_verified(
    ledger: Ledger, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Permissions do not bind every user a test may run as, so the answer of the disk is given here."""
    release(ledger, FakePlan())
    monkeypatch.setattr(SqliteStore, "_writable", lambda self: False)
    reader = Ledger.open(path, cap=Loss("1"), neighbours=WORKER)
    reader.verify()
    assert len(reader.entries()) == 4
    with pytest.raises(RefusedError, match="reading only"):
        release(reader, FakePlan("another"))
    with pytest.raises(RefusedError, match="reading only"):
        Ledger.open(path, cap=Loss("1"), neighbours=StrongAlpha("0.1"))


def test_threads_of_one_process_race_fairly_too(ledger: Ledger) -> None:
    release(ledger, FakePlan("before", Loss("0.9")))

    def want_the_rest(runner: int) -> bool:
        try:
            release(ledger, FakePlan(f"runner {runner}"))
        except RefusedError:
            return False
        return True

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(want_the_rest, range(8))) == 1
    ledger.verify()


@FILE_ALONE
def test_an_interrupted_creation_is_taken_up_again(path: Path) -> None:
    path.touch()
    with pytest.raises(UsageError, match="creation was interrupted and nothing was spent"):
        Ledger.open(path)
    Ledger.open(path, cap=Loss("1"), neighbours=WORKER).verify()


def test_the_ledger_shows_its_name_and_balance_and_nothing_of_its_folder(ledger: Ledger, path: Path) -> None:
    assert repr(ledger) == f"Ledger({path.name!r}: ε = 0 spent of ε = 1 for {WORKER})"
    path.unlink()
    assert repr(ledger) == f"Ledger({path.name!r})"


# ---------------------------------------------------------------- a real file


def test_a_renamed_reordered_copy_of_a_real_file_is_known_by_its_rows(ledger: Ledger) -> None:
    """With the door to real rows and the system's own entropy, nothing faked but the plan."""

    def opened(identity: str, order: list[int]) -> Confidential:
        variables = {
            "workplace_id": {"role": "id", "entity": "workplace"},
            "place": {"role": "workplace", "type": "categorical", "levels": ["01", "02"]},
        }
        dataset = {"identity": identity, "unit": "worker"}
        frame = pd.DataFrame({"workplace_id": ["a", "a", "b"], "place": ["01", "01", "02"]}).iloc[order]
        return Confidential.from_frame(frame, Schema.from_dict({"dataset": dataset, "variables": variables}))

    plan: Any = FakePlan(loss=Loss("0.6"))
    first = ledger.release(plan, opened("jobs", [0, 1, 2]), label="first")
    copy = opened("a new name", [2, 0, 1])
    assert ledger.remaining(WORKER, copy) == Loss("0.4")
    assert ledger.release(plan, copy, label="second").to_bytes() == first.to_bytes()
    with pytest.raises(RefusedError, match="shares its budget with jobs"):
        ledger.release(FakePlan("other", Loss("0.6")), copy, label="third")  # type: ignore[arg-type]
