"""Units with several rows: a few of them are chosen by chance, and the loss is that of all that are chosen.

Proof: `bounded.md`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from tacita.data.confidential import Confidential, rows, with_rows_bounded
from tacita.data.schema import Schema
from tacita.errors import SchemaError, UsageError
from tacita.how import How
from tacita.noise.entropy import Entropy, Request
from tacita.plan import ONE_ROW, Forecast, Plan, Rehearsable, Result
from tacita.privacy import AddRemoveOne, Guarantee, ReplaceOne

MOST_ROWS = 1000
_KEY_WORDS = 4  # 256 bits


@dataclass(frozen=True)
class Bounded(Rehearsable):
    """A plan for files in which a unit has several rows: no more than `at_most` of them are used.

    `plan` says what one row may lose; a unit loses that for each of its rows.

    >>> from tacita.synthesis import HistogramSynthesis
    >>> visits = HistogramSynthesis(["ward"], "0.2", neighbours=AddRemoveOne("patient"))
    >>> print(Bounded(visits, at_most=5).guarantee)
    ε = 1 under one patient added or removed
    """

    plan: Plan
    at_most: int

    def __post_init__(self) -> None:
        if isinstance(self.at_most, bool) or not isinstance(self.at_most, int) or not 1 <= self.at_most <= MOST_ROWS:
            raise UsageError(f"at_most: must be a whole number of rows from 1 to {MOST_ROWS}")
        if not isinstance(self.plan.guarantee.neighbours, AddRemoveOne | ReplaceOne):
            raise UsageError(
                f"at_most: is for a unit that is added, removed or replaced, not for {self.plan.guarantee.neighbours}; "
                "of a worker with several jobs keep the main job"
            )
        if not getattr(self.plan, "takes_any_rows", False):
            raise UsageError(
                f"at_most: {type(self.plan).__name__} takes parts of a row as public, or all rows of a unit together, "
                "and which rows are chosen would show in them; leave at_most out, and keep one row for each unit"
            )

    @property
    def unit(self) -> str:
        relation = self.plan.guarantee.neighbours
        assert isinstance(relation, AddRemoveOne | ReplaceOne)
        return relation.unit

    @property
    def guarantee(self) -> Guarantee:
        inner = self.plan.guarantee
        assumes = tuple(one for one in inner.assumes if one != ONE_ROW)
        if isinstance(inner.neighbours, ReplaceOne):
            assumes += (f"how many rows each {self.unit} has is public: one that is replaced has as many",)
        return replace(inner, loss=inner.loss.for_rows(self.at_most), assumes=assumes)

    @property
    def proof(self) -> str:
        return "bounded.md"

    @property
    def how(self) -> How | None:
        inner: How | None = getattr(self.plan, "how", None)
        used = f"Of each {self.unit} no more than {self.at_most} rows were used, chosen by chance. "
        return None if inner is None else replace(inner, knows=used + inner.knows)

    def describe(self) -> dict[str, Any]:
        """The plan's own description, so that whatever knows the plan knows this one; its ε is that of a row."""
        return self.plan.describe() | {"at_most": self.at_most}

    def contribution(self, schema: Schema) -> None:
        """Whatever rows a unit has, no more are used than are paid for."""

    def columns(self, schema: Schema) -> tuple[str, ...]:
        self._id(schema)
        return self.plan.columns(schema)

    def _id(self, schema: Schema) -> str:
        if (column := schema.id_for(self.unit)) is None:
            raise SchemaError(
                f"at_most: the schema has no {self.unit} id, so nothing tells which rows belong together; declare "
                f'it with role = "id" and entity = "{self.unit}", or leave at_most out'
            )
        return column

    def forecast(self, schema: Schema) -> Forecast:
        self._id(schema)
        found = self.plan.forecast(schema)
        most = f"{self.at_most} rows" if self.at_most > 1 else "1 row"
        said = (
            f"{self.guarantee.loss} for one {self.unit} of up to {most} ({self.plan.guarantee.loss} per row); of one "
            f"with more, {most} chosen by chance are used"
        )
        return replace(found, sentences=(said, *found.sentences))

    def suits(self, data: Confidential) -> None:
        column = self._id(data.schema)
        if column not in rows(data).columns:
            raise SchemaError(f"{column}: the id of a {self.unit} must stand in the job table, whose rows are counted")
        self.plan.suits(data)

    def run(self, data: Confidential, entropy: Entropy) -> Result:
        entropy.announce(Request("key of the choice of rows", "uniform words", np.zeros(0), np.zeros(0)))
        key = entropy.words(_KEY_WORDS).tobytes().hex()  # used here and kept nowhere
        return self.plan.run(with_rows_bounded(data, self._id(data.schema), self.at_most, key), entropy)

    def restore(self, stored: bytes) -> Result:
        return self.plan.restore(stored)
