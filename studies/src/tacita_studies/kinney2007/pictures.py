"""The pictures of the kinney2007 study: sizes on log scales, measures against ε, disclosure by the size of the cell."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tacita_studies.harness.pictures import Colours, Records, colour, rule, side_by_side


def _shades(colours: Colours, order: Sequence[str]) -> Any:
    return colour({name: colours[name] for name in order}, columns=6, symbolType="stroke")


def sizes(records: Records, colours: Colours, order: Sequence[str]) -> str:
    """Keys are panel, method, size and share: the share of establishments that are at least so large."""
    import altair as alt

    def panel(title: str, inside: list[dict[str, Any]]) -> Any:
        drawn = alt.Data(values=[record for record in inside if record["share"] > 0])
        log = alt.Scale(type="log")
        chart = alt.Chart(drawn, title=title).mark_line(strokeWidth=1.7)
        return chart.encode(
            x=alt.X("size:Q", title=None, scale=log, axis=alt.Axis(format="~s", grid=False)),
            y=alt.Y("share:Q", title="share of establishments", scale=log, axis=alt.Axis(format="~g")),
            color=_shades(colours, order),
        ).properties(width=430, height=220)

    return side_by_side(records, panel)


def over_epsilon(records: Records, shade: str) -> str:
    """Keys are panel, epsilon, value, plain (the value without noise) and limit, which may be None."""
    import altair as alt

    def panel(title: str, inside: list[dict[str, Any]]) -> Any:
        ticks = alt.Axis(values=[record["epsilon"] for record in inside], format="~g", grid=False)
        base = alt.Chart(alt.Data(values=inside), title=title).encode(
            x=alt.X("epsilon:Q", title="ε", scale=alt.Scale(type="log"), axis=ticks),
            y=alt.Y("value:Q", title=None, scale=alt.Scale(zero=False), axis=alt.Axis(tickCount=5)),
        )
        layers: list[Any] = [base.mark_line(color=shade, strokeWidth=1.8), base.mark_point(color=shade, filled=True)]
        if inside[0]["limit"] is not None:
            layers.insert(0, rule(at={"y": inside[0]["limit"]}, strokeWidth=1))
        if inside[0]["plain"] is not None:
            layers.insert(0, rule("#666666", (1, 0), at={"y": inside[0]["plain"]}, strokeWidth=1))
        return alt.layer(*layers).properties(width=270, height=170)

    return side_by_side(records, panel, columns=3)


def by_cell(records: Records, colours: Colours, order: Sequence[str], classes: Sequence[str]) -> str:
    """Keys are panel, method, cell and share."""
    import altair as alt

    def panel(title: str, inside: list[dict[str, Any]]) -> Any:
        chart = alt.Chart(alt.Data(values=inside), title=title)
        chart = chart.mark_line(point=alt.OverlayMarkDef(size=26, filled=True), strokeWidth=1.7)
        return chart.encode(
            x=alt.X("cell:N", sort=list(classes), title="establishments in the cell", axis=alt.Axis(labelAngle=0)),
            y=alt.Y("share:Q", title="share found", scale=alt.Scale(domain=[0, 1]), axis=alt.Axis(format="~g")),
            color=_shades(colours, order),
        ).properties(width=430, height=200)

    return side_by_side(records, panel)
