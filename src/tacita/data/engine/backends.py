"""DuckDB and Spark, and all that differs between them: connecting, reading files, turning a hash into integers and
bringing a small aggregate back as Arrow. Messages of the engines may quote rows, so none of them is passed on.
"""

from __future__ import annotations

import importlib
import weakref
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import parse_qs

import pyarrow as pa

from tacita.data.engine.compiling import sql_of
from tacita.data.engine.expressions import number_in, text_of
from tacita.data.engine.frames import (
    NOT_UTF8,
    STATISTICAL,
    WORKBOOK,
    csv_header,
    read_statistical,
    read_workbook,
    told_apart,
)
from tacita.data.engine.paths import exists, hadoop_literal, is_pattern, literal, parquet_files
from tacita.data.engine.spark import known_warnings, local_spark
from tacita.data.engine.spill import Spill
from tacita.errors import SchemaError, TacitaError, UsageError
from tacita.lazy import later

ibis = later("ibis")

_T = TypeVar("_T")
_CSV = (".csv", ".csv.gz", ".tsv", ".txt")
_FIRST = 1_000  # lines
_MISWRITTEN = (
    "a line of a CSV file has other values than its first line has names, or a quote that is not closed; write it with "
    'one separator and one kind of line end throughout, and values that hold either of them in "double quotes"'
)
_FORMS = "CSV, CSV.gz, Parquet (a file or a folder), Excel, SAS, Stata, SPSS or duckdb:file.db?table=name"


class Engine:
    """A connection that can read files and run Ibis expressions. Use `connect` to make one."""

    elsewhere = False  # whether rows are in other processes, and stay there

    def __init__(self, backend: Any) -> None:
        self.backend = backend

    @property
    def name(self) -> str:
        return str(self.backend.name)

    def read(self, source: str | Path, columns: Sequence[str], dates: Collection[str] = ()) -> Any:
        """The file as an Ibis table; `columns` is what will be needed of it, `dates` those that are days."""
        place = str(source)
        if place.startswith("duckdb:"):
            return self._database(place.removeprefix("duckdb:"), columns)
        path = Path(source).absolute()  # with no scheme in front that an engine would take for an address
        if not exists(path):
            hint = "; a path is taken as it is written, and a pattern is not expanded" if is_pattern(path) else ""
            raise SchemaError(f"data {path.name}: no such file or folder; correct the path{hint}")
        name = path.name.lower()
        if name.endswith(STATISTICAL):
            return self.table(read_statistical(path, columns, dates))
        if name.endswith(WORKBOOK):
            return self.table(read_workbook(path, columns))
        if path.is_dir() or name.endswith((".parquet", ".pq")):
            if path.is_dir() and not any(path.rglob("*.parquet")):
                raise SchemaError(f"data {path.name}: a folder is read as its Parquet files, and it holds none")
            table = _plain(self._reading(path, lambda: self._parquet(path)), columns, path)
            self._reading(path, lambda: self._refuse_wide_decimals(path, table, columns))
            return table
        if name.endswith(_CSV):
            names, separator = self._reading(path, lambda: csv_header(path, errors="replace"))
            return self._reading(path, lambda: self._csv(path, told_apart(names), separator))
        raise UsageError(f"data {path.name}: unknown kind of file; use {_FORMS}")

    def _reading(self, path: Path, read: Callable[[], _T]) -> _T:
        try:
            with known_warnings():
                return read()
        except TacitaError:
            raise
        except Exception as problem:  # the engine's message may quote lines of the file
            if (wrong := _wrongly_written(problem)) is not None:
                raise SchemaError(f"data {path.name}: {wrong}") from None
            raise SchemaError(
                f"data {path.name}: the {self.name} engine cannot read it ({type(problem).__name__}); "
                "check that the file is complete and of the kind its name says"
            ) from None

    def collect(self, expression: Any) -> pa.Table:
        """Run an expression and bring its (small) result back."""
        try:
            with known_warnings():
                return self._run(expression)
        except Exception as problem:  # the engine's message may quote values
            if (wrong := _wrongly_written(problem)) is not None:
                raise SchemaError(f"data: {wrong}") from None
            raise TacitaError(
                f"the {self.name} engine could not finish a query ({type(problem).__name__}); its message is withheld "
                "because it may quote confidential values. Check that the file is complete and that memory suffices"
            ) from None

    def written(self, key: tuple[Any, ...], write: Callable[[], _T]) -> _T:
        """The expression that `write` gives, which follows from `key`: an audit's engine need not write it again."""
        return write()

    def map_groups(
        self,
        table: Any,
        column: str,
        digits: int | None,
        groups: Mapping[str, Sequence[str]],
        prepare: Callable[[Any], Any],
        work: Callable[[str, pa.Table], None],
    ) -> None:
        """Call `work` with each group's name and its prepared rows, as many groups in memory as run at once.

        A group is the leading `digits` of the codes in `column`, which `prepare` leaves in place (all digits where
        None); `groups` has the stored codes of each.
        """
        for name, levels in groups.items():
            stored = table[column]
            # A plain list of codes lets the engine skip the parts of a sorted or partitioned file that lack them.
            here = table.filter((stored if stored.type().is_string() else text_of(stored)).isin(list(levels)))
            work(name, self.collect(prepare(here)))

    # ------------------------------------------------------------ what engines do differently

    def table(self, frame: pa.Table) -> Any:
        raise NotImplementedError

    def hex_to_integer(self, digits: Any) -> Any:
        """At most 15 hexadecimal digits as a 64-bit integer."""
        raise NotImplementedError

    def number_in(self, text: Any) -> Any:
        return number_in(text)

    def computed_once(self, table: Any) -> Any:
        """A table of which each expression is computed once for a row, however often it is used."""
        return table

    def _parquet(self, path: Path) -> Any:
        raise NotImplementedError

    def _refuse_wide_decimals(self, path: Path, table: Any, columns: Sequence[str]) -> None:
        """Nothing to do where the engine itself refuses what it cannot hold."""

    def _csv(self, path: Path, names: Sequence[str], separator: str) -> Any:
        """Written as RFC 4180 says. Engines would guess quotes, comments and lines to skip from the records, so that
        one record could change how all others are read."""
        raise NotImplementedError

    def _database(self, place: str, columns: Sequence[str]) -> Any:
        raise UsageError(f"data: a DuckDB table can only be read with engine = duckdb, not {self.name}")

    def _run(self, expression: Any) -> pa.Table:
        return self._collect(sql_of(self.backend, expression))

    def _collect(self, query: str) -> pa.Table:
        raise NotImplementedError


