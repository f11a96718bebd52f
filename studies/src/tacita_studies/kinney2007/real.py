"""Public files used as if they were confidential: two panels of firms, and establishments in one year.

Levels and bounds are declared, not read from rows. The reference is the file with its units drawn anew, with
replacement: what a fresh sample of the same units would differ by.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from tacita.data.schema import Schema
from tacita.synthesis.panel import PanelSynthesis, PlainPanelSynthesis
from tacita.synthesis.panel.settings import PanelPlan
from tacita_studies.harness.experiment import timed
from tacita_studies.harness.real import NAICS, TABLE, RealFile, each_file, sector_of
from tacita_studies.harness.replicates import Progress
from tacita_studies.harness.results import Row, in_words
from tacita_studies.kinney2007.figures import Floats, correlation, pair_shares, variation
from tacita_studies.kinney2007.methods import FILES as SETS
from tacita_studies.kinney2007.methods import BusinessMethod
from tacita_studies.kinney2007.rows import Author

RESAMPLED = "units drawn anew"
UNITS, EMPLOYMENT, PAYROLL = "units per year", "employment per year", "payroll per year"
SPREAD, PERSISTENCE, TOGETHER = (
    "spread of log employment",
    "correlation with the year before",
    "correlation with payroll",
)
PAIRS, CLASSES, SECONDS = "k-marginal, year pairs", "k-marginal, employment and payroll", "seconds"
_PAY_CUTS = np.array([0, 1, 2, 4, 8, 16, 32, 64, 128, 256, 512]) * 1000.0
_STATES = ("AK", "DC", "DE", "HI", "ID", "ME", "MT", "NH", "NM", "SD", "VT", "WY")


@dataclass(frozen=True)
class UnitFile:
    """A file with columns unit, year, employment and payroll beside its public ones; of one year without `year`."""

    identity: str
    keep: dict[str, tuple[str, ...]]
    years: tuple[int, int]
    most: tuple[int, int]  # employees, payroll

    @property
    def one_year(self) -> bool:
        return self.years[0] == self.years[1]

    @property
    def schema(self) -> Schema:
        number = {"role": "confidential", "type": "integer"}
        variables: dict[str, Any] = {"unit": {"role": "id", "entity": "unit"}}
        variables |= {
            name: {"role": "public", "type": "categorical", "levels": list(levels)}
            for name, levels in self.keep.items()
        }
        if not self.one_year:
            variables["year"] = {**number, "lower": self.years[0], "upper": self.years[1]}
        for name, most in zip(("employment", "payroll"), self.most, strict=True):
            variables[self._column(name)] = {**number, "lower": 0, "upper": most}
        return Schema.from_dict({"dataset": {"identity": self.identity, "unit": "unit"}, "variables": variables})

    def _column(self, name: str) -> str:
        return f"{name}{self.years[0]}" if self.one_year else name

    def plan(self, method: BusinessMethod) -> PanelPlan[Any]:
        pattern = "{year}" if self.one_year else ""
        layout: dict[str, Any] = {
            "columns": {name: f"{name}{pattern}" for name in ("employment", "payroll")},
            "unit": "unit",
            "keep": list(self.keep),
            "years": self.years,
            "period": None if self.one_year else "year",
            "sets": SETS,
        }
        if method.epsilon is None:
            return PlainPanelSynthesis(**layout)
        return PanelSynthesis(epsilon=method.epsilon, **layout)

    def arrays(self, frame: pd.DataFrame) -> tuple[Floats, Floats]:
        """Employment and payroll, a row per year and a column per unit."""
        if self.one_year:
            wide = [frame[self._column(name)].to_numpy(dtype=np.float64)[None] for name in ("employment", "payroll")]
            return wide[0], wide[1]
        unit, _ = pd.factorize(frame["unit"])
        numbers = np.full((2, self.years[1] - self.years[0] + 1, unit.max() + 1), np.nan)
        for at, name in enumerate(("employment", "payroll")):
            numbers[at, frame["year"] - self.years[0], unit] = frame[name]
        return numbers[0], numbers[1]


def _british(path: Path) -> pd.DataFrame:
    frame = pd.read_csv(path)
    jobs = (1000 * frame["emp"]).round().astype(int)  # thousands in the file
    pay = (jobs * frame["wage"]).round().astype(int)
    panel = pd.DataFrame({"unit": frame["firm"], "year": frame["year"], "sector": frame["sector"].astype(str)})
    return panel.assign(employment=jobs, payroll=pay)


def _spanish(path: Path) -> pd.DataFrame:
    frame = pd.read_csv(path)  # logs in the file
    jobs = np.exp(frame["n"]).round().astype(int)
    pay = (10 * jobs * np.exp(frame["w"])).round().astype(int)
    return pd.DataFrame(
        {"unit": frame["firm"], "year": frame["year"], "country": "ES", "employment": jobs, "payroll": pay}
    )


def _loans(path: Path) -> pd.DataFrame:
    """Those that state jobs. The loan is about 2.5 times the monthly payroll."""
    columns = ["LoanAmount", "NAICSCode", "JobsRetained", "file_state"]
    frame = pd.read_csv(path, usecols=columns, dtype={"NAICSCode": str}).dropna(subset=["JobsRetained"])
    panel = {
        "unit": np.arange(len(frame)),
        "state": frame["file_state"].to_numpy(),
        "sector": sector_of(frame["NAICSCode"]).to_numpy(),
        "employment2020": frame["JobsRetained"].to_numpy(dtype=np.int64),
        "payroll2020": frame["LoanAmount"].round().to_numpy(dtype=np.int64),
    }
    return pd.DataFrame(panel)


_BRITISH = UnitFile("EmplUK", {"sector": tuple("123456789")}, (1976, 1984), (500_000, 20_000_000))
_SPANISH = UnitFile("Snmesp", {"country": ("ES",)}, (1983, 1990), (50_000, 5_000_000))
_LOANS = UnitFile("ppp_under150k_12states", {"state": _STATES, "sector": NAICS}, (2020, 2020), (500, 150_000))
FILES = (
    RealFile("British firms, 1976 to 1984 (EmplUK)", "firm_panels/EmplUK.csv.gz", _british, _BRITISH),
    RealFile("Spanish firms, 1983 to 1990 (Snmesp)", "firm_panels/Snmesp.csv.gz", _spanish, _SPANISH),
    RealFile(
        "Loans to small establishments, 2020 (ppp_small_states)",
        "ppp_small_states/ppp_under150k_12states.csv.gz",
        _loans,
        _LOANS,
    ),
)


def real_rows(
    data: Path, methods: Sequence[BusinessMethod], seed: int, say: Progress, files: Sequence[RealFile[UnitFile]] = FILES
) -> Iterator[Row]:
    """Every method on every file that is there."""
    return each_file(files, data, say, partial(_rows, data=data, methods=methods, seed=seed))


def _rows(one: RealFile[UnitFile], data: Path, methods: Sequence[BusinessMethod], seed: int) -> Iterator[Row]:
    frame, about = one.read(data), one.about
    truth = about.arrays(frame)
    units = truth[0].shape[1]
    random = np.random.default_rng(seed)
    anew = [random.integers(units, size=units) for _ in range(SETS)]
    resampled = [(truth[0][:, chosen], truth[1][:, chosen]) for chosen in anew]
    where = {"name": one.name, "units": units}
    for metric, value in distances(resampled, truth).items():
        row = Author(None).row(TABLE, metric, value, replicates=SETS, where=where)
        yield replace(row, method=RESAMPLED)
    for method in methods:
        plan = about.plan(method)
        made, seconds = timed(partial(plan.rehearse, frame, about.schema, seed=seed))
        measured = distances([about.arrays(file) for file in made.implicates], truth)
        for metric, value in (measured | {SECONDS: seconds}).items():
            row = Author(method).row(TABLE, metric, value, replicates=SETS, where=where)
            yield replace(row, guarantee=in_words(plan.guarantee))


def distances(files: Sequence[tuple[Floats, Floats]], truth: tuple[Floats, Floats]) -> dict[str, float]:
    """How far the average of the files is off, in the year where it is most; k-marginals are averages of scores."""
    wanted, made = _numbers(*truth), [_numbers(*one) for one in files]
    mean = {name: np.mean([one[name] for one in made], axis=0) for name in wanted}
    off = {
        name: float(np.abs(mean[name] / wanted[name] - 1).max())
        for name in (UNITS, EMPLOYMENT, PAYROLL, SPREAD)
        if name in wanted
    }
    off |= {name: float(np.abs(mean[name] - wanted[name]).max()) for name in (PERSISTENCE, TOGETHER) if name in wanted}
    for name in (PAIRS, CLASSES):
        if name in wanted:
            off[name] = float(np.mean([1000 * (1 - variation(one[name], wanted[name])) for one in made]))
    return off


def _numbers(jobs: Floats, pay: Floats) -> dict[str, Floats]:
    there = ~np.isnan(jobs)
    logs, log_pay = np.log1p(jobs), np.log1p(pay)
    numbers = {
        EMPLOYMENT: np.nansum(jobs, axis=1),
        PAYROLL: np.nansum(pay, axis=1),
        SPREAD: np.array([np.nanstd(logs)]),
        TOGETHER: np.array([correlation(logs, log_pay)]),
    }
    if len(jobs) == 1:
        return numbers | {CLASSES: pair_shares(jobs, pay, _PAY_CUTS)}
    return numbers | {
        UNITS: there.sum(axis=1).astype(np.float64),
        PERSISTENCE: np.array([correlation(logs[1:], logs[:-1])]),
        PAIRS: pair_shares(jobs[:-1], jobs[1:]),
    }
