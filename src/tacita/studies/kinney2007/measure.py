"""Every method on the simulated industry: figures of each file, disclosure, impossible records, seconds."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from tacita.studies.kinney2007.figures import Figures
from tacita.studies.kinney2007.methods import MAIN, Method
from tacita.studies.kinney2007.risk import Units
from tacita.studies.kinney2007.simulation import ONE, Industry, schema
from tacita.studies.replicates import Progress
from tacita.synthesis.panel.rules import broken_rules

DRAWS = 4  # noise may be lucky or unlucky once

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


def measure(
    establishments: int, methods: Sequence[Method], seed: int, say: Progress, keep: Path | None = None
) -> Measured:
    """`keep` is a folder for the panel and all files."""
    industry = Industry(ONE.sic3, ONE.sector, establishments)
    panel = industry.simulate(seed=seed)
    _keep(keep, "panel.parquet", panel)
    units, found = Units.of(panel), []
    for at, method in enumerate(methods):
        say(f"synthesis: {method.name}", at, len(methods))
        begun = time.perf_counter()
        tables = method.make(panel, industry, seed + at).tables
        seconds = time.perf_counter() - begun
        layout = method.plan().layout(schema((industry,)))
        figures = []
        for number, table in enumerate(tables, start=1):
            _keep(keep, f"synthetic-{method.file}-{number:02d}.parquet", table)
            figures.append(Figures.of(table))
        found.append(
            Made(
                method,
                tuple(figures),
                units.by_size(units.linked(tables)),
                units.by_size(units.in_the_cell(tables)),
                sum(sum(broken_rules(table, layout).values()) for table in tables),
                sum(len(layout.years) * table.num_rows for table in tables),
                seconds,
            )
        )
    main = Method(MAIN)
    again = []
    for draw in range(DRAWS if main in methods else 0):
        say(f"synthesis: {main.name}, other draws", draw, DRAWS)
        tables = main.make(panel, industry, seed + 1000 * (1 + draw)).tables
        again.append(tuple(Figures.of(table) for table in tables))
    guess = units.by_size(units.without_files())
    return Measured(establishments, Figures.of(panel), guess, tuple(found), tuple(again))


def _keep(folder: Path | None, name: str, table: pa.Table) -> None:
    if folder is not None:
        pq.write_table(table, folder / name, compression="zstd")
