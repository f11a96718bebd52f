"""A panel of establishments with the public facts of the LBD, one three-digit industry at a time.

County, industry, first and last year, multi-unit status with the year it changed, and employment and payroll from
1976 to 2001; one row per establishment. How many enter and leave each year, how large they are then, and how many jobs
continuers create and destroy follows the Business Dynamics Statistics (`facts`). What no table shows (how closing goes
with age and size, how growth is spread, what one establishment pays) is a plain law with constants set once. A first
year of 1975 stands for "in 1975 or before"; a last year of 2001 for "in 2001 or later".

An industry of 130,000 establishments takes about two seconds, and every industry has a stream of its own, so a
national file is made one industry after another (`industries`) and never stands in memory as a whole.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tacita.data.schema import Schema
from tacita.synthesis.panel import PanelSynthesis, PlainPanelSynthesis
from tacita_studies.kinney2007.facts import AVERAGE_ENTRY, AVERAGE_EXIT, BY_YEAR, SECTORS, YEARS, Sector

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Flags = NDArray[np.bool_]

ESTABLISHMENTS = 130_000
BEFORE = YEARS[0] - 1
MOST_EMPLOYEES = 20_000
MOST_PAYROLL = 4_000_000  # thousands of dollars
STATUSES = ("1", "2", "3", "4", "5")
_STATES = tuple(f"{code:02d}" for code in range(1, 57) if code not in (3, 7, 14, 43, 52))
_COUNTIES = 3_060
_BRANCHES = 0.15  # share of establishments that are part of a larger firm, as in the paper's Table 2
_SWITCHERS = 0.0096
_LARGEST = ESTABLISHMENTS  # establishments of one simulated industry of a national file


@dataclass(frozen=True)
class Industry:
    """One three-digit industry: its code, the sector whose facts it follows, and how many establishments it ever had.

    >>> panel = Industry("581", "44", 500).simulate(seed=1)
    >>> panel.num_rows, panel["sic3"][0].as_py(), bool(pa.compute.min(panel["firstyear"]).as_py() >= 1975)
    (500, '581', True)
    """

    sic3: str
    sector: str
    establishments: int = ESTABLISHMENTS

    @property
    def sic4(self) -> tuple[str, ...]:
        return tuple(f"{self.sic3}{digit}" for digit in range(1, 6))

    def simulate(self, *, seed: int) -> pa.Table:
        """The industry's rows."""
        random = np.random.default_rng([seed, int(self.sic3)])
        facts = SECTORS[self.sector]
        first = _first_years(facts, self.establishments, random)
        branch = random.random(self.establishments) < _BRANCHES
        last, employment = _lives(facts, first, branch, random)
        status, change = _statuses(first, last, branch, random)
        columns = {
            "establishment": pa.array(int(self.sic3) * 10**8 + random.permutation(self.establishments)),
            "county": pa.array(counties()).take(pa.array(_places(self.establishments, random))),
            "sic4": pa.array(self.sic4).take(pa.array(_fine(len(self.sic4), self.establishments, random))),
            "sic3": pa.array([self.sic3]).take(pa.array(np.zeros(self.establishments, dtype=np.int64))),
            "firstyear": pa.array(first.astype(np.int32)),
            "lastyear": pa.array(last.astype(np.int32)),
            "multiunit": pa.array(STATUSES).take(pa.array(status)),
            "changeyear": pa.array(change.astype(np.int32), mask=change < 0),
        }
        alive = employment >= 0
        payroll = _payroll(facts, employment, alive, random)
        for name, values in (("emp", employment), ("pay", payroll)):
            for place, year in enumerate(YEARS):
                columns[f"{name}{year}"] = pa.array(values[place].astype(np.int32), mask=~alive[place])
        return pa.table(columns)


ONE = Industry("581", "44")


def industries(establishments: int) -> Iterator[Industry]:
    """A national file in industries of up to 130,000 establishments, sectors in their true proportions."""
    total = sum(one.establishments for one in SECTORS.values())
    for code, facts in SECTORS.items():
        here = round(establishments * facts.establishments / total)
        parts = max(1, math.ceil(here / _LARGEST))
        for part in range(parts):
            size = here // parts + (part < here % parts)
            if size:
                yield Industry(f"{list(SECTORS).index(code) * 50 + 101 + part}", code, size)


