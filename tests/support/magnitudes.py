"""A small file of firms with public places, two amounts and two years of jobs."""

from typing import Any

import numpy as np
import pandas as pd

from tacita.data.schema import Schema

CATEGORY = {"role": "public", "type": "categorical"}
VARIABLES: dict[str, Any] = {
    "firm": {"role": "id", "entity": "firm"},
    "place": {**CATEGORY, "levels": ["A", "B", "C"], "outside": "C"},
    "sector": {**CATEGORY, "role": "workplace", "levels": ["1", "2"]},
    "pay": {"role": "confidential", "type": "numeric", "lower": 0, "upper": 1_000_000, "scale": 2, "missing": 0},
    "jobs": {"role": "size", "type": "integer", "lower": 0, "upper": 5000, "missing": 0},
    "before": {"role": "confidential", "type": "integer", "lower": 0, "upper": 5000, "missing": 0},
    "profit": {"role": "confidential", "type": "numeric", "lower": -10, "upper": 10},
    "rank": {"role": "public", "type": "integer", "lower": 0, "upper": 10},
    "owner": {**CATEGORY, "role": "confidential", "levels": ["x", "y"]},
}


def schema(**changed: dict[str, Any]) -> Schema:
    variables = {name: {**VARIABLES[name], **changed.get(name, {})} for name in VARIABLES}
    return Schema.from_dict({"dataset": {"identity": "firms", "unit": "firm"}, "variables": variables})


def firms(count: int = 12, seed: int = 1) -> pd.DataFrame:
    random = np.random.default_rng(seed)
    jobs = np.round(np.exp(random.normal(3, 1, count)))
    return pd.DataFrame(
        {
            "firm": np.arange(count),
            "place": random.choice(["A", "B", "?"], count),
            "sector": random.choice([1, 2], count),
            "pay": np.round(jobs * 1000 * np.exp(random.normal(0, 0.2, count)), 2),
            "jobs": jobs,
            "before": np.maximum(0, jobs + np.round(random.normal(0, 6, count))),
            "profit": np.round(random.normal(0, 1, count), 2),
            "rank": random.integers(0, 10, count),
            "owner": random.choice(["x", "y"], count),
        }
    )
