"""The numbers that are compared: one `Figures` for each file, from its rows alone.

How often the files give a true first year away: the value they show most often, by the size of the cell.

A cell is a county and a four-digit industry; both are published as collected. Rows carry no identifier and are
published in the order of their values, so a reader sees the values of a cell and not whose they are: "in the cell" is
the most frequent value of all its rows in all files. "Linked" is what a reader could do who knew which row of each
file stands for the establishment; he cannot, and it is the worst case. Where values are equally frequent, one of them
is picked by lot, and the share is the expected one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tacita.evaluation.trends import long_trends
from tacita_studies.kinney2007.facts import YEARS
from tacita_studies.kinney2007.simulation import BEFORE, STATUSES

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

FIRST_YEARS = (BEFORE, *YEARS)
LIVES = tuple(range(len(FIRST_YEARS)))  # last year less first year
# Public classes of size for tables of two years; a year in which nobody is there is one more class.
CUTS = np.array([0, 1, 2, 3, 4, 5, 7, 10, 15, 20, 30, 50, 100, 250, 500, 1000], dtype=np.float64)
SHOWN_YEARS = (1976, 1988, 2001)
QUANTILES = (0.25, 0.5, 0.75, 0.9, 0.99)
LAGS = (1, 5, 10)
EMPLOYEES = tuple(2.0**power for power in range(13))
PAYROLLS = tuple(4.0 * 2**power for power in range(17))


@dataclass(frozen=True, eq=False)
class Figures:
    """Shares, sums and rates of one file, or their average over files; by year where they have one."""

    statuses: Floats
    first: Floats
    last: Floats
    life: Floats
    employment: Floats
    payroll: Floats
    creation: Floats
    destruction: Floats
    entry: Floats
    exit: Floats
    correlation: Floats  # of employment in a year and the next
    lags: Floats  # correlations of log employment, by how many years lie between
    pay_correlation: Floats  # of log employment and log payroll
    employees_above: Floats  # share of establishments and years with at least so many
    payroll_above: Floats
    employment_quantiles: Floats
    payroll_quantiles: Floats
    pairs: Floats  # shares of the classes of size in a year and the next

    @classmethod
    def of(cls, table: pa.Table) -> Figures:
        first, last = (table[name].to_numpy() for name in ("firstyear", "lastyear"))
        status = table["multiunit"].combine_chunks()
        jobs, pay = yearly(table, "emp"), yearly(table, "pay")
        there = ~np.isnan(jobs)
        when, unit = np.nonzero(there)
        trends = long_trends(unit, when, jobs[when, unit], len(YEARS))
        log_jobs, log_pay = np.log1p(jobs), np.log1p(pay)
        return cls(
            statuses=np.array([pa.compute.mean(pa.compute.equal(status, one)).as_py() for one in STATUSES]),
            first=shares(first - FIRST_YEARS[0], len(FIRST_YEARS)),
            last=shares(last - YEARS[0], len(YEARS)),
            life=shares(last - first, len(LIVES)),
            employment=trends.employment,
            payroll=np.nansum(pay, axis=1),
            creation=trends.rate("job creation"),
            destruction=trends.rate("job destruction"),
            entry=trends.rate("entry"),
            exit=trends.rate("exit"),
            correlation=_correlations(jobs, 1),
            lags=np.array([_correlations(log_jobs, lag).mean() for lag in LAGS]),
            pay_correlation=np.array([correlation(one, other) for one, other in zip(log_jobs, log_pay, strict=True)]),
            employees_above=_above(jobs[there], EMPLOYEES),
            payroll_above=_above(pay[there], PAYROLLS),
            employment_quantiles=_quantiles(jobs),
            payroll_quantiles=_quantiles(pay),
            pairs=pair_shares(jobs[:-1], jobs[1:]),
        )

    @classmethod
    def mean(cls, files: Sequence[Figures]) -> Figures:
        """What an analyst reports who uses all files."""
        return cls(*(np.mean([getattr(one, part.name) for one in files], axis=0) for part in fields(cls)))

    def k_marginal(self, truth: Figures) -> float:
        """Of employment in a year and the next, over all pairs of years: 1000 is identical, 0 shares nothing."""
        return 1000 * (1 - variation(self.pairs, truth.pairs))


def yearly(table: pa.Table, name: str) -> Floats:
    """One row per year; not a number where the establishment is not there."""
    return np.array([table[f"{name}{year}"].to_numpy(zero_copy_only=False) for year in YEARS], dtype=np.float64)


def shares(codes: NDArray[np.int64], levels: int) -> Floats:
    return np.asarray(np.bincount(codes, minlength=levels) / len(codes))


def pair_shares(now: Floats, after: Floats, after_cuts: Floats = CUTS) -> Floats:
    """A row per year: of units that are there in one of the two, the share in each pair of classes."""
    codes = [
        np.where(np.isnan(values), 0, np.searchsorted(cuts, np.nan_to_num(values), side="right"))
        for values, cuts in ((now, CUTS), (after, after_cuts))
    ]
    width = len(after_cuts) + 1
    both = codes[0] * width + codes[1]
    return np.array([shares(one[one > 0], (len(CUTS) + 1) * width) for one in both])


def variation(made: Floats, truth: Floats) -> float:
    """Total variation between tables of shares, averaged over their rows."""
    return float(np.abs(made - truth).sum(axis=1).mean() / 2)


def correlation(one: Floats, other: Floats) -> float:
    """Where both are known; 0 where one of them is the same for everybody, as noise may leave a small file."""
    both = ~np.isnan(one) & ~np.isnan(other)
    known = one[both], other[both]
    if both.sum() < 2 or min(np.ptp(values) for values in known) == 0:
        return 0.0
    return float(np.corrcoef(*known)[0, 1])


def _correlations(values: Floats, lag: int) -> Floats:
    return np.array([correlation(values[at], values[at + lag]) for at in range(len(values) - lag)])


def _above(values: Floats, limits: Sequence[float]) -> Floats:
    return np.asarray(1 - np.searchsorted(np.sort(values), limits) / len(values))


def _quantiles(values: Floats) -> Floats:
    return np.array([np.nanquantile(values[YEARS.index(year)], QUANTILES) for year in SHOWN_YEARS])


Integers = NDArray[np.int64]

CELL_SIZES = ("1", "2 to 4", "5 to 9", "10 to 49", "50 and more")
_STARTS = np.array([2, 5, 10, 50])
ALL = "all"
_KEYS = ("county", "sic4", "establishment")


@dataclass(frozen=True, eq=False)
class Units:
    """The confidential establishments in the order of the files: by public columns, then by id."""

    first: Integers
    cell: Integers
    size: Integers  # class of the cell's size

    @classmethod
    def of(cls, panel: pa.Table) -> Units:
        ordered = panel.select([*_KEYS, "firstyear"]).sort_by([(name, "ascending") for name in _KEYS])
        place = pa.compute.binary_join_element_wise(ordered["county"], ordered["sic4"], "/").combine_chunks()
        cell = place.dictionary_encode().indices.to_numpy().astype(np.int64)
        size = np.searchsorted(_STARTS, np.bincount(cell), side="right")
        return cls(ordered["firstyear"].to_numpy().astype(np.int64) - FIRST_YEARS[0], cell, size[cell])

    def by_size(self, hits: Floats) -> dict[str, tuple[float, int]]:
        """Mean and number of establishments for each class of cells that occurs, and for all."""
        shares = {ALL: (float(hits.mean()), len(hits))}
        for at, name in enumerate(CELL_SIZES):
            inside = self.size == at
            if inside.any():
                shares[name] = (float(hits[inside].mean()), int(inside.sum()))
        return shares

    def linked(self, files: Sequence[pa.Table]) -> Floats:
        """The chance to be right for each establishment, from the values of its own row."""
        counts = np.zeros((len(self.first), len(FIRST_YEARS)), dtype=np.int32)
        for table in files:
            counts[np.arange(len(self.first)), _first(table)] += 1
        return _hits(counts, np.arange(len(self.first)), self.first)

    def in_the_cell(self, files: Sequence[pa.Table]) -> Floats:
        """The same from the values of all rows of its cell."""
        counts = np.zeros((int(self.cell.max()) + 1, len(FIRST_YEARS)), dtype=np.int32)
        for table in files:
            np.add.at(counts, (self.cell, _first(table)), 1)
        return _hits(counts, self.cell, self.first)

    def without_files(self) -> Floats:
        """Always the most frequent first year of the whole file."""
        return np.asarray(self.first == np.bincount(self.first).argmax(), dtype=np.float64)


def _first(table: pa.Table) -> Integers:
    return np.asarray(table["firstyear"].to_numpy().astype(np.int64) - FIRST_YEARS[0])


def _hits(counts: NDArray[np.int32], row: Integers, truth: Integers) -> Floats:
    top = counts == counts.max(axis=1, keepdims=True)
    return np.asarray(top[row, truth] / top.sum(axis=1)[row])
