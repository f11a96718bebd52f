"""One experiment many times: who takes part, its replicates, what a method gave in one, and the files that are kept."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar

import pyarrow as pa
import pyarrow.parquet as pq

from tacita_studies.harness.replicates import Progress, each

Made = TypeVar("Made")
Result = TypeVar("Result")
Scores = TypeVar("Scores")
FIRST = "replicate-000"


@dataclass(frozen=True)
class Outcome(Generic[Scores]):
    """What one method gave in one replicate, and how long it took."""

    scores: Scores
    seconds: float


@dataclass(frozen=True, kw_only=True)
class Experiment(ABC, Generic[Result]):
    """Called with a number, does the replicate of that number: all it draws follows from `seed` and the number.

    Frozen, so that it can go to another process. `keep` is the folder for the files of the first replicate.
    """

    seed: int
    keep: Path | None = None

    @abstractmethod
    def __call__(self, number: int) -> Result: ...

    def all(self, count: int, workers: int, say: Progress, what: str) -> list[Result]:
        return each(self, count, workers, say, what)

    def kept(self, first: bool, *under: str) -> Kept:
        """Where the files of this replicate go: below `under` if it is the first and files are kept at all."""
        return Kept(self.keep.joinpath(*under) if self.keep is not None and first else None)


@dataclass(frozen=True)
class Kept:
    """A folder to write to, or none, and then nothing is written."""

    folder: Path | None

    def write(self, name: str, data: Any) -> None:
        if self.folder is None:
            return
        self.folder.mkdir(parents=True, exist_ok=True)
        path = self.folder / f"{name}.parquet"
        if isinstance(data, pa.Table):
            pq.write_table(data, path, compression="zstd")
        else:
            data.to_parquet(path, index=False)


def timed(make: Callable[[], Made]) -> tuple[Made, float]:
    """What `make` gives, and the seconds it takes."""
    begun = time.perf_counter()
    made = make()
    return made, time.perf_counter() - begun


@dataclass(frozen=True)
class Method:
    """`name` stands in the results and `file` on disk; `mode` says how its promise comes about, at which `epsilon`.

    `printed` is the paper's own name for it, where the paper prints its numbers.
    """

    name: str
    file: str
    mode: str = "proved"
    epsilon: str | None = None
    printed: str | None = None

    @property
    def where(self) -> dict[str, Any]:
        """What its rows say beside their numbers."""
        return {"mode": self.mode, "epsilon": self.epsilon}
