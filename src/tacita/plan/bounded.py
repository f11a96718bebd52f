"""Units with several rows: a few of them are chosen by chance, and the loss is that of all that are chosen.

Proof: `bounded.md`.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from attrs import field, frozen

from tacita.data.checks import no_id_among_rows
from tacita.data.confidential import Confidential, rows, with_rows_bounded
from tacita.data.schema import Schema
from tacita.errors import SchemaError, UsageError
from tacita.noise.entropy import Entropy, Request
from tacita.plan.base import Brings, Forecast, Plan, R
from tacita.plan.contribution import ONE_ROW
from tacita.plan.fields import whole
from tacita.plan.how import How
from tacita.privacy import AddRemoveOne, Guarantee, ReplaceOne

MOST_ROWS = 1000
_KEY_WORDS = 4  # 256 bits


@frozen
class Bounded(Plan[R]):
    """A plan for files in which a unit has several rows: no more than `at_most` of them are used.

    `plan` says what one row may lose; a unit loses that for each of its rows.

    >>> from tacita.comparison import HistogramSynthesis
    >>> visits = HistogramSynthesis(["ward"], "0.2", neighbours=AddRemoveOne("patient"))
    >>> print(Bounded(visits, at_most=5).guarantee)
    ε = 1 under one patient added or removed
    """

    proof = "plan/bounded.md"

    plan: Plan[R]
    at_most: int = field(validator=whole(1, MOST_ROWS))

    def __attrs_post_init__(self) -> None:
        if not isinstance(self.plan.guarantee.neighbours, AddRemoveOne | ReplaceOne):
            raise UsageError(
                f"at_most: is for a unit that is added, removed or replaced, not for {self.plan.guarantee.neighbours}; "
                "of a worker with several jobs keep the main job"
            )
        if not self.plan.takes_any_rows:
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
    def how(self) -> How | None:
        inner = self.plan.how
        used = f"Of each {self.unit} no more than {self.at_most} rows were used, chosen by chance. "
        return None if inner is None else replace(inner, knows=used + inner.knows)

    def describe(self) -> dict[str, Any]:
        """The plan's own description, so that whatever knows the plan knows this one; its ε is that of a row."""
        return self.plan.describe() | {"at_most": self.at_most}

    def former_descriptions(self) -> tuple[dict[str, Any], ...]:
        return tuple(one | {"at_most": self.at_most} for one in self.plan.former_descriptions())

    def contribution(self, schema: Schema) -> None:
        """Whatever rows a unit has, no more are used than are paid for."""

    @property
    def takes_missing(self) -> bool:
        return self.plan.takes_missing

    @property
    def brings(self) -> Brings:
        return self.plan.brings

    @property
    def keeps_rules(self) -> bool:
        return self.plan.keeps_rules

    def weighed_by(self, schema: Schema) -> str | None:
        return self.plan.weighed_by(schema)

    def relies_on(self, schema: Schema) -> dict[str, Any]:
        return self.plan.relies_on(schema)

    def reads(self, schema: Schema) -> tuple[str, ...]:
        self._id(schema)
        return self.plan.reads(schema)

    def _id(self, schema: Schema) -> str:
        if (column := schema.id_for(self.unit)) is None:
            raise SchemaError(
                f"at_most: the schema has no {self.unit} id, so nothing tells which rows belong together; declare "
                f'it with role = "id" and entity = "{self.unit}", or leave at_most out'
            )
        return column

    def forecast(self, schema: Schema) -> Forecast:
        self._id(schema)
        foretold = self.plan.forecast(schema)
        most = f"{self.at_most} rows" if self.at_most > 1 else "1 row"
        said = (
            f"{self.guarantee.loss} for one {self.unit} of up to {most} ({self.plan.guarantee.loss} per row); of one "
            f"with more, {most} chosen by chance are used"
        )
        return replace(foretold, sentences=(said, *foretold.sentences))

    def suits(self, data: Confidential) -> None:
        column = self._id(data.schema)
        if column not in rows(data).columns:
            raise SchemaError(no_id_among_rows(column, self.unit))
        self.plan.suits(data)

    def run(self, data: Confidential, entropy: Entropy) -> R:
        entropy.announce(Request("key of the choice of rows", "uniform words", np.zeros(0), np.zeros(0)))
        key = entropy.words(_KEY_WORDS).tobytes().hex()  # used here and kept nowhere
        bounded = with_rows_bounded(data, self._id(data.schema), self.at_most, key)
        found: R = self._promised(self.plan.run(bounded, entropy))
        return found

    def restore(self, stored: bytes) -> R:
        found: R = self._promised(self.plan.restore(stored))
        return found

    def _promised(self, result: Any) -> Any:
        """What says of itself what it cost has to say what a unit loses, not what one of its rows does."""
        promised = getattr(result, "promised", None)
        return result if promised is None else promised(self)
