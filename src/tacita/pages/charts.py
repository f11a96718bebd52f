"""The chart kit: one look for every picture, drawn as inline SVG without a browser or a network.

`inline_svg` gives a chart the look. Beside it are the pieces that several pages use, and the two pictures of the public
report; the dossier and the studies build their own from the same pieces.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Mapping, Sequence
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from tacita.lazy import later

if TYPE_CHECKING:
    import altair as alt
    import pandas as pd
    import vl_convert
else:
    alt = later("altair")
    pd = later("pandas")
    vl_convert = later("vl_convert")

try:
    import resource
except ImportError:  # not on Windows
    resource = None  # type: ignore[assignment]

INK, SOFT, RULE = "#1f2a33", "#5c6b76", "#d5dbe0"
ACCENT, PALE, EMPTY, WARM = "#1d5f8a", "#9db8c9", "#e1e7eb", "#b5542a"
# Okabe and Ito's palette: told apart by readers who do not see all colours, and in grey print by the dashes.
PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#666666", "#000000")

Records = Sequence[Mapping[str, Any]]
Colours = Mapping[str, str]

_FONT = "Charter, 'Bitstream Charter', 'Source Serif 4', 'Iowan Old Style', Georgia, 'DejaVu Serif', serif"
_LONGEST_LABEL = 58  # characters; a longer label would leave no room for the plot
LEFT_OUT = Markup("<p>The picture is left out: the account that made this page has a limit on its address space.</p>")
_ADDRESS_SPACE = 1 << 40  # bytes; a limit below this has been seen to end the process


# ---------------------------------------------------------------- pieces


def colour(shades: Colours, field: str = "method", *, orient: str = "bottom", **legend: Any) -> Any:
    """The colour of each of the field's values, with a legend in the same order."""
    return alt.Color(
        f"{field}:N",
        sort=list(shades),
        scale=alt.Scale(domain=list(shades), range=list(shades.values())),
        legend=alt.Legend(**{"title": None, "orient": orient, "labelLimit": 320, **legend}),
    )


def rule(shade: str = WARM, dash: Sequence[int] = (4, 3), *, at: Mapping[str, float], **more: Any) -> Any:
    """A line across the picture `at` a value of x or of y."""
    line = alt.Chart(alt.Data(values=[{}])).mark_rule(color=shade, strokeDash=list(dash), **more)
    return line.encode(**{axis: alt.datum(value) for axis, value in at.items()})


def side_by_side(records: Records, panel: Callable[[str, list[dict[str, Any]]], Any], columns: int = 2) -> Markup:
    """A chart for the records of each value of "panel"."""
    titles = dict.fromkeys(str(record["panel"]) for record in records)
    charts = [panel(one, [dict(record) for record in records if record["panel"] == one]) for one in titles]
    return inline_svg(alt.concat(*charts, columns=columns))


# ---------------------------------------------------------------- the public report


def budget_bar(this: float, other: float, left: float) -> Markup:
    """One bar: what other releases used, what this one uses, what is left."""
    look = _budget_bar()
    parts = zip(_BUDGET_SHADES, (other, this, left), strict=True)
    rows = [{"part": part, "epsilon": _finite(size), "order": at} for at, (part, size) in enumerate(parts)]
    return _drawn({**look, "datasets": dict.fromkeys(look["datasets"], rows)})


_BUDGET_SHADES = {"Other releases": PALE, "This release": ACCENT, "Left": EMPTY}


@cache
def _budget_bar() -> dict[str, Any]:
    """The chart without its numbers: describing a chart takes longer than drawing it."""
    rows = pd.DataFrame({"part": list(_BUDGET_SHADES), "epsilon": [1.0, 1.0, 1.0], "order": [0, 1, 2]})
    bar = (
        alt.Chart(rows)
        .mark_bar(size=26, stroke="white", strokeWidth=1)
        .encode(
            x=alt.X("epsilon:Q", stack="zero", title="privacy loss, ε", scale=alt.Scale(nice=False)),
            color=colour(_BUDGET_SHADES, "part", orient="top", symbolType="square"),
            order="order:O",
        )
    )
    look: dict[str, Any] = _styled(bar.properties(width=690, height=34)).to_dict()
    return look


def error_bars(
    labels: list[str], values: list[float], margins: list[float], confidence: str, *, floor: float
) -> Markup:
    """Published values with their margins, one line each, in the order given; no bar goes below `floor`.

    Values that span orders of magnitude get a logarithmic axis, on which bars end at 1 at the lowest.
    """
    spread = [value for value in values if value >= 1]
    is_log = bool(spread) and len(spread) == len(values) and max(spread) > 50 * min(spread)
    floor = 1.0 if is_log else floor
    lows = [max(value - margin, floor) for value, margin in zip(values, margins, strict=True)]
    highs = [value + margin for value, margin in zip(values, margins, strict=True)]
    numbers = zip(values, lows, highs, strict=True)
    rows = [
        {"cell": _short(label)} | {key: _finite(one) for key, one in zip(("value", "low", "high"), each, strict=True)}
        for label, each in zip(labels, numbers, strict=True)
    ]
    look = _error_bars(confidence, is_log)
    return _drawn({**look, "datasets": dict.fromkeys(look["datasets"], rows)})


