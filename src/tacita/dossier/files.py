"""Reads the files of an evaluation: whole columns, and at most so many rows, so that memory stays bounded."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import ibis
import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv

from tacita.data.confidential import Confidential, engine_of, rows
from tacita.data.engine import Engine, connect, number_in, number_of
from tacita.data.schema import Identifier, Integer, Numeric, Schema
from tacita.errors import SchemaError, UsageError
from tacita.implicates import Kind, kind_of

MOST_ROWS = 1_000_000
_SEED = 2026  # an evaluation is not a release: drawing the same sample again is a virtue
_GENEROUS = 1.1  # share of rows to fetch above the limit, since the number that a hash chooses varies
_STEPS = 1_000_000
_CSV = (".csv", ".csv.gz", ".tsv")


@dataclass(frozen=True)
class File:
    """What to say about one file; `looked_at` is smaller than `rows` where only a sample was read."""

    name: str
    role: str
    rows: int
    looked_at: int
    columns: int
    sha256: str


Loaded = tuple[File, pa.Table]


def original_file(source: str, schema: Schema | None, most: int = MOST_ROWS) -> Loaded:
    """The confidential file, through the one door to confidential rows where a schema names its columns."""
    if schema is None:
        return plain_file(Path(source), "original", None, most)
    data = Confidential.open(source, schema)
    return _kept(*_bounded(engine_of(data), _uncoded(rows(data), schema), most), source, "original", most)


def _uncoded(table: Any, schema: Schema) -> Any:
    """Numbers whose missing values are a state of their own have none of the codes that stand for one, as in synthetic
    files."""
    known = {}
    for name in table.columns:
        kind = schema[name].kind
        if isinstance(kind, Integer | Numeric) and kind.own_missing and kind.missing_codes:
            number = number_of(table[name])
            known[name] = ibis.ifelse(number.isin([float(one) for one in kind.missing_codes]), ibis.null(), number)
    return table.mutate(**known) if known else table


def plain_file(path: Path, role: str, schema: Schema | None, most: int = MOST_ROWS) -> Loaded:
    """A synthetic or hold-out file; with a schema its text codes are kept as text."""
    if not path.exists():
        raise UsageError(f"{role} {path}: there is no such file")
    if schema is None:
        return _kept(*_as_stored(path, most), str(path), role, most)
    engine = connect("duckdb")
    table = engine.read(path, schema.names, schema.dates)
    names = [name for name in schema.names if name in table.columns]
    if not names:
        raise SchemaError(f"{role} {path.name}: has none of the columns that the schema declares; name the right file")
    columns = {}
    for name in names:
        numeric = isinstance(schema[name].kind, Integer | Numeric)
        stored = table[name]
        columns[name] = number_in(stored) if numeric and stored.type().is_string() else stored
    return _kept(*_bounded(engine, table.select(**columns), most), str(path), role, most)


def _as_stored(path: Path, most: int) -> tuple[int, pa.Table]:
    if path.name.lower().endswith(_CSV):
        try:
            table = pa_csv.read_csv(path)
        except pa.ArrowInvalid:  # its message may quote a line of the file
            raise UsageError(f"{path.name}: cannot be read as CSV; check that the file is complete") from None
        return table.num_rows, table
    engine = connect("duckdb")
    return _bounded(engine, engine.read(path, ()), most)


def _bounded(engine: Engine, table: Any, most: int) -> tuple[int, pa.Table]:
    """How many rows there are, and little more than `most` of them: chosen in the engine, so that the rest never
    comes into memory, and by the hash of their position, so that the same file gives the same rows."""
    (counted,) = engine.collect(table.aggregate(rows=table.count())).to_pylist()
    total = int(counted["rows"])
    if total <= _GENEROUS * most:
        return total, engine.collect(table)
    numbered = table.mutate(tacita_position=ibis.row_number())
    cut = int(_STEPS * _GENEROUS * most / total)
    chosen = numbered.filter(numbered.tacita_position.hash().abs() % _STEPS < cut).drop("tacita_position")
    return total, engine.collect(chosen)


def _kept(total: int, table: pa.Table, source: str, role: str, most: int) -> Loaded:
    if table.num_rows > most:
        chosen = np.sort(np.random.default_rng(_SEED).choice(table.num_rows, most, replace=False))
        table = table.take(pa.array(chosen))
    path = Path(source)
    digest = _digest(path) if path.is_file() else ""
    return File(path.name, role, total, table.num_rows, table.num_columns, digest), table


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def common_columns(tables: Sequence[pa.Table], schema: Schema | None) -> tuple[list[str], list[str]]:
    """The columns that every file has, without identifiers, and those that some file lacks."""
    ids = {one.name for one in schema if isinstance(one.kind, Identifier)} if schema is not None else set()
    everywhere = set.intersection(*(set(one.column_names) for one in tables))
    anywhere = dict.fromkeys(name for one in tables for name in one.column_names)
    kept = [name for name in tables[0].column_names if name in everywhere and name not in ids]
    if not kept:
        raise UsageError("synthetic: no column is in every file; give files with the columns of the original")
    return kept, [name for name in anywhere if name not in everywhere and name not in ids]


def common_kind(paths: Sequence[Path]) -> Kind | None:
    """How the synthetic files were made, where all of them say so and agree."""
    kinds = {kind_of(path) for path in paths}
    return kinds.pop() if len(kinds) == 1 else None


def synthetic_paths(given: Iterable[Path]) -> list[Path]:
    """The files to read: a folder stands for its implicates, a bundle for its microdata."""
    paths_found: list[Path] = []
    for path in given:
        inside = path / "microdata" if (path / "microdata").is_dir() else path
        if inside.is_dir() and (files := sorted(inside.glob("implicate-*.parquet"))):
            paths_found += files
        else:
            paths_found.append(path)
    return paths_found
