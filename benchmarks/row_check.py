"""What it costs to check that every worker of 10.9 million jobs has one row, as a share of the whole release.

The release is that of `Ledger.release`: the file is checked against its schema, its rows are fingerprinted, the table
is measured and stored. It is run with and without the check of contributions, taking turns, a fresh ledger each time,
and the median of the differences counts: on a busy machine single rounds differ by more than the check. Bar: 15%.

With --text the ids are text, as registers write them ("P00000042"), which is more to read and to compare.

    python benchmarks/row_check.py [--reduced] [--text]
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any
from unittest.mock import patch

import duckdb

from tacita.data.checks import FileChecks
from tacita.data.confidential import Confidential
from tacita.data.schema import Schema
from tacita.ledger import Ledger
from tacita.mechanisms.eree import SmoothStaircase
from tacita.privacy import Loss, StrongAlpha
from tacita.simulated.frame import simulate

BAR = 0.15


def without_check() -> AbstractContextManager[object]:
    """Every worker counts as new; nothing else of the run changes."""
    repeats = FileChecks._repeats

    def unless_worker(self: FileChecks, table: Any, key: str) -> bool:
        return key != self.schema.id_of("worker") and repeats(self, table, key)

    return patch.object(FileChecks, "_repeats", unless_worker)


def write_ids_as_text(path: Path, columns: tuple[str, ...]) -> None:
    """As a register of persons writes them: a letter and nine digits."""
    spelled = ", ".join(f"printf('P%09d', {one}) AS {one}" for one in columns)
    with duckdb.connect() as engine:
        engine.execute(f"CREATE TABLE jobs AS SELECT * REPLACE ({spelled}) FROM read_parquet(?)", [str(path)])
        engine.execute(f"COPY jobs TO '{path}' (FORMAT parquet)")


def timed(job: Callable[[], object]) -> tuple[float, float]:
    """Seconds on the clock and of the processor, all threads together."""
    clock, processor = time.perf_counter(), time.process_time()
    job()
    return time.perf_counter() - clock, time.process_time() - processor


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--reduced", action="store_true", help="a twentieth of the size; the bar is not applied")
    parser.add_argument("--text", action="store_true", help="ids as text")
    told = parser.parse_args()
    reduced = told.reduced
    share = 20 if reduced else 1
    frame = simulate(jobs=10_900_000 // share, establishments=527_000 // share)
    plan = SmoothStaircase("0.1", "1", by=("place", "sector", "ownership"))
    plan.error_law(1)  # the law is designed once per (α, ε), before any data: not part of the run
    with tempfile.TemporaryDirectory() as folder:
        paths = frame.write(Path(folder), form="flat")
        schema = Schema.load(paths["jobs.schema.toml"])
        if told.text:
            write_ids_as_text(paths["jobs.parquet"], tuple(schema.entities.values()))

        def release(name: str) -> None:
            ledger = Ledger.open(Path(folder) / name, cap=Loss("1"), neighbours=StrongAlpha("0.1"))
            ledger.release(plan, Confidential.open(paths["jobs.parquet"], schema), label="jobs")

        worst = 0.0
        rounds: list[tuple[tuple[float, float], tuple[float, float]]] = []
        release("warm.ledger")
        for number in range(3 if reduced else 5):
            found = []
            for checked in (True, False):
                with nullcontext() if checked else without_check():
                    found.append(timed(lambda name=f"{number}{checked}.ledger": release(name)))
            rounds.append((found[0], found[1]))
        for at, what in enumerate(("clock", "processor")):
            whole = statistics.median(with_it[at] for with_it, _ in rounds)
            check = statistics.median(with_it[at] - without[at] for with_it, without in rounds)
            worst = max(worst, check / whole)
            sys.stdout.write(
                f"{what:9s} release {whole:.2f} s, of which the row check {check:.2f} s: {check / whole:.1%} "
                f"(bar {BAR:.0%})\n"
            )
    return 0 if reduced or worst <= BAR else 1


if __name__ == "__main__":
    sys.exit(main())
