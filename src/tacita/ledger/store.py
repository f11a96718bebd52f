"""The file: one SQLite table of entries that only grows, each sealed by the hash of the one before.

This module knows nothing of privacy. It keeps lines durable, in order and unaltered:

* a write is one transaction, on disk before the call returns (`synchronous=EXTRA` also syncs the folder);
* triggers refuse to change, replace or remove a line;
* the hash of a line covers its text and the hash of the line before, and is checked whenever the file is read.

A line has a public text (`body`) and may have a private one, which the public text names only by its hash. The
private text carries random salt, so that the published hash says nothing about what is hashed.

A connection lives for one operation only: an open ledger can be used after a fork and from several threads.
"""

from __future__ import annotations

import json
import os
import secrets
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tacita.errors import RefusedError, TacitaError, UsageError, VerificationError
from tacita.privacy.json_form import canonical, digest

GENESIS = "0" * 64
_APPLICATION = 0x7AC17A  # marks the file as a ledger, in the SQLite header
_BUSY_SECONDS = 60.0

_OBJECTS = {
    "entries": """CREATE TABLE entries (
        number INTEGER PRIMARY KEY, body TEXT NOT NULL, private TEXT, hash TEXT NOT NULL)""",
    "results": """CREATE TABLE results (
        number INTEGER PRIMARY KEY REFERENCES entries (number), content BLOB NOT NULL)""",
    # INSERT OR REPLACE removes the old line without asking a DELETE trigger, so inserting is guarded as well.
    "entries_in_order": """CREATE TRIGGER entries_in_order BEFORE INSERT ON entries
        WHEN NEW.number IS NOT (SELECT coalesce(max(number), 0) + 1 FROM entries)
        BEGIN SELECT raise(ABORT, 'the ledger is append-only'); END""",
    "results_once": """CREATE TRIGGER results_once BEFORE INSERT ON results
        WHEN EXISTS (SELECT 1 FROM results WHERE number IS NEW.number)
        BEGIN SELECT raise(ABORT, 'the ledger is append-only'); END""",
} | {
    f"{table}_no_{verb}": f"""CREATE TRIGGER {table}_no_{verb} BEFORE {verb.upper()} ON {table}
        BEGIN SELECT raise(ABORT, 'the ledger is append-only'); END"""
    for table in ("entries", "results")
    for verb in ("update", "delete")
}


@dataclass(frozen=True)
class Record:
    """One line of the chain as it is stored."""

    number: int
    hash: str
    body: Mapping[str, Any]
    private: Mapping[str, Any]


def now() -> datetime:
    return datetime.now(UTC)


class Store:
    """The append-only file. Every read checks the whole chain."""

    def __init__(self, path: Path, *, read_only: bool = False) -> None:
        self.path = path
        self.read_only = read_only

    @contextmanager
    def reading(self) -> Iterator[Reader]:
        """One consistent look at the file."""
        with self._translating(), closing(self._connect("rw" if self._writable() else "ro")) as connection:
            connection.execute("PRAGMA query_only = ON")
            connection.execute("BEGIN")
            yield Reader(connection)

    @contextmanager
    def writing(self, *, create: bool = False) -> Iterator[Writer]:
        """One transaction that holds the write lock from its start; durable once the block has ended.

        With `create`, a file that is missing or blank is laid out in the same transaction as its first lines.
        """
        new = create and not self.path.exists()
        if new and not self.path.parent.is_dir():
            raise UsageError(f"ledger {self.path.name}: its folder does not exist; create the folder first")
        if not new:
            self.require_writable()
        with self._translating(), closing(self._connect("rwc" if create else "rw")) as connection:
            connection.execute("BEGIN IMMEDIATE")
            try:
                writer = Writer(connection)
                if create and writer.blank:
                    writer.lay_out()
                yield writer
                # Without a new line there is nothing to make durable, and a reader need not be waited for.
                connection.execute("COMMIT" if connection.total_changes else "ROLLBACK")
                if create:
                    _sync_folder(self.path.parent)
            except BaseException:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
                raise

    def require_writable(self) -> None:
        if self.read_only or not self._writable():
            raise RefusedError(f"ledger {self.path.name}: opened for reading only; nothing can be spent from it")

    def _writable(self) -> bool:
        # The folder too: SQLite keeps its rollback journal there.
        file = self.path.resolve()
        return os.access(file, os.W_OK) and os.access(file.parent, os.W_OK)

    def _connect(self, mode: str) -> sqlite3.Connection:
        # The resolved path: through a symbolic link the rollback journal would lie in the wrong folder.
        address = f"{self.path.resolve().as_uri()}?mode={mode}"
        connection = sqlite3.connect(address, uri=True, isolation_level=None, timeout=_BUSY_SECONDS)
        try:
            if mode != "ro":
                connection.execute("PRAGMA journal_mode = DELETE")
            connection.execute("PRAGMA synchronous = EXTRA")
            connection.execute("PRAGMA fullfsync = ON")
        except BaseException:
            connection.close()
            raise
        return connection

    @contextmanager
    def _translating(self) -> Iterator[None]:
        """SQLite's errors as ours. What the file is not, is a verification failure, not a crash."""
        try:
            yield
        except sqlite3.Error as error:
            name = self.path.name
            code = getattr(error, "sqlite_errorcode", 0) & 0xFF
            if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
                raise TacitaError(
                    f"ledger {name}: another process has held it for {_BUSY_SECONDS:.0f} seconds; try again later"
                ) from None
            if code in (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CANTOPEN):
                raise TacitaError(
                    f"ledger {name}: the disk refused ({error}); free space or check the folder"
                ) from None
            if code in (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM, sqlite3.SQLITE_AUTH):
                raise RefusedError(f"ledger {name}: no permission to write to it ({error})") from None
            raise VerificationError(
                f"ledger {name}: damaged, or not a ledger ({error}); restore it from a copy, and compare its head "
                "with the one in the last published bundle"
            ) from None


