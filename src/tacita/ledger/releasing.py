"""Reserve, run, commit: the one place where plans meet confidential rows.

All shares of a release are set aside in one transaction. Each run then begins on record, and its result is stored
before anything else is done with it: whatever fails later, asking again returns it and costs nothing.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tacita.errors import RefusedError, TacitaError, VerificationError, add_spent
from tacita.ledger.accounts import Quote, unfinished_note
from tacita.ledger.asking import Asked, Kin, admitted, kin_of, stored_result
from tacita.ledger.book import Book
from tacita.ledger.store import Reader, Record, Store, Writer
from tacita.ledger.terms import Reservation
from tacita.privacy.json_form import digest, guarantee_to_json, loss_to_json, neighbours_to_json

if TYPE_CHECKING:  # annotations only: `tacita ledger show` need not load an engine
    from tacita.data.confidential import Confidential
    from tacita.plan import Plan

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Wanted:
    """One release that is asked for."""

    plan: Plan[Any]
    label: str
    asked: Asked


@dataclass(frozen=True)
class Released:
    """What came of it, and the number of the reservation that paid for it.

    `plan` and `stored` are the plan's description and the result's bytes as the ledger sealed them. Where an earlier
    version did, they may be in other words than the plan and the result have now.
    """

    result: Any
    entry: int
    plan: dict[str, Any]
    stored: bytes


def release_all(
    store: Store, data: Confidential, wanted: Sequence[Wanted], starting: Callable[[str], None]
) -> list[Released]:
    """The result of each: stored ones are read, the others are paid for together and run one after the other."""
    # One request named twice is drawn once and paid for once.
    todo = {one.asked.request: one for one in reversed(wanted)}
    with store.reading() as reader:
        records = reader.records()
        results = _stored(reader, Book.replay(records), todo)
    missing = {request: one for request, one in todo.items() if request not in results}
    if missing:
        store.require_writable()
        with store.turns(_turn_names(records, missing)):
            places: dict[str, Record] | None = None
            while places is None:
                with store.reading() as reader:
                    book = Book.replay(reader.records())
                kin = kin_of(book, data, wanted[0].asked.key)
                with store.writing() as writer:
                    book = Book.replay(writer.records())
                    if kin.is_current(book, wanted[0].asked.key):
                        results |= _stored(writer, book, missing)  # by a run that had its turn before
                        todo_now = [one for one in wanted if one.asked.request not in results]
                        places = _reserve(writer, book, todo_now, kin)
            results |= _run_all(store, data, wanted, places, starting)
    return [results[one.asked.request] for one in wanted]


def _stored(reader: Reader, book: Book, todo: dict[str, Wanted]) -> dict[str, Released]:
    results = {}
    for request, one in todo.items():
        done = stored_result(book, one.asked)
        if done is not None:
            stored = checked_result(reader, done)
            results[request] = Released(one.plan.restore(stored), done.number, dict(done.plan), stored)
    return results


def _turn_names(records: Sequence[Record], requests: Iterable[str]) -> list[str]:
    """What the turns of requests are called where others may see it, on a disk or in a server's list of locks.

    A request holds the fingerprint of the confidential rows: who knows all rows but one could try out the missing one.
    So a salt of the ledger, in the private text of its first line that has one, goes before it.
    """
    salt = next((str(one.private["salt"]) for one in records if "salt" in one.private), "")
    return [salt + request for request in requests]


# ---------------------------------------------------------------- setting aside


def _reserve(writer: Writer, book: Book, wanted: Sequence[Wanted], kin: Kin) -> dict[str, Record]:
    """The line that pays for each request. All are written, or none."""
    quotes = admitted(book, [one.asked for one in wanted], writer.moment.year)
    records = {record.number: record for record in writer.records()}
    places: dict[str, Record] = {}
    for one, quote in zip(wanted, quotes, strict=True):
        if one.asked.request not in places:
            if quote.waiting is not None:
                places[one.asked.request] = records[quote.waiting]
                continue
            more = {"waits": bool(places), **({} if places else kin.private)}
            places[one.asked.request] = _line(writer, one, quote, more)
    return places


def _line(writer: Writer, one: Wanted, quote: Quote, private: dict[str, Any]) -> Record:
    """The run that is first in turn begins with its reservation; the others wait, and say so when they begin."""
    asked = one.asked
    if quote.unfinished and asked.reason is None:
        _log.warning("%s: %s", one.label, unfinished_note(quote.unfinished))
    facts = {
        "label": one.label,
        "identity": asked.key.identity,
        "lineage": list(asked.key.lineage),
        "domain": asked.domain,
        "plan": asked.description,
        "guarantee": guarantee_to_json(asked.guarantee),
    }
    known = {"fingerprint": asked.key.content, "after_unfinished": list(quote.unfinished)}
    if asked.reason is not None:
        return writer.append("disclose", facts | {"reason": asked.reason}, known | private)
    paid = {"account": neighbours_to_json(quote.neighbours), "charge": loss_to_json(quote.charge)}
    return writer.append("reserve", facts | paid, known | private)


# ---------------------------------------------------------------- running


def _run_all(
    store: Store,
    data: Confidential,
    wanted: Sequence[Wanted],
    places: dict[str, Record],
    starting: Callable[[str], None],
) -> dict[str, Released]:
    """Run every plan that was paid for. One that fails does not strand the others: they are paid for too."""
    results: dict[str, Released] = {}
    problem: Exception | None = None
    for one in wanted:
        request = one.asked.request
        if request not in places or request in results:
            continue
        try:
            _tell(starting, one.label)
        finally:  # also where a person interrupts it: what is paid for is made and stored first
            try:
                results[request] = _run(store, data, one, places[request])
            except Exception as error:
                problem = problem or error
    if problem is not None:
        raise problem
    return results


def _tell(starting: Callable[[str], None], label: str) -> None:
    """Report a run that begins. It is paid for by now, so a report that fails must not take it along."""
    try:
        starting(label)
    except Exception as error:
        _log.warning('"%s": its beginning could not be reported (%s); the run goes on', label, type(error).__name__)


def _run(store: Store, data: Confidential, one: Wanted, reserved: Record) -> Released:
    begun = _append(store, reserved, "begin") if reserved.private["waits"] else reserved
    # From here on the share is spent: on disk, whatever happens to this process.
    try:
        result = one.plan.run(data, _system_entropy())
        if result.rehearsal:
            raise RefusedError(f'"{one.label}": the run returned a rehearsal, which is never released')
        data.refuse_changed()  # what was measured must be the rows that were checked and are on record
        content = result.to_bytes()
        _append(store, begun, "commit", about=reserved, content=content)
    except BaseException as error:
        # Only the class: a message may carry a value. If even this cannot be written, the run's own error matters
        # more, and a run without an end counts as spent all the same.
        with suppress(TacitaError):
            _append(store, begun, "failed", about=reserved, private={"error": type(error).__name__})
        if one.asked.reason is None:
            add_spent(error, f"{one.asked.guarantee}, since the run may have seen the rows (entry {reserved.number})")
        raise
    return Released(result, reserved.number, reserved.body["plan"], content)


def _append(
    store: Store,
    last: Record,
    kind: str,
    *,
    about: Record | None = None,
    private: dict[str, Any] | None = None,
    content: bytes | None = None,
) -> Record:
    """The next line about a run, in a ledger that still holds the `last` one about it."""
    try:
        with store.writing() as writer:
            records = writer.records()
            if len(records) < last.number or records[last.number - 1].hash != last.hash:
                raise _exchanged(store, last)
            run = Book.replay(records).reservations[(about or last).number]
            if run.finished_in is not None or (kind == "begin" and not run.waiting):
                raise RefusedError(
                    f"ledger entry {last.number}: another run of exactly this release has taken it up. Nothing was "
                    "written by this one; ask again for its result, at no charge"
                )
            facts: dict[str, Any] = {"reserve": (about or last).number}
            if content is not None:
                facts |= {"sha256": digest(content), "bytes": len(content)}
            line = writer.append(kind, facts, private)
            if content is not None:
                writer.keep(line.number, content)
            return line
    except RefusedError:
        if not store.exists():
            raise _exchanged(store, last) from None
        raise


def _exchanged(store: Store, last: Record) -> VerificationError:
    return VerificationError(
        f"ledger {store.name}: it was exchanged or put back to an older state while a run was under way: entry "
        f"{last.number} is not in it any more. Nothing was written to it, and no result was kept or handed out. Put "
        "back the file that has that entry; where there is none, this file is sound and the release can be asked for "
        "again"
    )


def checked_result(reader: Reader, made: Reservation) -> bytes:
    content = reader.result(made.finished_in or 0)
    if digest(content) != made.stored:
        raise VerificationError(f"ledger entry {made.finished_in}: its stored result was altered")
    return content


def _system_entropy() -> Any:
    from tacita.noise.entropy import SystemEntropy

    return SystemEntropy()
