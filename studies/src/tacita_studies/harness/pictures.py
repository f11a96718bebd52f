"""Pictures that several studies draw, from the chart kit of all pages."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import altair as alt
from markupsafe import Markup

from tacita.pages.charts import RULE, SOFT, Colours, Records, colour, inline_svg, side_by_side


@dataclass(frozen=True)
class Curves:
    """Lines over ε, one small panel per value of "panel", in the colour of "method".

    `y` names the field that is drawn. `colours` fixes which line has which colour, so that a method looks the same in
    every picture; `dashed` names the field that is "paper" for dashed lines.
    """

    y: str
    y_title: str
    colours: Colours
    panels: Sequence[str]
    dashed: str
    log_y: bool = True
    reference: float | None = None
    x_values: Sequence[float] = ()
    width: int = 165
    height: int = 200
    columns: int = 5

    def svg(self, records: Records) -> Markup:
        # An error of zero has no place on a logarithmic axis, and would push all others off it.
        data = alt.Data(values=[dict(record) for record in records if not self.log_y or record[self.y] > 0])
        span = [min(self.x_values) / 1.2, max(self.x_values) * 1.2]
        base = alt.Chart(data).encode(
            x=alt.X(
                "epsilon:Q",
                title="ε",
                scale=alt.Scale(type="log", domain=span, nice=False),
                axis=alt.Axis(grid=False, values=list(self.x_values), labelFontSize=10.5, labelOverlap="greedy"),
            ),
            y=alt.Y(
                f"{self.y}:Q",
                title=self.y_title,
                scale=alt.Scale(type="log") if self.log_y else alt.Scale(zero=False),
                axis=alt.Axis(format="~g", tickCount=6),
            ),
            color=colour(_drawn(self.colours, records), columns=8, symbolType="stroke"),
            strokeDash=alt.StrokeDash(
                f"{self.dashed}:N",
                scale=alt.Scale(domain=["proved", "paper"], range=[[1, 0], [5, 3]]),
                legend=None,  # the caption says it
            ),
        )
        layers: list[Any] = [base.mark_line(strokeWidth=1.8), base.mark_point(size=14, filled=True, opacity=1)]
        if self.reference is not None:
            # Of the same data: panels cannot be made of layers with data of their own.
            line = alt.Chart(data).mark_rule(color=SOFT, strokeWidth=1, strokeDash=[2, 2])
            layers.insert(0, line.encode(y=alt.datum(self.reference)))
        facet = alt.Facet("panel:N", title=None, sort=list(self.panels))
        frame = alt.ViewBackground(stroke=RULE)
        chart = alt.layer(*layers).properties(width=self.width, height=self.height, view=frame)
        return inline_svg(chart.facet(facet=facet, columns=self.columns))


def trends(records: Records, colours: Colours, raw: str, *, columns: int, number: str = "~g") -> Markup:
    """Lines over years with a band of one standard deviation of the repetitions, a panel each with its own axis.

    An axis reaches a little beyond what the raw data need; lines that leave it are cut off.
    """
    shade = colour(
        _drawn(colours, records), columns=2, labelLimit=480, symbolType="stroke", symbolOpacity=1, symbolStrokeWidth=2.5
    )

    def panel(title: str, inside: list[dict[str, Any]]) -> Any:
        own = [record["value"] for record in inside if record["method"] == raw]
        room = 0.6 * max(max(own) - min(min(own), 0.0), 1e-9)
        lowest = min(own) - room if min(own) < 0 else 0.0
        scale = alt.Scale(domain=[lowest, max(own) + room], nice=True)
        years = alt.Axis(format="d", grid=False, tickCount=6)
        base = alt.Chart(alt.Data(values=inside), title=title).encode(
            x=alt.X("year:Q", title=None, scale=alt.Scale(nice=False), axis=years), color=shade
        )
        axis = alt.Axis(format=number, tickCount=5)
        low = alt.Y("low:Q", title=None, scale=scale, axis=axis)
        band = base.mark_area(opacity=0.18, clip=True).encode(y=low, y2="high:Q")
        line = base.mark_line(strokeWidth=1.7, clip=True).encode(y=alt.Y("value:Q", scale=scale, axis=axis))
        return alt.layer(band, line).properties(width=430, height=190)

    return side_by_side(records, panel, columns)


def _drawn(colours: Colours, records: Records) -> Colours:
    seen = {record["method"] for record in records}
    return {name: shade for name, shade in colours.items() if name in seen}
