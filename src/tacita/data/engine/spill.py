"""Where an engine puts rows that do not fit in memory: a folder only this user can read, gone with the process.

A killed process cannot remove its own. The next one does: a folder whose lock is free belongs to nobody alive.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

try:
    import fcntl
except ImportError:  # Windows: there the folders of killed processes stay
    fcntl = None  # type: ignore[assignment]

_PREFIX, _LOCK = "tacita-rows-", "in-use"


@dataclass(frozen=True)
class Spill:
    """The folder, and the open file that says it is in use."""

    folder: Path
    lock: BinaryIO

    @classmethod
    def make(cls) -> Spill:
        _sweep()
        while True:
            folder = Path(tempfile.mkdtemp(prefix=_PREFIX))
            with ExitStack() as opened, suppress(FileNotFoundError):  # another process may take it for a dead one's
                lock = opened.enter_context((folder / "new").open("wb"))
                if fcntl is not None:
                    fcntl.flock(lock, fcntl.LOCK_EX)
                (folder / "new").rename(folder / _LOCK)
                opened.pop_all()  # it stays open for as long as the folder is in use
                return cls(folder, lock)

    def remove(self) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)
        self.lock.close()


def _sweep() -> None:
    if fcntl is None:
        return
    for folder in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*"):
        with suppress(OSError):
            if folder.is_symlink() or folder.stat().st_uid != os.getuid():
                continue
            for lock in (folder / _LOCK, folder / "new"):
                if lock.exists():
                    with lock.open("rb") as handle:
                        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)  # an OSError where somebody has it
                        shutil.rmtree(folder)
                    break
            else:
                folder.rmdir()  # killed before its lock; fails where there is anything inside
