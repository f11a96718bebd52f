"""Employment year by year: births from quantiles, continuers from quantile regressions on the year before.

`synthesize` runs through the public lives of the establishments: each year is fitted on the confidential year and the
one before, and drawn given the synthetic year before.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from tacita.synthesis.panel.planes import quantile_planes
from tacita_studies.tran2023.panel import COLUMNS, MOST_EMPLOYEES, YEARS, Flags, births_in, continuers_in

Numbers = NDArray[np.float64]
Kind = Literal["births", "continuers"]


class Conditional(Protocol):
    """The law of this year's employment; `before` has no columns for births, and last year's employment else."""

    def draw(self, before: Numbers, random: np.random.Generator) -> Numbers: ...


@dataclass(frozen=True, eq=False)
class Planes:
    """One plane per quantile, each with its chance."""

    planes: Numbers
    chances: Numbers

    def draw(self, before: Numbers, random: np.random.Generator) -> Numbers:
        chosen = self.planes[random.choice(len(self.planes), len(before), p=self.chances)]
        return np.asarray(chosen[:, 0] + (chosen[:, 1:] * before).sum(axis=1))


class Fit(Protocol):
    """Fits one year of one kind. `before` and `now` are confidential, `released` is the synthetic `before`."""

    def __call__(self, year: int, kind: Kind, before: Numbers, now: Numbers, released: Numbers) -> Conditional: ...


def synthesize(frame: pd.DataFrame, fit: Fit, random: np.random.Generator) -> pd.DataFrame:
    """The panel of one industry with employment replaced, year after year; first and last years are public."""
    made = frame.copy()
    drawn = np.full(len(frame), np.nan)
    for year in YEARS:
        now = frame[COLUMNS[year]].to_numpy(dtype=np.float64)
        this_year = np.full(len(frame), np.nan)
        for kind, who in _kinds(frame, year):
            if not who.any():
                continue
            before, released = np.zeros((int(who.sum()), 0)), np.zeros((int(who.sum()), 0))
            if kind == "continuers":
                before = frame[COLUMNS[year - 1]].to_numpy(dtype=np.float64)[who, None]
                released = drawn[who, None]
            law = fit(year, kind, before, now[who], released)
            this_year[who] = law.draw(released, random)
        drawn = np.clip(np.round(this_year), 1, MOST_EMPLOYEES)
        made[COLUMNS[year]] = drawn
    return made


def _kinds(frame: pd.DataFrame, year: int) -> tuple[tuple[Kind, Flags], tuple[Kind, Flags]]:
    return ("births", births_in(frame, year)), ("continuers", continuers_in(frame, year))


def non_private(quantiles: Sequence[float]) -> Fit:
    """Quantile regressions as they are, every quantile with the same chance: no protection.

    They do not depend on what was drawn before, so each is fitted once, however often it is asked for.
    """
    known: dict[tuple[int, Kind], Planes] = {}

    def fit(year: int, kind: Kind, before: Numbers, now: Numbers, released: Numbers) -> Planes:
        if (year, kind) not in known:
            distinct, counts = np.unique(np.column_stack([before, now]), axis=0, return_counts=True)
            planes = quantile_planes(distinct[:, :-1], distinct[:, -1], quantiles, counts.astype(np.float64))
            known[year, kind] = Planes(planes, np.full(len(planes), 1 / len(planes)))
        return known[year, kind]

    return fit
