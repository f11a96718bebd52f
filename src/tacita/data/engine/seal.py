"""Whether files are still the ones that were opened.

Rows are read more than once: to check them, to know them again, and to measure them. All of that must be about the
same rows, and engines read by path. So the files are sealed when they are opened and compared before and after.

A hard link, new permissions or another owner change the record of a file and not its content. Where nothing but the
record changed, the caller compares the rows themselves: a measured result is not dropped because of a backup.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from tacita.errors import RefusedError

_Stamp = tuple[int, int, int, int, int]


@dataclass(frozen=True)
class Seal:
    """What the file system says of every file: device, inode, size, and when content and record last changed."""

    places: tuple[str, ...]
    stamps: tuple[tuple[str, _Stamp], ...]

    @classmethod
    def of(cls, places: Iterable[str | Path]) -> Seal:
        """Of files and of folders with all their parts; a database is meant by its file (`duckdb:file.db?table=t`)."""
        names = tuple(_file(str(place)) for place in places)
        return cls(names, tuple(_stamps(names)))

    def renewed(self, is_same_content: Callable[[], bool]) -> Seal:
        """The seal as it is now; refused where files changed. Asks for the content only where the record alone did."""
        now = Seal.of(self.places)
        if self == now or (self._without_records() == now._without_records() and is_same_content()):
            return now
        name = next(iter(self.places)).rpartition(os.sep)[2]
        raise RefusedError(
            f"data {name}: the file was changed or replaced after it was opened, so that what was checked would "
            "not be what is measured; leave it alone while it is used, and open it again"
        )

    def _without_records(self) -> list[tuple[str, tuple[int, ...]]]:
        return [(part, stamp[:-1]) for part, stamp in self.stamps]


def _file(place: str) -> str:
    return place.removeprefix("duckdb:").partition("?")[0] if place.startswith("duckdb:") else place


def _stamps(names: Iterable[str]) -> Iterator[tuple[str, _Stamp]]:
    for name in names:
        path = Path(name)
        for part in (path, *sorted(path.rglob("*"))) if path.is_dir() else (path,):
            try:
                facts = part.stat()
            except OSError:
                continue  # gone: its stamp is missing, and that is a change
            yield str(part), (facts.st_dev, facts.st_ino, facts.st_size, facts.st_mtime_ns, facts.st_ctime_ns)
