"""The tables and pictures of the hu2024 page; its words are `page.md`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tacita_studies.harness.page import Markup, figure, holds, table
from tacita_studies.harness.pictures import PALETTE
from tacita_studies.harness.real import TABLE
from tacita_studies.harness.results import Row, Rows
from tacita_studies.hu2024 import page_tables, rows
from tacita_studies.hu2024.answers import Floats
from tacita_studies.hu2024.bars import BARS
from tacita_studies.hu2024.measure import MeasuredCase, RecordBounds
from tacita_studies.hu2024.methods import BOUNDED, DEFAULT, LOCAL, SAMPLE, Entry
from tacita_studies.hu2024.pictures import coverage_and_cv, violins
from tacita_studies.hu2024.population import CASES
from tacita_studies.hu2024.printed import BOUNDS, BY_FIELD, CELLS, SETS, STATISTICS, UNWEIGHTED, Statistic

NAMES: dict[Statistic, str] = {"count": "Counts", "mean": "Average salaries"}
_SHADES = {
    SAMPLE.method: PALETTE[6],
    DEFAULT: PALETTE[2],
    "FBS": PALETTE[0],
    "FBP": PALETTE[1],
    "FBP, cell weights": PALETTE[4],
    LOCAL: PALETTE[3],
    BOUNDED: PALETTE[5],
}
_LEAST_DRAWN = 0.05
_SUMMARIES = (rows.MEDIAN, rows.MAXIMUM, rows.FIRST_MEDIAN, rows.FIRST_MAXIMUM, rows.COVERED, rows.MEAN_COVERAGE)


def page(
    found: Sequence[Row], settings: Mapping[str, Any], measured: Sequence[MeasuredCase], bounds: Sequence[RecordBounds]
) -> dict[str, object]:
    """`measured` has the informative case first."""
    lines, main = Rows(found), measured[0]
    printed = [row for row in lines if row.method == "Population" and row.table != "Section 4.1"]
    guarantees = dict.fromkeys((row.method, row.guarantee) for row in lines.of(rows.SUMMARY))
    return {
        **settings,
        "defaults": [one for one in ((e, _both(lines, DEFAULT, e)) for e in ("10.8", "3.6")) if None not in one[1]],
        "laplace": _both(lines, LOCAL, "10.8")[:2],
        "worst": _worst(lines),
        "bars": _bars(lines),
        "entries": at_ten_eight(main),
        "over": lambda: _violins(main, at_ten_eight(main)),
        "once": lambda: _violins(main, at_ten_eight(main), first=True),
        "trade_off": _trade_off(main),
        "coverage": _coverage(main),
        "summaries": {
            case: [
                (NAMES[one], page_tables.summary_table(lines, case, one, rows.SUMMARY, _SUMMARIES))
                for one in STATISTICS
            ]
            for case in CASES
        },
        "readings": page_tables.where_they_part(measured),
        "unexplained": page_tables.unexplained(main),
        "beside": list(page_tables.beside_tables(main)),
        "records": _records(bounds),
        "applied": page_tables.applied_table(),
        "real": list(page_tables.real_tables(lines)),
        "largest_difference": max(abs(row.ours - row.paper) / row.paper for row in printed if row.ours and row.paper),
        "correlations": table(
            ("samples", "correlation of salary and weight", "paper", "ours"),
            [(row.where["case"], row.method, row.paper, row.ours) for row in lines.of("Section 4.1")],
        ),
        "guarantees": table(("method", "guarantee"), list(guarantees)),
        "times": table(
            ("method", rows.SECONDS), [(r.where["file"], r.ours) for r in lines.of("Time", case="informative")]
        ),
    }


def _both(lines: Rows, method: str, epsilon: str) -> list[float | None]:
    """The median ratio of errors, then the number of cells covered, for counts and for means."""
    where = {"table": rows.SUMMARY, "case": "informative", "epsilon": epsilon}
    metrics = (rows.MEDIAN, rows.COVERED)
    return [lines.value(method, metric, statistic=one, **where) for metric in metrics for one in STATISTICS]


def _worst(lines: Rows) -> tuple[float, str] | None:
    """The real file on which means of the default differ most at the median cell."""
    here = lines.all(DEFAULT, "means: relative difference, median", table=TABLE, epsilon="10.8")
    return max(((row.ours or 0.0, str(row.where["name"])) for row in here), default=None)


def _bars(lines: Rows) -> Markup:
    body = []
    for bar in BARS:
        row, other = bar.row(lines), bar.row(lines, case="with replacement")
        files = f", m = {bar.where['sets']}" if "sets" in bar.where else ""
        statistic: Any = bar.where["statistic"]
        who, what = f"{bar.method}, ε = {bar.where['epsilon']}{files}", f"{NAMES[statistic]}: {bar.metric}"
        values = [None if one is None else one.ours for one in (row, other)]
        body.append((who, what, bar.limit, values[0], holds(bar.verdict(row)), values[1]))
    return table(("method", "measure", "limit", "ours", "", "drawn with replacement"), body)


def _label(entry: Entry) -> str:
    if entry.bound is not None:
        return f"{entry.method}, m = {entry.sets}"
    return entry.method if entry.epsilon in (None, "10.8") else f"{entry.method}, ε = {entry.epsilon}"


def at_ten_eight(measured: MeasuredCase) -> list[Entry]:
    """What the paper compares at ε = 10.8: one entry for each method."""
    found = [one for one in measured.entries if one.epsilon == "10.8" and one.sets != 1 and one.sets != 5]
    return [one for one in found if one.bound in (None, 1.8)]


def _violins(measured: MeasuredCase, entries: Sequence[Entry], *, first: bool = False) -> str:
    panels: dict[str, dict[str, Floats]] = {NAMES[statistic]: {} for statistic in STATISTICS}
    for statistic in STATISTICS:
        for entry in entries:
            ratios = measured.ratios(entry, statistic, first=first)
            # FBS and FBP bring their weights to the known number of persons: that cell has no error at all.
            panels[NAMES[statistic]][_label(entry)] = ratios[ratios > _LEAST_DRAWN]
    colours = {_label(entry): _SHADES[entry.method] for entry in entries}
    return violins(panels, colours, "RMSE over the sample's", reference=1.0, log=True)


def _trade_off(measured: MeasuredCase) -> list[Markup]:
    parts = []
    for bound, number in zip(BOUNDS, (6, 7), strict=True):
        arms = [one for one in measured.entries if one.bound == bound and one.arm is not None]
        if entries := [one for m in SETS for one in arms if one.sets == m]:
            spent = ", ".join(f"{2 * bound * m:g}" for m in SETS)
            words = f"As Figure {number}: Δ = {bound:g} with 1, 3 and 5 files, ε = {spent}; over repeated samples."
            parts.append(figure(_violins(measured, entries), words))
    return parts


def _coverage(measured: MeasuredCase) -> str:
    records = []
    for entry in (SAMPLE, *at_ten_eight(measured)):
        for statistic in STATISTICS:
            found = measured.scores[entry, statistic]
            for at in (CELLS.index(cell) for cell in BY_FIELD):
                if found.cv[at] < 1:
                    coverage, cv = float(found.coverage[at]), float(found.cv[at])
                    records.append({"method": entry.method, "panel": NAMES[statistic], "coverage": coverage, "cv": cv})
    return coverage_and_cv(records, _SHADES)


def _records(bounds: Sequence[RecordBounds]) -> tuple[str, Markup] | None:
    if not bounds:
        return None
    panels: dict[str, dict[str, Floats]] = {}
    shades = {"unweighted": PALETTE[6]}
    for one in bounds:
        panel = panels.setdefault(one.arm, {"unweighted": one.before})
        label = f"weighted, Δ = {one.target:g}"
        panel[label] = one.after
        shades[label] = PALETTE[2]
    body = [
        (one.arm, f"{one.target:g}", float(one.before.max()), UNWEIGHTED[one.arm], float(one.after.max()))
        for one in bounds
    ]
    head = ("model", "target Δ", "largest, unweighted", "printed", "largest, weighted")
    return violins(panels, shades, "bound of a record"), table(head, body)
