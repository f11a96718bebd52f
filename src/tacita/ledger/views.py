"""What the ledger tells people line by line: its entries, and the extract that goes into a bundle."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from tacita.errors import UsageError, VerificationError
from tacita.ledger.accounts import Account, account, firmness_note, listed
from tacita.ledger.book import Book
from tacita.ledger.store import Record
from tacita.ledger.terms import DataKey, Yearly
from tacita.privacy import Holds, Loss, Neighbours
from tacita.privacy.json_form import (
    canonical,
    digest,
    loss_from_json,
    loss_to_json,
    neighbours_from_json,
    neighbours_to_json,
)

EXTRACT_FORMAT = 1


@dataclass(frozen=True)
class Entry:
    """One line of the ledger, in words. `state` is how a run ended, or what a waiver lifts; `operator` who entered a
    decision, where that was said."""

    number: int
    kind: str
    time: str
    label: str
    identity: str
    neighbours: Neighbours | None
    loss: Loss | None
    state: str
    hash: str
    holds: Holds = "always"
    operator: str = ""

    def __str__(self) -> str:
        firmness = firmness_note(self.holds)
        amount = (
            "" if self.loss is None else f"{self.loss} under {self.neighbours}{firmness}"
        )  # a waiver's state names its own
        return "  ".join(
            part for part in (f"{self.number:>4}", self.time, self.kind, self.label, amount, self.state) if part
        )


def _numbers(cited: list[Mapping[str, Any]]) -> str:
    numbers = listed(one["number"] for one in cited)
    return numbers and f"{'entry' if len(cited) == 1 else 'entries'} {numbers}"


def entries(records: Iterable[Record], book: Book) -> list[Entry]:
    return [_entry(record, book) for record in records]


def _entry(record: Record, book: Book) -> Entry:
    body = record.body
    neighbours: Neighbours | None = None
    loss: Loss | None = None
    label = identity = state = ""
    holds: Holds = "always"
    if body["kind"] == "cap":
        neighbours, loss, label = neighbours_from_json(body["neighbours"]), loss_from_json(body["cap"]), body["reason"]
        if (yearly := body.get("yearly")) is not None:
            state = str(Yearly(loss_from_json(yearly["loss"]), yearly["until"]))
    elif body["kind"] == "waive":
        neighbours, label = neighbours_from_json(body["neighbours"]), body["reason"]
        state = f"{neighbours}: no longer promised for later releases"
    elif body["kind"] == "overlap":
        label, state = body["reason"], f"{' and '.join(body['identities'])}: may hold the same units"
    elif body["kind"] == "supersede":
        label, by = body["reason"], _numbers(body["by"])
        state = f"{_numbers(body['entries'])}: " + (f"superseded by {by}" if by else "withdrawn")
    elif body["kind"] == "note":
        label, state = record.private["text"], f"about entry {body['about']}" if "about" in body else ""
    elif body["kind"] != "open":
        paid = book.reservations[body.get("reserve", record.number)]
        label, identity = paid.label, paid.data.identity
        if body["kind"] in ("reserve", "disclose"):
            neighbours, loss, state, holds = paid.account, paid.charge, paid.state, paid.guarantee.holds
            if (correction := book.corrections.get(paid.number)) is not None:
                state = f"{state}, {correction}"
    time = record.private.get("time", body["time"])  # older lines have the exact time in their public text
    operator, author = record.private.get("operator", ""), record.private.get("author", "")
    if author:  # as a server knows the person, which the person cannot choose
        operator = f"{operator} (as {author})" if operator else author
    return Entry(
        record.number, body["kind"], time, label, identity, neighbours, loss, state, record.hash, holds, operator
    )


def extract(records: list[Record], book: Book, chosen: set[int]) -> dict[str, Any]:
    """The public part of some releases: their lines, every cap and waiver, and the head of the chain.

    Every cap, also one that a release does not name: it counts there too, or that promise was waived. With them, all
    that was ever disclosed of the same units without a guarantee, and corrections of these releases.
    Only public texts: fingerprints of confidential rows stay in the ledger, behind a salted hash. Of a release, what
    was set aside and what was stored; how its runs went on the way is nobody else's business.
    """
    paid = [book.reservations[number] for number in sorted(chosen)]
    beside = {made.number for one in paid for made in book.disclosures(DataKey(one.data.identity))}
    lines = [
        record
        for record in records
        if record.body["kind"] in ("open", "cap", "waive", "overlap")
        or record.number in chosen | beside
        or _is_correction_of(record, chosen)
        or (record.body["kind"] == "commit" and record.body["reserve"] in chosen)
    ]
    budgets = dict.fromkeys(
        account(book, neighbours, DataKey(made.data.identity))
        for made in paid
        for neighbours in (*([] if made.account is None else [made.account]), *book.caps)
    )
    return {
        "format": EXTRACT_FORMAT,
        "ledger": records[0].body["ledger"],
        "head": {"number": records[-1].number, "sha256": records[-1].hash},
        "entries": [{"sha256": line.hash, "entry": dict(line.body)} for line in lines],
        "accounts": [_account_to_json(one) for one in budgets],
    }


def _is_correction_of(record: Record, chosen: set[int]) -> bool:
    """Whether a line says that one of the chosen releases is superseded, or supersedes another."""
    cited = (*record.body.get("entries", ()), *record.body.get("by", ()))
    return record.body["kind"] == "supersede" and any(one["number"] in chosen for one in cited)


def _account_to_json(one: Account) -> dict[str, Any]:
    waived = None if one.waived is None else {"entry": one.waived.entry, "reason": one.waived.reason}
    return {
        "neighbours": neighbours_to_json(one.neighbours),
        "identities": list(one.identities),
        "cap": loss_to_json(one.cap),
        "spent": loss_to_json(one.spent),
        "left": loss_to_json(one.left),
        "waived": waived,
        "silent": list(one.silent),
        "holds": one.holds,
        "assumes": list(one.assumes),
    }


def verify_extract(extract: Mapping[str, Any]) -> None:
    """Check an extract without the ledger: every line has the hash it says, and neighbouring lines link up.

    The SHA-256 is over the entry's canonical JSON: sorted keys, no spaces, UTF-8.
    """
    try:
        if extract["format"] != EXTRACT_FORMAT:
            raise VerificationError("ledger extract: written in a form this version does not know")
        head = extract["head"]
        hashes = {0: "0" * 64}
        for line in extract["entries"]:
            body, number = line["entry"], line["entry"]["number"]
            if digest(canonical(body)) != line["sha256"] or number in hashes or number > head["number"]:
                raise VerificationError(f"ledger extract: entry {number} is not what was sealed")
            if hashes.get(number - 1, body["previous"]) != body["previous"]:
                raise VerificationError(f"ledger extract: entry {number} does not follow the entry before it")
            hashes[number] = line["sha256"]
        if hashes.get(head["number"], head["sha256"]) != head["sha256"]:
            raise VerificationError("ledger extract: the head of the chain is not its last entry")
    except (LookupError, TypeError, AttributeError, UsageError):
        raise VerificationError("ledger extract: incomplete or malformed") from None


def head(records: list[Record]) -> dict[str, Any]:
    return {"ledger": records[0].body["ledger"], "number": records[-1].number, "sha256": records[-1].hash}


def compare_head(records: list[Record], signed: Mapping[str, Any]) -> None:
    """Refuse a ledger in which a signed head is not to be found as it was."""
    if set(signed) != {"ledger", "number", "sha256"} or type(signed["number"]) is not int:
        raise VerificationError("the signed head is not one of a ledger")
    if signed["ledger"] != records[0].body["ledger"]:
        raise VerificationError("ledger: the signed head comes from another ledger")
    if not 1 <= signed["number"] <= len(records):
        raise VerificationError(
            f"ledger: it has {len(records)} entries, and {signed['number']} when its head was signed; this file was "
            "put back to an older state"
        )
    if records[signed["number"] - 1].hash != signed["sha256"]:
        raise VerificationError(
            f"ledger: entry {signed['number']} is not the one that was signed; this file was put back to an older "
            "state and written to since, or forged"
        )


def compare(records: list[Record], published: Mapping[str, Any]) -> None:
    """Refuse a ledger in which a published extract is not to be found as it was."""
    verify_extract(published)
    hashes = {record.number: record.hash for record in records}
    lines = [(line["entry"]["number"], line["sha256"]) for line in published["entries"]]
    lines.append((published["head"]["number"], published["head"]["sha256"]))
    if published["ledger"] != records[0].body["ledger"]:
        raise VerificationError("ledger: the published extract comes from another ledger")
    for number, seal in lines:
        if hashes.get(number) != seal:
            raise VerificationError(
                f"ledger: entry {number} of the published extract is missing or different here; this file was altered "
                "or put back to an older state"
            )
    _compare_accounts(records[: published["head"]["number"]], published)


def _compare_accounts(records: list[Record], published: Mapping[str, Any]) -> None:
    """Refuse an extract whose accounts are not what these records, up to its head, add up to."""
    lines = [line["entry"] for line in published["entries"]]
    chosen = {line["number"] for line in lines if line["kind"] == "reserve"}
    chosen |= {line["reserve"] for line in lines if line["kind"] == "commit"}  # other disclosures stand beside it only
    book = Book.replay(records)
    accounts = extract(records, book, choose(book, chosen))["accounts"] if chosen else []
    stated = published["accounts"]
    # Earlier versions said less of an account; what they said must be so.
    known = [{key: account.get(key) for key in one} for one, account in zip(stated, accounts, strict=False)]
    if len(stated) != len(accounts) or stated != known:
        raise VerificationError(
            "ledger: the accounts of the published extract are not what the ledger had added up at its head"
        )


def choose(book: Book, which: str | int | Iterable[int]) -> set[int]:
    """Reservations by label, by number or by several numbers."""
    if isinstance(which, str):
        chosen = {number for number, made in book.reservations.items() if made.label == which and made.stored}
        if not chosen:
            raise UsageError(
                f'no release has the label "{which}"; a request that was already released keeps its first label: ask '
                "Ledger.quote(plan, data).stored for its number"
            )
        return chosen
    chosen = {which} if isinstance(which, int) else set(which)
    if unknown := sorted(chosen - set(book.reservations)):
        raise UsageError(f"entry {unknown[0]} is not a reservation in this ledger; see Ledger.entries()")
    if not chosen:
        raise UsageError("name at least one reservation, by its label or its number")
    return chosen
