"""Draw every mechanism of the haney2017 grid and score each draw against the exact tables."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa

from tacita.mechanisms.comparators import NoiseInfusion, SuppressAndRound
from tacita.noise.entropy import SeededEntropy
from tacita.simulated.frame import FEMALE_COLLEGE, OWNERSHIP, SECTORS, WORKER_CELLS, LinkedFrame
from tacita_studies.haney2017 import arms, tables
from tacita_studies.haney2017.arms import Grid, Task
from tacita_studies.haney2017.tables import InfusionDraw, StudyTables, SuppressedTable, Values, spearman
from tacita_studies.harness.experiment import FIRST, Kept
from tacita_studies.harness.study import Settings

INFUSION_DRAWS = 10
KEPT_ALPHA = "0.1"


@dataclass
class Trials:
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
    outcomes: tuple[Trials, ...]
    suppressed: dict[str, SuppressedTable]


def measure(frame: LinkedFrame, grid: Grid, chosen: Settings) -> Measurements:
    """Draw every mechanism of the grid as often as asked and score each draw against the exact tables."""
    exact, entropy, noise, rule = StudyTables.of(frame), SeededEntropy(chosen.seed), NoiseInfusion(), SuppressAndRound()
    infusion = []
    for draw in range(INFUSION_DRAWS):
        chosen.say("noise infusion", draw, INFUSION_DRAWS)
        infusion.append(tables.infuse(exact, noise, draw, entropy))
    suppressed = {
        "Workload 1": tables.suppress(exact, rule, worker_groups=False),
        "Workload 3": tables.suppress(exact, rule, worker_groups=True),
    }
    if chosen.keep is not None:
        first = Kept(chosen.keep / FIRST)
        first.write("original", _codes_written_out(exact, exact.totals.counts[:, 0]))
        first.write("synthetic-NoiseInfusion", _codes_written_out(exact, infusion[0].totals))
        first.write("synthetic-SuppressAndRound", _codes_written_out(exact, suppressed["Workload 1"].values[:, 0]))
    chosen.say("calibrating", 0, 1)
    planned = list(arms.tasks(grid))
    outcomes = []
    for number, task in enumerate(planned):
        chosen.say(f"{task.workload.name}: {task.arm.label}", number, len(planned))
        outcome = Trials(task)
        for trial in range(chosen.replicates):
            label = f"{task.workload.name}/{task.arm.label}/{task.alpha}/{task.epsilon}/{trial}"
            noisy = _draw(exact, task, entropy.child(label))
            _score(exact, infusion[trial % len(infusion)], outcome, noisy)
            kept = task.workload is arms.WORKLOAD_1 and task.alpha in (None, KEPT_ALPHA)
            if chosen.keep is not None and trial == 0 and kept:
                folder = Kept(chosen.keep / f"eps-{task.epsilon}" / FIRST)
                folder.write("original", _codes_written_out(exact, exact.totals.counts[:, 0]))
                folder.write(f"synthetic-{task.arm.file}", _codes_written_out(exact, noisy[:, 0]))
        outcomes.append(outcome)
    return Measurements(exact, tuple(infusion), tuple(outcomes), suppressed)


def _draw(exact: StudyTables, task: Task, entropy: SeededEntropy) -> Values:
    """One release: a row per cell, and a column per worker group where the workload has them."""
    if task.workload is arms.WORKLOAD_1:
        theta = task.arm.extra.get("theta")
        source = exact.totals if theta is None else exact.projected(theta)
        return np.asarray(task.mechanism.measure(source, entropy), dtype=np.float64).reshape(exact.cells, 1)
    if task.workload is arms.WORKLOAD_2:
        answers = np.asarray(task.mechanism.measure(exact.single, entropy), dtype=np.float64)
        return tables.side_by_side(answers.reshape(-1), len(WORKER_CELLS))
    return np.asarray(task.mechanism.measure(exact.groups, entropy), dtype=np.float64)


def _score(exact: StudyTables, infused: InfusionDraw, outcome: Trials, noisy: Values) -> None:
    workload = outcome.task.workload
    true = (exact.totals if workload is arms.WORKLOAD_1 else exact.groups).counts
    outcome.l1.append(exact.l1(noisy - true))
    if workload is arms.WORKLOAD_1:
        outcome.correlation.append(spearman(exact.ranks(noisy[:, 0]), infused.total_ranks))
        error = np.abs(noisy[:, 0] - true[:, 0])
        outcome.cell_error = error if outcome.cell_error is None else outcome.cell_error + error
    elif workload is arms.WORKLOAD_2:
        outcome.correlation.append(spearman(exact.ranks(noisy[:, FEMALE_COLLEGE]), infused.college_ranks))


def _codes_written_out(exact: StudyTables, values: Any) -> pa.Table:
    """A workload 1 table as it is kept."""
    levels = {"place": exact.frame.place_codes, "sector": [row.code for row in SECTORS], "ownership": OWNERSHIP}
    columns = {
        key: pa.DictionaryArray.from_arrays(pa.array(codes), pa.array(list(levels[key]))).cast(pa.string())
        for key, codes in exact.keys.items()
    }
    return pa.table({**columns, "jobs": pa.array(values)})
