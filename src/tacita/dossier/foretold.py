"""What the forecast said of each cell before any data, once what it depends on is known.

A forecast speaks in terms of what is secret then: the largest unit of a cell, the limit at which numbers are clamped,
how many records a cell has. Inside the office these can be put in.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from tacita.dossier.asked import LARGEST
from tacita.dossier.exact import RECORDS, TRUTH

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Foretold:
    """The typical error of every cell, NaN where nothing was said; the median of errors, or else their mean."""

    error: Floats
    is_median: bool


def foretold(plan: Any, record: Mapping[str, Any], level: str | None, cells: pd.DataFrame) -> Foretold | None:
    """`record` is what plan.json says of the table; None where the forecast names no figure for it."""
    figures = record["forecast"].get("figures", {})
    records = cells[RECORDS].to_numpy(dtype=np.float64)
    unknown = np.full(len(cells), np.nan)
    for name in ("median_error", f"median_error, {level}"):
        if name in figures:
            clamp = _clamp(record) if level is not None and _in_clamps(record) else 1.0
            return Foretold(np.full(len(cells), figures[name] * clamp), is_median=True)
    if "median_error_at_1000" in figures:
        typical = 1000 * figures["median_error_at_1000"]
        return Foretold(np.divide(typical, records, out=unknown, where=records > 0), is_median=True)
    if "median_error_in_clamps" in figures:
        statistic = getattr(plan, "statistic", "")
        typical = figures["median_error_in_clamps"] * _clamp(record) ** (2 if statistic == "variance" else 1)
        if statistic not in ("mean", "variance"):
            return Foretold(np.full(len(cells), typical), is_median=True)
        return Foretold(np.divide(typical, records, out=unknown, where=records > 0), is_median=True)
    if "typical_error" in figures:
        return Foretold(np.full(len(cells), figures["typical_error"]), is_median=False)
    if "typical_relative_error" in figures:
        return Foretold(figures["typical_relative_error"] * cells[TRUTH].to_numpy(np.float64), is_median=False)
    if LARGEST not in cells:
        return None
    largest = cells[LARGEST].to_numpy(dtype=np.float64)
    if "typical_error_of_largest" in figures:
        return Foretold(figures["typical_error_of_largest"] * largest, is_median=False)
    if "typical_error_in_S" in figures:
        scale = np.maximum(float(plan.alpha) * largest, figures["floor"])
        return Foretold(figures["typical_error_in_S"] * scale, is_median=False)
    return None


def _clamp(record: Mapping[str, Any]) -> float:
    """The limit that was bought, as it was released beside the noisy numbers."""
    facts = [one for one in record["noise"].values() if isinstance(one, dict) and "upper" in one]
    return max((max(abs(one["lower"]), abs(one["upper"])) for one in facts), default=np.nan)


def _in_clamps(record: Mapping[str, Any]) -> bool:
    return any("times the limit" in sentence for sentence in record["forecast"]["sentences"])
