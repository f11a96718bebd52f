"""What the ledger tells people: entries, accounts, quotes, and the extract that goes into a bundle."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from tacita.errors import UsageError, VerificationError
from tacita.ledger.book import Book
from tacita.ledger.store import Record
from tacita.ledger.terms import DataKey, Tally, Waiver, softest
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


@dataclass(frozen=True)
class Account:
    """One relation's budget for one family of data sets.

    `spent` is all that the family lost under the relation, whichever relation its releases were stated in. The sum
    `holds` no more firmly than the softest promise in it, and `assumes` what any of them does. Only where the promise
    was `waived` can there be releases it says nothing about: `silent` lists their entries.
    """

    neighbours: Neighbours
    identities: tuple[str, ...]
    cap: Loss
    spent: Loss
    left: Loss
    waived: Waiver | None = None
    silent: tuple[int, ...] = ()
    holds: Holds = "always"
    assumes: tuple[str, ...] = ()

    def __str__(self) -> str:
        whose = ", ".join(self.identities) or "no data set yet"
        return (
            f"{whose}: {self.spent} of {self.cap} spent{firmness_note(self.holds)}, {self.left} left, under "
            f"{self.neighbours}"
            f"{waived_note(self.waived, self.silent)}"
        )


@dataclass(frozen=True)
class Share:
    """What one release takes, or would take, from one account."""

    account: Account
    charge: Loss

    @property
    def fits(self) -> bool:
        """Whether the account can still hold it."""
        return (Tally.of(self.account.spent) + Tally.of(self.charge)).fits(self.account.cap)

    def __str__(self) -> str:
        one = self.account
        return (
            f"{self.charge} under {one.neighbours}: cap {one.cap}, spent {one.spent}{firmness_note(one.holds)}, "
            f"left {one.left}"
            f"{waived_note(one.waived, one.silent)}"
        )


@dataclass(frozen=True)
class Quote:
    """What one release would cost now. Asking changes nothing.

    `shares` are all accounts it counts in; `neighbours`, `cap`, `spent`, `left` and `charge` are those of the first,
    which the entry names. `stored` is the number of the reservation that already paid for exactly this request, if
    there is one: asking again returns its result and costs nothing. `waiting` is one that was set aside and whose run
    never began: asking again takes it up, at no charge. `unfinished` lists attempts at this request that began and
    never delivered: they stay spent, and asking again is a new charge.
    """

    shares: tuple[Share, ...]
    stored: int | None
    unfinished: tuple[int, ...]
    waiting: int | None = None

    @property
    def is_free(self) -> bool:
        """Whether asking costs nothing, because it was paid for before."""
        return self.stored is not None or self.waiting is not None

    @property
    def neighbours(self) -> Neighbours:
        return self.shares[0].account.neighbours

    @property
    def cap(self) -> Loss:
        return self.shares[0].account.cap

    @property
    def spent(self) -> Loss:
        return self.shares[0].account.spent

    @property
    def left(self) -> Loss:
        return self.shares[0].account.left

    @property
    def charge(self) -> Loss:
        return self.shares[0].charge

    def __str__(self) -> str:
        if self.stored is not None:
            return f"already released (entry {self.stored}): the stored result is returned, at no charge"
        if self.waiting is not None:
            return f"already paid for (entry {self.waiting}) and not begun: it is taken up, at no charge"
        if not self.shares:
            return "no price: without a guarantee it stands in the ledger as a disclosure, with its reason"
        return "; and ".join(str(share) for share in self.shares) + (
            f". {unfinished_note(self.unfinished)}" if self.unfinished else ""
        )


def firmness_note(holds: Holds) -> str:
    """As a guarantee says it of itself; nothing to say of a sum that always holds."""
    notes = {"always": "", "never": " (bounds nothing: more was disclosed without a guarantee)"}
    return notes.get(holds, f" ({holds})")


def waived_note(waived: Waiver | None, silent: tuple[int, ...]) -> str:
    if waived is None:
        return ""
    told = f"; not counted, since they say nothing about it: entries {_listed(silent)}" if silent else ""
    return f" (promise waived in entry {waived.entry}: {waived.reason}{told})"


def unfinished_note(numbers: Iterable[int]) -> str:
    return (
        f"An earlier attempt at this very release never delivered a result (entries: {_listed(numbers)}); what it "
        "reserved stays spent, and asking again is a new charge, because noise is never drawn twice for one price"
    )


def _listed(numbers: Iterable[int]) -> str:
    return ", ".join(str(number) for number in numbers)


def _numbers(cited: list[Mapping[str, Any]]) -> str:
    numbers = _listed(one["number"] for one in cited)
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
    operator = record.private.get("operator", "")
    return Entry(
        record.number, body["kind"], time, label, identity, neighbours, loss, state, record.hash, holds, operator
    )


def account(book: Book, neighbours: Neighbours, data: DataKey | None) -> Account:
    cap, waived = book.cap(neighbours).loss, book.waivers.get(neighbours)
    if data is None:
        return Account(neighbours, (), cap, Loss.zero(), cap, waived)
    spent = book.spent(neighbours, data)
    identities = (data.identity, *sorted(book.family(data)))
    silent = () if waived is None else book.silent_on(neighbours, data)
    counted = book.counted(neighbours, data)
    return Account(
        neighbours,
        identities,
        cap,
        spent.loss(cap),
        spent.left_of(cap),
        waived,
        silent,
        holds=softest(counted),
        assumes=tuple(dict.fromkeys(one for promise in counted for one in promise.assumes)),
    )


def accounts(book: Book) -> list[Account]:
    """Every cap for every family that has spent anything; a cap nobody has used yet stands alone."""
    families: list[DataKey | None] = [DataKey(identity) for identity in book.families()]
    return [account(book, neighbours, family) for neighbours in book.caps for family in families or [None]]


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
