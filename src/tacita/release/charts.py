"""The page's pictures as inline SVG. They show published values only; the dossier borrows the look."""

from __future__ import annotations

import re
from typing import Any

import altair as alt
import pandas as pd
import vl_convert

try:
    import resource
except ImportError:  # not on Windows
    resource = None  # type: ignore[assignment]

INK, SOFT, RULE = "#1f2a33", "#5c6b76", "#d5dbe0"
ACCENT, PALE, EMPTY = "#1d5f8a", "#9db8c9", "#e1e7eb"
_FONT = "Charter, 'Bitstream Charter', 'Source Serif 4', 'Iowan Old Style', Georgia, 'DejaVu Serif', serif"
_LONGEST_LABEL = 58  # characters; a longer label would leave no room for the plot
_ADDRESS_SPACE = 1 << 40  # bytes; a limit below this has been seen to end the process
_WIDTH = 300  # plot area; the labels beside it need the rest of the column


def budget_bar(this: float, other: float, left: float) -> str:
    """One bar: what other releases used, what this one uses, what is left."""
    rows = pd.DataFrame(
        {"part": ["Other releases", "This release", "Left"], "epsilon": [other, this, left], "order": [0, 1, 2]}
    )
    bar = (
        alt.Chart(rows)
        .mark_bar(size=26, stroke="white", strokeWidth=1)
        .encode(
            x=alt.X("epsilon:Q", stack="zero", title="privacy loss, ε", scale=alt.Scale(nice=False)),
            color=alt.Color(
                "part:N",
                sort=["Other releases", "This release", "Left"],
                scale=alt.Scale(domain=["Other releases", "This release", "Left"], range=[PALE, ACCENT, EMPTY]),
                legend=alt.Legend(title=None, orient="top", symbolType="square"),
            ),
            order="order:O",
        )
        .properties(width=690, height=34)
    )
    return inline_svg(bar)


def error_bars(labels: list[str], values: list[float], margins: list[float], confidence: str, *, floor: float) -> str:
    """Published values with their margins, one line each, in the order given; no bar goes below `floor`.

    Values that span orders of magnitude get a logarithmic axis, on which bars end at 1 at the lowest.
    """
    spread = [value for value in values if value >= 1]
    is_log = bool(spread) and len(spread) == len(values) and max(spread) > 50 * min(spread)
    floor = 1.0 if is_log else floor
    rows = pd.DataFrame(
        {
            "cell": [_short(label) for label in labels],
            "value": values,
            "low": [max(value - margin, floor) for value, margin in zip(values, margins, strict=True)],
            "high": [value + margin for value, margin in zip(values, margins, strict=True)],
        }
    )
    axis = alt.Axis(labelLimit=0, title=None, ticks=False, domain=False, labelPadding=10, labelFontSize=11.5)
    base = alt.Chart(rows).encode(y=alt.Y("cell:N", sort=None, axis=axis))
    ticks = [10**power for power in range(9)] if is_log else None
    across = alt.X(
        "low:Q",
        title=f"published value ± margin of error ({confidence} confidence)",
        scale=alt.Scale(type="log" if is_log else "linear"),
        axis=alt.Axis(format=",~f", tickCount=5, **({"values": ticks} if ticks else {})),
    )
    bars = base.mark_rule(strokeWidth=2.4, color=PALE).encode(x=across, x2="high:Q")
    points = base.mark_circle(size=46, color=ACCENT, opacity=1).encode(x="value:Q")
    return inline_svg((bars + points).properties(width=_WIDTH, height=alt.Step(21)))


def _short(label: str) -> str:
    label = "".join(letter if letter.isprintable() else " " for letter in label)  # others end the drawing library
    return label if len(label) <= _LONGEST_LABEL else label[: _LONGEST_LABEL - 1].rstrip(" ·,") + "…"


def inline_svg(chart: Any) -> str:
    """Render without a browser or a network, then make the picture fit to its column."""
    if _is_cramped():
        return "<p>The picture is left out: the account that made this page has a limit on its address space.</p>"
    styled = (
        chart.configure(font=_FONT, background="transparent", padding=4)
        .configure_axis(
            labelColor=INK,
            titleColor=SOFT,
            gridColor=RULE,
            domainColor=RULE,
            tickColor=RULE,
            labelFontSize=12,
            titleFontSize=12,
            titleFontWeight="normal",
            titlePadding=8,
        )
        .configure_legend(labelColor=INK, labelFontSize=13)
        .configure_view(stroke=None)
    )
    drawn: str = vl_convert.vegalite_to_svg(styled.to_json(), vl_version=_vega_lite_version())
    # Inside HTML the namespace declarations are not needed, and without them the page names no outside address.
    plain = re.sub(r'\sxmlns(:\w+)?="[^"]*"', "", drawn)
    width = re.search(r'<svg[^>]*\swidth="([\d.]+)"', plain)
    sized = re.sub(r'(<svg[^>]*?)\swidth="[\d.]+"\sheight="[\d.]+"', r"\1", plain, count=1)
    limit = f"{float(width[1]):.0f}px" if width else "100%"
    return re.sub(r"<svg", f'<svg role="img" style="width:100%;max-width:{limit};height:auto"', sized, count=1)


def _is_cramped() -> bool:
    """Whether the drawing library would end the process: it sets aside address space that a limit does not give."""
    if resource is None:
        return False
    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    return limit != resource.RLIM_INFINITY and limit < _ADDRESS_SPACE


def _vega_lite_version() -> str:
    """The Vega-Lite that this Altair speaks, as the converter names it ("5.20")."""
    return ".".join(alt.SCHEMA_VERSION.lstrip("v").split(".")[:2])
