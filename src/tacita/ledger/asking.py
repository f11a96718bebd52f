"""One request to the ledger: what makes it the same as another, what it would cost, and whether that fits.

Files that hold the same units under another name are found by their ids before anything is spent on them.

The budget of a file is shared by everything that was declared, or is known by its rows, to hold the same units. A new
name and one column less would make a copy look like another file. So each file's first reservation keeps a sketch of
its ids (`tacita.data.checks.sketch`), and the first release from a file asks whether units of another family are in it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from tacita.errors import RefusedError, UsageError
from tacita.ledger.accounts import Quote, Share, account, unfinished_note
from tacita.ledger.book import Book
from tacita.ledger.terms import Cap, DataKey, Reservation, Tally, domain_of, request_key
from tacita.privacy import Guarantee, Neighbours
from tacita.privacy.json_form import guarantee_to_json

if TYPE_CHECKING:  # annotations only: `tacita ledger show` need not load an engine
    from tacita.data.confidential import Confidential
    from tacita.plan import Plan


import secrets
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # annotations only: `tacita ledger show` need not load an engine
    from tacita.data.confidential import Confidential


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
        self.domain = domain_of(data.schema, plan.relies_on(data.schema))
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


def quoted(book: Book, asked: Asked, year: int) -> Quote:
    stored, charges = stored_result(book, asked), book.charges(asked.guarantee)
    year = book.in_year(year)
    return Quote(
        tuple(Share(account(book, cap.neighbours, asked.key), charge, year) for cap, charge in charges),
        stored=None if stored is None else stored.number,
        unfinished=tuple(made.number for made in _made(book, asked) if made.stored is None and made.begun),
        waiting=next((made.number for made in _made(book, asked) if made.waiting), None),
    )


def admitted(book: Book, requests: Iterable[Asked], year: int) -> list[Quote]:
    """A quote for each of several requests in one year; refuses them all unless they fit together.

    What was paid for before costs nothing, and one request named twice is paid for once.
    """
    quotes: list[Quote] = []
    totals: dict[Neighbours, Tally] = {}
    seen: set[str] = set()
    year = book.in_year(year)
    for asked in requests:
        quote = quoted(book, asked, year)
        quotes.append(quote)
        if quote.is_free or asked.request in seen:
            continue
        seen.add(asked.request)
        for share in quote.shares:
            one = share.account
            totals[one.neighbours] = totals.get(one.neighbours, Tally()) + Tally.of(share.charge)
            refuse_over_cap(book, asked.key, quote, Share(one, totals[one.neighbours].loss(one.cap), year))
    return quotes


def with_cap(book: Book, asked: Cap | None, year: int) -> Book:
    """The accounts as they would be, were this cap declared; refuses what opening a ledger with it would refuse."""
    if asked is None:
        return book
    known = book.caps.get(asked.neighbours)
    terms = asked if known is None else known.asked_as(asked)
    if known is None:
        book.declare(terms)
    elif terms != known:
        book.refuse_softer(terms)
        book.caps[asked.neighbours] = terms
    year = book.in_year(year)
    if terms.yearly is not None and (known is None or known.yearly is None):
        terms.yearly.refuse_beyond(terms.loss, year, book.spent_outside(year, asked.neighbours))
    return book


def previewed(book: Book, guarantees: Iterable[Guarantee], key: DataKey, year: int) -> tuple[Share, ...]:
    """What several new releases would take together from every account that any of them counts in."""
    totals: dict[Neighbours, Tally] = {}
    for guarantee in guarantees:
        for cap, charge in book.charges(guarantee):
            totals[cap.neighbours] = totals.get(cap.neighbours, Tally()) + Tally.of(charge)
    return tuple(
        Share(account(book, neighbours, key), total.loss(book.caps[neighbours].loss), book.in_year(year))
        for neighbours, total in totals.items()
    )


def refuse_over_cap(book: Book, key: DataKey, quote: Quote, share: Share) -> None:
    """Refuse a charge that one account, of all those it counts in, cannot hold."""
    full, sharing = share.account, sorted(book.family(key))
    of = f"for {key.identity} under {full.neighbours}"
    told = (f" It shares its budget with {', '.join(sharing)} (same rows, identity or lineage)." if sharing else "") + (
        f" {unfinished_note(quote.unfinished)}." if quote.unfinished else ""
    )
    if not share.fits_cap:
        raise RefusedError(
            f"the budget does not allow it: {of} the cap is {full.cap}, spent is {full.spent}, asked is "
            f"{share.charge}, left is {full.left}.{told} Ask for no more than is left, or have the cap raised with "
            "`tacita ledger raise` (in Python: Ledger.raise_cap(new, reason=…))"
        )
    if full.yearly is not None and share.year > full.yearly.until:
        raise RefusedError(
            f"the allowance per year does not allow it: {of} it is {full.yearly}, and it is {share.year}. Have the "
            "next years decided with `tacita ledger raise --per-year … --until …`"
        )
    if not share.fits:
        raise RefusedError(
            f"the allowance of {share.year} does not allow it: {of} it is {full.yearly}, spent in {share.year} is "
            f"{full.spent_in(share.year)}, asked is {share.charge}, left is {full.left_in(share.year)}.{told} Ask for "
            f"no more than is left, wait for {share.year + 1}, or have the allowance changed with `tacita ledger raise "
            "--per-year …`"
        )


@dataclass(frozen=True)
class Kin:
    """What was found out about one file: what its first reservation keeps, and up to which reservation it was compared.

    A reservation of another family that comes in meanwhile was not compared: `is_current` says whether to look again.
    """

    private: dict[str, Any]
    compared: tuple[int, ...]

    def is_current(self, book: Book, key: DataKey) -> bool:
        return {made.number for made in _strangers(book, key)} <= set(self.compared)


def kin_of(book: Book, data: Confidential, key: DataKey) -> Kin:
    """What the reservation of a file keeps, once it was compared with every other family."""
    if _is_known(book, key):
        return Kin({}, tuple(book.reservations))  # compared when it came in; whatever came later was compared with it
    secret = book.sketch_key or secrets.token_hex(32)
    strangers = refuse_kin(book, data, key)
    known = {} if book.sketch_key else {"sketch_key": secret}
    return Kin({"sketch": data.sketch(secret), **known}, tuple(made.number for made in strangers))


def refuse_kin(book: Book, data: Confidential, key: DataKey) -> list[Reservation]:
    """Refuse a file that holds units of another family, unless a person let that pass on record."""
    strangers = [] if _is_known(book, key) else _strangers(book, key)
    wanted: dict[str, list[int]] = {}
    for made in strangers:
        for entity, hashes in made.sketch.items():
            wanted.setdefault(entity, []).extend(hashes)
    if book.sketch_key is None or not data.shared_units(book.sketch_key, wanted):  # one pass for all of them
        return strangers
    for made in strangers:
        if shared := data.shared_units(book.sketch_key, made.sketch):
            raise RefusedError(
                f"{key.identity} holds units of {made.data.identity} (the same {shared[0]} ids, entry {made.number}), "
                f'and would have a budget of its own. Declare lineage = ["{made.data.identity}"] under [dataset] in '
                "the schema, so that they share one, or have it let pass on record with `tacita ledger waive "
                f'--overlap`, Ledger.waive_overlap("{key.identity}", "{made.data.identity}", reason=…). Nothing was '
                "spent"
            )
    return strangers


def _is_known(book: Book, key: DataKey) -> bool:
    return any(made.sketch and made.data.names == key.names for made in book.reservations.values())


def _strangers(book: Book, key: DataKey) -> list[Reservation]:
    """The first reservation of every file of another family that keeps a sketch and was not let pass."""
    return [
        made
        for made in book.reservations.values()
        if made.sketch and not book.are_kin(made.data, key) and not book.let_pass(made.data.identity, key.identity)
    ]
