"""The pictures of the hu2024 study: violins over records or cells, and coverage against CV."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import altair as alt
import numpy as np
from markupsafe import Markup

from tacita.pages.charts import INK, Colours, Records, colour, inline_svg, rule, side_by_side
from tacita_studies.hu2024.answers import Floats

_HALF = 0.42  # width of a violin's half, where neighbours stand 1 apart
_POINTS = 81


def violins(
    panels: Mapping[str, Mapping[str, Floats]],
    colours: Colours,
    y_title: str,
    *,
    reference: float | None = None,
    log: bool = False,
) -> Markup:
    """A violin for each label of each panel, with a bar at its median. `colours` has the labels as keys."""
    inside = [values for panel in panels.values() for values in panel.values()]
    low, high = min(float(one.min()) for one in inside), max(float(one.max()) for one in inside)
    if reference is not None:
        low, high = min(low, reference), max(high, reference)
    if log:
        scale = alt.Scale(type="log", domain=[low / 1.1, high * 1.1], nice=False)
    else:
        scale = alt.Scale(domain=[min(low, 0.0), high])
    charts = []
    for title, panel in panels.items():
        labels = list(panel)
        records = [one for at, (label, values) in enumerate(panel.items()) for one in _outline(label, values, at, log)]
        medians = [
            {"left": at - 0.2, "right": at + 0.2, "value": float(np.median(values))}
            for at, values in enumerate(panel.values())
        ]
        named = ", ".join(f"'{at}': '{label}'" for at, label in enumerate(labels))
        axis = alt.Axis(
            values=list(range(len(labels))),
            labelExpr=f"{{{named}}}[datum.value]",
            grid=False,
            title=None,
            labelLimit=200,
            labelOverlap=False,
            labelAngle=0 if sum(map(len, labels)) <= 40 else -35,
        )
        x_scale = alt.Scale(domain=[-0.6, len(labels) - 0.4], nice=False)
        shades = alt.Scale(domain=labels, range=[colours[one] for one in labels])
        area = alt.Chart(alt.Data(values=records)).mark_area(orient="horizontal", opacity=0.6)
        area = area.encode(
            x=alt.X("left:Q", axis=axis, scale=x_scale),
            x2="right:Q",
            y=alt.Y("value:Q", title=y_title, scale=scale, axis=alt.Axis(format="~g", tickCount=6)),
            color=alt.Color("label:N", scale=shades, legend=None),
        )
        bar = alt.Chart(alt.Data(values=medians)).mark_rule(strokeWidth=2, color=INK)
        bar = bar.encode(x=alt.X("left:Q", scale=x_scale), x2="right:Q", y=alt.Y("value:Q", scale=scale))
        layers: list[Any] = [area, bar] if reference is None else [rule(at={"y": reference}), area, bar]
        chart = alt.layer(*layers).resolve_scale(color="independent")
        charts.append(chart.properties(width=430, height=230, title=title))
    # Labels differ between panels, and a shared scale of colours would mix them up.
    return inline_svg(alt.concat(*charts, columns=2).resolve_scale(color="independent"))


def _outline(label: str, values: Floats, at: int, log: bool) -> list[dict[str, Any]]:
    """Left and right edge of a violin, between the smallest and the largest value."""
    scaled = np.log(values) if log else values
    low, high = float(scaled.min()), float(scaled.max())
    spread = max(float(scaled.std()), 1e-9 * max(abs(high), 1.0), (high - low) / 50)
    width = 1.06 * spread * len(values) ** -0.2
    grid = np.linspace(low, high, _POINTS)
    density = np.exp(-0.5 * ((grid[:, None] - scaled[None]) / width) ** 2).sum(axis=1)
    half = _HALF * density / density.max()
    shown = np.exp(grid) if log else grid
    return [
        {"label": label, "value": float(value), "left": at - float(edge), "right": at + float(edge)}
        for value, edge in zip(shown, half, strict=True)
    ]


def coverage_and_cv(records: Records, colours: Colours) -> Markup:
    """Figure 10: a dot for each cell, coverage across and CV upward; keys are method, panel, coverage and cv."""
    seen = {record["method"] for record in records}
    drawn = {name: shade for name, shade in colours.items() if name in seen}

    def panel(title: str, inside: list[dict[str, Any]]) -> Any:
        dots = alt.Chart(alt.Data(values=inside)).mark_point(size=38, filled=True, opacity=0.75)
        dots = dots.encode(
            x=alt.X("coverage:Q", title="coverage", scale=alt.Scale(zero=False), axis=alt.Axis(format="~g")),
            y=alt.Y("cv:Q", title="CV", axis=alt.Axis(format="~g")),
            color=colour(drawn, columns=4),
            shape=alt.Shape("method:N", scale=alt.Scale(domain=list(drawn)), legend=None),
        )
        return alt.layer(rule(at={"x": 0.95}), dots).properties(width=430, height=260, title=title)

    return side_by_side(records, panel)
