"""People whose records keep rules of every form, for the tests of [[rules]]."""

from typing import Any

import numpy as np
import pandas as pd

from tacita.data.schema import Schema


def _number(**more: Any) -> dict[str, Any]:
    return {"role": "confidential", "type": "integer", "lower": 0, **more}


def _category(*levels: str, **more: Any) -> dict[str, Any]:
    return {"role": "confidential", "type": "categorical", "levels": list(levels), **more}


def _date(**more: Any) -> dict[str, Any]:
    return {"role": "confidential", "type": "date", "lower": "2001-01-01", "upper": "2020-12-31", **more}


VARIABLES: dict[str, Any] = {
    "age": _number(upper=99),
    "group": _category("young", "middle", "old"),
    "smokes": _category("no", "yes"),
    "cigarettes": _number(upper=60, missing="own state"),
    "wage": {**_number(upper=50_000), "type": "numeric", "scale": 1},
    "other": _number(upper=50_000),
    "income": {**_number(upper=70_000), "type": "numeric", "scale": 2},
    "start": _date(),
    "end": _date(missing="own state"),
    "housing": _category("own", "rented", "institution"),
    "rooms": _category("none", "few", "many"),
    "height": _number(lower=100, upper=220),
    "weight": _number(lower=30, upper=200, missing="own state"),
    "bmi": {**_number(lower=10, upper=60, missing="own state"), "type": "numeric", "scale": 1},
}
RULES: list[dict[str, Any]] = [
    {"determines": "group", "from": "age", "bins": {"young": [0, 17], "middle": [18, 64], "old": [65, 99]}},
    {"column": "cigarettes", "only_when": {"smokes": "yes"}},
    {"sum": ["wage", "other"], "equals": "income"},
    {"less": ["start", "end"], "or_equal": True},
    {"when": {"group": "young"}, "then": {"smokes": "no"}},
    {"never": {"age": {"most": 14}, "wage": {"least": 0.1}}},
    {"when": {"housing": "institution"}, "then": {"rooms": "none"}},
    {"when": {"housing": {"not": "institution"}}, "then": {"rooms": ["few", "many"]}},
    {"computes": "bmi", "as": "weight / (height / 100) ** 2"},
]


def content(rules: list[dict[str, Any]] | None = None) -> dict[str, Any]:
    written = RULES if rules is None else rules
    return {"dataset": {"identity": "ruled", "unit": "person"}, "variables": VARIABLES, "rules": written}


def schema(rules: list[dict[str, Any]] | None = None) -> Schema:
    return Schema.from_dict(content(rules))


def people(rows: int, seed: int = 1) -> pd.DataFrame:
    random = np.random.default_rng(seed)
    age = random.integers(0, 90, rows)
    smokes = np.where((age >= 18) & (random.random(rows) < 0.3), "yes", "no")
    wage = np.where(age < 15, 0, np.round(random.lognormal(8, 1, rows), 1)).clip(0, 35_000)
    other = np.round(random.lognormal(7, 1, rows)).clip(0, 35_000)
    start = random.integers(0, 7000, rows)
    end = np.minimum(start + random.exponential(400, rows).astype(int), 7300)
    housing = random.choice(["own", "rented", "institution"], rows, p=[0.6, 0.25, 0.15])
    rooms = np.where(housing == "institution", "none", random.choice(["few", "many"], rows))
    height = random.normal(170, 8, rows).round().clip(140, 210)
    weight = (24 * (height / 100) ** 2 + random.normal(0, 8, rows)).round().clip(35, 195)
    weight = np.where(random.random(rows) < 0.1, np.nan, weight)
    day_one = pd.Timestamp("2001-01-01")
    return pd.DataFrame(
        {
            "age": age,
            "group": np.where(age < 18, "young", np.where(age < 65, "middle", "old")),
            "smokes": smokes,
            "cigarettes": np.where(smokes == "yes", random.integers(1, 40, rows), np.nan),
            "wage": wage,
            "other": other,
            "income": wage + other,
            "start": day_one + pd.to_timedelta(start, unit="D"),
            "end": (day_one + pd.to_timedelta(end, unit="D")).where(random.random(rows) > 0.2),
            "housing": housing,
            "rooms": rooms,
            "height": height,
            "weight": weight,
            "bmi": np.round(weight / (height / 100) ** 2, 1),
        }
    )


def broken(frame: pd.DataFrame) -> dict[str, int]:
    """How many records break each rule, written out by hand."""
    young = frame["age"] < 18
    group = np.where(young, "young", np.where(frame["age"] < 65, "middle", "old"))
    start, end = pd.to_datetime(frame["start"]), pd.to_datetime(frame["end"])
    total = (frame["wage"] * 100).round() + frame["other"] * 100
    wrong = {
        "determines": frame["group"] != group,
        "only_when": (frame["smokes"] == "no") & frame["cigarettes"].notna(),
        "sum": (frame["income"] * 100).round() != total,
        "less": start > end,
        "young": young & (frame["smokes"] == "yes"),
        "never": (frame["age"] <= 14) & (frame["wage"] > 0),
        "housing": (frame["housing"] == "institution") != (frame["rooms"] == "none"),
        "computes": (frame["bmi"] - frame["weight"] / (frame["height"] / 100) ** 2).abs() > 0.0501,
        "thin": frame["bmi"].isna() != frame["weight"].isna(),
        "bounds": (frame["bmi"] > 60) | (frame["income"] < 0) | (frame["income"] > 70_000),
    }
    return {name: int(one.sum()) for name, one in wrong.items()}
