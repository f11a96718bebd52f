"""The only door to confidential rows.

A `Confidential` is a file on an engine plus its schema. It can be checked, recognised (`fingerprint`) and handed to
a plan; it cannot be looked at. `rows` is the one function that yields its tables, for code that runs inside a
mechanism: whatever calls it must spend, or be part of `tacita.data.checks`.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Collection, Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import Any, Literal, NoReturn

import pyarrow as pa

from tacita.data.address import is_server
from tacita.data.checks import FileChecks, main_table, table_of
from tacita.data.checks import Scan as Scan
from tacita.data.checks import same_key as same_key
from tacita.data.checks.sketch import shared_units, sketch_of
from tacita.data.engine import Engine, canonical_number, connect, day_in, engine_for, text_of, to_arrow
from tacita.data.engine.seal import Seal
from tacita.data.schema import Date, Integer, Numeric, Schema
from tacita.errors import RefusedError, SchemaError, UsageError
from tacita.lazy import later

ibis = later("ibis")

Source = str | Path | Mapping[str, str | Path]
Form = Literal["flat", "linked", "size"]

_BETWEEN, _NOTHING = "\x1f", "\x1e"  # what separates values in a row's canonical text, and a missing value there
_HALF = 30  # bits; sums of 30-bit numbers over 2^33 rows still fit in 64 bits


class _NoRowsError(RefusedError, AttributeError):
    """Also an AttributeError, so that `hasattr` and libraries that probe for methods get a plain no."""


class Confidential:
    """A confidential file, or several linked tables, behind its schema.

    >>> import pandas as pd
    >>> schema = Schema.from_dict({
    ...     "dataset": {"identity": "demo", "unit": "person"},
    ...     "variables": {"sex": {"role": "confidential", "type": "categorical", "levels": ["F", "M"]}},
    ... })
    >>> data = Confidential.from_frame(pd.DataFrame({"sex": ["F", "M", "M"]}), schema)
    >>> data
    Confidential('demo', columns=['sex'])
    >>> data.check(["sex"])
    >>> len(data)
    Traceback (most recent call last):
    ...
    tacita.errors.RefusedError: confidential rows cannot be counted; ask for a count with a plan and pay for it
    """

    __slots__ = (
        "_checked",
        "_engine",
        "_files",
        "_fingerprint",
        "_ids_checked",
        "_passed",
        "_seal",
        "_tables",
        "_tallies",
        "schema",
    )

    def __init__(
        self, tables: Mapping[str, Any], schema: Schema, engine: Engine, files: Mapping[str, Path] | None = None
    ) -> None:
        self.schema = schema
        self._engine = engine
        declared = partial(_declared, schema=schema, linked=len(tables) > 1, engine=engine)
        self._tables = {
            name: engine.written((table, name, schema, len(tables)), partial(declared, table, name))
            for name, table in tables.items()
        }
        self._checked: set[str] = set()
        self._ids_checked = False
        self._passed: set[str] = set()
        self._tallies: dict[Scan, pa.Table] = {}
        self._fingerprint: str | None = None
        self._files = dict(files or {})
        self._seal = Seal.of(())

    @classmethod
    def open(cls, source: Source, schema: Schema | str | Path, *, engine: Any = "duckdb") -> Confidential:
        """Open a file, or a mapping of the linked tables "job", "workplace" and "worker".

        A path may be CSV, CSV.gz, Parquet (a file or a folder), Excel, SAS, Stata, SPSS, `duckdb:file.db?table=t`, or
        a table of a server, `postgresql://host/database#schema.table`. For files `engine` may be "spark" or Ibis's.
        """
        schema = schema if isinstance(schema, Schema) else Schema.load(schema)
        named = _named(source, schema)
        files = {name: path for (name, path), _ in named if not is_server(path)}
        seal = Seal.of(files.values())  # what a server has is read in one transaction and needs none
        connected = engine_for([path for (_, path), _ in named], engine)
        read = partial(connected.read, dates=schema.dates)
        tables = {name: read(path, _columns(name, schema, linked)) for (name, path), linked in named}
        opened = cls(tables, schema, connected, {name: Path(path) for name, path in files.items()})
        opened._seal = seal
        return opened

    @classmethod
    def from_frame(cls, frame: Any, schema: Schema | str | Path, *, engine: Any = "duckdb") -> Confidential:
        """The same from pandas or Arrow tables in memory: one, or a mapping of linked ones."""
        schema = schema if isinstance(schema, Schema) else Schema.load(schema)
        connected = connect(engine)
        tables = {
            name: connected.table(to_arrow(one, _columns(name, schema, linked), name))
            for (name, one), linked in _named(frame, schema)
        }
        return cls(tables, schema, connected)

    # ------------------------------------------------------------ what may be known

    @property
    def identity(self) -> str:
        """Declared name of the data set: the key of its budget."""
        return self.schema.identity

    @property
    def lineage(self) -> tuple[str, ...]:
        """Identities of earlier files that contain the same units."""
        return self.schema.lineage

    @property
    def form(self) -> Form:
        """How the workforce is stored: jobs in one file, linked tables, or one row per establishment with its size."""
        if self.schema.by_role("size"):
            return "size"
        return "linked" if "workplace" in self._tables else "flat"

    @property
    def main(self) -> str:
        """The table whose rows are counted: jobs where several tables are linked, else the one there is."""
        return main_table(self._tables)

    def table_of(self, column: str) -> str:
        """The table that holds a declared column; a single file holds them all."""
        return table_of(column, self.schema, self._tables)

    def fingerprint(self) -> str:
        """A hash of the content of the declared columns that survives renaming, re-ordering and another file format.

        It is a function of confidential rows, exact to the last one: it may be kept in the ledger, which stays
        inside, and must never be published.
        """
        if self._fingerprint is None:
            self._fingerprint = self._fingerprint_now()
        return self._fingerprint

    def _fingerprint_now(self) -> str:
        # The main table goes by the name it had when every file was one of jobs: ledgers know files by this hash.
        content = {"job" if name == self.main else name: self._content(name) for name in self._tables}
        canonical = json.dumps(content, sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(canonical.encode()).hexdigest()

    def _content(self, name: str) -> dict[str, Any]:
        """Row count and sums of row hashes: a sum does not know the order of its terms."""
        table = self._tables[name]
        digest = table.select(digest=_digest(table, self.schema))
        # 60 bits of each row's hash, in two halves whose sums cannot overflow.
        number = self._engine.hex_to_integer(digest.digest.substr(0, 15))
        halves = digest.select(high=number >> _HALF, low=number & (2**_HALF - 1))
        sums = halves.aggregate(rows=halves.count(), high=halves.high.sum(), low=halves.low.sum())
        (totals,) = self._engine.collect(sums).to_pylist()
        return {"columns": sorted(table.columns), **{key: int(value or 0) for key, value in totals.items()}}

    def sketch(self, key: str) -> dict[str, list[int]]:
        """Keyed hashes of some ids, for the ledger alone: by them it knows the units again in another file."""
        return sketch_of(self._tables, self.schema, self._engine, key)

    def shared_units(self, key: str, sketch: Mapping[str, Collection[int]]) -> list[str]:
        """The kinds of units of which one in another file's sketch is in this file."""
        return shared_units(self._tables, self.schema, self._engine, key, sketch)

    # ------------------------------------------------------------ checks before anything is spent

    def refuse_changed(self) -> None:
        """Refuse files that are no longer those that were opened; asked before they are known, checked and measured,
        and after. Files of which only the record changed are read again: they must hold the rows that are known."""
        known = self._fingerprint
        self._seal = self._seal.renewed(lambda: known is not None and known == self._fingerprint_now())

    def check(self, columns: Iterable[str], scan: Scan | None = None) -> None:
        """Refuse a file that breaks a strict rule of its schema; run before a budget is touched.

        Only `columns` and the ids are looked at. Messages name table, column, rule and fix, never a value and
        never how many rows are concerned. `scan` is what will be asked of the rows first: it tells which values occur,
        and is kept for whoever pays for it (`tallied`), so that the file is read once for both.
        """
        todo = self._todo(columns)
        self.schema.check_codes(todo)
        if not todo and self._ids_checked:
            return
        checks = self._checks()
        if scan is not None:
            checks = checks.scanned(scan, todo, ids=not self._ids_checked)
        _refuse("\n".join(checks.problems(todo, ids=not self._ids_checked)) or None)
        if scan is not None and checks.scan is not None:
            self._tallies[scan] = checks.scan
        self._checked.update(todo)
        self._ids_checked = True
        if (worker := self.schema.id_of("worker")) is not None:
            self._passed.add(f"one row for each {worker}")

    def check_unit(self, column: str, unit: str) -> None:
        """Refuse a file in which a unit has several rows, for promises that hold for a unit with one."""
        self.check_once(f"one row for each {column}", lambda: _refuse(self._checks().repeated(column, unit)))

    def check_weight(self, column: str) -> None:
        """Refuse a file in which a weight is negative or infinite."""
        self.check_once(f"{column} as a weight", lambda: _refuse(self._checks().misweighed(column)))

    def check_once(self, rule: str, check: Callable[[], None]) -> None:
        """Do a check of all rows, unless these rows have passed it: a run asks several times."""
        if rule not in self._passed:
            check()
        self._passed.add(rule)

    def _checks(self) -> FileChecks:
        return FileChecks(self._tables, self.schema, self._engine, self.form)

    def _todo(self, columns: Iterable[str]) -> list[str]:
        """Columns not looked at yet; a design is looked at as a whole, with the first of its columns."""
        wanted = [self.schema[column].name for column in columns]
        design = self.schema.design
        if design is not None and set(wanted) & set(design.columns):
            wanted += design.columns
        return [column for column in dict.fromkeys(wanted) if column not in self._checked]

    # ------------------------------------------------------------ what is refused

    def __repr__(self) -> str:
        return f"Confidential({self.identity!r}, columns={list(self.schema.names)})"

    def __bool__(self) -> bool:
        return True

    def __iter__(self) -> NoReturn:
        raise RefusedError("confidential rows cannot be iterated over; release statistics of them through a plan")

    def __len__(self) -> NoReturn:
        raise RefusedError("confidential rows cannot be counted; ask for a count with a plan and pay for it")

    def __getitem__(self, key: object) -> NoReturn:
        raise RefusedError("confidential rows cannot be indexed; release statistics of them through a plan")

    def __contains__(self, value: object) -> NoReturn:
        raise RefusedError("confidential rows cannot be searched; release statistics of them through a plan")

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        raise RefusedError("confidential data cannot be pickled or copied; open the file again where it is needed")

    def __getattr__(self, name: str) -> NoReturn:
        raise _NoRowsError(f"Confidential has no attribute {name!r}; rows are reached by plans only, through a ledger")


