"""Result rows: the population, every cell beside Tables 4 and 5, summaries over cells, and what these are held to."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from tacita_studies.harness.bars import Bar
from tacita_studies.harness.results import Row
from tacita_studies.hu2024 import printed
from tacita_studies.hu2024.measure import MeasuredCase
from tacita_studies.hu2024.methods import DEFAULT, SAMPLE, Entry
from tacita_studies.hu2024.population import CASES, doctorates, draw, population
from tacita_studies.hu2024.printed import ARMS, BY_FIELD, CELLS, REPEATED, STATISTICS, Arm, Repeated, Statistic, words

TABLES: dict[Statistic, str] = {"count": "Table 4", "mean": "Table 5"}
SUMMARY = "Summary over cells"

COVERAGE = "coverage"
LENGTH = "mean length of 95% intervals"
CV = "median CV"
RATIO = "RMSE over the sample's, repeated samples"
FIRST_RATIO = "RMSE over the sample's, one sample, as in the paper"
SECONDS = "seconds per sample"

MEDIAN, MAXIMUM = "median RMSE ratio, 27 cells", "maximum RMSE ratio, 27 cells"
FIRST_MEDIAN = "median RMSE ratio, 27 cells, one sample, as in the paper"
FIRST_MAXIMUM = "maximum RMSE ratio, 27 cells, one sample, as in the paper"
COVERED = "cells of 24 with coverage of at least 0.90"
AS_PRINTED = "cells of 24 with the printed coverage to within 0.06"
LENGTHS = "mean over 24 cells of interval length over the printed one"
MEAN_COVERAGE = "mean coverage, 24 cells"

LEAST_COVERAGE, NEAR = 0.90, 0.06
_FIELDS = [CELLS.index(cell) for cell in BY_FIELD]


def population_rows(seed: int) -> Iterator[Row]:
    """Counts and means of the population beside the printed ones, and how informative the samples are."""
    for statistic in STATISTICS:
        truth = population().truth(statistic)
        for cell in BY_FIELD:
            paper = REPEATED[statistic][cell].population
            where = {"cell": words(cell), "statistic": statistic}
            yield Row(TABLES[statistic], "Population", statistic, truth[CELLS.index(cell)], paper=paper, where=where)
    said = "correlation of salary and weight"
    for case in CASES:
        informative, where = case != "nearly non-informative", {"case": case}
        paper = printed.CORRELATION["population" if informative else "SDR"]
        yield Row("Section 4.1", "Population", said, population(case).correlation, paper=paper, where=where)
        sample = draw(case, seed)
        found_in = float(np.corrcoef(sample["salary"], sample["weight"])[0, 1])
        paper = printed.CORRELATION["sample" if informative else "SDR"]
        yield Row("Section 4.1", "First sample", said, found_in, paper=paper, where=where)


def printed_arm(entry: Entry) -> Arm | None:
    """Whose printed numbers an entry can be held against, readings that were not kept included."""
    return next((one for one in ARMS if entry.method.split(",")[0] == one), None)


def agreement(measured: MeasuredCase, entry: Entry, statistic: Statistic) -> tuple[float, float]:
    """Cells of 24 with the printed coverage to within 0.06, and the mean ratio of interval lengths."""
    arm, score = printed_arm(entry), measured.scores[entry, statistic]
    lines = [REPEATED[statistic][cell] for cell in BY_FIELD]
    coverage, length = (np.array([getattr(one, name)[arm] for one in lines]) for name in ("coverage", "length"))
    near = np.abs(score.coverage[_FIELDS] - coverage) <= NEAR + 1e-9
    return float(near.sum()), float((score.length[_FIELDS] / length).mean())


def printed_for(entry: Entry, statistic: Statistic) -> list[Repeated] | None:
    """The printed lines where the paper has them: FBS and FBP with Δ = 1.8 and three files."""
    if entry.arm is None or entry.bound != 1.8 or entry.sets != 3:
        return None
    return [REPEATED[statistic][cell] for cell in BY_FIELD]


def cell_rows(measured: MeasuredCase) -> Iterator[Row]:
    """Coverage, length, CV and both RMSE ratios of every cell; with other than three files only summaries are kept."""
    about = doctorates()
    for entry, method in measured.owner.items():
        if entry.bound is not None and entry.sets != 3:
            continue
        said = method.guarantee(entry, about)
        for statistic in STATISTICS:
            score = measured.scores[entry, statistic]
            values = {
                COVERAGE: score.coverage,
                LENGTH: score.length,
                CV: score.cv,
                RATIO: measured.ratios(entry, statistic),
                FIRST_RATIO: measured.ratios(entry, statistic, first=True),
            }
            lines = printed_for(entry, statistic) if measured.case != "nearly non-informative" else None
            for metric, numbers in values.items():
                for at, cell in enumerate(CELLS):
                    paper = None
                    if lines is not None and entry.arm is not None and cell in BY_FIELD:
                        line = lines[BY_FIELD.index(cell)]
                        paper = {COVERAGE: line.coverage, LENGTH: line.length}.get(metric, {}).get(entry.arm)
                    share, count = float(numbers[at]), 1 if metric == FIRST_RATIO else score.replicates
                    error = (share * (1 - share) / score.replicates) ** 0.5 if metric == COVERAGE else None
                    where = {**entry.where, "case": measured.case, "statistic": statistic, "cell": words(cell)}
                    table = TABLES[statistic]
                    yield Row(table, entry.method, metric, share, error, paper, None, None, count, said, where)


def summary_rows(measured: MeasuredCase) -> Iterator[Row]:
    about = doctorates()
    for entry, method in measured.owner.items():
        said = method.guarantee(entry, about)
        for statistic in STATISTICS:
            where = {**entry.where, "case": measured.case, "statistic": statistic}
            for metric, value, paper in _summaries(measured, entry, statistic):
                count = 1 if metric in (FIRST_MEDIAN, FIRST_MAXIMUM) else measured.replicates
                yield Row(
                    SUMMARY, entry.method, metric, value, None, paper, replicates=count, guarantee=said, where=where
                )
    for method in dict.fromkeys(measured.owner.values()):
        first = method.entries(about)[0]
        where = {**first.where, "case": measured.case, "file": method.file}
        seconds = measured.seconds[method.file]
        said = method.guarantee(first, about)
        yield Row("Time", first.method, SECONDS, seconds, replicates=measured.replicates, guarantee=said, where=where)


def _summaries(measured: MeasuredCase, entry: Entry, statistic: Statistic) -> Iterator[tuple[str, float, float | None]]:
    score = measured.scores[entry, statistic]
    coverage = score.coverage[_FIELDS]
    lines = printed_for(entry, statistic) if measured.case != "nearly non-informative" else None
    paper_coverage = None if lines is None else np.array([one.coverage[entry.arm or ""] for one in lines])
    if entry != SAMPLE:
        for first, (median, maximum) in ((False, (MEDIAN, MAXIMUM)), (True, (FIRST_MEDIAN, FIRST_MAXIMUM))):
            ratios = measured.ratios(entry, statistic, first=first)
            yield median, float(np.median(ratios)), None
            yield maximum, float(ratios.max()), None
    high = None if paper_coverage is None else float((paper_coverage >= LEAST_COVERAGE).sum())
    yield COVERED, float((coverage >= LEAST_COVERAGE).sum()), high
    yield MEAN_COVERAGE, float(coverage.mean()), None if paper_coverage is None else float(paper_coverage.mean())
    if lines is not None and paper_coverage is not None:
        near, length = agreement(measured, entry, statistic)
        yield AS_PRINTED, near, None
        yield LENGTHS, length, None


def _where(statistic: Statistic, epsilon: str = "10.8", **more: object) -> dict[str, object]:
    return {"table": SUMMARY, "case": "informative", "statistic": statistic, "epsilon": epsilon, **more}


def _bars() -> Iterable[Bar]:
    for statistic in STATISTICS:
        main, half = _where(statistic), _where(statistic, "3.6")
        yield Bar(DEFAULT, MEDIAN, most=1.15, where=main)
        yield Bar(DEFAULT, MAXIMUM, most=1.8, where=main)
        yield Bar(DEFAULT, COVERED, least=22, where=main)
        yield Bar(DEFAULT, MEDIAN, most=1.6, where=half)
        yield Bar(DEFAULT, COVERED, least=22, where=half)
    for arm in ARMS:
        for statistic in STATISTICS:
            yield Bar(arm, AS_PRINTED, least=20, where=_where(statistic, sets=3))
            yield Bar(arm, LENGTHS, least=0.85, most=1.15, where=_where(statistic, sets=3))


BARS = tuple(_bars())
