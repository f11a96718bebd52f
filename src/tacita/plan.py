"""What every mechanism and every synthesizer has in common.

A plan is a frozen dataclass. Its claim (`guarantee`), its expected accuracy (`forecast`) and its
identity (`describe`) are known before any data; `run` is the only thing that touches confidential rows,
and only the ledger calls it on real ones.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Protocol, runtime_checkable

from tacita.data.confidential import Confidential
from tacita.data.schema import Schema
from tacita.noise.entropy import Entropy, SeededEntropy
from tacita.privacy import UNCHECKED, Guarantee, StrongAlpha, WeakAlpha

ONE_ROW = "each unit has one record in the file"
ONE_JOB = "each worker holds one job in the file"
_RECORDS = ("record", "row")  # a promise about single records takes nothing on trust


@dataclass(frozen=True)
class Forecast:
    """How accurate a plan will be, said before anything is spent."""

    product: str
    cells: int
    sentences: tuple[str, ...]
    figures: dict[str, float]

    def __str__(self) -> str:
        return "\n".join((self.product, *(f"  {line}" for line in self.sentences)))


class Result(Protocol):
    """What a plan returns: noisy statistics that may leave, and know whether they were a rehearsal."""

    @property
    def rehearsal(self) -> bool: ...

    def to_bytes(self) -> bytes: ...


@runtime_checkable
class Plan(Protocol):
    """The protocol the ledger, the specification and the contract suite speak."""

    @property
    def guarantee(self) -> Guarantee: ...

    @property
    def proof(self) -> str:
        """The proof file, relative to the package folder."""
        ...

    def describe(self) -> dict[str, Any]:
        """The whole configuration as plain JSON values, every default spelled out: the plan's identity."""
        ...

    def columns(self, schema: Schema) -> tuple[str, ...]:
        """The columns it reads; raises a clear error where the schema cannot carry the plan."""
        ...

    def forecast(self, schema: Schema) -> Forecast: ...

    def suits(self, data: Confidential) -> None:
        """Raises a clear error where public facts of the file, such as its size, rule the plan out; asked before
        anything is spent, and silent about anything confidential."""
        ...

    def run(self, data: Confidential, entropy: Entropy) -> Result: ...

    def restore(self, stored: bytes) -> Result:
        """The result as it was stored by the ledger."""
        ...


@dataclass(frozen=True)
class Contribution:
    """The unit whose rows a promise counts: it holds for a unit with one row. `rule` says so in words."""

    unit: str
    rule: str = ONE_ROW

    def id_column(self, schema: Schema) -> str | None:
        return schema.id_for(self.unit)

    def on_trust(self, schema: Schema) -> str | None:
        """What nothing in such a file can show; None where its rows are checked."""
        if self.id_column(schema) is not None:
            return None
        if self.unit in _RECORDS:
            others = " or ".join(schema.entities)
            return (
                f"the promise is about single records; one {others} with several of them loses that much for each"
                if others
                else None
            )
        said = self.rule if self.rule != ONE_ROW else f"each row of the file is one whole {self.unit}"
        return f"{said}; the file has no {self.unit} id, so nothing could check it"


def contribution_of(plan: Plan, schema: Schema) -> Contribution | None:
    """What a plan asks of the rows of one unit; None where it takes all of them together, or promises nothing.

    A plan says so itself with a method `contribution(schema)`; without one, each row counts as a unit.
    """
    guarantee = plan.guarantee
    if guarantee.holds == "never":
        return None
    own = getattr(plan, "contribution", None)
    if own is not None:
        found: Contribution | None = own(schema)
        return found
    relation = guarantee.neighbours
    if isinstance(relation, StrongAlpha | WeakAlpha):
        return Contribution("worker", ONE_JOB)
    return Contribution(relation.unit)


def claimed(plan: Plan, schema: Schema) -> Guarantee:
    """The promise of a plan for files of this schema: what no id can show stands first among its assumptions.

    >>> variables = {"sex": {"role": "confidential", "type": "categorical", "levels": ["F", "M"]}}
    >>> schema = Schema.from_dict({"dataset": {"identity": "people", "unit": "person"}, "variables": variables})
    >>> from tacita.synthesis import HistogramSynthesis
    >>> claimed(HistogramSynthesis(["sex"], "1"), schema).assumes[0]
    'not checked: each row of the file is one whole person; the file has no person id, so nothing could check it'
    """
    guarantee, asked = plan.guarantee, contribution_of(plan, schema)
    trusted = None if asked is None else asked.on_trust(schema)
    if asked is None or trusted is None:
        return guarantee
    others = tuple(one for one in guarantee.assumes if one not in (ONE_ROW, asked.rule))
    return replace(guarantee, assumes=(UNCHECKED + trusted, *others))


def check(plan: Plan, data: Confidential) -> None:
    """Everything that can be wrong with a plan for a file, found before anything is spent."""
    data.check(plan.columns(data.schema))
    asked = contribution_of(plan, data.schema)
    if asked is not None and (column := asked.id_column(data.schema)) is not None:
        data.check_unit(column, asked.unit)
    plan.suits(data)


class Rehearsable:
    """Mixin: run a plan on public or mock rows without a ledger, stamped as a rehearsal."""

    takes_any_rows = False
    """Whether the promise holds whichever rows differ, none of their columns being public: then several rows of a unit
    can be bounded and priced (`tacita.bounded.Bounded`)."""

    def suits(self, data: Confidential) -> None:
        """Any file that passes the schema's checks will do, unless a plan says otherwise."""

    def rehearse(self, frame: Any, schema: Schema, *, seed: int) -> Any:
        data = Confidential.from_frame(frame, schema)
        check(self, data)  # type: ignore[arg-type]
        return self.run(data, SeededEntropy(seed))  # type: ignore[attr-defined]
