"""A plan of a few lines, sound as it stands: counts of persons by code, and what twins break in it, one thing each."""

from __future__ import annotations

import json
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from tacita.data.confidential import Confidential
from tacita.data.reading import read
from tacita.data.schema import Schema
from tacita.noise.discrete import add_discrete_laplace
from tacita.noise.entropy import Entropy
from tacita.plan import Forecast, Plan, seed_from
from tacita.privacy import AddRemoveOne, Guarantee, Loss, Neighbours, ReplaceOne

Integers = NDArray[np.int64]
Columns = dict[str, NDArray[np.float64]]

CELLS = 8
ADDED = AddRemoveOne("person")
SCHEMA = Schema.from_dict(
    {
        "dataset": {"identity": "toy", "unit": "person"},
        "variables": {
            "person": {"role": "id", "entity": "person"},
            "region": {"role": "confidential", "type": "categorical", "levels": ["N", "E", "S", "W"], "missing": "W"},
            "pay": {"role": "confidential", "type": "numeric", "lower": 0, "upper": 100, "scale": 1, "missing": 0},
            "house": {"role": "confidential", "type": "integer", "lower": 2**24, "upper": 2**24 + 40, "missing": 2**24},
        },
    }
)


@dataclass(frozen=True)
class ToyResult:
    """What was released."""

    values: tuple[Any, ...]
    seed: int
    rehearsal: bool

    def to_bytes(self) -> bytes:
        return json.dumps([list(self.values), self.seed]).encode()


@frozen
class Toy(Plan[ToyResult]):
    """Counts by region and by whether pay is above the middle, with discrete Laplace noise."""

    proof = "noise/discrete.md"

    neighbours: Neighbours = ADDED
    epsilon: Fraction = Fraction(1)

    @property
    def guarantee(self) -> Guarantee:
        return Guarantee(self.neighbours, Loss(self.epsilon))

    def describe(self) -> dict[str, Any]:
        return {"mechanism": type(self).__name__}

    def reads(self, schema: Schema) -> tuple[str, ...]:
        return ("region", "pay", "house")

    def forecast(self, schema: Schema) -> Forecast:
        return Forecast("counts", CELLS, (), {})

    def restore(self, stored: bytes) -> ToyResult:
        values, seed = json.loads(stored)
        return ToyResult(tuple(values), seed, rehearsal=True)

    @property
    def scale(self) -> Fraction:
        """A replaced person leaves one cell and joins another."""
        return (2 if isinstance(self.neighbours, ReplaceOne) else 1) / self.epsilon

    # what twins break

    def codes(self, rows: Columns) -> Integers:
        """The cell of each record, from that record alone."""
        return (rows["region"] * 2 + (rows["pay"] > 50)).astype(np.int64)

    def counts(self, rows: Columns) -> Integers:
        return np.bincount(self.codes(rows), minlength=CELLS).astype(np.int64)

    def noisy(self, counts: Integers, entropy: Entropy) -> Integers:
        return add_discrete_laplace(counts, self.scale, entropy, "counts")

    def more(self, rows: Columns) -> tuple[Any, ...]:
        """What else is published."""
        return ()

    def run(self, data: Confidential, entropy: Entropy) -> ToyResult:
        rows = read(data, self.reads(data.schema))
        values = self.noisy(self.counts(rows), entropy)
        return ToyResult((*values.tolist(), *self.more(rows)), seed_from(entropy), entropy.rehearsal)
