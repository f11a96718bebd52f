"""One run at a time for one request: a second one waits, and then finds the result that the first has stored.

A turn is a lock on a small hidden file beside the ledger. The operating system gives it up when its process ends,
however it ends; a file that a killed process leaves behind is removed by the next run.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

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
