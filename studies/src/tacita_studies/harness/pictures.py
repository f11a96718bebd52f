"""Pictures for study pages: SVG text made without a network, ready to stand inside an HTML file."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

# Okabe and Ito's palette: told apart by readers who do not see all colours, and in grey print by the dashes.
PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#666666", "#000000")


@dataclass(frozen=True)
class Curves:
    """Lines over a numeric axis, one small panel per value of `panel`.

    Each record is a mapping with the keys named here. `colours` fixes which line has which colour, so that a
    method looks the same in every picture; `dashed` names the field that is "paper" for dashed lines.
    """

    x: str
    y: str
    colour: str
    panel: str
    x_title: str
    y_title: str
    colours: Mapping[str, str]
    panels: Sequence[str]
    dashed: str | None = None
    log_y: bool = True
    reference: float | None = None
    reference_label: str = ""
    x_values: Sequence[float] = ()
    width: int = 165
    height: int = 200
    columns: int = 5

    def svg(self, records: Sequence[Mapping[str, Any]]) -> str:
        import altair as alt

        data = alt.Data(values=[dict(record) for record in records])
        tick = {"values": list(self.x_values)} if self.x_values else {}
        span = {"domain": [min(self.x_values) / 1.2, max(self.x_values) * 1.2], "nice": False} if self.x_values else {}
        seen = {record[self.colour] for record in records}
        drawn = {name: shade for name, shade in self.colours.items() if name in seen}
        colour = alt.Color(
            f"{self.colour}:N",
            scale=alt.Scale(domain=list(drawn), range=list(drawn.values())),
            legend=alt.Legend(title=None, orient="bottom", columns=8, labelLimit=320, symbolType="stroke"),
        )
        encoding: dict[str, Any] = {
            "x": alt.X(
                f"{self.x}:Q",
                title=self.x_title,
                scale=alt.Scale(type="log", **span),
                axis=alt.Axis(grid=False, **tick),
            ),
            "y": alt.Y(
                f"{self.y}:Q",
                title=self.y_title,
                scale=alt.Scale(type="log") if self.log_y else alt.Scale(zero=False),
                axis=alt.Axis(format="~g", tickCount=6),
            ),
            "color": colour,
        }
        if self.dashed is not None:
            encoding["strokeDash"] = alt.StrokeDash(
                f"{self.dashed}:N",
                scale=alt.Scale(domain=["proved", "paper"], range=[[1, 0], [5, 3]]),
                legend=None,  # the caption says it
            )
        base = alt.Chart(data).encode(**encoding)
        layers: list[Any] = [base.mark_line(strokeWidth=1.8), base.mark_point(size=14, filled=True, opacity=1)]
        if self.reference is not None:
            rule = alt.Chart(data).mark_rule(color="#444", strokeWidth=1, strokeDash=[2, 2])
            layers.insert(0, rule.encode(y=alt.datum(self.reference)))
        chart = (
            alt.layer(*layers)
            .properties(width=self.width, height=self.height)
            .facet(
                facet=alt.Facet(f"{self.panel}:N", title=None, sort=list(self.panels)),
                columns=self.columns,
            )
        )
        return as_svg(chart)


def trends(
    records: Sequence[Mapping[str, Any]], colours: Mapping[str, str], raw: str, *, columns: int, number: str = "~g"
) -> str:
    """Lines over years with a band of one standard deviation of the repetitions, a panel each with its own axis.

    An axis reaches a little beyond what the raw data need; lines that leave it are cut off.
    """
    import altair as alt

    seen = {record["method"] for record in records}
    drawn = {name: shade for name, shade in colours.items() if name in seen}
    colour = alt.Color(
        "method:N",
        scale=alt.Scale(domain=list(drawn), range=list(drawn.values())),
        legend=alt.Legend(
            title=None, orient="bottom", columns=2, labelLimit=480, symbolType="stroke", symbolOpacity=1,
            symbolStrokeWidth=2.5,
        ),
    )  # fmt: skip
    charts = []
    for panel in dict.fromkeys(record["panel"] for record in records):
        inside = [dict(record) for record in records if record["panel"] == panel]
        own = [record["value"] for record in inside if record["method"] == raw]
        room = 0.6 * max(max(own) - min(min(own), 0.0), 1e-9)
        lowest = min(own) - room if min(own) < 0 else 0.0
        scale = alt.Scale(domain=[lowest, max(own) + room], nice=True)
        base = alt.Chart(alt.Data(values=inside), title=panel).encode(
            x=alt.X(
                "year:Q", title=None, scale=alt.Scale(nice=False), axis=alt.Axis(format="d", grid=False, tickCount=6)
            ),
            color=colour,
        )
        axis = alt.Axis(format=number, tickCount=5)
        band = base.mark_area(opacity=0.18, clip=True).encode(
            y=alt.Y("low:Q", title=None, scale=scale, axis=axis), y2="high:Q"
        )
        line = base.mark_line(strokeWidth=1.7, clip=True).encode(y=alt.Y("value:Q", scale=scale, axis=axis))
        charts.append(alt.layer(band, line).properties(width=430, height=190))
    return as_svg(alt.concat(*charts, columns=columns))


def as_svg(chart: Any, *, header: int = 12) -> str:
    """An Altair chart in the look that all study pages share; `header` is the size of the panels' titles."""
    import vl_convert

    styled = (
        chart.configure(font="Helvetica Neue, Arial, sans-serif")
        .configure_view(stroke="#c8cdd2")
        .configure_axis(gridColor="#eceff1", labelFontSize=10, titleFontSize=11, titleFontWeight="normal")
        .configure_header(labelFontSize=header, labelFontWeight="bold")
        .configure_legend(labelFontSize=11)
    )
    # Inside HTML the namespace declarations mean nothing, and without them the page names no outside address.
    return re.sub(r'\sxmlns(:xlink)?="[^"]*"', "", str(vl_convert.vegalite_to_svg(styled.to_json())))
