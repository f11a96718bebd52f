"""What plans that see a file as a table of cells have in common: bins for numbers, impossible cells."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, ClassVar, TypeVar

import numpy as np
import pyarrow as pa
from attrs import Attribute, field, frozen
from numpy.typing import NDArray

from tacita.data.schema import Schema
from tacita.errors import UsageError
from tacita.plan import ONE_ROW
from tacita.plan.fields import Named, as_cuts, rising
from tacita.synthesis.base import Model, Released, Synthesizer
from tacita.synthesis.domain import Domain, all_zeros, domain_of

ASSUMES = (ONE_ROW, "levels, cuts and impossible combinations are public")

M = TypeVar("M", bound=Model[Any], covariant=True)


def _as_zeros(given: Sequence[Mapping[str, str]]) -> tuple[Named[str], ...]:
    return tuple(sorted((Named(pattern) for pattern in given), key=lambda pattern: tuple(pattern.items())))


def _patterns(plan: Any, setting: Attribute[Any], given: tuple[Named[str], ...]) -> None:
    for pattern in given:
        if len(pattern) < 2 or any(name not in plan.columns for name in pattern):
            raise UsageError("zeros: each names levels of two or more of the columns that never occur together")


@frozen(eq=False, repr=False)
class CellModel(Model[Released]):
    """What such a plan releases: the cells are those of the plan, and records are codes of their levels."""

    @cached_property
    def domain(self) -> Domain:
        domain: Domain = self.plan.domain(self.schema)
        return domain

    def records(self, codes: NDArray[np.integer], random: np.random.Generator) -> pa.Table:
        """Rows of codes, one column for each attribute, as published values."""
        return pa.table({one.name: one.column(codes[:, at], random) for at, one in enumerate(self.domain.attributes)})


@frozen(kw_only=True)
class CellPlan(Synthesizer[M]):
    """A plan that sees a file as a table of cells; `cuts` bin its numbers, `zeros` are cells that cannot occur."""

    takes_any_rows = True
    former: ClassVar[Mapping[str, str]] = {"attributes": "columns"}
    assumes = ASSUMES

    cuts: Named[tuple[float, ...]] = field(default=Named(), converter=as_cuts, validator=rising)
    zeros: tuple[Named[str], ...] = field(default=(), converter=_as_zeros, validator=_patterns)

    def reads(self, schema: Schema) -> tuple[str, ...]:
        self.domain(schema)
        return self.columns

    def domain(self, schema: Schema) -> Domain:
        return domain_of(schema, self.columns, self.cuts, all_zeros(schema, self.columns, self.zeros))
