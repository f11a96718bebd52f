"""Answers of files to one question, cell by cell: what `statistics` and `relations` have in common."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from tacita_studies.accuracy.tries import Compare

Floats = NDArray[np.float64]
Codes = NDArray[np.int64]
ALL = "all"


@dataclass(frozen=True)
class Panel:
    """The columns of a panel in long form."""

    unit: str
    period: str


@dataclass(frozen=True, eq=False)
class Answers:
    """One number per cell; NaN where a file has no answer. `variance` is NaN where none is known."""

    value: Floats
    variance: Floats

    @classmethod
    def alone(cls, value: Floats) -> Answers:
        return cls(value, np.full(value.shape, np.nan))


@dataclass(frozen=True, eq=False)
class Asked:
    """One statistic of the file: its name, its cells, the truth, and how any other file answers it."""

    name: str
    cells: tuple[str, ...]
    truth: Floats
    answer: Callable[[pd.DataFrame], Answers]
    forecast: str | None = None


def name_of(compare: Compare, column: str | None) -> str:
    """>>> name_of(Compare(statistic="mean", of="pay", by="sex", weight="w"), "pay")
    'mean of pay by sex, weighted'
    """
    of = "" if column is None else f" of {column}"
    by = f" by {', '.join(compare.by)}" if compare.by else ""
    return f"{compare.statistic}{of}{by}{'' if compare.weight is None else ', weighted'}"


@dataclass(frozen=True, eq=False)
class Cells:
    """The cells of a crossing that the original has records in."""

    by: tuple[str, ...]
    names: tuple[str, ...]

    @classmethod
    def of(cls, original: pd.DataFrame, by: Sequence[str]) -> Cells:
        return cls(tuple(by), tuple(sorted(set(labels(original, by)))))

    def code(self, frame: pd.DataFrame) -> Codes:
        """The cell of each record; the number of cells for those in none."""
        place = {name: at for at, name in enumerate(self.names)}
        code, names = pd.factorize(labels(frame, self.by))
        known = np.array([place.get(name, len(self.names)) for name in names], dtype=np.int64)
        return known[code]

    def sums(self, code: Codes, values: Floats) -> Floats:
        summed: Floats = np.bincount(code, values, len(self.names) + 1)[: len(self.names)].astype(np.float64)
        return summed


def labels(frame: pd.DataFrame, by: Sequence[str]) -> NDArray[np.object_]:
    """The name of each record's cell."""
    if not by:
        return np.full(len(frame), ALL, dtype=object)
    parts = [frame[name].astype("str").to_numpy(dtype=object) for name in by]
    named = parts[0]
    for part in parts[1:]:
        named = named + " × " + part
    return np.asarray(named, dtype=object)


def weights_of(frame: pd.DataFrame, compare: Compare) -> Floats:
    return np.ones(len(frame)) if compare.weight is None else frame[compare.weight].to_numpy(dtype=np.float64)