class DuckEngine(Engine):
    """DuckDB in this process, out of core where memory is short."""

    def __init__(self, backend: Any) -> None:
        super().__init__(backend)
        # Parquet statistics leave NaN out, and DuckDB believes them: isnan(x) would be folded to false, and a NaN would
        # pass every check and clamp.
        backend.con.execute("SET disabled_optimizers = 'statistics_propagation'")

    def table(self, frame: pa.Table) -> Any:
        name = ibis.util.gen_name("rows")
        with known_warnings():
            self.backend.con.register(name, frame)
            return self.backend.table(name)

    def hex_to_integer(self, digits: Any) -> Any:
        return (ibis.literal("0x") + digits).cast("int64")

    def _parquet(self, path: Path) -> Any:
        if path.is_dir():
            # Partition values stay text: casting them would drop leading zeros of codes.
            return self.backend.read_parquet(parquet_files(path), hive_partitioning=True, hive_types_autocast=False)
        return self.backend.read_parquet(parquet_files(path))

    def _refuse_wide_decimals(self, path: Path, table: Any, columns: Sequence[str]) -> None:
        """DuckDB reads decimals of more than 38 digits as floats, in which different ids become one."""
        floats = [name for name in table.columns if name in columns and table[name].type().is_floating()]
        if not floats:
            return
        too_wide = self.backend.con.execute(
            "SELECT DISTINCT name FROM parquet_schema(?) WHERE precision > 38 AND list_contains(?, name)",
            [parquet_files(path), floats],
        ).fetchall()
        if too_wide:
            raise SchemaError(
                f"data {path.name}: the column {too_wide[0][0]} holds decimals of more than 38 digits, which cannot be "
                "read exactly; store it as text"
            )

    def _csv(self, path: Path, names: Sequence[str], separator: str) -> Any:
        written = {"delim": separator, "quote": '"', "escape": '"', "comment": "", "skip": 0, "strict_mode": True}
        columns = dict.fromkeys(names, "VARCHAR")
        table = self.backend.read_csv(literal(path), columns=columns, auto_detect=False, header=True, **written)
        self._run(table.limit(_FIRST))  # a file that is written otherwise is usually so from the beginning
        return table

    def _database(self, place: str, columns: Sequence[str]) -> Any:
        file, _, query = place.partition("?")
        names = parse_qs(query).get("table", [])
        if len(names) != 1:
            raise UsageError("data: write a DuckDB source as duckdb:file.db?table=name")
        path = Path(file)
        if not path.exists():
            raise SchemaError(f"data {path.name}: no such file; correct the path")
        schema, _, table = names[0].rpartition(".")

        def attach() -> Any:
            catalog = ibis.util.gen_name("attached")
            self.backend.attach(str(path), name=catalog, read_only=True)
            return self.backend.table(table, database=(catalog, schema or "main"))

        return _plain(self._reading(path, attach), columns, path)

    def _collect(self, query: str) -> pa.Table:
        return self.backend.con.sql(query).to_arrow_table()


