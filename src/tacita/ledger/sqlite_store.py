"""The ledger in a file: one SQLite database, for one machine.

* a write is on disk before the call returns (`synchronous=EXTRA` also syncs the folder);
* triggers refuse to change, replace or remove a line.

There is one run at a time for one request: a second one waits, and then finds the result that the first has stored.

A turn is a lock on a small hidden file beside the ledger. The operating system gives it up when its process ends,
however it ends; a file that a killed process leaves behind is removed by the next run.
"""

from __future__ import annotations

import logging
import os
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager
from pathlib import Path
from typing import Any

from tacita.errors import RefusedError, TacitaError, UsageError, VerificationError
from tacita.ledger.store import BUSY_SECONDS, Reader, Store, Writer
from tacita.privacy.json_form import digest

try:
    import fcntl
except ImportError:  # Windows: there two equal runs at once are charged twice, as docs/known-limitations.md says
    fcntl = None  # type: ignore[assignment]

_SUFFIX = ".running"
_log = logging.getLogger(__name__)


@contextmanager
def turns(ledger: Path, requests: Iterable[str]) -> Iterator[None]:
    """Hold the turn of every request; in one order for all, so that two runs never wait for each other."""
    ledger = ledger.resolve()  # one turn for all names of one ledger, links among them
    with ExitStack() as held:
        if fcntl is not None:
            _sweep(ledger)
            for name in sorted({digest(request)[:32] for request in requests}):
                place = ledger.with_name(f".{ledger.name}.{name}{_SUFFIX}")
                held.enter_context(_turn(place, ledger.name))
        yield


@contextmanager
def _turn(place: Path, ledger: str) -> Iterator[None]:
    handle = _take(place)
    if handle is None:
        _log.warning("ledger %s: exactly this release is being made by another run; waiting for its result", ledger)
        while handle is None:
            handle = _take(place, wait=True)
    try:
        yield
    finally:
        place.unlink(missing_ok=True)  # while it is locked: whoever waits for it sees that it is gone, and asks anew
        os.close(handle)


def _take(place: Path, *, wait: bool = False, create: bool = True) -> int | None:
    """The locked file; None where another run has it, or had it until now and removed it."""
    try:
        handle = os.open(place, os.O_RDWR | (os.O_CREAT if create else 0), 0o600)
    except FileNotFoundError:
        return None
    try:
        fcntl.flock(handle, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)
        if os.path.samestat(os.fstat(handle), place.stat()):
            return handle
    except (BlockingIOError, FileNotFoundError):
        pass
    except BaseException:
        os.close(handle)
        raise
    os.close(handle)
    return None


def _sweep(ledger: Path) -> None:
    """Remove what killed runs left behind."""
    for left in ledger.parent.glob(f".{_literal(ledger.name)}.*{_SUFFIX}"):
        handle = _take(left, create=False)
        if handle is not None:
            left.unlink(missing_ok=True)
            os.close(handle)


def _literal(name: str) -> str:
    return "".join(f"[{letter}]" if letter in "*?[" else letter for letter in name)


_APPLICATION = 0x7AC17A  # marks the file as a ledger, in the SQLite header

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


class SqliteStore(Store):
    """An append-only file."""

    missing = (
        "no such file; correct the path. The first `tacita run` makes it, as does Ledger.open(path, cap=Loss(…), "
        "neighbours=…) in Python"
    )

    def __init__(self, path: Path, *, read_only: bool = False) -> None:
        self.path, self.name = path, path.name
        self.read_only = read_only

    def exists(self) -> bool:
        return self.path.is_file()

    def turns(self, requests: Iterable[str]) -> AbstractContextManager[None]:
        return turns(self.path, requests)

    @contextmanager
    def reading(self) -> Iterator[Reader]:
        with self._translating(), closing(self._connect("rw" if self._writable() else "ro")) as connection:
            connection.execute("PRAGMA query_only = ON")
            connection.execute("BEGIN")
            yield Reader(connection, self)

    @contextmanager
    def writing(self, *, create: bool = False) -> Iterator[Writer]:
        new = create and not self.path.exists()
        if new and not self.path.parent.is_dir():
            raise UsageError(f"ledger {self.name}: its folder does not exist; create the folder first")
        if not new:
            self.require_writable()
        with self._translating(), closing(self._connect("rwc" if create else "rw")) as connection:
            connection.execute("BEGIN IMMEDIATE")
            try:
                writer = Writer(connection, self)
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
            raise RefusedError(f"ledger {self.name}: opened for reading only; nothing can be spent from it")

    def _writable(self) -> bool:
        # The folder too: SQLite keeps its rollback journal there.
        file = self.path.resolve()
        return os.access(file, os.W_OK) and os.access(file.parent, os.W_OK)

    def _connect(self, mode: str) -> sqlite3.Connection:
        # The resolved path: through a symbolic link the rollback journal would lie in the wrong folder.
        address = f"{self.path.resolve().as_uri()}?mode={mode}"
        connection = sqlite3.connect(address, uri=True, isolation_level=None, timeout=BUSY_SECONDS)
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
            name = self.name
            code = getattr(error, "sqlite_errorcode", 0) & 0xFF
            if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
                raise TacitaError(
                    f"ledger {name}: another process has held it for {BUSY_SECONDS} seconds; try again later"
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

    def is_blank(self, connection: Any) -> bool:
        mark = connection.execute("PRAGMA application_id").fetchone()[0]
        tables = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
        blank: bool = mark == 0 and tables == 0
        if mark != _APPLICATION and not blank:
            raise VerificationError("this file is not a Tacita ledger; give the path of one, or of a new file")
        return blank

    def lay_out(self, connection: Any) -> None:
        for statement in _OBJECTS.values():
            connection.execute(statement)
        connection.execute(f"PRAGMA application_id = {_APPLICATION}")

    def check_layout(self, connection: Any) -> None:
        """Also, that SQLite finds its pages sound."""
        if dict(connection.execute("SELECT name, sql FROM sqlite_master").fetchall()) != _OBJECTS:
            raise VerificationError("the ledger's tables or its append-only triggers were altered")
        if connection.execute("PRAGMA integrity_check").fetchall() != [("ok",)]:
            raise VerificationError("the ledger file is damaged; restore it from a copy")


def _sync_folder(folder: Path) -> None:
    """A new file survives a power cut only once its folder is on disk too."""
    if os.name != "posix":
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
