"""Released tables of all pairs, and the synthetic files that agree with them. Post-processing only."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
from attrs import frozen
from numpy.typing import NDArray

from tacita.data.schema import Schema
from tacita.implicates import Implicates
from tacita.privacy import text
from tacita.synthesis.attributes import Attribute
from tacita.synthesis.base import Model
from tacita.synthesis.pairwise.queries import Query
from tacita.synthesis.pairwise.records import agreeing_records
from tacita.synthesis.pairwise.targets import Targets

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


@frozen(eq=False)
class Answer:
    """A query with its noisy numbers."""

    query: Query
    values: Integers


@frozen(eq=False)
class Tables:
    """The number of confidential records, public or as measured, and all measured tables."""

    records: int
    answers: tuple[Answer, ...]


@frozen(eq=False, repr=False)
class PairwiseModel(Model[Tables]):
    """Noisy tables of single columns and of pairs, from which any number of files can be drawn."""

    form = "pairwise-model-1"
    any_length = True

    @cached_property
    def attributes(self) -> tuple[Attribute, ...]:
        attributes: tuple[Attribute, ...] = self.plan.attributes(self.schema)
        return attributes

    @property
    def rows(self) -> int:
        """Of each synthetic file, unless it is drawn with another length."""
        rows: int | None = self.plan.rows
        return self.released.records if rows is None else rows

    def files(self, m: int, random: np.random.Generator, rows: int | None) -> Implicates:
        frames = tuple(self._file(one, self.rows if rows is None else rows, noisy=m > 1) for one in random.spawn(m))
        return Implicates(frames, self.schema, self.plan.columns, "one-measurement")

    def _file(self, random: np.random.Generator, rows: int, *, noisy: bool) -> pa.Table:
        records = agreeing_records(self._targets(rows, random if noisy else None), rows, random)
        return pa.table({one.name: one.column(records[:, k], random) for k, one in enumerate(self.attributes)})

    def _targets(self, rows: int, random: np.random.Generator | None) -> Targets:
        heaviest = max(float(1 / answer.query.variance) for answer in self.released.answers)
        size = rows / self.released.records  # tables of a larger or smaller file have the same shares
        zeros = zeros_among(self.attributes, self.schema)
        scale = heaviest / size**2 / (1 if random is None else 2)  # noise drawn once more
        targets = Targets(tuple(one.size for one in self.attributes), zeros, scale)
        for answer in self.released.answers:
            query, values = answer.query, answer.values.astype(np.float64)
            if random is not None:
                values = values + random.normal(0.0, float(query.variance) ** 0.5, values.shape)
            values = values * size
            weight = float(1 / query.variance) / heaviest
            if len(query.attributes) == 1:
                targets.set_one(query.attributes[0], values, weight)
            else:
                a, b = query.attributes
                targets.set_pair(a, b, values, weight, query.contrast)
        return targets

    # ------------------------------------------------------------ stored

    @property
    def measured(self) -> dict[str, Any]:
        """The released numbers with the variance of their noise."""
        return {
            "records": self.released.records,
            "rows": self.rows,
            "tables": [
                {
                    "attributes": [self.plan.columns[one] for one in answer.query.attributes],
                    "contrast": answer.query.contrast,
                    "variance": text(answer.query.variance),
                    "rho": text(answer.query.rho),
                    "values": answer.values.tolist(),
                }
                for answer in self.released.answers
            ],
        }

    @classmethod
    def released_from(cls, content: Mapping[str, Any], table: pa.Table, plan: Any, schema: Schema) -> Tables:
        places = {name: k for k, name in enumerate(plan.columns)}
        answers = tuple(
            Answer(
                Query(
                    tuple(places[name] for name in one["attributes"]),
                    one["contrast"],
                    Fraction(one["variance"]),
                    Fraction(one["rho"]),
                ),
                np.array(one["values"], dtype=np.int64),
            )
            for one in content["tables"]
        )
        return Tables(content["records"], answers)


def zeros_among(attributes: tuple[Attribute, ...], schema: Schema) -> list[tuple[int, int, int, int]]:
    """Impossible pairs of levels: place of an attribute and its level, twice."""
    places = {one.name: k for k, one in enumerate(attributes)}
    return [
        (places[a], schema.levels(a).index(u), places[b], schema.levels(b).index(v))
        for (a, u), (b, v) in (zero for zero in schema.zeros if len(zero) == 2)
        if a in places and b in places
    ]
