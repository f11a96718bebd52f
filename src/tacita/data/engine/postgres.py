"""PostgreSQL, where rows are kept there: the server filters, groups and adds up, and its answer is brought here.

One transaction lasts from opening to the end (repeatable read, read only), so that rows are checked, known again and
measured in one state, whoever writes at the same time. Who connects how is libpq's business, as for ledgers. The SQL
is that of Ibis but for a few operations whose words here differ from DuckDB's and Spark's in what they mean.
"""

from __future__ import annotations

import io
import re
import weakref
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import Any, NoReturn

import ibis
import ibis.expr.datatypes as dt
import ibis.expr.operations as ops
import pyarrow as pa
import pyarrow.csv as pacsv
import sqlglot as sg
import sqlglot.expressions as sge

from tacita.data.address import split_address
from tacita.data.engine.backends import Engine
from tacita.errors import RefusedError, SchemaError, TacitaError, UsageError

try:
    import psycopg
    from ibis.backends.sql.compilers.postgres import PostgresCompiler
except ImportError:
    raise UsageError("data: a server needs psycopg; install it with the extra postgres: tacita[postgres]") from None

_NAME = re.compile(r'(?:([^."]+)\.)?([^."]+)')
_BEGIN = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
# Row security is off so that a policy which would hide rows is an error instead. Dates and floats have one spelling. A
# backslash in a level or a pattern is a backslash, whatever this user's settings say.
_SETTINGS = (
    "SET search_path = pg_catalog",
    "SET row_security = off",
    "SET standard_conforming_strings = on",
    "SET statement_timeout = 0",
    "SET idle_in_transaction_session_timeout = 0",
    "SET idle_session_timeout = 0",
    "SET datestyle = 'ISO, YMD'",
    "SET extra_float_digits = 1",
    "SET timezone = 'UTC'",
)
_COLUMNS = """SELECT c.relkind::text, a.attname::text, b.typname::text, b.typtype::text, a.atttypmod
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
JOIN pg_type t ON t.oid = a.atttypid
JOIN pg_type b ON b.oid = CASE WHEN t.typtype = 'd' THEN t.typbasetype ELSE t.oid END
WHERE n.nspname = %s AND c.relname = %s ORDER BY a.attnum"""
_KINDS = ("r", "p", "m", "v")  # tables, partitioned ones, materialised and plain views
_DENIED = "42501"
_MOST_ROWS = 1 << 62
# Numbers that a float holds are cast; beyond its range a cast fails, where other engines have infinity, or 0.
_PLAIN = r"^\s*[+-]?(\d{1,17}(\.\d{0,17})?|\.\d{1,17})\s*$|^\s*[+-]?inf(inity)?\s*$"
_NUMBER = r"^\s*[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?\s*$"
_HUGE, _TINY = r"e\+?0*[1-9]\d{4,}\s*$", r"e-0*[1-9]\d{4,}\s*$"
_FLOAT = f"""CASE WHEN {{0}} ~* '{_PLAIN}' THEN CAST({{0}} AS double precision)
WHEN NOT {{0}} ~* '{_NUMBER}' THEN NULL
WHEN {{0}} ~* '^\\s*[+-]?[0.]+(e|\\s*$)' OR {{0}} ~* '{_TINY}' THEN 0
WHEN {{0}} ~* '{_HUGE}' OR abs(CAST({{0}} AS numeric)) >= 1.7976931348623158e308
THEN CASE WHEN {{0}} ~ '^\\s*-' THEN CAST('-Infinity' AS double precision)
ELSE CAST('Infinity' AS double precision) END
WHEN abs(CAST({{0}} AS numeric)) < 5e-324 THEN 0
ELSE CAST({{0}} AS double precision) END"""
# Before 16 a server cannot ask whether a text is a date, and there is no year 0 as the other engines have it.
_FIRST = "make_date(COALESCE(NULLIF(substr({0}, 1, 4)::int, 0), -1), substr({0}, 6, 2)::int, 1)"
_DAY = f"""CASE WHEN substr({{0}}, 6, 2)::int BETWEEN 1 AND 12 AND substr({{0}}, 9, 2)::int BETWEEN 1 AND 31 THEN
CASE WHEN date_part('month', {_FIRST} + (substr({{0}}, 9, 2)::int - 1)) = substr({{0}}, 6, 2)::int
THEN {_FIRST} + (substr({{0}}, 9, 2)::int - 1) END END"""


class HexToInteger(ops.Unary):  # type: ignore[misc]
    """At most 15 hexadecimal digits as a 64-bit integer."""

    arg: ops.Value[dt.String]
    dtype = dt.int64


