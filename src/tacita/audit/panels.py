"""Panels of firms, one row per firm with columns of years, and one firm with another history."""

from __future__ import annotations

from fractions import Fraction
from math import ceil, floor
from typing import Any

import numpy as np
import pyarrow as pa

from tacita.audit.families import Family, Files, Random, picked
from tacita.data.schema import Schema
from tacita.privacy import Neighbours, NumbersWithin, PerRecord

YEARS = (2000, 2001, 2002, 2003)
COUNTIES, INDUSTRIES, KINDS = ("0101", "0102", "0201"), ("111", "112", "221"), ("single", "switched", "multi")
_MOST_JOBS, _MOST_PAY = 5000, 900_000
_FIRMS = (3, 12, 30)
_YEAR = {"role": "confidential", "type": "integer"}
_CATEGORY = {"type": "categorical"}
FIXED: dict[str, Any] = {
    "firm": {"role": "id", "entity": "firm"},
    "county": {**_CATEGORY, "role": "public", "levels": list(COUNTIES)},
    "industry": {**_CATEGORY, "role": "public", "levels": list(INDUSTRIES)},
    "born": {**_YEAR, "lower": 1999, "upper": 2003, "missing": 1999},
    "gone": {**_YEAR, "lower": 2000, "upper": 2003, "missing": 2003},
    "kind": {**_CATEGORY, "role": "confidential", "levels": list(KINDS), "missing": "single"},
    "switched": {**_YEAR, "lower": 2000, "upper": 2003, "missing": 2003},
}
_JOBS = {**_YEAR, "lower": 0, "upper": _MOST_JOBS, "missing": 0}
_PAY = {"role": "confidential", "type": "numeric", "scale": 1, "lower": 0, "upper": _MOST_PAY, "missing": 0}


def schema(*, long: bool = False) -> Schema:
    """Columns of years side by side, or a row for every year."""
    if long:
        yearly: dict[str, Any] = {"year": {**_YEAR, "lower": YEARS[0], "upper": YEARS[-1]}, "jobs": _JOBS, "pay": _PAY}
    else:
        yearly = {f"{name}{year}": entry for name, entry in (("jobs", _JOBS), ("pay", _PAY)) for year in YEARS}
    return Schema.from_dict({"dataset": {"identity": "firms", "unit": "firm"}, "variables": {**FIXED, **yearly}})


def panel_files(neighbours: Neighbours, *, long: bool = False) -> Files:
    """Families in which one firm's history, or with α its numbers, differ; county and industry stay."""

    def family(random: Random, count: int) -> Family:
        firms = [_usual(random, at) for at in range(int(picked(random, _FIRMS)))]
        place = int(random.integers(len(firms)))
        if isinstance(neighbours, NumbersWithin):
            firms[place] = _strange(random, firms[place], steady=True)
            others = [_within(random, firms[place], neighbours.alpha) for _ in range(count)]
        elif isinstance(neighbours, PerRecord):
            others = [_slowly(random, firms[place], neighbours) for _ in range(count)]
        else:
            others = [_strange(random, firms[place], steady=False) for _ in range(count)]
        near = tuple(_frame([*firms[:place], one, *firms[place + 1 :]], long) for one in others)
        return Family(_frame(firms, long), near, mutual=not isinstance(neighbours, NumbersWithin | PerRecord))

    return Files(schema(long=long), family)


Firm = dict[str, Any]


def _usual(random: Random, at: int) -> Firm:
    born = int(picked(random, (1999, *YEARS)))
    gone = int(random.integers(max(born, YEARS[0]), YEARS[-1] + 1))
    firm: Firm = {"firm": 2**53 + at, "county": picked(random, COUNTIES), "industry": picked(random, INDUSTRIES)}
    firm |= {"born": born, "gone": gone, "kind": picked(random, KINDS), "switched": np.nan}
    if firm["kind"] == "switched":
        firm["switched"] = float(random.integers(YEARS[0], YEARS[-1] + 1))
    jobs = round(float(np.exp(random.normal(2, 1))))
    for year in YEARS:
        there = born <= year <= gone
        jobs = max(0, round(jobs * float(np.exp(random.normal(0, 0.3)))))
        firm[f"jobs{year}"] = float(jobs) if there else np.nan
        firm[f"pay{year}"] = round(jobs * 20 * float(np.exp(random.normal(0, 0.2))), 1) if there else np.nan
    return firm


