"""Released tables of all pairs, and the synthetic files that agree with them. Post-processing only."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tacita.data.schema import Schema
from tacita.errors import UsageError, VerificationError
from tacita.implicates import Implicates
from tacita.privacy import text
from tacita.synthesis.attributes import Attribute
from tacita.synthesis.pairwise.queries import Query
from tacita.synthesis.pairwise.records import agreeing_records
from tacita.synthesis.pairwise.targets import Targets

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

_FORM = "pairwise-model-1"


@dataclass(frozen=True, eq=False)
class Answer:
    """A query with its noisy numbers."""

    query: Query
    values: Integers


@dataclass(frozen=True, eq=False)
class PairwiseModel:
    """What the ledger keeps and a bundle publishes: `implicates` are its files, `sample` draws others.

    `records` is the number of confidential records, public or as measured; `rows` that of each synthetic file.
    """

    schema: Schema
    attributes: tuple[Attribute, ...]
    answers: tuple[Answer, ...]
    records: int
    rows: int
    sets: int
    seed: int
    plan: Mapping[str, Any]
    rehearsal: bool

    @cached_property
    def implicates(self) -> Implicates:
        return self.sample(self.sets, seed=self.seed)

    def sample(self, m: int = 1, *, seed: int | None = None) -> Implicates:
        """m synthetic files.

        A single file follows the released tables as they stand. With m > 1 each file also draws how the tables may have
        been without the noise, so that the files differ by what the noise leaves open.
        """
        if isinstance(m, bool) or not isinstance(m, int) or m < 1:
            raise UsageError("m: give the number of files, at least 1")
        source = np.random.default_rng(self.seed if seed is None else seed)
        frames = tuple(self._file(one, noisy=m > 1) for one in source.spawn(m))
        return Implicates(frames, self.schema, tuple(one.name for one in self.attributes), "one-measurement")

    def _file(self, random: np.random.Generator, *, noisy: bool) -> pa.Table:
        records = agreeing_records(self._targets(random if noisy else None), self.rows, random)
        return pa.table({one.name: one.column(records[:, k], random) for k, one in enumerate(self.attributes)})

    def _targets(self, random: np.random.Generator | None) -> Targets:
        heaviest = max(float(1 / answer.query.variance) for answer in self.answers)
        size = self.rows / self.records  # tables of a larger or smaller file have the same shares
        zeros = zeros_among(self.attributes, self.schema)
        scale = heaviest / size**2 / (1 if random is None else 2)  # noise drawn once more
        targets = Targets(tuple(one.size for one in self.attributes), zeros, scale)
        for answer in self.answers:
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

    # ------------------------------------------------------------ stored as plain JSON

    @property
    def measured(self) -> dict[str, Any]:
        """The released numbers with the variance of their noise."""
        names = [one.name for one in self.attributes]
        return {
            "records": self.records,
            "rows": self.rows,
            "tables": [
                {
                    "attributes": [names[one] for one in answer.query.attributes],
                    "contrast": answer.query.contrast,
                    "variance": text(answer.query.variance),
                    "rho": text(answer.query.rho),
                    "values": answer.values.tolist(),
                }
                for answer in self.answers
            ],
        }

    def to_bytes(self) -> bytes:
        stored = {"form": _FORM, "plan": dict(self.plan), "schema": self.schema.to_dict(), "seed": self.seed}
        stored |= {"rehearsal": self.rehearsal, **self.measured}
        return json.dumps(stored, sort_keys=True, separators=(",", ":")).encode()


def zeros_among(attributes: tuple[Attribute, ...], schema: Schema) -> list[tuple[int, int, int, int]]:
    """Impossible pairs of levels: place of an attribute and its level, twice."""
    places = {one.name: k for k, one in enumerate(attributes)}
    return [
        (places[a], schema.levels(a).index(u), places[b], schema.levels(b).index(v))
        for (a, u), (b, v) in (zero for zero in schema.zeros if len(zero) == 2)
        if a in places and b in places
    ]


def unpacked(stored: bytes, attributes: tuple[Attribute, ...]) -> tuple[dict[str, Any], tuple[Answer, ...]]:
    content = json.loads(stored)
    if content.get("form") != _FORM:
        raise VerificationError("a stored result is not one that Tacita wrote; restore the ledger from its backup")
    places = {one.name: k for k, one in enumerate(attributes)}
    answers = tuple(
        Answer(
            Query(
                tuple(places[name] for name in table["attributes"]),
                table["contrast"],
                Fraction(table["variance"]),
                Fraction(table["rho"]),
            ),
            np.array(table["values"], dtype=np.int64),
        )
        for table in content["tables"]
    )
    return content, answers
