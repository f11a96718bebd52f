"""The only door to confidential rows.

A `Confidential` is a file on an engine plus its schema. It can be checked, recognised (`fingerprint`) and handed to
a plan; it cannot be looked at. `rows` is the one function that yields its tables, for code that runs inside a
mechanism: whatever calls it must spend, or be part of the checks below.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Literal, NoReturn

import ibis

from tacita.engine import (
    Engine,
    canonical_number,
    connect,
    is_missing,
    is_whole,
    level_code,
    number_of,
    text_of,
    to_arrow,
)
from tacita.errors import RefusedError, SchemaError, UsageError
from tacita.schema import Categorical, Identifier, Integer, Numeric, Schema, TableName

Source = str | Path | Mapping[str, str | Path]
Form = Literal["flat", "linked", "size"]

_BETWEEN = "\x1f"  # separates values in a row's canonical text
_NOTHING = "\x1e"  # stands for a missing value there
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

    __slots__ = ("_checked", "_engine", "_files", "_fingerprint", "_ids_checked", "_tables", "schema")

    def __init__(
        self, tables: Mapping[str, Any], schema: Schema, engine: Engine, files: Mapping[str, Path] | None = None
    ) -> None:
        self.schema = schema
        self._engine = engine
        self._tables = {name: _declared(table, name, schema, len(tables) > 1) for name, table in tables.items()}
        self._checked: set[str] = set()
        self._ids_checked = False
        self._fingerprint: str | None = None
        self._files = dict(files or {})

    @classmethod
    def open(cls, source: Source, schema: Schema | str | Path, *, engine: Any = "duckdb") -> Confidential:
        """Open a file, or a mapping of the linked tables "job", "workplace" and "worker".

        A path may be CSV, CSV.gz, Parquet (one file or a partitioned folder), SAS, Stata, SPSS, or
        `duckdb:file.db?table=name`. `engine` is "duckdb", "spark" or a connected Ibis backend.
        """
        schema = schema if isinstance(schema, Schema) else Schema.load(schema)
        connected = connect(engine)
        named = _named(source, schema)
        tables = {name: connected.read(path, _columns(name, schema, linked)) for (name, path), linked in named}
        return cls(tables, schema, connected, {name: Path(path) for (name, path), _ in named})

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

    def table_of(self, column: str) -> TableName:
        """The table that holds a declared column; a single file holds them all."""
        return "job" if len(self._tables) == 1 else self.schema[column].table

    def fingerprint(self) -> str:
        """A hash of the content of the declared columns that survives renaming, re-ordering and another file format.

        It is a function of confidential rows, exact to the last one: it may be kept in the ledger, which stays
        inside, and must never be published.
        """
        if self._fingerprint is None:
            content = {name: self._content(name) for name in sorted(self._tables)}
            canonical = json.dumps(content, sort_keys=True, separators=(",", ":"))
            self._fingerprint = hashlib.sha256(canonical.encode()).hexdigest()
        return self._fingerprint

    def _content(self, name: str) -> dict[str, Any]:
        """Row count and sums of row hashes: a sum does not know the order of its terms."""
        table = self._tables[name]
        columns = sorted(table.columns)
        values = []
        for column in columns:
            numeric = isinstance(self.schema[column].kind, Integer | Numeric)
            value = canonical_number(table[column]) if numeric else text_of(table[column])
            values.append(ibis.coalesce(value, _NOTHING))
        digest = table.select(digest=ibis.literal(_BETWEEN).join(values).hexdigest("md5"))
        # 60 bits of each row's hash, in two halves whose sums cannot overflow.
        number = self._engine.hex_to_integer(digest.digest.substr(0, 15))
        halves = digest.select(high=number >> _HALF, low=number & (2**_HALF - 1))
        sums = halves.aggregate(rows=halves.count(), high=halves.high.sum(), low=halves.low.sum())
        (found,) = self._engine.collect(sums).to_pylist()
        return {"columns": columns, **{key: int(value or 0) for key, value in found.items()}}

    # ------------------------------------------------------------ checks before anything is spent

    def check(self, columns: Iterable[str]) -> None:
        """Refuse a file that breaks a strict rule of its schema; run before a budget is touched.

        Only `columns` and the ids are looked at. Messages name table, column, rule and fix, never a value and
        never how many rows are concerned.
        """
        todo = [self.schema[column].name for column in dict.fromkeys(columns) if column not in self._checked]
        if not todo and self._ids_checked:
            return
        problems: list[str] = []
        for name, table in self._tables.items():
            here = [column for column in todo if self.table_of(column) == name and column in table.columns]
            ids = [column for column in table.columns if isinstance(self.schema[column].kind, Identifier)]
            problems += self._check_table(name, table, [column for column in here if column not in ids], ids)
        if not problems:
            problems += self._check_links(todo) + self._check_zeros(todo)
        if problems:
            raise SchemaError("\n".join(problems))
        self._checked.update(todo)
        self._ids_checked = True

    def _check_table(self, name: str, table: Any, columns: list[str], ids: list[str]) -> list[str]:
        rules: dict[str, tuple[Any, str]] = {}
        for column in [] if self._ids_checked else ids:
            rules[f"{column} id"] = (
                is_missing(table[column]),
                f"{name}.{column}: an id is missing; every row needs one, so repair the file",
            )
        for column in columns:
            kind = self.schema[column].kind
            if isinstance(kind, Integer | Numeric):
                rules.update(_number_rules(f"{name}.{column}", table[column], kind))
        flags = {f"f{at}": rule.any() for at, (rule, _) in enumerate(rules.values())}
        (found,) = self._engine.collect(table.aggregate(rows=table.count(), **flags)).to_pylist()
        if not found["rows"]:
            return [f"{name}: the file has no rows; open the right file"]
        problems = [text for at, (_, text) in enumerate(rules.values()) if found[f"f{at}"]]
        for column in columns:
            kind = self.schema[column].kind
            if isinstance(kind, Categorical):
                problems += self._check_levels(f"{name}.{column}", table, column, kind)
        return problems

    def _check_levels(self, where: str, table: Any, column: str, kind: Categorical) -> list[str]:
        if kind.outside != "error" and kind.missing is not None:
            return []
        # One value more than the rule allows is enough to know; a column of free text must not fill memory.
        enough = len(kind.levels) + len(kind.missing_codes) + 2
        distinct = table.select(value=text_of(table[column])).distinct().limit(enough)
        values = self._engine.collect(distinct)["value"].to_pylist()
        problems = []
        if kind.missing is None and None in values:
            problems.append(
                f"{where}: a value is missing and the schema has no rule for it; "
                f'declare variables.{column}.missing = "<level>", or repair the file'
            )
        if kind.outside == "error" and any(value is not None and kind.code_of(value) is None for value in values):
            problems.append(
                f"{where}: a value is not among the declared levels; add the level to the schema, "
                f'declare variables.{column}.outside = "<level>", or repair the file'
            )
        return problems

    def _check_links(self, todo: list[str]) -> list[str]:
        problems: list[str] = []
        workplace, worker = self.schema.id_of("workplace"), self.schema.id_of("worker")
        job = self._tables["job"]
        if not self._ids_checked:
            if worker and worker in job.columns and self._repeats(job, worker):
                problems.append(
                    f"job.{worker}: a worker holds more than one job; keep one job per worker (the main job), because "
                    "the guarantee protects a worker through one record"
                )
            if self.form == "size" and workplace and self._repeats(job, workplace):
                problems.append(f"job.{workplace}: an establishment has more than one row; keep one row for each")
            problems += self._check_entity("workplace", workplace)
        if any(self.table_of(column) == "worker" for column in todo):
            problems += self._check_entity("worker", worker)
        if self.form == "flat" and workplace:
            problems += self._check_constant(job, workplace, todo)
        return problems

    def _check_zeros(self, todo: list[str]) -> list[str]:
        """A combination that the schema calls impossible must not occur."""
        problems = []
        for zero in self.schema.zeros:
            names = [name for name, _ in zero]
            table = self._tables[self.table_of(names[0])]
            if not set(names) & set(todo) or not set(names) <= set(table.columns):
                continue
            found = table
            for name, level in zero:
                kind = self.schema.categorical(name)
                found = found.filter(level_code(found[name], kind) == kind.code[level])
            if self._engine.collect(found.limit(1)).num_rows:
                problems.append(
                    f"{', '.join(names)}: a record has a combination of levels that [[zeros]] calls impossible; "
                    "repair the file, or take that entry out of the schema"
                )
        return problems

    def _check_constant(self, job: Any, workplace: str, todo: list[str]) -> list[str]:
        """Every row of a flat file says where its establishment is. If rows disagree, one worker could move it."""
        attributes = [column for column in todo if self.schema[column].role == "workplace"]
        if not attributes:
            return []
        pieces = job.select(workplace, *attributes).distinct()
        if self._repeats(pieces, workplace):
            return [
                f"job.{', job.'.join(attributes)}: rows of one establishment disagree; these are public facts of the "
                "establishment, so give all its rows the same value, or link a workplace table"
            ]
        return []

    def _repeats(self, table: Any, key: str) -> bool:
        counted = table.aggregate(rows=table.count(), different=table[key].nunique())
        (found,) = self._engine.collect(counted).to_pylist()
        return bool(found["rows"] != found["different"])

    def _check_entity(self, entity: TableName, key: str | None) -> list[str]:
        if entity not in self._tables or key is None:
            return []
        if self._repeats(self._tables[entity], key):
            return [f"{entity}.{key}: the id occurs more than once; keep one row for each {entity}"]
        job, listed = self._tables["job"], self._tables[entity]
        if self._engine.collect(job.anti_join(listed, same_key(job, listed, key)).limit(1)).num_rows:
            return [
                f"job.{key}: a job refers to a {entity} that the {entity} table lacks; add it there or drop the job"
            ]
        return []

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


def rows(data: Confidential, table: TableName = "job") -> Any:
    """The declared columns of one table as an Ibis table, values exactly as stored.

    For mechanisms only: what is computed from it is confidential until noise is added.
    """
    try:
        return data._tables[table]
    except KeyError:
        raise UsageError(
            f"{table}: this data set has no such table; it has {', '.join(sorted(data._tables))}"
        ) from None


def engine_of(data: Confidential) -> Engine:
    """The engine that runs expressions over `rows`."""
    return data._engine


def parquet_file(data: Confidential) -> Path | None:
    """The one local Parquet file behind the main table, where there is one, for scans that read it directly."""
    path = data._files.get("job")
    local = data._engine.name == "duckdb" and path is not None and path.suffix.lower() in (".parquet", ".pq")
    return path if local and path is not None and path.is_file() else None


def same_key(left: Any, right: Any, key: str) -> Any:
    """The condition that links two tables, also where one file stores the key as a number and the other as text."""
    ours, theirs = left[key], right[key]
    if ours.type().is_integer() and theirs.type().is_integer():
        return ours == theirs
    return text_of(ours) == text_of(theirs)


# ---------------------------------------------------------------- opening


def _named(source: Any, schema: Schema) -> list[tuple[tuple[str, Any], bool]]:
    """Each table with its name, and whether it is one of several."""
    if not isinstance(source, Mapping):
        return [(("job", source), False)]
    tables = dict(source)
    if unknown := sorted(set(tables) - {"job", "workplace", "worker"}):
        raise UsageError(f"data.{unknown[0]}: linked tables are called job, workplace and worker")
    if "job" not in tables:
        raise UsageError("data.job: is missing; linked tables need the table of jobs")
    if len(tables) > 1:
        for variable in schema:
            if variable.table not in tables:
                raise SchemaError(
                    f"variables.{variable.name}.table: no {variable.table} table was given; "
                    f"add data.{variable.table} or correct the schema"
                )
    return [(item, len(tables) > 1) for item in tables.items()]


def _columns(table: str, schema: Schema, linked: bool) -> tuple[str, ...]:
    return schema.in_table(table) if linked else schema.names  # type: ignore[arg-type]


def _declared(table: Any, name: str, schema: Schema, linked: bool) -> Any:
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
        stored = table[column]
        numeric = isinstance(schema[column].kind, Integer | Numeric)
        selected[column] = stored.try_cast("float64") if numeric and stored.type().is_string() else stored
    return table.select(**selected)


def _number_rules(where: str, stored: Any, kind: Integer | Numeric) -> dict[str, tuple[Any, str]]:
    number = number_of(stored)
    missing = number.isnull()
    if kind.missing_codes:
        missing = missing | number.isin(list(kind.missing_codes))
    rules: dict[str, tuple[Any, str]] = {}
    key = where.partition(".")[2]
    if kind.missing is None:
        rules[f"{where} missing"] = (
            missing,
            f"{where}: a value is missing, NaN or not a number, and the schema has no rule for it; "
            f"declare variables.{key}.missing = <number>, or repair the file",
        )
    if kind.outside == "error":
        outside = (number < kind.lower) | (number > kind.upper)
        if isinstance(kind, Integer):
            outside = outside | ~is_whole(number)
        rules[f"{where} outside"] = (
            ~missing & outside,
            f"{where}: a value lies outside {kind.lower} to {kind.upper} or is not a whole number where one is needed; "
            f'declare variables.{key}.outside = "clamp", widen the bounds, or repair the file',
        )
    return rules
