"""Where an engine puts rows that do not fit in memory: a folder only this user can read, gone with the process.

A killed process cannot remove its own. The next one does: a folder whose lock is free belongs to nobody alive.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

try:
    import fcntl
except ImportError:  # Windows: there the folders of killed processes stay
    fcntl = None  # type: ignore[assignment]

_PREFIX, _LOCK = "tacita-", "in-use"


@dataclass(frozen=True)
class Spill:
    """The folder, and the open file that says it is in use."""

    folder: Path
    lock: BinaryIO

    @classmethod
    def make(cls) -> Spill:
        _sweep()
        folder = Path(tempfile.mkdtemp(prefix=_PREFIX))
        fresh = folder / "new"
        lock = fresh.open("wb")
        if fcntl is not None:
            fcntl.flock(lock, fcntl.LOCK_EX)
        fresh.rename(folder / _LOCK)  # under its name only once it is locked: nobody finds it free
        return cls(folder, lock)

    def remove(self) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)
        self.lock.close()


def _sweep() -> None:
    if fcntl is None:
        return
    for lock in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*/{_LOCK}"):
        with suppress(OSError):
            if lock.parent.stat().st_uid != os.getuid() or lock.parent.is_symlink():
                continue
            with lock.open("rb") as handle:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(lock.parent)
