"""Draw every mechanism of the haney2017 grid and score each draw against the exact tables."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from tacita.mechanisms.comparators import NoiseInfusion, SuppressAndRound
from tacita.noise.entropy import SeededEntropy
from tacita.simulated.frame import FEMALE_COLLEGE, OWNERSHIP, SECTORS, WORKER_CELLS, LinkedFrame
from tacita_studies.haney2017 import arms
from tacita_studies.haney2017.arms import Grid, Task
from tacita_studies.haney2017.tables import (
    InfusionDraw,
    StudyTables,
    SuppressedTable,
    Values,
    infuse,
    side_by_side,
    spearman,
    suppress,
)

Progress = Callable[[str, int, int], None]

INFUSION_DRAWS = 10
KEPT_ALPHA = "0.1"


@dataclass
class Outcome:
    """What the trials of one task gave; each list has an entry per trial, each entry a value per group."""

    task: Task
    l1: list[Values] = field(default_factory=list)
    correlation: list[Values] = field(default_factory=list)
    cell_error: Values | None = None  # absolute error of each workload 1 cell, added up over trials


@dataclass(frozen=True)
class Measurements:
    """Everything the run measured, before it is put in rows and pictures."""

    tables: StudyTables
    infusion: tuple[InfusionDraw, ...]
    outcomes: tuple[Outcome, ...]
    suppressed: dict[str, SuppressedTable]


def measure(frame: LinkedFrame, trials: int, seed: int, grid: Grid, say: Progress, keep: Path | None) -> Measurements:
    """Draw every mechanism of the grid `trials` times and score each draw against the exact tables."""
    tables = StudyTables.of(frame)
    entropy = SeededEntropy(seed)
    noise = NoiseInfusion()
    infusion = []
    for draw in range(INFUSION_DRAWS):
        say("noise infusion", draw, INFUSION_DRAWS)
        infusion.append(infuse(tables, noise, draw, entropy))
    rule = SuppressAndRound()
    suppressed = {
        "Workload 1": suppress(tables, rule, worker_groups=False),
        "Workload 3": suppress(tables, rule, worker_groups=True),
    }
    if keep is not None:
        first = keep / "replicate-000"
        _keep(first, "original", tables, tables.totals.counts[:, 0])
        _keep(first, "synthetic-NoiseInfusion", tables, infusion[0].totals)
        _keep(first, "synthetic-SuppressAndRound", tables, suppressed["Workload 1"].values[:, 0])
    say("calibrating", 0, 1)
    planned = list(arms.tasks(grid))
    outcomes = []
    for number, task in enumerate(planned):
        say(f"{task.workload.name}: {task.arm.label}", number, len(planned))
        outcome = Outcome(task)
        for trial in range(trials):
            label = f"{task.workload.name}/{task.arm.label}/{task.alpha}/{task.epsilon}/{trial}"
            noisy = _draw(tables, task, entropy.child(label))
            _score(tables, infusion[trial % len(infusion)], outcome, noisy)
            if keep is not None and trial == 0:
                _keep_synthetic(keep, tables, task, noisy)
        outcomes.append(outcome)
    say("writing the page", len(planned), len(planned))
    return Measurements(tables, tuple(infusion), tuple(outcomes), suppressed)


def _draw(tables: StudyTables, task: Task, entropy: SeededEntropy) -> Values:
    """One release: a row per cell, and a column per worker group where the workload has them."""
    if task.workload is arms.WORKLOAD_1:
        theta = task.arm.extra.get("theta")
        source = tables.totals if theta is None else tables.projected(theta)
        return np.asarray(task.mechanism.measure(source, entropy), dtype=np.float64).reshape(tables.cells, 1)
    if task.workload is arms.WORKLOAD_2:
        answers = np.asarray(task.mechanism.measure(tables.single, entropy), dtype=np.float64)
        return side_by_side(answers.reshape(-1), len(WORKER_CELLS))
    return np.asarray(task.mechanism.measure(tables.groups, entropy), dtype=np.float64)


def _score(tables: StudyTables, infused: InfusionDraw, outcome: Outcome, noisy: Values) -> None:
    workload = outcome.task.workload
    true = (tables.totals if workload is arms.WORKLOAD_1 else tables.groups).counts
    outcome.l1.append(tables.l1(noisy - true))
    if workload is arms.WORKLOAD_1:
        outcome.correlation.append(spearman(tables.ranks(noisy[:, 0]), infused.total_ranks))
        error = np.abs(noisy[:, 0] - true[:, 0])
        outcome.cell_error = error if outcome.cell_error is None else outcome.cell_error + error
    elif workload is arms.WORKLOAD_2:
        outcome.correlation.append(spearman(tables.ranks(noisy[:, FEMALE_COLLEGE]), infused.college_ranks))


def _keep_synthetic(keep: Path, tables: StudyTables, task: Task, noisy: Values) -> None:
    if task.workload is not arms.WORKLOAD_1 or task.alpha not in (None, KEPT_ALPHA):
        return
    folder = keep / f"eps-{task.epsilon}" / "replicate-000"
    if not (folder / "original.parquet").exists():
        _keep(folder, "original", tables, tables.totals.counts[:, 0])
    name = task.arm.method + (f"-{task.arm.extra['theta']}" if "theta" in task.arm.extra else "")
    printed = "-paper" if task.arm.calibration == "paper" else ""
    _keep(folder, f"synthetic-{name}{printed}", tables, noisy[:, 0])


def _keep(folder: Path, name: str, tables: StudyTables, values: Any) -> None:
    """A workload 1 table as Parquet, with the codes written out."""
    folder.mkdir(parents=True, exist_ok=True)
    levels = {
        "place": tables.frame.place_codes,
        "sector": [row.code for row in SECTORS],
        "ownership": OWNERSHIP,
    }
    columns = {
        key: pa.DictionaryArray.from_arrays(pa.array(codes), pa.array(list(levels[key]))).cast(pa.string())
        for key, codes in tables.keys.items()
    }
    pq.write_table(pa.table({**columns, "jobs": pa.array(values)}), folder / f"{name}.parquet")
