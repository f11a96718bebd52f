"""A synthesizer outside the package: records drawn from one noisy cross-tabulation. All that a plug-in needs is a plan,
the model it releases, and an example of it: the entry point registers it, and `tacita audit` tries it."""

from math import sqrt
from typing import Any

import numpy as np
import pyarrow as pa
from attrs import frozen

from tacita.audit.examples import Example, record_files
from tacita.data.schema import Schema
from tacita.implicates import Implicates
from tacita.noise.discrete import DiscreteLaplace, add_discrete_laplace
from tacita.plan import Forecast, How
from tacita.privacy import AddRemoveOne
from tacita.synthesis.cellplan import CellModel, CellPlan
from tacita.synthesis.comparison.steps.reading import read


@frozen(eq=False)
class LotteryModel(CellModel[Any]):
    """Noisy counts of all cells, in the order of their codes."""

    form = "lottery-1"
    any_length = True

    def files(self, m: int, random: np.random.Generator, rows: int | None) -> Implicates:
        chances = np.maximum(self.released, 0) + 1e-9
        frames = []
        for _ in range(m):
            cells = random.choice(chances.size, rows or max(1, int(self.released.sum())), p=chances / chances.sum())
            frames.append(self.records(np.column_stack(np.unravel_index(cells, self.domain.sizes)), random))
        return Implicates(tuple(frames), self.schema, self.plan.columns, "one-measurement")

    @property
    def measured(self) -> dict[str, Any]:
        return {"counts": self.released.tolist()}

    @classmethod
    def released_from(cls, content: Any, table: pa.Table, plan: Any, schema: Schema) -> Any:
        return np.array(content["counts"])


@frozen(kw_only=True)
class LotterySynthesis(CellPlan[LotteryModel]):
    """Every cell counted with noise; records drawn from the counts.

    >>> print(LotterySynthesis(["sex", "age"], "1").guarantee)
    ε = 1 under one record replaced
    """

    model = LotteryModel
    proof = "noise/discrete.md"
    how = How("Every combination of the columns was counted, and random noise was added to each count.")

    def measure(self, data: Any, entropy: Any) -> Any:
        domain = self.domain(data.schema)
        occupied, counts = read(data, domain), np.zeros(domain.sizes, dtype=np.int64)
        counts[tuple(occupied.codes.T)] = occupied.counts
        return add_discrete_laplace(counts.ravel(), 1 / self.per_record, entropy, "cells")

    def forecast(self, schema: Schema) -> Forecast:
        error = sqrt(DiscreteLaplace(1 / self.per_record).variance())
        sentence = f"each cell is off by about {error:.3g}"
        return Forecast(self.product, self.domain(schema).cells, (sentence,), {"cells: standard error": error})


def examples() -> list[Example]:
    person, answer = AddRemoveOne("person"), {"role": "confidential", "type": "categorical", "levels": ["a", "b"]}
    variables = {"person": {"role": "id", "entity": "person"}, "sex": answer, "region": answer | {"missing": "a"}}
    schema = Schema.from_dict({"dataset": {"identity": "people", "unit": "person"}, "variables": variables})
    plan = LotterySynthesis(["sex", "region"], "1", neighbours=person)
    return [Example("two columns", plan, record_files(schema, person))]