class _Compiler(PostgresCompiler):  # type: ignore[misc]
    """Ibis's, but for operations that servers before 16 lack, or that go through 15 digits, or fail at one bad text."""

    def visit_HexToInteger(self, op: Any, *, arg: Any) -> Any:  # noqa: N802 -- Ibis finds it by the operation's name
        padded = sge.Concat(expressions=[sge.convert("x"), self.f.lpad(arg, 16, "0")], safe=False, coalesce=False)
        return sge.cast(sge.cast(padded, "bit(64)", dialect="postgres"), "bigint", dialect="postgres")

    def visit_HexDigest(self, op: Any, *, arg: Any, how: str) -> Any:  # noqa: N802
        assert how == "md5"  # no other is asked for
        return self.f.md5(self.f.anon.convert_to(arg, "UTF8"))

    def visit_StringJoin(self, op: Any, *, arg: Any, sep: Any) -> Any:  # noqa: N802
        """A function takes at most 100 arguments, and a file may have more columns."""
        return self.f.anon.array_to_string(sge.Array(expressions=list(arg)), sep)

    def visit_RegexSearch(self, op: Any, *, arg: Any, pattern: Any) -> Any:  # noqa: N802
        return sge.RegexpLike(this=arg, expression=pattern)

    def visit_Modulus(self, op: Any, *, left: Any, right: Any) -> Any:  # noqa: N802
        """Of floats without the decimals in between, which keep 15 digits; exact where a float is divided by 1."""
        if op.dtype.is_floating():
            return sge.paren(left - self.f.trunc(sge.paren(left, copy=True) / right) * right)
        return super().visit_Modulus(op, left=left, right=right)

    def visit_Log2(self, op: Any, *, arg: Any) -> Any:  # noqa: N802
        return self.f.ln(arg) / self.f.ln(self.cast(sge.convert(2), dt.float64))

    def visit_TryCast(self, op: Any, *, arg: Any, to: Any) -> Any:  # noqa: N802
        if op.arg.dtype.is_string() and to.is_date():
            return sg.parse_one(_DAY.format(arg.sql("postgres")), read="postgres")
        if op.arg.dtype.is_string() and to.is_floating():
            return sg.parse_one(_FLOAT.replace("{0}", arg.sql("postgres")), read="postgres")
        return super().visit_TryCast(op, arg=arg, to=to)


