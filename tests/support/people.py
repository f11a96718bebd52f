"""A small person file with a combination that cannot occur, for the tests of categorical synthesizers."""

from typing import Any

import numpy as np
import pandas as pd

from tacita.data.schema import Schema

LEVELS = {"income": 5, "voted": 2, "registered": 2, "region": 3, "sex": 2}
ZEROS = [{"voted": "1", "registered": "0"}]
NAMES = list(LEVELS)


def schema(**changed: Any) -> Schema:
    """Values outside and missing ones have a level to go to, so no file is refused."""
    variables: dict[str, Any] = {
        name: {
            "role": "confidential",
            "type": "categorical",
            "levels": [str(one) for one in range(size)],
            "outside": "0",
            "missing": "0",
        }
        for name, size in LEVELS.items()
    }
    return Schema.from_dict({"dataset": {"identity": "persons", "unit": "person"}, "variables": variables | changed})


def persons(rows: int = 400, seed: int = 1) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    kind = rng.integers(0, 2, size=rows)
    found = {
        "income": rng.choice(5, size=rows, p=[0.5, 0.25, 0.15, 0.07, 0.03]),
        "voted": (rng.random(rows) < 0.3 + 0.4 * kind).astype(int),
        "registered": (rng.random(rows) < 0.8).astype(int),
        "region": rng.choice(3, size=rows, p=[0.4, 0.35, 0.25]),
        "sex": kind,
    }
    found["voted"] = np.where(found["registered"] == 0, 0, found["voted"])
    return pd.DataFrame(found).astype(str)


def one_more(file: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Hostile neighbours with one record more."""
    records: dict[str, list[Any]] = {
        "usual": ["0", "1", "1", "2", "0"],
        "rare": ["4", "0", "0", "2", "1"],
        "missing": [None, None, None, None, None],
        "not a number": [float("nan")] * 5,
        "unseen levels": ["99", "x", "", "-1", "NaN"],
        "impossible": ["1", "1", "0", "0", "0"],
    }
    return {
        name: pd.concat([file, pd.DataFrame([row], columns=NAMES, dtype=object)], ignore_index=True)
        for name, row in records.items()
    }


def one_other(file: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Hostile neighbours with one record replaced."""
    return {name: frame.iloc[1:].reset_index(drop=True) for name, frame in one_more(file).items()}


def emptied(file: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Two files that differ in the one record with the highest income: in the second that level is empty."""
    lonely = file.copy()
    lonely.loc[lonely["income"] == "4", "income"] = "3"
    lonely.loc[0, "income"] = "4"
    other = lonely.copy()
    other.loc[0, "income"] = "0"
    return lonely, other
