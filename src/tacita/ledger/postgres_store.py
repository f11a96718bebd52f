"""The ledger on a PostgreSQL server, for several operators on several machines.

One advisory lock of the ledger, held from the start of a write to its end, puts writes in order; the server's guards
hold for everyone. A turn is an advisory lock of one request, held by a connection of its own: the server gives it up
when that connection ends. Who connects how is libpq's business: its environment, service and password files.

Below the store stands what a ledger consists of there, as SQL: tables, guards, and roles with what each may write.
The guards say the same to everyone, the owner of the tables too: lines follow one another, each seals the one before,
says truly who wrote it and when, and stays. Roles are PostgreSQL's own: grants for tables, policies for kinds of lines.
That is text alone. Names of ledgers are checked in `store`.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from datetime import UTC, datetime
from typing import Any

from tacita.errors import RefusedError, TacitaError, UsageError, VerificationError
from tacita.ledger.store import BUSY_SECONDS, Reader, Store, Writer
from tacita.privacy.json_form import digest

try:
    import psycopg
except ImportError:
    raise UsageError("ledger: a server needs psycopg; install it with the extra postgres: tacita[postgres]") from None

Rows = Sequence[tuple[Any, ...]]

_log = logging.getLogger(__name__)
_REFUSED = ("42501", "25006", "P0001")  # no privilege or policy, a server that only reads, a guard
_BUSY = "55P03"

# What a session must have, whatever the server's defaults are. A commit that is not on disk is none.
_SETTINGS = """SELECT set_config('search_path', ?, false), set_config('lock_timeout', ?, false),
set_config('idle_session_timeout', '0', false), set_config('idle_in_transaction_session_timeout', '0', false),
set_config('synchronous_commit', CASE WHEN current_setting('synchronous_commit') IN ('off', 'local') THEN 'on'
ELSE current_setting('synchronous_commit') END, false)"""


class _Session:
    """A connection that takes the SQL of `store`, with a ? for each value."""

    def __init__(self, connection: Any) -> None:
        self._connection = connection

    def execute(self, statement: str, values: tuple[Any, ...] | None = None) -> Any:
        return self._connection.execute(statement if values is None else statement.replace("?", "%s"), values)

    def close(self) -> None:
        self._connection.close()


class PostgresStore(Store):
    """An append-only schema of a database."""

    missing = (
        "there is none on this server; correct the address, or have it made with `tacita ledger create` or "
        "Ledger.open(address, cap=Loss(…), neighbours=…)"
    )

    def __init__(self, address: str, name: str, *, read_only: bool = False) -> None:
        self._address, self.name, self.read_only = address, name, read_only
        self._answered = False

    def exists(self) -> bool:
        with self._connected() as session:
            return not self.is_blank(session)

    @contextmanager
    def reading(self) -> Iterator[Reader]:
        with self._connected() as session:
            session.execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
            yield Reader(session, self)

    @contextmanager
    def writing(self, *, create: bool = False) -> Iterator[Writer]:
        with self._transaction() as session:
            self._require_writable(session)
            writer = Writer(session, self)
            if create and writer.blank:
                writer.lay_out()
            yield writer

    def make_roles(self) -> None:
        """The roles of this ledger, and what each may do; the server's administrator gives them to people."""
        with self._transaction() as session:
            for statement in roles(self.name):
                session.execute(statement)

    def require_writable(self) -> None:
        with self._connected() as session:
            self._require_writable(session)

    @contextmanager
    def turns(self, requests: Iterable[str]) -> Iterator[None]:
        with self._translating():
            session = self._connect()
        try:
            with self._translating():
                for request in sorted({digest(request) for request in requests}):
                    self._take(session, lock(self.name, request))
            yield
        finally:
            session.close()

    def _take(self, session: _Session, key: str) -> None:
        if not session.execute(f"SELECT pg_try_advisory_lock({key})").fetchone()[0]:
            _log.warning(
                "ledger %s: exactly this release is being made by another run; waiting for its result", self.name
            )
            session.execute("SET lock_timeout = 0")
            session.execute(f"SELECT pg_advisory_lock({key})")

    def is_blank(self, connection: Any) -> bool:
        there = """SELECT has_schema_privilege(schemaname, 'USAGE') FROM pg_tables
        WHERE schemaname = ? AND tablename = 'entries'"""
        row = connection.execute(there, (self.name,)).fetchone()
        if row == (False,):
            raise RefusedError(
                f"ledger {self.name}: you have no role in it; ask the administrator of the server for one"
            )
        return row is None

    def lay_out(self, connection: Any) -> None:
        self._lay_out(connection)

    def take_over(self, rows: Rows, results: Rows) -> None:
        """A new ledger with all that an older one holds, from before there were authors to guard."""
        with self._transaction() as session:
            if not self.is_blank(session):
                raise RefusedError(
                    f"ledger {self.name}: is there already; a new one alone takes over what a file holds"
                )
            self._lay_out(session, rows, results)

    def _lay_out(self, session: Any, rows: Rows = (), results: Rows = ()) -> None:
        for statement in (f'CREATE SCHEMA IF NOT EXISTS "{self.name}"', *tables(self.name)):
            session.execute(statement)
        for row in rows:
            session.execute("INSERT INTO entries VALUES (?, ?, ?, ?)", row)
        for row in results:
            session.execute("INSERT INTO results VALUES (?, ?)", row)
        for statement in guards(self.name):
            session.execute(statement)

    def check_layout(self, connection: Any) -> None:
        if set(connection.execute(GUARDS, (self.name,)).fetchall()) != expected_guards(self.name):
            raise VerificationError("the ledger's append-only guards on the server were altered")

    def moment_and_author(self, connection: Any) -> tuple[datetime, dict[str, str]]:
        """By the clock of the server, and as the person is known there: neither is the client's to choose."""
        moment, author = connection.execute("SELECT clock_timestamp(), session_user::text").fetchone()
        return moment.astimezone(UTC), {"author": author}

    def _require_writable(self, session: _Session) -> None:
        may = """SELECT has_table_privilege(quote_ident(schemaname) || '.entries', 'INSERT') FROM pg_tables
        WHERE schemaname = ? AND tablename = 'entries'"""
        if self.read_only or session.execute(may, (self.name,)).fetchone() == (False,):
            raise RefusedError(f"ledger {self.name}: opened for reading only; nothing can be spent from it")
        if session.execute("SHOW fsync").fetchone()[0] == "off":
            raise RefusedError(
                f"ledger {self.name}: its server runs with fsync = off, so that a power cut could undo what was spent; "
                "set fsync = on"
            )

    # ------------------------------------------------------------ connections

    @contextmanager
    def _connected(self) -> Iterator[_Session]:
        with self._translating(), closing(self._connect()) as session:
            yield session

    @contextmanager
    def _transaction(self) -> Iterator[_Session]:
        """A transaction that holds the ledger's lock. It reads what is committed, once it has the lock."""
        with self._connected() as session:
            session.execute("BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE")
            try:
                session.execute(f"SELECT pg_advisory_xact_lock({lock(self.name)})")
                yield session
                if session.execute("COMMIT").statusmessage != "COMMIT":
                    raise TacitaError(f"ledger {self.name}: the server did not take what was written")
            except BaseException:
                with suppress(psycopg.Error):
                    session.execute("ROLLBACK")
                raise

    def _connect(self) -> _Session:
        """A server that answered before is waited for: a paid result is not lost to a restart."""
        patience = time.monotonic() + (BUSY_SECONDS if self._answered else 0)
        while True:
            try:
                session = _Session(
                    psycopg.connect(
                        self._address, autocommit=True, client_encoding="utf8", fallback_application_name="tacita"
                    )
                )
                break
            except psycopg.OperationalError:
                if time.monotonic() >= patience:
                    raise
                time.sleep(0.2)
        try:
            session.execute(_SETTINGS, (f'"{self.name}", pg_temp', f"{BUSY_SECONDS}s"))
        except BaseException:
            session.close()
            raise
        self._answered = True
        return session

    @contextmanager
    def _translating(self) -> Iterator[None]:
        """The server's errors as ours, by their first line alone: details may quote a row."""
        try:
            yield
        except psycopg.Error as error:
            code, said = error.sqlstate or "", error.diag.message_primary or str(error).partition("\n")[0]
            if code == _BUSY:
                raise TacitaError(
                    f"ledger {self.name}: another process has held it for {BUSY_SECONDS} seconds; try again later"
                ) from None
            if code in _REFUSED:
                raise RefusedError(
                    f"ledger {self.name}: the server refused ({said}). Operators make releases, stewards decide on "
                    "caps, waivers and corrections; roles are given by the administrator of the server"
                ) from None
            if isinstance(error, psycopg.OperationalError):
                raise TacitaError(
                    f"ledger {self.name}: the server was not reached, or broke off ({said}); check the address and the "
                    "server, then ask again"
                ) from None
            raise VerificationError(
                f"ledger {self.name}: damaged, or not a ledger ({said}); restore it from a copy, and compare its head "
                "with the one in the last published bundle"
            ) from None


