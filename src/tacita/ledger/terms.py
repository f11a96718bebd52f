"""What the accounts are made of: keys of data sets, caps, waivers, reservations, sums, and one promise restated."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from tacita.errors import RefusedError, UsageError
from tacita.privacy import Guarantee, Holds, Loss, Neighbours
from tacita.privacy.json_form import canonical, digest

if TYPE_CHECKING:  # annotations only: `tacita ledger show` need not load an engine
    from tacita.data.schema import Schema

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
class Yearly:
    """What may be spent in each calendar year (UTC) inside a cap, and the last year that this is meant for.

    It bounds ε, or ρ where the cap is in ρ; δ is bounded by the cap alone. What is left of a year does not go over to
    the next.
    """

    loss: Loss
    until: int

    def __str__(self) -> str:
        return f"{self.loss} a year until {self.until}"

    def limit(self, cap: Loss) -> Loss:
        """The most that one year may take."""
        return self.loss if cap.rho is not None else Loss(self.loss.epsilon, delta=cap.delta)

    def refuse_beyond(self, cap: Loss, year: int, spent: Iterable[Tally] = ()) -> None:
        """Refuse an allowance that this cap cannot keep up from a year on until the horizon, for a family of files that
        had `spent` so much in earlier years."""
        if self.loss.is_zero or self.loss.delta or (self.loss.rho is None) != (cap.rho is None):
            raise UsageError(f"per_year: must be above 0 and of the kind of the cap, which is {cap}; δ has none")
        if self.until < year:
            raise UsageError(f"until: {self.until} is over; name the last year that the allowance is meant for")
        years = self.until - year + 1
        whole = self.loss * years
        if not all((one + Tally.of(whole)).fits(cap) for one in (Tally(), *spent)):
            raise RefusedError(
                f"{self} is {whole} for the {years} years from {year} on: with what was spent before, the cap of {cap} "
                "would not last. Lower per_year, name an earlier year in until, or raise the cap"
            )


@dataclass(frozen=True)
class Cap:
    """The most that one family may lose under one relation.

    Where `holds` is "always", only promises that hold at every file count: none that holds asymptotically is allowed.
    `earlier` are the caps from before it was raised: a specification that names one of them still runs. So are
    `earlier_years` of the `yearly` allowance.
    """

    neighbours: Neighbours
    loss: Loss
    declared_in: int
    holds: Holds | None = None
    earlier: tuple[Loss, ...] = ()
    yearly: Yearly | None = None
    earlier_years: tuple[Yearly, ...] = ()

    def was(self, cap: Loss) -> bool:
        """Whether this is the cap, or was before it rose."""
        return cap in (self.loss, *self.earlier)

    def asked_as(self, asked: Cap) -> Cap:
        """What becomes of it where a specification asks for it in these terms: firmer, or with an allowance per year
        where it had none. Refuses other terms than it has, or had."""
        if not self.was(asked.loss):
            raise RefusedError(
                f"the cap for {self.neighbours} is {self.loss} (entry {self.declared_in}), not {asked.loss}; open the "
                "ledger with that cap or with none. A cap is raised only on record, by `tacita ledger raise` or "
                "Ledger.raise_cap(new, reason=…), which leaves an entry that every later bundle shows"
            )
        if self.yearly is not None and asked.yearly not in (None, self.yearly, *self.earlier_years):
            raise RefusedError(
                f"the cap for {self.neighbours} allows {self.yearly} (entry {self.declared_in}), not {asked.yearly}; "
                "correct per_year and until, or leave them out. They are changed only on record, by `tacita ledger "
                "raise --per-year … --until …`"
            )
        return replace(self, holds=self.holds or asked.holds, yearly=self.yearly or asked.yearly)

    def follows(self, old: Cap) -> Cap:
        """The same, remembering the terms that it had before."""
        earlier = old.earlier if old.loss == self.loss else (*old.earlier, old.loss)
        years = old.earlier_years if old.yearly in (None, self.yearly) else (*old.earlier_years, old.yearly)
        return replace(self, earlier=earlier, earlier_years=years)

    def refuse_softer(self, guarantee: Guarantee) -> None:
        if self.holds == "always" and guarantee.holds != "always":
            holds = "has no guarantee" if guarantee.holds == "never" else f"holds {guarantee.holds}: {guarantee}"
            raise RefusedError(
                f"the cap for {self.neighbours} takes only promises that always hold (entry {self.declared_in}), and "
                f"this one {holds}. Use a plan whose guarantee always holds"
            )


@dataclass(frozen=True)
class Waiver:
    """A promise that was lifted: releases after this entry need not say anything about that relation."""

    reason: str
    entry: int


@dataclass(frozen=True)
class Reservation:
    """A share that was set aside for one run. It is spent from that moment, whatever became of the run.

    `account` and `charge` are the one account that is named in the entry; others count too (`Book.charges`). Of several
    shares that were set aside together, one whose run has not `begun` has seen no row: asking again takes it up.
    A disclosure has no price and so neither of the two, but a `reason`.
    """

    number: int
    label: str
    data: DataKey
    request: str
    guarantee: Guarantee
    account: Neighbours | None
    charge: Loss | None
    reason: str = ""
    plan: Mapping[str, Any] = field(default_factory=dict, hash=False)
    begun: bool = True
    sketch: Mapping[str, tuple[int, ...]] = field(default_factory=dict, hash=False)
    finished_in: int | None = None
    stored: str | None = None
    failure: str | None = None
    day: str = ""
    year: int = 0
    """The calendar year that it counts in."""

    @property
    def cited(self) -> dict[str, Any]:
        """As another line names it."""
        return {"number": self.number, "label": self.label, "time": self.day}

    @property
    def is_disclosure(self) -> bool:
        return self.charge is None

    @property
    def state(self) -> str:
        if self.is_disclosure:
            done = "disclosed" if self.stored is not None else f"failed ({self.failure})" if self.failure else "begun"
            return f"{done}, NO GUARANTEE: {self.reason}"
        if self.stored is not None:
            return "released"
        if self.finished_in is not None:
            return f"failed ({self.failure}), counts as spent"
        if not self.begun:
            return "reserved, not begun; asking again takes it up"
        return "reserved, never finished, counts as spent"

    @property
    def interrupted(self) -> bool:
        return self.begun and self.finished_in is None

    @property
    def waiting(self) -> bool:
        return not self.begun


def request_key(plan: Any, guarantee: Mapping[str, Any], domain: str, content: str) -> str:
    """What makes two requests the same one: the plan, its promise, the declared domain and the rows.

    Labels do not count, nor does the wording of the assumptions.
    """
    return canonical([plan, guarantee["neighbours"], guarantee["loss"], domain, content])


def domain_of(schema: Schema, relied_on: Mapping[str, Any] | None = None) -> str:
    """The declared variables without their wording: a corrected label does not make it another request. What a plan
    relies on beside them (`Plan.relies_on`) does: a corrected tree of levels, another rule between columns."""
    wording = ("label", "labels")
    variables = schema.to_dict()["variables"]
    rules = {name: {key: rule[key] for key in rule if key not in wording} for name, rule in variables.items()}
    return digest(canonical([rules, relied_on] if relied_on else rules))


def softest(promises: Iterable[Guarantee]) -> Holds:
    """How firmly a sum holds: no more firmly than any promise in it, and never beside what has no guarantee."""
    firmness = {one.holds for one in promises}
    return "never" if "never" in firmness else "asymptotically" if "asymptotically" in firmness else "always"


def implies(guarantee: Guarantee, neighbours: Neighbours) -> bool:
    """Whether a promise provably says something about a relation."""
    try:
        guarantee.under(neighbours)
    except (RefusedError, UsageError):
        return False
    return True


def restated(guarantee: Guarantee, cap: Cap) -> Loss | None:
    """What a promise costs under a cap, in the cap's kind of loss; None where it says nothing about that relation."""
    if not implies(guarantee, cap.neighbours):
        return None
    cap.refuse_softer(guarantee)
    loss = guarantee.under(cap.neighbours).loss
    if cap.loss.rho is not None:
        if loss.delta:
            raise RefusedError(
                f"the cap for {cap.neighbours} is in rho, and a loss with delta > 0 ({guarantee}) has no exact rho; "
                "use a plan with a pure epsilon or a rho loss, or a ledger whose cap is in epsilon and delta"
            )
        return loss.as_zcdp()
    if loss.rho is not None:
        raise RefusedError(
            f"the cap for {cap.neighbours} is in epsilon, but a loss in rho counts against it ({guarantee}); "
            "use a plan with an (epsilon, delta) loss, or a ledger whose cap is in rho"
        )
    return loss
