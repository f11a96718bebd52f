"""What every mechanism and every synthesizer has in common.

A plan is a frozen dataclass. Its claim (`guarantee`), its expected accuracy (`forecast`) and its
identity (`describe`) are known before any data; `run` is the only thing that touches confidential rows,
and only the ledger calls it on real ones.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from tacita.confidential import Confidential
from tacita.noise.entropy import Entropy, SeededEntropy
from tacita.privacy import Guarantee
from tacita.schema import Schema


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


class Rehearsable:
    """Mixin: run a plan on public or mock rows without a ledger, stamped as a rehearsal."""

    def suits(self, data: Confidential) -> None:
        """Any file that passes the schema's checks will do, unless a plan says otherwise."""

    def rehearse(self, frame: Any, schema: Schema, *, seed: int) -> Any:
        data = Confidential.from_frame(frame, schema)
        data.check(self.columns(schema))  # type: ignore[attr-defined]
        self.suits(data)
        return self.run(data, SeededEntropy(seed))  # type: ignore[attr-defined]
