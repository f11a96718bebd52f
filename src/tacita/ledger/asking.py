"""One request to the ledger: what makes it the same as another, what it would cost, and whether that fits."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from tacita.errors import RefusedError, UsageError
from tacita.ledger.book import Book
from tacita.ledger.terms import Cap, DataKey, Reservation, Tally, domain_of, request_key
from tacita.ledger.views import Account, Quote, Share, account, unfinished_note
from tacita.privacy import Guarantee, Holds, Loss, Neighbours
from tacita.privacy.json_form import guarantee_to_json

if TYPE_CHECKING:  # annotations only: `tacita ledger show` need not load an engine
    from tacita.data.confidential import Confidential
    from tacita.plan import Plan


class Asked:
    """One request, checked before the ledger is touched: a bad plan, file or column leaves no trace."""

    def __init__(self, plan: Plan[Any], data: Confidential, reason: str | None = None) -> None:
        """`reason` is why something without a guarantee may be disclosed all the same."""
        from tacita.plan import check, claimed  # here, so that `tacita ledger show` need not load an engine

        self.guarantee, self.reason = claimed(plan, data.schema), reason
        if self.guarantee.holds == "never" and reason is None:
            raise RefusedError(
                "this plan has no guarantee, so the ledger cannot account for it; use a plan with one, rehearse it on "
                "public or mock data, or have it disclosed on record with Ledger.disclose(plan, data, label=…, "
                "reason=…), which every later extract of this file shows"
            )
        if self.guarantee.holds != "never" and reason is not None:
            raise UsageError(f"reason: this plan has a guarantee, {self.guarantee}; release it with Ledger.release")
        plan.reads(data.schema)
        plan.forecast(data.schema)  # builds the law of the noise: parameters that no law exists for are refused here
        data.refuse_changed()
        check(plan, data)
        self.description = plan.describe()
        self.domain = domain_of(data.schema)
        self.key = DataKey(data.identity, data.fingerprint(), tuple(data.lineage))
        data.refuse_changed()
        told = (guarantee_to_json(self.guarantee), self.domain, str(self.key.content))
        self.request = request_key(self.description, *told)
        self.requests = (self.request, *(request_key(former, *told) for former in plan.former_descriptions()))


def data_key(data: str | Confidential) -> DataKey:
    if isinstance(data, str):
        return DataKey(data)
    return DataKey(data.identity, data.fingerprint(), tuple(data.lineage))


def stored_result(book: Book, asked: Asked) -> Reservation | None:
    """The one stored result of this request: of two runs side by side, the one that finished first."""
    done = [made for made in _made(book, asked) if made.stored is not None]
    first = min(done, key=lambda made: made.finished_in or 0, default=None)
    if first is not None and first.reason != (asked.reason or ""):
        raise RefusedError(
            f"reason: exactly this was disclosed in entry {first.number}, for another reason; give that one, "
            f'"{first.reason}"'
        )
    return first


def _made(book: Book, asked: Asked) -> list[Reservation]:
    """Reservations of this very request, also as earlier versions described it."""
    return [made for request in asked.requests for made in book.requests(request)]


def quoted(book: Book, asked: Asked) -> Quote:
    stored = stored_result(book, asked)
    return Quote(
        tuple(Share(account(book, cap.neighbours, asked.key), charge) for cap, charge in book.charges(asked.guarantee)),
        stored=None if stored is None else stored.number,
        unfinished=tuple(made.number for made in _made(book, asked) if made.stored is None and made.begun),
        waiting=next((made.number for made in _made(book, asked) if made.waiting), None),
    )


def admitted(book: Book, requests: Iterable[Asked]) -> list[Quote]:
    """A quote for each of several requests; refuses them all unless they fit together.

    What was paid for before costs nothing, and one request named twice is paid for once.
    """
    quotes: list[Quote] = []
    totals: dict[Neighbours, Tally] = {}
    seen: set[str] = set()
    for asked in requests:
        quote = quoted(book, asked)
        quotes.append(quote)
        if quote.is_free or asked.request in seen:
            continue
        seen.add(asked.request)
        for share in quote.shares:
            one = share.account
            totals[one.neighbours] = totals.get(one.neighbours, Tally()) + Tally.of(share.charge)
            refuse_over_cap(book, asked.key, quote, one, totals[one.neighbours].loss(one.cap))
    return quotes


def with_cap(book: Book, cap: Loss | None, neighbours: Neighbours | None, holds: Holds | None = None) -> Book:
    """The accounts as they would be, were this cap declared; refuses what opening a ledger with it would refuse."""
    if cap is None or neighbours is None:
        return book
    known = book.caps.get(neighbours)
    if known is None:
        book.declare(Cap(neighbours, cap, 0, holds))
    elif not known.was(cap):
        refuse_other_cap(known, cap)
    elif known.holds is None and holds is not None:
        firmer = replace(known, holds=holds)
        book.refuse_softer(firmer)
        book.caps[neighbours] = firmer
    return book


def refuse_other_cap(known: Cap, cap: Loss) -> None:
    raise RefusedError(
        f"the cap for {known.neighbours} is {known.loss} (entry {known.declared_in}), not {cap}; open the ledger "
        "with that cap or with none. A cap is raised only on record, by `tacita ledger raise` or "
        "Ledger.raise_cap(new, reason=…), which leaves an entry that every later bundle shows"
    )


def previewed(book: Book, guarantees: Iterable[Guarantee], key: DataKey) -> tuple[Share, ...]:
    """What several new releases would take together from every account that any of them counts in."""
    totals: dict[Neighbours, Tally] = {}
    for guarantee in guarantees:
        for cap, charge in book.charges(guarantee):
            totals[cap.neighbours] = totals.get(cap.neighbours, Tally()) + Tally.of(charge)
    return tuple(
        Share(account(book, neighbours, key), total.loss(book.caps[neighbours].loss))
        for neighbours, total in totals.items()
    )


def refuse_over_cap(book: Book, key: DataKey, quote: Quote, full: Account, charge: Loss) -> None:
    """Refuse a charge that one account, of all those it counts in, cannot hold."""
    if Share(full, charge).fits:
        return
    sharing = sorted(book.family(key))
    raise RefusedError(
        f"the budget does not allow it: for {key.identity} under {full.neighbours} the cap is {full.cap}, "
        f"spent is {full.spent}, asked is {charge}, left is {full.left}."
        + (f" It shares its budget with {', '.join(sharing)} (same rows, identity or lineage)." if sharing else "")
        + (f" {unfinished_note(quote.unfinished)}." if quote.unfinished else "")
        + " Ask for no more than is left, or have the cap raised with `tacita ledger raise` (in Python: "
        "Ledger.raise_cap(new, reason=…))"
    )
