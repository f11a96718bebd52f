"""The pictures of the tran2023 study: densities as in figures 3 to 5."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from tacita_studies.harness.pictures import as_svg

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
