"""Ledgers made before their first release: on a server, with its roles, or with what a file holds so far."""

from __future__ import annotations

from pathlib import Path

from tacita.errors import UsageError
from tacita.ledger.ledger import Ledger, append_open
from tacita.ledger.postgres_store import script
from tacita.ledger.store import is_server, server_address, store_at


def create(place: str | Path, *, roles: bool = False, moved: Path | None = None) -> None:
    """Make a ledger that has no cap yet, or the entries of a file. What is there stays; roles are added."""
    if roles:
        _required(place, "--roles")
    if moved is not None:
        _move(moved, _required(place, "--move"))
    elif not Ledger.is_begun(place):
        with store_at(place).writing(create=True) as writer:
            if not writer.records():  # another process may have been faster
                append_open(writer)
    if roles:
        from tacita.ledger.postgres_store import PostgresStore  # only where there is a server: psycopg is an extra

        PostgresStore(*server_address(str(place))).make_roles()


def _move(file: Path, server: str) -> None:
    """Every line and result of a file, byte for byte: the chain goes on where it stood. From then on the file is only
    to be read."""
    from tacita.ledger.postgres_store import PostgresStore

    Ledger.open(file, read_only=True).verify()
    with store_at(file).writing() as reader:  # nobody spends from it meanwhile
        results = [(number, reader.result(number)) for number in reader.result_numbers()]
        PostgresStore(*server_address(server)).take_over(reader.rows(), results)
        file.chmod(0o444)
    Ledger.open(server, read_only=True).verify()


def sql(place: str, *, roles: bool) -> str:
    """What an administrator runs instead of `create`."""
    return script(server_address(_required(place, "--script"))[1], with_roles=roles)


def _required(place: str | Path, option: str) -> str:
    if not is_server(place):
        raise UsageError(f"{option}: is for a server, and LEDGER is a file; name postgresql://host/database#name")
    return str(place)
