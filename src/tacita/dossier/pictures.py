"""The dossier's pictures as inline SVG, drawn from confidential figures."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt
import numpy as np
import pandas as pd
from markupsafe import Markup
from numpy.typing import NDArray

from tacita.evaluation import Comparison, Encoded
from tacita.pages.charts import ACCENT, INK, PALE, WARM, colour, inline_svg

Floats = NDArray[np.float64]

_BINS = 24
_MOST_LEVELS = 12
MOST_COLUMNS = 45  # of a heat map; more would be grey dust


def distribution(comparison: Comparison, name: str) -> Markup:
    """One variable: shares of its levels or bins in the original (bars) and in the synthetic files (line of dots)."""
    column = comparison.original.column(name)
    files = [comparison.original, *comparison.synthetic]
    if column.kind == "categorical":
        labels, shares = _levels(files, name, column.levels)
    else:
        labels, shares = _bins(files, name)
    rows = pd.DataFrame(
        {
            "place": range(len(labels)),
            "label": labels,
            "original": shares[0],
            "synthetic": shares[1:].mean(axis=0),
            "low": shares[1:].min(axis=0),
            "high": shares[1:].max(axis=0),
        }
    )
    few = len(labels) <= _MOST_LEVELS + 1
    last = len(labels) - 1
    ends = list(range(len(labels))) if few else [1, last // 2, last - 1]
    spoken = json.dumps([_cut(label) for label in labels]) + "[datum.value]"
    angle = -45 if few and len(labels) > 4 else 0
    axis = alt.Axis(values=ends, labelExpr=spoken, title=None, labelAngle=angle, ticks=False, labelFontSize=11)
    base = alt.Chart(rows).encode(x=alt.X("place:O", axis=axis))
    bars = base.mark_bar(color=PALE).encode(
        y=alt.Y("original:Q", title=None, axis=alt.Axis(format="%", tickCount=3, grid=True))
    )
    range_rule = base.mark_rule(color=WARM).encode(y="low:Q", y2="high:Q")
    dots = base.mark_circle(color=WARM, size=22, opacity=1).encode(y="synthetic:Q")
    return inline_svg((bars + range_rule + dots).properties(width=250, height=96))


def _levels(files: Sequence[Encoded], name: str, levels: Sequence[str]) -> tuple[list[str], Floats]:
    counts = np.stack([np.bincount(file.codes[name], minlength=len(levels)) / file.rows for file in files])
    if len(levels) <= _MOST_LEVELS:
        return list(levels), counts
    # The most common levels in the original, and the rest together, so that a picture stays readable.
    order = np.argsort(-counts[0], kind="stable")
    shown, rest = np.sort(order[:_MOST_LEVELS]), order[_MOST_LEVELS:]
    return [*(levels[at] for at in shown), "other"], np.column_stack([counts[:, shown], counts[:, rest].sum(axis=1)])


def _bins(files: Sequence[Encoded], name: str) -> tuple[list[str], Floats]:
    """Equal bins between the 1st and 99th percentile of the original, open at both ends, and one for missing cells."""
    known = files[0].numbers[name]
    known = known[~np.isnan(known)]
    if not known.size:
        shares = np.array(
            [[np.isnan(file.numbers[name]).mean(), (~np.isnan(file.numbers[name])).mean()] for file in files]
        )
        return ["missing", "known"], shares
    low, high = np.quantile(known, [0.01, 0.99])
    distinct = np.unique(known[:100_000])
    edges = (
        (distinct[1:] + distinct[:-1]) / 2
        if 1 < len(distinct) <= _BINS
        else np.linspace(low, high, _BINS - 1)
        if high > low
        else np.array([low])
    )
    counted = []
    for file in files:
        values = file.numbers[name]
        gone = np.isnan(values)
        counts = np.bincount(np.searchsorted(edges, values[~gone], side="right"), minlength=len(edges) + 1)
        counted.append(np.append(counts, gone.sum()) / file.rows)
    found = np.array(counted)
    if 1 < len(distinct) <= _BINS:
        labels = [f"{value:,.6g}" for value in distinct]
    else:
        labels = [f"< {_short(edges[0])}", *(_short(edge) for edge in edges)]
    if found[:, -1].any():
        return [*labels, "missing"], found
    return labels, found[:, :-1]


def _short(number: float) -> str:
    size = abs(number)
    if size >= 1e6:
        return f"{number / 1e6:.3g} M"
    return f"{number / 1e3:.3g} k" if size >= 1e4 else f"{number:,.4g}"


def _cut(label: str) -> str:
    return label if len(label) <= 14 else label[:13] + "…"


def variation_bars(variations: Sequence[tuple[str, float]], most: int = 20) -> Markup:
    """Total variation of each variable, the worst first."""
    rows = pd.DataFrame(variations[:most], columns=["variable", "variation"])
    axis = alt.Axis(title=None, labelLimit=220, ticks=False, domain=False, labelPadding=8)
    chart = (
        alt.Chart(rows)
        .mark_bar(color=ACCENT, size=11)
        .encode(
            y=alt.Y("variable:N", sort=None, axis=axis),
            x=alt.X("variation:Q", title="share of records to move (total variation)", axis=alt.Axis(format="%")),
        )
        .properties(width=440, height=alt.Step(18))
    )
    return inline_svg(chart)


def heat_map(pairs: Mapping[tuple[str, str], float], names: Sequence[str]) -> Markup:
    """Total variation of every two-way marginal; columns in the order given, worst first."""
    shown = list(names)[:MOST_COLUMNS]
    place = {name: at for at, name in enumerate(shown)}
    rows = [
        {"a": first, "b": second, "variation": value}
        for (one, two), value in pairs.items()
        if one in place and two in place
        for first, second in ((one, two), (two, one))
    ]
    step = 24 if len(shown) <= 18 else 17 if len(shown) <= 30 else 12
    axis = {"title": None, "labelLimit": 140, "ticks": False, "domain": False, "labelFontSize": min(11.5, step - 1)}
    chart = (
        alt.Chart(pd.DataFrame(rows))
        .mark_rect(stroke="white", strokeWidth=1)
        .encode(
            x=alt.X("a:N", sort=shown, axis=alt.Axis(labelAngle=-60, **axis)),
            y=alt.Y("b:N", sort=shown, axis=alt.Axis(**axis)),
            color=alt.Color(
                "variation:Q",
                scale=alt.Scale(range=["#eef3f6", "#8fb3c9", ACCENT, "#12364f"], domainMin=0),
                legend=alt.Legend(title="total variation", format="%", gradientLength=160, titleColor=INK),
            ),
        )
        .properties(width=alt.Step(step), height=alt.Step(step))
    )
    return inline_svg(chart)


def trend(details: Mapping[str, Any], title: str, *, percent: bool) -> Markup:
    """One trend: the original as a line, the synthetic files as their mean with a band of two standard deviations."""
    periods = [str(one) for one in details["periods"]]
    mean, spread = np.asarray(details["mean"]), np.asarray(details["sd"])
    rows = pd.DataFrame(
        {
            "period": periods,
            "original": np.asarray(details["original"]),
            "synthetic": mean,
            "low": mean - 2 * spread,
            "high": mean + 2 * spread,
        }
    )
    form = "%" if percent else "~s"
    labels = periods if len(periods) <= 8 else periods[:: math.ceil(len(periods) / 8)]
    base = alt.Chart(rows).encode(
        x=alt.X("period:O", title=None, sort=None, axis=alt.Axis(values=labels, labelAngle=0, ticks=False))
    )
    scale = alt.Scale(zero=False)
    band = base.mark_area(color=WARM, opacity=0.18).encode(
        y=alt.Y("low:Q", title=None, scale=scale, axis=alt.Axis(format=form, tickCount=4)), y2="high:Q"
    )
    lines = base.mark_line(color=WARM, strokeDash=[4, 3]).encode(y=alt.Y("synthetic:Q", scale=scale))
    truth = base.mark_line(color=ACCENT, strokeWidth=2.2).encode(y=alt.Y("original:Q", scale=scale))
    return inline_svg((band + lines + truth).properties(width=300, height=130, title=title))


def error_by_size(bands: Sequence[Mapping[str, Any]]) -> Markup:
    """Error of what was published beside noise infusion and rounding, by size of cell."""
    names = {"published": "Published", "infused": "Noise infusion", "rounded": "Rounded to 5"}
    rows = pd.DataFrame(
        [{"size": band["name"], "method": names[key], "error": band[key]} for band in bands for key in names]
    )
    order = [band["name"] for band in bands]
    chart = (
        alt.Chart(rows)
        .mark_circle(size=70, opacity=1)
        .encode(
            y=alt.Y("size:N", sort=order, title="true size of the cell", axis=alt.Axis(labelLimit=0, ticks=False)),
            x=alt.X(
                "error:Q",
                title="root mean squared error, jobs",
                scale=alt.Scale(type="symlog"),
                axis=alt.Axis(values=[0, 1, 3, 10, 30, 100, 300, 1000, 3000, 10_000, 100_000]),
            ),
            color=colour(dict(zip(names.values(), (ACCENT, WARM, PALE), strict=True)), orient="top"),
        )
        .properties(width=430, height=alt.Step(24))
    )
    return inline_svg(chart)
