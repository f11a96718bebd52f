"""The largest files really run: does a job, or a record, cost more in a large file than in a small one?

- *jobs*: one release (ledger, check of the rows, tables, bundle and page) of three tables as haney2017 has them, by
  place, sector and ownership: all jobs, those of one group of workers, those of all eight groups. One piece is the
  simulated file of 10.9 million jobs in 3,000 places; twelve pieces are 130 million in 36,000. Bar: 130 million jobs
  take no more processor time each than 10.9 million, within 8 GiB.
- *FileSynthesis* and *PairwiseSynthesis* of simulated persons with categories and numbers that go together, one file;
  bars: 3 minutes for 1,000,000 × 40, 10 minutes for 10,000,000 × 20, of processor time, within 8 GiB.
- *evaluate*: the dossier of `FileSynthesis`; bars: 40 seconds for 64,600 × 20, 4 minutes for 1,000,000 × 40.
- *tumult*: the same counts of the 10.9 million jobs, one job added or removed, by Tumult Analytics and by ours; bar: a
  tenth of its processor time, the first time in a process and later. Only where build/peers has the package.

Each case is a release or a command as users have it, in a process of its own. Simulated; nothing here is confidential.

    python benchmarks/at_size.py [--only jobs] [--pieces 1,12] [--rows 1000000] [--folder DIR] [--reduced]
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from peers.environments import environment, ours
from tables_peers import Package

from tacita.data.schema import Schema
from tacita.release.run import run
from tacita.release.spec import Spec
from tacita.simulated.frame import FULL_ESTABLISHMENTS, FULL_JOBS, simulate

MOST_MEMORY = 8.0  # GiB
FILES = {  # rows, columns: seconds of processor time
    (1_000_000, 40): 180,
    (10_000_000, 20): 600,
}
PLANS = ("FileSynthesis", "PairwiseSynthesis")
CASES = ("jobs", *PLANS, "evaluate")
TUMULT = 0.1  # of its processor time
PEER_LIMIT = 3600  # seconds of processor time
CELLS = ("place", "sector", "ownership")
EVALUATED = {(64_600, 20): 40, (1_000_000, 40): 240}
_JOBS = """
title = "Jobs at size"
schema = "jobs.schema.toml"
data = "jobs"
ledger = "jobs.ledger"
[cap]
neighbours = "weak"
alpha = "0.1"
epsilon = "5"
[[table]]
name = "workload-1"
by = ["place", "sector", "ownership"]
mechanism = "SmoothStaircase"
epsilon = "1"
[[table]]
name = "workload-2"
by = ["place", "sector", "ownership"]
where = { sex = ["F"], education = ["BA"] }
mechanism = "SmoothStaircase"
epsilon = "1"
[[table]]
name = "workload-3"
by = ["place", "sector", "ownership"]
worker = ["sex", "education"]
mechanism = "SmoothStaircase"
epsilon = "2"
"""
_PERSONS = """
title = "Persons at size"
schema = "persons.schema.toml"
data = "persons.parquet"
ledger = "persons.ledger"
[cap]
neighbours = "add-remove"
unit = "record"
epsilon = "1"
delta = "1e-9"
[[microdata]]
name = "file"
mechanism = "{plan}"
columns = {columns}
{cuts}epsilon = "1"
delta = "1e-9"
"""


def write_jobs(folder: Path, pieces: int, share: int) -> int:
    """Pieces of a national file: each has places, establishments and workers of its own; returns the jobs in all."""
    (folder / "jobs").mkdir()
    jobs, establishments = FULL_JOBS // share, FULL_ESTABLISHMENTS // share
    lists = {"places.csv": ["code,label"], "place_population.csv": ["place,population"]}
    for piece in range(pieces):
        drawn = simulate(jobs=jobs, establishments=establishments, seed=2017 + piece)
        apart = replace(
            drawn,
            workplace_id=drawn.workplace_id + piece * establishments,
            place_codes=tuple(f"{piece:02d}{code}" for code in drawn.place_codes),
        )
        paths = apart.write(folder / "piece", form="flat")
        for name, lines in lists.items():
            lines += (folder / "piece" / name).read_text(encoding="utf-8").splitlines()[1:]
        with pq.ParquetFile(paths["jobs.parquet"]) as file:
            at = file.schema_arrow.get_field_index("worker_id")
            with pq.ParquetWriter(folder / "jobs" / f"{piece:02d}.parquet", file.schema_arrow) as out:
                for block in file.iter_batches(1_000_000):
                    moved = pa.array(block.column(at).to_numpy() + piece * jobs)
                    out.write_batch(block.set_column(at, file.schema_arrow.field(at), moved))
    for name in ("jobs.schema.toml", "sectors.csv"):
        (folder / name).write_text((folder / "piece" / name).read_text(encoding="utf-8"), encoding="utf-8")
    for name, lines in lists.items():
        (folder / name).write_text("\n".join(lines) + "\n", encoding="utf-8")
    (folder / "jobs.toml").write_text(_JOBS, encoding="utf-8")
    return jobs * pieces


def write_persons(folder: Path, rows: int, columns: int) -> None:
    """Persons of latent classes: three in four columns are categories, the others numbers, some with long tails."""
    random = np.random.default_rng(2019)
    member = random.integers(0, 12, rows)
    numbers: dict[str, list[int]] = {}
    made, about = {}, ['[dataset]\nidentity = "persons"\nunit = "record"\nsource = "simulated"\nlineage = []']
    for place in range(columns):
        name = f"c{place:02d}"
        about.append(f'[variables.{name}]\nrole = "confidential"')
        if place % 4 == 3:
            upper = 120 if place % 8 == 3 else 1_000_000
            value = np.exp(random.normal(member / 4 + (3 if upper == 120 else 8), 0.5))
            made[name] = pa.array(np.minimum(np.rint(value), upper).astype(np.int64))
            about.append(f'type = "integer"\nlower = 0\nupper = {upper}')
            numbers[name] = [15, 25, 35, 45, 55, 65, 75] if upper == 120 else [10**k for k in range(1, 6)]
            continue
        levels = (2, 5, 3, 8, 12, 4)[place % 6]
        reached = np.cumsum(random.dirichlet(np.ones(levels), size=12), axis=1)
        code = np.minimum((random.random(rows)[:, None] > reached[member]).sum(axis=1), levels - 1)
        named = [f"{one}" for one in range(levels)]
        made[name] = pa.DictionaryArray.from_arrays(pa.array(code.astype(np.int32)), named)
        about.append(f'type = "categorical"\nlevels = {json.dumps(named)}')
    pq.write_table(pa.table(made), folder / "persons.parquet")
    (folder / "persons.schema.toml").write_text("\n".join(about) + "\n", encoding="utf-8")
    cuts = ", ".join(f"{name} = {json.dumps(at)}" for name, at in numbers.items())
    for plan, said in (("FileSynthesis", ""), ("PairwiseSynthesis", f"cuts = {{ {cuts} }}\n")):
        asked = _PERSONS.replace("{plan}", plan).replace("{columns}", json.dumps(list(made))).replace("{cuts}", said)
        (folder / f"{plan}.toml").write_text(asked.replace("persons.ledger", f"{plan}.ledger"), encoding="utf-8")


def measured(work: Callable[[], object]) -> dict[str, float]:
    wall, busy = time.perf_counter(), time.process_time()
    work()
    used, clock = time.process_time() - busy, time.perf_counter() - wall
    return {"processor": used, "wall": clock, "memory": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20}


def release(folder: Path, name: str) -> dict[str, float]:
    return measured(lambda: run(Spec.load(folder / f"{name}.toml"), folder / f"{name} bundle"))


def evaluation(folder: Path) -> dict[str, float]:
    from tacita.cli import app

    asked = [
        "evaluate",
        "--bundle",
        str(folder / "FileSynthesis bundle"),
        "--original",
        str(folder / "persons.parquet"),
    ]
    asked += ["--schema", str(folder / "persons.schema.toml"), "--out", str(folder / "dossier.html")]
    return measured(lambda: app(asked, standalone_mode=False))


def in_own_process(what: str, folder: Path) -> dict[str, float]:
    command = [sys.executable, __file__, "--case", what, "--folder", str(folder)]
    said = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
    found: dict[str, float] = json.loads(said.splitlines()[-1])
    return found


def report(title: str, rows: int, found: dict[str, float]) -> None:
    each = 1e6 * found["processor"] / rows
    sys.stdout.write(
        f"{title:32} {found['processor']:8.1f} processor s {found['wall']:8.1f} s {found['memory']:6.2f} GiB "
        f"{each:8.3f} µs of processor time each\n"
    )
    sys.stdout.flush()


def jobs(given: argparse.Namespace) -> Iterator[str]:
    """What is beyond the bar."""
    first = None
    for pieces in (1, 2) if given.reduced else map(int, given.pieces.split(",")):
        with tempfile.TemporaryDirectory(dir=given.folder) as place:
            rows = write_jobs(Path(place), pieces, 100 if given.reduced else 1)
            found = in_own_process("jobs", Path(place))
        report(f"{rows:,} jobs, three tables", rows, found)
        each = found["processor"] / rows
        first = first or each
        if each > first or found["memory"] > MOST_MEMORY:
            yield f"{rows:,} jobs: {each / first:.2f} times the time of a job, or more than {MOST_MEMORY:.0f} GiB"


def persons(given: argparse.Namespace) -> Iterator[str]:
    sizes = ((5_000, 12),) if given.reduced else sorted({*FILES, *EVALUATED})
    for rows, columns in (one for one in sizes if given.rows in (None, one[0])):
        bars = {plan: FILES.get((rows, columns)) for plan in PLANS} | {"evaluate": EVALUATED.get((rows, columns))}
        wanted = [what for what, bar in bars.items() if given.only in (None, what) and (bar or given.reduced)]
        if not wanted:
            continue
        with tempfile.TemporaryDirectory(dir=given.folder) as place:
            write_persons(Path(place), rows, columns)
            if "evaluate" in wanted and "FileSynthesis" not in wanted:
                in_own_process("FileSynthesis", Path(place))
            for what in wanted:
                found, bar = in_own_process(what, Path(place)), bars[what] or 0
                report(f"{what}, {rows:,} × {columns}", rows, found)
                if found["processor"] > bar or found["memory"] > MOST_MEMORY:
                    yield f"{what}, {rows:,} × {columns}: more than {bar} s or {MOST_MEMORY:.0f} GiB"


def beside_tumult(given: argparse.Namespace) -> Iterator[str]:
    """The same counts at the same guarantee, twice in one process each: with the start of the package, and after it."""
    there = environment("tumult", install=False, limit=0)
    if there.error is not None:
        sys.stdout.write(f"tumult {there.error}: not compared\n")
        return
    with tempfile.TemporaryDirectory(dir=given.folder) as place:
        folder = Path(place)
        rows = write_jobs(folder, 1, 100 if given.reduced else 1)
        head, *variables = (folder / "jobs.schema.toml").read_text(encoding="utf-8").split("[variables.")
        rest = [f"[variables.{one}" for one in variables if one.startswith(tuple(f"{name}]" for name in CELLS))]
        described = folder / "rows.schema.toml"  # rows that are jobs of nobody, as the peer has them
        described.write_text(head.replace('"establishment"', '"job"') + "".join(rest), encoding="utf-8")
        schema, file = Schema.load(described), str(folder / "jobs" / "00.parquet")
        task = {
            "file": file, "schema": str(described), "statistic": "count", "of": None, "at": None,
            "tables": [CELLS], "epsilon": "1", "delta": "0", "rho": 0.0, "way": "even", "draws": 2, "timed": 2,
            "bounds": [0, 1], "whole": True, "filled": 0, "unit": "job",
            "levels": {name: list(schema.levels(name)) for name in CELLS},
        }  # fmt: skip
        counted = f"SELECT count(*) FROM '{file}' GROUP BY {', '.join(CELLS)}"
        filled = len(duckdb.connect().sql(counted).fetchall())
        used: dict[str, list[float]] = {}
        for package in (Package("tacita", ours().python), Package("tumult", there.python)):
            answer = package.ask(task, PEER_LIMIT)
            package.end()
            if "error" in answer:
                sys.stdout.write(f"{package.name} {answer['error']}\n")
                return
            used[package.name] = answer["cpu"]
            cold, warm = answer["cpu"]
            told = f"{cold:8.1f} processor s at first, {warm:8.1f} later, {answer['peak'] / 1024:6.2f} GiB"
            sys.stdout.write(f"{package.name:8} counts of {rows:,} jobs, {filled:,} cells with jobs: {told}\n")
    for when, mine, theirs in zip(("first", "later"), used["tacita"], used["tumult"], strict=True):
        sys.stdout.write(f"ratio, {when}: {mine / theirs:.3f}\n")
        if mine > TUMULT * theirs:
            yield f"{when}: more than {TUMULT:.0%} of Tumult's time"


def main() -> int:
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument("--only", choices=(*CASES, "tumult"))
    asked.add_argument("--pieces", default="1,12", help="sizes of the file of jobs, in pieces of 10.9 million")
    asked.add_argument("--rows", type=int, help="of the files of persons, only this size")
    asked.add_argument("--folder", help="where files are kept while they are needed")
    asked.add_argument("--reduced", action="store_true", help="small files; bars are not applied")
    asked.add_argument("--case", choices=CASES, help=argparse.SUPPRESS)
    given = asked.parse_args()
    if given.case:
        folder = Path(given.folder)
        found = evaluation(folder) if given.case == "evaluate" else release(folder, given.case)
        sys.stdout.write(json.dumps(found) + "\n")
        return 0
    missed = [] if given.only not in (None, "jobs") else list(jobs(given))
    missed += [] if given.only in ("jobs", "tumult") else list(persons(given))
    missed += [] if given.only not in (None, "tumult") else list(beside_tumult(given))
    if given.reduced:
        return 0  # small files say nothing of the bars
    sys.stdout.write("\n".join(missed or ["Within all bars."]) + "\n")
    return 1 if missed else 0


if __name__ == "__main__":
    raise SystemExit(main())