def _strange(random: Random, firm: Firm, *, steady: bool) -> Firm:
    """There always, late, never again, or nobody knows when; huge, empty, up and down between the ends."""
    other = dict(firm)
    if steady:
        other |= {"born": YEARS[0], "gone": YEARS[-1], "switched": np.nan, "kind": "multi"}
    else:
        other["born"] = float(picked(random, (1999, *YEARS, np.nan)))
        other["gone"] = float(picked(random, (*YEARS, np.nan)))
        other |= {"kind": picked(random, (*KINDS, None)), "switched": float(picked(random, (*YEARS, np.nan)))}
    high = float(picked(random, (1, 10, 11, 100, _MOST_JOBS)))
    pay = float(picked(random, (0.1, 20.0, 55.5, _MOST_PAY)))
    swings = random.random() < 0.5
    for at, year in enumerate(YEARS):
        there = steady or (bool(np.nanmax([other["born"], YEARS[0]]) <= year) and random.random() < 0.9)
        low = 0.0 if random.random() < 0.5 else 1.0
        jobs = (high if at % 2 else low) if swings else high
        other[f"jobs{year}"] = jobs if there else np.nan
        other[f"pay{year}"] = float(picked(random, (pay, 0.0, min(20.0 * jobs, _MOST_PAY)))) if there else np.nan
    return other


def _within(random: Random, firm: Firm, alpha: Fraction) -> Firm:
    """Every number moves, up or down, as far as the relation lets it: α of the smaller, or one step."""
    other = dict(firm)
    for year in YEARS:
        for name, step, most in ((f"jobs{year}", 1, _MOST_JOBS), (f"pay{year}", 10, _MOST_PAY)):
            if np.isnan(firm[name]):
                continue
            steps = round(firm[name] * step)
            up = min(steps + max(int(alpha * steps), 1), most * step)
            down = max(min(ceil(steps / (1 + alpha)), steps - 1), 0)
            other[name] = float(picked(random, (up, down, steps))) / step
    return other


def _slowly(random: Random, firm: Firm, relation: PerRecord) -> Firm:
    """Every number moves up or down as far as the relation lets it: from nothing to the reference, or as far above."""
    other, a, c = dict(firm), float(relation.offset), float(relation.reference)
    power = {"square-root": 0.5, "fourth-root": 0.25, "log": None}[relation.scaling]

    def moved(number: float, way: int) -> float:
        if power is None:
            return (a + number) * (1 + c / a) ** way - a
        root = (a + number) ** power + way * ((a + c) ** power - a**power)
        return float(max(root, 0.0) ** (1 / power) - a)

    for year in YEARS:
        for name, step, most in ((f"jobs{year}", 1, _MOST_JOBS), (f"pay{year}", 10, _MOST_PAY)):
            if np.isnan(firm[name]):
                continue
            up = floor(min(moved(firm[name], 1), most) * step) / step
            down = ceil(max(moved(firm[name], -1), 0.0) * step) / step
            other[name] = float(picked(random, (up, down, firm[name])))
    return other


_TEXTS = ("county", "industry", "kind")


def _frame(firms: list[Firm], long: bool) -> pa.Table:
    rows = [row for year in YEARS for firm in firms if (row := _of_year(firm, year))] if long else firms

    def column(name: str) -> pa.Array:
        kind = pa.string() if name in _TEXTS else pa.int64() if name in ("firm", "year") else pa.float64()
        return pa.array([row[name] for row in rows], type=kind, from_pandas=True)  # NaN is a missing number

    return pa.table({name: column(name) for name in rows[0]})


def _of_year(firm: Firm, year: int) -> Firm | None:
    """The row of a year in which a firm lived. One without any has one all the same: who is in the file is public.
    Years of which nothing is known are gaps, of every second firm."""

    def alive(year: int) -> bool:
        if firm["firm"] % 2 and np.isnan(firm[f"jobs{year}"]) and np.isnan(firm[f"pay{year}"]):
            return False
        return not (year < firm["born"] or year > firm["gone"])  # of NaN neither is true

    if not alive(year) and (year != YEARS[0] or any(map(alive, YEARS))):
        return None
    fixed = {name: firm[name] for name in FIXED}
    return {**fixed, "year": year, "jobs": firm[f"jobs{year}"], "pay": firm[f"pay{year}"]}
