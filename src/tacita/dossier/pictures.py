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

from tacita.dossier.tables import TableCheck
from tacita.evaluation import Comparison, Encoded
from tacita.pages.charts import ACCENT, INK, PALE, WARM, colour, inline_svg

Floats = NDArray[np.float64]

_BINS = 24
_NARROW = 0.1  # of the range of a variable: tails are long where the middle half of the records lies within this
_MOST_LEVELS = 12
MOST_COLUMNS = 45  # of a heat map; more would be grey dust


def distribution(comparison: Comparison, name: str) -> Markup:
    """One variable: shares of its levels or bins in the original (bars) and in the synthetic files (line of dots)."""
    column = comparison.original.column(name)
    files = [comparison.original, *comparison.synthetic]
    if column.kind == "categorical":
        labels, shares = _levels(files, name, column.levels)
    else:
        labels, shares = bins(files, name)
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
    first = 0 if labels[0] == "0" else 1
    ends = list(range(len(labels))) if few else [first, last // 4, last // 2, 3 * last // 4]
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


def bins(files: Sequence[Encoded], name: str) -> tuple[list[str], Floats]:
    """Bins between the 1st and 99th percentile of the original, open at both ends, and one for missing cells: equal
    ones, or where the tails are long from end to end in steps that widen like logarithms."""
    known = files[0].numbers[name]
    known = known[~np.isnan(known)]
    if not known.size:
        shares = np.array(
            [[np.isnan(file.numbers[name]).mean(), (~np.isnan(file.numbers[name])).mean()] for file in files]
        )
        return ["missing", "known"], shares
    distinct = np.unique(known[:100_000])
    if 1 < len(distinct) <= _BINS:
        edges = (distinct[1:] + distinct[:-1]) / 2
    elif has_long_tails(known):
        edges = _widening(known)
    else:
        low, high = np.quantile(known, [0.01, 0.99])
        edges = np.unique(np.linspace(low, high, _BINS - 1))
    counted = []
    for file in files:
        values = file.numbers[name]
        gone = np.isnan(values)
        counts = np.bincount(np.searchsorted(edges, values[~gone], side="right"), minlength=len(edges) + 1)
        counted.append(np.append(counts, gone.sum()) / file.rows)
    by_file = np.array(counted)
    labels = [f"{value:,.6g}" for value in distinct] if 1 < len(distinct) <= _BINS else _starts(edges)
    if by_file[:, -1].any():
        return [*labels, "missing"], by_file
    return labels, by_file[:, :-1]


def has_long_tails(values: Floats) -> bool:
    """Whether equal bins would put nearly everything into a few: half of the records lie within a small part of the
    range from the 1st to the 99th percentile.

    >>> even = np.linspace(0, 1, 1001)
    >>> has_long_tails(even), has_long_tails(np.exp(6 * even**2 * 2))
    (False, True)
    """
    low, first, third, high = np.quantile(values, [0.01, 0.25, 0.75, 0.99])
    return bool(high > low and third - first < _NARROW * (high - low))


def _widening(values: Floats) -> Floats:
    """Edges from the smallest to the largest value, even on the scale of arcsinh: linear near 0, logarithmic beyond."""
    sizes = np.abs(values[values != 0])
    unit = float(np.quantile(sizes, 0.1))
    low, high = np.arcsinh(values.min() / unit), np.arcsinh(values.max() / unit)
    edges = unit * np.sinh(np.linspace(low, high, _BINS + 1)[1:-1])
    if not (values == 0).any():
        return np.unique(edges)
    # What is exactly 0 has a bin of its own; where nothing is below it, that is the first.
    least = float(np.nextafter(0, 1))
    around = [0.0, least] if values.min() < 0 else [least]
    return np.unique(np.concatenate([edges[edges != 0], around]))


def _starts(edges: Floats) -> list[str]:
    """What each bin is called: by where it begins, the first by where it ends."""
    least = float(np.nextafter(0, 1))
    first = "0" if edges[0] == least else f"< {_short(edges[0])}"
    return [first, *("> 0" if edge == least else _short(edge) for edge in edges)]


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


def error_by_size(check: TableCheck) -> Markup:
    """Error of what was published beside that of today's practice, by size of cell."""
    methods = ["Published", *(one.name for one in check.practice)]
    rows = pd.DataFrame(
        [
            {"size": band.name, "method": method, "error": error}
            for band in check.bands
            for method, error in zip(methods, (band.published, *band.practice), strict=True)
            if error is not None
        ]
    )
    order = [band.name for band in check.bands]
    positive = rows["error"][rows["error"] > 0]
    low, high = (math.floor(math.log10(end)) for end in (positive.min(), positive.max())) if len(positive) else (0, 0)
    step = max(1, math.ceil((high - low) / 6))
    within = (1, 3) if high - low <= 2 else (1,)
    ticks = [0.0, *(one * 10.0**power for power in range(low, high + 2, step) for one in within)]
    chart = (
        alt.Chart(rows)
        .mark_circle(size=70, opacity=1)
        .encode(
            y=alt.Y(
                "size:N", sort=order, title=f"{check.sized_in} in the cell", axis=alt.Axis(labelLimit=0, ticks=False)
            ),
            x=alt.X(
                "error:Q",
                title=f"root mean squared error, {_cut(check.unit)}",
                scale=alt.Scale(type="symlog", constant=10.0**low),
                axis=alt.Axis(values=ticks, format="~s" if low >= 0 else "~g"),
            ),
            color=colour(dict(zip(methods, (ACCENT, WARM, PALE), strict=False)), orient="top"),
        )
        .properties(width=430, height=alt.Step(24))
    )
    return inline_svg(chart)
