"""Counting records that cannot be: for tests, benchmarks and reports, since the synthesis never makes one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tacita.synthesis.panel.layout import Layout
from tacita.synthesis.panel.predictors import Floats


def broken_rules(table: pa.Table, layout: Layout) -> dict[str, int]:
    """How many units of a wide file break each rule that the plan declares; units, not values."""
    years = np.asarray(layout.years)[:, None]
    values = {one.name: np.array([_numbers(table, one.column(year)) for year in layout.years]) for one in layout.yearly}
    there = np.logical_or.reduce([~np.isnan(found) for found in values.values()])
    found: dict[str, NDArray[Any]] = {}
    if layout.first.stored:
        first, last = _numbers(table, layout.first.name), _numbers(table, layout.last.name)
        found["last before first"] = ~(last >= first)
        for span, held in ((layout.first, first), (layout.last, last)):
            found[f"{span.name} outside its bounds"] = ~((held >= span.lower) & (held <= span.upper))
        alive = (years >= first) & (years <= last)
        found["a value outside the life"] = (there & ~alive).any(axis=0)
        found["no value within the life"] = np.logical_or.reduce(
            [(np.isnan(held) & alive).any(axis=0) for held in values.values()]
        )
        begins = np.maximum(first, layout.years[0])
        for change in layout.changes:
            names = [layout.schema.levels(change.static)[code] for code in change.levels]
            has = pa.compute.is_in(table[change.static], pa.array(names)).to_numpy(zero_copy_only=False)
            year = _numbers(table, change.name)
            found[f"{change.name} without a change, or none with one"] = has.astype(bool) == np.isnan(year)
            found[f"{change.name} outside the life"] = (year <= begins) | (year > last)
    for one in layout.yearly:
        held, scale = values[one.name], one.scale
        off = np.abs(np.round(held / scale.step) * scale.step - held) > 1e-6
        beyond = (held < scale.lower) | (held > scale.upper) | off
        found[f"{one.name} outside its bounds"] = np.asarray(beyond.any(axis=0))
    for ratio in layout.ratios:
        held, other = values[ratio.name], values[ratio.other]
        broken = (held < ratio.low * other - 1e-6) | (held > ratio.high * other + 1e-6)
        found[f"{ratio.name} against {ratio.other}"] = np.asarray(broken.any(axis=0))
    return {name: int(flags.sum()) for name, flags in found.items()}


def _numbers(table: pa.Table, name: str) -> Floats:
    return np.asarray(table[name].to_numpy(zero_copy_only=False), dtype=np.float64)
