"""Trends over time of a panel of establishments: employment, job creation and destruction, entry and exit.

The rates are those of Davis, Haltiwanger and Schuh: jobs created (or destroyed) between one period and the next over
Z_t, the average of the two employment levels. Destruction is a positive rate, so net creation is creation minus
destruction. Entry and exit rates are establishments that appear or disappear over the average number of active ones.
An establishment is active in a period when it has employment above zero; no row, or a missing value, is none.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacita.errors import UsageError
from tacita.evaluation.encoding import Comparison, Encoded
from tacita.evaluation.metric import Metric, Outcome

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Trends:
    """One value per period; flows are zero in the first period, which has nothing before it."""

    employment: Floats
    active: Floats
    creation: Floats
    destruction: Floats
    entries: Floats
    exits: Floats

    def rate(self, name: str) -> Floats:
        """A rate for every period but the first; 0 where neither period has anybody."""
        if name == "net job creation":
            return self.rate("job creation") - self.rate("job destruction")
        flow, stock = {
            "job creation": (self.creation, self.employment),
            "job destruction": (self.destruction, self.employment),
            "entry": (self.entries, self.active),
            "exit": (self.exits, self.active),
        }[name]
        average = (stock[1:] + stock[:-1]) / 2
        rates: Floats = np.where(average > 0, flow[1:] / np.where(average > 0, average, 1.0), 0.0)
        return rates


EMPLOYMENT_TREND = "employment trend"
_RATES = {
    "job creation": (2.0, "jobs created over average employment"),
    "job destruction": (2.0, "jobs destroyed over average employment"),
    "net job creation": (4.0, "jobs created minus jobs destroyed over average employment"),
    "entry": (2.0, "new establishments over the average number of active ones"),
    "exit": (2.0, "establishments that disappear over the average number of active ones"),
}


@dataclass(frozen=True)
class Panel:
    """A panel with one row per establishment and period, such as Panel("id", "year", "employment").

    Establishments of different files need not match: each file's trends are its own. Identifiers are left out of a
    comparison that has a schema; compare the panel's three columns without one.
    """

    unit: str
    period: str
    employment: str

    @property
    def stored(self) -> tuple[str, ...]:
        """The columns of a file that are looked at."""
        return self.unit, self.period, self.employment

    def periods(self, original: Encoded) -> tuple[NDArray[Any], tuple[str, ...]]:
        """The distinct periods of the original, as stored and as labels."""
        column = original.column(self.period)
        if column.kind == "numeric":
            values = np.unique(original.numbers[self.period])
            values = values[~np.isnan(values)]
            return values, tuple(f"{value:g}" for value in values)
        codes = np.unique(original.codes[self.period])
        codes = codes[codes != (-1 if column.missing is None else column.missing)]
        return codes, tuple(column.levels[code] for code in codes)

    def trends(self, file: Encoded, periods: NDArray[Any]) -> Trends:
        stored = _stored(file, self.period)
        when = np.searchsorted(periods, stored)
        inside = (when < len(periods)) & (periods[np.minimum(when, len(periods) - 1)] == stored)
        jobs = _employment(file, self.employment)
        rows = np.flatnonzero(inside & (jobs > 0) & ~file.missing(self.unit))
        _, unit = np.unique(_stored(file, self.unit)[rows], return_inverse=True)
        return long_trends(unit, when[rows], jobs[rows], len(periods))


@dataclass(frozen=True)
class WidePanel:
    """A panel with one row per establishment and one employment column per period.

    >>> WidePanel.of({1976: "emp76", 1977: "emp77"}).columns
    (('1976', 'emp76'), ('1977', 'emp77'))
    """

    columns: tuple[tuple[str, str], ...]

    @classmethod
    def of(cls, columns: Mapping[int, str]) -> WidePanel:
        return cls(tuple((str(period), columns[period]) for period in sorted(columns)))

    @property
    def stored(self) -> tuple[str, ...]:
        """The columns of a file that are looked at."""
        return tuple(column for _, column in self.columns)

    def periods(self, original: Encoded) -> tuple[NDArray[Any], tuple[str, ...]]:
        return np.arange(len(self.columns)), tuple(period for period, _ in self.columns)

    def trends(self, file: Encoded, periods: NDArray[Any]) -> Trends:
        jobs = (_employment(file, column) for _, column in self.columns)
        sums = np.zeros((6, len(self.columns)))
        before: Floats | None = None
        for t, now in enumerate(jobs):
            sums[:2, t] = now.sum(), np.count_nonzero(now)
            if before is not None:
                change = now - before
                sums[2:, t] = (
                    change[change > 0].sum(),
                    -change[change < 0].sum(),
                    np.count_nonzero((now > 0) & (before == 0)),
                    np.count_nonzero((now == 0) & (before > 0)),
                )
            before = now
        return Trends(*sums)


def long_trends(unit: NDArray[np.intp], when: NDArray[np.intp], jobs: Floats, periods: int) -> Trends:
    """Trends of rows of active establishments: unit numbers, period positions and employment above zero.

    >>> trends = long_trends(np.array([0, 0, 1]), np.array([0, 1, 1]), np.array([10.0, 6.0, 4.0]), 2)
    >>> trends.creation.tolist(), trends.destruction.tolist(), trends.entries.tolist()
    ([0.0, 4.0], [0.0, 4.0], [0.0, 1.0])
    """
    order = np.lexsort((when, unit))
    unit, when, jobs = unit[order], when[order], jobs[order]
    same_unit = unit[1:] == unit[:-1]
    if bool((same_unit & (when[1:] == when[:-1])).any()):
        raise UsageError("panel: an establishment has two rows for one period; add them up or correct the identifier")
    follows = np.zeros(len(unit), dtype=bool)  # the same establishment was active in the period before
    follows[1:] = same_unit & (when[1:] == when[:-1] + 1)
    stays = np.zeros(len(unit), dtype=bool)  # … and is active in the period after
    stays[:-1] = follows[1:]
    before = np.where(follows, np.concatenate([[0.0], jobs[:-1]]), 0.0)[: len(jobs)]
    change = jobs - before
    leaves = ~stays & (when + 1 < periods)

    def by_period(amount: Floats | NDArray[np.bool_], at: NDArray[np.intp]) -> Floats:
        return np.bincount(at, weights=amount, minlength=periods).astype(np.float64)

    late = when > 0  # the first period has nothing before it, so nothing in it is created or enters
    return Trends(
        employment=by_period(jobs, when),
        active=by_period(np.ones(len(jobs)), when),
        creation=by_period(np.where(late, np.maximum(change, 0), 0.0), when),
        destruction=by_period(np.maximum(-change, 0), when) + by_period(jobs[leaves], when[leaves] + 1),
        entries=by_period(late & ~follows, when),
        exits=by_period(np.ones(int(leaves.sum())), when[leaves] + 1),
    )


def trend_metrics(panel: Panel | WidePanel) -> tuple[Metric, ...]:
    """How far each trend of the synthetic files lies from the original's, averaged over periods."""
    level = Metric(
        EMPLOYMENT_TREND,
        "lower",
        (0.0, math.inf),
        0.0,
        "absolute difference of employment, summed over periods, as a share of the original's employment",
        _score(panel, "employment"),
    )
    rates = (
        Metric(
            f"{name} rate trend",
            "lower",
            (0.0, widest),
            0.0,
            f"mean absolute difference over periods of the {name} rate ({meaning})",
            _score(panel, name),
        )
        for name, (widest, meaning) in _RATES.items()
    )
    return (level, *rates)


