"""Addresses of PostgreSQL servers, as ledgers and data are named by them: postgresql://host/database#name.

Nothing is connected here. An address is shown to nobody: whoever wrote a password into it must not find it in a log.
"""

from __future__ import annotations

from pathlib import Path
from urllib.parse import parse_qsl, urlsplit

from tacita.errors import UsageError

_SCHEMES = ("postgresql://", "postgres://")


def is_server(place: str | Path) -> bool:
    """Whether something is named by the address of a server.

    >>> is_server("postgresql://db.office/statistics#jobs"), is_server("jobs.ledger")
    (True, False)
    """
    return isinstance(place, str) and place.startswith(_SCHEMES)


def split_address(place: str, what: str) -> tuple[str, str]:
    """What libpq is told, and the name behind #; `what` is the key that messages are about.

    >>> split_address("postgresql://db.office/statistics#jobs", "ledger")
    ('postgresql://db.office/statistics', 'jobs')
    """
    address, _, name = place.partition("#")
    try:
        parts = urlsplit(address)
        secret = parts.password is not None or any("password" in key.lower() for key, _ in parse_qsl(parts.query))
    except ValueError:
        raise UsageError(f"{what}: no address of a server; write postgresql://host/database#name") from None
    if secret:
        raise UsageError(
            f"{what}: a password stands in the address, where others may read it; remove it, and keep it in ~/.pgpass, "
            "a service file or PGPASSWORD"
        )
    return address, name
