"""A Spark session of this machine, where the user has none, and what engines say that nobody could act on."""

from __future__ import annotations

import importlib
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tacita.errors import UsageError
from tacita.lazy import later

ibis = later("ibis")


def local_spark() -> Any:
    try:
        sql = importlib.import_module("pyspark.sql")
    except ImportError:
        raise UsageError(
            "engine: spark needs the extra packages of tacita[spark] and a Java runtime; install them or use duckdb"
        ) from None
    try:
        with known_warnings():
            session = sql.SparkSession.getActiveSession()
            if session is None:
                session = (
                    sql.SparkSession.builder.appName("tacita")
                    .config("spark.ui.enabled", "false")
                    .config("spark.sql.session.timeZone", "UTC")
                    .config("spark.sql.shuffle.partitions", "8")  # local mode: the default of 200 is for clusters
                    .getOrCreate()
                )
                if ".connect." not in type(session).__module__:  # where the workers are not ours
                    session.sparkContext.pythonExec = sys.executable  # workers need this package
            return ibis.pyspark.connect(session)
    except Exception as problem:
        raise UsageError(
            f"engine: Spark did not start ({type(problem).__name__}); check that a Java runtime is installed, "
            "or use duckdb"
        ) from None


@contextmanager
def known_warnings() -> Iterator[None]:
    """Silence what the engines' glue says about its own dependencies; nothing a user could act on."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*fetch_arrow_table", category=DeprecationWarning)
        warnings.filterwarnings("ignore", message=".*does not yet fully support pandas", category=FutureWarning)
        warnings.filterwarnings("ignore", category=ResourceWarning)
        yield
