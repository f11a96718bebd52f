"""The chain: entries that only grow, each sealed by the hash of the one before; and what keeps them.

This module knows nothing of privacy, nor where the lines are: a `Store` is a file (`sqlite_store`) or a server
(`postgres_store`). Whichever it is,

* a write is one transaction, durable before the call returns, and no other write comes between its reads and its end;
* a line is never changed, replaced or removed;
* the hash of a line covers its text and the hash of the line before, and is checked whenever the ledger is read.

A line has a public text (`body`) and may have a private one, which the public text names only by its hash. The
private text carries random salt, so that the published hash says nothing about what is hashed.

A connection lives for one operation only: an open ledger can be used after a fork and from several threads.

Where a ledger is: a file of one machine, or a PostgreSQL server that several operators reach.
"""

from __future__ import annotations

import json
import re
import secrets
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tacita.data.address import is_server as is_server
from tacita.data.address import split_address
from tacita.errors import UsageError, VerificationError
from tacita.privacy.json_form import canonical, digest

GENESIS = "0" * 64
BUSY_SECONDS = 60  # how long a write waits for others


@dataclass(frozen=True)
class Record:
    """One line of the chain as it is stored."""

    number: int
    hash: str
    body: Mapping[str, Any]
    private: Mapping[str, Any]


def now() -> datetime:
    return datetime.now(UTC)


class Store(ABC):
    """Where the lines are. Every read checks the whole chain.

    A `connection` is what the store itself opened; its `execute` takes the SQL below, with a ? for each value.
    """

    name: str  # what messages call it
    missing: str  # where there is none: what to do
    read_only: bool

    @abstractmethod
    def exists(self) -> bool:
        """Whether there is anything, be it only a creation that was cut short."""

    @abstractmethod
    def reading(self) -> AbstractContextManager[Reader]:
        """One consistent look at the ledger."""

    @abstractmethod
    def writing(self, *, create: bool = False) -> AbstractContextManager[Writer]:
        """One transaction that holds the write lock from its start; durable once the block has ended.

        With `create`, a ledger that is missing or blank is laid out in the same transaction as its first lines.
        """

    @abstractmethod
    def require_writable(self) -> None:
        """Refuse, before anything else is done, what may only be read."""

    @abstractmethod
    def turns(self, requests: Iterable[str]) -> AbstractContextManager[None]:
        """One run at a time for one request: a second one waits, and then finds what the first has stored.

        A turn ends with its process, however that ends. Its name can be seen by others: `requests` are salted.
        """

    @abstractmethod
    def is_blank(self, connection: Any) -> bool:
        """Whether nothing was laid out yet; raises VerificationError where there is something else."""

    @abstractmethod
    def lay_out(self, connection: Any) -> None:
        """The tables and triggers of a new ledger."""

    @abstractmethod
    def check_layout(self, connection: Any) -> None:
        """The tables and triggers are those laid out at creation."""

    def moment_and_author(self, connection: Any) -> tuple[datetime, dict[str, str]]:
        """When a write happens, and what its private texts say of who writes, as far as the store knows that."""
        return now(), {}


class Reader:
    """What can be asked inside one transaction."""

    def __init__(self, connection: Any, store: Store) -> None:
        self._connection, self._store = connection, store
        self.blank = store.is_blank(connection)

    def records(self) -> list[Record]:
        """Every line, oldest first; raises VerificationError where the chain is broken."""
        if self.blank:
            return []  # a creation that was cut short: nothing was ever spent in it
        records: list[Record] = []
        previous = GENESIS
        for expected, row in enumerate(self.rows(), start=1):
            records.append(_checked(expected, previous, row))
            previous = records[-1].hash
        return records

    def rows(self) -> list[tuple[Any, ...]]:
        """Every line as it is stored, unchecked."""
        # All at once: a half-read cursor that an error keeps alive would keep the file locked.
        rows = self._connection.execute("SELECT number, body, private, hash FROM entries ORDER BY number").fetchall()
        return list(rows)

    def result(self, number: int) -> bytes:
        """The stored result that belongs to line `number`."""
        row = self._connection.execute("SELECT content FROM results WHERE number = ?", (number,)).fetchone()
        if row is None or not isinstance(row[0], bytes):
            raise VerificationError(f"ledger entry {number}: its stored result is missing")
        return row[0]

    def result_numbers(self) -> list[int]:
        return [row[0] for row in self._connection.execute("SELECT number FROM results ORDER BY number").fetchall()]

    def check_layout(self) -> None:
        self._store.check_layout(self._connection)


class Writer(Reader):
    """A reader that may add lines. All that happens in one transaction happens at its one `moment`."""

    def __init__(self, connection: Any, store: Store) -> None:
        super().__init__(connection, store)
        self.moment, self._author = store.moment_and_author(connection)

    def lay_out(self) -> None:
        self._store.lay_out(self._connection)
        self.blank = False

    def append(self, kind: str, facts: Mapping[str, Any], private: Mapping[str, Any] | None = None) -> Record:
        """Seal one more line. Its public text has the day; the exact time is in the private one.

        Two exact times would tell how long a run took, and so how many rows it read.
        """
        row = self._connection.execute("SELECT number, hash FROM entries ORDER BY number DESC LIMIT 1").fetchone()
        last, previous = row or (0, GENESIS)
        day, exactly = self.moment.date().isoformat(), self.moment.isoformat(timespec="seconds")
        hidden = canonical({"salt": secrets.token_hex(32), "time": exactly, **(private or {}), **self._author})
        body = {"number": last + 1, "previous": previous, "kind": kind, "time": day, **facts, "private": digest(hidden)}
        sealed = canonical(body)
        row = (last + 1, sealed, hidden, digest(sealed))
        self._connection.execute("INSERT INTO entries VALUES (?, ?, ?, ?)", row)
        return _checked(last + 1, previous, row)

    def keep(self, number: int, content: bytes) -> None:
        """Store the result that belongs to line `number`."""
        self._connection.execute("INSERT INTO results VALUES (?, ?)", (number, content))


def _checked(expected: int, previous: str, row: tuple[Any, ...]) -> Record:
    number, body, private, seal = row
    broken = VerificationError(
        f"ledger entry {expected}: the hash chain is broken here; it was altered after it was written. Restore "
        "it from a copy, and compare its head with the one in the last published bundle"
    )
    if number != expected or not isinstance(body, str) or not isinstance(private, str | None) or digest(body) != seal:
        raise broken
    try:
        facts = json.loads(body)
        hidden = {} if private is None else json.loads(private)
        well_formed = isinstance(facts, dict) and isinstance(hidden, dict)
    except (ValueError, RecursionError):
        raise broken from None
    if not well_formed or facts.get("number") != expected or facts.get("previous") != previous:
        raise broken
    if facts.get("private") != (None if private is None else digest(private)):
        raise broken
    return Record(expected, seal, facts, hidden)


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
        from tacita.ledger.sqlite_store import SqliteStore  # which is made of what stands above

        return SqliteStore(Path(place), read_only=read_only)
    address, name = server_address(str(place))
    from tacita.ledger.postgres_store import PostgresStore  # only where there is a server: psycopg is an extra

    return PostgresStore(address, name, read_only=read_only)
