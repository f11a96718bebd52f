"""The accounts: what the lines of a ledger add up to. Pure arithmetic on exact rationals; no file, no data.

One account is one neighbour relation for one *family* of data sets. A family is everything that was declared or
found to hold the same units: data sets join when they share a declared identity, a declared lineage or the content
of their rows. Families are worked out from the lines themselves, so renaming a file resets nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

from tacita.errors import RefusedError, TacitaError, UsageError, VerificationError
from tacita.ledger.codec import canonical, loss_from_json, neighbours_from_json
from tacita.ledger.store import Record
from tacita.privacy import Guarantee, Loss, Neighbours, StrongAlpha, WeakAlpha

Name = tuple[str, str]  # ("identity", …) or ("content", …)


@dataclass(frozen=True)
class Tally:
    """A sum of losses that cannot fail: two families that join may hold more than any single `Loss` may say."""

    epsilon: Fraction = Fraction(0)
    delta: Fraction = Fraction(0)
    rho: Fraction = Fraction(0)

    @classmethod
    def of(cls, loss: Loss) -> Tally:
        return cls(loss.epsilon, loss.delta, loss.rho or Fraction(0))

    def __add__(self, other: Tally) -> Tally:
        return Tally(self.epsilon + other.epsilon, self.delta + other.delta, self.rho + other.rho)

    def fits(self, cap: Loss) -> bool:
        allowed = Tally.of(cap)
        return self.epsilon <= allowed.epsilon and self.delta <= allowed.delta and self.rho <= allowed.rho

    def loss(self, like: Loss) -> Loss:
        """As a loss of the same kind as `like`."""
        if self.delta >= 1:
            raise RefusedError(
                "the deltas spent on this family add up to 1 or more: no guarantee is left to account for"
            )
        return Loss(self.epsilon, delta=self.delta) if like.rho is None else Loss(rho=self.rho)

    def left_of(self, cap: Loss) -> Loss:
        """What remains of a cap; zero where joined families already hold more."""
        if cap.rho is not None:
            return Loss(rho=max(cap.rho - self.rho, Fraction(0)))
        return Loss(max(cap.epsilon - self.epsilon, Fraction(0)), delta=max(cap.delta - self.delta, Fraction(0)))


@dataclass(frozen=True)
class DataKey:
    """How the ledger knows a data set: what it is called, what its rows are, where its units were before."""

    identity: str
    content: str | None = None
    lineage: tuple[str, ...] = ()

    @property
    def names(self) -> tuple[Name, ...]:
        declared: tuple[Name, ...] = tuple(("identity", one) for one in (self.identity, *self.lineage))
        return declared if self.content is None else (*declared, ("content", self.content))


@dataclass(frozen=True)
class Cap:
    """The most that one family may lose under one relation."""

    neighbours: Neighbours
    loss: Loss
    declared_in: int


@dataclass(frozen=True)
class Reservation:
    """A share that was set aside for one run. It is spent from that moment, whatever became of the run."""

    number: int
    label: str
    data: DataKey
    request: str
    account: Neighbours
    charge: Loss
    finished_in: int | None = None
    stored: str | None = None
    failure: str | None = None

    @property
    def state(self) -> str:
        if self.stored is not None:
            return "released"
        if self.finished_in is not None:
            return f"failed ({self.failure}), counts as spent"
        return "reserved, never finished, counts as spent"

    @property
    def interrupted(self) -> bool:
        return self.finished_in is None


def request_key(plan: Any, guarantee: Mapping[str, Any], domain: str, content: str) -> str:
    """What makes two requests the same one: the plan, its promise, the declared domain and the rows.

    Labels do not count, nor does the wording of the assumptions.
    """
    return canonical([plan, guarantee["neighbours"], guarantee["loss"], domain, content])


@dataclass
class Book:
    """The accounts as they stand after some lines. `add` is the only thing that changes it."""

    caps: dict[Neighbours, Cap] = field(default_factory=dict)
    reservations: dict[int, Reservation] = field(default_factory=dict)
    _requests: dict[str, list[int]] = field(default_factory=dict)
    _parent: dict[Name, Name] = field(default_factory=dict)
    _totals: dict[Name, dict[Neighbours, Tally]] = field(default_factory=dict)

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
        match body["kind"]:
            case "open":
                self._require(record.number == 1, record, "only the first entry opens a ledger")
            case "cap":
                self._add_cap(record)
            case "reserve":
                self._add_reservation(record)
            case "commit":
                self._finish(record, stored=str(body["sha256"]))
            case "failed":
                self._finish(record, failure=str(record.private["error"]))
            case _:
                raise VerificationError(f"ledger entry {record.number}: unknown kind of entry")

    def _add_cap(self, record: Record) -> None:
        cap = Cap(neighbours_from_json(record.body["neighbours"]), loss_from_json(record.body["cap"]), record.number)
        old = self.caps.get(cap.neighbours)
        if old is not None:
            rises = old.loss <= cap.loss and old.loss != cap.loss and bool(record.body["reason"])
            self._require(rises, record, "a cap only rises, and with a reason")
        self.caps[cap.neighbours] = cap

    def _add_reservation(self, record: Record) -> None:
        body = record.body
        content = str(record.private["fingerprint"])
        made = Reservation(
            record.number,
            body["label"],
            DataKey(body["identity"], content, tuple(body["lineage"])),
            request_key(body["plan"], body["guarantee"], body["domain"], content),
            neighbours_from_json(body["account"]),
            loss_from_json(body["charge"]),
        )
        root = self._join(made.data.names)
        total = self._totals[root].get(made.account, Tally()) + Tally.of(made.charge)
        within = made.account in self.caps and total.fits(self.caps[made.account].loss)
        self._require(within, record, "this spend does not fit under the cap of its time")
        self._totals[root][made.account] = total
        self.reservations[made.number] = made
        self._requests.setdefault(made.request, []).append(made.number)

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

    def families(self) -> list[str]:
        """One identity for each family, in the order in which they first spent."""
        seen: dict[Name, str] = {}
        for made in self.reservations.values():
            seen.setdefault(self._root(("identity", made.data.identity)), made.data.identity)
        return list(seen.values())

    # ------------------------------------------------------------ questions

    def spent(self, account: Neighbours, data: DataKey) -> Tally:
        """Everything reserved under one relation by any family this data set belongs to or would join."""
        total = Tally()
        for root in {self._root(name) for name in data.names}:
            total = total + self._totals.get(root, {}).get(account, Tally())
        return total

    def cap(self, neighbours: Neighbours) -> Cap:
        if neighbours in self.caps:
            return self.caps[neighbours]
        declared = "; ".join(str(one) for one in self.caps) or "none"
        raise RefusedError(
            f"no cap is declared for {neighbours} (declared: {declared}). Declare one with "
            "Ledger.open(path, cap=Loss(…), neighbours=…), or state the plan under a declared relation"
        )

    def charge(self, guarantee: Guarantee) -> tuple[Cap, Loss]:
        """Which account pays for a promise, and how much: its own, or one for a relation it provably implies."""
        cap = self._account(guarantee)
        loss = guarantee.under(cap.neighbours).loss
        if cap.loss.rho is not None:
            return cap, loss.as_zcdp()
        if loss.rho is not None:
            raise RefusedError(
                f"the cap for {cap.neighbours} is in epsilon, but this plan's loss is in rho; "
                "use a plan with an (epsilon, delta) loss, or a ledger whose cap is in rho"
            )
        return cap, loss

    def _account(self, guarantee: Guarantee) -> Cap:
        if guarantee.neighbours in self.caps:
            return self.caps[guarantee.neighbours]
        implied = [one for one in self.caps if _implies(guarantee, one)]
        if not implied:
            return self.cap(guarantee.neighbours)
        # Of several, the relation that protects most.
        return self.caps[max(implied, key=_strength)]

    def requests(self, request: str) -> list[Reservation]:
        """Earlier reservations for exactly this request."""
        return [self.reservations[number] for number in self._requests.get(request, ())]


def _implies(guarantee: Guarantee, neighbours: Neighbours) -> bool:
    try:
        guarantee.under(neighbours)
    except (RefusedError, UsageError):
        return False
    return True


def _strength(neighbours: Neighbours) -> Fraction:
    return neighbours.alpha if isinstance(neighbours, StrongAlpha | WeakAlpha) else Fraction(0)
