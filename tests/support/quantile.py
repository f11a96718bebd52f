"""A file of firms small enough to look through, and plans that use every part of `QuantileSynthesis`."""

from typing import Any

import numpy as np
import pandas as pd

from tacita.data.schema import Schema
from tacita.privacy import AddRemoveOne, ReplaceOne
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


ADDED, FIRM = AddRemoveOne("record"), ReplaceOne("firm")
# One plan for every part of the method; all can be run on `firms`. Records are added or removed unless one says so.
PLANS: dict[str, dict[str, Any]] = {
    "one number": {"columns": ["size"]},
    "one number, rows given": {"columns": ["size"], "rows": 60},
    "two numbers": {"columns": ["size", "pay"]},
    "four numbers": {"columns": ["size", "jobs", "pay"], "rows": 60, "tails": {"pay": "pareto"}},
    "scales": {"columns": ["size", "pay"], "scales": {"size": "log", "pay": "arcsinh"}},
    "groups": {"columns": ["size", "pay"], "groups": ["sector"]},
    "groups, rows given": {"columns": ["size"], "groups": ["sector"], "rows": 60},
    "category": {"columns": ["legal"]},
    "category first": {"columns": ["legal", "size", "pay"]},
    "category last": {"columns": ["size", "legal"], "groups": ["sector"]},
    "point mass": {"columns": ["size", "jobs"], "spikes": {"jobs": [0, 1]}},
    "shares": {"columns": ["size", "pay"], "shares": {"size": "1", "pay": "5"}},
    "predictors": {"columns": ["legal", "size", "pay"], "predictors": {"pay": ["legal"]}},
    "replace": {"columns": ["size", "pay"], "neighbours": FIRM},
    "replace, groups": {"columns": ["size"], "groups": ["sector"], "neighbours": FIRM},
    "keep": {"columns": ["size", "pay"], "keep": ["sector", "age"], "neighbours": FIRM},
    "keep, groups": {"columns": ["jobs"], "keep": ["sector"], "groups": ["sector"], "neighbours": FIRM},
}


def plan(name: str, epsilon: str = "2", **more: Any) -> QuantileSynthesis:
    return QuantileSynthesis(epsilon=epsilon, **({"neighbours": ADDED} | PLANS[name] | more))
