"""From what was measured to result rows, each with the paper's printed words where it has any.

The paper shows its results as pictures; only what its text states in numbers is set beside ours.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np

from tacita.mechanisms.comparators import NoiseInfusion, SuppressAndRound
from tacita.simulated.frame import FEMALE_COLLEGE, FULL_ESTABLISHMENTS, FULL_JOBS, simulate
from tacita_studies.haney2017.arms import Grid, Task
from tacita_studies.haney2017.measure import Measurements, Trials, measure
from tacita_studies.haney2017.tables import ALL_PLACES, GROUPS, Values, spearman
from tacita_studies.harness.results import Row, in_words, mean_and_se, ratio_and_se
from tacita_studies.harness.study import Report, Settings

RATIO = "L1 error / L1 error of noise infusion"
CORRELATION = "Spearman correlation with the noise-infused order"
CLOSE = "share of cells with average relative error at most 10 points above noise infusion's"
SUPPRESSED = "share of cells suppressed"
TOTAL = "L1 error"
RANKING = {"Workload 1": "Ranking 1", "Workload 2": "Ranking 2"}

_FRAME_FACTS = {
    "establishments": (527_000.0, "about 527,000"),
    "jobs": (10_900_000.0, "10.9 million"),
    "establishments above 1,000 workers": (None, "between 740 and 815"),
    "share of cells below 1,000 jobs": (0.93, "over 93%"),
}
_CLOSE = 0.10  # "within 10 percentage points"
_CLOSE_IN_PAPER = {"LogLaplace": 0.65, "SmoothLaplace": 0.75, "SmoothGamma": 0.29}

Printed = tuple[float | None, str | None]


def report(chosen: Settings, *, jobs: int | None, grid: Grid | None) -> Report:
    from tacita_studies.haney2017.page import page

    size, settled = FULL_JOBS if jobs is None else jobs, grid or Grid()
    chosen.say("simulating the linked frame", 0, 1)
    frame = simulate(size, max(50, round(size * FULL_ESTABLISHMENTS / FULL_JOBS)), chosen.seed)
    measured = measure(frame, settled, chosen)
    settings = {
        "jobs": size,
        "establishments": len(frame.workplace_id),
        "trials": chosen.replicates,
        "infusion_draws": len(measured.infusion),
        "seed": chosen.seed,
        "full": chosen.full,
        "alphas": list(settled.alphas),
        "epsilons": list(settled.epsilons),
        "thetas": list(settled.thetas),
        "frame": frame.facts(),
    }
    rows = rows_of(measured)
    return Report(rows, settings, partial(page, rows, settings))


def printed_ratio(task: Task) -> Printed:
    """What the paper's text says of this L1 ratio over all places, if anything."""
    name, method, at = task.workload.name, task.arm.method, (task.alpha, task.epsilon)
    if method == "TruncatedLaplace" and name == "Workload 1" and task.epsilon == "4":
        return 10.0, "at least 10 times larger"
    if task.arm.calibration != "paper":
        return None, None
    if name == "Workload 1" and at == ("0.1", "2"):
        return (1.0, "better than noise infusion") if method == "SmoothLaplace" else (3.0, "within a factor of 3")
    if name == "Workload 2":
        if method == "SmoothLaplace" and task.epsilon == "4":
            return 1.0, "outperforms noise infusion for all α"
        if at == ("0.1", "2") and method != "SmoothGamma":
            return (1.0, "nearly the same") if method == "SmoothLaplace" else (3.0, "within a factor of 3")
    if name == "Workload 3" and task.epsilon == "4":
        if method == "SmoothLaplace":
            return (3.0, "within a factor of 3") if task.alpha == "0.01" else (10.0, "within a factor of 10")
        if method == "LogLaplace" and task.alpha in ("0.01", "0.05"):
            return 10.0, "within a factor of 10"
    return None, None


def printed_correlation(task: Task, table: str) -> Printed:
    """What the paper's text says of this rank correlation over all places, if anything."""
    if task.arm.method == "TruncatedLaplace" and table == "Ranking 1":
        return 0.7, "no better than 0.7"
    if task.arm.calibration != "paper":
        return None, None
    if table == "Ranking 1":
        from_epsilon = 2.0 if task.arm.method == "SmoothLaplace" else 4.0
        return (1.0, "close to 1") if float(task.epsilon) >= from_epsilon else (None, None)
    if task.arm.method == "SmoothLaplace" and task.epsilon == "4":
        return 1.0, "approaches 1"
    return None, None


def rows_of(measured: Measurements) -> list[Row]:
    """Every row of results.json, in the order of the paper."""
    rows = list(_frame_rows(measured))
    infused = _infusion_errors(measured)
    rows += _comparator_rows(measured, infused)
    for outcome in measured.outcomes:
        rows += _outcome_rows(measured, outcome, infused[outcome.task.workload.name])
    return rows


