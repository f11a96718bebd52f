"""The accounts: what the lines of a ledger add up to. Pure arithmetic on exact rationals; no file, no data.

One account is one neighbour relation for one *family* of data sets. A family is everything that was declared or
found to hold the same units: data sets join when they share a declared identity, a declared lineage or the content
of their rows. Families are worked out from the lines themselves, so renaming a file resets nothing.

A release counts in every account whose relation its guarantee implies. What this module keeps true: a cap that was
not waived bounds everything that any family has lost under its relation.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from fractions import Fraction

from tacita.errors import RefusedError, TacitaError, VerificationError
from tacita.ledger.corrections import Correction, why_not_superseded
from tacita.ledger.store import Record
from tacita.ledger.terms import Cap, DataKey, Name, Reservation, Tally, Waiver, Yearly, implies, request_key, restated
from tacita.privacy import Guarantee, Loss, Neighbours, NumbersWithin, StrongAlpha, WeakAlpha
from tacita.privacy.json_form import guarantee_from_json, holds_from_json, loss_from_json, neighbours_from_json

_Sum = Neighbours | tuple[Neighbours, int]  # what is added up under a relation: ever, and in one calendar year


@dataclass
class Book:
    """The accounts as they stand after some lines. `add` is the only thing that changes it for good; `declare` alone
    answers what a cap that nobody has written down yet would mean."""

    caps: dict[Neighbours, Cap] = field(default_factory=dict)
    waivers: dict[Neighbours, Waiver] = field(default_factory=dict)
    reservations: dict[int, Reservation] = field(default_factory=dict)
    overlaps: dict[frozenset[str], Waiver] = field(default_factory=dict)
    corrections: dict[int, Correction] = field(default_factory=dict)
    sketch_key: str | None = None  # in private texts only
    year: int = 0
    """The latest calendar year of any line. A clock that is put back does not bring back the allowance of a year that
    is over: what is set aside counts in this one at the earliest."""
    _requests: dict[str, list[int]] = field(default_factory=dict)
    _parent: dict[Name, Name] = field(default_factory=dict)
    _totals: dict[Name, dict[_Sum, Tally]] = field(default_factory=dict)

    @classmethod
    def replay(cls, records: Iterable[Record]) -> Book:
        """Add every line, refusing any that the rules could not have written."""
        book = cls()
        for record in records:
            try:
                book.add(record)
            except VerificationError:
                raise
            except (TacitaError, LookupError, TypeError, ValueError, AttributeError):
                raise VerificationError(f"ledger entry {record.number}: not an entry that Tacita writes") from None
        return book

    def add(self, record: Record) -> None:
        body = record.body
        self.year = self.in_year(int(str(body.get("time", ""))[:4] or 0))
        match body["kind"]:
            case "open":
                self._require(record.number == 1, record, "only the first entry opens a ledger")
                self.sketch_key = record.private.get("sketch_key")
            case "cap":
                self._add_cap(record)
            case "waive":
                self._add_waiver(record)
            case "overlap":
                self._add_overlap(record)
            case "supersede":
                self._add_correction(record)
            case "note":
                about = body.get("about", 1)
                meant = isinstance(about, int) and 1 <= about < record.number and str(record.private["text"]).strip()
                self._require(bool(meant), record, "a note says something, about an entry before it")
            case "reserve":
                self._add_reservation(record)
            case "disclose":
                self._add_disclosure(record)
            case "begin":
                self._begin(record)
            case "commit":
                self._finish(record, stored=str(body["sha256"]))
            case "failed":
                self._finish(record, failure=str(record.private["error"]))
            case _:
                raise VerificationError(f"ledger entry {record.number}: unknown kind of entry")

    def _add_cap(self, record: Record) -> None:
        neighbours, loss = neighbours_from_json(record.body["neighbours"]), loss_from_json(record.body["cap"])
        yearly = record.body.get("yearly")
        terms = None if yearly is None else Yearly(loss_from_json(yearly["loss"]), int(yearly["until"]))
        cap = Cap(neighbours, loss, record.number, holds_from_json(record.body.get("holds")), yearly=terms)
        old = self.caps.get(cap.neighbours)
        if old is None:
            try:
                self.declare(cap)
            except RefusedError:
                raise VerificationError(
                    f"ledger entry {record.number}: this cap could not be declared after what was released before it"
                ) from None
        else:
            rises = old.loss <= cap.loss and old.loss != cap.loss and bool(record.body["reason"])
            firmer = old.loss == cap.loss and (old.holds is None or old.yearly != cap.yearly)
            self._require(rises or firmer, record, "a cap only rises, and with a reason")
            self._require(old.yearly is None or cap.yearly is not None, record, "an allowance per year stays one")
            self._require(old.holds in (None, cap.holds), record, "a cap that takes only firm promises stays so")
            try:
                self.refuse_softer(cap)
            except RefusedError:
                raise VerificationError(
                    f"ledger entry {record.number}: this cap is firmer than what was released before it"
                ) from None
            self.caps[cap.neighbours] = cap.follows(old)

    def declare(self, cap: Cap) -> None:
        """The first cap of a relation; refuses one that cannot bound what was lost before it."""
        for root, totals in self.lost_before(cap).items():
            self._totals[root] |= totals
        self.caps[cap.neighbours] = cap

    def _add_waiver(self, record: Record) -> None:
        neighbours, reason = neighbours_from_json(record.body["neighbours"]), str(record.body["reason"])
        meant = neighbours not in self.waivers and (neighbours in self.caps or bool(self.silent_on(neighbours)))
        self._require(meant and bool(reason.strip()), record, "a promise is waived once, and with a reason")
        self.waivers[neighbours] = Waiver(reason, record.number)

    def _add_overlap(self, record: Record) -> None:
        pair, reason = frozenset(map(str, record.body["identities"])), str(record.body["reason"])
        meant = len(pair) == 2 and pair not in self.overlaps and bool(reason.strip())
        self._require(meant, record, "units in two files are let pass once, and with a reason")
        self.overlaps[pair] = Waiver(reason, record.number)

    def _add_correction(self, record: Record) -> None:
        parts = ([self.reservations[cited["number"]] for cited in record.body[part]] for part in ("entries", "by"))
        old, new = parts
        cited = [made.cited for made in (*old, *new)] == [*record.body["entries"], *record.body["by"]]
        done = all(made.stored is not None for made in (*old, *new)) and bool(old)
        meant = cited and done and bool(str(record.body["reason"]).strip())
        self._require(meant and not why_not_superseded(self, old, new), record, "this is no correction of a release")
        for made in old:
            self.corrections[made.number] = Correction(tuple(one.number for one in new), record.number)

    def _add_reservation(self, record: Record) -> None:
        account, charge = neighbours_from_json(record.body["account"]), loss_from_json(record.body["charge"])
        made, charges = self._asked_for(record, account, charge)
        paid = charges[0][0].neighbours == account and charges[0][1] == charge
        self._require(paid, record, "the charge is not what its guarantee costs")
        root = self._root(made.data.names[0])
        for cap, loss in charges:
            total, in_year = _added(self._totals[root], cap.neighbours, made.year, loss)
            self._require(total.fits(cap.loss), record, f"this spend does not fit under the cap for {cap.neighbours}")
            if cap.yearly is not None:
                fits = made.year <= cap.yearly.until and in_year.fits(cap.yearly.limit(cap.loss))
                self._require(fits, record, f"this spend does not fit the allowance of its year for {cap.neighbours}")

    def _add_disclosure(self, record: Record) -> None:
        made, charges = self._asked_for(record, None, None, str(record.body["reason"]))
        meant = made.guarantee.holds == "never" and not charges and bool(made.reason.strip())
        self._require(meant, record, "a disclosure has no guarantee and no price, but a reason")

    def _asked_for(
        self, record: Record, account: Neighbours | None, charge: Loss | None, reason: str = ""
    ) -> tuple[Reservation, list[tuple[Cap, Loss]]]:
        """A run that was let near the rows, and what it counts against."""
        body = record.body
        content = str(record.private["fingerprint"])
        made = Reservation(
            record.number,
            body["label"],
            DataKey(body["identity"], content, tuple(body["lineage"])),
            request_key(body["plan"], body["guarantee"], body["domain"], content),
            guarantee_from_json(body["guarantee"]),
            account,
            charge,
            reason,
            plan=body["plan"],
            begun=not record.private.get("waits", False),
            day=str(body.get("time", ""))[:10],
            year=self.year,
            sketch={entity: tuple(hashes) for entity, hashes in record.private.get("sketch", {}).items()},
        )
        self.sketch_key = self.sketch_key or record.private.get("sketch_key")
        try:
            charges = self.charges(made.guarantee)
        except RefusedError:
            raise VerificationError(
                f"ledger entry {record.number}: this guarantee does not answer the caps of its time"
            ) from None
        self._join(made.data.names)
        self.reservations[made.number] = made
        self._requests.setdefault(made.request, []).append(made.number)
        return made, charges

    def _begin(self, record: Record) -> None:
        reserved = self.reservations.get(record.body["reserve"])
        if reserved is None or not reserved.waiting:
            raise VerificationError(f"ledger entry {record.number}: begins a run that was not waiting")
        self.reservations[reserved.number] = replace(reserved, begun=True)

    def _finish(self, record: Record, *, stored: str | None = None, failure: str | None = None) -> None:
        reserved = self.reservations.get(record.body["reserve"])
        if reserved is None or not reserved.interrupted:
            raise VerificationError(f"ledger entry {record.number}: finishes a run that was not under way")
        self.reservations[reserved.number] = replace(
            reserved, finished_in=record.number, stored=stored, failure=failure
        )

    @staticmethod
    def _require(condition: bool, record: Record, rule: str) -> None:
        if not condition:
            raise VerificationError(f"ledger entry {record.number}: {rule}")

    # ------------------------------------------------------------ families

    def _root(self, name: Name) -> Name:
        while (above := self._parent.get(name, name)) != name:
            self._parent[name] = self._parent.get(above, above)  # halve the path on the way up
            name = above
        return name

    def _join(self, names: Iterable[Name]) -> Name:
        first, *rest = names
        root = self._root(first)
        self._totals.setdefault(root, {})
        for name in rest:
            other = self._root(name)
            if other == root:
                continue
            self._parent[other] = root
            for account, tally in self._totals.pop(other, {}).items():
                self._totals[root][account] = self._totals[root].get(account, Tally()) + tally
        return root

    def family(self, data: DataKey) -> set[str]:
        """The other identities that share this data set's budget."""
        roots = {self._root(name) for name in data.names}
        return {
            name
            for made in self.reservations.values()
            for kind, name in made.data.names
            if kind == "identity" and name != data.identity and self._root((kind, name)) in roots
        }

    def are_kin(self, one: DataKey, other: DataKey) -> bool:
        """Whether two data sets share a budget, or would once both are in the book."""
        return not {self._root(name) for name in one.names}.isdisjoint(self._root(name) for name in other.names)

    def let_pass(self, one: str, other: str) -> bool:
        """Whether two identities were allowed on record to hold the same units."""
        return frozenset((one, other)) in self.overlaps

    def families(self) -> list[str]:
        """One identity for each family, in the order in which they first spent."""
        seen: dict[Name, str] = {}
        for made in self.reservations.values():
            seen.setdefault(self._root(("identity", made.data.identity)), made.data.identity)
        return list(seen.values())

    # ------------------------------------------------------------ questions

    def spent(self, account: Neighbours, data: DataKey, year: int | None = None) -> Tally:
        """Everything reserved that implies one relation, by any family this data set belongs to or would join: ever,
        or in one calendar year."""
        total, what = Tally(), account if year is None else (account, year)
        for root in {self._root(name) for name in data.names}:
            total = total + self._totals.get(root, {}).get(what, Tally())
        return total

    def spent_outside(self, year: int, account: Neighbours) -> list[Tally]:
        """What each family spent in all other years under one relation."""
        others = [one for one in self.years() if one != year]
        return [
            sum((totals.get((account, one), Tally()) for one in others), Tally()) for totals in self._totals.values()
        ]

    def in_year(self, year: int) -> int:
        """The year that something asked for in this one counts in."""
        return max(year, self.year)

    def years(self) -> list[int]:
        """The calendar years in which anything was reserved."""
        return sorted({made.year for made in self.reservations.values()})

    def cap(self, neighbours: Neighbours) -> Cap:
        if neighbours in self.caps:
            return self.caps[neighbours]
        declared = "; ".join(str(one) for one in self.caps) or "none"
        or_this = f", or give the plan the declared one: neighbours={next(iter(self.caps))!r}" if self.caps else ""
        raise RefusedError(
            f"no cap is declared for {neighbours} (declared: {declared}). Declare one with "
            f"Ledger.open(path, cap=Loss(…), neighbours=…){or_this}"
        )

    def charges(self, guarantee: Guarantee) -> list[tuple[Cap, Loss]]:
        """Every cap a promise counts against and how much; first the account its entry names.

        Refuses a promise that no cap is declared for, and one that is silent on a cap that was not waived. What has no
        guarantee costs nothing that could be counted; a cap that takes only firm promises refuses it.
        """
        if guarantee.holds == "never":
            for cap in self.caps.values():
                cap.refuse_softer(guarantee)
            return []
        named = self._account(guarantee)
        losses = [(cap, restated(guarantee, cap)) for cap in (named, *self.caps.values())]
        broken = [cap for cap, loss in losses if loss is None and cap.neighbours not in self.waivers]
        if broken:
            promised = "; ".join(f"{one.neighbours} (cap {one.loss}, entry {one.declared_in})" for one in broken)
            raise RefusedError(
                f"the file is promised protection under {promised}, and this plan says nothing about it: it promises "
                f"{guarantee}. Use a plan whose guarantee implies it, or lift that promise for later releases, on "
                "record, with ledger.waive(neighbours, reason=…)"
            )
        return list(dict.fromkeys((cap, loss) for cap, loss in losses if loss is not None))

    def refuse_softer(self, cap: Cap) -> None:
        """Refuse a cap that takes only firm promises where softer ones were counted before."""
        for made in self.reservations.values():
            if made.is_disclosure or implies(made.guarantee, cap.neighbours):
                cap.refuse_softer(made.guarantee)

    def lost_before(self, cap: Cap) -> dict[Name, dict[_Sum, Tally]]:
        """What each family lost under a relation before it had a cap; refuses a cap that cannot bound it."""
        silent = self.silent_on(cap.neighbours)
        if silent and cap.neighbours not in self.waivers:
            raise RefusedError(
                f"a cap for {cap.neighbours} would promise what is already broken: earlier releases say nothing about "
                f"it (entries: {_listed(silent)}). Declare it after ledger.waive(neighbours, reason=…), which leaves "
                "an entry that every view of this account shows"
            )
        self.refuse_softer(cap)
        totals: dict[Name, dict[_Sum, Tally]] = {}
        for made in self._of(None):
            loss = restated(made.guarantee, cap)
            if loss is not None:
                root = self._root(("identity", made.data.identity))
                total, _ = _added(totals.setdefault(root, {}), cap.neighbours, made.year, loss)
                if not total.fits(cap.loss):
                    whole = total.loss(cap.loss)
                    raise RefusedError(
                        f"the cap for {cap.neighbours} cannot be {cap.loss}: {made.data.identity} had lost {whole} "
                        f"under it by entry {made.number}, since earlier releases that imply it count. Declare a cap "
                        "that holds them"
                    )
        return totals

    def silent_on(self, neighbours: Neighbours, data: DataKey | None = None) -> tuple[int, ...]:
        """Reservations, of one family or of all, whose guarantee says nothing about a relation."""
        return tuple(made.number for made in self._of(data) if not implies(made.guarantee, neighbours))

    def counted(self, neighbours: Neighbours, data: DataKey) -> list[Guarantee]:
        """The promises that were added up in one account, and what was disclosed without one beside them: of them, the
        sum has the firmness and the assumptions."""
        counted = [made.guarantee for made in self._of(data) if implies(made.guarantee, neighbours)]
        return counted + [made.guarantee for made in self.disclosures(data)]

    def disclosures(self, data: DataKey) -> Iterator[Reservation]:
        """What one family disclosed without a guarantee."""
        return self._of(data, disclosed=True)

    def _of(self, data: DataKey | None, *, disclosed: bool = False) -> Iterator[Reservation]:
        """The reservations of one family, or of all: those with a price, or the others."""
        roots = None if data is None else {self._root(name) for name in data.names}
        for made in self.reservations.values():
            if made.is_disclosure == disclosed and (
                roots is None or self._root(("identity", made.data.identity)) in roots
            ):
                yield made

    def _account(self, guarantee: Guarantee) -> Cap:
        if guarantee.neighbours in self.caps:
            return self.caps[guarantee.neighbours]
        implied = [one for one in self.caps if implies(guarantee, one)]
        if not implied:
            return self.cap(guarantee.neighbours)
        # Of several, the relation that protects most.
        return self.caps[max(implied, key=_strength)]

    def requests(self, request: str) -> list[Reservation]:
        """Earlier reservations for exactly this request."""
        return [self.reservations[number] for number in self._requests.get(request, ())]


def _added(totals: dict[_Sum, Tally], account: Neighbours, year: int, loss: Loss) -> tuple[Tally, Tally]:
    """One more loss in the sums of a relation: the sum ever, and that of the year."""
    for what in (account, (account, year)):
        totals[what] = totals.get(what, Tally()) + Tally.of(loss)
    return totals[account], totals[account, year]


def _listed(numbers: Iterable[int]) -> str:
    return ", ".join(str(number) for number in numbers)


def _strength(neighbours: Neighbours) -> Fraction:
    return neighbours.alpha if isinstance(neighbours, StrongAlpha | WeakAlpha | NumbersWithin) else Fraction(0)
