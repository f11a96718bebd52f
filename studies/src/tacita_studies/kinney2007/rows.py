"""Result rows: Table 2, distributions, every year, distances from the truth, disclosure, coverage; and the bars."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from tacita_studies.harness.bars import Bar
from tacita_studies.harness.results import Row, Rows
from tacita_studies.kinney2007.coverage import COEFFICIENTS, Coverage
from tacita_studies.kinney2007.facts import YEARS
from tacita_studies.kinney2007.figures import FIRST_YEARS, LAGS, LIVES, QUANTILES, SHOWN_YEARS, Figures, Floats
from tacita_studies.kinney2007.measure import MeasuredIndustry
from tacita_studies.kinney2007.methods import MAIN, PLAIN, BusinessMethod, formal

TRUTH = "truth"
TABLE, LIVES_TABLE, BY_YEAR, SIZES, DISTANCES = "Table 2", "Lives", "By year", "Sizes", "Distance from the truth"
DISCLOSURE, INTERVALS, CORRELATIONS, CHECKS = "Disclosure", "Coverage", "Correlations", "Checks"
OTHER_DRAWS = "Other draws of the noise"
LINKED, IN_THE_CELL = "first year found, rows linked", "first year found, from the cell"
COVERED, LENGTH, BIAS = "share of 95% intervals that cover", "length over the confidential one's", "bias, in its errors"
IMPOSSIBLE, SECONDS = "impossible records", "seconds"

K_MARGINAL = "k-marginal of employment in a year and the next"
WITHIN = {"employment": 0.05, "job creation": 0.15}  # for counting years


@dataclass(frozen=True)
class Printed:
    """A line of the paper's Table 2, for one four-digit industry: shares of establishments, observed and synthetic."""

    observed: float
    synthetic: float
    meaning: str


TABLE_2 = {
    "1": Printed(0.8408, 0.8386, "never part of a larger firm"),
    "2-4": Printed(0.0096, 0.0090, "changed"),
    "5": Printed(0.1497, 0.1525, "always part of a larger firm"),
}


def within(name: str) -> str:
    """>>> within("employment")
    'employment: years within 5%'
    """
    return f"{name}: years within {100 * WITHIN[name]:.0f}%"


@dataclass(frozen=True)
class Series:
    """One number for each of some labels; distances of sums and rates are relative."""

    name: str
    table: str
    labels: tuple[int | str, ...]
    of: Callable[[Figures], Floats]
    relative: bool = False

    def distances(self, made: Figures, truth: Figures) -> Floats:
        drawn, wanted = self.of(made), self.of(truth)
        if self.relative:
            return np.asarray(np.abs(drawn / np.where(wanted == 0, 1.0, wanted) - 1))
        return np.asarray(np.abs(drawn - wanted))


_LATER = YEARS[1:]
SERIES = (
    Series("multi-unit status", TABLE, ("1", "2", "3", "4", "5"), lambda one: one.statuses),
    Series("first year", LIVES_TABLE, FIRST_YEARS, lambda one: one.first),
    Series("last year", LIVES_TABLE, YEARS, lambda one: one.last),
    Series("lifetime", LIVES_TABLE, LIVES, lambda one: one.life),
    Series("employment", BY_YEAR, YEARS, lambda one: one.employment, relative=True),
    Series("payroll", BY_YEAR, YEARS, lambda one: one.payroll, relative=True),
    Series("job creation", BY_YEAR, _LATER, lambda one: one.creation, relative=True),
    Series("job destruction", BY_YEAR, _LATER, lambda one: one.destruction, relative=True),
    Series("entry", BY_YEAR, _LATER, lambda one: one.entry, relative=True),
    Series("exit", BY_YEAR, _LATER, lambda one: one.exit, relative=True),
    Series("correlation of employment with the year before", BY_YEAR, _LATER, lambda one: one.correlation),
    Series("correlation of log employment and log payroll", BY_YEAR, YEARS, lambda one: one.pay_correlation),
)
BY_NAME = {one.name: one for one in SERIES}


def largest(name: str) -> str:
    """>>> largest("employment")
    'employment: largest distance'
    """
    return f"{name}: largest distance"


@dataclass(frozen=True)
class Author:
    """Whose number a row has: the truth, or a method."""

    method: BusinessMethod | None

    @property
    def name(self) -> str:
        return TRUTH if self.method is None else self.method.name

    def row(self, table: str, metric: str, ours: float, *, where: Mapping[str, Any], **more: Any) -> Row:
        said = Row.guarantee if self.method is None else self.method.guarantee
        epsilon = None if self.method is None else self.method.epsilon
        return Row(table, self.name, metric, float(ours), guarantee=said, where={"epsilon": epsilon, **where}, **more)


def simulated_rows(measured: MeasuredIndustry) -> Iterator[Row]:
    """Everything about the one simulated industry."""
    truth = measured.truth
    for by, figures in ((Author(None), truth), *((Author(one.method), one.mean) for one in measured.made)):
        yield from _table_2(by, figures, truth)
        for series in SERIES:
            if series.table != TABLE:
                values = zip(series.labels, series.of(figures), series.of(truth), strict=True)
                for label, value, true in values:
                    yield by.row(series.table, series.name, value, reference=float(true), where={"label": label})
        yield from _sizes(by, figures, truth)
        for lag, value, true in zip(LAGS, figures.lags, truth.lags, strict=True):
            yield by.row(CORRELATIONS, "log employment", value, reference=float(true), where={"label": lag})
    for one in measured.made:
        by = Author(one.method)
        yield from _distances(by, DISTANCES, one.files, truth, {})
        for metric, shares in ((LINKED, one.linked), (IN_THE_CELL, one.in_the_cell)):
            for size, (share, count) in shares.items():
                where = {"label": size, "establishments": count}
                yield by.row(DISCLOSURE, metric, share, reference=measured.without_files[size][0], where=where)
        yield by.row(CHECKS, IMPOSSIBLE, one.impossible, where={"checked": one.checked})
        yield by.row(CHECKS, SECONDS, one.seconds, where={})
    for number, files in enumerate(measured.again, start=1):
        yield from _distances(Author(formal(MAIN)), OTHER_DRAWS, files, truth, {"draw": number})


