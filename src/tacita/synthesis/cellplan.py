"""What plans that see a file as a table of cells have in common: columns, budget, neighbours, impossible cells."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np

from tacita.data.schema import Schema
from tacita.errors import UsageError
from tacita.plan import ONE_ROW, Rehearsable
from tacita.privacy import AddRemoveOne, Guarantee, Loss, Number, ReplaceOne, exact, text
from tacita.privacy.json_form import neighbours_from_json, neighbours_to_json
from tacita.synthesis.domain import Domain, all_zeros, domain_of

ASSUMES = (ONE_ROW, "levels, cuts and impossible combinations are public")


@dataclass(frozen=True, init=False)
class CellPlan(Rehearsable):
    """A plan that sees a file as a table of cells; `cuts` bin its numbers, `zeros` are cells that cannot occur."""

    takes_any_rows = True

    attributes: tuple[str, ...]
    epsilon: Fraction
    sets: int
    cuts: tuple[tuple[str, tuple[float, ...]], ...]
    zeros: tuple[tuple[tuple[str, str], ...], ...]
    neighbours: AddRemoveOne | ReplaceOne

    def __init__(
        self,
        attributes: Sequence[str],
        epsilon: Number,
        *,
        sets: int = 1,
        cuts: Mapping[str, Sequence[float]] = {},
        zeros: Sequence[Mapping[str, str]] = (),
        neighbours: AddRemoveOne | ReplaceOne | Mapping[str, Any] = ReplaceOne("person"),  # noqa: B008 -- frozen
        **more: Any,
    ) -> None:
        if isinstance(attributes, str):
            raise UsageError(f'attributes: give a list of names, such as ["{attributes}"], not a single string')
        given = {
            "attributes": tuple(attributes),
            "epsilon": exact(epsilon, "epsilon"),
            "sets": sets,
            "cuts": tuple(sorted((name, tuple(float(one) for one in each)) for name, each in dict(cuts).items())),
            "zeros": tuple(sorted(tuple(sorted(dict(one).items())) for one in zeros)),
            "neighbours": neighbours_from_json(neighbours) if isinstance(neighbours, Mapping) else neighbours,
            **more,
        }
        known = {one.name for one in fields(self)}
        for name, value in given.items():
            if name not in known:
                raise TypeError(f"{type(self).__name__} has no setting {name}")
            object.__setattr__(self, name, value)
        self._check_cells()

    def _check_cells(self) -> None:
        if not self.attributes or len(set(self.attributes)) != len(self.attributes):
            raise UsageError("attributes: name each column to synthesize once, and at least one")
        if self.epsilon <= 0:
            raise UsageError('epsilon: must be above 0, such as "1" or "0.5"')
        if not isinstance(self.neighbours, AddRemoveOne | ReplaceOne):
            raise UsageError("neighbours: must be AddRemoveOne(unit) or ReplaceOne(unit)")
        if isinstance(self.sets, bool) or not isinstance(self.sets, int) or not 1 <= self.sets <= 1000:
            raise UsageError("sets: must be a whole number from 1 to 1000")
        for name, cuts in self.cuts:
            if name not in self.attributes:
                raise UsageError(f"cuts: {name} is not among the attributes")
            if any(one >= two for one, two in pairwise(cuts)) or not np.isfinite(cuts).all():
                raise UsageError(f"cuts.{name}: borders must be finite and rising")
        for pattern in self.zeros:
            if len(pattern) < 2 or any(name not in self.attributes for name, _ in pattern):
                raise UsageError("zeros: each names levels of two or more of the attributes that never occur together")

    @property
    def guarantee(self) -> Guarantee:
        return Guarantee(self.neighbours, Loss(self.epsilon), assumes=ASSUMES)

    def describe(self) -> dict[str, Any]:
        found: dict[str, Any] = {"mechanism": type(self).__name__}
        for one in fields(self):
            value = getattr(self, one.name)
            found[one.name] = text(value) if isinstance(value, Fraction) else value
        return found | {
            "attributes": list(self.attributes),
            "cuts": {name: list(cuts) for name, cuts in self.cuts},
            "zeros": [dict(pattern) for pattern in self.zeros],
            "neighbours": neighbours_to_json(self.neighbours),
        }

    def columns(self, schema: Schema) -> tuple[str, ...]:
        """The columns it reads; raises where the schema cannot carry the plan."""
        self.domain(schema)
        return self.attributes

    def domain(self, schema: Schema) -> Domain:
        return domain_of(schema, self.attributes, dict(self.cuts), all_zeros(schema, self.attributes, self.zeros))

    @property
    def size_is_public(self) -> bool:
        """A replaced record leaves the number of records as it is."""
        return isinstance(self.neighbours, ReplaceOne)

    @property
    def per_record(self) -> Fraction:
        """The budget for one record added or removed: a replaced one is one of each."""
        return self.epsilon / 2 if self.size_is_public else self.epsilon
