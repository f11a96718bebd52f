"""A small panel of firms, wide and long, with its schemas and plans."""

from typing import Any

import numpy as np
import pandas as pd

from tacita.data.schema import Schema
from tacita.synthesis.panel import PanelSynthesis, PlainPanelSynthesis

YEARS = tuple(range(2000, 2007))
COUNTIES = ("0101", "0102", "0103", "0201", "0202")
INDUSTRIES = ("111", "112", "221", "222")
KINDS = ("single", "switched", "multi")
_YEAR = {"role": "confidential", "type": "integer"}
_FIXED: dict[str, Any] = {
    "firm": {"role": "id", "entity": "firm"},
    "county": {"role": "public", "type": "categorical", "levels": list(COUNTIES)},
    "industry": {"role": "public", "type": "categorical", "levels": list(INDUSTRIES)},
    "born": {**_YEAR, "lower": 1999, "upper": 2006, "missing": 1999},
    "gone": {**_YEAR, "lower": 2000, "upper": 2006, "missing": 2006},
    "kind": {"role": "confidential", "type": "categorical", "levels": list(KINDS), "missing": "single"},
    "switched": {**_YEAR, "lower": 2000, "upper": 2006, "missing": 2006},
}
_JOBS = {**_YEAR, "lower": 0, "upper": 5000, "missing": 0, "missing_codes": [-9]}
_PAY = {"role": "confidential", "type": "numeric", "scale": 1, "lower": 0, "upper": 900000, "missing": 0}


def wide_schema() -> Schema:
    yearly = {f"jobs{year}": _JOBS for year in YEARS} | {f"pay{year}": _PAY for year in YEARS}
    return Schema.from_dict({"dataset": {"identity": "firms", "unit": "firm"}, "variables": {**_FIXED, **yearly}})


def long_schema() -> Schema:
    yearly = {"year": {**_YEAR, "lower": 2000, "upper": 2006}, "jobs": _JOBS, "pay": _PAY}
    return Schema.from_dict({"dataset": {"identity": "firms", "unit": "firm"}, "variables": {**_FIXED, **yearly}})


def wide(rows: int = 600, seed: int = 1) -> pd.DataFrame:
    """Firms with lives, a switch for some, jobs that move slowly and pay that follows them."""
    random = np.random.default_rng(seed)
    born = np.where(random.random(rows) < 0.4, 1999, random.integers(2000, 2007, rows))
    gone = np.minimum(np.maximum(born, 2000) + random.geometric(0.25, rows) - 1, 2006)
    kind = random.choice(3, rows, p=[0.7, 0.1, 0.2])
    room = gone - np.maximum(born, 2000)
    kind = np.where((kind == 1) & (room == 0), 0, kind)
    switched = np.maximum(born, 2000) + 1 + np.floor(random.random(rows) * np.maximum(room, 1))
    frame = pd.DataFrame(
        {
            "firm": random.permutation(rows) + 70_000,
            "county": random.choice(COUNTIES, rows, p=[0.4, 0.2, 0.1, 0.2, 0.1]),
            "industry": random.choice(INDUSTRIES, rows),
            "born": born,
            "gone": gone,
            "kind": np.array(KINDS)[kind],
            "switched": np.where(kind == 1, switched, np.nan),
        }
    )
    jobs = np.round(np.exp(random.normal(1.5 + 0.6 * (kind == 2), 1.0, rows)))
    for year in YEARS:
        alive = (born <= year) & (gone >= year)
        jobs = np.round(jobs * np.exp(random.normal(0, 0.2, rows)) + random.random(rows) - 0.5).clip(0, 4000)
        frame[f"jobs{year}"] = np.where(alive, jobs, np.nan)
        frame[f"pay{year}"] = np.where(alive, np.round(jobs * 20 * np.exp(random.normal(0, 0.2, rows)), 1), np.nan)
    return frame


def to_long(frame: pd.DataFrame) -> pd.DataFrame:
    fixed = [name for name in frame.columns if name in _FIXED]
    parts = [frame[fixed].assign(year=year, jobs=frame[f"jobs{year}"], pay=frame[f"pay{year}"]) for year in YEARS]
    alive = [part[(part.year >= part.born) & (part.year <= part.gone)] for part in parts]
    return pd.concat(alive, ignore_index=True)


def plan(**changes: Any) -> Any:
    """With epsilon the formal plan, without it the plain one."""
    given: dict[str, Any] = {
        "unit": "firm",
        "keep": ["county", "industry"],
        "years": (2000, 2006),
        "columns": {"jobs": "jobs{year}", "pay": "pay{year}"},
        "first": "born",
        "last": "gone",
        "static": ["kind"],
        "change": {"switched": ("kind", ("switched",))},
        "coarser": {"state": ("county", 2), "sector": ("industry", 2)},
        "ratios": {"pay": ("jobs", 5, 80)},
        "sets": 2,
    }
    made = PlainPanelSynthesis if changes.get("epsilon") is None else PanelSynthesis
    return made(**{name: one for name, one in {**given, **changes}.items() if name != "epsilon" or one is not None})


def long_plan(**changes: Any) -> Any:
    return plan(**{"columns": {"jobs": "jobs", "pay": "pay"}, "period": "year", **changes})
