"""A simulated survey of families whose wealth has zeros, both signs and a heavy tail, unlike in each cell."""

from typing import Any

import numpy as np
import pandas as pd

from tacita.data.schema import Schema
from tacita.privacy import ReplaceOne
from tacita.synthesis import SurveySynthesis

SCHOOLS, MARRIED = ("none", "some", "degree"), ("no", "yes")


def schema() -> Schema:
    return Schema.from_dict(
        {
            "dataset": {"identity": "families", "unit": "family"},
            "variables": {
                "school": {"role": "public", "type": "categorical", "levels": list(SCHOOLS)},
                "married": {"role": "public", "type": "categorical", "levels": list(MARRIED)},
                "income": {"role": "confidential", "type": "integer", "lower": 0, "upper": 100_000_000},
                "wealth": {"role": "confidential", "type": "integer", "lower": -10_000_000, "upper": 1_000_000_000},
                "w": {"role": "weight", "type": "numeric", "lower": 1, "upper": 50_000, "scale": 1},
            },
            "design": {"weight": "w", "public": ["school", "married"]},
        }
    )


def families(count: int, seed: int) -> pd.DataFrame:
    random = np.random.default_rng(seed)
    school, married = random.choice(3, count, p=[0.25, 0.4, 0.35]), random.integers(2, size=count)
    income = np.exp(10.2 + 0.5 * school + 0.4 * married + random.normal(0, 0.7 + 0.15 * school, count))
    wealth = income * np.exp(random.normal(0.5 + 0.3 * school, 0.7, count))
    wealth = np.where(random.random(count) < 0.15, -0.2 * wealth, wealth)
    weight = np.exp(8 - 0.3 * np.log(income / 40_000) + random.normal(0, 0.4, count))
    return pd.DataFrame(
        {
            "school": np.array(SCHOOLS)[school],
            "married": np.array(MARRIED)[married],
            "income": np.rint(np.where(random.random(count) < 0.05, 0.0, income)).astype(int),
            "wealth": np.rint(wealth).astype(int),
            "w": np.clip(weight, 1, 50_000).round(1),
        }
    )


def plan(epsilon: str, **changed: Any) -> SurveySynthesis:
    given: dict[str, Any] = {
        "columns": ["income", "wealth"],
        "weight": "w",
        "by": ["school", "married"],
        "sets": 5,
        "neighbours": ReplaceOne("family"),
    }
    return SurveySynthesis(epsilon=epsilon, **(given | changed))
