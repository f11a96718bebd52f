"""Write a simulated frame the way an agency would hold it: Parquet files, a schema and code lists.

Jobs are written in blocks, and only codes (a few bytes a row) are ever held for all rows, so the file of 10.9
million jobs needs a few hundred megabytes of memory.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from tacita.errors import UsageError

if TYPE_CHECKING:
    from tacita.simulated.frame import LinkedFrame

_BLOCK = 1_000_000  # rows per Parquet row group
_LABELS = {
    "ownership": {"private": "Private ownership", "public": "Public ownership"},
    "sex": {"F": "Female", "M": "Male"},
    "education": {
        "NHS": "Less than high school",
        "HS": "High school or equivalent",
        "SC": "Some college or associate degree",
        "BA": "Bachelor's degree or higher",
    },
}


def write_frame(frame: LinkedFrame, folder: Path, form: Literal["linked", "flat"]) -> dict[str, Path]:
    """Write `frame` below `folder`.

    "linked" gives job.parquet, workplace.parquet and worker.parquet; "flat" one jobs.parquet with a row per job,
    in random order. Both give jobs.schema.toml, places.csv, sectors.csv and place_population.csv.
    """
    from tacita.simulated.frame import EDUCATION, OWNERSHIP, SECTORS, SEX

    if form not in ("linked", "flat"):
        raise UsageError('form: write the frame as "linked" or as "flat"')
    folder.mkdir(parents=True, exist_ok=True)
    establishment, kind, worker_id = _jobs(frame)
    levels: dict[str, Sequence[str]] = {
        "place": frame.place_codes,
        "sector": [row.code for row in SECTORS],
        "ownership": OWNERSHIP,
        "sex": SEX,
        "education": EDUCATION,
    }
    paths = {name: folder / name for name in ("places.csv", "sectors.csv", "place_population.csv")}
    _write_csv(
        paths["places.csv"], ("code", "label"), ((c, f"Place {c[2:]}, state {c[:2]}") for c in frame.place_codes)
    )
    _write_csv(paths["sectors.csv"], ("code", "label"), ((row.code, row.label) for row in SECTORS))
    people = zip(frame.place_codes, frame.place_population.tolist(), strict=True)
    _write_csv(paths["place_population.csv"], ("place", "population"), people)

    workplaces = {name: getattr(frame, name) for name in ("place", "sector", "ownership")}
    if form == "flat":
        files = {
            "jobs.parquet": {
                "worker_id": worker_id,
                "workplace_id": (frame.workplace_id, establishment),
                **{name: (codes, establishment) for name, codes in workplaces.items()},
                "sex": kind // len(EDUCATION),
                "education": kind % len(EDUCATION),
            }
        }
    else:
        by_id = np.argsort(worker_id)  # the worker table is its own file, in its own order
        files = {
            "job.parquet": {"worker_id": worker_id, "workplace_id": (frame.workplace_id, establishment)},
            "workplace.parquet": {"workplace_id": frame.workplace_id, **workplaces},
            "worker.parquet": {
                "worker_id": (worker_id, by_id),
                "sex": (kind // len(EDUCATION), by_id),
                "education": (kind % len(EDUCATION), by_id),
            },
        }
    for name, columns in files.items():
        paths[name] = folder / name
        _write_parquet(paths[name], columns, levels)
    paths["jobs.schema.toml"] = folder / "jobs.schema.toml"
    paths["jobs.schema.toml"].write_text(
        schema_text(form, identity=f"simulated-jobs-{len(kind)}-seed-{frame.seed}"), encoding="utf-8"
    )
    return paths


def schema_text(form: Literal["linked", "flat"], identity: str) -> str:
    """The public description of the file: roles, levels and where they come from."""
    parts = [
        "# Public description of a simulated linked employer-employee file. No person or business in it exists.",
        "[dataset]",
        f'identity = "{identity}"',
        'unit = "establishment"',
        "lineage = []",
        'source = "code lists of the simulated frame (tacita.simulated)"',
        "",
    ]
    for name, entity in (("workplace_id", "workplace"), ("worker_id", "worker")):
        parts += [f"[variables.{name}]", 'role = "id"', f'entity = "{entity}"', ""]
    attributes = (
        ("place", "workplace", 'levels_file = "places.csv"'),
        ("sector", "workplace", 'levels_file = "sectors.csv"'),
        ("ownership", "workplace", _inline_levels("ownership")),
        ("sex", "worker", _inline_levels("sex")),
        ("education", "worker", _inline_levels("education")),
    )
    for name, role, levels in attributes:
        parts += [f"[variables.{name}]", 'type = "categorical"', f'role = "{role}"']
        if form == "linked":
            parts.append(f'table = "{role}"')
        parts += [levels, ""]
    return "\n".join(parts)


def _inline_levels(name: str) -> str:
    listed = ", ".join(f'"{code}"' for code in _LABELS[name])
    labels = ", ".join(f'{code} = "{label}"' for code, label in _LABELS[name].items())
    return f"levels = [{listed}]\nlabels = {{ {labels} }}"


def _jobs(frame: LinkedFrame) -> tuple[NDArray[np.int32], NDArray[np.int8], NDArray[np.int32]]:
    """One entry per job, in random order: position of the establishment, worker cell, worker id."""
    rng = np.random.default_rng((frame.seed, 1))
    cells = frame.workers.shape[1]
    counts = frame.workers.ravel()
    establishment = np.repeat(np.repeat(np.arange(len(frame.workers), dtype=np.int32), cells), counts)
    kind = np.repeat(np.tile(np.arange(cells, dtype=np.int8), len(frame.workers)), counts)
    order = rng.permutation(len(kind)).astype(np.int32)
    # Ids in an order of their own, so that they say nothing about who works with whom.
    worker_id = rng.permutation(len(kind)).astype(np.int32) + 1
    return establishment[order], kind[order], worker_id


def _write_parquet(path: Path, columns: Mapping[str, Any], levels: Mapping[str, Sequence[str]]) -> None:
    """Each column is an array, or a pair (values, positions) that is looked up block by block."""
    fields = [
        pa.field(name, pa.dictionary(pa.int32(), pa.string()) if name in levels else pa.int64()) for name in columns
    ]
    lists = {name: pa.array(list(levels[name]), type=pa.string()) for name in columns if name in levels}
    first = next(iter(columns.values()))
    rows = len(first[1]) if isinstance(first, tuple) else len(first)
    schema = pa.schema(fields)
    with pq.ParquetWriter(path, schema, compression="zstd", compression_level=1) as writer:
        for start in range(0, rows, _BLOCK):
            block = slice(start, start + _BLOCK)
            arrays = []
            for name, column in columns.items():
                values = column[0][column[1][block]] if isinstance(column, tuple) else column[block]
                if name in lists:
                    arrays.append(pa.DictionaryArray.from_arrays(pa.array(values.astype(np.int32)), lists[name]))
                else:
                    arrays.append(pa.array(values.astype(np.int64)))
            writer.write_table(pa.Table.from_arrays(arrays, schema=schema))


def _write_csv(path: Path, header: Sequence[str], rows: Iterator[Any]) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(header)
        writer.writerows(rows)
