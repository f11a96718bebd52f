"""What each published table asks of the rows: from a plan to exact cells, for any plan of tables of the package.

An `Asked` is one statistic of one table. Tables with several measures ask for each, because their units differ.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from tacita.data.confidential import Confidential
from tacita.data.schema import Schema
from tacita.data.workforce import workforce
from tacita.dossier.changes import exact_changes
from tacita.dossier.exact import (
    JOBS,
    RECORDS,
    TRUTH,
    Question,
    answered,
    answered_by,
    establishment_counts,
    unit_numbers,
)
from tacita.mechanisms.change import Change
from tacita.mechanisms.magnitude.base import MagnitudePlan
from tacita.mechanisms.magnitude.flows import CREATED, DESTROYED, NET, SmoothFlows
from tacita.mechanisms.table import Table
from tacita.mechanisms.table.levels import LEVEL, TableLevels
from tacita.plan import Plan
from tacita.release.mechanisms import JOB_MECHANISMS

By = tuple[str, ...]

LARGEST = "tacita_largest"
_BOTH = "tacita_both"


@dataclass(frozen=True, eq=False)
class Asked:
    """One statistic of a table. `exact` gives its cells by any of the table's attributes: levels, `TRUTH`, `RECORDS`,
    and `LARGEST` where the forecast speaks of the largest unit of a cell."""

    statistic: str
    unit: str
    """What errors are counted in."""
    exact: Callable[[By], pd.DataFrame]
    measure: str | None = None
    pieces: pd.DataFrame | None = None
    """One row per establishment and cell, where today's practice has methods for such tables."""
    amount: str = JOBS
    """The column of the pieces that is added up."""
    sized_in: str = "records"
    """What the size of a cell is counted in."""


def asked_by(plan: Plan[Any], data: Confidential) -> Iterator[Asked]:
    """The statistics of a table; none where the plan is of a kind that is not known here."""
    if isinstance(plan, Table):
        yield _of_any_file(plan, data)
    elif isinstance(plan, Change):
        units = f"{plan.neighbours.unit}s"
        for name, cells in exact_changes(plan, data).items():
            unit = name if name == "percent" else " to ".join(plan.of) or units
            yield Asked(plan.statistic, unit, cells, name, sized_in=units)
    elif isinstance(plan, MagnitudePlan):
        yield from _of_magnitudes(plan, data)
    elif type(plan).__name__ in JOB_MECHANISMS:
        yield _of_jobs(plan, data)


def _of_any_file(plan: Table, data: Confidential) -> Asked:
    question = Question(plan.statistic, plan.of, plan.attributes, plan.where, plan.weights, plan.shares)
    unit = "records" if plan.statistic == "count" and plan.weights is None else " over ".join(plan.of) or "weight"
    if plan.levels:
        return Asked(plan.statistic, unit, lambda by: levelled(answered(data, question), data.schema, plan.levels, by))
    return Asked(plan.statistic, unit, partial(answered_by, data, question))


def levelled(finest: pd.DataFrame, schema: Schema, names: Sequence[str], by: By) -> pd.DataFrame:
    """The cells of every level, table after table, with what their level is called."""
    attributes = tuple(name for name in by if name != LEVEL)
    levels = TableLevels.of(schema, attributes, names)
    codes = np.unravel_index(np.arange(len(finest)), [axis.sizes[0] for axis in levels.axes])
    tables = []
    for table, name in zip(levels.tables, levels.names, strict=True):
        axes = list(zip(levels.axes, table, codes, strict=True))
        shape = [axis.sizes[at] for axis, at, _ in axes]
        place = np.ravel_multi_index([axis.levels[at][code] for axis, at, code in axes], shape)
        size = int(np.prod(shape))
        own = np.unravel_index(np.arange(size), shape)
        keys = {
            column: np.array(levels.codes[position][at], dtype=object)[own[position]]
            for position, (column, at) in enumerate(zip(attributes, table, strict=True))
        }
        sums = {one: np.bincount(place, finest[one].to_numpy(np.float64), size) for one in (TRUTH, RECORDS)}
        tables.append(pd.DataFrame({LEVEL: name, **keys, **sums}))
    return pd.concat(tables, ignore_index=True)


def _of_magnitudes(plan: MagnitudePlan, data: Confidential) -> Iterator[Asked]:
    columns = {name: (name,) for name in plan.of}
    pieces = unit_numbers(data, plan.by, columns, data.schema.id_for(plan.unit))
    if isinstance(plan, SmoothFlows):
        before, after = (pieces[name] for name in plan.of)
        pieces = pieces.assign(
            **{
                CREATED: (after - before).clip(lower=0),
                DESTROYED: (before - after).clip(lower=0),
                NET: after - before,
                _BOTH: after + before,
            }
        )
        for name in (CREATED, DESTROYED, NET):
            # The forecast speaks of creation and destruction; what is left of both has a law of its own.
            exact = _summed(pieces, name, None if name == NET else _BOTH)
            yield Asked("flows", plan.of[1], exact, name, sized_in=f"{plan.unit}s")
        return
    for name in plan.of:
        measure = name if len(plan.of) > 1 else None
        yield Asked("sum", name, _summed(pieces, name, name), measure, pieces, name, f"{plan.unit}s")


def _summed(pieces: pd.DataFrame, amount: str, size: str | None) -> Callable[[By], pd.DataFrame]:
    largest = {} if size is None else {LARGEST: (size, "max")}

    def exact(by: By) -> pd.DataFrame:
        grouped = pieces.assign(tacita_all="").groupby(list(by) or ["tacita_all"], sort=False)
        return grouped.agg(**{TRUTH: (amount, "sum"), RECORDS: (amount, "size")}, **largest).reset_index()

    return exact


def _of_jobs(plan: Any, data: Confidential) -> Asked:
    worker = tuple(getattr(plan, "worker", ()))
    where = {name: tuple(levels) for name, levels in dict(getattr(plan, "where", ()) or {}).items()}
    pieces = establishment_counts(data, plan.by, worker, where)
    summed = _summed(pieces, JOBS, None)

    def exact(by: By) -> pd.DataFrame:
        cells = summed(by)
        cells[RECORDS] = cells[TRUTH]
        if not by or by != (*plan.by, *worker):
            return cells
        return cells.merge(_largest(plan, data, worker, where), on=list(by))

    return Asked("count", "jobs", exact, None, pieces, sized_in="jobs")


def _largest(plan: Any, data: Confidential, worker: By, where: dict[str, By]) -> pd.DataFrame:
    """What the noise of each cell follows: its largest establishment, whole under the strong definition."""
    counted = workforce(data, plan.by, worker=worker, where=where)
    cells, columns = counted.counts.shape
    strong = getattr(plan, "definition", "strong") == "strong"
    largest = np.repeat(counted.largest_total, columns) if strong else counted.largest.ravel()
    keys = {
        name: np.repeat(np.array(data.schema.levels(name), dtype=object)[code], columns)
        for name, code in counted.keys.items()
    }
    shape = [len(data.schema.levels(name)) for name in worker]
    for name, code in zip(worker, np.unravel_index(np.arange(columns), shape) if worker else (), strict=True):
        keys[name] = np.tile(np.array(data.schema.levels(name), dtype=object)[code], cells)
    return pd.DataFrame({**keys, LARGEST: largest.astype(np.float64)})
