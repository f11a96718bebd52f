"""Panels that do not fit in memory: one group at a time, one Parquet file per group and synthetic file.

`write_panel` leaves `<group>=<level>/implicate=<number>/part.parquet` in a folder, and a record beside them (`record`).
A run that was killed goes on where it stopped: files that are there are kept, the others are drawn from their own
streams, so the folder ends up as if nothing had happened. Without a guarantee the record holds the seed of all draws.
With one, everything is measured first, group by group, and kept in the ledger before any file is drawn: from then on
the confidential rows are read once more only to see that they are still the same.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from tacita.data.confidential import Confidential, engine_of, rows
from tacita.errors import RefusedError, UsageError, VerificationError
from tacita.ledger import Ledger
from tacita.noise.entropy import Entropy, SystemEntropy
from tacita.plan import check
from tacita.synthesis.panel.formal.model import PanelModel
from tacita.synthesis.panel.formal.plan import PanelSynthesis
from tacita.synthesis.panel.group import group_files
from tacita.synthesis.panel.layout import Layout
from tacita.synthesis.panel.plain import PlainPanelSynthesis
from tacita.synthesis.panel.reading import ALL, canonical, groups_of, to_panel
from tacita.synthesis.panel.record import RECORD, Run, put
from tacita.synthesis.panel.sequence import Models
from tacita.synthesis.panel.streams import recorded_seed

AnyPanel = PanelSynthesis | PlainPanelSynthesis
Work = Callable[[str, pa.Table], None]
REHEARSED = "measured.json"  # what a rehearsal measured, until its files are written; a release has it in the ledger


def write_panel(
    plan: AnyPanel,
    data: Confidential,
    folder: str | Path,
    entropy: Entropy | None = None,
    *,
    ledger: Ledger | None = None,
    label: str | None = None,
    workers: int = 1,
) -> tuple[Path, ...]:
    """All synthetic files of a panel, written group by group; the finished ones of an earlier call are kept.

    `PanelSynthesis` needs a ledger and a label, as in `Ledger.release`; a rehearsal of it on public or mock rows takes
    a seeded `entropy` instead. For `PlainPanelSynthesis` `entropy` is the system's unless one is given, and there is
    nothing for a ledger to account for: its files stay inside. `Ledger.disclose` is the way out.

    An earlier call that was broken off is gone on with: nothing is measured, charged or drawn again, and plan, schema
    and rows must be those of that call. (Broken off while it was measuring, it has nothing to go on with: the ledger
    counts it as spent.) A file is read fastest where it is sorted or partitioned by the column of the groups.

    `workers` is how many groups DuckDB's rows are worked on at once, each in a process of its own, so that the calling
    program must be safe to import (`if __name__ == "__main__"`); a Spark cluster has its own. The files do not depend
    on it.
    """
    _suits(plan, entropy, ledger, label)
    if isinstance(workers, bool) or not isinstance(workers, int) or workers < 1:
        raise UsageError("workers: give how many groups are worked on at once, at least 1")
    check(plan, data)
    folder, layout = Path(folder), plan.layout(data.schema)
    folder.mkdir(parents=True, exist_ok=True)
    run = Run.of(folder, plan, data)
    if run is not None and isinstance(plan, PanelSynthesis) and run.rehearsal == (ledger is not None):
        raise RefusedError(f"{folder.name}: a rehearsal and a release do not share a folder; give a new one")
    groups = groups_of(data, layout)
    place = Partitions(layout, plan.sets, str(folder))
    if run is not None and run.finished:
        if any(place.waiting(group) for group in groups):
            raise VerificationError(
                f"{folder.name}: was finished, and files are missing now; restore them, or start anew"
            )
        return tuple(path for group in groups for path in place.paths(group))
    if run is None:
        source = SystemEntropy() if entropy is None else entropy
        seed = recorded_seed(source) if isinstance(plan, PlainPanelSynthesis) else None
        run = Run.begin(folder, plan, data, seed, source.rehearsal)
    for stray in folder.glob("**/*.part"):
        stray.unlink()
    todo = [group for group in groups if place.waiting(group)]
    if isinstance(plan, PlainPanelSynthesis):
        work = GroupWriter(place, plan.sequence(layout), str(run.seed))
        _each(data, layout, todo, lambda table: canonical(table, layout), work, workers)
    else:
        model = _measured(plan, data, folder, entropy, ledger, label)
        draw = ModelWriter(place, plan, model.only(todo).to_bytes())
        if layout.group is None:
            for group in todo:
                draw(group, None)
        else:
            # The files need no rows, but engines spread work by rows: so one for each level of the public column.
            public = layout.group_column[0]
            _each(data, layout, todo, lambda table: table.select(public).distinct(), draw, workers)
    run.finish()
    (folder / REHEARSED).unlink(missing_ok=True)
    return tuple(path for group in groups for path in place.paths(group))


def _suits(plan: AnyPanel, entropy: Entropy | None, ledger: Ledger | None, label: str | None) -> None:
    if isinstance(plan, PlainPanelSynthesis):
        if ledger is not None:
            raise UsageError(
                "ledger: a panel without epsilon has no guarantee that could be accounted for; leave it out, or put "
                "its files on record with Ledger.disclose"
            )
        return
    if ledger is None and (entropy is None or not entropy.rehearsal):
        raise UsageError("epsilon: a panel with a guarantee is written through a ledger; give ledger and label")
    if ledger is not None and (label is None or entropy is not None):
        raise UsageError(
            'ledger: goes with a label, such as "panel 2026", and without entropy; its noise is the system\'s'
        )


def _measured(
    plan: PanelSynthesis,
    data: Confidential,
    folder: Path,
    entropy: Entropy | None,
    ledger: Ledger | None,
    label: str | None,
) -> PanelModel:
    """What the files are drawn from: measured now and kept, or kept by a run that was broken off."""
    if ledger is not None:
        return ledger.release(plan, data, label=str(label))
    if (kept := folder / REHEARSED).exists():
        return plan.restore(kept.read_bytes())
    assert entropy is not None
    model = plan.run(data, entropy)
    put(kept, model.to_bytes())
    return model


def _each(
    data: Confidential,
    layout: Layout,
    groups: list[str],
    prepare: Callable[[Any], Any],
    work: Work,
    workers: int,
) -> None:
    """Call `work` with each group and its prepared rows: here one after another, on a cluster on its workers."""
    engine = engine_of(data)
    if layout.group is None:
        for group in groups:
            work(group, engine.collect(prepare(rows(data))))
        return
    column, digits = layout.group_column
    levels = dict(layout.groups())
    with _side_by_side(work, min(workers, len(groups)) if engine.name == "duckdb" else 1) as handed_on:
        engine.map_groups(rows(data), column, digits, {group: levels[group] for group in groups}, prepare, handed_on)


@contextmanager
def _side_by_side(work: Work, workers: int) -> Iterator[Work]:
    """The same work in other processes: so many groups at once, and no more rows in memory than theirs and the next."""
    if workers <= 1:
        yield work
        return
    # A fresh interpreter each: the engine has threads, which a fork would not survive.
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
        under_way: set[Future[None]] = set()

        def settle(most: int) -> None:
            while len(under_way) > most:
                done, rest = wait(under_way, return_when=FIRST_COMPLETED)
                for one in done:
                    one.result()
                under_way.intersection_update(rest)

        def handed_on(group: str, table: pa.Table) -> None:
            settle(workers - 1)
            under_way.add(pool.submit(work, group, table))

        yield handed_on
        settle(0)


@dataclass(frozen=True, eq=False)
class Partitions:
    """Where the rows of each group and file lie."""

    layout: Layout
    sets: int
    folder: str

    def path(self, group: str, number: int) -> Path:
        root = Path(self.folder) if self.layout.group is None else Path(self.folder) / f"{self.layout.group}={group}"
        return root / f"implicate={number}" / "part.parquet"

    def paths(self, group: str) -> Iterator[Path]:
        return (self.path(group, number) for number in range(1, self.sets + 1))

    def waiting(self, group: str) -> list[int]:
        return [number for number in range(1, self.sets + 1) if not self.path(group, number).exists()]

    def put(self, group: str, number: int, made: pa.Table) -> None:
        """Write the rows of one group in one file: aside and renamed, so that a file that is there is whole."""
        if self.layout.group in made.column_names:
            made = made.drop_columns([self.layout.group])  # the folder's name says it
        path = self.path(group, number)
        path.parent.mkdir(parents=True, exist_ok=True)
        aside = path.with_name(f"{os.getpid()}.part")
        pq.write_table(made, aside, compression="zstd")
        aside.replace(path)


@dataclass(frozen=True, eq=False)
class GroupWriter:
    """What is done with the rows of one group, in this process or on a worker of a cluster."""

    place: Partitions
    models: Models
    seed: str

    def __call__(self, group: str, table: pa.Table) -> None:
        panel = to_panel(table, self.place.layout)
        for number, made in group_files(panel, self.models, group, self.seed, self.place.waiting(group)):
            self.place.put(group, number, made)


@dataclass(frozen=True, eq=False)
class ModelWriter:
    """The same from what was measured: other processes get it as the ledger keeps it, since models do not pickle."""

    place: Partitions
    plan: PanelSynthesis
    measured: bytes

    def __call__(self, group: str, _: pa.Table | None) -> None:
        model = _restored(self.plan, self.measured)
        for number in self.place.waiting(group):
            self.place.put(group, number, model.group_file(group, number, self.place.sets))


@lru_cache(maxsize=1)
def _restored(plan: PanelSynthesis, measured: bytes) -> PanelModel:
    """Once in each process, not for each of its groups."""
    return plan.restore(measured)


__all__ = ["ALL", "RECORD", "GroupWriter", "write_panel"]