def _refuse(problem: str | None) -> None:
    if problem is not None:
        raise SchemaError(problem)


def rows(data: Confidential, table: str | None = None) -> Any:
    """The declared columns of one table, by default the main one, as an Ibis table, values exactly as stored.

    For mechanisms only: what is computed from it is confidential until noise is added.
    """
    try:
        return data._tables[data.main if table is None else table]
    except KeyError:
        raise UsageError(
            f"{table}: this data set has no such table; it has {', '.join(sorted(data._tables))}"
        ) from None


def with_rows_bounded(data: Confidential, column: str, most: int, key: str) -> Confidential:
    """The same data with at most `most` rows of each unit that the id `column` tells apart, chosen by chance.

    Which rows stay follows from `key` and from the unit's own rows alone: neither other units nor the order of the file
    have a say, so that one unit more or less changes no other's rows.
    """
    given = rows(data), data.schema, column, most, key
    chosen = Confidential({}, data.schema, data._engine)
    bounded = data._engine.written(("bounded", *given), lambda: _bounded(*given))
    chosen._tables = {**data._tables, data.main: bounded}  # as they were declared: days are days already
    return chosen


def _bounded(table: Any, schema: Schema, column: str, most: int, key: str) -> Any:
    content = table.mutate(tacita_content=_digest(table, schema))
    # Equal rows of a unit are numbered, so that each has a chance of its own.
    alike = ibis.window(group_by=[column, "tacita_content"], order_by="tacita_content")
    content = content.mutate(tacita_number=ibis.row_number().over(alike).cast("string"))
    drawn = ibis.literal(_BETWEEN).join([ibis.literal(key), content.tacita_content, content.tacita_number])
    content = content.mutate(tacita_lot=drawn.hexdigest("md5"))
    own = ibis.window(group_by=column, order_by="tacita_lot")
    content = content.mutate(tacita_rank=ibis.row_number().over(own))
    return content.filter(content.tacita_rank < most).select(*table.columns)


