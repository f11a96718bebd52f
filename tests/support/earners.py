"""People with pay, worth and weights, and tables of them."""

from typing import Any

import numpy as np
import pandas as pd

import tacita as tc
from tacita.privacy import AddRemoveOne

PERSON = AddRemoveOne("person")


def earners_schema(**more: Any) -> tc.Schema:
    category = {"role": "confidential", "type": "categorical"}
    number = {"role": "confidential", "type": "numeric", "scale": 0, "missing": 0}
    variables = {
        "region": {**category, "levels": ["N", "S", "E"], "outside": "E", "missing": "E"},
        "sex": {**category, "levels": ["F", "M"], "labels": {"F": "Women", "M": "Men"}},
        "age": {"role": "confidential", "type": "integer", "lower": 17, "upper": 90},
        "pay": {**number, "lower": 0, "upper": 10**9},
        "worth": {**number, "lower": -(10**8), "upper": 10**9},
        "w": {**number, "lower": 0, "upper": 10**5},
        **more,
    }
    return tc.Schema.from_dict({"dataset": {"identity": "t", "unit": "person"}, "variables": variables})


SCHEMA = earners_schema()


def earners(rows: int = 4000, seed: int = 1) -> pd.DataFrame:
    random = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "region": random.choice(["N", "S", "E"], rows, p=[0.6, 0.3, 0.1]),
            "sex": random.choice(["F", "M"], rows),
            "age": random.integers(17, 91, rows),
            "pay": np.round(np.exp(10 + random.standard_normal(rows))),
            "worth": np.round(
                np.exp(11 + random.standard_normal(rows)) * random.choice([-0.2, 1.0], rows, p=[0.3, 0.7])
            ),
            "w": np.round(1 + random.gamma(3, 200, rows)),
        }
    )


FRAME = earners()


def table_of(statistic: str = "count", epsilon: str | None = "1", **settings: Any) -> tc.Table:
    return tc.Table(statistic, epsilon, **{"neighbours": PERSON, **settings})  # type: ignore[arg-type]


def published(plan: tc.Table, frame: pd.DataFrame = FRAME, seed: int = 1, **publishing: Any) -> pd.DataFrame:
    return tc.publish(plan.rehearse(frame, SCHEMA, seed=seed), SCHEMA, **publishing).to_pandas()
