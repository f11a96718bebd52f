"""Every method on the simulated industry: figures of each file, disclosure, impossible records, seconds."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from tacita.synthesis.panel.rules import broken_rules
from tacita_studies.harness.replicates import Progress, each
from tacita_studies.kinney2007.figures import Figures
from tacita_studies.kinney2007.methods import MAIN, Method
from tacita_studies.kinney2007.risk import Units
from tacita_studies.kinney2007.simulation import ONE, Industry, schema

DRAWS = 4  # of the noise, beside the first: one may be lucky or unlucky

Risk = Mapping[str, tuple[float, int]]


@dataclass(frozen=True, eq=False)
class Made:
    """What one method's files show."""

    method: Method
    files: tuple[Figures, ...]
    linked: Risk
    in_the_cell: Risk
    impossible: int  # establishments of all files that break a rule
    checked: int  # establishments and years that were looked at
    seconds: float

    @property
    def mean(self) -> Figures:
        return Figures.mean(self.files)


@dataclass(frozen=True, eq=False)
class Measured:
    establishments: int
    truth: Figures
    without_files: Risk
    made: tuple[Made, ...]
    again: tuple[tuple[Figures, ...], ...] = ()  # the files of `MAIN` from other draws of the noise


@dataclass(frozen=True)
class Task:
    """One method with one seed; a task simulates the panel itself, so that it can run in a process of its own."""

    method: Method
    seed: int


@dataclass(frozen=True)
class Tasks:
    """Called with a number, does that one of its tasks; those after `first` are other draws of the noise."""

    industry: Industry
    panel_seed: int
    tasks: tuple[Task, ...]
    first: int
    keep: Path | None

    def __call__(self, number: int) -> Made:
        task, other = self.tasks[number], number >= self.first
        panel = self.industry.simulate(seed=self.panel_seed)
        begun = time.perf_counter()
        tables = task.method.make(panel, self.industry, task.seed).tables
        seconds = time.perf_counter() - begun
        layout = task.method.plan().layout(schema((self.industry,)))
        for at, table in enumerate(tables, start=1):
            _keep(None if other else self.keep, f"synthetic-{task.method.file}-{at:02d}.parquet", table)
        units = Units.of(panel)
        return Made(
            task.method,
            tuple(Figures.of(table) for table in tables),
            {} if other else units.by_size(units.linked(tables)),
            {} if other else units.by_size(units.in_the_cell(tables)),
            sum(sum(broken_rules(table, layout).values()) for table in tables),
            sum(len(layout.years) * table.num_rows for table in tables),
            seconds,
        )


def measure(
    establishments: int,
    methods: Sequence[Method],
    seed: int,
    say: Progress,
    keep: Path | None = None,
    draws: int = DRAWS,
    workers: int = 1,
) -> Measured:
    """`keep` is a folder for the panel and all files; `draws` more are made of the files at `MAIN`, if it is asked for.

    Seconds are those of a process that shares the machine with `workers` - 1 others.
    """
    industry = Industry(ONE.sic3, ONE.sector, establishments)
    panel = industry.simulate(seed=seed)
    _keep(keep, "panel.parquet", panel)
    main = Method(MAIN)
    tasks = [Task(method, seed + at) for at, method in enumerate(methods)]
    tasks += [Task(main, seed + 1000 * (1 + draw)) for draw in range(draws if main in methods else 0)]
    work = Tasks(industry, seed, tuple(tasks), len(methods), keep)
    found = each(work, len(tasks), workers, say, "synthesis: methods and other draws of the noise")
    units = Units.of(panel)
    again = tuple(one.files for one in found[len(methods) :])
    guess = units.by_size(units.without_files())
    return Measured(establishments, Figures.of(panel), guess, tuple(found[: len(methods)]), again)


def _keep(folder: Path | None, name: str, table: pa.Table) -> None:
    if folder is not None:
        pq.write_table(table, folder / name, compression="zstd")