def engine_of(data: Confidential) -> Engine:
    """The engine that runs expressions over `rows`."""
    return data._engine


def asked(data: Confidential, key: tuple[Any, ...], write: Callable[[], Any]) -> pa.Table:
    """The answer to the expression that `write` gives, which follows from the tables, the schema and `key` alone."""
    return data._engine.collect(data._engine.written((*key, data.schema, *data._tables.items()), write))


def tallied(data: Confidential, scan: Scan) -> pa.Table | None:
    """What the check of these rows has scanned already, for mechanisms as `rows` is."""
    return data._tallies.get(scan)


def parquet_file(data: Confidential) -> Path | None:
    """The one local Parquet file behind the main table, where there is one, for scans that read it directly."""
    path = data._files.get(data.main)
    local = data._engine.name == "duckdb" and path is not None and path.suffix.lower() in (".parquet", ".pq")
    return path if local and path is not None and path.is_file() else None


# ---------------------------------------------------------------- opening


def _named(source: Any, schema: Schema) -> list[tuple[tuple[str, Any], bool]]:
    """Each table with its name, and whether it is one of several."""
    if not isinstance(source, Mapping):
        return [((schema.row, source), False)]
    tables = dict(source)
    if unknown := sorted(set(tables) - {"job", "workplace", "worker"}):
        raise UsageError(f"data.{unknown[0]}: linked tables are called job, workplace and worker")
    if "job" not in tables:
        raise UsageError("data.job: is missing; linked tables need the table of jobs")
    if len(tables) == 1:
        return [((schema.row, tables["job"]), False)]
    for variable in schema:
        if variable.table not in tables:
            raise SchemaError(
                f"variables.{variable.name}.table: no {variable.table} table was given; "
                f"add data.{variable.table} or correct the schema"
            )
    return [(item, True) for item in tables.items()]


