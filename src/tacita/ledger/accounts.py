"""What is spent and left, in words: accounts, what a release takes from each, and quotes."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from tacita.ledger.book import Book
from tacita.ledger.terms import DataKey, Tally, Waiver, Yearly, softest
from tacita.privacy import Holds, Loss, Neighbours


@dataclass(frozen=True)
class Account:
    """One relation's budget for one family of data sets.

    `spent` is all that the family lost under the relation, whichever relation its releases were stated in. The sum
    `holds` no more firmly than the softest promise in it, and `assumes` what any of them does. Only where the promise
    was `waived` can there be releases it says nothing about: `silent` lists their entries. `by_year` is what was spent
    in each calendar year, where there is a `yearly` allowance.
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
    yearly: Yearly | None = None
    by_year: tuple[tuple[int, Loss], ...] = ()

    def spent_in(self, year: int) -> Loss:
        return dict(self.by_year).get(year, Loss.zero())

    def left_in(self, year: int) -> Loss:
        """What one year may still take: of its allowance, and of the cap."""
        if self.yearly is None:
            return self.left
        if year > self.yearly.until:
            return Loss.zero()
        own = Tally.of(self.spent_in(year)).left_of(self.yearly.limit(self.cap))
        if own.rho is not None and self.left.rho is not None:
            return Loss(rho=min(own.rho, self.left.rho))
        return Loss(min(own.epsilon, self.left.epsilon), delta=min(own.delta, self.left.delta))

    def __str__(self) -> str:
        whose = ", ".join(self.identities) or "no data set yet"
        return (
            f"{whose}: {self.spent} of {self.cap} spent{firmness_note(self.holds)}, {self.left} left, under "
            f"{self.neighbours}"
            f"{waived_note(self.waived, self.silent)}{self._years()}"
        )

    def _years(self) -> str:
        if self.yearly is None:
            return ""
        spent = "; ".join(f"{loss} spent in {year}" for year, loss in self.by_year)
        return f"; {self.yearly}{': ' if spent else ''}{spent}"


@dataclass(frozen=True)
class Share:
    """What one release takes, or would take, from one account in one calendar year."""

    account: Account
    charge: Loss
    year: int = 0

    @property
    def fits(self) -> bool:
        """Whether the account can still hold it: its cap, and its allowance of the year where it has one."""
        one = self.account
        if one.yearly is None or not self.fits_cap:
            return self.fits_cap
        in_year = Tally.of(one.spent_in(self.year)) + Tally.of(self.charge)
        return self.year <= one.yearly.until and in_year.fits(one.yearly.limit(one.cap))

    @property
    def fits_cap(self) -> bool:
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
    told = f"; not counted, since they say nothing about it: entries {listed(silent)}" if silent else ""
    return f" (promise waived in entry {waived.entry}: {waived.reason}{told})"


def unfinished_note(numbers: Iterable[int]) -> str:
    return (
        f"An earlier attempt at this very release never delivered a result (entries: {listed(numbers)}); what it "
        "reserved stays spent, and asking again is a new charge, because noise is never drawn twice for one price"
    )


def listed(numbers: Iterable[int]) -> str:
    return ", ".join(str(number) for number in numbers)


def account(book: Book, neighbours: Neighbours, data: DataKey | None) -> Account:
    cap, waived, yearly = book.cap(neighbours).loss, book.waivers.get(neighbours), book.cap(neighbours).yearly
    if data is None:
        return Account(neighbours, (), cap, Loss.zero(), cap, waived, yearly=yearly)
    by_year = [(year, book.spent(neighbours, data, year).loss(cap)) for year in (book.years() if yearly else [])]
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
        yearly=yearly,
        by_year=tuple((year, loss) for year, loss in by_year if not loss.is_zero),
    )


def accounts(book: Book) -> list[Account]:
    """Every cap for every family that has spent anything; a cap nobody has used yet stands alone."""
    families: list[DataKey | None] = [DataKey(identity) for identity in book.families()]
    return [account(book, neighbours, family) for neighbours in book.caps for family in families or [None]]
