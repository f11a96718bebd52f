"""A small stratified sample with weights, its schema, and plans of noisy tables: several folders of tests use it."""

from typing import Any

import numpy as np
import pandas as pd

from tacita.data.schema import Schema
from tacita.mechanisms.survey import SurveyLaplace
from tacita.privacy import ReplaceOne

FIELDS, GENDERS = ("arts", "law", "maths"), ("f", "m")
PERSON = ReplaceOne("person")
WEIGHTS, PAYS, HOURS = (1.0, 40.0), (10.0, 900.0), (-20.0, 60.0)

PLANS: dict[str, dict[str, Any]] = {
    "counts and means": {},
    "counts": {"means": []},
    "one variable": {"by": ["gender"]},
    "total": {"by": [], "means": ["hours"]},
    "two answers": {"means": ["pay", "hours"]},
    "few replicates": {"replicates": 3, "variance_share": "1/5"},
    "large epsilon": {"epsilon": "10.8"},
}


def schema(**design: Any) -> Schema:
    number = {"type": "numeric", "role": "confidential", "missing": None}
    return Schema.from_dict(
        {
            "dataset": {"identity": "doctors", "unit": "person"},
            "variables": {
                "field": {"role": "design", "type": "categorical", "levels": list(FIELDS)},
                "gender": {"role": "public", "type": "categorical", "levels": list(GENDERS)},
                "district": {"role": "design", "type": "categorical", "levels": ["n", "s", "e", "w"]},
                "fpc": {"role": "design", "type": "integer", "lower": 1, "upper": 10_000},
                "secret": {"role": "confidential", "type": "categorical", "levels": ["yes", "no"]},
                "w": {"role": "weight", "type": "numeric", "lower": WEIGHTS[0], "upper": WEIGHTS[1]},
                "pay": number | {"lower": PAYS[0], "upper": PAYS[1]},
                "hours": number | {"lower": HOURS[0], "upper": HOURS[1], "scale": 1},
            },
            "design": {"weight": "w", "strata": ["field"], "public": ["field", "gender"]} | design,
        }
    )


def people(rows: int = 41, seed: int = 5) -> pd.DataFrame:
    """Strata of odd and even size; one cell, law × m, is empty."""
    rng = np.random.default_rng(seed)
    field = np.array(FIELDS)[np.arange(rows) % 3]
    return pd.DataFrame(
        {
            "field": field,
            "gender": np.where(field == "law", "f", np.array(GENDERS)[rng.integers(2, size=rows)]),
            "district": np.array(["n", "s", "e", "w"])[np.arange(rows) // 3 % 4],
            "fpc": 100,
            "secret": "no",
            "w": np.round(rng.uniform(2, 30, rows), 2),
            "pay": np.round(rng.lognormal(4, 0.6, rows).clip(10, 900), 2),
            "hours": np.round(rng.uniform(-10, 50, rows), 1),
        }
    )


def plan(**changed: Any) -> SurveyLaplace:
    return SurveyLaplace(
        **({"by": ["field", "gender"], "means": ["pay"], "epsilon": "2", "neighbours": PERSON} | changed)
    )
