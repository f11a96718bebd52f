"""The one query of employer-employee tables: how many work where, and how many of them at the largest establishment.

Every mechanism of establishment tables starts from `workforce`. Jobs are counted per establishment first, so that an
establishment sits in exactly one workplace cell whatever its rows say, then establishments are summed to cells.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tacita.data.cells import cell_places, jobs_with, whole_numbers
from tacita.data.confidential import Confidential, asked, parquet_file, rows, same_key
from tacita.data.engine import level_code, ruled_number
from tacita.data.engine.jobscan import scan_jobs
from tacita.data.schema import Integer, Role, Schema
from tacita.errors import SchemaError, UsageError
from tacita.lazy import later

ibis = later("ibis")

MOST_CELLS = 50_000_000
# No establishment has more workers: larger ones in a file of sizes count as this, where the scales of noise stop too.
LARGEST_ESTABLISHMENT = 1 << 31
_AT_ONCE = 64  # worker cells counted in one scan: more would make the per-establishment table too wide for memory
_N = "tacita_n"


@dataclass(frozen=True, repr=False)
class Workforce:
    """Exact and confidential; it never leaves the mechanism that asked for it.

    There is one entry per workplace cell (C of them, in the order of their level codes) and one column per worker
    cell (d of them, the last attribute of `worker` running fastest).
    """

    keys: dict[str, NDArray[np.int32]]
    """Level codes of the workplace attributes."""
    counts: NDArray[np.int64]
    """C × d: matching workers."""
    largest: NDArray[np.int64]
    """C × d: matching workers at the one establishment that has most of them."""
    largest_total: NDArray[np.int64]
    """C: all workers, matching or not, of the cell's largest establishment."""
    establishments: NDArray[np.int64]
    """C: establishments in the frame, with or without jobs; -1 where the file has no list of them."""

    def __repr__(self) -> str:
        cells, columns = self.counts.shape
        return f"Workforce(by={list(self.keys)}, cells={cells}, columns={columns})"


def workforce(
    data: Confidential,
    by: Sequence[str],
    *,
    worker: Sequence[str] = (),
    where: Mapping[str, Sequence[str]] | None = None,
    drop_above: int | None = None,
    every_cell: bool = False,
) -> Workforce:
    """Count the workers of each cell of the workplace attributes `by`, split by the worker attributes `worker`.

    `where` keeps workers with the given levels only (`largest_total` still counts everybody). `drop_above` leaves out
    the jobs of establishments with more workers than that.

    Linked tables and files of establishments yield the cells that occur in their public list of establishments, also
    those without a single job. A flat job file yields every combination of declared levels, because there an
    establishment without jobs is invisible; `every_cell` asks for the same from any file, for promises under which the
    list of establishments is no public thing.

    >>> import pandas as pd
    >>> from tacita.data.schema import Schema
    >>> schema = Schema.from_dict({
    ...     "dataset": {"identity": "demo", "unit": "establishment"},
    ...     "variables": {
    ...         "workplace_id": {"role": "id", "entity": "workplace"},
    ...         "place": {"role": "workplace", "type": "categorical", "levels": ["A", "B"]},
    ...         "sex": {"role": "worker", "type": "categorical", "levels": ["F", "M"]},
    ...     },
    ... })
    >>> jobs = pd.DataFrame({"workplace_id": [1, 1, 1, 2], "place": ["B", "B", "B", "B"], "sex": ["F", "M", "M", "F"]})
    >>> counted = workforce(Confidential.from_frame(jobs, schema), ["place"], worker=["sex"])
    >>> counted.counts.tolist(), counted.largest.tolist(), counted.largest_total.tolist()
    ([[0, 0], [2, 2]], [[0, 0], [1, 2]], [0, 3])
    """
    schema = data.schema
    _require(schema, by, "workplace", "by")
    _require(schema, worker, "worker", "worker")
    wanted = _levels_wanted(schema, where or {})
    columns = schema.domain_size(worker)
    whole = every_cell or data.form == "flat"
    if whole:
        require_countable(schema, by, worker)
    if data.form == "size":
        if worker or wanted:
            raise UsageError(f"{[*worker, *wanted][0]}: a file of establishment sizes holds no worker attributes")
        part = asked(data, ("sizes", *by, drop_above), lambda: _from_sizes(data, by, drop_above))
        return _assemble(schema, by, columns, [part], whole=whole, listed=True)
    if data.form == "flat" and not worker and not wanted and (counted := _from_parquet(data, by, drop_above)):
        return counted
    write = _from_flat if data.form == "flat" else _from_linked
    parts = []
    for start in range(0, columns, _AT_ONCE):
        of = (tuple(by), tuple(worker), wanted, range(start, min(start + _AT_ONCE, columns)), drop_above)
        key = (write, *of[:2], str(wanted), *of[3:])
        parts.append(asked(data, key, partial(write, data, *of)))
    return _assemble(schema, by, columns, parts, whole=whole, listed=data.form != "flat")


