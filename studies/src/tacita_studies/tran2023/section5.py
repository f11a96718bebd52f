"""Section 5 of tran2023: employment over 25 years in four industries, on a panel simulated to the paper's facts."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import partial

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from tacita.evaluation import WidePanel, compare, k_marginal, pmse
from tacita.evaluation.marginals import six
from tacita.evaluation.trends import Trends
from tacita_studies.harness.experiment import FIRST, Experiment, Method
from tacita_studies.harness.replicates import Progress
from tacita_studies.harness.results import Row, mean_and_se
from tacita_studies.tran2023.panel import COLUMNS, YEARS, Fit, simulate_panel, synthesize
from tacita_studies.tran2023.printed import INDUSTRIES, K_MARGINAL, PMSE_LASSO, printed_panel

Numbers = NDArray[np.float64]

EMPLOYMENT = "gross employment"
CREATION = "job creation"
NET = "net job creation"
RAW = "raw data"
_MARGINALS = 300  # of the 2,300 triples of years, drawn at random once


@dataclass(frozen=True, kw_only=True)
class PanelMethod(Method):
    """`fit(frame, seed)` gives what fits one industry's years; without noise it is asked once for all repetitions."""

    guarantee: str
    fit: Callable[[pd.DataFrame, int], Fit]
    noisy: bool = True

    @property
    def where(self) -> dict[str, str]:
        return {"mode": self.mode}


@dataclass(frozen=True)
class PanelOutcome:
    """One method on one industry: scores per repetition, and the trends of the raw and of every synthetic panel."""

    method: str
    sic3: str
    scores: Mapping[str, Sequence[float]]
    raw: Trends
    trends: tuple[Trends, ...]


@dataclass(frozen=True)
class PanelExperiment(Experiment[PanelOutcome]):
    """One method on one industry for each number."""

    methods: tuple[PanelMethod, ...]
    repetitions: int
    scale: float

    @property
    def tasks(self) -> list[tuple[PanelMethod, str]]:
        # The largest industry first, so that no core waits for it at the end.
        return [(method, one.sic3) for one in reversed(INDUSTRIES) for method in self.methods]

    def panel(self) -> pd.DataFrame:
        return simulate_panel(scale=self.scale, seed=self.seed)

    def __call__(self, number: int) -> PanelOutcome:
        method, sic3 = self.tasks[number]
        panel = self.panel()
        frame = panel[panel["sic3"] == sic3].reset_index(drop=True)
        files, fit = [], method.fit(frame, 0)
        for repetition in range(self.repetitions):
            # A name has the same checksum in every process, unlike its hash.
            own = zlib.crc32(f"{method.file}/{sic3}/{repetition}/{self.seed}".encode())
            if method.noisy:
                fit = method.fit(frame, own)
            files.append(synthesize(frame, fit, np.random.default_rng(own)))
        kept = self.kept(True, "panel", FIRST)
        kept.write(f"original-{sic3}", frame)
        kept.write(f"synthetic-{method.file}-{sic3}", files[0])
        return _scored(method.file, sic3, frame, files)


def _scored(method: str, sic3: str, frame: pd.DataFrame, files: Sequence[pd.DataFrame]) -> PanelOutcome:
    names = list(COLUMNS.values())
    comparison = compare(frame[names], [one[names] for one in files])
    binned = compare(_binned(frame, frame), [_binned(frame, one) for one in files])
    scores = {
        PMSE_LASSO: pmse("lasso")(comparison).by_implicate,
        K_MARGINAL: k_marginal(3, most=_MARGINALS)(binned).by_implicate,
    }
    panel = WidePanel.of(COLUMNS)
    periods, _ = panel.periods(comparison.original)
    trends = tuple(panel.trends(one, periods) for one in comparison.synthetic)
    return PanelOutcome(method, sic3, scores, panel.trends(comparison.original, periods), trends)


def _binned(original: pd.DataFrame, frame: pd.DataFrame) -> pd.DataFrame:
    """The six bins of section 4.2 per year; a year outside an establishment's life is a bin of its own."""
    binned = {}
    for name in COLUMNS.values():
        cuts = six(original[name].to_numpy(dtype=np.float64))
        values = frame[name].to_numpy(dtype=np.float64)
        binned[name] = np.where(np.isnan(values), -1, np.searchsorted(cuts, values)).astype(str)
    return pd.DataFrame(binned)


