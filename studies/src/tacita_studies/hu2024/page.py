"""The tables and pictures of the hu2024 page; its words are `page.md`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from statistics import NormalDist
from typing import Any

import numpy as np
from markupsafe import Markup

from tacita.pages.charts import PALETTE
from tacita_studies.harness.page import figure, holds, table
from tacita_studies.harness.real import TABLE
from tacita_studies.harness.results import Row, Rows
from tacita_studies.hu2024 import rows
from tacita_studies.hu2024.answers import Floats
from tacita_studies.hu2024.measure import MeasuredCase, RecordBounds
from tacita_studies.hu2024.methods import BOUNDED, DEFAULT, LOCAL, SAMPLE, Entry
from tacita_studies.hu2024.pictures import coverage_and_cv, violins
from tacita_studies.hu2024.population import CASES
from tacita_studies.hu2024.printed import (
    ALL,
    APPLIED,
    BOUNDS,
    BY_FIELD,
    CELLS,
    REPEATED,
    SETS,
    STATISTICS,
    UNWEIGHTED,
    Arm,
    Repeated,
    Statistic,
    words,
)
from tacita_studies.hu2024.rows import BARS, TABLES, agreement, printed_arm

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
    all_rows: Sequence[Row],
    settings: Mapping[str, Any],
    measured: Sequence[MeasuredCase],
    bounds: Sequence[RecordBounds],
) -> dict[str, object]:
    """`measured` has the informative case first."""
    lines, main = Rows(all_rows), measured[0]
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
            case: [(NAMES[one], summary_table(lines, case, one, rows.SUMMARY, _SUMMARIES)) for one in STATISTICS]
            for case in CASES
        },
        "readings": where_they_part(measured),
        "unexplained": unexplained(main),
        "beside": list(beside_tables(main)),
        "records": _records(bounds),
        "applied": applied_table(),
        "real": list(real_tables(lines)),
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
    entries = [one for one in measured.entries if one.epsilon == "10.8" and one.sets != 1 and one.sets != 5]
    return [one for one in entries if one.bound in (None, 1.8)]


def _violins(measured: MeasuredCase, entries: Sequence[Entry], *, first: bool = False) -> Markup:
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


def _coverage(measured: MeasuredCase) -> Markup:
    records = []
    for entry in (SAMPLE, *at_ten_eight(measured)):
        for statistic in STATISTICS:
            score = measured.scores[entry, statistic]
            for at in (CELLS.index(cell) for cell in BY_FIELD):
                if score.cv[at] < 1:
                    coverage, cv = float(score.coverage[at]), float(score.cv[at])
                    records.append({"method": entry.method, "panel": NAMES[statistic], "coverage": coverage, "cv": cv})
    return coverage_and_cv(records, _SHADES)


def _records(bounds: Sequence[RecordBounds]) -> tuple[Markup, Markup] | None:
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


def beside_tables(measured: MeasuredCase) -> Iterator[tuple[str, Markup]]:
    """Coverage and interval length of every cell: printed and ours for FBS and FBP, and ours for the default."""
    arms = [one for one in measured.entries if one.arm is not None and one.bound == 1.8 and one.sets == 3]
    default = [one for one in measured.entries if one.method == DEFAULT and one.epsilon == "10.8"]
    heads = [f"{one.method}, {whose}" for one in arms for whose in ("paper", "ours")]
    head = ["cell", "population", *heads, *(["default"] if default else []), "sample"]
    for statistic in STATISTICS:
        for name, what in (("coverage", "coverage"), ("length", "mean length of intervals")):
            body: list[list[object]] = []
            for at, cell in ((CELLS.index(cell), cell) for cell in BY_FIELD):
                line = REPEATED[statistic][cell]
                ours = {one: float(getattr(measured.scores[one, statistic], name)[at]) for one in measured.entries}
                pairs = [value for one in arms for value in (getattr(line, name)[one.arm], ours[one])]
                body.append([words(cell), line.population, *pairs, *(ours[one] for one in (*default, SAMPLE))])
            kind = "counts" if statistic == "count" else "average salaries"
            yield f"{TABLES[statistic]}, {kind}: {what}.", table(head, body)


def where_they_part(measured: Sequence[MeasuredCase]) -> Markup:
    """How well each reading agrees with the printed tables."""
    body = [
        (entry.method, one.case, statistic, *agreement(one, entry, statistic))
        for one in measured
        if one.case != "nearly non-informative"
        for entry in one.entries
        if printed_arm(entry) is not None and entry.bound == 1.8 and entry.sets == 3
        for statistic in STATISTICS
    ]
    return table(("reading", "samples", "statistic", "cells of 24 within 0.06", "length over printed"), body)


def unexplained(measured: MeasuredCase) -> tuple[float, ...] | None:
    """FBP's average salary of field 1: printed coverage, ours, our distance, and the bias that would explain it."""
    entry = next((one for one in measured.entries if one.arm == "FBP" and one.bound == 1.8 and one.sets == 3), None)
    if entry is None:
        return None
    line, at, score = REPEATED["mean"]["1", ALL], CELLS.index(("1", ALL)), measured.scores[entry, "mean"]
    off = 100 * score.bias[at] / line.population
    return line.coverage["FBP"], float(score.coverage[at]), float(off), 100 * implied_bias(line)


