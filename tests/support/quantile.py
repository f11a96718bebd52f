"""A file of firms small enough to look through, and plans that use every part of `QuantileSynthesis`."""

from typing import Any

import numpy as np
import pandas as pd

from tacita.data.schema import Schema
from tacita.privacy import ReplaceOne
from tacita.synthesis import QuantileSynthesis

SCHEMA = Schema.from_dict(
    {
        "dataset": {"identity": "firms", "unit": "firm"},
        "variables": {
            "firm": {"role": "id", "entity": "firm"},
            "sector": {"role": "public", "type": "categorical", "levels": ["a", "b", "c"]},
            "age": {"role": "public", "type": "integer", "lower": 0, "upper": 60},
            "legal": {"role": "confidential", "type": "categorical", "levels": ["own", "ltd"]},
            "size": {"role": "confidential", "type": "numeric", "lower": 0, "upper": 1000, "scale": 2},
            "jobs": {"role": "confidential", "type": "integer", "lower": 0, "upper": 500},
            "pay": {"role": "confidential", "type": "numeric", "lower": -100, "upper": 3000, "scale": 1},
        },
    }
)
BOUNDS = {"size": (0, 1000), "jobs": (0, 500), "pay": (-100, 3000), "age": (0, 60)}


def firms(rows: int, seed: int = 1) -> pd.DataFrame:
    random = np.random.default_rng(seed)
    size = np.round(10 + random.exponential(30, rows), 2)
    return pd.DataFrame(
        {
            "firm": np.arange(rows),
            "sector": random.choice(["a", "b", "c"], rows, p=[0.6, 0.3, 0.1]),
            "age": random.integers(0, 60, rows),
            "legal": np.where(random.random(rows) < 1 / (1 + np.exp(2 - size / 20)), "ltd", "own"),
            "size": size,
            "jobs": np.where(random.random(rows) < 0.4, 0, random.poisson(size / 8, rows)),
            "pay": np.round(1.5 * size + random.exponential(20, rows) - 10, 1),
        }
    )


FIRM = ReplaceOne("firm")
# One plan for every part of the method; all can be run on `firms`.
PLANS: dict[str, dict[str, Any]] = {
    "one number": {"order": ["size"]},
    "one number, rows given": {"order": ["size"], "rows": 60},
    "two numbers": {"order": ["size", "pay"]},
    "four numbers": {"order": ["size", "jobs", "pay"], "rows": 60, "tails": {"pay": "pareto"}},
    "scales": {"order": ["size", "pay"], "scales": {"size": "log", "pay": "arcsinh"}},
    "groups": {"order": ["size", "pay"], "groups": ["sector"]},
    "groups, rows given": {"order": ["size"], "groups": ["sector"], "rows": 60},
    "category": {"order": ["legal"]},
    "category first": {"order": ["legal", "size", "pay"]},
    "category last": {"order": ["size", "legal"], "groups": ["sector"]},
    "point mass": {"order": ["size", "jobs"], "spikes": {"jobs": [0, 1]}},
    "shares": {"order": ["size", "pay"], "shares": {"size": "1", "pay": "5"}},
    "predictors": {"order": ["legal", "size", "pay"], "predictors": {"pay": ["legal"]}},
    "replace": {"order": ["size", "pay"], "neighbours": FIRM},
    "replace, groups": {"order": ["size"], "groups": ["sector"], "neighbours": FIRM},
    "keep": {"order": ["size", "pay"], "keep": ["sector", "age"], "neighbours": FIRM},
    "keep, groups": {"order": ["jobs"], "keep": ["sector"], "groups": ["sector"], "neighbours": FIRM},
}


def plan(name: str, epsilon: str = "2", **more: Any) -> QuantileSynthesis:
    return QuantileSynthesis(epsilon=epsilon, **(PLANS[name] | more))
