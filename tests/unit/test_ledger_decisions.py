"""Decisions on record: caps that rise, promises that are lifted, corrections and notes; and what is refused."""

import json
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from support.ledger_fakes import FILE_ALONE, WORKER, FakeData, FakePlan, release
from tacita.errors import RefusedError, UsageError, VerificationError
from tacita.ledger import Ledger, verify_extract
from tacita.ledger.book import Book
from tacita.ledger.store import Record, store_at
from tacita.privacy import Loss

WRONG, CORRECTED = FakeData(), FakeData(content="rows-b")


@pytest.fixture
def corrected(ledger: Ledger) -> Ledger:
    """Entry 3 is the release of a wrong file, entry 5 the same of the corrected one."""
    release(ledger, FakePlan(), WRONG, label="jobs")
    release(ledger, FakePlan(), CORRECTED, label="jobs, corrected")
    return ledger


def records(path: Path) -> list[Record]:
    with store_at(path, read_only=True).reading() as reader:
        return reader.records()


# ---------------------------------------------------------------- who, why and when


@FILE_ALONE
def test_every_decision_has_its_operator_reason_and_day_in_the_chain(corrected: Ledger, path: Path) -> None:
    corrected.raise_cap(Loss("2"), reason="two more years", operator="A. Meier")
    corrected.waive(WORKER, reason="board", operator="B. Rossi")
    corrected.waive_overlap("a", "b", reason="different numbers", operator="C. Ng")
    corrected.supersede([3], by=[5], reason="a wrong code list", operator="D. Ito")
    corrected.annotate("sent to the press office", about=3, operator="E. Kaya")
    entries = corrected.entries()[-5:]
    assert [(entry.kind, entry.label, entry.operator) for entry in entries] == [
        ("cap", "two more years", "A. Meier"),
        ("waive", "board", "B. Rossi"),
        ("overlap", "different numbers", "C. Ng"),
        ("supersede", "a wrong code list", "D. Ito"),
        ("note", "sent to the press office", "E. Kaya"),
    ]
    assert all(len(entry.time) > 10 for entry in entries)
    corrected.verify()
    raw = sqlite3.connect(path)
    raw.execute("DROP TRIGGER entries_no_update")
    raw.execute("UPDATE entries SET private = replace(private, 'E. Kaya', 'F. Kaya')")
    raw.commit()
    raw.close()
    with pytest.raises(VerificationError, match="entry 11: the hash chain is broken"):
        corrected.verify()


def test_no_bundle_names_an_operator_or_carries_a_note_or_a_time_of_day(corrected: Ledger) -> None:
    corrected.raise_cap(Loss("2"), reason="two more years", operator="A. Meier")
    corrected.supersede([3], by=[5], reason="a wrong code list", operator="A. Meier")
    corrected.annotate("do not tell", about=5, operator="A. Meier")
    extract = corrected.extract([5])
    verify_extract(extract)
    text = json.dumps(extract)
    assert "Meier" not in text
    assert "do not tell" not in text
    assert [line["entry"]["kind"] for line in extract["entries"]] == [
        "open", "cap", "reserve", "commit", "cap", "supersede",
    ]  # fmt: skip
    assert {len(line["entry"]["time"]) for line in extract["entries"]} == {len("2026-03-01")}


@pytest.mark.parametrize("text", ["", "  ", "a\x1b[31mb", "x" * 2001, "a\x00b"])
def test_text_that_cannot_stand_on_record_is_refused(corrected: Ledger, path: Path, text: str) -> None:
    before = path.read_bytes()
    decisions: list[Callable[..., None]] = [
        lambda **who: corrected.raise_cap(Loss("2"), **who),
        lambda **who: corrected.waive(WORKER, **who),
        lambda **who: corrected.waive_overlap("a", "b", **who),
        lambda **who: corrected.supersede([3], by=[5], **who),
    ]
    for decide in decisions:
        with pytest.raises(UsageError, match="reason: must"):
            decide(reason=text, operator="A. Meier")
        with pytest.raises(UsageError, match="operator: must"):
            decide(reason="board", operator=text)
    with pytest.raises(UsageError, match="note: must"):
        corrected.annotate(text)
    assert path.read_bytes() == before


def test_a_ledger_opened_for_reading_takes_no_decision(corrected: Ledger, path: Path) -> None:
    reading = Ledger.open(path, read_only=True)
    with pytest.raises(RefusedError, match="reading only"):
        reading.supersede([3], by=[5], reason="board")
    with pytest.raises(RefusedError, match="reading only"):
        reading.annotate("a note")


# ---------------------------------------------------------------- corrections


def test_a_superseded_release_says_so_and_stays_spent(corrected: Ledger) -> None:
    spent = corrected.spent(WORKER, WRONG)  # type: ignore[arg-type]
    corrected.supersede([3], by=[5], reason="a wrong code list")
    assert corrected.entries()[2].state == "released, superseded by 5 (entry 7)"
    assert corrected.entries()[4].state == "released"
    assert corrected.spent(WORKER, WRONG) == spent == Loss("0.2")  # type: ignore[arg-type]
    for chosen in (3, 5):
        line = corrected.extract(chosen)["entries"][-1]["entry"]
        assert line["kind"] == "supersede"
        assert [one["number"] for one in line["entries"]] == [3]
        assert [one["label"] for one in line["by"]] == ["jobs, corrected"]
    corrected.verify()


