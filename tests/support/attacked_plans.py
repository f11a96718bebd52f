"""Small plans to attack: a noisy histogram that keeps its promise, one that does not, and one that copies rows."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from tacita.data.schema import Schema
from tacita.plan import Forecast
from tacita.privacy import AddRemoveOne, Guarantee, Loss, Neighbours

SCHEMA = Schema.from_dict(
    {
        "dataset": {"identity": "demo", "unit": "person"},
        "variables": {
            "person": {"role": "id", "entity": "person"},
            "area": {"role": "public", "type": "categorical", "levels": ["a", "b", "c", "d"]},
            "pay": {"role": "confidential", "type": "integer", "lower": 0, "upper": 20},
        },
    }
)

ONE_PERSON = AddRemoveOne("person")


def people(rows: int = 200, seed: int = 1) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {"person": np.arange(rows), "area": rng.choice(list("abc"), rows), "pay": rng.poisson(4, rows).clip(0, 20)}
    )


@dataclass(frozen=True)
class Files:
    """The result of a synthesizer, as far as an attack needs it."""

    frames: tuple[pd.DataFrame, ...]


@dataclass(frozen=True)
class Histogram:
    """Laplace noise of scale 1/`spent` on every cell of area × pay, then as many rows as the cells say.

    The true ε for one person added or removed is `spent`; what it claims is `epsilon`.
    """

    epsilon: str = "1"
    spent: float = 1.0
    neighbours: Neighbours = ONE_PERSON

    @property
    def guarantee(self) -> Guarantee:
        return Guarantee(self.neighbours, Loss(self.epsilon))

    @property
    def proof(self) -> str:
        return ""

    def describe(self) -> dict[str, Any]:
        return {"epsilon": self.epsilon}

    def reads(self, schema: Schema) -> tuple[str, ...]:
        return ("person", "area", "pay")

    def forecast(self, schema: Schema) -> Forecast:
        raise NotImplementedError

    def suits(self, data: Any) -> None:
        """Any file will do."""

    def run(self, data: Any, entropy: Any) -> Any:
        raise NotImplementedError

    def restore(self, stored: bytes) -> Any:
        raise NotImplementedError

    def rehearse(self, frame: pd.DataFrame, schema: Schema, *, seed: int) -> Files:
        rng = np.random.default_rng(seed)
        area = np.array([schema.levels("area").index(one) for one in frame["area"]])
        counts = np.bincount(area * 21 + frame["pay"].to_numpy(), minlength=84)
        noisy = np.maximum(np.round(counts + rng.laplace(0, 1 / self.spent, 84)), 0).astype(int)
        cell = np.repeat(np.arange(84), noisy)
        made = pd.DataFrame({"area": np.array(schema.levels("area"))[cell // 21], "pay": cell % 21})
        return Files((made,))


@dataclass(frozen=True)
class Copier(Histogram):
    """Draws from the rows themselves, and claims to hide them."""

    def rehearse(self, frame: pd.DataFrame, schema: Schema, *, seed: int) -> Files:
        return Files((frame.sample(len(frame), replace=True, random_state=seed).drop(columns="person"),))
