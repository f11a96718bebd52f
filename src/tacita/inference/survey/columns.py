"""Columns of a file as arrays that an estimator can trust: present, numeric, complete, never quoted in an error."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tacita.errors import UsageError
from tacita.lazy import later

if TYPE_CHECKING:
    import pandas as pd
else:
    pd = later("pandas")

Floats = NDArray[np.float64]
Codes = NDArray[np.int64]
Missing = Literal["error", "domain"]


def as_frame(frame: Any) -> pd.DataFrame:
    """A pandas frame from an Arrow or pandas table with at least one row."""
    table = frame.to_pandas() if isinstance(frame, pa.Table) else frame
    if not isinstance(table, pd.DataFrame):
        raise UsageError(f"frame: must be a pandas or Arrow table, not {type(frame).__name__}")
    if len(table) == 0:
        raise UsageError("frame: has no rows")
    return table


def column(frame: pd.DataFrame, name: str) -> Any:
    if name not in frame.columns:
        raise UsageError(f"{name}: no such column; the file has {', '.join(map(str, frame.columns))}")
    return frame[name]


def numbers(frame: pd.DataFrame, name: str) -> Floats:
    """A numeric (or true/false) column; missing values are NaN."""
    try:
        return np.asarray(column(frame, name).to_numpy(dtype=np.float64, na_value=np.nan))
    except (TypeError, ValueError):
        raise UsageError(f"{name}: is not numeric; use proportions for a column of categories") from None


def complete_numbers(frame: pd.DataFrame, name: str, *, least: float) -> Floats:
    """A numeric column without missing values and with none below `least`."""
    values = numbers(frame, name)
    if not np.isfinite(values).all():
        raise UsageError(f"{name}: has missing or infinite values; a column of the design must be complete")
    if (values < least).any():
        raise UsageError(f"{name}: has values below {least:g}; check that it is the column of the design")
    return values


def complete_codes(frame: pd.DataFrame, names: Sequence[str]) -> Codes:
    """One code per distinct combination of values, for columns without missing values."""
    for name in names:
        if column(frame, name).isna().any():
            raise UsageError(f"{name}: has missing values; a column of the design must be complete")
    return nested(np.zeros(len(frame), dtype=np.int64), *(pd.factorize(frame[name])[0] for name in names))


def nested(*levels: Any) -> Codes:
    """Codes 0, 1, … of the distinct combinations of several code vectors."""
    code = np.asarray(levels[0], dtype=np.int64)
    for level in levels[1:]:
        level = np.asarray(level, dtype=np.int64)
        code = distinct(code * (level.max() + 1) + level)[1]
    return code


def distinct(code: Codes) -> tuple[Codes, Codes]:
    """The codes that occur, in order, and the place of each row among them: `np.unique`, mostly without a sort."""
    if code.size == 0 or code.max() > 8 * code.size + 1_000_000:
        codes, place = np.unique(code, return_inverse=True)
        return codes, place.reshape(-1)
    occurs = np.zeros(int(code.max()) + 1, dtype=bool)
    occurs[code] = True
    return np.flatnonzero(occurs), (np.cumsum(occurs) - 1)[code]


@dataclass(frozen=True, eq=False)
class Domains:
    """Which domain each row belongs to (−1: none), and what the domains are called."""

    code: Codes
    names: tuple[str, ...]

    @property
    def size(self) -> int:
        return len(self.names)

    def without(self, left_out: NDArray[np.bool_]) -> Domains:
        return Domains(np.where(left_out, -1, self.code), self.names)


def domains(frame: pd.DataFrame, by: str | Sequence[str] | None) -> Domains:
    """The crossing of the `by` columns, in the order of their values; rows with a missing value are in no domain."""
    names = (by,) if isinstance(by, str) else tuple(by or ())
    if not names:
        return Domains(np.zeros(len(frame), dtype=np.int64), ("all",))
    code = np.zeros(len(frame), dtype=np.int64)
    labels: list[str] = [""]
    outside = np.zeros(len(frame), dtype=bool)
    for name in names:
        level, values = pd.factorize(column(frame, name), sort=True)
        outside |= level < 0
        code = code * len(values) + np.maximum(level, 0)
        labels = [f"{one}{', ' if one else ''}{name}={value}" for one in labels for value in values]
    if outside.all():
        raise UsageError(f"by: every row lacks a value of {', '.join(names)}")
    present, code = np.unique(np.where(outside, -1, code), return_inverse=True)
    kept = present[present >= 0]
    return Domains(code.reshape(-1).astype(np.int64) - int(present[0] < 0), tuple(labels[index] for index in kept))


def without_missing(groups: Domains, values: Floats, name: str, missing: Missing) -> Domains:
    """Rows whose value is missing leave their domain, or are an error."""
    lacking = ~np.isfinite(values) & (groups.code >= 0)
    if not lacking.any():
        return groups
    if missing == "error":
        raise UsageError(f'{name}: has missing values; write missing="domain" to estimate for the rows that have one')
    return groups.without(lacking)


def weighted_sums(code: Codes, values: Floats, size: int) -> Floats:
    """The sum of the values of each code."""
    return np.bincount(code, weights=values, minlength=size).astype(np.float64, copy=False)
