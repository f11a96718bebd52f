"""A plan and a data set, small enough to see through, for the ledger's tests."""

import secrets
from dataclasses import dataclass, field
from typing import Any, ClassVar

import pytest

from tacita.errors import SchemaError
from tacita.ledger import Ledger
from tacita.privacy import AddRemoveOne, Guarantee, Loss, Neighbours

FILE_ALONE = pytest.mark.parametrize("path", ["file"], indirect=True)  # not of a ledger on a server
WORKER = AddRemoveOne("worker")
TENTH = Loss("0.1")


@dataclass(frozen=True)
class FakeSchema:
    variables: dict[str, Any] = field(default_factory=lambda: {"place": {"levels": ["01", "02"], "label": "Place"}})

    def to_dict(self) -> dict[str, Any]:
        return {"dataset": {}, "variables": self.variables}

    def id_for(self, unit: str) -> str:
        return f"{unit}_id"


@dataclass(frozen=True)
class FakeData:
    identity: str = "jobs-2026"
    content: str = "rows-a"
    lineage: tuple[str, ...] = ()
    schema: FakeSchema = FakeSchema()

    def fingerprint(self) -> str:
        return self.content

    def sketch(self, key: str) -> dict[str, list[int]]:
        return {}

    def shared_units(self, key: str, sketch: object) -> list[str]:
        return []

    def refuse_changed(self) -> None:
        """Nothing to change."""

    def check(self, columns: tuple[str, ...], scan: object = None) -> None:
        if "missing" in columns:
            raise SchemaError("missing: the file lacks this declared column")

    def check_unit(self, column: str, unit: str) -> None:
        """Every unit has one row."""


@dataclass(frozen=True)
class FakeResult:
    content: bytes
    rehearsal: bool = False

    def to_bytes(self) -> bytes:
        return self.content


@dataclass(frozen=True)
class FakePlan:
    """Returns 32 fresh random bytes, so that a second draw could never be mistaken for the first."""

    # It reads no column, so it meets no missing number and no rule.
    takes_missing: ClassVar[bool] = True
    keeps_rules: ClassVar[bool] = True

    name: str = "table"
    loss: Loss = TENTH
    neighbours: Neighbours = WORKER
    holds: Any = "always"
    column: str = "place"
    error: BaseException | None = None
    rehearsal: bool = False
    proof: str = "none.md"

    @property
    def guarantee(self) -> Guarantee:
        return Guarantee(self.neighbours, self.loss, self.holds)

    def describe(self) -> dict[str, Any]:
        return {"plan": "fake", "name": self.name, "loss": repr(self.loss)}

    def reads(self, schema: object) -> tuple[str, ...]:
        return (self.column,)

    def former_descriptions(self) -> tuple[dict[str, Any], ...]:
        return ()

    def relies_on(self, schema: object) -> dict[str, Any]:
        return {}

    def forecast(self, schema: object) -> Any:
        """Nothing to say."""

    def scan(self, schema: object) -> None:
        """Nothing is asked of the rows."""

    def suits(self, data: object) -> None:
        """Any file will do."""

    def run(self, data: object, entropy: Any) -> FakeResult:
        if self.error is not None:
            raise self.error
        return FakeResult(secrets.token_bytes(32), self.rehearsal)

    def restore(self, stored: bytes) -> FakeResult:
        return FakeResult(stored)


def release(ledger: Ledger, plan: FakePlan, data: FakeData | None = None, label: str = "tables") -> FakeResult:
    found: FakeResult = ledger.release(plan, data or FakeData(), label=label)  # type: ignore[arg-type]
    return found
