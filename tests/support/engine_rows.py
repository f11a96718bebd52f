"""The rows of a test on every engine: in memory for DuckDB and Spark, in a table for PostgreSQL."""

import io
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from itertools import count
from typing import Any

import pyarrow as pa
import pyarrow.csv as pacsv

from support.postgres_server import Server
from tacita.data.confidential import Confidential
from tacita.data.engine import to_arrow
from tacita.data.schema import Schema

NAMES = count()
TYPES = {"string": "text", "large_string": "text", "int64": "bigint", "double": "double precision", "bool": "boolean"}


@contextmanager
def small_spark() -> Iterator[Any]:
    """A session for few rows: one thread, one part. `connect("spark")` takes the session that is active."""
    from pyspark.sql import SparkSession

    settings = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.shuffle.partitions": "1",
        "spark.default.parallelism": "1",
    }
    builder = SparkSession.builder.appName("tests").master("local[1]")
    for name, value in settings.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    session.sparkContext.pythonExec = sys.executable  # later tests may have workers run this package
    yield session


def stored(server: Server, frame: Any, types: Mapping[str, str] | None = None) -> str:
    """The address of a new table with these rows; `types` says how columns are stored where that matters."""
    import psycopg

    rows = frame if isinstance(frame, pa.Table) else to_arrow(frame, list(frame), "rows")
    name = f"rows_{next(NAMES)}"
    kinds = {column: (types or {}).get(column) or _type(rows[column].type) for column in rows.column_names}
    declared = ", ".join(f'"{column}" {kind}' for column, kind in kinds.items())
    text = io.BytesIO()
    pacsv.write_csv(rows, text, pacsv.WriteOptions(include_header=False, quoting_style="needed"))
    with psycopg.connect(server.address()) as connection, connection.cursor() as cursor:
        cursor.execute(f"CREATE TABLE {name} ({declared})".encode())
        with cursor.copy(f"COPY {name} FROM STDIN (FORMAT csv)".encode()) as copy:
            copy.write(text.getvalue())
    return f"{server.address()}#public.{name}"


def _type(kind: pa.DataType) -> str:
    if str(kind) in TYPES:
        return TYPES[str(kind)]
    if pa.types.is_integer(kind):
        return "bigint"
    return "date" if pa.types.is_date(kind) else "timestamp"


def on_server(server: Server, frame: Any, schema: Schema) -> Confidential:
    tables = {name: stored(server, one) for name, one in frame.items()} if isinstance(frame, Mapping) else None
    return Confidential.open(tables or stored(server, frame), schema)