def implied_bias(line: Repeated, arm: Arm = "FBP") -> float:
    """The relative bias at which intervals of the printed length cover as often as printed, if their errors are right.

    >>> round(implied_bias(REPEATED["mean"]["1", ALL]), 3)
    0.043
    """
    normal = NormalDist()

    def covered(shift: float) -> float:
        return normal.cdf(1.96 - shift) - normal.cdf(-1.96 - shift)

    low, high = 0.0, 10.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if covered(middle) > line.coverage[arm] else (low, middle)
    return low * line.length[arm] / (2 * 1.96) / line.population


def applied_table() -> Markup:
    """What the paper printed of the SDR: Tables 2 and 3 as errors relative to the sample's own standard error."""
    body = []
    for statistic in STATISTICS:
        lines = APPLIED[statistic].values()
        for method in ("Laplace", "FBS", "FBP"):
            ratios = [line.relative_rmse(method) / line.relative_rmse("Sample") for line in lines]
            body.append((statistic, method, float(np.median(ratios)), float(np.max(ratios))))
    return table(("statistic", "method, printed", "median", "max"), body)


def real_tables(rows: Rows) -> Iterator[tuple[str, Markup]]:
    here = rows.of(TABLE)
    for name in dict.fromkeys(row.where["name"] for row in here):
        mine = [row for row in here if row.where["name"] == name]
        metrics = list(dict.fromkeys(row.metric for row in mine))
        values = {(row.method, row.where["epsilon"], row.metric): row.ours for row in mine}
        body = [
            (method, epsilon or "–", *(values.get((method, epsilon, metric)) for metric in metrics))
            for method, epsilon in dict.fromkeys((row.method, row.where["epsilon"]) for row in mine)
        ]
        words_before = f"{name}: {mine[0].where['records']:,} records. {mine[0].where['says']}"
        yield words_before, table(("method", "ε", *metrics), body)


def summary_table(rows: Rows, case: str, statistic: str, table_name: str, metrics: Sequence[str]) -> Markup:
    """Every method over the cells of one statistic."""
    here = rows.of(table_name, case=case, statistic=statistic)
    values = {
        (row.method, row.where["epsilon"], row.where["sets"], row.where["bound"], row.metric): row.ours for row in here
    }
    body = [
        (
            Entry(key[0], "none", key[1], key[2], key[3]).words.split(", ε")[0],
            key[1] or "–",
            *(values.get((*key, metric)) for metric in metrics),
        )
        for key in dict.fromkeys(key[:4] for key in values)
    ]
    head = ("method", "ε", "median", "max", "median, paper's", "max, paper's", "cells ≥ 0.90", "mean coverage")
    return table(head, body)
