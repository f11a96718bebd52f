"""A synthesizer small enough to see through, and a person file to run it on."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from attrs import frozen

from support.specifications import head, microdata
from tacita.data.confidential import Confidential, engine_of, rows
from tacita.data.schema import Schema
from tacita.errors import UsageError
from tacita.implicates import Implicates, Kind
from tacita.noise.entropy import Entropy
from tacita.plan import Forecast, Plan
from tacita.privacy import Guarantee, Loss, Neighbours
from tacita.privacy.json_form import neighbours_to_json
from tacita.release import mechanisms

SCHEMA = """
[dataset]
identity = "people"
unit = "person"
source = "a public register"
[variables.region]
label = "Region of residence"
type = "categorical"
role = "public"
levels = ["01", "02"]
labels = { "01" = "North & West", "02" = "South" }
[variables.age]
type = "integer"
role = "confidential"
lower = 0
upper = 120
[variables.pay]
label = "Pay in a year"
type = "numeric"
role = "confidential"
lower = 0
upper = 250000
scale = 2
"""

SPEC = head("people", title="People, synthetic", neighbours="add-remove", unit="person", epsilon="2") + microdata(
    "people", title="Region, age and pay", mechanism="MeanSynthesis", epsilon="1", sets=3, drawn=["age", "pay"]
)


@dataclass(frozen=True)
class MeanResult:
    """One noisy mean, and files drawn around it from numbers that are kept: the same files each time."""

    measured: dict[str, Any]
    plan: MeanSynthesis
    schema: Schema
    rehearsal: bool

    @property
    def implicates(self) -> Implicates:
        return Implicates(
            tuple(self._draw(number) for number in range(self.plan.sets)), self.schema, self.plan.drawn, self.plan.kind
        )

    def _draw(self, number: int) -> pd.DataFrame:
        rng = np.random.default_rng([self.measured["draw"], number])
        pay = np.round(np.clip(rng.normal(self.measured["pay"], 9_000, 40), 0, 250_000), 2)
        return pd.DataFrame(
            {
                "region": pd.Categorical(rng.choice(["01", "02"], 40), categories=["01", "02"]),
                "age": rng.integers(0, 120, 40, endpoint=True),
                "pay": np.where(rng.random(40) < 0.1, np.nan, pay),
            }
        )

    def to_bytes(self) -> bytes:
        kept = {"measured": self.measured, "schema": self.schema.to_dict(), "rehearsal": self.rehearsal}
        return json.dumps(kept, sort_keys=True).encode()


@frozen
class MeanSynthesis(Plan[MeanResult]):
    """As the release layer sees every synthesizer: settings in, a claim, and a result that holds files."""

    proof = "mechanisms/mean.md"

    epsilon: str
    neighbours: Neighbours
    sets: int = 2
    drawn: tuple[str, ...] = ("pay",)
    kind: Kind = "one-measurement"

    def __attrs_post_init__(self) -> None:
        if self.sets < 1:
            raise UsageError("sets: must be at least 1")

    @property
    def guarantee(self) -> Guarantee:
        return Guarantee(self.neighbours, Loss(self.epsilon))

    def describe(self) -> dict[str, Any]:
        return {
            "mechanism": "MeanSynthesis",
            "epsilon": self.epsilon,
            "neighbours": neighbours_to_json(self.neighbours),
            "sets": self.sets,
            "drawn": list(self.drawn),
            "kind": self.kind,
        }

    def reads(self, schema: Schema) -> tuple[str, ...]:
        return tuple(schema[name].name for name in ("region", *self.drawn))

    def forecast(self, schema: Schema) -> Forecast:
        return Forecast("people", 0, ("The mean of pay is right to within 900.",), {"pay": 900.0})

    def run(self, data: Confidential, entropy: Entropy) -> MeanResult:
        table = rows(data)
        (found,) = engine_of(data).collect(table.aggregate(pay=table.pay.mean())).to_pylist()
        draw, noise = (int(word) for word in entropy.words(2))
        measured = {"pay": round(float(found["pay"]) + noise % 1801 - 900, 2), "draw": draw}
        return MeanResult(measured, self, data.schema, entropy.rehearsal)

    def restore(self, stored: bytes) -> MeanResult:
        kept = json.loads(stored)
        return MeanResult(kept["measured"], self, Schema.from_dict(kept["schema"]), kept["rehearsal"])


def install(patch: pytest.MonkeyPatch) -> None:
    """Make the synthesizer one that a specification may name."""
    patch.setattr(mechanisms, "_registered", lambda: {"MeanSynthesis": MeanSynthesis})


def write_people(folder: Path) -> Path:
    """Schema, rows and specification; returns the specification."""
    people = 200
    rng = np.random.default_rng(1)
    frame = pd.DataFrame(
        {
            "region": rng.choice(["01", "02"], people),
            "age": rng.integers(0, 90, people),
            "pay": np.round(rng.uniform(10_000, 50_000, people), 2),
        }
    )
    frame.to_parquet(folder / "people.parquet", index=False)
    (folder / "people.schema.toml").write_text(SCHEMA)
    (folder / "people.toml").write_text(SPEC)
    return folder / "people.toml"
