"""Jobs per establishment, straight off a Parquet file.

The engine needs an establishment's size and its cell from every row of a job file, which costs it more than twice the
plain table it would print. Parquet stores codes as positions in short dictionaries, so that each distinct value is
coded once per block of rows and the rest is one addition per row. Only the plain case is handled; `None` says that
the engine must do it: ids that are not whole numbers or spread too widely, a value that the schema refuses, or an
establishment whose rows disagree about where it is.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tacita.compiled import njit
from tacita.lazy import later

pq = later("pyarrow.parquet")

WORTH_IT = 1_000_000  # rows; below, the engine is fast enough and nothing needs to be compiled
_WIDEST = 2**24  # ids from first to last: 128 MB of counters per thread
_COUNT = 2**32  # counters hold (cell + 1) · 2^32 + workers, and 0 for an id that does not occur

CodeOf = Callable[[str, str | None], int | None]
Found = tuple[NDArray[np.int64], NDArray[np.int64]]


def scan_jobs(
    path: Path,
    key: str,
    by: Sequence[str],
    sizes: Sequence[int],
    code_of: CodeOf,
    drop_above: int | None = None,
) -> Found | None:
    """Jobs per cell of `by` and jobs of the cell's largest establishment, or None where the engine must do it.

    `sizes` are the numbers of levels of `by`; `code_of(column, stored text)` is the schema's rule. Establishments
    with more than `drop_above` jobs are left out.
    """
    try:
        counters = _scan_all(path, key, by, sizes, code_of)
    except (OSError, pa.ArrowException):  # the engine will say what is wrong with the file
        return None
    if counters is None:
        return None
    counts, largest = (np.zeros(math.prod(sizes), dtype=np.int64) for _ in range(2))
    _to_cells(counters, counts, largest, _COUNT if drop_above is None else drop_above)
    return counts, largest


def _scan_all(
    path: Path, key: str, by: Sequence[str], sizes: Sequence[int], code_of: CodeOf
) -> NDArray[np.int64] | None:
    about = pq.ParquetFile(path, memory_map=True)
    if about.metadata.num_rows < WORTH_IT or not _suits(about.schema_arrow, key, by):
        return None
    span = _span(about.metadata, key)
    if span is None:
        return None
    blocks = about.metadata.num_row_groups
    threads = max(1, min(os.cpu_count() or 1, 4, blocks))
    with ThreadPoolExecutor(threads) as pool:
        shares = [range(start, blocks, threads) for start in range(threads)]
        parts = list(pool.map(lambda share: _scan(path, share, key, by, sizes, code_of, span), shares))
    total, *rest = parts
    if total is None:
        return None
    for part in rest:
        if part is None or not _merge(total, part):
            return None
    return total


def _suits(stored: Any, key: str, by: Sequence[str]) -> bool:
    def text(kind: Any) -> bool:
        return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))

    def codes(kind: Any) -> bool:
        return text(kind.value_type) if pa.types.is_dictionary(kind) else text(kind)

    return pa.types.is_signed_integer(stored.field(key).type) and all(codes(stored.field(name).type) for name in by)


def _span(metadata: Any, key: str) -> tuple[int, int] | None:
    """First and last id, from the statistics of the blocks."""
    at = metadata.schema.names.index(key) if key in metadata.schema.names else -1
    if at < 0:
        return None
    low, high = [], []
    for block in range(metadata.num_row_groups):
        known = metadata.row_group(block).column(at).statistics
        if known is None or not known.has_min_max or known.null_count != 0:
            return None
        low.append(int(known.min))
        high.append(int(known.max))
    return (min(low), max(high)) if max(high) - min(low) < _WIDEST else None


def _scan(
    path: Path,
    blocks: Sequence[int],
    key: str,
    by: Sequence[str],
    sizes: Sequence[int],
    code_of: CodeOf,
    span: tuple[int, int],
) -> NDArray[np.int64] | None:
    file = pq.ParquetFile(path, read_dictionary=list(by), memory_map=True)
    counters = np.zeros(span[1] - span[0] + 1, dtype=np.int64)
    for block in blocks:
        table = file.read_row_group(block, columns=[key, *by], use_threads=False)
        if any(column.num_chunks > 1 for column in table.columns):
            table = table.unify_dictionaries().combine_chunks()
        ids = table[key].chunk(0).to_numpy().astype(np.int64, copy=False)
        cell = np.zeros(len(ids), dtype=np.int32)  # the caller allows fewer than 2^31 cells
        for name, size in zip(by, sizes, strict=True):
            stored = table[name].chunk(0)
            codes = [code_of(name, value) for value in stored.dictionary.to_pylist()]
            positions = stored.indices
            if positions.null_count:
                positions = positions.fill_null(len(codes))
                codes.append(code_of(name, None))
            if None in codes:
                return None
            known = np.array(codes, dtype=np.int32)
            _extend(cell, positions.to_numpy().astype(np.int32, copy=False), known, size)
        if not _count(counters, ids, span[0], cell):
            return None
    return counters


@njit(nogil=True, cache=True)
def _extend(cell, positions, codes, size):  # type: ignore[no-untyped-def]
    for row in range(cell.size):
        cell[row] = cell[row] * size + codes[positions[row]]


@njit(nogil=True, cache=True)
def _count(counters, ids, first, cell):  # type: ignore[no-untyped-def]
    """Add one job per row; False if an id is outside the statistics or an establishment is in two cells."""
    agree = True
    for row in range(ids.size):
        at = ids[row] - first
        if at < 0 or at >= counters.size:
            return False
        before = counters[at]
        mine = (np.int64(cell[row]) + 1) << 32
        agree &= (before == 0) | ((before >> 32) << 32 == mine)
        counters[at] = mine | ((before & 0xFFFFFFFF) + 1)
    return agree


@njit(nogil=True, cache=True)
def _merge(total, part):  # type: ignore[no-untyped-def]
    agree = True
    for at in range(total.size):
        if part[at] != 0:
            agree &= (total[at] == 0) | (total[at] >> 32 == part[at] >> 32)
            total[at] = part[at] if total[at] == 0 else total[at] + (part[at] & 0xFFFFFFFF)
    return agree


@njit(nogil=True, cache=True)
def _to_cells(counters, counts, largest, most):  # type: ignore[no-untyped-def]
    for at in range(counters.size):
        jobs = counters[at] & 0xFFFFFFFF
        if 0 < jobs <= most:
            cell = (counters[at] >> 32) - 1
            counts[cell] += jobs
            largest[cell] = max(largest[cell], jobs)
