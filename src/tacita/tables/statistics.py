"""The published table of any statistic: levels and labels, value, margin, confidence, guarantee, quality mark.

Values that can be added up (counts, sums) may have totals, marked in a column `level`, so that nobody adds a total to
its parts. Post-processing only.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tacita.data.schema import Schema
from tacita.errors import UsageError
from tacita.measured import Measurements
from tacita.mechanisms.table.levels import LEVEL
from tacita.noise.combination import margin as combined
from tacita.tables.consistency import consistent
from tacita.tables.estimates import Estimates, estimated
from tacita.tables.levels import level_estimates
from tacita.tables.public_totals import PublicTotals, calibrated, refuse_public_totals
from tacita.tables.summed import refuse_levels, summed_levels

Floats = NDArray[np.float64]

TOTAL = "Total"
CELL_LEVEL, TOTAL_LEVEL = "cell", "total"
# Marks by margin over value, as users of official tables know them; D is for values hardly to be told from nothing.
_MARKS = ((0.05, "A"), (0.2, "B"), (0.5, "C"))
WITHHELD = "withheld"
RANKS = ("rank", "rank_best", "rank_worst")


def statistic_table(
    result: Measurements,
    schema: Schema,
    *,
    confidence: float,
    integers: bool = True,
    nonnegative: bool = True,
    totals: Sequence[str] = (),
    levels: Sequence[str] = (),
    rank: bool = False,
    withhold: float | None = None,
    agreed: Estimates | None = None,
    public_totals: PublicTotals | None = None,
) -> pa.Table:
    """One row per cell in the declared order of levels, then the totals, if asked for."""
    if public_totals:
        refuse_public_totals(result.plan, {"totals": totals, "rank": rank, "agree": agreed}, public_totals, schema)
    if result.plan.get("levels") or levels:
        refuse_levels({"totals": totals, "rank": rank})
        rounding = {"nonnegative": nonnegative, "integers": integers}
        if result.plan.get("levels"):
            found, names = level_estimates(result, schema, confidence, **rounding)
        else:
            found, names = summed_levels(
                estimated(result, confidence), schema, levels, partial(_added_up, confidence=confidence), **rounding
            )
        table = _rows(found, schema, result, confidence, integers, rank, withhold)
        return table.add_column(0, LEVEL, pa.array(names))
    found = estimated(result, confidence) if agreed is None else agreed
    if public_totals:
        found = calibrated(found, public_totals, schema, confidence, nonnegative=nonnegative)
        return _rows(found, schema, result, confidence, integers, rank, withhold)
    if rank and found.parts is not None:
        raise UsageError("rank: several numbers of a cell cannot be ranked together; leave rank out")
    if totals and not found.additive:
        raise UsageError(f"totals: are for counts and sums; a {result.statistic} of all cells is no sum of theirs")
    if stranger := [name for name in totals if name not in found.keys]:
        raise UsageError(f"totals: {stranger[0]} is no attribute of this table; name some of {', '.join(found.keys)}")
    sums = None
    if totals and set(totals) != set(found.keys):
        group = _group(found, totals, schema)
        sums = _sums(found, totals, group, confidence)
        if nonnegative and np.all(np.asarray(found.bounds[0]) >= 0):
            found = replace(found, value=consistent(found.value, group, integers=integers and found.whole))
    elif nonnegative and found.additive:
        found = replace(found, value=np.clip(found.value, *found.bounds))
    table = _rows(found, schema, result, confidence, integers, rank, withhold)
    if not totals:
        return table
    parts = [table.append_column("level", pa.repeat(CELL_LEVEL, table.num_rows))]
    if sums is not None:
        if nonnegative:
            sums = replace(sums, value=np.clip(sums.value, *sums.bounds))
        more = _rows(sums, schema, result, confidence, integers, rank, withhold)
        more = _with_totals(more, table, sums)
        parts.append(more.append_column("level", pa.repeat(TOTAL_LEVEL, more.num_rows)))
    return pa.concat_tables(parts)


def half_length(value: Floats, possible: tuple[Floats, Floats], measured: tuple[Floats, Floats]) -> Floats:
    """The margin of a published value: as far as the interval goes within what is possible. A value beyond that is
    published as the nearest that can be and is no surer for it, so no margin is shorter than half of what was measured.

    >>> half_length(np.array([0.0]), (np.array([0.0]), np.array([-293.0])), (np.array([-307.0]), np.array([-293.0])))
    array([7.])
    """
    reach = np.maximum(possible[1] - value, value - possible[0])
    return np.asarray(np.maximum(reach, (measured[1] - measured[0]) / 2))


def _rows(
    found: Estimates,
    schema: Schema,
    result: Measurements,
    confidence: float,
    integers: bool,
    rank: bool,
    withhold: float | None,
) -> pa.Table:
    columns: dict[str, pa.Array] = {}
    for name, code in found.keys.items():
        listed, labels = found.listed.get(name) or (schema.levels(name), schema.categorical(name).labels)
        columns[name] = pa.array(listed).take(pa.array(code))
        if labels != listed:
            columns[f"{name}_label"] = pa.array(labels).take(pa.array(code))
    if found.parts is not None:
        columns[found.parted_by] = pa.array(found.parts)
    low, high = np.maximum(found.lower, found.bounds[0]), np.minimum(found.upper, found.bounds[1])
    half = half_length(found.value, (low, high), (found.lower, found.upper))
    shown = np.isfinite(found.value)
    bounded = np.isfinite(half) & shown
    marks = marks_of(found.value, half, bounded)
    if withhold is not None:
        hidden = ~bounded | (half > withhold * np.abs(np.where(shown, found.value, 0.0)))
        shown, bounded = shown & ~hidden, bounded & ~hidden
        marks = np.where(hidden, WITHHELD, marks)
    columns |= _numbers(found, half, shown, bounded, integers)
    columns["confidence"] = pa.array(np.full(found.value.size, confidence))
    columns["guarantee"] = pa.repeat(result.guarantee, found.value.size)
    columns["quality"] = pa.array(marks.tolist(), pa.string())
    if rank:
        placed = ranks(np.where(shown, found.value, -np.inf), low, high)
        columns |= {name: pa.array(place.to_numpy(), mask=~shown) for name, place in placed.items()}
    return pa.table(columns)


def _numbers(
    found: Estimates, half: Floats, shown: NDArray[np.bool_], bounded: NDArray[np.bool_], integers: bool
) -> dict[str, pa.Array]:
    """Values and margins with as many digits as the margin leaves meaningful: three of the margin's own, and three of
    the value's where it has no margin."""
    if found.whole and integers:
        value = np.rint(np.where(shown, found.value, 0)).astype(np.int64)
        half = half + np.abs(value - np.where(shown, found.value, 0))
        margin = np.ceil(np.where(bounded, half, 0))
        return {"value": pa.array(value, mask=~shown), "margin_of_error": pa.array(margin, mask=~bounded)}
    known = np.where(bounded, half, np.where(shown, np.abs(found.value), 0.0))
    safe = np.where(known > 0, known, 1.0)
    places = np.clip(2 - np.floor(np.log10(safe)), -12, 15).astype(np.int64)
    if found.places is not None:
        places = np.full(places.size, found.places)
    if found.decimals is not None:
        places = np.minimum(places, found.decimals)
    unit = 10.0 ** -places.astype(np.float64)
    value = np.round(np.where(shown, found.value, 0) / unit) * unit + 0.0  # never −0
    half = half + np.abs(value - np.where(shown, found.value, 0))  # rounding is an error too
    margin = np.ceil(np.where(bounded, half, 0) / unit - 1e-9) * unit + 0.0
    digits = np.maximum(places, 0)
    value = np.array([round(one, at) for one, at in zip(value.tolist(), digits.tolist(), strict=True)])
    margin = np.array([round(one, at) for one, at in zip(margin.tolist(), digits.tolist(), strict=True)])
    return {
        "value": pa.array(value, pa.float64(), mask=~shown),
        "margin_of_error": pa.array(margin, pa.float64(), mask=~bounded),
    }


