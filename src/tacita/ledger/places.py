"""Where a ledger is: a file of one machine, or a PostgreSQL server that several operators reach."""

from __future__ import annotations

import re
from pathlib import Path

from tacita.data.address import is_server as is_server
from tacita.data.address import split_address
from tacita.errors import UsageError
from tacita.ledger.sqlite_store import SqliteStore
from tacita.ledger.store import Store

_NAME = re.compile(r"[a-z][a-z0-9_]{0,39}")


def server_address(place: str) -> tuple[str, str]:
    """What libpq is told, and the name of the ledger on that server, which is the name of its schema.

    >>> server_address("postgresql://db.office/statistics#jobs")
    ('postgresql://db.office/statistics', 'jobs')
    """
    address, name = split_address(place, "ledger")
    name = name or "tacita"
    if not _NAME.fullmatch(name) or name.startswith("pg_"):
        raise UsageError("ledger: the name after # must be small letters, digits and _, at most 40, as in #jobs")
    return address, name


def ledger_name(place: str | Path) -> str:
    """What a ledger is called, without where it is kept."""
    return server_address(str(place))[1] if is_server(place) else Path(place).name


def store_at(place: str | Path, *, read_only: bool = False) -> Store:
    if not is_server(place):
        return SqliteStore(Path(place), read_only=read_only)
    address, name = server_address(str(place))
    from tacita.ledger.postgres_store import PostgresStore  # only where there is a server: psycopg is an extra

    return PostgresStore(address, name, read_only=read_only)
