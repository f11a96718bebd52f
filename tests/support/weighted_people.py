"""A small weighted survey of salaries by field and gender, as `SurveySynthesis` takes it."""

from typing import Any

import numpy as np
import pandas as pd

from tacita.data.schema import Schema
from tacita.privacy import ReplaceOne
from tacita.synthesis import SurveySynthesis

FIELDS, GENDERS = ("arts", "law", "maths"), ("F", "M")
PERSON = ReplaceOne("person")


def schema(**changed: Any) -> Schema:
    variables: dict[str, Any] = {
        "field": {"role": "public", "type": "categorical", "levels": list(FIELDS)},
        "gender": {"role": "public", "type": "categorical", "levels": list(GENDERS)},
        "district": {"role": "design", "type": "categorical", "levels": ["1", "2", "3", "4"]},
        "salary": {"role": "confidential", "type": "integer", "lower": 1_000, "upper": 1_000_000},
        "hours": {"role": "confidential", "type": "numeric", "lower": 0, "upper": 100, "scale": 1},
        "w": {"role": "weight", "type": "numeric", "lower": 1, "upper": 5_000, "scale": 3},
    }
    for name, entry in changed.items():
        variables[name] = variables[name] | entry
    return Schema.from_dict({"dataset": {"identity": "people", "unit": "person"}, "variables": variables})


def people(count: int = 400, seed: int = 1) -> pd.DataFrame:
    random = np.random.default_rng(seed)
    field, gender = random.choice(3, count, p=[0.6, 0.3, 0.1]), random.integers(2, size=count)
    log_pay = 11 + 0.3 * field + 0.1 * gender + random.normal(0, 0.4, count)
    return pd.DataFrame(
        {
            "field": np.array(FIELDS)[field],
            "gender": np.array(GENDERS)[gender],
            "district": random.choice(["1", "2", "3", "4"], count),
            "salary": np.rint(np.exp(log_pay)).astype(int),
            "hours": np.clip(random.normal(35, 8, count), 0, 100).round(1),
            "w": np.exp(5 - 0.6 * (log_pay - 11) + random.normal(0, 0.3, count)).round(3),
        }
    )


def plan(epsilon: str = "8", **changed: Any) -> SurveySynthesis:
    given: dict[str, Any] = {
        "columns": ["salary"],
        "weight": "w",
        "by": ["field", "gender"],
        "sets": 3,
        "neighbours": PERSON,
    }
    return SurveySynthesis(epsilon=epsilon, **(given | changed))