# Which kinds of lines a role may add. All of them read. A board signs heads, with a key that is not on the server.
# A disclosure without a guarantee is a steward's decision and an operator's run: it takes someone who is both.
ROLES = {
    "operator": ("reserve", "begin", "commit", "failed", "note"),
    "steward": ("open", "cap", "waive", "overlap", "supersede", "note"),
    "board": ("note",),
    "reader": (),
}

_SEAL = "encode(sha256(convert_to({text}, 'UTF8')), 'hex')"

# The lock is taken here too, for whoever writes without this package.
_ENTRY = f"""
DECLARE
    last record;
    facts json := NEW.body;
    hidden json := NEW.private;
    moment timestamptz := hidden ->> 'time';
BEGIN
    PERFORM pg_advisory_xact_lock({{lock}});
    SELECT number, hash INTO last FROM "{{name}}".entries ORDER BY number DESC LIMIT 1;
    IF NEW.number IS DISTINCT FROM coalesce(last.number, 0) + 1 THEN
        RAISE EXCEPTION 'the ledger is append-only';
    END IF;
    IF NEW.hash IS DISTINCT FROM {_SEAL.format(text="NEW.body")}
        OR facts ->> 'previous' IS DISTINCT FROM coalesce(last.hash, repeat('0', 64))
        OR facts ->> 'private' IS DISTINCT FROM {_SEAL.format(text="NEW.private")} THEN
        RAISE EXCEPTION 'an entry seals itself and the one before it';
    END IF;
    IF hidden ->> 'author' IS DISTINCT FROM session_user THEN
        RAISE EXCEPTION 'the author of an entry is who is logged in';
    END IF;
    IF moment IS NULL OR abs(extract(epoch FROM moment - clock_timestamp())) > 600
        OR facts ->> 'time' IS DISTINCT FROM to_char(moment AT TIME ZONE 'UTC', 'YYYY-MM-DD') THEN
        RAISE EXCEPTION 'the time of an entry is the time of the server';
    END IF;
    RETURN NEW;
END
"""