@dataclass(frozen=True)
class MeasuredPanel:
    methods: tuple[PanelMethod, ...]
    outcomes: Mapping[tuple[str, str], PanelOutcome]

    def gross(self, method: PanelMethod, sic3: str) -> Numbers:
        """Employment by repetition and year."""
        return np.stack([one.employment for one in self.outcomes[method.file, sic3].trends])

    def raw_gross(self, sic3: str) -> Numbers:
        return self.outcomes[self.methods[0].file, sic3].raw.employment

    def rate(self, method: PanelMethod, name: str) -> Numbers:
        """A rate of all four industries together, by repetition and year."""
        by_industry = [self.outcomes[method.file, one.sic3].trends for one in INDUSTRIES]
        return np.stack([_together(same).rate(name) for same in zip(*by_industry, strict=True)])

    def raw_rate(self, name: str) -> Numbers:
        return _together([self.outcomes[self.methods[0].file, one.sic3].raw for one in INDUSTRIES]).rate(name)


def _together(parts: Sequence[Trends]) -> Trends:
    """The trends of several industries as of one."""
    return Trends(*(np.sum([getattr(one, part.name) for one in parts], axis=0) for part in fields(Trends)))


def measure_panel(experiment: PanelExperiment, workers: int, say: Progress) -> MeasuredPanel:
    measured = experiment.all(len(experiment.tasks), workers, say, "section 5: the panel")
    return MeasuredPanel(experiment.methods, {(one.method, one.sic3): one for one in measured})


def panel_rows(measured: MeasuredPanel, reference: PanelMethod) -> Iterator[Row]:
    """Table 5 beside the printed one, and how far the trends of figures 1 and 2 are from those of the raw panel."""
    for method in measured.methods:
        for sic3 in (one.sic3 for one in INDUSTRIES):
            row = partial(_row, method, {**method.where, "sic3": sic3})
            for metric in (PMSE_LASSO, K_MARGINAL):
                values, ideal = (measured.outcomes[one.file, sic3].scores[metric] for one in (method, reference))
                yield row("Table 5", metric, values, ideal, printed_panel(method.printed, sic3, metric))
            raw = measured.raw_gross(sic3)
            errors, best = (
                np.abs(measured.gross(one, sic3) - raw).sum(axis=1) / raw.sum() for one in (method, reference)
            )
            yield row("Figure 1", f"{EMPLOYMENT}: relative error over the years", errors, best)
        for name in (CREATION, NET):
            errors, best = (
                np.abs(measured.rate(one, name) - measured.raw_rate(name)).mean(axis=1) for one in (method, reference)
            )
            metric = f"{name} rate: mean absolute error over the years"
            yield _row(method, method.where, "Figure 2", metric, errors, best)


def _row(
    method: PanelMethod,
    where: Mapping[str, str],
    table: str,
    metric: str,
    values: Sequence[float] | Numbers,
    ideal: Sequence[float] | Numbers,
    paper: float | None = None,
) -> Row:
    mean, se = mean_and_se(values)
    best = mean_and_se(ideal)[0]
    return Row(table, method.name, metric, mean, se, paper, None, best, len(values), method.guarantee, where)


def trend_records(measured: MeasuredPanel) -> Iterator[dict[str, object]]:
    """What the pictures show: the mean of the repetitions and one standard deviation either side."""
    for industry in INDUSTRIES:
        panel = f"{industry.sic3} {industry.name}"
        yield from _line(EMPLOYMENT, panel, RAW, measured.raw_gross(industry.sic3)[None], YEARS)
        for method in measured.methods:
            yield from _line(EMPLOYMENT, panel, method.name, measured.gross(method, industry.sic3), YEARS)
    for name in (CREATION, NET):
        yield from _line("rates", f"{name} rate", RAW, measured.raw_rate(name)[None], YEARS[1:])
        for method in measured.methods:
            yield from _line("rates", f"{name} rate", method.name, measured.rate(method, name), YEARS[1:])


def _line(figure: str, panel: str, method: str, values: Numbers, years: Sequence[int]) -> Iterator[dict[str, object]]:
    middle = values.mean(axis=0)
    spread = values.std(axis=0, ddof=1) if len(values) > 1 else np.zeros(len(middle))
    for year, value, sd in zip(years, middle.tolist(), spread.tolist(), strict=True):
        yield {
            "figure": figure, "panel": panel, "method": method, "year": year,
            "value": value, "low": value - sd, "high": value + sd,
        }  # fmt: skip
