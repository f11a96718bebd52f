"""Bad files through the command line, on a ledger that holds a release: named, refused, nothing changed."""

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from support.command_line import SCHEMA, SPEC, Call, replaced

SECRET = 987654321  # an id or a size that must never be printed

LINKED_SCHEMA = SCHEMA.replace('role = "workplace"', 'role = "workplace"\ntable = "workplace"').replace(
    'role = "worker"', 'role = "worker"\ntable = "worker"'
)
SIZE_SCHEMA = (
    SCHEMA[: SCHEMA.index("[variables.sex]")].replace('[variables.worker_id]\nrole = "id"\nentity = "worker"\n', "")
    + """
[variables.employment]
type = "integer"
role = "size"
lower = 0
upper = 100000
outside = "error"
"""
)

Columns = dict[str, dict[str, list[Any]]]


def linked() -> Columns:
    return {
        "job": {"worker_id": list(range(30)), "workplace_id": [worker % 6 for worker in range(30)]},
        "workplace": {"workplace_id": list(range(6)), "place": ["north", "south"] * 3},
        "worker": {"worker_id": list(range(30)), "sex": ["F", "M"] * 15},
    }


def sizes() -> Columns:
    return {
        "jobs": {"workplace_id": list(range(6)), "place": ["north", "south"] * 3, "employment": [5.0, 40, 3, 0, 9, 7]}
    }


def write(folder: Path, tables: Columns) -> None:
    for name, columns in tables.items():
        pq.write_table(pa.table(columns), folder / f"{name}.parquet")


def begin(folder: Path, tables: Columns, tacita: Call) -> Path:
    """A folder with a spec, good files and a ledger that holds one release from them."""
    spec = SPEC
    if "job" in tables:
        files = '{ job = "job.parquet", workplace = "workplace.parquet", worker = "worker.parquet" }'
        spec = spec.replace('data = "jobs.parquet"', f"data = {files}")
    (folder / "release.toml").write_text(spec)
    (folder / "jobs.schema.toml").write_text(LINKED_SCHEMA if "job" in tables else SIZE_SCHEMA)
    write(folder, tables)
    done = tacita("run", folder / "release.toml", "--out", folder / "good")
    assert done.code == 0, done.err
    replaced('epsilon = "1"', 'epsilon = "1/2"')(folder)  # a new request, not the stored one
    return folder / "release.toml"


def changed(tables: Columns, table: str, column: str, value: Any) -> Columns:
    values = list(tables[table][column])
    values[3] = value
    return {**tables, table: {**tables[table], column: values}}


def without(tables: Columns, table: str, column: str) -> Columns:
    return {**tables, table: {name: values for name, values in tables[table].items() if name != column}}


def emptied(tables: Columns, table: str) -> Columns:
    return {**tables, table: {name: values[:0] for name, values in tables[table].items()}}


CASES: list[tuple[str, Callable[[], Columns], Callable[[Columns], Columns], list[str]]] = [
    ("missing column", linked, lambda t: without(t, "worker", "sex"), ["sex"]),
    ("missing workplace column", linked, lambda t: without(t, "workplace", "place"), ["place"]),
    ("unseen level", linked, lambda t: changed(t, "workplace", "place", str(SECRET)), ["place", "levels"]),
    ("missing level", linked, lambda t: changed(t, "workplace", "place", None), ["place", "missing"]),
    ("duplicate worker", linked, lambda t: changed(t, "job", "worker_id", 4), ["worker_id"]),
    ("unknown workplace", linked, lambda t: changed(t, "job", "workplace_id", SECRET), ["workplace_id"]),
    ("duplicate workplace", linked, lambda t: changed(t, "workplace", "workplace_id", 4), ["workplace_id"]),
    ("empty file", linked, lambda t: emptied(t, "workplace"), ["workplace"]),
    ("NaN", sizes, lambda t: changed(t, "jobs", "employment", math.nan), ["employment", "missing"]),
    ("infinity", sizes, lambda t: changed(t, "jobs", "employment", math.inf), ["employment"]),
    (
        "negative employment",
        sizes,
        lambda t: changed(t, "jobs", "employment", -1),
        ["employment", "outside 0 to 100000"],
    ),
    (
        "employment above its bound",
        sizes,
        lambda t: changed(t, "jobs", "employment", SECRET),
        ["employment", "widen the bounds"],
    ),
    ("no employment column", sizes, lambda t: without(t, "jobs", "employment"), ["employment"]),
]


@pytest.mark.parametrize(("good", "spoil", "named"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_a_bad_file_is_named_and_the_ledger_left_as_it_was(
    tmp_path: Path, tacita: Call, good: Callable[[], Columns], spoil: Callable[[Columns], Columns], named: list[str]
) -> None:
    spec = begin(tmp_path, good(), tacita)
    write(tmp_path, spoil(good()))
    ledger = (tmp_path / "jobs.ledger").read_bytes()
    said = tacita("run", spec, "--out", tmp_path / "bundle")
    assert said.code == 2, said.err
    for part in named:
        assert part in said.err
    assert str(SECRET) not in said.out + said.err
    assert "Traceback" not in said.err
    assert (tmp_path / "jobs.ledger").read_bytes() == ledger
    assert not (tmp_path / "bundle").exists()
