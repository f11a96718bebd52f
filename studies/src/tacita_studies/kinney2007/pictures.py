"""The pictures of the kinney2007 study: sizes on log scales, measures against ε, disclosure by the size of the cell."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tacita_studies.harness.pictures import as_svg

Records = Sequence[Mapping[str, Any]]


def sizes(records: Records, colours: Mapping[str, str], order: Sequence[str]) -> str:
    """Keys are panel, method, size and share: the share of establishments that are at least so large."""
    import altair as alt

    charts = []
    for panel in dict.fromkeys(record["panel"] for record in records):
        inside = [dict(record) for record in records if record["panel"] == panel and record["share"] > 0]
        chart = (
            alt.Chart(alt.Data(values=inside), title=str(panel))
            .mark_line(strokeWidth=1.7)
            .encode(
                x=alt.X("size:Q", title=None, scale=alt.Scale(type="log"), axis=alt.Axis(format="~s", grid=False)),
                y=alt.Y(
                    "share:Q", title="share of establishments", scale=alt.Scale(type="log"), axis=alt.Axis(format="~g")
                ),
                color=_colour(colours, order),
            )
            .properties(width=430, height=220)
        )
        charts.append(chart)
    return as_svg(alt.concat(*charts, columns=2))


def over_epsilon(records: Records, colour: str) -> str:
    """Keys are panel, epsilon, value, plain (the value without noise) and limit, which may be None."""
    import altair as alt

    charts = []
    for panel in dict.fromkeys(record["panel"] for record in records):
        inside = [dict(record) for record in records if record["panel"] == panel]
        ticks = [record["epsilon"] for record in inside]
        base = alt.Chart(alt.Data(values=inside), title=str(panel)).encode(
            x=alt.X(
                "epsilon:Q",
                title="ε",
                scale=alt.Scale(type="log"),
                axis=alt.Axis(values=ticks, format="~g", grid=False),
            ),
            y=alt.Y("value:Q", title=None, scale=alt.Scale(zero=False), axis=alt.Axis(tickCount=5)),
        )
        layers: list[Any] = [base.mark_line(color=colour, strokeWidth=1.8), base.mark_point(color=colour, filled=True)]
        for value, dash, shade in ((inside[0]["limit"], [4, 3], "#8c2a12"), (inside[0]["plain"], [1, 0], "#666666")):
            if value is not None:
                rule = alt.Chart(alt.Data(values=[{}])).mark_rule(color=shade, strokeDash=dash, strokeWidth=1)
                layers.insert(0, rule.encode(y=alt.datum(value)))
        charts.append(alt.layer(*layers).properties(width=270, height=170))
    return as_svg(alt.concat(*charts, columns=3))


def by_cell(records: Records, colours: Mapping[str, str], order: Sequence[str], classes: Sequence[str]) -> str:
    """Keys are panel, method, cell and share."""
    import altair as alt

    charts = []
    for panel in dict.fromkeys(record["panel"] for record in records):
        inside = [dict(record) for record in records if record["panel"] == panel]
        chart = (
            alt.Chart(alt.Data(values=inside), title=str(panel))
            .mark_line(point=alt.OverlayMarkDef(size=26, filled=True), strokeWidth=1.7)
            .encode(
                x=alt.X("cell:N", sort=list(classes), title="establishments in the cell", axis=alt.Axis(labelAngle=0)),
                y=alt.Y("share:Q", title="share found", scale=alt.Scale(domain=[0, 1]), axis=alt.Axis(format="~g")),
                color=_colour(colours, order),
            )
            .properties(width=430, height=200)
        )
        charts.append(chart)
    return as_svg(alt.concat(*charts, columns=2))


def _colour(colours: Mapping[str, str], order: Sequence[str]) -> Any:
    import altair as alt

    return alt.Color(
        "method:N",
        scale=alt.Scale(domain=list(order), range=[colours[name] for name in order]),
        legend=alt.Legend(title=None, orient="bottom", columns=6, labelLimit=320, symbolType="stroke"),
    )
