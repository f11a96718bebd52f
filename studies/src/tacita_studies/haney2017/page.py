"""The page of the haney2017 study: plain words, the paper's findings beside ours, and the pictures."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tacita.simulated.frame import FULL_JOBS, STRATA
from tacita_studies.haney2017 import arms
from tacita_studies.haney2017.findings import Lookup, claims
from tacita_studies.haney2017.rows import CORRELATION, RATIO, SUPPRESSED
from tacita_studies.haney2017.tables import ALL_PLACES
from tacita_studies.harness.pictures import PALETTE, Curves
from tacita_studies.harness.results import Row, figure, holds, paragraph, shown, table, write_page

_METHODS = ("SmoothStaircase", "SmoothStudent", "SmoothGamma", "LogLaplace", "SmoothLaplace", "SmoothVector")
_COLOURS = dict(zip(_METHODS, PALETTE, strict=False))
_EPSILON_AXIS = tuple(float(e) for e in arms.EPSILONS)
_TITLES = {
    "Workload 1": "Workload 1: jobs by place, sector and ownership (strong definition)",
    "Workload 2": "Workload 2: one sex × education group at a time (weak definition)",
    "Workload 3": "Workload 3: place, sector, ownership, sex and education (weak definition, ε divided by 8)",
    "Workload 3, strong": "Workload 3 under the strong definition (one vector, ε not divided)",
    "Ranking 1": "Ranking 1: cells in order of jobs",
    "Ranking 2": "Ranking 2: cells in order of women with a college degree",
}


def write_report(folder: Path, rows: Sequence[Row], settings: Mapping[str, Any]) -> Path:
    """report.html in `folder`."""
    at = Lookup(rows)
    return write_page(
        folder,
        "What provable privacy costs: employer-employee tables (haney2017)",
        _opening(at, settings),
        [
            ("The paper's findings beside ours", _findings(rows)),
            ("The simulated file", _frame(rows)),
            ("The main numbers", _numbers(at, rows)),
            ("Counting: error against noise infusion", _counting(rows)),
            ("Ranking", _ranking(rows)),
            ("Privacy for whole establishments, and for workers only", _truncated(rows)),
            ("How to read this page", _method(settings)),
        ],
    )


def _opening(at: Lookup, settings: Mapping[str, Any]) -> str:
    (two_name, two), (one_name, one) = (at.best_pure("Workload 1", "0.1", e) for e in ("2", "1"))
    printed = at("Workload 1", "SmoothGamma", "0.1", "2", printed=True)
    size = "the size of the paper's" if settings["jobs"] >= FULL_JOBS else "smaller than the paper's"
    return (
        f"On a simulated file of {settings['jobs']:,} jobs in {settings['establishments']:,} establishments ({size}), "
        "tables of jobs by place, sector and ownership were protected by mechanisms with "
        "a proved guarantee and compared with noise infusion, the practice they would replace, which has none. At "
        f"ε = 2 and α = 0.1 the best mechanism with δ = 0 ({two_name}) has {shown(two)} times the error of noise "
        f"infusion, and {shown(one)} times at ε = 1 ({one_name}); the paper's Smooth Gamma, as printed, has "
        f"{shown(printed)} times at ε = 2. A number below 1 means less total error than that practice."
    )


def _findings(rows: Sequence[Row]) -> list[str]:
    body = [(c.finding, c.paper, c.measured, holds(c.verdict), c.proved) for c in claims(rows)]
    head = ("", "The paper says", "Measured here, as printed", "Verdict", "With a proved calibration")
    note = (
        "Ratios are total absolute error divided by that of noise infusion: below 1 is better than noise infusion. "
        "The verdict is about the algorithms as printed, on a simulated file; the last column is what Tacita offers."
    )
    return [paragraph(note, "note"), table(head, body)]


def _frame(rows: Sequence[Row]) -> list[str]:
    body = [(row.metric, row.paper_says or "–", row.ours) for row in rows if row.table == "Frame"]
    return [table(("Fact", "The paper's file", "This file"), body)]


def _numbers(at: Lookup, rows: Sequence[Row]) -> list[str]:
    labels = list(
        dict.fromkeys(
            row.method
            for row in rows
            if (row.table, row.metric, row.where.get("alpha")) == ("Workload 1", RATIO, "0.1")
        )
    )
    body: list[list[object]] = []
    for label in labels:
        numbers: list[object] = [_number(at, "Workload 1", label, e) for e in arms.EPSILONS]
        body.append([label, *numbers])
    held = [row for row in rows if row.metric == SUPPRESSED]
    lost = "; ".join(f"{row.table}: {row.ours:.0%}" for row in held if row.ours is not None)
    arm = next(
        (
            r.ours
            for r in rows
            if (r.table, r.method, r.metric, r.where.get("stratum"))
            == ("Workload 1", "SuppressAndRound", RATIO, ALL_PLACES)
        ),
        None,
    )
    return [
        paragraph("Workload 1, α = 0.1, all places: error as a multiple of noise infusion's.", "note"),
        table(("Method", *(f"ε = {e}" for e in arms.EPSILONS)), body),
        paragraph(
            "Without noise, the p% rule and rounding to base 5 would have an error of "
            f"{shown(arm if arm is not None else math.nan)} on the same scale, once a user has filled the suppressed "
            f"cells from the margins. Cells suppressed: {lost}. That arm has no guarantee either."
        ),
    ]


def _number(at: Lookup, name: str, label: str, epsilon: str) -> float:
    printed = label.endswith(" (as printed)")
    return at(name, label.removesuffix(" (as printed)"), "0.1", epsilon, printed=printed)


def _records(rows: Sequence[Row], name: str, metric: str, panel: str, **fixed: str) -> list[dict[str, Any]]:
    """Rows as picture records; `panel` is the setting each small picture stands for."""
    found = []
    for row in rows:
        method = row.method.removesuffix(" (as printed)")
        if (row.table, row.metric) != (name, metric) or method not in _COLOURS or row.ours is None:
            continue
        if any(row.where.get(key) != value for key, value in fixed.items()) or not math.isfinite(row.ours):
            continue
        shown_panel = f"α = {row.where['alpha']}" if panel == "alpha" else row.where["stratum"]
        found.append(
            {
                "epsilon": float(row.where["epsilon"]),
                "value": row.ours,
                "method": method,
                "calibration": row.where["calibration"],
                "panel": shown_panel,
            }
        )
    return found


def _curves(panels: Sequence[str], y_title: str, *, log_y: bool) -> Curves:
    return Curves(
        x="epsilon",
        y="value",
        colour="method",
        panel="panel",
        x_title="ε",
        y_title=y_title,
        colours=_COLOURS,
        panels=panels,
        dashed="calibration",
        log_y=log_y,
        reference=1.0,
        x_values=_EPSILON_AXIS,
    )


def _counting(rows: Sequence[Row]) -> list[str]:
    by_alpha = _curves([f"α = {a}" for a in arms.ALPHAS], "error / error of noise infusion", log_y=True)
    by_place = _curves((ALL_PLACES, *STRATA), "error / error of noise infusion", log_y=True)
    parts = []
    for name in ("Workload 1", "Workload 2", "Workload 3", "Workload 3, strong"):
        records = _records(rows, name, RATIO, "alpha", stratum=ALL_PLACES)
        if records:
            parts.append(
                figure(by_alpha.svg(records), f"{_TITLES[name]}, all places. Dashed: as printed in the paper.")
            )
        records = _records(rows, name, RATIO, "stratum", alpha="0.1")
        if records:
            parts.append(figure(by_place.svg(records), f"{_TITLES[name]}, α = 0.1, by population of the place."))
    return parts


def _ranking(rows: Sequence[Row]) -> list[str]:
    curves = _curves((ALL_PLACES, *STRATA), "rank correlation", log_y=False)
    parts = []
    for name in ("Ranking 1", "Ranking 2"):
        records = _records(rows, name, CORRELATION, "stratum", alpha="0.1")
        if records:
            caption = f"{_TITLES[name]}, α = 0.1: Spearman correlation with the noise-infused order, by population."
            parts.append(figure(curves.svg(records), caption))
    return parts


def _truncated(rows: Sequence[Row]) -> list[str]:
    labels = [*(arm.label for arm in arms.truncated_arms(arms.THETAS)), arms.EDGE_ARM.label]
    parts = [
        paragraph(
            "Truncated Laplace hides whole establishments by leaving out those above θ workers. Edge Laplace hides one "
            "worker and says nothing about establishments, so its small error buys a different promise."
        )
    ]
    for name, metric, what in (
        ("Workload 1", RATIO, "Error as a multiple of noise infusion's"),
        ("Ranking 1", CORRELATION, "Rank correlation with the noise-infused order"),
    ):
        value = {
            (row.method, row.where.get("epsilon")): row.ours
            for row in rows
            if row.table == name and row.metric == metric and row.where.get("stratum") == ALL_PLACES
        }
        body = [(label, *(value.get((label, e)) for e in arms.EPSILONS)) for label in labels]
        parts += [
            paragraph(f"{name}, all places. {what}.", "note"),
            table(("Method", *(f"ε = {e}" for e in arms.EPSILONS)), body),
        ]
    return parts


def _method(settings: Mapping[str, Any]) -> list[str]:
    return [
        paragraph(
            f"Each mechanism was drawn {settings['trials']} times, noise infusion {settings['infusion_draws']} times, "
            "with factors uniform on [0.85, 0.95] ∪ [1.05, 1.15] and true counts of 1 and 2 replaced. Errors of all "
            "cells are added up; the ratio of the two averages is reported, with its standard error in results.json. "
            "Log-Laplace is left out where its expectation does not exist, as in the paper."
        ),
        paragraph(
            "The paper's file is confidential; this one is simulated to the facts that the paper prints, so numbers "
            "can agree with the paper's in size and order, not digit by digit. Most of its results are pictures, "
            "so only what its text says in numbers is quoted."
        ),
        paragraph(
            "Tables hold the cells in which at least one establishment is registered, since which cells those are is "
            "public. Over the full cross of codes every ratio would be higher, most of all in small places: noise "
            "infusion publishes an empty cell as zero, and a mechanism with a guarantee adds noise to it."
        ),
        paragraph(
            "Log-Laplace draws noise in proportion to the whole cell. The errors of noise infusion partly cancel over "
            "the establishments of a cell, and smooth mechanisms look at its largest establishment only, so "
            "Log-Laplace compares worse where places are large."
        ),
        paragraph(
            "“As printed” means the noise scales of algorithms 1 to 3; each row of results.json says which guarantee "
            "those scales really have. Smooth Laplace as printed is shown where δ = 0.05 allows it, as in the paper; "
            f"the proved one has δ = {arms.PROVED_DELTA}."
        ),
    ]
