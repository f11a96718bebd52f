"""Confidential rows of one group as a `Panel`: wide files with a row per unit, long ones with a row per unit and year.

Units come in the order of their public columns and then of their ids, so that neither the engine's order nor the
file's decides what is drawn. The ids go no further.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tacita.data.confidential import Confidential, asked, engine_of, rows
from tacita.data.engine import number_of, text_of
from tacita.data.schema import Categorical, Integer, Numeric
from tacita.errors import SchemaError
from tacita.synthesis.panel.gaps import inner
from tacita.synthesis.panel.layout import Layout, Span
from tacita.synthesis.panel.panel import MISSING, Panel
from tacita.synthesis.panel.predictors import Column, Flags, Floats, Integers

ALL = "all"  # the one group of a panel that is not split


def groups_of(data: Confidential, layout: Layout) -> list[str]:
    """The groups that have rows. Their levels are public columns, published as they are."""
    if layout.group is None:
        return [ALL]
    column, _ = layout.group_column
    found = asked(data, ("groups", column), lambda: rows(data).select(level=text_of(rows(data)[column])).distinct())
    there = set(found["level"].to_pylist())
    return [name for name, levels in layout.groups() if there & set(levels)]


def group_rows(data: Confidential, layout: Layout, group: str) -> Any:
    """The rows of one group as an expression of the engine, in the canonical form that `to_panel` takes."""
    column, _ = layout.group_column if layout.group is not None else (None, None)
    levels = tuple(dict(layout.groups())[group]) if column is not None else ()

    def write() -> Any:
        table = rows(data)
        if column is not None:
            stored = table[column]
            table = table.filter((stored if stored.type().is_string() else text_of(stored)).isin(levels))
        return canonical(table, layout)

    key = ("panel", rows(data), layout.schema, layout.unit, layout.stored, column, levels)
    return engine_of(data).written(key, write)


def canonical(table: Any, layout: Layout) -> Any:
    """Ids and categories as text, numbers as floats, missing codes as missing."""
    unit = table[layout.unit]
    wanted = {layout.unit: unit if unit.type().is_integer() else text_of(unit)}
    for name in layout.stored:
        kind = layout.schema[name].kind
        wanted[name] = text_of(table[name]) if isinstance(kind, Categorical) else number_of(table[name])
    return table.select(**wanted)


def read_group(data: Confidential, layout: Layout, group: str) -> Panel:
    return to_panel(engine_of(data).collect(group_rows(data, layout, group)), layout)


def to_panel(table: pa.Table, layout: Layout) -> Panel:
    """The rows of a group, from any engine, as arrays."""
    table = table.combine_chunks()
    ids = table[layout.unit].combine_chunks().dictionary_encode()
    if isinstance(ids, pa.ChunkedArray):
        ids = ids.combine_chunks()
    unit = np.asarray(ids.indices.to_numpy(zero_copy_only=False), dtype=np.int64)
    names = ids.dictionary
    count = len(names)
    shown = np.zeros(count, dtype=np.int64)  # a row of each unit
    shown[unit] = np.arange(len(unit))
    if layout.period is None and count != len(unit):
        raise SchemaError(
            f"{layout.unit}: an id occurs more than once; a wide panel has one row per unit, so add the rows up, or "
            "declare a long file with period"
        )
    public, labels = {}, {}
    for name in layout.keep:
        codes = _codes(table, name, layout)
        _constant(codes, unit, shown, name, layout)
        public[name], labels[name] = _compact(codes[shown], layout.schema.levels(name))
    for name, column, digits in layout.coarser:
        short = [label[:digits] for label in labels[column]]
        distinct = sorted(set(short))
        to = np.array([distinct.index(one) for one in short], dtype=np.int64)
        public[name] = Column(to[public[column].values], len(distinct))
        labels[name] = tuple(distinct)
    rank = np.empty(count, dtype=np.int64)
    rank[pc.sort_indices(names).to_numpy()] = np.arange(count)
    order = np.lexsort([rank, *(public[name].values for name in reversed(layout.keep))])
    return _arranged(table, layout, unit, shown, order, public, labels)


def _arranged(
    table: pa.Table,
    layout: Layout,
    unit: Integers,
    shown: Integers,
    order: Integers,
    public: dict[str, Column],
    labels: dict[str, tuple[str, ...]],
) -> Panel:
    years, count = layout.years, len(order)
    at = np.empty(count, dtype=np.int64)
    at[order] = np.arange(count)
    values = {}
    there = np.zeros((len(years), count), dtype=bool)
    place = None if layout.period is None else _places(table, layout, at[unit], there)
    for one in layout.yearly:
        found = np.full((len(years), count), np.nan)
        for row, year in enumerate(years if place is None else years[:1]):
            column = one.column(year)
            numbers = _numbers(table, column, layout)
            if place is None:
                found[row] = numbers[order]
            else:
                inside = place >= 0
                found[place[inside], at[unit[inside]]] = numbers[inside]
        values[one.name] = found
        if place is None:
            there |= ~np.isnan(found)
    first = _span(table, layout, layout.first, unit, shown, there)[order if layout.first.stored else slice(None)]
    last = _span(table, layout, layout.last, unit, shown, there)[order if layout.last.stored else slice(None)]
    impossible = (first != MISSING) & (last != MISSING) & (last < first)
    panel = Panel(
        layout,
        count,
        {name: column.at(order) for name, column in public.items()},
        labels,
        np.where(impossible, MISSING, first),
        np.where(impossible, MISSING, last),
    )
    for name in layout.static:
        codes = _codes(table, name, layout)
        _constant(codes, unit, shown, name, layout)
        panel.static[name] = codes[shown][order]
    for change in layout.changes:
        numbers = _numbers(table, change.name, layout)[shown][order]
        panel.changed[change.name] = np.where(np.isnan(numbers), MISSING, numbers).astype(np.int64)
    panel.values = values
    panel.gaps = inner(panel) & ~there & (layout.period is not None)
    _edit(panel)
    return panel


def _edit(panel: Panel) -> None:
    """Values outside a life are not looked at, and those that break an edit are imputed like missing ones."""
    year = np.asarray(panel.layout.years)[:, None]
    outside = (year < panel.first) | (year > panel.last) | ~panel.known
    for values in panel.values.values():
        values[outside] = np.nan
    for ratio in panel.layout.ratios:
        values, other = panel.values[ratio.name], panel.values[ratio.other]
        with np.errstate(invalid="ignore"):
            values[(values < ratio.low * other) | (values > ratio.high * other)] = np.nan


def _places(table: pa.Table, layout: Layout, unit: Integers, there: Flags) -> Integers:
    """The year's position of each row, -1 outside the panel's years; marks which unit is there in which year."""
    stored = _numbers(table, str(layout.period), layout)
    place = np.where(np.isnan(stored), -1, stored - layout.years[0]).astype(np.int64)
    place[(place < 0) | (place >= len(layout.years))] = -1
    inside = place >= 0
    there[place[inside], unit[inside]] = True
    if np.count_nonzero(there) != np.count_nonzero(inside):
        raise SchemaError(f"{layout.period}: a unit has two rows for one year; add them up, or correct {layout.unit}")
    return place


def _span(table: pa.Table, layout: Layout, one: Span, unit: Integers, shown: Integers, there: Flags) -> Integers:
    """A stored year of each unit; else the first or last year in which it is there (in the order of the panel)."""
    if one.stored:
        stored = _numbers(table, one.name, layout)
        codes = np.where(np.isnan(stored), MISSING, stored).astype(np.int64)
        _constant(codes, unit, shown, one.name, layout)
        return np.asarray(codes[shown])
    ever = there.any(axis=0)
    found = there.argmax(axis=0) if one is layout.first else len(there) - 1 - there[::-1].argmax(axis=0)
    return np.where(ever, layout.years[0] + found, MISSING)


def _constant(codes: Integers, unit: Integers, shown: Integers, name: str, layout: Layout) -> None:
    if layout.period is not None and bool((codes != codes[shown][unit]).any()):
        raise SchemaError(f"{name}: rows of one unit disagree; give all rows of a unit the same value")


def _codes(table: pa.Table, name: str, layout: Layout) -> Integers:
    """Positions in the list of levels by the schema's rule; MISSING where a static variable was not observed."""
    kind: Categorical = layout.schema.categorical(name)
    stored = table[name].combine_chunks().dictionary_encode()
    if isinstance(stored, pa.ChunkedArray):
        stored = stored.combine_chunks()
    known = []
    for level in stored.dictionary.to_pylist():
        code = None if level in kind.missing_codes else kind.code_of(level)
        known.append(MISSING if code is None else code)
    codes = np.array([*known, MISSING], dtype=np.int64)
    places = stored.indices.fill_null(len(known)).to_numpy(zero_copy_only=False)
    found = codes[places.astype(np.int64)]
    if name in layout.keep and bool((found == MISSING).any()):
        raise SchemaError(f"{name}: a public value is missing or not among the declared levels; repair the file")
    return np.asarray(found)


def _compact(codes: Integers, levels: tuple[str, ...]) -> tuple[Column, tuple[str, ...]]:
    """Only the levels that occur in the group: they are public."""
    present, found = np.unique(codes, return_inverse=True)
    return Column(found.astype(np.int64), len(present)), tuple(levels[code] for code in present)


def _numbers(table: pa.Table, name: str, layout: Layout) -> Floats:
    """Numbers within their bounds, NaN where missing: what is missing is imputed, whatever the schema puts there."""
    kind = layout.schema[name].kind
    assert isinstance(kind, Integer | Numeric)
    found = np.array(table[name].to_numpy(), dtype=np.float64)
    if kind.missing_codes:
        found[np.isin(found, kind.missing_codes)] = np.nan
    return np.asarray(np.clip(found, kind.lower, kind.upper))


def all_groups(data: Confidential, layout: Layout) -> Iterator[tuple[str, Panel]]:
    """One group at a time: the file as a whole is never in memory."""
    for group in groups_of(data, layout):
        yield group, read_group(data, layout, group)
