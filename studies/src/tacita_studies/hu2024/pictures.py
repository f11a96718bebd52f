"""The pictures of the hu2024 study: violins over records or cells, and coverage against CV."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from tacita_studies.harness.pictures import as_svg
from tacita_studies.hu2024.answers import Floats

_HALF = 0.42  # width of a violin's half, where neighbours stand 1 apart
_POINTS = 81


def violins(
    panels: Mapping[str, Mapping[str, Floats]],
    colours: Mapping[str, str],
    y_title: str,
    *,
    reference: float | None = None,
    log: bool = False,
    columns: int = 2,
    width: int = 430,
    height: int = 230,
) -> str:
    """A violin for each label of each panel, with a bar at its median. `colours` has the labels as keys."""
    import altair as alt

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
        places = {str(at): label for at, label in enumerate(labels)}
        records = [
            record for at, (label, values) in enumerate(panel.items()) for record in _outline(label, values, at, log)
        ]
        medians = [
            {"left": at - 0.2, "right": at + 0.2, "value": float(np.median(values))}
            for at, values in enumerate(panel.values())
        ]
        axis = alt.Axis(
            values=list(range(len(labels))),
            labelExpr=f"{_lookup(places)}[datum.value]",
            grid=False,
            title=None,
            labelLimit=200,
            labelOverlap=False,
            labelAngle=0 if len(labels) <= 4 else -35,
        )
        x_scale = alt.Scale(domain=[-0.6, len(labels) - 0.4], nice=False)
        y = alt.Y("value:Q", title=y_title, scale=scale, axis=alt.Axis(format="~g", tickCount=6))
        area = (
            alt.Chart(alt.Data(values=records))
            .mark_area(orient="horizontal", opacity=0.6)
            .encode(
                x=alt.X("left:Q", axis=axis, scale=x_scale),
                x2="right:Q",
                y=y,
                color=alt.Color(
                    "label:N", scale=alt.Scale(domain=labels, range=[colours[one] for one in labels]), legend=None
                ),
            )
        )
        bar = (
            alt.Chart(alt.Data(values=medians))
            .mark_rule(strokeWidth=2, color="#1d2327")
            .encode(x=alt.X("left:Q", scale=x_scale), x2="right:Q", y=alt.Y("value:Q", scale=scale))
        )
        layers: list[Any] = [area, bar]
        if reference is not None:
            line = alt.Chart(alt.Data(values=[{}])).mark_rule(color="#8c2a12", strokeDash=[4, 3])
            layers.insert(0, line.encode(y=alt.datum(reference)))
        charts.append(
            alt.layer(*layers).resolve_scale(color="independent").properties(width=width, height=height, title=title)
        )
    # Labels differ between panels, and a shared scale of colours would mix them up.
    return as_svg(alt.concat(*charts, columns=columns).resolve_scale(color="independent"))


def _lookup(places: Mapping[str, str]) -> str:
    inner = ", ".join(f"'{key}': '{label}'" for key, label in places.items())
    return "{" + inner + "}"


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


def coverage_and_cv(records: Sequence[Mapping[str, Any]], colours: Mapping[str, str]) -> str:
    """Figure 10: a dot for each cell, coverage across and CV upward; keys are method, panel, coverage and cv."""
    import altair as alt

    seen = {record["method"] for record in records}
    drawn = {name: shade for name, shade in colours.items() if name in seen}
    charts = []
    for panel in dict.fromkeys(record["panel"] for record in records):
        inside = [dict(record) for record in records if record["panel"] == panel]
        dots = (
            alt.Chart(alt.Data(values=inside))
            .mark_point(size=38, filled=True, opacity=0.75)
            .encode(
                x=alt.X("coverage:Q", title="coverage", scale=alt.Scale(zero=False), axis=alt.Axis(format="~g")),
                y=alt.Y("cv:Q", title="CV", axis=alt.Axis(format="~g")),
                color=alt.Color(
                    "method:N",
                    scale=alt.Scale(domain=list(drawn), range=list(drawn.values())),
                    legend=alt.Legend(title=None, orient="bottom", columns=4, labelLimit=320),
                ),
                shape=alt.Shape("method:N", scale=alt.Scale(domain=list(drawn)), legend=None),
            )
        )
        line = alt.Chart(alt.Data(values=[{}])).mark_rule(color="#8c2a12", strokeDash=[4, 3])
        charts.append(alt.layer(line.encode(x=alt.datum(0.95)), dots).properties(width=430, height=260, title=panel))
    return as_svg(alt.concat(*charts, columns=2))
