"""A tiny job file, its schema and specification, and what a call of the command line says."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from support.specifications import head, table

SCHEMA = """
[dataset]
identity = "test-jobs"
unit = "establishment"
source = "a public register"

[variables.workplace_id]
role = "id"
entity = "workplace"
[variables.worker_id]
role = "id"
entity = "worker"
[variables.place]
type = "categorical"
role = "workplace"
levels = ["north", "south"]
[variables.sex]
type = "categorical"
role = "worker"
levels = ["F", "M"]
"""

SPEC = head("jobs", title="Test tables", neighbours="strong", alpha="0.1", epsilon="2") + table(
    "places", by=["place"], mechanism="SmoothStaircase", epsilon="1"
)

SECRET = "SECRET-VALUE"


def write_jobs(
    path: Path, place: Callable[[int], Any] = lambda job: "north" if job % 3 else "south", *, first_id: int = 0
) -> None:
    jobs = range(60)
    columns = {
        "workplace_id": [first_id + job % 12 for job in jobs],
        "worker_id": [first_id + job for job in jobs],
        "place": [place(job % 12) for job in jobs],
        "sex": ["F" if job % 2 else "M" for job in jobs],
    }
    pq.write_table(pa.table(columns), path)


class Said:
    """What one call of the command line returned and printed."""

    def __init__(self, code: int, out: str, err: str) -> None:
        self.code, self.out, self.err = code, " ".join(out.split()), " ".join(err.split())


Call = Callable[..., Said]


def replaced(old: str, new: str) -> Callable[[Path], None]:
    def change(folder: Path) -> None:
        for name in ("release.toml", "jobs.schema.toml"):
            text = (folder / name).read_text()
            (folder / name).write_text(text.replace(old, new))

    return change
