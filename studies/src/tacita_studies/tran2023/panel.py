"""A panel of establishments with the facts of tran2023's section 5, since the SynLBD itself may not be passed on.

Four industries with the numbers of establishments of Table 4, employment from 1976 to 2000, first and last year
public, employment skewed, persistent from year to year and at most 2,000. One row per establishment; a year outside
its life is missing.

Employment year by year: births from quantiles, continuers from quantile regressions on the year before.

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
from tacita_studies.tran2023.printed import INDUSTRIES

Numbers = NDArray[np.float64]
Flags = NDArray[np.bool_]

YEARS = tuple(range(1976, 2001))
COLUMNS = {year: f"emp{year}" for year in YEARS}
MOST_EMPLOYEES = 2000  # "the upper bound for all employment variables across the years"

# Growth of all continuers, in logs: two downturns, of the early eighties and of 1991.
_CYCLE = dict(zip(YEARS, np.zeros(len(YEARS)), strict=True)) | {
    1977: 0.02, 1978: 0.03, 1980: -0.01, 1981: -0.03, 1982: -0.05, 1984: 0.03, 1985: 0.02, 1987: 0.02,
    1990: -0.02, 1991: -0.04, 1994: 0.02, 1997: 0.02, 1998: 0.02,
}  # fmt: skip


@dataclass(frozen=True)
class _Shape:
    """How one industry lives: log employment at birth, its long-run level, exits, growth in numbers of births."""

    birth: float
    level: float
    spread: float
    exits: float
    growth: float
    tail: float  # share of births that are branches of large firms


_SHAPES = {
    "178": _Shape(0.8, 1.2, 0.8, 0.10, 0.0, 0.002),
    "239": _Shape(1.6, 2.3, 1.2, 0.12, -0.01, 0.02),
    "542": _Shape(1.0, 1.4, 0.7, 0.15, -0.03, 0.005),
    "829": _Shape(1.1, 2.0, 1.2, 0.11, 0.05, 0.01),
}


def simulate_panel(*, scale: float = 1.0, seed: int) -> pd.DataFrame:
    """The panel, or one with `scale` times as many establishments.

    >>> panel = simulate_panel(scale=0.01, seed=1)
    >>> panel.groupby("sic3").size().to_dict()
    {'178': 110, '239': 274, '542': 397, '829': 457}
    """
    random = np.random.default_rng(seed)
    parts = [_industry(one.sic3, max(1, round(scale * one.establishments)), random) for one in INDUSTRIES]
    return pd.concat(parts, ignore_index=True)


def _industry(sic3: str, size: int, random: np.random.Generator) -> pd.DataFrame:
    shape = _SHAPES[sic3]
    first, last = _lives(shape, size, random)
    employment = {}
    now = np.zeros(size)
    for year in YEARS:
        born, goes_on = first == year, (first < year) & (last >= year)
        now[born] = _births(shape, int(born.sum()), year == YEARS[0], random)
        now[goes_on] = _grown(shape, now[goes_on], _CYCLE[year], random)
        employment[COLUMNS[year]] = np.where(born | goes_on, now, np.nan)
    return pd.DataFrame({"sic3": sic3, "firstyear": first, "lastyear": last, **employment})


def _lives(shape: _Shape, size: int, random: np.random.Generator) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """First and last years: those alive in 1976 are the stock that this rate of exits would leave."""
    births = (1 + shape.growth) ** np.arange(len(YEARS) - 1)
    chances = np.concatenate(([births[0] / shape.exits], births))
    first = np.asarray(YEARS)[random.choice(len(YEARS), size, p=chances / chances.sum())]
    last = first.copy()
    for year in YEARS[1:]:
        age = year - first
        # Young establishments close more often; the stock of 1976 is past that.
        hazard = np.where((age <= 3) & (first > YEARS[0]), 1.5, 0.85) * shape.exits
        stays = (last == year - 1) & (first < year) & (random.random(size) > hazard)
        last[stays] = year
    return first, last


def _births(shape: _Shape, count: int, stock: bool, random: np.random.Generator) -> Numbers:
    centre = (shape.birth + shape.level) / 2 if stock else shape.birth
    size = np.exp(random.normal(centre, shape.spread, count))
    branch = random.random(count) < shape.tail
    size = np.where(branch, 40 * (1 + random.pareto(1.2, count)), size)
    return np.asarray(np.clip(np.round(size), 1, MOST_EMPLOYEES))


def _grown(shape: _Shape, before: Numbers, cycle: float, random: np.random.Generator) -> Numbers:
    """Next year's employment: often the same, else a fat-tailed step, slowly drawn to the industry's level."""
    logs = np.log(before)
    step = 0.15 * random.standard_t(3, len(before)) / np.sqrt(1 + 0.15 * logs)
    after = np.exp(logs + cycle + 0.02 * (shape.level + 0.6 - logs) + step)
    after = np.where(random.random(len(before)) < 0.2, before, after)
    # Rounding at random keeps small establishments from standing still for ever.
    after = np.floor(after + random.random(len(before)))
    return np.asarray(np.clip(after, 1, MOST_EMPLOYEES))


def births_in(frame: pd.DataFrame, year: int) -> Flags:
    """Establishments first seen in a year; in 1976 everybody."""
    return np.asarray(frame["firstyear"] == year)


def continuers_in(frame: pd.DataFrame, year: int) -> Flags:
    """Establishments that were there the year before."""
    return np.asarray((frame["firstyear"] < year) & (frame["lastyear"] >= year))


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
