"""A small file of voters with every kind of attribute that `PairwiseSynthesis` takes, and a zero."""

from typing import Any

import numpy as np
import pandas as pd

from tacita.data.schema import Schema
from tacita.synthesis import PairwiseSynthesis

NAMES = ("sex", "registered", "voted", "region", "age", "pay")
CUTS = {"age": [18, 40, 65], "pay": [0, 1000.5]}


def schema(zeros: bool = True, **changed: Any) -> Schema:
    """Values that are missing or unheard of have a level to go to, so that no file of voters is refused."""
    variables: dict[str, Any] = {
        "sex": {"role": "confidential", "type": "categorical", "levels": ["F", "M"], "missing": "F", "outside": "F"},
        "registered": {
            "role": "confidential",
            "type": "categorical",
            "levels": ["no", "yes"],
            "missing": "yes",
            "outside": "yes",
        },
        "voted": {
            "role": "confidential",
            "type": "categorical",
            "levels": ["no", "yes"],
            "missing": "no",
            "outside": "no",
        },
        "region": {
            "role": "confidential",
            "type": "categorical",
            "levels": ["N", "E", "S", "W", "?"],
            "missing": "?",
            "outside": "?",
        },
        "age": {"role": "confidential", "type": "integer", "lower": 0, "upper": 99, "missing": 40},
        "pay": {"role": "confidential", "type": "numeric", "lower": -50, "upper": 5000, "scale": 2, "missing": 0},
    }
    content: dict[str, Any] = {
        "dataset": {"identity": "voters", "unit": "person"},
        "variables": {name: entry | changed.get(name, {}) for name, entry in variables.items()},
    }
    return Schema.from_dict(content | ({"zeros": [{"registered": "no", "voted": "yes"}]} if zeros else {}))


def voters(rows: int = 300, seed: int = 1) -> pd.DataFrame:
    """Age, pay and voting hang together; nobody lives in region "?"."""
    random = np.random.default_rng(seed)
    age = random.integers(0, 95, rows)
    registered = random.random(rows) < np.where(age < 18, 0.1, 0.85)
    voted = registered & (random.random(rows) < age / 120)
    return pd.DataFrame(
        {
            "sex": random.choice(["F", "M"], rows),
            "registered": np.where(registered, "yes", "no"),
            "voted": np.where(voted, "yes", "no"),
            "region": random.choice(["N", "E", "S", "W"], rows, p=[0.5, 0.3, 0.15, 0.05]),
            "age": age,
            "pay": np.round(np.where(age < 18, -10, random.exponential(900, rows)), 2),
        }
    )


def plan(epsilon: str = "2", **more: Any) -> PairwiseSynthesis:
    return PairwiseSynthesis(**({"columns": NAMES, "epsilon": epsilon, "cuts": CUTS} | more))
