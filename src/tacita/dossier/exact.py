"""Tables from the confidential rows themselves: what every published cell is held against. Confidential throughout.

A `Question` is what one table asks of the rows; `answered` groups them in the engine. Jobs and magnitudes are read as
`Pieces`, one row per unit and cell, so that the methods of today's practice can be applied to them as well. Sums here
are sums of floats: nothing of a dossier is released.

Growth and flows from the confidential rows themselves. Confidential throughout.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import partial
from typing import Any

import ibis
import numpy as np
import pandas as pd
from numpy.typing import NDArray

from tacita.data import rowwise
from tacita.data.cells import Amount, Cells, Steps, cell_places, jobs_with, kept, values
from tacita.data.confidential import Confidential, engine_of, rows
from tacita.data.engine import level_code, ruled_number, text_of
from tacita.data.pairs import moved
from tacita.data.schema import Integer, Numeric, Schema
from tacita.errors import UsageError
from tacita.mechanisms.change import Change
from tacita.privacy import text
from tacita.tables.changes import FLOWS, GROWTH

Floats = NDArray[np.float64]

TRUTH, RECORDS, QUANTILE = "tacita_truth", "tacita_records", "quantile"
ID, JOBS = "tacita_id", "tacita_jobs"
_FINEST_WEIGHTS = 1 << 40  # steps that weights are counted in for quantiles, where the schema keeps more


@dataclass(frozen=True)
class Question:
    """A statistic of the rows by the cells of `by`; for shares the last of `by` is the category."""

    statistic: str
    of: tuple[str, ...] = ()
    by: tuple[str, ...] = ()
    where: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    weights: str | None = None
    shares: tuple[Fraction, ...] = ()

    @property
    def numbers(self) -> tuple[str, ...]:
        """The numbers that a record must have to count, as in the plan of the table."""
        of = self.of if self.statistic != "share" else ()
        return (*of, *((self.weights,) if self.weights is not None else ()))

    def amount(self, column: str | None = None) -> Amount:
        return Amount(tuple(name for name in (column, self.weights) if name is not None))


def answered(data: Confidential, asked: Question) -> pd.DataFrame:
    """One row per declared cell: its levels, the exact value, and how many records it holds. NaN: no value."""
    if asked.statistic in ("median", "quantiles"):
        return _quantiles(data, asked)
    if asked.statistic == "variance":
        return _variances(data, asked)
    of = asked.of if asked.statistic in ("sum", "mean", "ratio") else ()
    amounts = [asked.amount(name) for name in of] or [asked.amount()]
    if asked.statistic == "mean":
        amounts.append(asked.amount())
    number, (above, *below) = _sums(data, asked, amounts)
    if asked.statistic == "share":
        levels = len(data.schema.levels(asked.by[-1]))
        below = [np.repeat(above.reshape(-1, levels).sum(axis=1), levels)]
    return celled(data.schema, asked.by, _over(above, below[0]) if below else above, number)


def answered_by(data: Confidential, asked: Question, by: tuple[str, ...]) -> pd.DataFrame:
    """The same question by other cells."""
    return answered(data, replace(asked, by=by))


def _sums(data: Confidential, asked: Question, amounts: Sequence[Amount]) -> tuple[Floats, list[Floats]]:
    table = _counted(data, asked, [name for one in amounts for name in one.columns])
    sums = {f"tacita_{at}": one.of(table, data.schema).cast("float64") for at, one in enumerate(amounts)}
    grouped = _grouped(data, asked, table, sums)
    return grouped["tacita_n"], [grouped[name] for name in sums]


def _variances(data: Confidential, asked: Question) -> pd.DataFrame:
    """Around the mean of all records, so that no digits are lost where numbers are far from 0."""
    column = asked.of[0]
    schema, everyone = data.schema, Question("mean", (column,), (), asked.where)
    centre = float(answered(data, everyone)[TRUTH].fillna(0).iloc[0])
    table = _counted(data, asked, [column])
    away = Amount((column,)).of(table, schema) - centre
    grouped = _grouped(data, asked, table, {"one": away, "two": away * away})
    number = grouped["tacita_n"]
    mean = _over(grouped["one"], number)
    value = _over(grouped["two"] - number * mean**2, number - 1)
    return celled(schema, asked.by, value, number)


def _quantiles(data: Confidential, asked: Question) -> pd.DataFrame:
    """The smallest value up to which the wanted share of the records (or of their weight) lies."""
    schema, column = data.schema, asked.of[0]
    weighing = None
    if asked.weights is not None:
        amount = asked.amount()
        size = max(amount.grain(schema), amount.bounds(schema)[1] / _FINEST_WEIGHTS)
        weighing = (amount, Steps(0.0, size, 0, max(1, round(amount.bounds(schema)[1] / size))))
    cells = _cells(asked)
    place, value, mass = values(data, cells, column, weighing, lambda steps: steps)
    number, _ = _sums(data, asked, [Amount()])
    kind = schema[column].kind
    parts = 10.0**kind.scale if isinstance(kind, Numeric) else 1.0
    borders = np.searchsorted(place, np.arange(number.size + 1))
    tables = []
    for share in asked.shares:
        wanted = np.full(number.size, np.nan)
        for cell, (start, end) in enumerate(zip(borders[:-1].tolist(), borders[1:].tolist(), strict=True)):
            passed = np.cumsum(mass[start:end].astype(np.float64))
            if passed.size and passed[-1] > 0:
                at = int(np.searchsorted(passed, float(share) * passed[-1] * (1 - 1e-12)))
                wanted[cell] = value[start + min(at, passed.size - 1)] / parts
        tables.append(celled(schema, asked.by, wanted, number).assign(**{QUANTILE: text(share)}))
    return pd.concat(tables, ignore_index=True)


# ---------------------------------------------------------------- grouping


def _cells(asked: Question) -> Cells:
    return Cells(asked.by, asked.where, asked.numbers)


def _counted(data: Confidential, asked: Question, numbers: Sequence[str]) -> Any:
    return kept(data, _cells(asked), numbers)


def _only(table: Any, schema: Schema, where: Mapping[str, Sequence[str]]) -> Any:
    for name, levels in where.items():
        kind = schema.categorical(name)
        table = table.filter(level_code(table[name], kind).isin(sorted({kind.code[level] for level in levels})))
    return table


def _grouped(data: Confidential, asked: Question, table: Any, columns: Mapping[str, Any]) -> dict[str, Floats]:
    """Number of records and sums of every declared cell, the last of `by` running fastest."""
    wide = table.select(**{name: table[name] for name in asked.by}, **columns)
    grouped = wide.group_by(list(asked.by)) if asked.by else wide
    sums = {"tacita_n": wide.count(), **{name: wide[name].sum() for name in columns}}
    part = engine_of(data).collect(grouped.aggregate(**sums))
    place = cell_places(part, data.schema, asked.by)
    cells = _cells(asked).count(data.schema)
    added: dict[str, Floats] = {}
    for name in sums:
        numbers = part[name].to_pandas().fillna(0).to_numpy(dtype=np.float64)
        added[name] = np.bincount(place, numbers, cells).astype(np.float64)
    return added


def celled(schema: Schema, by: Sequence[str], value: Floats, number: Floats) -> pd.DataFrame:
    shape = [len(schema.levels(name)) for name in by]
    codes = np.unravel_index(np.arange(value.size), shape) if by else ()
    keys = {name: np.array(schema.levels(name))[code] for name, code in zip(by, codes, strict=True)}
    return pd.DataFrame({**keys, TRUTH: value, RECORDS: number})


def _over(above: Floats, below: Floats) -> Floats:
    quotient: Floats = np.divide(above, below, out=np.full(above.shape, np.nan), where=below > 0)
    return quotient


# ---------------------------------------------------------------- one row per unit


def establishment_counts(
    data: Confidential, by: Sequence[str], worker: Sequence[str], where: Mapping[str, Any]
) -> pd.DataFrame:
    """One row per establishment and worker cell that somebody is in: its id, level codes and number of workers."""
    schema, key = data.schema, data.schema.id_of("workplace")
    if data.form == "size":
        (size,) = schema.by_role("size")
        return unit_numbers(data, by, {JOBS: (size,)}, key)
    if key is None:
        raise UsageError("evaluate --bundle: tables of jobs need an id of the establishment; declare it in the schema")
    jobs = _only(jobs_with(data, [*by, *worker, *where]), schema, where)
    # Long code lists are coded after grouping: one comparison per level and row would take too long.
    coded = jobs.select(
        **{ID: jobs[key].cast("string")},
        **{name: text_of(jobs[name]) for name in by},
        **{name: level_code(jobs[name], schema.categorical(name)) for name in worker},
    )
    grouped = coded.group_by([ID, *by, *worker]).aggregate(**{JOBS: coded.count()})
    pieces: pd.DataFrame = engine_of(data).collect(grouped).to_pandas()
    for name in worker:
        levels = np.array([*schema.levels(name), ""], dtype=object)
        pieces[name] = levels[pieces[name].to_numpy(dtype=np.int64)]  # code -1 is the empty text at the end
    return _spelled(pieces, schema, by)


def unit_numbers(
    data: Confidential, by: Sequence[str], columns: Mapping[str, Sequence[str]], key: str | None
) -> pd.DataFrame:
    """One row per record: an id, its levels, and for each name the sum of some columns by the schema's own rule."""
    schema, table = data.schema, rows(data)
    names = list(dict.fromkeys(name for given in columns.values() for name in given))
    wide = table.select(
        **{ID: ibis.row_number().cast("string") if key is None else table[key].cast("string")},
        **{name: text_of(table[name]) for name in by},
        **{f"tacita_of_{at}": _number(table[name], schema, name) for at, name in enumerate(names)},
    )
    pieces: pd.DataFrame = engine_of(data).collect(wide).to_pandas()
    for name, given in columns.items():
        parts = [pieces[f"tacita_of_{names.index(one)}"].to_numpy(dtype=np.float64) for one in given]
        pieces[name] = np.sum(parts, axis=0)
    kept = [ID, *by, *columns]
    return _spelled(pieces[kept].copy(), schema, by)


