"""The ledger: the only way to confidential rows, and the memory of every time it was used.

`release` sets a share of the budget aside, makes that durable, and only then lets the plan see the rows. Whatever
happens afterwards, the share is spent.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NoReturn

from tacita.errors import RefusedError, TacitaError, UsageError, VerificationError
from tacita.ledger import views
from tacita.ledger.accounts import Account, Quote, Share, account, accounts
from tacita.ledger.asking import Asked, admitted, data_key, previewed, quoted, refuse_kin, with_cap
from tacita.ledger.book import Book
from tacita.ledger.decisions import Decisions, append_cap, require_text
from tacita.ledger.releasing import Released, Wanted, checked_result, release_all
from tacita.ledger.store import Record, Store, Writer, now, store_at
from tacita.ledger.terms import Cap, DataKey, Yearly
from tacita.ledger.views import Entry
from tacita.privacy import Guarantee, Holds, Loss, Neighbours
from tacita.terminal import shown

if TYPE_CHECKING:  # annotations only: `tacita ledger show` need not load an engine
    from tacita.data.confidential import Confidential
    from tacita.noise.entropy import SystemEntropy
    from tacita.plan.base import Plan, R

_FORMAT = 1


class Ledger(Decisions):
    """Caps, spends and stored results of one office, in one file or on one server.

    >>> import tempfile
    >>> from tacita.privacy import AddRemoveOne
    >>> folder = tempfile.TemporaryDirectory()
    >>> path = Path(folder.name) / "panel.ledger"
    >>> ledger = Ledger.open(path, cap=Loss("1"), neighbours=AddRemoveOne("establishment"))
    >>> ledger.remaining(AddRemoveOne("establishment"), "panel-2026")
    Loss(epsilon='1')
    >>> Ledger.open(path, cap=Loss("5"), neighbours=AddRemoveOne("establishment"))
    Traceback (most recent call last):
    ...
    tacita.errors.RefusedError: the cap for one establishment added or removed is ε = 1 (entry 2), not ε = 5; ...
    >>> folder.cleanup()
    """

    def __init__(self, store: Store) -> None:
        self._store = store

    def __repr__(self) -> str:
        """Its name and balances; a ledger that cannot be read any more has a name all the same."""
        try:
            balances = [f"{one.spent} spent of {one.cap} for {one.neighbours}" for one in self.accounts()]
        except (TacitaError, OSError):
            balances = []
        return f"Ledger({': '.join(part for part in (repr(self.name), '; '.join(balances)) if part)})"

    def _repr_html_(self) -> str:
        try:
            balances = [
                (", ".join(one.identities), one.neighbours, one.cap, one.spent, one.left) for one in self.accounts()
            ]
        except (TacitaError, OSError):
            return shown(repr(self), [])
        heads = ("files", "protected", "cap", "spent", "left")
        return shown(f"Ledger {self.name}: {len(self.entries())} entries", balances, heads)

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        raise RefusedError("a ledger cannot be pickled or copied: there is one. Open it where it is needed")

    @property
    def name(self) -> str:
        """Its file's name, or what it is called on its server."""
        return self._store.name

    # ------------------------------------------------------------ opening

    @classmethod
    def open(
        cls,
        path: str | Path,
        *,
        cap: Loss | None = None,
        neighbours: Neighbours | None = None,
        holds: Literal["always"] | None = None,
        yearly: Yearly | None = None,
        read_only: bool = False,
    ) -> Ledger:
        """Open a ledger, or create one by declaring its first cap. `path` is a file, or a server's address such as
        `postgresql://db.office/statistics#jobs`.

        A cap is the most that each family of data sets may lose under one relation. Naming a relation that has no
        cap yet declares one, if it can hold what was released before; naming another cap than the declared one is
        refused, but for one from before it was raised. Every release has to answer every declared cap: see `waive`.
        With `holds="always"` the cap takes only promises that hold at every file, none that holds asymptotically, from
        then on and for good. With `yearly=Yearly(Loss("1"), until=2030)` no calendar year may take more than that.
        """
        if holds not in (None, "always"):
            raise UsageError('holds: must be "always", or left out to take promises that hold asymptotically too')
        if (cap is None) != (neighbours is None):
            raise UsageError("cap and neighbours go together: Ledger.open(path, cap=Loss(…), neighbours=…)")
        if cap is not None and cap.is_zero:
            raise UsageError("cap: must be above 0; nothing could ever be released under it")
        if read_only and cap is not None:
            raise UsageError("read_only: a ledger opened for reading cannot declare a cap; leave cap out")
        ledger = cls(store_at(path, read_only=read_only))
        if cap is not None and neighbours is not None:
            ledger._declare(Cap(neighbours, cap, 0, holds, yearly=yearly))
        elif ledger._store.exists():
            ledger._read()
        else:
            raise UsageError(f"ledger {ledger.name}: {ledger._store.missing}")
        return ledger

    def _declare(self, asked: Cap) -> None:
        known = None
        if self._store.exists():
            with self._store.reading() as reader:  # a ledger that may only be read can still be opened with its cap
                known = Book.replay(reader.records()).caps.get(asked.neighbours)
        else:
            with_cap(Book(), asked, now().year)  # what is refused leaves nothing behind
        if known is not None and known.asked_as(asked) == known:
            return
        with self._store.writing(create=True) as writer:
            records = writer.records()
            if not records:
                append_open(writer)
            book = Book.replay(records)
            known = book.caps.get(asked.neighbours)  # another process may have been faster
            terms = with_cap(book, asked, writer.moment.year).caps[asked.neighbours]
            if known is None:
                append_cap(writer, terms, reason="declared")
            elif terms != known:
                firmer = [f"only promises that hold {terms.holds}"] if terms.holds != known.holds else []
                years = [f"{terms.yearly}"] if terms.yearly != known.yearly else []
                append_cap(writer, terms, reason=f"from here on {' and '.join((*firmer, *years))}")

    # ------------------------------------------------------------ releasing

    def release(self, plan: Plan[R], data: Confidential, *, label: str, entropy: SystemEntropy | None = None) -> R:
        """Run a plan on confidential rows, once: reserve its cost durably, run, store the result.

        The same request again (same plan, rows and declared domain, under any label) returns the stored result:
        no new noise, no charge. While another process is at it, this one waits for its result. Everything that can be
        wrong with the request is found before anything is spent. Noise comes from the operating system: `entropy` may
        only say so.
        """
        result: R = self.release_all([(plan, label)], data, entropy=entropy)[0].result
        return result

    def disclose(self, plan: Plan[R], data: Confidential, *, label: str, reason: str) -> R:
        """Run a plan that has no guarantee and let its result leave, for a reason that stays on record.

        There is no price, since no sum could bound what it shows: from then on no account of this file bounds
        anything, and every view and every later extract of it says so. A cap that takes only promises that always
        hold refuses it.
        """
        result: R = self.release_all([(plan, label)], data, reason=reason)[0].result
        return result

    def release_all(
        self,
        wanted: Sequence[tuple[Plan[Any], str]],
        data: Confidential,
        *,
        reason: str | None = None,
        entropy: SystemEntropy | None = None,
        starting: Callable[[str], None] = lambda label: None,
    ) -> list[Released]:
        """Several plans, each with its label, on the same rows: all of their costs are reserved in one step, or none.

        As `release` otherwise. Where a run fails the others are still made, since they are paid for, and the first
        error is raised at the end. Asking again returns what is stored and takes up what was not begun, at no charge.
        `starting` is told each label before its run; what it raises is logged, since the run is paid for by then.
        With a `reason` they are disclosed, as in `disclose`.
        """
        _refuse_other_entropy(entropy)
        if reason is not None:
            require_text(reason, "reason", "why this may leave without a guarantee, and who decided it")
        for _, label in wanted:
            require_text(label, "label", 'what the release is for, such as "2026 tables"')
        return release_all(
            self._store, data, [Wanted(plan, label, Asked(plan, data, reason)) for plan, label in wanted], starting
        )

    def quote(self, plan: Plan[Any], data: Confidential) -> Quote:
        """What this release would cost now, or which entry already holds it. Changes nothing; never refuses on cost.

        Refuses, as `release` would, a plan that no cap is declared for or that leaves a declared promise unanswered.
        """
        return quoted(self._read()[1], Asked(plan, data), now().year)

    def admit(
        self,
        plans: Iterable[Plan[Any]],
        data: Confidential,
        *,
        cap: Loss | None = None,
        neighbours: Neighbours | None = None,
        holds: Holds | None = None,
        yearly: Yearly | None = None,
    ) -> list[Quote]:
        """Refuse several releases together unless all of them fit: none is begun that the others would strand.

        Releases that are stored already cost nothing, and one request named twice is paid for once. With `cap`,
        `neighbours`, `holds` and `yearly` the answer is for the ledger as it would be with that cap declared; it is not
        declared.
        """
        return _admitted(with_cap(self._read()[1], _terms(cap, neighbours, holds, yearly), now().year), plans, data)

    @classmethod
    def foresee(
        cls,
        path: str | Path,
        plans: Iterable[Plan[Any]],
        data: Confidential,
        *,
        cap: Loss,
        neighbours: Neighbours,
        holds: Literal["always"] | None = None,
        yearly: Yearly | None = None,
        reason: str | None = None,
    ) -> list[Quote]:
        """What `admit` will say once a ledger is opened with this cap, also where there is none yet. Writes nothing.

        With a `reason` the plans have no guarantee and are to be disclosed.
        """
        book = cls.open(path, read_only=True)._read()[1] if cls.is_begun(path) else Book()
        asked = Cap(neighbours, cap, 0, holds, yearly=yearly)
        return _admitted(with_cap(book, asked, now().year), plans, data, reason)

    def preview(
        self,
        guarantees: Iterable[Guarantee],
        identity: str,
        lineage: Iterable[str] = (),
        *,
        cap: Loss | None = None,
        neighbours: Neighbours | None = None,
        holds: Holds | None = None,
        yearly: Yearly | None = None,
    ) -> tuple[Share, ...]:
        """What new releases with these promises would take together, from every cap they count against.

        For looking ahead without the file: the data set is known by its declared name alone, so neither a renamed copy
        nor a result that is stored already is recognised. Refuses, as `release` would, a promise that leaves a declared
        one unanswered; a share that is over its cap is shown (`Share.fits`). `cap` and `neighbours` as in `admit`.
        """
        book, year = self._read()[1], now().year
        book = with_cap(book, _terms(cap, neighbours, holds, yearly), year)
        return previewed(book, guarantees, DataKey(identity, None, tuple(lineage)), year)

    # ------------------------------------------------------------ looking

    @staticmethod
    def is_begun(path: str | Path) -> bool:
        """Whether there is a ledger with entries: not where none was made, nor where its making was cut short."""
        store = store_at(path, read_only=True)
        if not store.exists():
            return False
        with store.reading() as reader:
            return bool(reader.records())

    def knows(self, data: Confidential) -> bool:
        """Whether something was ever set aside here for rows with this content, or for units with these ids."""
        content, book = data.fingerprint(), self._read()[1]
        paid = book.reservations.values()
        if any(made.data.content == content for made in paid):
            return True
        key = book.sketch_key
        return key is not None and any(made.sketch and data.shared_units(key, made.sketch) for made in paid)

    def remaining(self, neighbours: Neighbours, data: str | Confidential) -> Loss:
        """What is left for a data set, given by its declared identity or, to follow renamed copies too, itself.

        A release must fit every cap it counts against; `quote` shows them all.
        """
        return account(self._read()[1], neighbours, data_key(data)).left

    def spent(self, neighbours: Neighbours, data: str | Confidential) -> Loss:
        """What its family has lost under one relation: released, failed and never finished alike.

        Counts every release whose guarantee implies the relation, also those made before its cap was declared.
        """
        return account(self._read()[1], neighbours, data_key(data)).spent

    def caps(self) -> dict[Neighbours, Loss]:
        return {one.neighbours: one.loss for one in self._read()[1].caps.values()}

    def raised_from(self, neighbours: Neighbours) -> tuple[Loss, ...]:
        """The caps that one relation had before its present one, oldest first."""
        cap = self._read()[1].caps.get(neighbours)
        return () if cap is None else cap.earlier

    def accounts(self) -> list[Account]:
        """Every budget: one for each cap and each family of data sets."""
        return accounts(self._read()[1])

    def entries(self) -> list[Entry]:
        """Every line, oldest first."""
        return views.entries(*self._read())

    def interrupted(self) -> list[Entry]:
        """Reservations whose run has not ended: it is still under way, or it was killed. They count as spent."""
        records, book = self._read()
        unfinished = {
            number for number, made in book.reservations.items() if made.interrupted and not made.is_disclosure
        }
        return [entry for entry in views.entries(records, book) if entry.number in unfinished]

    def extract(self, which: str | int | Iterable[int]) -> dict[str, Any]:
        """The public record of some releases, chosen by label or by number, for a bundle's `ledger.json`."""
        records, book = self._read()
        return views.extract(records, book, views.choose(book, which))

    def verify(self, published: Mapping[str, Any] | None = None) -> str:
        """Check every byte that carries meaning, and return the head of the chain.

        `published` is an extract from an earlier bundle: its lines and head must be in this ledger, and its accounts
        what they were at that head. That is the only defence against a whole file put back to an older state, which is
        consistent in itself.
        """
        with self._store.reading() as reader:
            records = reader.records()
            if not records:
                raise VerificationError("ledger: it has no entries; its creation was interrupted")
            reader.check_layout()
            book = Book.replay(records)
            commits = [record for record in records if record.body["kind"] == "commit"]
            if reader.result_numbers() != [record.number for record in commits]:
                raise VerificationError("ledger: stored results and the entries that announce them do not match")
            for made in book.reservations.values():
                if made.stored is not None:
                    checked_result(reader, made)
        if published is not None:
            views.compare(records, published)
        return records[-1].hash

    def head(self) -> dict[str, Any]:
        """What stands for the whole ledger as it is now: its id, its last entry and the hash of that."""
        records = self._read()[0]
        return views.head(records)

    def verify_head(self, signed: Mapping[str, Any]) -> None:
        """Refuse a ledger in which a head that was signed is not to be found: it was put back or exchanged."""
        views.compare_head(self._read()[0], signed)

    def _read(self) -> tuple[list[Record], Book]:
        with self._store.reading() as reader:
            records = reader.records()
        if not records:
            raise UsageError(
                f"ledger {self.name}: its creation was interrupted and nothing was spent in it. `tacita "
                "run` with a specification that names it makes it whole, as does opening it with a cap and "
                "neighbours; or remove it"
            )
        return records, Book.replay(records)