def _columns(table: str, schema: Schema, linked: bool) -> tuple[str, ...]:
    return schema.in_table(table) if linked else schema.names


def _digest(table: Any, schema: Schema) -> Any:
    """A hash of each row's declared content, the same for every file format and engine."""
    values = []
    for column in sorted(table.columns):
        kind, stored = schema[column].kind, table[column]
        value = canonical_number(stored, kind) if isinstance(kind, Integer | Numeric | Date) else text_of(stored)
        values.append(ibis.coalesce(value, _NOTHING))
    return ibis.literal(_BETWEEN).join(values).hexdigest("md5")


def _declared(table: Any, name: str, schema: Schema, linked: bool, engine: Engine) -> Any:
    """Only the declared columns; a file that lacks one is an error."""
    columns = _columns(name, schema, linked)
    folded = {column.casefold(): column for column in table.columns}
    for column in columns:
        if column in table.columns:
            continue
        near = folded.get(column.casefold())
        hint = f'; the file writes it "{near}", so use that spelling in the schema' if near else ""
        raise SchemaError(
            f"{name}.{column}: the schema declares this column and the file lacks it{hint or '; add it to the file'}"
            " or remove it from the schema"
        )
    selected = {}
    for column in columns:
        stored, kind = table[column], schema[column].kind
        if isinstance(kind, Date):
            selected[column] = _days(stored, f"{name}.{column}")
        else:
            numeric = isinstance(kind, Integer | Numeric) and stored.type().is_string()
            selected[column] = engine.number_in(stored) if numeric else stored
    return table.select(**selected)


def _days(stored: Any, where: str) -> Any:
    kind = stored.type()
    if not (kind.is_string() or kind.is_date() or kind.is_timestamp()):
        raise SchemaError(
            f"{where}: is declared as a date and stored as {kind}; store dates, or text such as 2026-01-31"
        )
    if kind.is_timestamp() and kind.timezone is not None:
        raise SchemaError(f"{where}: its times have a time zone, so that a day is not the same everywhere; store dates")
    return day_in(stored)