@cache
def _error_bars(confidence: str, is_log: bool) -> dict[str, Any]:
    """The chart without its rows, of which a page has one for every table."""
    rows = pd.DataFrame({"cell": [""], "value": [1.0], "low": [1.0], "high": [1.0]})
    axis = alt.Axis(labelLimit=0, title=None, ticks=False, domain=False, labelPadding=10, labelFontSize=11.5)
    base = alt.Chart(rows).encode(y=alt.Y("cell:N", sort=None, axis=axis))
    across = alt.X(
        "low:Q",
        title=f"published value ± margin of error ({confidence} confidence)",
        scale=alt.Scale(type="log" if is_log else "linear"),
        axis=alt.Axis(format=",~f", tickCount=5, **({"values": [10**power for power in range(9)]} if is_log else {})),
    )
    bars = base.mark_rule(strokeWidth=2.4, color=PALE).encode(x=across, x2="high:Q")
    points = base.mark_circle(size=46, color=ACCENT, opacity=1).encode(x="value:Q")
    # The labels beside the plot need the rest of the column.
    look: dict[str, Any] = _styled((bars + points).properties(width=300, height=alt.Step(21))).to_dict()
    return look


def limit_bars(
    labels: Sequence[str],
    values: Sequence[float],
    ends: Sequence[tuple[float, float | None]],
    limits: Sequence[float],
) -> Markup:
    """Shares with the interval they lie in, each beside its limit; bars that break one for certain are warm."""
    most = max(1.3 * max(limits), 1.1 * max(values))  # an end far out would leave no room for the rest
    rows = [
        {
            "check": label,
            "value": value,
            "low": low,
            "high": most if high is None else min(high, most),
            "limit": limit,
            "what": "limit broken" if low > limit else "within, or not decided",
        }
        for label, value, (low, high), limit in zip(labels, values, ends, limits, strict=True)
    ]
    axis = alt.Axis(labelLimit=0, title=None, ticks=False, domain=False, labelPadding=10, labelFontSize=11.5)
    base = alt.Chart(alt.Data(values=rows)).encode(y=alt.Y("check:N", sort=None, axis=axis))
    across = alt.X(
        "low:Q",
        title="share of records, or of the mean; the mark is the limit",
        scale=alt.Scale(domain=[0, most], nice=False),
        axis=alt.Axis(format="~%", tickCount=6),
    )
    shades = {"within, or not decided": ACCENT, "limit broken": WARM}
    shade = alt.Color("what:N", scale=alt.Scale(domain=list(shades), range=list(shades.values())), legend=None)
    bars = base.mark_rule(strokeWidth=7, opacity=0.35).encode(x=across, x2="high:Q", color=shade)
    points = base.mark_circle(size=52, opacity=1).encode(x="value:Q", color=shade)
    marks = base.mark_tick(thickness=2.5, size=17, color=INK).encode(x="limit:Q")
    return inline_svg((bars + points + marks).properties(width=420, height=alt.Step(24)))


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _short(label: str) -> str:
    label = "".join(letter if letter.isprintable() else " " for letter in label)  # others end the drawing library
    return label if len(label) <= _LONGEST_LABEL else label[: _LONGEST_LABEL - 1].rstrip(" ·,") + "…"


# ---------------------------------------------------------------- the look


def inline_svg(chart: Any, *, header: int = 12) -> Markup:
    """Render without a browser or a network, then make the picture fit to its column.

    `header` is the size of the titles of small panels.
    """
    return _drawn(_styled(chart, header=header).to_dict())


def _styled(chart: Any, *, header: int = 12) -> Any:
    return (
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
        .configure_header(labelColor=INK, labelFontSize=header)
        .configure_title(color=INK, fontSize=13, fontWeight="normal", anchor="start")
        .configure_view(stroke=None)
    )


def _drawn(chart: Mapping[str, Any]) -> Markup:
    return LEFT_OUT if _is_cramped() else _picture(json.dumps(chart, sort_keys=True))


@lru_cache(maxsize=64)  # a page is made when it is written and again when it is verified
def _picture(chart: str) -> Markup:
    drawn: str = vl_convert.vegalite_to_svg(chart, vl_version=_vega_lite_version())
    # Inside HTML the namespace declarations are not needed, and without them the page names no outside address.
    plain = re.sub(r'\sxmlns(:\w+)?="[^"]*"', "", drawn)
    width = re.search(r'<svg[^>]*\swidth="([\d.]+)"', plain)
    sized = re.sub(r'(<svg[^>]*?)\swidth="[\d.]+"\sheight="[\d.]+"', r"\1", plain, count=1)
    limit = f"{float(width[1]):.0f}px" if width else "100%"
    return Markup(re.sub(r"<svg", f'<svg role="img" style="width:100%;max-width:{limit};height:auto"', sized, count=1))


def _is_cramped() -> bool:
    """Whether the drawing library would end the process: it sets aside address space that a limit does not give."""
    if resource is None:
        return False
    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    return limit != resource.RLIM_INFINITY and limit < _ADDRESS_SPACE


def _vega_lite_version() -> str:
    """The Vega-Lite that this Altair speaks, as the converter names it ("5.20")."""
    return ".".join(alt.SCHEMA_VERSION.lstrip("v").split(".")[:2])