def _score(panel: Panel | WidePanel, name: str) -> Callable[[Comparison], Outcome]:
    def score(comparison: Comparison) -> Outcome:
        labels, original, files = comparison.pairs[0].once(("trends", panel), lambda: _all_trends(panel, comparison))
        if name == "employment":
            truth, drawn = original.employment, np.stack([one.employment for one in files])
            if truth.sum() <= 0:
                raise UsageError("panel: the original has no employment in any period; check the employment column")
            values = np.abs(drawn - truth).sum(axis=1) / truth.sum()
        else:
            if len(labels) < 2:
                raise UsageError("panel: rates need at least two periods; the original has fewer")
            labels = labels[1:]
            truth, drawn = original.rate(name), np.stack([one.rate(name) for one in files])
            values = np.abs(drawn - truth).mean(axis=1)
        details = {
            "periods": labels,
            "original": truth,
            "files": drawn,
            "mean": drawn.mean(axis=0),
            "sd": drawn.std(axis=0, ddof=1) if len(drawn) > 1 else np.zeros(len(truth)),
        }
        return Outcome(float(values.mean()), details, tuple(values.tolist()))

    return score


def _all_trends(panel: Panel | WidePanel, comparison: Comparison) -> tuple[tuple[str, ...], Trends, list[Trends]]:
    periods, labels = panel.periods(comparison.original)
    if not labels:
        raise UsageError("panel: the original has no periods; check the period column")
    files = [panel.trends(file, periods) for file in comparison.synthetic]
    return labels, panel.trends(comparison.original, periods), files


def _stored(file: Encoded, name: str) -> NDArray[Any]:
    return file.numbers[name] if file.column(name).kind == "numeric" else file.codes[name]


def _employment(file: Encoded, name: str) -> Floats:
    if file.column(name).kind != "numeric":
        raise UsageError(f"{name}: employment must be a number; declare it so in the schema")
    jobs = np.nan_to_num(file.numbers[name], nan=0.0)
    if bool((jobs < 0).any()):
        raise UsageError(f"{name}: employment must not be negative; correct the file")
    return jobs
