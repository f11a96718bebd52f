"""The table a reader sees: codes and labels, value, margin of error, confidence, guarantee."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tacita.data.schema import Schema
from tacita.errors import UsageError
from tacita.measured import Measured, Measurements
from tacita.mechanisms.table.levels import LEVEL
from tacita.privacy import exact
from tacita.tables.consistency import consistent
from tacita.tables.estimates import Estimates
from tacita.tables.public_totals import PublicTotals
from tacita.tables.statistics import RANKS, TOTAL, half_length, ranks, statistic_table
from tacita.tables.summed import refuse_levels, summed_levels

PARTS = ("quantile", "measure")  # columns that tell several numbers of one cell apart


def _sum_allowance(confidence: float) -> float:
    """What the margin of a sum needs beyond the root of summed squares.

    Errors of many cells add up like those of a sum of independent draws. Where tails are heavier than the normal
    law's, single margins understate the sum's: at 95 percent hardly, at 80 percent by a third.
    """
    return 1.1 + 2 * max(0.0, 0.95 - confidence)


def publish(
    result: Measured | Measurements,
    schema: Schema,
    *,
    integers: bool = True,
    nonnegative: bool = True,
    totals: Sequence[str] = (),
    levels: Sequence[str] | None = None,
    rank: bool = False,
    confidence: str | float = "0.95",
    cells_twice: bool = False,
    withhold: str | float | None = None,
    agreed: Estimates | None = None,
    public_totals: PublicTotals | None = None,
) -> pa.Table:
    """One row per cell in the declared order of levels, then the totals: sums over the attributes that `totals` leaves
    out, which say "Total" there. Where it names all of them there is nothing to sum, and no total; `cells_twice` has
    the cells once more instead, as the first releases had them, for checking those.

    With `totals`, cells are moved together so that they are not negative and add up to their totals. Without,
    a negative cell is set to zero on its own, which leaves sums of many small cells slightly too high. `withhold`
    leaves out values whose margin is wider than this share of them, such as "50%". `agreed` are the cells as they agree
    with other tables (`tacita.tables.together`), in place of those that this result alone gives. `public_totals` are
    known sums of cells by the levels of one column, such as {"region": {"N": 1200, "S": 800}}: cells add up to them.
    `levels` are coarser levels of the schema's trees, published before the cells as sums of them; a plan that measures
    levels itself has them without being told.
    """
    level = float(exact(str(confidence), "confidence"))
    if not 0 < level < 1:
        raise UsageError('confidence: must lie strictly between 0 and 1, such as "0.95"')
    if isinstance(result, Measurements):
        return statistic_table(
            result,
            schema,
            confidence=level,
            integers=integers,
            nonnegative=nonnegative,
            totals=totals,
            levels=levels or (),
            rank=rank,
            withhold=None if withhold is None else as_share(withhold),
            agreed=agreed,
            public_totals=public_totals,
        )
    for key, given in (("withhold", withhold), ("public_totals", public_totals)):
        if given:
            raise UsageError(f"{key}: is for tables made by a statistic; leave it out")
    codes = _codes(result, schema)
    if stranger := [name for name in totals if name not in codes]:
        raise UsageError(f"totals: {stranger[0]} is no attribute of this table; name some of {', '.join(codes)}")
    if levels:
        refuse_levels({"totals": totals, "rank": rank})
        return _levels_table(result, schema, codes, levels, level, nonnegative=nonnegative, integers=integers)
    totals = totals if cells_twice or set(totals) != set(codes) else ()
    values = result.values.astype(np.float64).ravel()
    lower, upper = (end.ravel() for end in result.intervals(level))
    published, sums, measured = values, None, (lower, upper)
    if totals:
        group = _group(codes, totals, schema)
        sums = _sums(codes, totals, group, values, lower, upper, level, nonnegative=nonnegative)
        if nonnegative:
            published = consistent(values, group, integers=integers)
    elif nonnegative:
        published = np.maximum(values, 0)
    if nonnegative:
        lower = np.maximum(lower, 0)
    margin = half_length(published, (lower, upper), measured)
    columns: dict[str, pa.Array] = {}
    for name, code in codes.items():
        listed = schema.levels(name)
        columns[name] = pa.array(listed).take(pa.array(code))
        labels = schema.categorical(name).labels
        if labels != listed:
            columns[f"{name}_label"] = pa.array(labels).take(pa.array(code))
    columns["value"] = _numbers(published, integers)
    columns["margin_of_error"] = pa.array(_finite(margin))
    columns["confidence"] = pa.array(np.full(published.size, level))
    columns["guarantee"] = pa.repeat(result.guarantee, published.size)
    if rank:
        # Cells that were moved together may have left their own interval; the ranks left open include where they are.
        columns |= ranks(published, lower, upper)
    table = pa.table(columns)
    return (
        table if sums is None else pa.concat_tables([table, _total_rows(sums, table, result, schema, integers, level)])
    )


def _levels_table(
    result: Measured,
    schema: Schema,
    codes: dict[str, NDArray[np.int64]],
    names: Sequence[str],
    confidence: float,
    *,
    nonnegative: bool,
    integers: bool,
) -> pa.Table:
    """The rows of every level, coarsest first: what each adds up from the cells that were measured."""
    lower, upper = (end.ravel() for end in result.intervals(confidence))
    values = result.values.astype(np.float64).ravel()
    floor = 0.0 if nonnegative else -np.inf
    cells = Estimates(codes, values, lower, upper, additive=True, whole=True, bounds=(floor, np.inf))
    found, level = summed_levels(
        cells, schema, names, partial(_added_up, confidence=confidence), nonnegative=nonnegative, integers=integers
    )
    margin = half_length(found.value, (np.maximum(found.lower, floor), found.upper), (found.lower, found.upper))
    columns: dict[str, pa.Array] = {LEVEL: pa.array(level)}
    for name, code in found.keys.items():
        listed, labels = found.listed[name]
        columns[name] = pa.array(listed).take(pa.array(code))
        if labels != listed:
            columns[f"{name}_label"] = pa.array(labels).take(pa.array(code))
    columns["value"] = _numbers(found.value, integers)
    columns["margin_of_error"] = pa.array(_finite(margin))
    columns["confidence"] = pa.array(np.full(margin.size, confidence))
    columns["guarantee"] = pa.repeat(result.guarantee, margin.size)
    return pa.table(columns)


def _added_up(cells: Estimates, group: NDArray[np.int64], confidence: float) -> Estimates:
    """Sums of the cells of each group. A cell by itself keeps its interval."""
    alone = np.bincount(group) == 1
    first = np.unique(group, return_index=True)[1]
    total, half = _sum_and_margin(group, cells.value, cells.lower, cells.upper, confidence)
    lower, upper = np.where(alone, cells.lower[first], total - half), np.where(alone, cells.upper[first], total + half)
    least, most = (np.broadcast_to(one, group.shape)[first] for one in cells.bounds)
    return replace(cells, value=total, lower=lower, upper=upper, bounds=(least, most))


def as_share(given: str | float) -> float:
    """A share, in percent or as a number.

    >>> as_share("50%"), as_share("0.3")
    (0.5, 0.3)
    """
    text = str(given).strip()
    share = float(exact(text.removesuffix("%").strip(), "withhold")) / (100 if text.endswith("%") else 1)
    if share <= 0:
        raise UsageError('withhold: must be above 0, such as "50%"')
    return share


def attributes(table: pa.Table) -> tuple[str, ...]:
    """The columns of a published table that tell its cells apart.

    >>> attributes(pa.table({"place": ["01"], "place_label": ["A"], "sex": ["F"], "value": [3]}))
    ('place', 'sex')
    """
    # A quantile is one of several numbers of a cell, and tells rows apart like an attribute.
    names = table.column_names[: table.column_names.index("value")]
    return tuple(name for name in names if not (name.endswith("_label") and name.removesuffix("_label") in names))


def summed_over(table: pa.Table, totals: Sequence[str]) -> tuple[str, ...]:
    """The attributes that say "Total" in the rows of totals; none where the table has no such rows."""
    return tuple(name for name in attributes(table) if totals and name not in (*totals, *PARTS))


def finest_level(table: pa.Table) -> str | None:
    """What the finest cells of a table of several levels say in its column `level`; None where it has no levels."""
    return str(table[LEVEL][-1].as_py()) if LEVEL in attributes(table) and table.num_rows else None


def without_totals(table: pa.Table, totals: Sequence[str]) -> pa.Table:
    """The cells alone: a total beside its own parts would count twice, and so would a level beside a finer one."""
    if (finest := finest_level(table)) is not None:
        return table.filter(pa.array([level == finest for level in table[LEVEL].to_pylist()]))
    is_cell = np.ones(table.num_rows, dtype=bool)
    for name in summed_over(table, totals):
        is_cell &= np.array([code != TOTAL for code in table[name].to_pylist()], dtype=bool)
    return table.filter(pa.array(is_cell))


def _codes(result: Measured, schema: Schema) -> dict[str, NDArray[np.int64]]:
    """Level codes of every cell: workplace attributes repeated over the cross of worker attributes."""
    rows, cells = result.values.shape
    codes = {name: np.repeat(code.astype(np.int64), cells) for name, code in result.keys.items()}
    sizes = [len(schema.levels(name)) for name in result.worker]
    if sizes:
        cross = np.unravel_index(np.arange(cells), sizes)
        codes |= {name: np.tile(code, rows) for name, code in zip(result.worker, cross, strict=True)}
    return codes


def _group(codes: dict[str, NDArray[np.int64]], names: Sequence[str], schema: Schema) -> NDArray[np.int64]:
    group = np.zeros(next(iter(codes.values())).size, dtype=np.int64)
    for name in names:
        group = group * len(schema.levels(name)) + codes[name]
    return group


def _sums(
    codes: dict[str, NDArray[np.int64]],
    names: Sequence[str],
    group: NDArray[np.int64],
    values: NDArray[np.float64],
    lower: NDArray[np.float64],
    upper: NDArray[np.float64],
    confidence: float,
    *,
    nonnegative: bool,
) -> tuple[dict[str, NDArray[np.int64]], NDArray[np.float64], NDArray[np.float64]]:
    _, first, member = np.unique(group, return_index=True, return_inverse=True)
    total, margin = _sum_and_margin(member, values, lower, upper, confidence)
    return {name: codes[name][first] for name in names}, np.maximum(total, 0.0) if nonnegative else total, margin


def _sum_and_margin(
    member: NDArray[np.int64],
    values: NDArray[np.float64],
    lower: NDArray[np.float64],
    upper: NDArray[np.float64],
    confidence: float,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    half = np.maximum(upper - values, values - lower)
    spread = _sum_allowance(confidence) * np.sqrt(np.bincount(member, weights=half**2))
    return np.bincount(member, weights=values).astype(np.float64), spread


def _total_rows(
    sums: tuple[dict[str, NDArray[np.int64]], NDArray[np.float64], NDArray[np.float64]],
    table: pa.Table,
    result: Measured,
    schema: Schema,
    integers: bool,
    confidence: float,
) -> pa.Table:
    kept, total, margin = sums
    count = total.size
    columns: dict[str, pa.Array] = {}
    for column in table.schema:
        name = column.name.removesuffix("_label")
        if column.name == "value":
            columns["value"] = _numbers(total, integers)
        elif column.name == "margin_of_error":
            columns["margin_of_error"] = pa.array(_finite(margin))
        elif column.name == "confidence":
            columns["confidence"] = pa.array(np.full(count, confidence))
        elif column.name == "guarantee":
            columns["guarantee"] = pa.repeat(result.guarantee, count)
        elif column.name in RANKS:
            columns[column.name] = pa.nulls(count, column.type)
        elif name in kept:
            shown = schema.categorical(name).labels if column.name.endswith("_label") else schema.levels(name)
            columns[column.name] = pa.array(shown).take(pa.array(kept[name]))
        else:
            columns[column.name] = pa.repeat(TOTAL, count)
    return pa.table(columns)


def _numbers(values: NDArray[np.float64], integers: bool) -> pa.Array:
    return pa.array(np.rint(values).astype(np.int64)) if integers else pa.array(values)


def _finite(margin: NDArray[np.float64]) -> pa.Array:
    """Margins rounded up; none where nothing public bounds the noise."""
    shown = np.where(np.isfinite(margin), np.ceil(np.where(np.isfinite(margin), margin, 0)), 0)
    return pa.array(shown, mask=~np.isfinite(margin))
