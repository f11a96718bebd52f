"""Addresses of PostgreSQL servers, as ledgers and data are named by them: postgresql://host/database#name.

Nothing is connected here. An address is shown to nobody: whoever wrote a password into it must not find it in a log.

Whether two paths lead to the same confidential content: one file under two names, or a copy.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from os import PathLike
from pathlib import Path
from urllib.parse import parse_qsl, urlsplit

from tacita.errors import UsageError

_SCHEMES = ("postgresql://", "postgres://")


def is_server(place: str | Path) -> bool:
    """Whether something is named by the address of a server.

    >>> is_server("postgresql://db.office/statistics#jobs"), is_server("jobs.ledger")
    (True, False)
    """
    if not isinstance(place, str | PathLike):  # whatever took it for a path would show its content in an error
        raise UsageError(
            f"a file is named by its path or address, not by {type(place).__name__}; tables in memory are opened by "
            "Confidential.from_frame(table, schema)"
        )
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


def same_files(ones: Sequence[Path], others: Sequence[Path]) -> bool:
    """Whether any file of the first is a file of the second, by place, by link or byte for byte.

    A folder stands for all files below it.
    """
    known = [path for other in others for path in _files(other)]
    places, sizes = {_place(path) for path in known}, {path.stat().st_size for path in known} - {0}
    asked = [path for one in ones for path in _files(one)]
    if any(_place(path) in places for path in asked):
        return True
    digests: set[str] = set()
    for path in (path for path in asked if path.stat().st_size in sizes):
        digests = digests or {_digest(other) for other in known}
        if _digest(path) in digests:
            return True
    return False


def _place(path: Path) -> tuple[int, int]:
    """The same for all links to one file."""
    facts = path.stat()
    return facts.st_dev, facts.st_ino


def _files(path: Path) -> list[Path]:
    if path.is_dir():
        return [one for one in path.rglob("*") if one.is_file()]
    return [path] if path.is_file() else []


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