_RESULT = """
BEGIN
    IF NOT EXISTS (
        SELECT 1 FROM "{name}".entries WHERE number = NEW.number AND body::json ->> 'kind' = 'commit'
        AND body::json ->> 'sha256' = encode(sha256(NEW.content), 'hex')
    ) THEN
        RAISE EXCEPTION 'a result belongs to the entry that announces it';
    END IF;
    RETURN NEW;
END
"""

_KEPT = """
BEGIN
    RAISE EXCEPTION 'the ledger is append-only';
END
"""

_FUNCTIONS = {"entry": _ENTRY, "result": _RESULT, "kept": _KEPT}

# Table, trigger, its function, when it fires, and the same as the bits of pg_trigger.tgtype.
_TRIGGERS = (
    ("entries", "entries_in_order", "entry", "BEFORE INSERT ON {} FOR EACH ROW", 7),
    ("entries", "entries_kept", "kept", "BEFORE UPDATE OR DELETE OR TRUNCATE ON {} FOR EACH STATEMENT", 58),
    ("results", "results_announced", "result", "BEFORE INSERT ON {} FOR EACH ROW", 7),
    ("results", "results_kept", "kept", "BEFORE UPDATE OR DELETE OR TRUNCATE ON {} FOR EACH STATEMENT", 58),
)
# Names in a guard mean the server's own, whatever the session of the writer has in front of them.
_PATH = "search_path=pg_catalog, pg_temp"


