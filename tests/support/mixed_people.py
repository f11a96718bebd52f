"""People with categories, numbers of several kinds, missing values and an impossible combination, for FileSynthesis."""

import json
from typing import Any

import numpy as np
import pandas as pd

from tacita.data.schema import Schema

COLUMNS = ["sex", "group", "works", "kids", "age", "hours", "worth"]


def schema() -> Schema:
    def number(**more: Any) -> dict[str, Any]:
        return {"role": "confidential", "type": "integer", **more}

    def category(*levels: str) -> dict[str, Any]:
        return {"role": "confidential", "type": "categorical", "levels": list(levels)}

    return Schema.from_dict(
        {
            "dataset": {"identity": "mixed", "unit": "person"},
            "variables": {
                "sex": category("F", "M"),
                "group": category("a", "b", "c"),
                "works": category("no", "yes"),
                "kids": number(lower=0, upper=9),
                "age": number(lower=0, upper=110),
                "hours": number(lower=0, upper=100, missing="own state", missing_codes=[-9]),
                "worth": {**number(lower=-(10**6), upper=10**9), "type": "numeric", "scale": 0},
            },
            "zeros": [{"sex": "F", "group": "c", "works": "no"}],
        }
    )


def schema_text() -> str:
    """The schema as a file has it, without its impossible combination."""
    parts = ['[dataset]\nidentity = "mixed"\nunit = "person"\n']
    for name, entry in schema().to_dict()["variables"].items():
        lines = [
            f"{key} = {json.dumps(value)}" for key, value in entry.items() if key not in ("table", "labels", "label")
        ]
        parts.append("\n".join([f"[variables.{name}]", *(line for line in lines if not line.endswith("null"))]))
    return "\n".join(parts)


def people(rows: int, seed: int = 1) -> pd.DataFrame:
    random = np.random.default_rng(seed)
    sex = random.choice(["F", "M"], rows)
    group = np.where(
        sex == "F", random.choice(["a", "b", "c"], rows, p=[0.6, 0.3, 0.1]), random.choice(["a", "b"], rows)
    )
    works = np.where((sex == "F") & (group == "c"), "yes", random.choice(["no", "yes"], rows, p=[0.4, 0.6]))
    age = np.clip(random.normal(np.where(works == "yes", 40, 55), 15), 0, 110).astype(int)
    hours = np.where(works == "yes", np.clip(random.normal(37, 6, rows), 1, 100).round(), -9)
    worth = np.where(random.random(rows) < 0.3, 0, np.round(random.lognormal(10 + age / 50, 1.2, rows)))
    worth = np.where(random.random(rows) < 0.05, -np.round(random.lognormal(8, 1, rows)), worth)
    kids = random.poisson(np.where(group == "a", 0.8, 2.0)).clip(0, 9)
    columns = {"sex": sex, "group": group, "works": works, "kids": kids, "age": age, "hours": hours, "worth": worth}
    return pd.DataFrame(columns)
