"""The pictures of the tran2023 study: densities as in figures 3 to 5, trends with bands as in figures 1 and 2."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacita.studies.pictures import as_svg

Numbers = NDArray[np.float64]
_BINS = 64


def densities(files: Mapping[str, Numbers], original: str, columns: int = 4) -> str:
    """A small panel per method: the original's density in grey, the synthetic file's as a line.

    Values beyond the axis are not drawn; the axis ends a little above the original's 99.5th percentile.
    """
    import altair as alt

    own = files[original]
    low, high = float(min(0.0, own.min())), float(np.quantile(own, 0.995)) * 1.15
    grid = np.linspace(low, high, 121)
    grey = _density(own, grid)
    records = [
        {"method": name, "x": x, "synthetic": y, "original": o}
        for name, values in files.items()
        if name != original
        for x, y, o in zip(grid.tolist(), _density(values, grid).tolist(), grey.tolist(), strict=True)
    ]
    base = alt.Chart(alt.Data(values=records)).encode(
        x=alt.X("x:Q", title=None, axis=alt.Axis(grid=False, tickCount=4), scale=alt.Scale(nice=False))
    )
    # A method may put everything in one place; its spike must not flatten the other panels.
    top = 2.0 * float(grey.max())
    scale = alt.Scale(domain=[0, top], clamp=True)
    axis = alt.Axis(labels=False, ticks=False, grid=False)
    area = base.mark_area(color="#c9ced3").encode(y=alt.Y("original:Q", title=None, scale=scale, axis=axis))
    line = base.mark_line(color="#0072B2", strokeWidth=1.5).encode(y=alt.Y("synthetic:Q", scale=scale, axis=axis))
    chart = (
        alt.layer(area, line)
        .properties(width=205, height=88)
        .facet(
            facet=alt.Facet("method:N", title=None, sort=[name for name in files if name != original]), columns=columns
        )
    )
    return as_svg(chart, header=10)


def _density(values: Numbers, grid: Numbers) -> Numbers:
    """A histogram smoothed by a Gaussian of one bin's width: lumps stay visible, the noise of a sample does not."""
    width = (grid[-1] - grid[0]) / _BINS
    edges = np.linspace(grid[0] - 4 * width, grid[-1] + 4 * width, 4 * (_BINS + 8) + 1)
    share = np.histogram(values, edges)[0] / (len(values) * np.diff(edges))
    centres = (edges[1:] + edges[:-1]) / 2
    kernel = np.exp(-0.5 * ((grid[:, None] - centres[None]) / width) ** 2)
    return np.asarray(kernel @ share / kernel.sum(axis=1))


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
