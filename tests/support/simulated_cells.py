"""Cells of establishments with known truth, as a mechanism would get them, without any file."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacita.data.schema import Schema
from tacita.data.workforce import Workforce
from tacita.measured import Measured

SEXES = ("F", "M", "U")


def schema(places: int) -> Schema:
    return Schema.from_dict(
        {
            "dataset": {"identity": "simulated", "unit": "establishment"},
            "variables": {
                "workplace_id": {"role": "id", "entity": "workplace"},
                "place": {"role": "workplace", "type": "categorical", "levels": [f"{n:05d}" for n in range(places)]},
                "sector": {
                    "role": "workplace",
                    "type": "categorical",
                    "levels": ["1", "2"],
                    "labels": {"1": "Industry", "2": "Services"},
                },
                "sex": {"role": "worker", "type": "categorical", "levels": list(SEXES)},
            },
        }
    )


def cells(
    count: int, per_cell: int, worker_cells: int, *, smallest: int = 1, typical: float = 20, seed: int = 1
) -> Workforce:
    """`count` workplace cells with `per_cell` establishments each, of very unequal size."""
    rng = np.random.default_rng(seed)
    sizes = (smallest + typical * rng.lognormal(-0.5, 1.0, size=(count, per_cell))).astype(np.int64)
    shares = rng.dirichlet(np.full(worker_cells, 1.5), size=(count, per_cell))
    split = rng.multinomial(sizes, shares)
    return Workforce(
        keys={"place": np.arange(count, dtype=np.int32)},
        counts=split.sum(axis=1),
        largest=split.max(axis=1),
        largest_total=sizes.max(axis=1),
        establishments=np.full(count, per_cell),
    )


def dropped_above(counted: Workforce, theta: int) -> Workforce:
    """One establishment per cell, left out where it is too large."""
    kept = (counted.largest_total <= theta)[:, None]
    return Workforce(
        counted.keys, counted.counts * kept, counted.largest * kept, counted.largest_total, counted.establishments
    )


def measured(plan: Any, counted: Workforce, entropy: Any) -> Measured:
    """What `plan.run` makes of a file, made of counts."""
    values: NDArray[np.int64] = plan.measure(counted, entropy)
    return Measured(
        keys=counted.keys,
        worker=plan.worker,
        values=values,
        error=plan.error_law(values.shape[1]),
        plan=plan.describe(),
        guarantee=str(plan.guarantee),
        rehearsal=True,
        largest=plan.measure_largest(counted, entropy),
    )
