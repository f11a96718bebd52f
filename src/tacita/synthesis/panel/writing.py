"""Panels that do not fit in memory: one group at a time, one Parquet file per group and synthetic file.

`write_panel` leaves `<group>=<level>/implicate=<number>/part.parquet` in a folder. A record beside them holds the seed
from which every group and file has its own stream. A run that was killed goes on where it stopped: files that are
there are kept, the others are drawn from their own streams, so the folder ends up as if nothing had happened. The
seed is taken out of the record when all is done: it is no part of what is published.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from tacita.confidential import Confidential, engine_of, rows
from tacita.errors import RefusedError, UsageError, VerificationError
from tacita.noise.entropy import Entropy
from tacita.synthesis.panel.group import group_files
from tacita.synthesis.panel.layout import Layout
from tacita.synthesis.panel.plan import PanelSynthesis
from tacita.synthesis.panel.reading import ALL, canonical, groups_of, to_panel
from tacita.synthesis.panel.sequence import Models
from tacita.synthesis.panel.streams import recorded_seed

RECORD = "panel.json"
_FORM = "panel-folder-1"


def write_panel(plan: PanelSynthesis, data: Confidential, folder: str | Path, entropy: Entropy) -> tuple[Path, ...]:
    """All synthetic files of a panel, written group by group; the finished ones of an earlier call are kept.

    Nothing is drawn from `entropy` where the folder's record holds a seed already. Plan and schema must be those of the
    earlier call, and are checked; so must the file be, which is too large to be checked. A file is read fastest where
    it is sorted or partitioned by the column of the groups.
    """
    if plan.epsilon is not None:
        raise UsageError(
            "epsilon: a panel with a guarantee is run through a ledger; `group_file` of its result writes it"
        )
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    data.check(plan.columns(data.schema))
    layout = plan.layout(data.schema)
    seed = _seed(plan, data, folder, entropy)
    groups = groups_of(data, layout)
    work = GroupWriter(layout, plan.sequence(layout), seed, plan.sets, str(folder))
    todo = [group for group in groups if work.waiting(group)]
    if todo and seed is None:
        raise VerificationError(f"{folder.name}: was finished, and files are missing now; restore them, or start anew")
    for stray in folder.glob("**/*.part"):
        stray.unlink()
    engine = engine_of(data)
    if layout.group is None:
        for group in todo:
            work(group, engine.collect(canonical(rows(data), layout)))
    else:
        column, digits = layout.group_column
        levels = dict(layout.groups())
        engine.map_groups(
            rows(data),
            column,
            digits,
            {group: levels[group] for group in todo},
            lambda table: canonical(table, layout),
            work,
        )
    _record(folder, plan, data, None, entropy)
    return tuple(path for group in groups for path in work.paths(group))


@dataclass(frozen=True, eq=False)
class GroupWriter:
    """What is done with the rows of one group, in this process or on a worker of a cluster."""

    layout: Layout
    models: Models
    seed: str | None
    sets: int
    folder: str

    def path(self, group: str, number: int) -> Path:
        root = Path(self.folder) if self.layout.group is None else Path(self.folder) / f"{self.layout.group}={group}"
        return root / f"implicate={number}" / "part.parquet"

    def paths(self, group: str) -> Iterator[Path]:
        return (self.path(group, number) for number in range(1, self.sets + 1))

    def waiting(self, group: str) -> list[int]:
        return [number for number in range(1, self.sets + 1) if not self.path(group, number).exists()]

    def __call__(self, group: str, table: pa.Table) -> None:
        panel = to_panel(table, self.layout)
        for number, made in group_files(panel, self.models, group, str(self.seed), self.waiting(group)):
            self.put(group, number, made)

    def put(self, group: str, number: int, made: pa.Table) -> None:
        """Write the rows of one group in one file: aside and renamed, so that a file that is there is whole."""
        if self.layout.group in made.column_names:
            made = made.drop_columns([self.layout.group])  # the folder's name says it
        path = self.path(group, number)
        path.parent.mkdir(parents=True, exist_ok=True)
        aside = path.with_name(f"{os.getpid()}.part")
        pq.write_table(made, aside, compression="zstd")
        aside.replace(path)


def _seed(plan: PanelSynthesis, data: Confidential, folder: Path, entropy: Entropy) -> str | None:
    record = folder / RECORD
    if not record.exists():
        if any(folder.iterdir()):
            raise RefusedError(f"{folder.name}: is not empty and holds no {RECORD}; give a new folder")
        seed = recorded_seed(entropy)
        _record(folder, plan, data, seed, entropy)
        return seed
    try:
        found: dict[str, Any] = json.loads(record.read_text(encoding="utf-8"))
    except ValueError:
        found = {}
    if found.get("form") != _FORM:
        raise VerificationError(f"{folder.name}: its {RECORD} is not one that Tacita wrote; give a new folder")
    if found["plan"] != json.loads(json.dumps(plan.describe())) or found["schema"] != data.schema.hash:
        raise RefusedError(f"{folder.name}: holds the files of another plan or schema; give a new folder")
    return found["seed"]  # type: ignore[no-any-return]


def _record(folder: Path, plan: PanelSynthesis, data: Confidential, seed: str | None, entropy: Entropy) -> None:
    content = {
        "form": _FORM,
        "plan": plan.describe(),
        "schema": data.schema.hash,
        "seed": seed,
        "rehearsal": entropy.rehearsal,
        "guarantee": str(plan.guarantee),
    }
    aside = folder / f"{os.getpid()}.part"
    with aside.open("w", encoding="utf-8") as file:
        json.dump(content, file, sort_keys=True)
        file.flush()
        os.fsync(file.fileno())  # before anything is drawn from it
    aside.replace(folder / RECORD)


__all__ = ["ALL", "RECORD", "GroupWriter", "write_panel"]