def _number(column: Any, schema: Schema, name: str) -> Any:
    kind = schema[name].kind
    assert isinstance(kind, Integer | Numeric)  # or no table of it was made
    return ruled_number(column, kind).coalesce(0).cast("float64")


def _spelled(pieces: pd.DataFrame, schema: Schema, by: Sequence[str]) -> pd.DataFrame:
    """Stored codes as the levels that the schema's rules make of them; an empty text where the rule is to refuse."""
    for name in by:
        kind = schema.categorical(name)
        spelled = {text: kind.code_of(text) for text in pieces[name].unique()}
        pieces[name] = [kind.levels[code] if (code := spelled[text]) is not None else "" for text in pieces[name]]
    return pieces


By = tuple[str, ...]


def exact_changes(plan: Change, data: Confidential) -> dict[str, Callable[[By], pd.DataFrame]]:
    """For each measure that a plan publishes, its cells by any attributes of the table."""
    names = GROWTH if plan.statistic == "growth" else FLOWS if plan.of or plan.weights else FLOWS[2:]
    return {name: partial(_change_cells, plan, data, name) for name in names}


def _change_cells(plan: Change, data: Confidential, name: str, by: By) -> pd.DataFrame:
    pairs = replace(plan.pairs(data.schema), by=by)
    units = moved(
        data,
        pairs,
        {
            "before": lambda before, _: before,
            "after": lambda _, after: after,
            "gain": lambda before, after: ibis.greatest(after - before, 0),
            "loss": lambda before, after: ibis.greatest(before - after, 0),
            "one": lambda *_: ibis.literal(1),
        },
    )
    had, has = units.before >= 0, units.after >= 0
    stayed = had & has & units.stayed

    def total(chosen: np.ndarray, place: np.ndarray, which: str) -> np.ndarray:
        return rowwise.sums(place[chosen], units.sums[which][chosen], pairs.cells.count(data.schema))

    earlier, later = total(had, units.before, "before"), total(has, units.after, "after")
    entry, leaving = total(has & ~stayed, units.after, "after"), total(had & ~stayed, units.before, "before")
    steps = {
        "earlier": earlier,
        "later": later,
        "change": later - earlier,
        "net": later - earlier,
        "entry": entry,
        "exit": leaving,
        "creation": entry + total(stayed, units.after, "gain"),
        "destruction": leaving + total(stayed, units.after, "loss"),
    }
    if name == "percent":
        value = 100.0 * (later - earlier) / np.where(earlier > 0, earlier, np.nan)
    else:
        value = steps[name] * pairs.steps(data.schema).size
    return celled(data.schema, by, value, total(had, units.before, "one").astype(np.float64))