def _table_2(by: Author, figures: Figures, truth: Figures) -> Iterator[Row]:
    def three(shares: Floats) -> dict[str, float]:
        return {"1": float(shares[0]), "2-4": float(shares[1:4].sum()), "5": float(shares[4])}

    true = three(truth.statuses)
    for value, share in three(figures.statuses).items():
        printed = TABLE_2[value]
        paper = printed.observed if by.method is None else printed.synthetic if by.method == PLAIN else None
        where = {"label": value}
        yield by.row(TABLE, "share of establishments", share, paper=paper, reference=true[value], where=where)


def _sizes(by: Author, figures: Figures, truth: Figures) -> Iterator[Row]:
    for name in ("employment", "payroll"):
        drawn, true = (getattr(one, f"{name}_quantiles") for one in (figures, truth))
        for at, year in enumerate(SHOWN_YEARS):
            for place, quantile in enumerate(QUANTILES):
                where = {"label": year, "quantile": quantile}
                yield by.row(SIZES, name, drawn[at, place], reference=float(true[at, place]), where=where)


def _distances(
    by: Author, table: str, files: Sequence[Figures], truth: Figures, where: Mapping[str, Any]
) -> Iterator[Row]:
    """Of the average over files, which is what an analyst reports; `worst` is that of the worst single file."""
    mean = Figures.mean(files)

    def row(metric: str, value: float, worst: float) -> Row:
        return by.row(table, metric, value, replicates=len(files), where={**where, "worst": worst})

    for series in SERIES:
        worst = max(float(series.distances(one, truth).max()) for one in files)
        yield row(largest(series.name), float(series.distances(mean, truth).max()), worst)
    for name, limit in WITHIN.items():
        counts = [float((BY_NAME[name].distances(one, truth) <= limit).sum()) for one in (mean, *files)]
        yield row(within(name), counts[0], min(counts[1:]))
    scores = [one.k_marginal(truth) for one in files]
    # Averaging files would smooth their tables; the score is that of a file.
    yield row(K_MARGINAL, float(np.mean(scores)), min(scores))


def coverage_rows(
    covered: Mapping[str, Sequence[Coverage]], methods: Sequence[BusinessMethod], panels: int, size: int
) -> Iterator[Row]:
    """The confidential panel's rows have no method of their own: no file was made."""
    by_name = {method.name: method for method in methods}
    for name, coefficients in covered.items():
        method = by_name.get(name)
        for one in coefficients:
            where = {"coefficient": one.coefficient, "truth": one.truth, "establishments": size}
            error = float(np.sqrt(one.share * (1 - one.share) / panels)) if panels > 1 else None
            values = {COVERED: (one.share, error), LENGTH: (one.length, None), BIAS: (one.bias, None)}
            for metric, (value, se) in values.items():
                row = Author(method).row(INTERVALS, metric, value, se=se, replicates=panels, where=where)
                yield row if method is not None else replace(row, method=name)


LEAST_PANELS = 100
MARGINALS = ("multi-unit status", "first year", "last year")
CORRELATION = "correlation of employment with the year before"
FORMAL = formal(MAIN).name


def _bars() -> Iterator[Bar]:
    for name in MARGINALS:
        yield Bar(PLAIN.name, largest(name), most=0.005)
    yield Bar(PLAIN.name, largest(CORRELATION), most=0.02)
    yield Bar(PLAIN.name, largest("employment"), most=0.02)
    for name in ("job creation", "job destruction"):
        yield Bar(PLAIN.name, largest(name), most=0.10)
    yield Bar(PLAIN.name, IMPOSSIBLE, most=0)
    yield Bar(FORMAL, within("employment"), least=24)
    yield Bar(FORMAL, within("job creation"), least=24)
    for name in ("entry", "exit"):
        yield Bar(FORMAL, largest(name), most=0.05)
    yield Bar(FORMAL, K_MARGINAL, least=900)
    yield Bar(FORMAL, IMPOSSIBLE, most=0)
    for name in COEFFICIENTS[1:]:
        yield Bar(PLAIN.name, COVERED, 0.90, 0.98, {"coefficient": name}, replicates=LEAST_PANELS)


BARS = tuple(_bars())
LIMITS = tuple(bar for bar in BARS if bar.method == FORMAL and bar.metric != IMPOSSIBLE)


def limits_missed(files: Sequence[Figures], truth: Figures) -> tuple[str, ...]:
    """Which formal limits the files of one draw break, at whatever ε they were made."""
    rows = list(_distances(Author(formal(MAIN)), DISTANCES, files, truth, {}))
    return tuple(bar.metric for bar in LIMITS if not bar.verdict(bar.row(rows)))


def draws_that_hold(rows: Rows) -> tuple[int, int]:
    """How many draws of the noise there are, the first with the others, and in how many every formal limit holds."""
    others = rows.of(OTHER_DRAWS)
    numbers = sorted({row.where["draw"] for row in others})
    draws = [rows.of(DISTANCES), *([row for row in others if row.where["draw"] == one] for one in numbers)]
    verdicts = [[bar.verdict(bar.row(draw)) for bar in LIMITS] for draw in draws]
    whole = [one for one in verdicts if None not in one]
    return len(whole), sum(map(all, whole))