def append_open(writer: Writer) -> None:
    """The first line of a ledger."""
    facts = {"format": _FORMAT, "ledger": secrets.token_hex(16)}
    writer.append("open", facts, {"sketch_key": secrets.token_hex(32)})


def _terms(cap: Loss | None, neighbours: Neighbours | None, holds: Holds | None, yearly: Yearly | None) -> Cap | None:
    return None if cap is None or neighbours is None else Cap(neighbours, cap, 0, holds, yearly=yearly)


def _admitted(book: Book, plans: Iterable[Plan[Any]], data: Confidential, reason: str | None = None) -> list[Quote]:
    asked = [Asked(plan, data, reason) for plan in plans]
    quotes = admitted(book, asked, now().year)
    if not all(quote.is_free for quote in quotes):
        refuse_kin(book, data, asked[0].key)
    return quotes


def _refuse_other_entropy(entropy: object) -> None:
    """Exactly the system's own source: a subclass, or a stand-in that calls itself one, could listen or repeat."""
    if entropy is None:
        return
    from tacita.noise.entropy import SystemEntropy

    if type(entropy) is not SystemEntropy:
        raise RefusedError(
            "entropy: a release draws from the operating system alone; a seeded or another source makes a rehearsal, "
            "never a release. Leave entropy out"
        )
