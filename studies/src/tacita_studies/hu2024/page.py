"""The page of the hu2024 study: plain words first, then bars, errors, coverage, and the paper's tables beside ours."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tacita_studies.harness.pictures import PALETTE
from tacita_studies.harness.results import Row, figure, holds, paragraph, shown, table, write_page
from tacita_studies.hu2024.answers import Floats
from tacita_studies.hu2024.bars import BARS
from tacita_studies.hu2024.bounds import RecordBounds
from tacita_studies.hu2024.measure import Measured
from tacita_studies.hu2024.methods import BOUNDED, DEFAULT, LOCAL, SAMPLE, Entry
from tacita_studies.hu2024.page_tables import applied_table, beside_tables, real_tables, where_they_part
from tacita_studies.hu2024.pictures import coverage_and_cv, violins
from tacita_studies.hu2024.printed import BOUNDS, BY_FIELD, CELLS, SETS, STATISTICS, UNWEIGHTED, Statistic
from tacita_studies.hu2024.rows import (
    COVERED,
    FIRST_MAXIMUM,
    FIRST_MEDIAN,
    MAXIMUM,
    MEAN_COVERAGE,
    MEDIAN,
    SECONDS,
    SUMMARY,
)

TITLE = "Survey tables from synthetic microdata (hu2024)"
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
_FIELDS = [CELLS.index(cell) for cell in BY_FIELD]


def write_report(
    folder: Path,
    rows: Sequence[Row],
    settings: Mapping[str, Any],
    measured: Sequence[Measured],
    bounds: Sequence[RecordBounds],
) -> Path:
    """report.html in `folder`; `measured` has the informative case first."""
    main = measured[0]
    sections = [
        ("What the study is held to", _bars(rows)),
        ("How far off are the tables?", _errors(main)),
        ("More files, looser bounds", _trade_off(main)),
        ("Do intervals cover? Coverage against CV", _coverage(main)),
        ("Every method over the cells", list(_summary(rows, "informative"))),
        ("The paper's Tables 4 and 5 beside ours", [*where_they_part(measured), *beside_tables(main)]),
        ("Bounds of single records, before and after", _records(bounds)),
    ]
    sections.append(("Nearly non-informative samples", _other(rows)))
    if any(row.table == "Real data" for row in rows):
        sections.append(("Real files", list(real_tables(rows))))
    sections += [
        ("The population, and how samples were drawn", _population(rows)),
        ("How to read this page", _reading(rows, settings)),
    ]
    return write_page(folder, TITLE, _opening(rows, settings), sections)


def _find(rows: Sequence[Row], method: str, metric: str, statistic: Statistic, **where: object) -> float | None:
    wanted = {"case": "informative", "statistic": statistic, **where}
    for row in rows:
        here = row.table == SUMMARY and (row.method, row.metric) == (method, metric)
        if here and all(row.where.get(key) == value for key, value in wanted.items()):
            return row.ours
    return None


def _opening(rows: Sequence[Row], settings: Mapping[str, Any]) -> str:
    said = [
        f"A survey of 1,000 persons out of 100,000 was drawn {settings['replicates']} times, people with higher "
        "salaries more often, as in the paper. Each time every method made its tables of counts and average salaries "
        "by field and gender, with intervals, so that they can be held against the population they speak of."
    ]
    for epsilon in ("10.8", "3.6"):
        found = [_find(rows, DEFAULT, MEDIAN, one, epsilon=epsilon) for one in STATISTICS]
        covered = [_find(rows, DEFAULT, COVERED, one, epsilon=epsilon) for one in STATISTICS]
        if None not in found:
            count, mean = (shown(one or 0.0) for one in found)
            near, also = (f"{one or 0:.0f}" for one in covered)
            said.append(
                f"With a guarantee of ε = {epsilon} that holds at every sample size, the default synthesis has "
                f"{count} (counts) and {mean} (average salaries) times the error that the confidential sample itself "
                f"has, at the median cell. Its 95% intervals cover at least 90% of the time in {near} and {also} of 24 "
                "cells."
            )
    laplace = [_find(rows, LOCAL, MEDIAN, one, epsilon="10.8") for one in STATISTICS]
    if None not in laplace:
        said.append(
            f"Laplace noise on each published number, as in the paper and without a guarantee, has "
            f"{shown(laplace[0] or 0.0)} and {shown(laplace[1] or 0.0)} times that error."
        )
    worst = max(
        (
            (row.ours or 0.0, str(row.where["name"]))
            for row in rows
            if (row.table, row.method, row.metric) == ("Real data", DEFAULT, "means: relative difference, median")
            and row.where["epsilon"] == "10.8"
        ),
        default=None,
    )
    if worst is not None:
        said.append(
            "The simulated salaries follow the law that the synthesizers assume. Real files need not: at worst, on "
            f"{worst[1]}, means of the default at ε = 10.8 differ from the file's by {100 * worst[0]:.0f}% at the "
            "median cell."
        )
    return " ".join(said)


def _bars(rows: Sequence[Row]) -> list[str]:
    body = []
    for bar in BARS:
        value = bar.value(rows)
        files = "" if bar.sets is None else f", m = {bar.sets}"
        verdict = holds(None if value is None else bar.met(value))
        what = f"{NAMES[bar.statistic]}: {bar.metric}"
        other = bar.value(rows, "with replacement")
        body.append((f"{bar.method}, ε = {bar.epsilon}{files}", what, bar.limit, value, verdict, other))
    note = (
        "Informative samples. RMSE is over repeated samples against the population's values, in units of the "
        "confidential sample's own. The paper's ε = 2Δm is for one person added or removed, and only asymptotic; that "
        "of the default holds always, for one person's answers replaced. Drawing and readings were chosen by agreement "
        "with Tables 4 and 5, on which the last eight lines are judged: see there. The paper says with replacement."
    )
    return [paragraph(note), table(("method", "measure", "limit", "ours", "", "drawn with replacement"), body)]


def _labelled(measured: Measured, entries: Sequence[Entry], *, first: bool) -> dict[str, dict[str, Floats]]:
    found: dict[str, dict[str, Floats]] = {}
    for statistic in STATISTICS:
        panel = found.setdefault(NAMES[statistic], {})
        for entry in entries:
            ratios = measured.ratios(entry, statistic, first=first)
            # FBS and FBP bring their weights to the known number of persons: that cell has no error at all.
            panel[_label(entry)] = ratios[ratios > _LEAST_DRAWN]
    return found


def _label(entry: Entry) -> str:
    if entry.bound is not None:
        return f"{entry.method}, m = {entry.sets}"
    return entry.method if entry.epsilon in (None, "10.8") else f"{entry.method}, ε = {entry.epsilon}"


def at_ten_eight(measured: Measured) -> list[Entry]:
    """What the paper compares at ε = 10.8: one entry for each method."""
    found = [one for one in measured.entries if one.epsilon == "10.8" and one.sets != 1 and one.sets != 5]
    return [one for one in found if one.bound in (None, 1.8)]


def _violins(measured: Measured, entries: Sequence[Entry], *, first: bool = False) -> str:
    colours = {_label(entry): _SHADES[entry.method] for entry in entries}
    panels = _labelled(measured, entries, first=first)
    return violins(panels, colours, "RMSE over the sample's", reference=1.0, log=True)


def _errors(measured: Measured) -> list[str]:
    entries = at_ten_eight(measured)
    if not entries:
        return []
    over = (
        "As the paper's Figure 5, at ε = 10.8, but over repeated samples: root mean squared distance from the "
        "population's value, over that of the confidential sample; 27 cells, log scale. Below the dashed line a method "
        "is nearer to the truth than the confidential sample is. The known number of all persons is not drawn."
    )
    once = (
        "The same by the paper's definition: one sample, squared distance from the population plus the method's own "
        "variance estimate. It rewards a method that overstates its precision."
    )
    return [figure(_violins(measured, entries), over), figure(_violins(measured, entries, first=True), once)]


def _trade_off(measured: Measured) -> list[str]:
    parts = []
    for bound, number in zip(BOUNDS, (6, 7), strict=True):
        arms = [one for one in measured.entries if one.bound == bound and one.arm is not None]
        entries = [one for m in SETS for one in arms if one.sets == m]
        if entries:
            spent = ", ".join(f"{2 * bound * m:g}" for m in SETS)
            words = f"As Figure {number}: Δ = {bound:g} with 1, 3 and 5 files, ε = {spent}; over repeated samples."
            parts.append(figure(_violins(measured, entries), words))
    return parts


def _coverage(measured: Measured) -> list[str]:
    entries = [SAMPLE, *at_ten_eight(measured)]
    records = []
    for entry in entries:
        for statistic in STATISTICS:
            found = measured.scores[entry, statistic]
            for at in _FIELDS:
                if found.cv[at] < 1:
                    coverage, cv = float(found.coverage[at]), float(found.cv[at])
                    records.append({"method": entry.method, "panel": NAMES[statistic], "coverage": coverage, "cv": cv})
    words = (
        f"As Figure 10: each dot is one of 24 cells, over {measured.replicates} samples, m = 3 and Δ = 1.8 for FBS and "
        "FBP. To the right of the dashed line intervals cover more often than the 95% they promise; the lower, the "
        "more precise a method says it is. Cells with a CV above 1 are not drawn."
    )
    return [figure(coverage_and_cv(records, _SHADES), words)]


def _summary(rows: Sequence[Row], case: str) -> Iterator[str]:
    metrics = (MEDIAN, MAXIMUM, FIRST_MEDIAN, FIRST_MAXIMUM, COVERED, MEAN_COVERAGE)
    head = ("method", "ε", "median", "max", "median, paper's", "max, paper's", "cells ≥ 0.90", "mean coverage")
    here = [row for row in rows if row.table == SUMMARY and row.where["case"] == case]
    for statistic in STATISTICS:
        values = {
            (row.method, row.where["epsilon"], row.where["sets"], row.where["bound"], row.metric): row.ours
            for row in here
            if row.where["statistic"] == statistic
        }
        keys = dict.fromkeys(key[:4] for key in values)
        body = [
            (
                Entry(key[0], "none", key[1], key[2], key[3]).words.split(", ε")[0],
                key[1] or "–",
                *(values.get((*key, metric)) for metric in metrics),
            )
            for key in keys
        ]
        yield paragraph(f"{NAMES[statistic]}:")
        yield table(head, body)


def _records(bounds: Sequence[RecordBounds]) -> list[str]:
    if not bounds:
        return []
    panels: dict[str, dict[str, Floats]] = {}
    shades: dict[str, str] = {}
    for one in bounds:
        panel = panels.setdefault(one.arm, {})
        panel.setdefault("unweighted", one.before)
        label = f"weighted, Δ = {one.target:g}"
        panel[label] = one.after
        shades |= {"unweighted": PALETTE[6], label: PALETTE[2]}
    body = [
        (one.arm, f"{one.target:g}", float(one.before.max()), UNWEIGHTED[one.arm], float(one.after.max()))
        for one in bounds
    ]
    words = (
        "As Figure 3, for the first sample: the largest absolute log-likelihood of each record over draws of the "
        "parameters, before records are weighted and after. The largest after weighting is Δ. On confidential data "
        "this picture stays inside."
    )
    head = ("model", "target Δ", "largest, unweighted", "printed", "largest, weighted")
    return [figure(violins(panels, shades, "bound of a record"), words), table(head, body)]


def _other(rows: Sequence[Row]) -> list[str]:
    words = (
        "The same persons, drawn with chances that hardly depend on salary: salary and weight correlate at 0.09, as in "
        "the Survey of Doctorate Recipients. Weights then carry almost nothing about salaries, and smoothing them "
        "gains little. FBP's counts look better than they are: without informative weights its reading gives every "
        "person the same weight, and the sample was divided among fields in exact proportion to their size."
    )
    return [paragraph(words), *_summary(rows, "nearly non-informative"), *applied_table()]


def _population(rows: Sequence[Row]) -> list[str]:
    here = [row for row in rows if row.table == "Section 4.1"]
    off = [
        abs(row.ours - row.paper) / row.paper
        for row in rows
        if row.method == "Population" and row.table != "Section 4.1" and row.ours is not None and row.paper
    ]
    words = (
        f"100,000 persons with the counts of Table 4 and the mean salaries of Table 5: the largest relative difference "
        f"over 48 printed values is {max(off):.1g}, from rounding. 1,000 are drawn, within fields and with chances in "
        "proportion to size. The paper does not print how many in each field: here in proportion to the persons in it, "
        "which fits the printed interval lengths."
    )
    drawn = (
        "The paper says that persons were drawn with replacement. Then the number of men in a field's sample would "
        "vary by chance; yet in Table 4 FBS covers counts of men and women in 0.95 to 1.00 of the samples and counts "
        "of fields in 0.79 to 0.92, as if it hardly did. So samples are drawn systematically here, in the order of "
        "field and gender. That is an inference against the paper's words, and the tables do not settle it: in the "
        "section on Tables 4 and 5 both ways of drawing stand beside each other, and FBS and FBP need not favour the "
        "same one. The summary below is about drawing with replacement."
    )
    body = [(row.where["case"], row.method, row.paper, row.ours) for row in here]
    head = ("samples", "correlation of salary and weight", "paper", "ours")
    return [paragraph(words), table(head, body), paragraph(drawn), *_summary(rows, "with replacement")]


def _reading(rows: Sequence[Row], settings: Mapping[str, Any]) -> list[str]:
    times = [row for row in rows if row.table == "Time" and row.where["case"] == "informative"]
    body = [(row.where["file"], row.ours) for row in times]
    lines = dict.fromkeys((row.method, row.guarantee) for row in rows if row.table == SUMMARY)
    said = [(method, guarantee) for method, guarantee in lines if np.size(guarantee)]
    return [
        paragraph(
            f"{settings['replicates']} samples; a coverage of 0.95 over that many is uncertain by "
            f"±{2 * (0.95 * 0.05 / settings['replicates']) ** 0.5:.2f}. Asymptotic means: the bound Δ was measured on "
            "the sample at hand over finitely many draws. It says what would hold for all samples if this one were "
            "large enough to be like all others; for a sample of 1,000 nobody has proved it."
        ),
        table(("method", "guarantee"), said),
        table(("method", SECONDS), body),
        paragraph(f"Settings: seed {settings['seed']}, {settings['workers']} workers.", "note"),
    ]