def require_countable(schema: Schema, by: Sequence[str], worker: Sequence[str]) -> None:
    """All combinations of the declared levels are counted, so there must not be too many."""
    if schema.domain_size(by) * schema.domain_size(worker) > MOST_CELLS:
        raise UsageError(
            f"by = {[*by, *worker]}: the declared levels cross to more than {MOST_CELLS:,} cells; "
            "use fewer or coarser attributes, or, under α-neighbours, link a workplace table so that only cells that "
            "occur are kept"
        )


# ---------------------------------------------------------------- asking


def _require(schema: Schema, names: Sequence[str], role: Role, argument: str) -> None:
    if isinstance(names, str):
        raise UsageError(f"{argument}: give a list of column names, not one text")
    if len(set(names)) != len(names):
        raise UsageError(f"{argument}: a column is listed twice; list it once")
    for name in names:
        schema.categorical(name)
        if schema[name].role != role:
            raise UsageError(
                f"{name}: has the role {schema[name].role}, and {argument} takes columns with the role {role}; "
                "correct the table or the schema"
            )


def _levels_wanted(schema: Schema, where: Mapping[str, Sequence[str]]) -> dict[str, list[int]]:
    _require(schema, list(where), "worker", "where")
    wanted = {}
    for name, levels in where.items():
        known = schema.categorical(name).code
        if isinstance(levels, str) or not levels:
            raise UsageError(f"where.{name}: give a list of levels")
        if unknown := [level for level in levels if level not in known]:
            raise UsageError(f'where.{name}: "{unknown[0]}" is not a declared level; use one of {list(known)[:10]}')
        wanted[name] = sorted({known[level] for level in levels})
    return wanted


def _counters(
    table: Any, schema: Schema, worker: Sequence[str], where: Mapping[str, list[int]], chunk: range
) -> tuple[Any, dict[str, Any]]:
    """The table with the cell of each worker, and one conditional count per cell; as it is where everybody counts."""
    if not worker and not where:
        return table, {}
    cell: Any = ibis.literal(0)
    for name in worker:
        code = level_code(table[name], schema.categorical(name))
        size = len(schema.levels(name))
        # A refused value (code -1) makes the whole cell negative, so that it matches no column.
        cell = ibis.ifelse((code < 0) | (cell < 0), -1, cell * size + code)
    keep: Any = ibis.literal(True)
    for name, codes in where.items():
        keep = keep & level_code(table[name], schema.categorical(name)).isin(codes)
    coded = table.mutate(tacita_cell=ibis.ifelse(keep, cell, -1))
    return coded, {f"tacita_c{at}": coded.count(where=coded.tacita_cell == at) for at in chunk}


def _from_parquet(data: Confidential, by: Sequence[str], drop_above: int | None) -> Workforce | None:
    """The same as `_from_flat` for one large Parquet file, in less time; None where only the engine can do it."""
    path, schema = parquet_file(data), data.schema
    if path is None:
        return None
    kinds = {name: schema.categorical(name) for name in by}
    shape = tuple(len(kind.levels) for kind in kinds.values())
    scanned = scan_jobs(path, _workplace_key(data), by, shape, lambda name, raw: kinds[name].code_of(raw), drop_above)
    if scanned is None:
        return None
    counts, largest = scanned
    cells = len(counts)
    codes = np.unravel_index(np.arange(cells), shape) if by else ()
    keys = {name: code.astype(np.int32) for name, code in zip(by, codes, strict=True)}
    return Workforce(keys, counts[:, None], largest[:, None], largest, np.full(cells, -1, dtype=np.int64))


def _from_flat(
    data: Confidential,
    by: Sequence[str],
    worker: Sequence[str],
    where: Mapping[str, list[int]],
    chunk: range,
    drop_above: int | None,
) -> Any:
    key = _workplace_key(data)
    jobs, counters = _counters(rows(data), data.schema, worker, where, chunk)
    # Grouping by id and attributes first keeps minima of text off the long table: it is the fastest exact form.
    pieces = jobs.group_by([key, *by]).aggregate(**{_N: jobs.count()}, **counters)
    counted = [_N, *counters]
    whole = pieces.group_by(key).aggregate(
        **{name: pieces[name].min() for name in by}, **{name: pieces[name].sum() for name in counted}
    )
    if drop_above is not None:
        whole = whole.filter(whole[_N] <= drop_above)
    return _to_cells(whole, by, counted)