def schema(given: tuple[Industry, ...] = (ONE,)) -> Schema:
    """What is public about the file."""
    year = {"role": "confidential", "type": "integer"}
    variables = {
        "establishment": {"role": "id", "entity": "establishment"},
        "county": {"role": "public", "type": "categorical", "levels": list(counties())},
        "sic4": {"role": "public", "type": "categorical", "levels": [code for one in given for code in one.sic4]},
        "sic3": {"role": "public", "type": "categorical", "levels": [one.sic3 for one in given]},
        "firstyear": {**year, "lower": BEFORE, "upper": YEARS[-1]},
        "lastyear": {**year, "lower": YEARS[0], "upper": YEARS[-1]},
        "multiunit": {"role": "confidential", "type": "categorical", "levels": list(STATUSES)},
        "changeyear": {**year, "lower": YEARS[0], "upper": YEARS[-1], "missing": YEARS[-1]},
    }
    for name, most in (("emp", MOST_EMPLOYEES), ("pay", MOST_PAYROLL)):
        variables |= {f"{name}{one}": {**year, "lower": 0, "upper": most, "missing": 0} for one in YEARS}
    return Schema.from_dict(
        {"dataset": {"identity": "kinney2007-simulated", "unit": "establishment"}, "variables": variables}
    )


def plan(sets: int = 5, **settings: Any) -> PlainPanelSynthesis:
    """The synthesis of the file, as the paper describes it; `settings` replace any argument.

    >>> plan(2).sets
    2
    """
    return PlainPanelSynthesis(**_layout(sets), **settings)


def formal_plan(epsilon: str, sets: int = 5) -> PanelSynthesis:
    """The same panel with a guarantee."""
    return PanelSynthesis(epsilon=epsilon, **_layout(sets))


def _layout(sets: int) -> dict[str, Any]:
    return {
        "unit": "establishment",
        "keep": ["county", "sic4", "sic3"],
        "years": (YEARS[0], YEARS[-1]),
        "columns": {"employment": "emp{year}", "payroll": "pay{year}"},
        "first": "firstyear",
        "last": "lastyear",
        "static": ["multiunit"],
        "change": {"changeyear": ("multiunit", STATUSES[1:4])},
        "group": "sic3",
        "coarser": {"state": ("county", 2)},
        "sets": sets,
    }


@cache
def counties() -> tuple[str, ...]:
    each = _COUNTIES // len(_STATES)
    return tuple(f"{state}{2 * number + 1:03d}" for state in _STATES for number in range(each))


@cache
def _place_steps() -> Floats:
    """Few large counties, many small ones, the same for every industry."""
    random = np.random.default_rng(2007)
    weights = random.permutation(1.0 / (np.arange(len(counties())) + 10.0) ** 1.1)
    return np.asarray(np.cumsum(weights / weights.sum()))


def _places(rows: int, random: np.random.Generator) -> Integers:
    return np.minimum(np.searchsorted(_place_steps(), random.random(rows)), len(counties()) - 1)


def _fine(levels: int, rows: int, random: np.random.Generator) -> Integers:
    return np.asarray(random.choice(levels, rows, p=random.dirichlet(np.full(levels, 3.0))))


def _first_years(facts: Sector, rows: int, random: np.random.Generator) -> Integers:
    """Births of each year next to the stock of the first, as the rates of the sector leave them."""
    stock, births = 1.0, []
    for year in YEARS[1:]:
        entry = BY_YEAR[year].entry / AVERAGE_ENTRY * facts.entry / 100
        births.append(stock * entry)
        stock += births[-1] - stock * BY_YEAR[year].exit / AVERAGE_EXIT * facts.exit / 100
    weights = np.array([1.0, births[0], *births])
    return BEFORE + random.choice(len(weights), rows, p=weights / weights.sum())


def _lives(facts: Sector, first: Integers, branch: Flags, random: np.random.Generator) -> tuple[Integers, Integers]:
    """Last year and employment by year; -1 where the establishment is not there."""
    rows = len(first)
    employment = np.full((len(YEARS), rows), -1, dtype=np.int64)
    last = np.full(rows, YEARS[-1])
    size, grew = np.zeros(rows), np.ones(rows)
    here = np.flatnonzero(first <= YEARS[0])
    for place, year in enumerate(YEARS):
        if place:
            keeps = random.random(len(here)) >= _hazard(facts, year, first[here], size[here], grew[here], branch[here])
            last[here[~keeps]] = year - 1
            here = here[keeps]
            size[here], grew[here] = _grown(facts, year, size[here], random)
        born = np.flatnonzero(first == year) if place else here
        size[born] = _new(facts, first[born] < YEARS[0], branch[born], random)
        grew[born] = 1.0
        if place:
            here = np.concatenate([here, born])
        employment[place, here] = size[here].astype(np.int64)
    return last, employment


