"""Real public files, used as if they were confidential: levels and bounds are declared, never read from rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, TypeVar

import pandas as pd

from tacita_studies.harness.replicates import Progress
from tacita_studies.harness.results import Row

About = TypeVar("About")
TABLE = "Real data"

# Two-digit NAICS sectors; "99" is unclassified, and a firm without a code joins it.
NAICS = (
    "11", "21", "22", "23", "31", "32", "33", "42", "44", "45", "48", "49", "51", "52", "53", "54", "55", "56", "61",
    "62", "71", "72", "81", "92", "99",
)  # fmt: skip


@dataclass(frozen=True)
class RealFile(Generic[About]):
    """A file below the data folder, how it is prepared, and what is public `about` it."""

    name: str
    path: str
    prepare: Callable[[Path], pd.DataFrame]
    about: About

    def read(self, data: Path) -> pd.DataFrame:
        return self.prepare(data / self.path)


def each_file(
    files: Sequence[RealFile[About]], data: Path, say: Progress, rows: Callable[[RealFile[About]], Iterator[Row]]
) -> Iterator[Row]:
    """The rows of every file that is there."""
    for number, one in enumerate(files):
        say("real data", number, len(files))
        if (data / one.path).exists():
            yield from rows(one)


def sector_of(codes: pd.Series[str]) -> pd.Series[str]:
    """Two-digit sectors of NAICS codes."""
    sector = codes.str[:2]
    return sector.where(sector.isin(NAICS), "99")