class SparkEngine(Engine):
    """Spark, where the agency already has it."""

    elsewhere = True

    @property
    def _session(self) -> Any:
        return self.backend._session

    def table(self, frame: pa.Table) -> Any:
        name = ibis.util.gen_name("rows")
        with known_warnings():
            self._session.createDataFrame(frame).createOrReplaceTempView(name)
            return self.backend.table(name)

    def hex_to_integer(self, digits: Any) -> Any:
        def conv(digits: str, base: int, into: int) -> str:
            raise NotImplementedError("runs in Spark only")

        signature = (("string", "int32", "int32"), "string")
        return ibis.udf.scalar.builtin(conv, name="conv", signature=signature)(digits, 16, 10).cast("int64")

    def number_in(self, text: Any) -> Any:
        """Spark alone takes 5d and 5f for numbers."""
        return number_in(ibis.ifelse(text.re_search(r"[0-9.][dDfF]\s*$"), ibis.null("string"), text))

    def _parquet(self, path: Path) -> Any:
        # Partition values stay text: casting them would drop leading zeros of codes. The session may be the
        # agency's own, so its setting is put back.
        setting, settings = "spark.sql.sources.partitionColumnTypeInference.enabled", self._session.conf
        before = settings.get(setting)
        settings.set(setting, "false")
        try:
            return self.backend.read_parquet(hadoop_literal(path))
        finally:
            settings.set(setting, before)

    def _csv(self, path: Path, names: Sequence[str], separator: str) -> Any:
        types = importlib.import_module("pyspark.sql.types")
        columns = types.StructType([types.StructField(name, types.StringType()) for name in names])
        # Without multiLine a value of several lines would be as many records.
        written = {"sep": separator, "quote": '"', "escape": '"', "multiLine": True}
        return self.backend.read_csv(hadoop_literal(path), schema=columns, inferSchema=False, header=True, **written)

    def _collect(self, query: str) -> pa.Table:
        return self._session.sql(query).toArrow()

    def map_groups(
        self,
        table: Any,
        column: str,
        digits: int | None,
        groups: Mapping[str, Sequence[str]],
        prepare: Callable[[Any], Any],
        work: Callable[[str, pa.Table], None],
    ) -> None:
        """On the workers: `work` must be picklable, and what it writes must lie where all of them reach it."""
        if not groups:
            return
        prepared = prepare(table)
        code = text_of(prepared[column])
        name = code if digits is None else code.left(digits)
        key = ibis.util.gen_name("group")
        prepared = prepared.mutate(**{key: name}).filter(name.isin(list(groups)))

        def on_worker(value: Any, rows: pa.Table) -> pa.Table:
            work(value[0].as_py(), rows.drop_columns([key]))
            return pa.table({"done": [value[0].as_py()]})

        try:
            with known_warnings():
                frame = self._session.sql(self.backend.compile(prepared))
                frame.groupBy(key).applyInArrow(on_worker, "done string").collect()
        except Exception as problem:  # the engine's message may quote values
            raise TacitaError(
                f"the {self.name} engine could not finish a group ({type(problem).__name__}); its message is withheld "
                "because it may quote confidential values. Finished groups are kept"
            ) from None


def connect(engine: Any = "duckdb") -> Engine:
    """An engine by name, "duckdb" or "spark", or around an Ibis backend the caller has already connected.

    >>> connect("duckdb").name
    'duckdb'
    >>> connect("oracle")
    Traceback (most recent call last):
    ...
    tacita.errors.UsageError: engine: must be "duckdb", "spark" or a connected Ibis backend of one of the two
    """
    if isinstance(engine, Engine):
        return engine
    if engine == "duckdb":
        # No extension is ever fetched: agency networks are closed, and a file must not decide what is loaded.
        spill = Spill.make()
        closed = {"autoinstall_known_extensions": False, "allow_community_extensions": False}
        connected = DuckEngine(ibis.duckdb.connect(temp_directory=str(spill.folder), **closed))
        weakref.finalize(connected, spill.remove)
        return connected
    if engine == "spark":
        return SparkEngine(local_spark())
    name = getattr(engine, "name", None)
    if name == "duckdb":
        return DuckEngine(engine)
    if name == "pyspark":
        return SparkEngine(engine)
    raise UsageError('engine: must be "duckdb", "spark" or a connected Ibis backend of one of the two')


def _plain(table: Any, columns: Sequence[str], path: Path) -> Any:
    """The table, unless a needed column holds lists or records, which no level list and no bound describes."""
    for name, kind in table.schema().items():
        if name in columns and kind.is_nested():
            raise SchemaError(
                f"data {path.name}, column {name}: holds lists or records; a column must hold text, numbers, dates or "
                "true/false"
            )
    return table


def _wrongly_written(problem: Exception) -> str | None:
    """What an engine says of a file of text; its words are looked at and never passed on."""
    if isinstance(problem, UnicodeDecodeError) or "not utf-8" in str(problem).lower():
        return NOT_UTF8
    return _MISWRITTEN if "CSV" in str(problem) else None
