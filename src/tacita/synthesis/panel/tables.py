"""A synthetic `Panel` as the rows that are published, in the form of the confidential file."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tacita.data.schema import Numeric
from tacita.synthesis.panel.layout import Layout, Yearly
from tacita.synthesis.panel.panel import MISSING, Panel


def to_table(panel: Panel) -> pa.Table:
    """Wide: a row per unit, without any id. Long: a row per unit and year, units numbered from 1."""
    return _wide(panel) if panel.layout.period is None else _long(panel)


def synthesized(layout: Layout) -> tuple[str, ...]:
    """The published columns whose values are drawn."""
    return tuple(name for name in layout.stored if name not in layout.keep)


def published(layout: Layout) -> tuple[str, ...]:
    return (() if layout.period is None else (layout.unit,)) + layout.stored


def _wide(panel: Panel) -> pa.Table:
    layout = panel.layout
    columns = _fixed(panel, None)
    for one in layout.yearly:
        for place, year in enumerate(layout.years):
            columns[one.column(year)] = _numbers(panel.values[one.name][place], one, layout, year)
    return pa.table({name: columns[name] for name in published(layout)})


def _long(panel: Panel) -> pa.Table:
    layout = panel.layout
    year = np.asarray(layout.years)[:, None]
    # Unit after unit, year after year.
    who, place = np.nonzero(((year >= panel.first) & (year <= panel.last) & ~panel.gaps).T)
    columns = _fixed(panel, who)
    columns[layout.unit] = pa.array(1 + who)
    columns[str(layout.period)] = pa.array(layout.years[0] + place)
    for one in layout.yearly:
        columns[one.column(layout.years[0])] = _numbers(panel.values[one.name][place, who], one, layout, None)
    return pa.table({name: columns[name] for name in published(layout)})


def _fixed(panel: Panel, who: NDArray[np.int64] | None) -> dict[str, Any]:
    """What does not change over the years, for every unit or for the unit of each row."""
    layout = panel.layout

    def rows(values: NDArray[Any]) -> NDArray[Any]:
        return values if who is None else values[who]

    found = {name: pa.array(panel.labels[name]).take(pa.array(rows(panel.public[name].values))) for name in layout.keep}
    for span, values in ((layout.first, panel.first), (layout.last, panel.last)):
        if span.stored:
            found[span.name] = pa.array(rows(values))
    for name in layout.static:
        found[name] = pa.array(layout.schema.levels(name)).take(pa.array(rows(panel.static[name])))
    for one in layout.changes:
        years = rows(panel.changed[one.name])
        found[one.name] = pa.array(years, mask=years == MISSING)
    return found


def _numbers(values: NDArray[np.float64], one: Yearly, layout: Layout, year: int | None) -> pa.Array:
    missing = np.isnan(values)
    if isinstance(layout.schema[one.column(layout.years[0] if year is None else year)].kind, Numeric):
        return pa.array(values, mask=missing)
    return pa.array(np.where(missing, 0, values).astype(np.int64), mask=missing)


def joined_groups(parts: list[pa.Table], layout: Layout) -> pa.Table:
    """Groups one after another; long files get numbers of units that go on from group to group."""
    if layout.period is None:
        return pa.concat_tables(parts).combine_chunks()
    done, found = 0, []
    for part in parts:
        at = part.column_names.index(layout.unit)
        numbers = part[layout.unit].to_numpy() + done
        found.append(part.set_column(at, layout.unit, pa.array(numbers)))
        done = int(numbers.max()) if len(numbers) else done
    return pa.concat_tables(found).combine_chunks()