class Reader:
    """What can be asked inside one transaction."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        mark = connection.execute("PRAGMA application_id").fetchone()[0]
        tables = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
        self.blank = mark == 0 and tables == 0
        if mark != _APPLICATION and not self.blank:
            raise VerificationError("this file is not a Tacita ledger; give the path of one, or of a new file")

    def records(self) -> list[Record]:
        """Every line, oldest first; raises VerificationError where the chain is broken."""
        if self.blank:
            return []  # a creation that was cut short: nothing was ever spent in it
        records: list[Record] = []
        previous = GENESIS
        # All at once: a half-read cursor that an error keeps alive would keep the file locked.
        rows = self._connection.execute("SELECT number, body, private, hash FROM entries ORDER BY number").fetchall()
        for expected, row in enumerate(rows, start=1):
            records.append(_checked(expected, previous, row))
            previous = records[-1].hash
        return records

    def result(self, number: int) -> bytes:
        """The stored result that belongs to line `number`."""
        row = self._connection.execute("SELECT content FROM results WHERE number = ?", (number,)).fetchone()
        if row is None or not isinstance(row[0], bytes):
            raise VerificationError(f"ledger entry {number}: its stored result is missing")
        return row[0]

    def result_numbers(self) -> list[int]:
        return [row[0] for row in self._connection.execute("SELECT number FROM results ORDER BY number").fetchall()]

    def check_layout(self) -> None:
        """The tables and triggers are those laid out at creation, and SQLite finds its pages sound."""
        found = dict(self._connection.execute("SELECT name, sql FROM sqlite_master").fetchall())
        if found != _OBJECTS:
            raise VerificationError("the ledger's tables or its append-only triggers were altered")
        if self._connection.execute("PRAGMA integrity_check").fetchall() != [("ok",)]:
            raise VerificationError("the ledger file is damaged; restore it from a copy")


class Writer(Reader):
    """A reader that may add lines. All that happens in one transaction happens at its one `moment`."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        super().__init__(connection)
        self.moment = now()

    def lay_out(self) -> None:
        """The tables and triggers of a new ledger."""
        for statement in _OBJECTS.values():
            self._connection.execute(statement)
        self._connection.execute(f"PRAGMA application_id = {_APPLICATION}")
        self.blank = False

    def append(self, kind: str, facts: Mapping[str, Any], private: Mapping[str, Any] | None = None) -> Record:
        """Seal one more line. Its public text has the day; the exact time is in the private one.

        Two exact times would tell how long a run took, and so how many rows it read.
        """
        row = self._connection.execute("SELECT number, hash FROM entries ORDER BY number DESC LIMIT 1").fetchone()
        last, previous = row or (0, GENESIS)
        day, exactly = self.moment.date().isoformat(), self.moment.isoformat(timespec="seconds")
        hidden = canonical({"salt": secrets.token_hex(32), "time": exactly, **(private or {})})
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
        f"ledger entry {expected}: the hash chain is broken here; the file was altered after it was written. Restore "
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


def _sync_folder(folder: Path) -> None:
    """A new file survives a power cut only once its folder is on disk too."""
    if os.name != "posix":
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
