"""What people decide about a ledger: caps that rise, promises that are lifted, corrections and notes.

Each is a line of the hash chain, with its reason and its day. Reasons of caps, waivers and corrections are public:
later bundles show them. The operator's name and notes stand in the private text of a line and stay in the ledger.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from tacita.errors import RefusedError, UsageError
from tacita.ledger.book import Book
from tacita.ledger.corrections import why_not_superseded
from tacita.ledger.store import Store, Writer
from tacita.ledger.terms import Cap, Reservation, Yearly
from tacita.privacy import Loss, Neighbours
from tacita.privacy.json_form import loss_to_json, neighbours_to_json

_LONGEST = 2_000  # characters of a reason or a note


class Decisions:
    """The part of a `Ledger` by which people decide something on record. `operator` is who enters it."""

    _store: Store

    def raise_cap(
        self,
        new: Loss | None = None,
        *,
        reason: str,
        neighbours: Neighbours | None = None,
        yearly: Yearly | None = None,
        operator: str | None = None,
    ) -> None:
        """Allow more under one relation, or another allowance per year, for a reason that stays on record.

        A specification that names an earlier cap or allowance still runs.
        """
        require_words(reason, "reason", "why the cap may rise, and who decided it")
        known = _by(operator)
        with self._store.writing() as writer:
            book = Book.replay(writer.records())
            caps = book.caps
            if neighbours is None:
                if len(caps) != 1:
                    raise UsageError("neighbours: this ledger has several caps; say which one rises")
                (neighbours,) = caps
            old = caps.get(neighbours)
            if old is None:
                raise UsageError(f"neighbours: no cap is declared for {neighbours}; declare one with Ledger.open")
            if new is not None and (old.loss == new or not old.loss <= new):
                raise RefusedError(
                    f"a cap only rises, in the same kind of loss: it is {old.loss}, and {new} is not more"
                )
            if yearly is not None:
                year = book.in_year(writer.moment.year)
                yearly.refuse_beyond(new or old.loss, year, book.spent_outside(year, neighbours))
            changed = replace(old, loss=new or old.loss, yearly=yearly or old.yearly)
            if changed == old:
                raise UsageError("nothing would change; name a higher cap, or another allowance per year")
            append_cap(writer, changed, reason=reason, private=known)

    def waive(self, neighbours: Neighbours, *, reason: str, operator: str | None = None) -> None:
        """Lift one promise: later releases need not say anything about this relation. There is no way back.

        The cap still bounds the releases that do imply the relation. Every view of the account shows the reason.
        """
        require_words(reason, "reason", "why the file need no longer be protected this way, and who decided it")
        known = _by(operator)
        with self._store.writing() as writer:
            book = Book.replay(writer.records())
            if (earlier := book.waivers.get(neighbours)) is not None:
                raise UsageError(f"neighbours: {neighbours} was waived already, in entry {earlier.entry}")
            if neighbours not in book.caps and not book.silent_on(neighbours):
                raise UsageError(
                    f"neighbours: no cap is declared for {neighbours} and no release stands in the way of one, so "
                    "there is nothing to waive; see Ledger.caps()"
                )
            writer.append("waive", {"neighbours": neighbours_to_json(neighbours), "reason": reason}, known)

    def waive_overlap(self, one: str, other: str, *, reason: str, operator: str | None = None) -> None:
        """Let two data sets hold the same units and yet have budgets of their own, for a reason that stays on record.

        What a unit in both of them loses is then the sum of both budgets. To share one, declare lineage instead.
        """
        require_words(reason, "reason", "why their units may lose both budgets, and who decided it")
        require_words(one, "identity", "what a data set is called in its schema")
        require_words(other, "identity", "what a data set is called in its schema")
        known = _by(operator)
        if one == other:
            raise UsageError("give the identities of two data sets; one of them is always of one family")
        with self._store.writing() as writer:
            if Book.replay(writer.records()).let_pass(one, other):
                raise UsageError(f"{one} and {other}: that they hold the same units was let pass already")
            writer.append("overlap", {"identities": sorted((one, other)), "reason": reason}, known)

    def supersede(
        self, entries: Iterable[int], *, by: Iterable[int] = (), reason: str, operator: str | None = None
    ) -> None:
        """Say that releases are no longer to be used, and which ones take their place; what they cost stays spent.

        Without `by` they are withdrawn until a correction is named in a second call. Bundles of either, made from then
        on, say so on their page and in their manifest; asking for a paid release again costs nothing.
        """
        require_words(reason, "reason", "what was wrong, and who decided it")
        known = _by(operator)
        with self._store.writing() as writer:
            book = Book.replay(writer.records())
            old, new = (_released(book, numbers) for numbers in (entries, by))
            if not old:
                raise UsageError("name at least one entry that is superseded")
            if problem := why_not_superseded(book, old, new):
                raise RefusedError(problem)
            facts = {"entries": [made.cited for made in old], "by": [made.cited for made in new], "reason": reason}
            writer.append("supersede", facts, known)

    def annotate(self, text: str, *, about: int | None = None, operator: str | None = None) -> None:
        """Add a note, about one entry or the whole ledger. It changes nothing and never leaves the ledger."""
        require_words(text, "note", "what is to be remembered")
        known = {"text": text, **_by(operator)}
        with self._store.writing() as writer:
            lines = len(writer.records())
            if about is not None and not 1 <= about <= lines:
                raise UsageError(f"entry {about}: the ledger has entries 1 to {lines}; see `tacita ledger show`")
            writer.append("note", {} if about is None else {"about": about}, known)


def append_cap(writer: Writer, cap: Cap, *, reason: str, private: dict[str, Any] | None = None) -> None:
    """The line that declares a cap, or changes it."""
    facts = {"neighbours": neighbours_to_json(cap.neighbours), "cap": loss_to_json(cap.loss), "reason": reason}
    holds = {} if cap.holds is None else {"holds": cap.holds}
    yearly = cap.yearly and {"yearly": {"loss": loss_to_json(cap.yearly.loss), "until": cap.yearly.until}}
    writer.append("cap", {**facts, **holds, **(yearly or {})}, private)


def _released(book: Book, numbers: Iterable[int]) -> list[Reservation]:
    released = []
    for number in dict.fromkeys(numbers):
        made = book.reservations.get(number)
        if made is None or made.stored is None:
            raise UsageError(
                f"entry {number}: is not a release with a result; name the entry that reserved it, see `tacita ledger "
                "show`"
            )
        released.append(made)
    return released


def _by(operator: str | None) -> dict[str, str]:
    if operator is None:
        return {}
    require_words(operator, "operator", "who enters this")
    return {"operator": operator}


def require_words(value: object, name: str, meaning: str) -> None:
    """Text that will stand on pages and in lists for years."""
    require_text(value, name, meaning)
    words = str(value)
    if len(words) > _LONGEST or not words.replace("\n", "").isprintable():
        raise UsageError(f"{name}: must be printable text of at most {_LONGEST:,} characters")


def require_text(value: object, name: str, meaning: str) -> None:
    if not isinstance(value, str) or not value.strip():
        raise UsageError(f"{name}: must say {meaning}")
