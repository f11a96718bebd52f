"""A table of 10.9 million jobs by place, sector and ownership: the whole release step against a plain group-by.

Both read the same Parquet files in one run, alternating, and the fastest of several rounds counts. "Ours" opens the
file, counts jobs and the largest establishment of every cell, draws exact noise and makes the published table with its
margins of error. The bar is 1.5 times the group-by.

    python benchmarks/workload1.py [--reduced]
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import duckdb

from tacita.data.confidential import Confidential
from tacita.data.schema import Schema
from tacita.mechanisms.eree import SmoothStaircase
from tacita.noise.entropy import SystemEntropy
from tacita.simulated.frame import simulate
from tacita.tables import publish

BY = ("place", "sector", "ownership")
BAR = 1.5


def fastest(rounds: int, *jobs: Callable[[], object]) -> list[float]:
    """The best time of each job, the jobs taking turns so that a disturbance hits them alike."""
    best = [float("inf")] * len(jobs)
    for _ in range(rounds):
        for k, job in enumerate(jobs):
            start = time.perf_counter()
            job()
            best[k] = min(best[k], time.perf_counter() - start)
    return best


def group_by(source: str) -> Callable[[], object]:
    # A connection of its own each time, as the release opens one too; default threads.
    return lambda: (
        duckdb.connect().sql(f"SELECT {', '.join(BY)}, count(*) AS jobs FROM {source} GROUP BY ALL").to_arrow_table()
    )


def release(files: object, schema: Schema, plan: SmoothStaircase) -> Callable[[], object]:
    def run() -> object:
        data = Confidential.open(files, schema)  # type: ignore[arg-type]
        return publish(plan.run(data, SystemEntropy()), schema)

    return run


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--reduced", action="store_true", help="a twentieth of the size; the bar is not applied")
    reduced = parser.parse_args().reduced
    share = 20 if reduced else 1
    frame = simulate(jobs=10_900_000 // share, establishments=527_000 // share)
    plan = SmoothStaircase("0.1", "1", by=BY)
    plan.error_law(1)  # the law is designed once per (α, ε), before any data: not part of the run
    worst = 0.0
    with tempfile.TemporaryDirectory() as folder:
        for form in ("flat", "linked"):
            paths = frame.write(Path(folder) / form, form=form)
            schema = Schema.load(paths["jobs.schema.toml"])
            if form == "flat":
                files: object = paths["jobs.parquet"]
                source = f"'{files}'"
            else:
                files = {name: paths[f"{name}.parquet"] for name in ("job", "workplace", "worker")}
                source = f"'{paths['job.parquet']}' JOIN '{paths['workplace.parquet']}' USING (workplace_id)"
            plain, ours = fastest(3 if reduced else 7, group_by(source), release(files, schema, plan))
            worst = max(worst, ours / plain)
            sys.stdout.write(
                f"{form:7s} plain group-by {plain:.3f} s, release step {ours:.3f} s, "
                f"ratio {ours / plain:.2f} (bar {BAR})\n"
            )
    return 0 if reduced or worst <= BAR else 1


if __name__ == "__main__":
    sys.exit(main())