def _from_linked(
    data: Confidential,
    by: Sequence[str],
    worker: Sequence[str],
    where: Mapping[str, list[int]],
    chunk: range,
    drop_above: int | None,
) -> Any:
    places, key = rows(data, "workplace"), _workplace_key(data)
    for name in by:
        if data.table_of(name) != "workplace":
            raise UsageError(
                f'{name}: is declared in the {data.table_of(name)} table; declare table = "workplace" for it, '
                "because cells come from the public list of establishments"
            )
    jobs, counters = _counters(jobs_with(data, [*worker, *where]), data.schema, worker, where, chunk)
    counted = [_N, *counters]
    sizes = jobs.group_by(key).aggregate(**{_N: jobs.count()}, **counters)
    joined = places.left_join(sizes, same_key(places, sizes, key))
    kept = {name: joined[name].coalesce(0) for name in counted}
    if drop_above is not None:
        # Only its jobs are left out: that the establishment exists is public.
        small = joined[_N].coalesce(0) <= drop_above
        kept = {name: ibis.ifelse(small, value, 0) for name, value in kept.items()}
    whole = joined.select(**{name: joined[name] for name in by}, **kept)
    return _to_cells(whole, by, counted)


def _from_sizes(data: Confidential, by: Sequence[str], drop_above: int | None) -> Any:
    places = rows(data)
    (name,) = data.schema.by_role("size")
    kind = data.schema[name].kind
    assert isinstance(kind, Integer)  # Schema has made sure
    size = ibis.least(ruled_number(places[name], kind).coalesce(0), LARGEST_ESTABLISHMENT)
    if drop_above is not None:
        size = ibis.ifelse(size <= drop_above, size, 0)
    whole = places.select(**{column: places[column] for column in by}, **{_N: size})
    return _to_cells(whole, by, [_N])


def _workplace_key(data: Confidential) -> str:
    key = data.schema.id_of("workplace")
    if key is None:
        raise SchemaError(
            'variables: no id with entity = "workplace" is declared; establishment tables need to know which jobs '
            "belong to the same establishment"
        )
    return key


def _to_cells(whole: Any, by: Sequence[str], counted: Sequence[str]) -> Any:
    """Sum and maximum over establishments, per combination of stored values."""
    totals = {name: whole[name].sum() for name in counted}
    peaks = {f"{name}_most": whole[name].max() for name in counted}
    grouped = whole.group_by(list(by)) if by else whole
    return grouped.aggregate(**totals, **peaks, tacita_places=whole.count())


# ---------------------------------------------------------------- putting together


def _assemble(
    schema: Schema, by: Sequence[str], columns: int, parts: Sequence[pa.Table], *, whole: bool, listed: bool
) -> Workforce:
    """From stored values to level codes: several stored values may belong in one cell.

    `whole`: every declared cell, not those that occur. `listed`: the file has a list of establishments.
    """
    shape = tuple(len(schema.levels(name)) for name in by)
    places = [cell_places(part, schema, by) for part in parts]
    cells = np.arange(int(np.prod(shape, dtype=np.int64))) if whole else np.unique(np.concatenate(places))
    counts = np.zeros((len(cells), columns), dtype=np.int64)
    largest = np.zeros((len(cells), columns), dtype=np.int64)
    largest_total = np.zeros(len(cells), dtype=np.int64)
    establishments = np.full(len(cells), 0 if listed else -1, dtype=np.int64)
    for at, (part, place) in enumerate(zip(parts, places, strict=True)):
        row = place if whole else np.searchsorted(cells, place)
        np.maximum.at(largest_total, row, whole_numbers(part, f"{_N}_most"))
        if listed and at == 0:
            np.add.at(establishments, row, whole_numbers(part, "tacita_places"))
        named = [name for name in part.column_names if name.startswith("tacita_c") and not name.endswith("_most")]
        for name in named or [_N]:
            column = int(name.removeprefix("tacita_c")) if named else 0
            np.add.at(counts[:, column], row, whole_numbers(part, name))
            np.maximum.at(largest[:, column], row, whole_numbers(part, f"{name}_most"))
    codes = np.unravel_index(cells, shape) if by else ()
    keys = {name: code.astype(np.int32) for name, code in zip(by, codes, strict=True)}
    return Workforce(keys, counts, largest, largest_total, establishments)
