"""A small original with synthetic copies of it, and a request to evaluate them."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from tacita.data.schema import Schema
from tacita.dossier.request import Request
from tacita.release.evaluation_spec import EvaluationSpec

SECRET = "Unspeakable place"

SCHEMA: dict[str, Any] = {
    "dataset": {"identity": "demo", "unit": "person"},
    "variables": {
        "person": {"role": "id", "entity": "person"},
        "place": {"role": "public", "type": "categorical", "levels": ["a", "b", "c"]},
        "sex": {"role": "public", "type": "categorical", "levels": ["F", "M"]},
        "year": {"role": "public", "type": "integer", "lower": 2000, "upper": 2003},
        "pay": {"role": "confidential", "type": "numeric", "lower": 0, "upper": 1000},
    },
}


def schema() -> Schema:
    return Schema.from_dict(SCHEMA)


def original(rows: int = 240, seed: int = 1) -> pd.DataFrame:
    random = np.random.default_rng(seed)
    place = random.choice(["a", "b", "c"], rows, p=[0.5, 0.3, 0.2])
    return pd.DataFrame(
        {
            "person": np.arange(rows) // 4,
            "place": place,
            "sex": random.choice(["F", "M"], rows),
            "year": 2000 + np.arange(rows) % 4,
            "pay": np.round(random.gamma(3, 30, rows) + 20 * (place == "a"), 1),
        }
    )


def write(folder: Path) -> dict[str, Path]:
    """Original, two synthetic files that are fresh samples, one that is poor, and a hold-out."""
    frames = {
        "original": original(),
        "good-1": original(seed=2),
        "good-2": original(seed=3),
        "poor": original(seed=4).assign(place="c"),
        "holdout": original(seed=5),
    }
    paths = {}
    for name, frame in frames.items():
        paths[name] = folder / f"{name}.parquet"
        frame.to_parquet(paths[name], index=False)
    return paths


def request(paths: dict[str, Path], *synthetic: str, **changes: Any) -> Request:
    facts: dict[str, Any] = {
        "title": "Test",
        "schema": schema(),
        "original": str(paths["original"]),
        "synthetic": tuple(paths[name] for name in synthetic or ("good-1", "good-2")),
        "asked": EvaluationSpec.model_validate(
            {
                "known": ["place", "sex"],
                "targets": ["pay"],
                "tables": [["place"]],
                "regressions": ["pay ~ place + sex"],
                "contributions": [{"by": ["place"], "value": "pay"}],
                "panel": {"unit": "person", "period": "year", "employment": "pay"},
            }
        ),
    }
    return Request(**(facts | changes))
