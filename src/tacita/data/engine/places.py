"""Which engine reads what: a table of a server is counted there, a file by the engine that was asked for."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tacita.data.address import is_server
from tacita.data.engine.backends import Engine, connect
from tacita.errors import UsageError


def engine_for(places: Sequence[str | Path], engine: Any) -> Engine:
    """The engine for these tables, all of which it reads."""
    servers = [place for place in places if is_server(place)]
    if not servers:
        return connect(engine)
    if len(servers) < len(places):
        raise UsageError("data: some tables are files and some are on a server; bring them to one place")
    from tacita.data.engine.postgres import PostgresEngine  # only where there is a server: psycopg is an extra

    if isinstance(engine, PostgresEngine):
        return engine
    if engine != "duckdb":
        raise UsageError("engine: a table of a PostgreSQL server is read by the server itself; leave engine out")
    return PostgresEngine(str(servers[0]))
