"""The tables and pictures of the haney2017 page; its words are `page.md`."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from markupsafe import Markup

from tacita.pages.charts import PALETTE
from tacita.simulated.frame import FULL_JOBS, STRATA
from tacita_studies.haney2017 import arms
from tacita_studies.haney2017.findings import Lookup, claims
from tacita_studies.haney2017.rows import CORRELATION, RATIO, SUPPRESSED
from tacita_studies.haney2017.tables import ALL_PLACES
from tacita_studies.harness.page import figure, holds, table
from tacita_studies.harness.pictures import Curves
from tacita_studies.harness.results import Row

_METHODS = ("SmoothStaircase", "SmoothStudent", "SmoothGamma", "LogLaplace", "SmoothLaplace", "SmoothVector")
_COLOURS = dict(zip(_METHODS, PALETTE, strict=False))
_PRINTED = " (as printed)"
_TITLES = {
    "Workload 1": "Workload 1: jobs by place, sector and ownership (strong definition)",
    "Workload 2": "Workload 2: one sex × education group at a time (weak definition)",
    "Workload 3": "Workload 3: place, sector, ownership, sex and education (weak definition, ε divided by 8)",
    "Workload 3, strong": "Workload 3 under the strong definition (one vector, ε not divided)",
    "Ranking 1": "Ranking 1: cells in order of jobs",
    "Ranking 2": "Ranking 2: cells in order of women with a college degree",
}


def page(rows: Sequence[Row], settings: Mapping[str, Any]) -> dict[str, object]:
    at = Lookup(rows)
    head = ("", "The paper says", "Measured here, as printed", "Verdict", "With a proved calibration")
    facts = [(row.metric, row.paper_says or "–", row.ours) for row in at.of("Frame")]
    held = [row for row in rows if row.metric == SUPPRESSED and row.ours is not None]
    return {
        **settings,
        "paper_size": settings["jobs"] >= FULL_JOBS,
        "best": {epsilon: at.best_pure("Workload 1", "0.1", epsilon) for epsilon in ("1", "2")},
        "printed": at("Workload 1", "SmoothGamma", "0.1", "2", printed=True),
        "findings": table(head, [(c.finding, c.paper, c.measured, holds(c.verdict), c.proved) for c in claims(rows)]),
        "frame": table(("Fact", "The paper's file", "This file"), facts),
        "numbers": _numbers(at),
        "suppressing": at.value("SuppressAndRound", RATIO, table="Workload 1", stratum=ALL_PLACES),
        "lost": "; ".join(f"{row.table}: {row.ours:.0%}" for row in held),
        "counting": list(_counting(at)),
        "ranking": list(_ranking(at)),
        "truncated": [
            (name, what, _truncated(at, name, metric))
            for name, metric, what in (
                ("Workload 1", RATIO, "Error as a multiple of noise infusion's"),
                ("Ranking 1", CORRELATION, "Rank correlation with the noise-infused order"),
            )
        ],
        "proved_delta": arms.PROVED_DELTA,
    }


def _by_epsilon(labels: Sequence[str], value: Any) -> Markup:
    body = [(label, *(value(label, epsilon) for epsilon in arms.EPSILONS)) for label in labels]
    return table(("Method", *(f"ε = {e}" for e in arms.EPSILONS)), body)


def _numbers(at: Lookup) -> Markup:
    def value(label: str, epsilon: str) -> float:
        return at("Workload 1", label.removesuffix(_PRINTED), "0.1", epsilon, printed=label.endswith(_PRINTED))

    return _by_epsilon(at.methods("Workload 1", metric=RATIO, alpha="0.1"), value)


def _truncated(at: Lookup, name: str, metric: str) -> Markup:
    def value(label: str, epsilon: str) -> float | None:
        return at.value(label, metric, table=name, stratum=ALL_PLACES, epsilon=epsilon)

    return _by_epsilon([*(arm.label for arm in arms.truncated_arms(arms.THETAS)), arms.EDGE_ARM.label], value)


def _records(at: Lookup, name: str, metric: str, panel: str, **fixed: str) -> list[dict[str, Any]]:
    """Rows as picture records; `panel` is the setting each small picture stands for."""
    records = []
    for row in at.of(name, metric=metric, **fixed):
        method = row.method.removesuffix(_PRINTED)
        if method in _COLOURS and row.ours is not None and math.isfinite(row.ours):
            point = {"epsilon": float(row.where["epsilon"]), "value": row.ours, "method": method}
            where = f"α = {row.where['alpha']}" if panel == "alpha" else row.where["stratum"]
            records.append({**point, "calibration": row.where["calibration"], "panel": where})
    return records


def _curves(panels: Sequence[str], y_title: str, *, log_y: bool = True) -> Curves:
    axis = tuple(float(e) for e in arms.EPSILONS)
    return Curves("value", y_title, _COLOURS, panels, "calibration", log_y, reference=1.0, x_values=axis)


def _counting(at: Lookup) -> Iterator[Markup]:
    by_alpha = _curves([f"α = {a}" for a in arms.ALPHAS], "error / error of noise infusion")
    by_place = _curves((ALL_PLACES, *STRATA), "error / error of noise infusion")
    for name in ("Workload 1", "Workload 2", "Workload 3", "Workload 3, strong"):
        if records := _records(at, name, RATIO, "alpha", stratum=ALL_PLACES):
            yield figure(by_alpha.svg(records), f"{_TITLES[name]}, all places. Dashed: as printed in the paper.")
        if records := _records(at, name, RATIO, "stratum", alpha="0.1"):
            yield figure(by_place.svg(records), f"{_TITLES[name]}, α = 0.1, by population of the place.")


def _ranking(at: Lookup) -> Iterator[Markup]:
    curves = _curves((ALL_PLACES, *STRATA), "rank correlation", log_y=False)
    for name in ("Ranking 1", "Ranking 2"):
        if records := _records(at, name, CORRELATION, "stratum", alpha="0.1"):
            caption = f"{_TITLES[name]}, α = 0.1: Spearman correlation with the noise-infused order, by population."
            yield figure(curves.svg(records), caption)
