"""The tables and pictures of the tran2023 page; its words are `page.md`."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import altair as alt
import numpy as np
from markupsafe import Markup

from tacita.pages.charts import PALETTE, inline_svg
from tacita.pages.render import shown
from tacita_studies.harness.page import figure, table
from tacita_studies.harness.pictures import trends
from tacita_studies.harness.real import TABLE
from tacita_studies.harness.results import Row, Rows
from tacita_studies.tran2023 import printed as paper
from tacita_studies.tran2023 import unconditional
from tacita_studies.tran2023.methods import AS_RUN, HONEST, START_ONLY
from tacita_studies.tran2023.printed import GENERAL, INDUSTRIES, K_MARGINAL, SPECIFIC
from tacita_studies.tran2023.scores import HIGHER_IS_BETTER
from tacita_studies.tran2023.section4 import ORIGINAL, SECONDS, Numbers
from tacita_studies.tran2023.section5 import EMPLOYMENT, RAW
from tacita_studies.tran2023.simulation import VARIANTS

_PAPERS_BEST = {  # over its private rows
    paper.PMSE_WITHOUT: 0.0067,
    paper.PMSE_WITH: 0.0084,
    paper.WRT: 4.88,
    K_MARGINAL: 762.32,
    paper.INTERCEPT: 12.20,
    paper.SLOPE: 1.83,
    paper.NRMSE_X2: 0.321,
    paper.NRMSE_X3: 0.201,
}
_MODES = {
    "none": "No privacy",
    "proved": "Private, exact draws",
    "honest": "The paper's layouts, drawn from the laws they name",
    "peer": "Private, by others",
    "paper": "As run by the authors: claims ε = 1, no guarantee",
    "start only": "The same with ε → 0: what the start gives",
}


def page(
    all_rows: Sequence[Row],
    settings: Mapping[str, Any],
    files: Mapping[str, Mapping[str, Numbers]],
    trend_records: Sequence[Mapping[str, Any]],
) -> dict[str, object]:
    """`files` are the synthetic values of the first replicate, by method and variable."""
    rows = Rows(all_rows)
    shades = {RAW: "#000000", **dict(zip(rows.methods("Table 5"), PALETTE, strict=False))}
    gross, rates = ([one for one in trend_records if one["figure"] == name] for name in (EMPLOYMENT, "rates"))
    alone = (unconditional.RANK_ERROR, unconditional.SECONDS)
    return {
        **settings,
        "score": {name: _value(rows, name) for name in (settings["reference"], settings["ours"])},
        "start": _start(rows),
        "target": _target(rows, settings),
        "behind": _behind(rows),
        "general": _comparison(rows, "Table 1", GENERAL),
        "specific": _comparison(rows, "Table 2", SPECIFIC),
        "densities": list(_densities(rows, files)),
        "quantiles": _each_method(rows, unconditional.TABLE, alone),
        "variants": list(_variants(rows)),
        "table_5": _table_5(rows),
        "gross": trends(gross, shades, RAW, columns=2, number=",d"),
        "rates": trends(rates, shades, RAW, columns=2),
        "trend_errors": _trend_errors(rows),
        "real": _real(rows),
        "time": table(("Method", "Seconds"), [(one.method, one.ours) for one in rows.of("Time", metric=SECONDS)]),
    }


def _value(rows: Rows, method: str, table_name: str = "Table 1", metric: str = K_MARGINAL) -> float:
    value = rows.value(method, metric, table=table_name)
    return math.nan if value is None else value


def _start(rows: Rows) -> tuple[str, float | None, float, float] | None:
    """The layout whose start value alone scores most: what is printed, as run, and with ε → 0."""
    starts = {name: _value(rows, name) for name in rows.methods("Table 1", mode="start only")}
    if not starts:
        return None
    most = max(starts, key=lambda name: starts[name])
    layout = most.removesuffix(START_ONLY)
    row = rows.row(layout + AS_RUN, K_MARGINAL, table="Table 1")
    return layout.lower(), None if row is None else row.paper, _value(rows, layout + AS_RUN), starts[most]


def _target(rows: Rows, settings: Mapping[str, Any]) -> Markup:
    ours = [name for name in rows.methods("Table 1", mode="proved") if name in settings["bisection"]]
    body = [
        [
            f"{metric} ({'higher' if metric in HIGHER_IS_BETTER else 'lower'} is better)",
            figures(_PAPERS_BEST[metric]),
            figures(paper.printed("Non-private", metric) or math.nan),
            *(number(rows.row(one, metric, table=name)) for one in (settings["reference"], *ours)),
        ]
        for name, metrics in (("Table 1", GENERAL), ("Table 2", SPECIFIC))
        for metric in metrics
    ]
    return table(("Metric", "Paper, best private row", "Paper, non-private", "Non-private, here", *ours), body)


def _behind(rows: Rows) -> Markup:
    body = []
    for row in rows.of("Table 1", mode="paper", metric=K_MARGINAL):
        layout = row.method.removesuffix(AS_RUN)
        costs = [row.where.get(f"true_epsilon_{relation}") for relation in ("replace_one", "add_remove")]
        scores = [_value(rows, name) for name in (row.method, layout + START_ONLY, layout + HONEST)]
        body.append([layout, 1, *costs, row.paper, *scores])
    true = ("true ε, replace one", "true ε, add or remove one")
    return table(("Layout", "ε claimed", *true, "KM printed", "KM as run", "KM, ε → 0", "KM, honest draw"), body)


def _comparison(rows: Rows, name: str, metrics: Sequence[str]) -> Markup:
    body: list[list[object]] = []
    for mode, words in _MODES.items():
        methods = rows.methods(name, mode=mode)
        if methods:
            body.append([_bold(words), *([""] * (len(metrics) + 1))])
        for method in methods:
            shown = [rows.row(method, metric, table=name) for metric in metrics]
            body.append([method, *map(beside, shown), "–" if shown[0] is None else str(shown[0].replicates)])
    return table(("Method", *metrics, "Files"), body)


def _densities(rows: Rows, files: Mapping[str, Mapping[str, Numbers]]) -> Iterator[Markup]:
    left_out = rows.methods("Table 1", mode="start only")
    for place, name in enumerate(("x1", "x2", "x3"), start=1):
        values = {method: one[name] for method, one in files.items() if method not in left_out}
        yield figure(densities(values, ORIGINAL), f"X{place}: the original in grey, the synthetic file in blue.")


def _each_method(rows: Rows, name: str, metrics: Sequence[str]) -> Markup:
    body = [
        [method, *(number(rows.row(method, metric, table=name)) for metric in metrics)] for method in rows.methods(name)
    ]
    return table(("Method", *metrics), body)


def _variants(rows: Rows) -> Iterator[tuple[str, Markup]]:
    """The best of the private methods in each column is in bold."""
    for variant in VARIANTS:
        name = f"Variant: {variant.name}"
        metrics = rows.metrics(name)
        private = [one for mode in ("proved", "honest") for one in rows.methods(name, mode=mode)]
        if not private:
            continue
        best = {}
        for metric in metrics:
            scores = {one: _value(rows, one, name, metric) for one in private}
            sign = -1 if metric in HIGHER_IS_BETTER else 1
            best[metric] = min(private, key=lambda one: sign * scores[one])
        body: list[list[object]] = []
        for method in rows.methods(name):
            shown = {metric: number(rows.row(method, metric, table=name)) for metric in metrics}
            body.append([method, *(_bold(one) if method == best[metric] else one for metric, one in shown.items())])
        head = [f"{metric} {'↑' if metric in HIGHER_IS_BETTER else '↓'}" for metric in metrics]
        yield f"{variant.name[0].upper()}{variant.name[1:]}: {variant.words}.", table(("Method", *head), body)


def _table_5(rows: Rows) -> Markup:
    metrics = {"pMSE": paper.PMSE_LASSO, "KM": K_MARGINAL}
    columns = [(short, metric, one.sic3) for short, metric in metrics.items() for one in INDUSTRIES]
    body = [
        [name, *(beside(rows.row(name, metric, table="Table 5", sic3=sic3)) for _, metric, sic3 in columns)]
        for name in rows.methods("Table 5")
    ]
    return table(("Method", *(f"{short} {sic3}" for short, _, sic3 in columns)), body)


def _trend_errors(rows: Rows) -> Markup:
    columns: list[tuple[str, str, str | None]] = [
        ("Figure 1", metric, one.sic3) for metric in rows.metrics("Figure 1") for one in INDUSTRIES
    ]
    columns += [("Figure 2", metric, None) for metric in rows.metrics("Figure 2")]
    body = [
        [name, *(number(rows.row(name, metric, table=where, sic3=sic3)) for where, metric, sic3 in columns)]
        for name in rows.methods("Table 5")
    ]
    return table(("Method", *(f"employment {one.sic3}" for one in INDUSTRIES), "job creation", "net creation"), body)


def _real(rows: Rows) -> Markup | None:
    metrics = rows.metrics(TABLE)
    body = [[one, *(resampled(rows.row(one, metric)) for metric in metrics)] for one in rows.methods(TABLE)]
    return table(("File (records)", *metrics), body) if body else None


def number(row: Row | None) -> Markup:
    if row is None or row.ours is None or not math.isfinite(row.ours):
        return Markup("–")
    return Markup("{}{}").format(figures(row.ours), "" if row.se is None else _note(f" ± {_short(row.se)}"))


def beside(row: Row | None) -> Markup:
    """Our number, and the printed one below it."""
    return _above(row, None if row is None or row.paper is None else f"paper {row.paper:g}")


def resampled(row: Row | None) -> Markup:
    return _above(row, None if row is None or row.reference is None else f"resample {figures(row.reference)}")


def _above(row: Row | None, note: str | None) -> Markup:
    return number(row) if note is None else Markup("{}<br>{}").format(number(row), _note(note))


def _note(words: str) -> Markup:
    return Markup('<span class="note">{}</span>').format(words)


def _bold(words: str) -> Markup:
    return Markup("<b>{}</b>").format(words)


def figures(value: float) -> str:
    return (
        "0"
        if value == 0
        else f"{value:.4f}"
        if abs(value) < 0.1
        else f"{value:.3f}"
        if abs(value) < 1
        else shown(value)
    )


def _short(value: float) -> str:
    return f"{value:.1g}" if abs(value) < 10 else shown(value)


_BINS = 64


def densities(files: Mapping[str, Numbers], original: str, columns: int = 4) -> Markup:
    """A small panel per method: the original's density in grey, the synthetic file's as a line.

    Values beyond the axis are not drawn; the axis ends a little above the original's 99.5th percentile.
    """
    own = files[original]
    low, high = float(min(0.0, own.min())), float(np.quantile(own, 0.995)) * 1.15
    grid = np.linspace(low, high, 121)
    grey = _density(own, grid)
    records = [
        {"method": name, "x": x, "synthetic": y, "original": o}
        for name, values in files.items()
        if name != original
        for x, y, o in zip(grid.tolist(), _density(values, grid).tolist(), grey.tolist(), strict=True)
    ]
    base = alt.Chart(alt.Data(values=records)).encode(
        x=alt.X("x:Q", title=None, axis=alt.Axis(grid=False, tickCount=4), scale=alt.Scale(nice=False))
    )
    # A method may put everything in one place; its spike must not flatten the other panels.
    top = 2.0 * float(grey.max())
    scale = alt.Scale(domain=[0, top], clamp=True)
    axis = alt.Axis(labels=False, ticks=False, grid=False)
    area = base.mark_area(color="#c9ced3").encode(y=alt.Y("original:Q", title=None, scale=scale, axis=axis))
    line = base.mark_line(color="#0072B2", strokeWidth=1.5).encode(y=alt.Y("synthetic:Q", scale=scale, axis=axis))
    chart = (
        alt.layer(area, line)
        .properties(width=205, height=88)
        .facet(
            facet=alt.Facet("method:N", title=None, sort=[name for name in files if name != original]), columns=columns
        )
    )
    return inline_svg(chart, header=10)


def _density(values: Numbers, grid: Numbers) -> Numbers:
    """A histogram smoothed by a Gaussian of one bin's width: lumps stay visible, the noise of a sample does not."""
    width = (grid[-1] - grid[0]) / _BINS
    edges = np.linspace(grid[0] - 4 * width, grid[-1] + 4 * width, 4 * (_BINS + 8) + 1)
    share = np.histogram(values, edges)[0] / (len(values) * np.diff(edges))
    centres = (edges[1:] + edges[:-1]) / 2
    kernel = np.exp(-0.5 * ((grid[:, None] - centres[None]) / width) ** 2)
    return np.asarray(kernel @ share / kernel.sum(axis=1))