class PostgresEngine(Engine):
    """One server, in one transaction."""

    elsewhere = True

    def __init__(self, place: str) -> None:
        super().__init__(None)
        self._address, _ = split_address(place, "data")
        self._compiler = _Compiler()
        self._sources: dict[str, str] = {}  # the name of an Ibis table, and what stands for it in SQL
        self._connection = _connected(self._address)
        weakref.finalize(self, self._connection.close)

    @property
    def name(self) -> str:
        return "postgres"

    def read(self, source: str | Path, columns: Sequence[str], dates: Collection[str] = ()) -> Any:
        """The table that stands after #, its values in the types that the other engines have."""
        address, named = split_address(str(source), "data")
        if address != self._address:
            raise UsageError("data: linked tables must be in one database, or they are not of one moment; name one")
        match = _NAME.fullmatch(named)
        if match is None:
            raise UsageError("data: write a table of a server as postgresql://host/database#schema.table")
        schema, table = match[1] or "public", match[2]
        what = f"data {schema}.{table}"
        described = self._asked(what, _COLUMNS, (schema, table))
        if not described:
            raise SchemaError(f"{what}: no such table on this server, or none that this user may see; correct the name")
        if described[0][0] not in _KINDS:
            raise SchemaError(f"{what}: is kept elsewhere or is no table; name a table or a view of this server")
        forms = {}
        for _, column, kind, sort, modifier in described:
            form = _form(_quoted(column), kind, sort, modifier)
            if form is None and column in columns:
                raise SchemaError(
                    f"{what}, column {column}: holds {kind}; a column must hold text, numbers, dates or true/false"
                )
            if form is not None:
                forms[column] = form
        if not forms:
            raise SchemaError(f"{what}: has no column of text, numbers, dates or true/false")
        selected = ", ".join(f"{form} AS {_quoted(column)}" for column, (form, _) in forms.items())
        name = ibis.util.gen_name("tacita_rows")
        self._sources[name] = f"(SELECT {selected} FROM {_quoted(schema)}.{_quoted(table)})"
        # Asked once for nothing, so that a missing right is said now and not when rows are counted.
        self._asked(what, f"SELECT 1 FROM {_quoted(schema)}.{_quoted(table)} LIMIT 0")
        return ibis.table({column: kind for column, (_, kind) in forms.items()}, name=name)

    def hex_to_integer(self, digits: Any) -> Any:
        return HexToInteger(digits).to_expr()

    def computed_once(self, table: Any) -> Any:
        """A limit, which no file reaches, keeps the server from writing expressions into those that use them."""
        return table.limit(_MOST_ROWS)

    def table(self, frame: pa.Table) -> NoReturn:
        raise UsageError("engine: a server reads its own tables; tables in memory take duckdb or spark")

    def _run(self, expression: Any) -> pa.Table:
        asked = expression.as_table()
        query = self._compiler.to_sqlglot(asked).sql(dialect="postgres")
        for name, source in self._sources.items():
            query = query.replace(_quoted(name), source)
        types = asked.schema().to_pyarrow()
        with (
            self._connection.cursor() as cursor,
            cursor.copy(f"COPY ({query}) TO STDOUT (FORMAT csv, HEADER)".encode()) as copy,
        ):
            reader = pacsv.open_csv(
                pa.PythonFile(io.BufferedReader(_Stream(iter(copy)), 1 << 20), mode="r"),
                parse_options=pacsv.ParseOptions(newlines_in_values=True, ignore_empty_lines=False),
                convert_options=pacsv.ConvertOptions(
                    column_types={field.name: field.type for field in types},
                    null_values=[""],
                    true_values=["t"],
                    false_values=["f"],
                    strings_can_be_null=True,
                    quoted_strings_can_be_null=False,
                ),
            )
            return reader.read_all()

    def _asked(self, what: str, statement: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        try:
            cursor = self._connection.execute(statement.encode(), values or None)
            return list(cursor.fetchall())
        except psycopg.Error as error:
            if error.sqlstate == _DENIED:
                raise RefusedError(
                    f"{what}: the server does not let this user read all of it; ask its owner for the right to SELECT "
                    "(without a row security policy that hides rows)"
                ) from None
            raise TacitaError(f"{what}: the server broke off ({type(error).__name__}); open the data again") from None


class _Stream(io.RawIOBase):
    """The blocks of a COPY as a file that is read once."""

    def __init__(self, blocks: Iterator[Any]) -> None:
        self._blocks, self._rest = blocks, b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self._rest:
            block = next(self._blocks, None)
            if block is None:
                return 0
            self._rest = bytes(block)
        size = min(len(buffer), len(self._rest))
        buffer[:size], self._rest = self._rest[:size], self._rest[size:]
        return size


def _connected(address: str) -> Any:
    try:
        connection = psycopg.connect(
            address, autocommit=True, client_encoding="utf8", fallback_application_name="tacita"
        )
        for statement in _SETTINGS:
            try:
                connection.execute(statement.encode())
            except psycopg.errors.UndefinedObject:
                continue  # a setting that this server is too old to have
        connection.execute(_BEGIN.encode())
        # The state that all later questions see is that of the first.
        connection.execute(b"SELECT count(*) FROM pg_catalog.pg_class WHERE false")
    except psycopg.Error as error:
        said = "it refused the login" if str(error.sqlstate or "").startswith("28") else "it was not reached"
        raise TacitaError(
            f"data: no connection to the server, because {said}; check host, database and user in the address, and "
            "PGPASSWORD, ~/.pgpass or the service file"
        ) from None
    return connection


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _form(column: str, kind: str, sort: str, modifier: int) -> tuple[str, Any] | None:
    """How a column is asked for, and its Ibis type: whole numbers as the longest, and text compared byte by byte."""
    if kind in ("int2", "int4", "int8"):
        return f"{column}::bigint", dt.int64
    if kind in ("float4", "float8"):
        return f"{column}::double precision", dt.float64
    if kind == "bool":
        return column, dt.boolean
    if kind == "date":
        return column, dt.date
    if kind == "timestamp":
        return column, dt.Timestamp(scale=6)
    if kind == "timestamptz":
        return column, dt.Timestamp(timezone="UTC", scale=6)
    if kind == "numeric":
        precision, scale = ((modifier - 4) >> 16) & 0xFFFF, (modifier - 4) & 0x7FF
        if modifier >= 4 and scale <= precision <= 38:
            return column, dt.Decimal(precision, scale)
        # Of any length: each digit as text, of which numbers and codes are made without loss.
        return f"NULLIF(trim_scale({column})::text, 'NaN') COLLATE \"C\"", dt.string
    if kind in ("text", "varchar", "bpchar", "name", "char", "uuid", "citext") or sort == "e":
        return f'{column}::text COLLATE "C"', dt.string
    return None