def lock(name: str, request: str = "") -> str:
    """The advisory lock of a ledger, or of one request to it, as SQL."""
    return f"hashtextextended('tacita {name} {request}', 0)"


def tables(name: str) -> list[str]:
    return [
        f"""CREATE TABLE "{name}".entries (
    number integer PRIMARY KEY, body text NOT NULL, private text, hash text NOT NULL)""",
        f"""CREATE TABLE "{name}".results (
    number integer PRIMARY KEY REFERENCES "{name}".entries (number), content bytea NOT NULL)""",
    ]


def guards(name: str) -> list[str]:
    made = [
        f'CREATE FUNCTION "{name}".{function}() RETURNS trigger LANGUAGE plpgsql SET {_PATH} AS $guard${source}$guard$'
        for function, source in _sources(name).items()
    ]
    for table, trigger, function, when, _ in _TRIGGERS:
        place = f'"{name}".{table}'
        made.append(f'CREATE TRIGGER {trigger} {when.format(place)} EXECUTE FUNCTION "{name}".{function}()')
        # Also where a session says that it only applies what another server has checked.
        made.append(f"ALTER TABLE {place} ENABLE ALWAYS TRIGGER {trigger}")
    return made


def expected_guards(name: str) -> set[tuple[str, str, int, str, str, str]]:
    """What the catalogue of the server says of them; see `GUARDS`."""
    sources = _sources(name)
    return {(table, trigger, bits, "A", sources[function], _PATH) for table, trigger, function, _, bits in _TRIGGERS}


GUARDS = """
SELECT c.relname::text, t.tgname::text, t.tgtype::integer, t.tgenabled::text, p.prosrc,
    array_to_string(p.proconfig, ';')
FROM pg_catalog.pg_trigger t JOIN pg_catalog.pg_class c ON c.oid = t.tgrelid
JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace JOIN pg_catalog.pg_proc p ON p.oid = t.tgfoid
WHERE n.nspname = ? AND NOT t.tgisinternal
"""


def _sources(name: str) -> dict[str, str]:
    return {function: source.format(name=name, lock=lock(name)) for function, source in _FUNCTIONS.items()}


def roles(name: str) -> list[str]:
    """The roles of a ledger, and what each may do. May be run again."""
    entries, results = f'"{name}".entries', f'"{name}".results'
    made = [
        f"DO $$ BEGIN IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = '{name}_{role}') THEN "
        f'CREATE ROLE "{name}_{role}" NOLOGIN; END IF; END $$'
        for role in ROLES
    ]
    made += [f'GRANT "{name}_reader" TO "{name}_{role}"' for role in ROLES if role != "reader"]
    made += [
        f'GRANT USAGE ON SCHEMA "{name}" TO "{name}_reader"',
        f'GRANT SELECT ON {entries}, {results} TO "{name}_reader"',
        f'GRANT INSERT ON {results} TO "{name}_operator"',
        f"ALTER TABLE {entries} ENABLE ROW LEVEL SECURITY",
        f"DROP POLICY IF EXISTS reading ON {entries}",
        f'CREATE POLICY reading ON {entries} FOR SELECT TO "{name}_reader" USING (true)',
    ]
    kind = "body::json ->> 'kind'"
    rules = [(role, role, f"{kind} IN ({', '.join(map(repr, kinds))})") for role, kinds in ROLES.items() if kinds]
    rules.append(("disclosure", "steward", f"{kind} = 'disclose' AND pg_has_role('{name}_operator', 'USAGE')"))
    for policy, role, rule in rules:
        made += [
            f'GRANT INSERT ON {entries} TO "{name}_{role}"',
            f"DROP POLICY IF EXISTS {policy} ON {entries}",
            f'CREATE POLICY {policy} ON {entries} FOR INSERT TO "{name}_{role}" WITH CHECK ({rule})',
        ]
    return made


def script(name: str, *, with_roles: bool) -> str:
    """All of it, for an administrator to look at and to run with psql."""
    made = [f'CREATE SCHEMA "{name}"', *tables(name), *guards(name), *(roles(name) if with_roles else [])]
    return "\n".join(("BEGIN;", *(f"{one};" for one in made), "COMMIT;"))