def _frame_rows(measured: Measurements) -> Iterator[Row]:
    for name, value in measured.tables.frame.facts().items():
        paper, words = _FRAME_FACTS.get(name, (None, None))
        yield Row("Frame", "simulated frame", name, ours=value, paper=paper, paper_says=words)


def _infusion_errors(measured: Measurements) -> dict[str, Values]:
    """L1 errors of noise infusion: draws × groups, for each workload."""
    tables = measured.tables
    totals = np.array([tables.l1(draw.totals - tables.totals.counts[:, 0]) for draw in measured.infusion])
    groups = np.array([tables.l1(draw.groups - tables.groups.counts) for draw in measured.infusion])
    return {"Workload 1": totals, "Workload 2": groups, "Workload 3": groups, "Workload 3, strong": groups}


def _comparator_rows(measured: Measurements, infused: dict[str, Values]) -> Iterator[Row]:
    tables, draws = measured.tables, measured.infusion
    none = in_words(NoiseInfusion().guarantee)
    for table in ("Workload 1", "Workload 3"):
        for g, group in enumerate(GROUPS):
            mean, se = mean_and_se(infused[table][:, g])
            where = {"stratum": group}
            yield Row(table, "NoiseInfusion", TOTAL, mean, se, replicates=len(draws), guarantee=none, where=where)
            yield Row(
                table, "NoiseInfusion", RATIO, 1.0, reference=1.0, replicates=len(draws), guarantee=none, where=where
            )
        held = measured.suppressed[table]
        true = (tables.totals if table == "Workload 1" else tables.groups).counts
        without = in_words(SuppressAndRound().guarantee)
        for g, group in enumerate(GROUPS):
            ratio, se = ratio_and_se([tables.l1(held.values - true)[g]], infused[table][:, g])
            where = {"stratum": group}
            yield Row(table, "SuppressAndRound", RATIO, ratio, se, reference=1.0, guarantee=without, where=where)
        yield Row(table, "SuppressAndRound", SUPPRESSED, held.share, guarantee=without, where={"stratum": ALL_PLACES})
    exact = {
        "Ranking 1": (tables.ranks(tables.totals.counts[:, 0].astype(np.float64)), [d.total_ranks for d in draws]),
        "Ranking 2": (
            tables.ranks(tables.groups.counts[:, FEMALE_COLLEGE].astype(np.float64)),
            [d.college_ranks for d in draws],
        ),
    }
    for table, (ranks, published) in exact.items():
        correlations = np.array([spearman(ranks, one) for one in published])
        said = "none: the exact counts cannot be released; they show the highest value to expect"
        for g, group in enumerate(GROUPS):
            mean, se = mean_and_se(correlations[:, g])
            where = {"stratum": group}
            yield Row(table, "exact counts", CORRELATION, mean, se, None, None, 1.0, len(draws), said, where)


def _outcome_rows(measured: Measurements, outcome: Trials, infused: Values) -> Iterator[Row]:
    task = outcome.task
    guarantee = in_words(task.mechanism.guarantee)
    if task.mechanism.every_cell:
        guarantee += "; scored on the cells that occur, as in the paper, where a release has every declared cell"
    trials = len(outcome.l1)
    errors = np.array(outcome.l1)
    for g, group in enumerate(GROUPS):
        ratio, se = ratio_and_se(errors[:, g], infused[:, g])
        paper, words = printed_ratio(task) if group == ALL_PLACES else (None, None)
        where = {**task.where, "stratum": group}
        yield Row(task.workload.name, task.arm.label, RATIO, ratio, se, paper, words, 1.0, trials, guarantee, where)
    if outcome.correlation:
        table = RANKING[task.workload.name]
        correlations = np.array(outcome.correlation)
        for g, group in enumerate(GROUPS):
            mean, se = mean_and_se(correlations[:, g])
            paper, words = printed_correlation(task, table) if group == ALL_PLACES else (None, None)
            where = {**task.where, "stratum": group}
            yield Row(table, task.arm.label, CORRELATION, mean, se, paper, words, 1.0, trials, guarantee, where)
    if outcome.cell_error is not None and (task.alpha, task.epsilon) == ("0.1", "2"):
        share = _close_share(measured, outcome.cell_error / trials)
        paper = _CLOSE_IN_PAPER.get(task.arm.method) if task.arm.calibration == "paper" else None
        words = None if paper is None else f"within 10 percentage points for {paper:.0%} of the counts"
        where = {**task.where, "stratum": ALL_PLACES}
        yield Row("Relative error", task.arm.label, CLOSE, share, None, paper, words, 1.0, trials, guarantee, where)


def _close_share(measured: Measurements, error: Values) -> float:
    """Share of cells whose average relative error is at most 10 points above noise infusion's average."""
    true = measured.tables.totals.counts[:, 0]
    infused = np.mean([np.abs(draw.totals - true) for draw in measured.infusion], axis=0)
    seen = true > 0
    return float(((error - infused)[seen] / true[seen] <= _CLOSE).mean())
