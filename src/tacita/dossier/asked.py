"""What each published table asks of the rows: from a plan to exact cells, for any plan of tables of the package.

An `Asked` is one statistic of one table. Tables with several measures ask for each, because their units differ.

`foretold` is what the forecast said of each cell before any data, once what it depends on is known. A forecast speaks
in terms of what is secret then: the largest unit of a cell, the limit at which numbers are clamped, how many records a
cell has. Inside the office these can be put in.

`methods_for` is what today's practice would have made of the same table: errors of methods without a guarantee. Counts
of any records: random rounding, and small counts withheld. Jobs and sums of establishments: noise infusion, and cell
suppression by the p% rule. Other statistics have no method that an office would recognise, and the page says so.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from tacita.data.confidential import Confidential
from tacita.data.schema import Schema
from tacita.data.workforce import workforce
from tacita.dossier.exact import (
    ID,
    JOBS,
    RECORDS,
    TRUTH,
    Question,
    answered_by,
    establishment_counts,
    exact_changes,
    unit_numbers,
)
from tacita.mechanisms.change import Change
from tacita.mechanisms.comparators import NoiseInfusion, RandomRounding, SuppressAndRound, with_secondary
from tacita.mechanisms.magnitude.base import MagnitudePlan
from tacita.mechanisms.magnitude.flows import CREATED, DESTROYED, NET, SmoothFlows
from tacita.mechanisms.magnitude.growth import CHANGE, EARLIER, LATER, PERCENT, SmoothGrowth
from tacita.mechanisms.slow import SlowSums
from tacita.mechanisms.table import Table
from tacita.mechanisms.table.levels import LEVEL, TableLevels
from tacita.noise.entropy import SeededEntropy
from tacita.plan import Plan
from tacita.release.mechanisms import JOB_MECHANISMS
from tacita.tables.summed import levels_of

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


def asked_by(plan: Plan[Any], data: Confidential, levels: Sequence[str] = ()) -> Iterator[Asked]:
    """The statistics of a table, at these levels too; none where the plan is of a kind that is not known here."""
    for asked in _asked(plan, data):
        yield replace(asked, exact=partial(levelled, asked.exact, data.schema, levels)) if levels else asked


def _asked(plan: Plan[Any], data: Confidential) -> Iterator[Asked]:
    if isinstance(plan, Table):
        yield _of_any_file(plan, data)
    elif isinstance(plan, Change):
        units = f"{plan.neighbours.unit}s"
        for name, cells in exact_changes(plan, data).items():
            unit = name if name == "percent" else " to ".join(plan.of) or units
            yield Asked(plan.statistic, unit, cells, name, sized_in=units)
    elif isinstance(plan, MagnitudePlan):
        yield from _of_magnitudes(plan, data)
    elif isinstance(plan, SlowSums):
        # Its forecast speaks of the sum itself, so no size of the largest unit goes with it.
        pieces = _pieces(plan, (plan.of,), data)
        yield Asked("sum", plan.of, _summed(pieces, plan.of, None), None, pieces, plan.of, f"{plan.unit}s")
    elif type(plan).__name__ in JOB_MECHANISMS:
        yield _of_jobs(plan, data)


def _of_any_file(plan: Table, data: Confidential) -> Asked:
    question = Question(plan.statistic, plan.of, plan.attributes, plan.where, plan.weights, plan.shares)
    unit = "records" if plan.statistic == "count" and plan.weights is None else " over ".join(plan.of) or "weight"
    return Asked(plan.statistic, unit, partial(answered_by, data, question))


def levelled(cells: Callable[[By], pd.DataFrame], schema: Schema, names: Sequence[str], by: By) -> pd.DataFrame:
    """The cells of every level, table after table, with what their level is called. Answers to other questions than
    levels are those of `cells`."""
    if LEVEL not in by:
        return cells(by)
    levels = TableLevels.of(schema, tuple(name for name in by if name != LEVEL), names)
    finest = cells(levels.by)
    keys = {name: np.array([schema.levels(name).index(one) for one in finest[name]], np.int64) for name in levels.by}
    tables = []
    for level in levels_of(levels, keys):
        codes = {name: np.array(levels.listed(name), dtype=object)[code] for name, code in level.keys.items()}
        sums: dict[str, NDArray[Any]] = {
            one: np.bincount(level.group, finest[one].to_numpy(np.float64)) for one in (TRUTH, RECORDS)
        }
        if LARGEST in finest:
            sums[LARGEST] = np.zeros(sums[TRUTH].size)
            np.maximum.at(sums[LARGEST], level.group, finest[LARGEST].to_numpy(np.float64))
        tables.append(pd.DataFrame({LEVEL: level.name, **codes, **sums}))
    return pd.concat(tables, ignore_index=True)


def _pieces(plan: MagnitudePlan | SlowSums, of: By, data: Confidential) -> pd.DataFrame:
    """The numbers of every unit that the table is of, with the levels of its cell."""
    attributes = tuple(dict.fromkeys((*plan.by, *plan.where)))
    pieces = unit_numbers(data, attributes, {name: (name,) for name in of}, data.schema.id_for(plan.unit))
    for name, levels in plan.where.items():
        pieces = pieces[pieces[name].isin(levels)]
    return pieces.drop(columns=[name for name in plan.where if name not in plan.by]).reset_index(drop=True)


def _of_magnitudes(plan: MagnitudePlan, data: Confidential) -> Iterator[Asked]:
    pieces = _pieces(plan, plan.of, data)
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
    if isinstance(plan, SmoothGrowth):
        before, after = (pieces[name] for name in plan.of)
        pieces = pieces.assign(**{EARLIER: before, LATER: after, CHANGE: after - before})
        for name in (EARLIER, LATER, CHANGE):
            # The forecast speaks of the total of each year; the change follows from both.
            yield Asked("growth", plan.of[1], _summed(pieces, name, None if name == CHANGE else name), name,
                        sized_in=f"{plan.unit}s")  # fmt: skip
        yield Asked("growth", PERCENT, partial(_percent, pieces), PERCENT, sized_in=f"{plan.unit}s")
        return
    for name in plan.of:
        measure = name if len(plan.of) > 1 else None
        yield Asked("sum", name, _summed(pieces, name, name), measure, pieces, name, f"{plan.unit}s")


def _percent(pieces: pd.DataFrame, by: By) -> pd.DataFrame:
    """The change in percent of the earlier total; no number where that is nothing."""
    earlier, change = (_summed(pieces, name, None)(by) for name in (EARLIER, CHANGE))
    base = earlier[TRUTH].to_numpy(np.float64)
    with np.errstate(divide="ignore", invalid="ignore"):
        return change.assign(**{TRUTH: np.where(base > 0, 100 * change[TRUTH] / base, np.nan)})


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


# ---------------------------------------------------------------- what the forecast said of each cell


Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Foretold:
    """The typical error of every cell, NaN where nothing was said; the median of errors, or else their mean."""

    error: Floats
    is_median: bool


def foretold(plan: Any, record: Mapping[str, Any], level: str | None, cells: pd.DataFrame) -> Foretold | None:
    """`record` is what plan.json says of the table; None where the forecast names no figure for it."""
    figures = record["forecast"].get("figures", {})
    if getattr(plan, "statistic", "") == "share" or "median_error_in_clamps_below" in figures:
        return None  # figures of parts: of weights, or of a numerator and a denominator
    records = cells[RECORDS].to_numpy(dtype=np.float64)
    unknown = np.full(len(cells), np.nan)
    for name in ("median_error", f"median_error, {level}"):
        if name in figures:
            clamp = _clamp(record) if level is not None and _in_clamps(record) else 1.0
            return Foretold(np.full(len(cells), figures[name] * clamp), is_median=True)
    if "median_error_at_1000" in figures:
        typical = 1000 * figures["median_error_at_1000"]
        return Foretold(np.divide(typical, records, out=unknown, where=records > 0), is_median=True)
    if "median_error_in_clamps" in figures:
        statistic = getattr(plan, "statistic", "")
        typical = figures["median_error_in_clamps"] * _clamp(record) ** (2 if statistic == "variance" else 1)
        if statistic not in ("mean", "variance"):
            return Foretold(np.full(len(cells), typical), is_median=True)
        return Foretold(np.divide(typical, records, out=unknown, where=records > 0), is_median=True)
    if "typical_error" in figures:
        return Foretold(np.full(len(cells), figures["typical_error"]), is_median=False)
    if "typical_relative_error" in figures:
        return Foretold(figures["typical_relative_error"] * cells[TRUTH].to_numpy(np.float64), is_median=False)
    if LARGEST not in cells:
        return None
    largest = cells[LARGEST].to_numpy(dtype=np.float64)
    if "typical_error_of_largest" in figures:
        return Foretold(figures["typical_error_of_largest"] * largest, is_median=False)
    if "typical_error_in_S" in figures:
        scale = np.maximum(float(plan.alpha) * largest, figures["floor"])
        return Foretold(figures["typical_error_in_S"] * scale, is_median=False)
    return None


def _clamp(record: Mapping[str, Any]) -> float:
    """The limit that was bought, as it was released beside the noisy numbers."""
    facts = [one for one in record["noise"].values() if isinstance(one, dict) and "upper" in one]
    return max((max(abs(one["lower"]), abs(one["upper"])) for one in facts), default=np.nan)


def _in_clamps(record: Mapping[str, Any]) -> bool:
    return any("times the limit" in sentence for sentence in record["forecast"]["sentences"])


# ---------------------------------------------------------------- today's practice


INFUSION = "Noise infusion"
_DRAWS = 5  # noise infusion is random; a few draws settle the mean error of a table
_FEW = 5


@dataclass(frozen=True, eq=False)
class Method:
    """One method on one table: the root mean squared error of every cell, NaN where it withholds the cell."""

    name: str
    how: str
    error: Floats


def methods_for(asked: Asked, cells: pd.DataFrame, truth: Floats) -> Iterator[Method]:
    """Those that apply; `cells` are the levels of the published cells, in the order of their true values."""
    cells = cells.drop(columns=LEVEL, errors="ignore")  # the finest level is all that stands in them
    if asked.pieces is not None:
        yield from _of_establishments(asked, asked.pieces, cells, truth)
    elif asked.statistic == "count" and asked.unit == "records":
        rounding = RandomRounding()
        yield Method(
            "Random rounding",
            f"every count goes to the multiple of {rounding.base} below or above it, by chance and unbiased",
            rounding.deviation(truth),
        )
        small = (truth > 0) & (truth < _FEW)
        how = f"counts of 1 to {_FEW - 1} are withheld, and with them the next larger where a total would tell them"
        shown = with_secondary(np.where(small, np.nan, truth), truth, _lines(cells))
        yield Method("Suppression of small counts", how, np.abs(shown - truth))


def _of_establishments(asked: Asked, pieces: pd.DataFrame, cells: pd.DataFrame, truth: Floats) -> Iterator[Method]:
    cell = rows_of(cells, pieces)
    inside = cell >= 0
    ids, cell = pieces[ID].to_numpy()[inside], cell[inside]
    amount = pieces[asked.amount].to_numpy(dtype=np.float64)[inside][:, None]
    jobs = asked.amount == JOBS
    rule, squares = NoiseInfusion(small_cell="2.5" if jobs else "0"), np.zeros(truth.size)
    for draw in range(_DRAWS):
        key = hashlib.sha256(f"dossier {draw}".encode()).digest()  # a comparison, so the same key may serve every time
        infused = rule.apply(cell, amount, truth.size, rule.factors(ids, key=key), SeededEntropy(draw))[:, 0]
        squares += (infused - truth) ** 2
    drawn = ", and counts of 1 and 2 are drawn anew" if jobs else ""
    how = f"every establishment is multiplied by a secret factor 5% to 15% away from 1{drawn}"
    yield Method(INFUSION, how, np.sqrt(squares / _DRAWS))
    shown = SuppressAndRound(base=5 if jobs else 1).apply(cell, amount, truth.size)[:, 0]
    rounded = ", and the rest is rounded to 5" if jobs else ""
    how = f"cells are withheld by the 15% rule, and with them further ones where a total would tell them{rounded}"
    yield Method("Cell suppression", how, np.abs(with_secondary(shown, truth, _lines(cells)) - truth))


def _lines(cells: pd.DataFrame) -> list[NDArray[np.int64]]:
    """For each column the lines that run along it: cells that have all other columns in common."""
    text = cells.astype(str)
    others = [[other for other in text.columns if other != name] for name in text.columns]
    numbered = [text.groupby(rest, sort=False).ngroup() if rest else np.zeros(len(text)) for rest in others]
    return [np.asarray(one, dtype=np.int64) for one in numbered]


def rows_of(cells: pd.DataFrame, given: pd.DataFrame) -> NDArray[np.int64]:
    """The row of `cells` that each given row belongs to; -1 where there is none."""
    keys = list(cells.columns)
    if not keys:
        return np.zeros(len(given), dtype=np.int64)
    known = pd.MultiIndex.from_frame(cells.astype(str))
    return np.asarray(known.get_indexer(pd.MultiIndex.from_frame(given[keys].astype(str))), dtype=np.int64)