def marks_of(value: Floats, half: Floats, bounded: NDArray[np.bool_]) -> NDArray[Any]:
    """Quality marks of values with these margins, where they have one."""
    size = np.abs(np.where(np.isfinite(value), value, 0.0))
    relative = np.where(bounded & (size > 0), half / np.where(size > 0, size, 1.0), np.inf)
    marks: NDArray[Any] = np.full(value.size, "D", dtype=object)
    for most, mark in reversed(_MARKS):
        marks[relative <= most] = mark
    return marks


def _group(found: Estimates, names: Sequence[str], schema: Schema) -> NDArray[np.int64]:
    group = np.zeros(found.value.size, dtype=np.int64)
    if found.parts is not None:
        group = np.unique(found.parts, return_inverse=True)[1].astype(np.int64)
    for name in names:
        group = group * len(schema.levels(name)) + found.keys[name]
    return group


def _sums(found: Estimates, names: Sequence[str], group: NDArray[np.int64], confidence: float) -> Estimates:
    """Totals over the attributes that are not named."""
    _, first = np.unique(group, return_index=True)
    return replace(_added_up(found, group, confidence), keys={name: found.keys[name][first] for name in names})


def _added_up(found: Estimates, group: NDArray[np.int64], confidence: float) -> Estimates:
    """Sums of the cells of each group: the errors of their parts are independent, or feared to be one."""
    _, first, member = np.unique(group, return_index=True, return_inverse=True)
    total = np.bincount(member, weights=found.value).astype(np.float64)
    assert found.variance is not None  # every additive estimate has one
    added = np.bincount(member, weights=np.sqrt(found.variance) if found.together else found.variance)
    variance = (added**2 if found.together else added).astype(np.float64)
    number = np.bincount(member)
    half = combined(confidence, [(variance, found.kurtosis / float(number.max(initial=1)))])
    # What lies above a clamp is no noise that averages out: it is added up.
    noise = combined(confidence, [(found.variance, found.kurtosis)])
    low, high = (
        np.bincount(member, weights=np.maximum(one, 0))
        for one in (found.value - found.lower - noise, found.upper - found.value - noise)
    )
    spread = np.sqrt(np.maximum(number, 1))
    slack = 1e-9 * half
    least, most = (np.broadcast_to(one, found.value.size)[first] for one in found.bounds)
    return replace(
        found,
        bounds=(least, most),
        parts=None if found.parts is None else tuple(found.parts[at] for at in first),
        value=total,
        lower=total - half - np.where(low > slack, low / spread, 0),
        upper=total + half + np.where(high > slack, high / spread, 0),
        variance=variance,
    )


def _with_totals(more: pa.Table, table: pa.Table, sums: Estimates) -> pa.Table:
    """The columns of the cells, "Total" where an attribute was summed over."""
    columns = {}
    for column in table.schema:
        if column.name in more.column_names:
            columns[column.name] = more[column.name].cast(column.type)
        else:
            columns[column.name] = pa.repeat(TOTAL, more.num_rows)
        if column.name in RANKS and column.name not in sums.keys:
            columns[column.name] = pa.nulls(more.num_rows, column.type)
    return pa.table(columns)


def ranks(values: Floats, lower: Floats, upper: Floats) -> dict[str, pa.Array]:
    """Rank by published value, and the best and worst rank that the intervals leave open."""
    lower, upper = np.minimum(lower, values), np.maximum(upper, values)
    order = np.argsort(-values, kind="stable")
    place = np.empty(values.size, dtype=np.int64)
    place[order] = np.arange(1, values.size + 1)
    above = values.size - np.searchsorted(np.sort(lower), upper, side="right")
    not_below = values.size - np.searchsorted(np.sort(upper), lower, side="left")
    return {"rank": pa.array(place), "rank_best": pa.array(above + 1), "rank_worst": pa.array(not_below)}
