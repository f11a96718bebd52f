"""The wide tables of the page: Tables 4 and 5, the printed application to the SDR, and real files."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from statistics import NormalDist

import numpy as np

from tacita_studies.harness.page import Markup, table
from tacita_studies.harness.real import TABLE
from tacita_studies.harness.results import Rows
from tacita_studies.hu2024.measure import MeasuredCase
from tacita_studies.hu2024.methods import DEFAULT, SAMPLE, Entry
from tacita_studies.hu2024.printed import ALL, APPLIED, BY_FIELD, CELLS, REPEATED, STATISTICS, Arm, Repeated, words
from tacita_studies.hu2024.rows import TABLES, agreement, printed_arm


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
    line, at, found = REPEATED["mean"]["1", ALL], CELLS.index(("1", ALL)), measured.scores[entry, "mean"]
    off = 100 * found.bias[at] / line.population
    return line.coverage["FBP"], float(found.coverage[at]), float(off), 100 * implied_bias(line)


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