def _new(facts: Sector, stock: Flags, branch: Flags, random: np.random.Generator) -> Floats:
    """Employment when first seen. Those of the stock are past their first years, and larger."""
    mean = np.where(stock, 0.93 * facts.size, facts.birth_size)
    spread = np.where(branch, 1.35, 1.2)
    # Branches are 2.4 times as large as others, and the two together have the sector's mean.
    centre = np.log(mean * np.where(branch, 2.4, 1.0) / (1 + 1.4 * _BRANCHES)) - spread**2 / 2
    size = np.exp(random.normal(centre, spread))
    nobody_yet = ~stock & (random.random(len(size)) < 0.03)
    return np.where(nobody_yet, 0.0, np.clip(np.floor(size + random.random(len(size))), 1, MOST_EMPLOYEES))


def _hazard(facts: Sector, year: int, first: Integers, size: Floats, grew: Floats, branch: Flags) -> Floats:
    """Chance to close: young, small and shrinking ones close more often; on average as often as the sector's do."""
    weight = (1 + size) ** -0.4 * np.where((year - first <= 3) & (first > BEFORE), 1.6, 0.9)
    weight *= np.where(grew < 0.8, 1.5, 1.0) * np.where(branch, 0.85, 1.0)
    mean = BY_YEAR[year].exit / AVERAGE_EXIT * facts.exit / 100
    return np.asarray(np.minimum(weight * mean / max(float(weight.mean()), 1e-9), 0.95))


def _grown(facts: Sector, year: int, size: Floats, random: np.random.Generator) -> tuple[Floats, Floats]:
    """Next year's employment: often the same, else a fat-tailed step that is smaller for larger establishments.

    The constants are for retail trade; other sectors create and destroy more or fewer jobs, in proportion.
    """
    rates, retail = BY_YEAR[year], SECTORS[ONE.sector]
    logs = np.log1p(size)
    wider = (facts.creation + facts.destruction) / (retail.creation + retail.destruction)
    spread = 0.30 * (1 + size) ** -0.12
    step = random.laplace(0.0, wider * spread)
    drift = (rates.creation - rates.destruction) / 100 + 0.015 * (math.log1p(facts.size) - 0.4 - logs) - 0.012
    # A wider step alone would make establishments grow: its mean is that of an exponential.
    drift += (facts.creation - facts.destruction - retail.creation + retail.destruction) / 100
    drift -= (wider**2 - 1) * spread**2
    after = np.where(random.random(len(size)) < 0.18, size, (1 + size) * np.exp(drift + step) - 1)
    # Rounding at random keeps small establishments from standing still for ever.
    after = np.clip(np.floor(after + random.random(len(size))), 1, MOST_EMPLOYEES)
    return after, (1 + after) / (1 + size)


def _statuses(first: Integers, last: Integers, branch: Flags, random: np.random.Generator) -> tuple[Integers, Integers]:
    """1: never part of a larger firm; 5: always; 2 to 4: changed, in a year of its life after the first."""
    begins = np.maximum(first, YEARS[0])
    changed = (random.random(len(first)) < 1.4 * _SWITCHERS) & (last > begins)
    status = np.where(changed, random.choice([1, 2, 3], len(first), p=[0.5, 0.35, 0.15]), np.where(branch, 4, 0))
    year = begins + 1 + np.floor(random.random(len(first)) * (last - begins)).astype(np.int64)
    return status, np.where(changed, year, -1)


def _payroll(facts: Sector, employment: Integers, alive: Flags, random: np.random.Generator) -> Integers:
    """Thousands of dollars: pay per head is lognormal, moves slowly, and rises by four percent a year."""
    payroll = np.zeros_like(employment)
    pay: Floats = random.normal(0.0, 0.5, size=(employment.shape[1],))
    for place in range(len(YEARS)):
        here = np.flatnonzero(alive[place])
        pay[here] = 0.92 * pay[here] + random.normal(0.0, 0.2, len(here))
        heads = np.maximum(employment[place, here], 0.4)  # part of a year, where nobody was there in March
        level = math.log(9.0) + 0.04 * place + 0.03 * np.log1p(heads)
        payroll[place, here] = np.clip(np.round(heads * np.exp(level + pay[here])), 1, MOST_PAYROLL)
    return payroll