def test_a_release_may_be_withdrawn_first_and_corrected_later(ledger: Ledger) -> None:
    release(ledger, FakePlan(), WRONG, label="jobs")
    ledger.supersede([3], reason="a wrong code list")
    assert ledger.entries()[2].state == "released, withdrawn (entry 5)"
    release(ledger, FakePlan(), CORRECTED, label="jobs, corrected")
    ledger.supersede([3], by=[6], reason="here is the right one")
    assert ledger.entries()[2].state == "released, superseded by 6 (entry 8)"
    with pytest.raises(RefusedError, match=r"entry 3 is superseded by 6 \(entry 8\) already"):
        ledger.supersede([3], reason="again")
    ledger.verify()


def test_an_extract_from_before_a_correction_still_compares_with_its_ledger(corrected: Ledger) -> None:
    published = corrected.extract(3)
    corrected.supersede([3], by=[5], reason="a wrong code list")
    corrected.verify(published)
    corrected.verify(corrected.extract(3))


@pytest.mark.parametrize(
    ("entries", "by", "error", "message"),
    [
        ([], [5], UsageError, "at least one entry"),
        ([2], [5], UsageError, "entry 2: is not a release with a result"),
        ([4], [5], UsageError, "entry 4: is not a release"),
        ([99], [5], UsageError, "entry 99: is not a release"),
        ([3], [99], UsageError, "entry 99: is not a release"),
        ([7], [5], UsageError, "entry 7: is not a release with a result"),
        ([3], [3], RefusedError, "entry 3 does not come after entry 3"),
        ([5], [3], RefusedError, "entry 3 does not come after entry 5"),
        ([3], [9], RefusedError, "share no budget.*declare lineage"),
    ],
)
def test_what_is_no_correction_is_refused(
    corrected: Ledger, path: Path, entries: list[int], by: list[int], error: type[Exception], message: str
) -> None:
    with pytest.raises(ValueError, match="broken"):
        release(corrected, FakePlan("other", error=ValueError("broken")), WRONG)  # entry 7: no result
    release(corrected, FakePlan(), FakeData("others", "rows-c"))  # entry 9: another family
    before = path.read_bytes()
    with pytest.raises(error, match=message):
        corrected.supersede(entries, by=by, reason="board")
    assert path.read_bytes() == before


def test_what_was_superseded_supersedes_nothing(corrected: Ledger) -> None:
    release(corrected, FakePlan(), FakeData(content="rows-c"), label="third")
    corrected.supersede([5], by=[7], reason="still wrong")
    with pytest.raises(RefusedError, match=r"entry 5 is superseded by 7 \(entry 9\) itself; name what took its place"):
        corrected.supersede([3], by=[5], reason="board")
    corrected.supersede([3], by=[7], reason="board")
    corrected.verify()


def forged(**changes: Any) -> Callable[[dict[str, Any]], None]:
    return lambda body: body.update(changes)


@pytest.mark.parametrize(
    "forge",
    [
        forged(reason=" "),
        forged(entries=[]),
        forged(entries=[{"number": 3, "label": "another name", "time": ""}]),
        forged(by=[{"number": 3}]),
        forged(by=[{"number": 4}]),
        forged(by=3),
        forged(entries=[{"number": 2}]),
    ],
)
def test_a_correction_that_the_rules_could_not_have_written_is_noticed(
    corrected: Ledger, path: Path, forge: Callable[[dict[str, Any]], None]
) -> None:
    corrected.supersede([3], by=[5], reason="board")
    lines = records(path)
    Book.replay(lines)
    body = dict(lines[-1].body)
    forge(body)
    with pytest.raises(VerificationError, match="entry 7"):
        Book.replay([*lines[:-1], Record(7, "", body, lines[-1].private)])


@pytest.mark.parametrize(("about", "text"), [(0, "x"), (3, "x"), (-1, "x"), ("2", "x"), (1, " ")])
def test_a_note_that_nobody_could_have_written_is_noticed(ledger: Ledger, path: Path, about: Any, text: str) -> None:
    note = Record(3, "", {"kind": "note", "about": about}, {"text": text})
    with pytest.raises(VerificationError, match="entry 3"):
        Book.replay([*records(path), note])


def test_a_note_is_about_an_entry_that_there_is(ledger: Ledger) -> None:
    for number in (0, 3, -1):
        with pytest.raises(UsageError, match=f"entry {number}: the ledger has entries 1 to 2"):
            ledger.annotate("a note", about=number)
    ledger.annotate("about all of it")
    assert ledger.entries()[-1].state == ""


def test_decisions_change_no_sum(corrected: Ledger) -> None:
    before = corrected.accounts()
    corrected.supersede([3], by=[5], reason="board")
    corrected.annotate("a note")
    assert corrected.accounts() == before
