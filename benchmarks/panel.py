"""Partially synthetic panels: how near they are, how fast, how far they scale, and trees for comparison.

Bars, for one simulated industry of 130,000 establishments, 1976 to 2001, averaged over five files: shares of
multi-unit status, first and last year within 0.005; the correlation of employment from year to year within 0.02;
employment of each year within 2%, job creation and destruction within 10%; five files within 60 processor seconds
(two cores have twice that). National files: the same time per establishment whatever their number, within 8 GiB, and
no impossible record in 10 million establishment-years. Trees as synthpop draws them (every column given all columns
before it, a donor of the leaf): at least ten times slower for five files, without a smaller error of the trends. Trees
within our own sequence, given what the regressions are given, are shown beside. Each case runs in a process of its own.

    python benchmarks/panel.py [--reduced] [--only national] [--sizes 1000000,4000000] [--seeds 1,2,3]
"""

from __future__ import annotations

import argparse
import json
import resource
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from tacita.data.confidential import Confidential
from tacita.data.schema import Schema
from tacita.noise.entropy import SeededEntropy
from tacita.synthesis.panel import CategoryTree, NumberTree, write_panel
from tacita.synthesis.panel.models import NUMBER_MODELS
from tacita.synthesis.panel.numbers import Scale
from tacita.synthesis.panel.predictors import Column, Predictors
from tacita.synthesis.panel.rules import broken_rules
from tacita_studies.kinney2007.facts import YEARS
from tacita_studies.kinney2007.simulation import BEFORE, ONE, STATUSES, Industry, industries, plan, schema

BARS = {
    "multi-unit": 0.005,
    "first year": 0.005,
    "last year": 0.005,
    "correlation": 0.02,
    "employment": 0.02,
    "job creation": 0.10,
    "job destruction": 0.10,
}
FILES = 5
LEAST_RECORDS = 10_000_000  # establishments and years in which none is impossible
RELATIVE = ("employment", "job creation", "job destruction")


def trees(models: dict[str, Any]) -> dict[str, Any]:
    """A tree in the place of every model, given the same."""
    return {
        name: (NumberTree if isinstance(model, NUMBER_MODELS) else CategoryTree)(model.given)
        for name, model in models.items()
    }


def facts(table: pa.Table) -> dict[str, np.ndarray[Any, Any]]:
    """What the bars compare, one array each."""
    first, last = (table[name].to_numpy() for name in ("firstyear", "lastyear"))
    status = np.asarray(table["multiunit"].to_pylist())
    jobs = np.array([table[f"emp{year}"].to_numpy(zero_copy_only=False) for year in YEARS], dtype=np.float64)
    filled = np.nan_to_num(jobs)
    totals, change = filled.sum(axis=1), np.diff(filled, axis=0)
    average = (totals[1:] + totals[:-1]) / 2
    both = [~np.isnan(jobs[at]) & ~np.isnan(jobs[at - 1]) for at in range(1, len(YEARS))]
    return {
        "multi-unit": np.array([(status == one).mean() for one in STATUSES]),
        "first year": np.array([(first == year).mean() for year in (BEFORE, *YEARS)]),
        "last year": np.array([(last == year).mean() for year in YEARS]),
        "correlation": np.array([np.corrcoef(jobs[at, who], jobs[at + 1, who])[0, 1] for at, who in enumerate(both)]),
        "employment": totals,
        "job creation": np.maximum(change, 0).sum(axis=1) / average,
        "job destruction": np.maximum(-change, 0).sum(axis=1) / average,
    }


def distances(truth: dict[str, Any], files: list[dict[str, Any]]) -> dict[str, dict[str, float]]:
    """The largest distance over years or categories: of the average of the files, and of the worst file."""

    def far(name: str, made: Any) -> float:
        return float(np.abs(made / truth[name] - 1 if name in RELATIVE else made - truth[name]).max())

    return {
        name: {
            "mean": far(name, np.mean([one[name] for one in files], axis=0)),
            "worst": max(far(name, one[name]) for one in files),
            "typical": float(
                np.mean(
                    [
                        np.abs(one[name] / truth[name] - 1 if name in RELATIVE else one[name] - truth[name]).mean()
                        for one in files
                    ]
                )
            ),
        }
        for name in truth
    }


def as_synthpop(panel: pa.Table, about: Schema, seed: int) -> pa.Table:
    """A wide table column by column, each from a tree on all before it; a year outside the life is a value as well.

    Counties would be 3,060 categories, so it has their states. Nothing keeps its records possible.
    """
    random = np.random.default_rng(seed)
    known = {"state": _codes(pa.compute.utf8_slice_codeunits(panel["county"], 0, 2)), "sic4": _codes(panel["sic4"])}
    truth, made = dict(known), dict(known)
    names = ["firstyear", "lastyear", "multiunit", "changeyear"]
    names += [f"{name}{year}" for year in YEARS for name in ("emp", "pay")]
    for name in names:
        if name == "multiunit":
            values = _codes(panel[name]).values.astype(np.float64)
        else:
            values = np.nan_to_num(panel[name].to_numpy(zero_copy_only=False).astype(np.float64), nan=-1.0)
        model = NumberTree(tuple(truth))
        fitted = model.fit(values + 1, Predictors(len(values), truth), Scale(0, 1e9, 1), random)
        drawn = fitted.draw(Predictors(len(values), made), random)
        truth, made = truth | {name: Column(values + 1)}, made | {name: Column(drawn)}
    columns = {name: made[name].values - 1 for name in names}
    found = {name: pa.array(held.astype(np.int64), mask=held < 0) for name, held in columns.items()}
    return pa.table(found | {"multiunit": pa.array(STATUSES).take(pa.array(columns["multiunit"].astype(np.int64)))})


def _codes(column: Any) -> Column:
    stored = column.combine_chunks().dictionary_encode()
    return Column(stored.indices.to_numpy().astype(np.int64), len(stored.dictionary))


def near(case: dict[str, Any]) -> dict[str, Any]:
    """One industry in memory: distances and times."""
    industry = Industry(ONE.sic3, ONE.sector, case["establishments"])
    panel, about = industry.simulate(seed=case["seed"]), schema((industry,))
    given = plan(case["sets"])
    if case.get("trees") == "within":
        given = plan(case["sets"], models=trees(given.sequence(given.layout(about))))
    start, busy = time.perf_counter(), time.process_time()
    if case.get("trees") == "synthpop":
        made = (as_synthpop(panel, about, case["seed"]),)
    else:
        made = given.rehearse(panel, about, seed=case["seed"]).released
    wall, processor = time.perf_counter() - start, time.process_time() - busy
    layout = given.layout(about)
    return {
        "wall": wall,
        "processor": processor,
        "distances": distances(facts(panel), [facts(table) for table in made]),
        "impossible": sum(sum(broken_rules(table, layout).values()) for table in made),
        "memory": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20,
    }


def national(case: dict[str, Any]) -> dict[str, Any]:
    """A national file: simulated industry by industry, then synthesised out of core, one file; every record checked."""
    given, parts = plan(1), tuple(industries(case["establishments"]))
    about: Schema = schema(parts)
    folder = Path(tempfile.mkdtemp(prefix="panel-", dir=case.get("folder")))
    try:
        busy = time.process_time()
        for part in parts:
            place = folder / "panel" / f"sic3={part.sic3}"
            place.mkdir(parents=True)
            pq.write_table(part.simulate(seed=1).drop_columns(["sic3"]), place / "part.parquet")
        simulated = time.process_time() - busy
        start, busy = time.perf_counter(), time.process_time()
        with Watch(folder / "made", {part.sic3: part.establishments for part in parts}) as watch:
            paths = write_panel(given, Confidential.open(folder / "panel", about), folder / "made", SeededEntropy(1))
        wall, processor = time.perf_counter() - start, time.process_time() - busy
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
        layout, impossible, rows, years = given.layout(about), 0, 0, 0
        for path in paths:
            table = pq.ParquetFile(path).read()
            rows += table.num_rows
            years += sum(table.num_rows - table[f"emp{year}"].null_count for year in YEARS)
            impossible += sum(broken_rules(table, layout).values())
    finally:
        shutil.rmtree(folder)
    return {
        "rows": rows, "years": years, "wall": wall, "processor": processor, "simulated": simulated,
        "impossible": impossible, "memory": memory, "thirds": watch.thirds(rows),
    }  # fmt: skip


class Watch:
    """Notes once a second how many establishments are written and the processor time so far: is the rate steady?"""

    def __init__(self, folder: Path, sizes: dict[str, int]) -> None:
        self.folder, self.sizes, self.marks = folder, sizes, [(0, time.process_time())]
        self.over = threading.Event()
        self.thread = threading.Thread(target=self._look, daemon=True)

    def __enter__(self) -> Watch:
        self.thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.over.set()
        self.thread.join()
        self._mark()

    def _look(self) -> None:
        while not self.over.wait(1.0):
            self._mark()

    def _mark(self) -> None:
        done = {path.parts[-3].split("=")[1] for path in self.folder.glob("sic3=*/implicate=1/part.parquet")}
        self.marks.append((sum(self.sizes[one] for one in done), time.process_time()))

    def thirds(self, rows: int) -> list[float]:
        """Processor seconds per 1000 establishments in the first, second and last third of the file."""
        ends = [next(mark for mark in self.marks if mark[0] >= share * rows / 3) for share in (0, 1, 2, 3)]
        return [1000 * (late[1] - early[1]) / max(late[0] - early[0], 1) for early, late in pairwise(ends)]


def in_own_process(case: dict[str, Any]) -> dict[str, Any]:
    command = [sys.executable, __file__, "--case", json.dumps(case)]
    found: dict[str, Any] = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    return found


def report_near(found: dict[str, Any], title: str, say: Any) -> None:
    say(f"{title}: {found['processor']:.1f} processor s, {found['wall']:.1f} s, {found['memory']:.1f} GiB\n")
    for name, far in found["distances"].items():
        say(f"  {name:18}{far['mean']:>9.4f} averaged{far['worst']:>9.4f} worst file   bar {BARS[name]}\n")


def one_industry(given: argparse.Namespace, size: int, say: Any) -> Iterator[str]:
    """Distances and times of one industry; yields what is beyond its bar."""
    for seed in map(int, given.seeds.split(",")):
        found = in_own_process({"kind": "near", "establishments": size, "sets": FILES, "seed": seed})
        report_near(found, f"{size:,} establishments, {FILES} files, seed {seed}", say)
        yield from (f"seed {seed}: {name}" for name, far in found["distances"].items() if far["mean"] > BARS[name])
        if found["processor"] > 60 or found["impossible"]:
            yield f"seed {seed}: time, or an impossible record"


def against_trees(size: int, say: Any) -> Iterator[str]:
    settings = {"kind": "near", "establishments": size, "sets": 1, "seed": 1}
    ours = in_own_process({**settings, "sets": FILES})
    for kind in ("within", "synthpop"):
        theirs = in_own_process({**settings, "trees": kind})
        # synthpop fits anew for every file it draws.
        slower = FILES * theirs["processor"] / ours["processor"]
        say(f"trees, {kind}: {theirs['processor']:.1f} processor s for one file, {slower:.1f} times ours for {FILES}; ")
        say(f"{theirs['impossible']} impossible records\n")
        for name in RELATIVE:
            pair = [found["distances"][name]["typical"] for found in (ours, theirs)]
            say(f"  {name:18}mean distance of a file {pair[0]:.4f}, with trees {pair[1]:.4f}\n")
            if kind == "synthpop" and pair[0] > pair[1]:
                yield f"trees: nearer in {name}"
        if kind == "synthpop" and slower < 10:
            yield "trees: less than ten times as long"


def national_files(given: argparse.Namespace, say: Any) -> Iterator[str]:
    """Rate, memory and impossible records of national files."""
    checked, broken = 0, 0
    for rows in (4_000,) if given.reduced else map(int, given.sizes.split(",")):
        found = in_own_process({"kind": "national", "establishments": rows, "folder": given.folder})
        each = 1000 * found["processor"] / found["rows"]
        steady = ", ".join(f"{one:.3f}" for one in found["thirds"])
        say(
            f"national file of {found['rows']:,} establishments: simulated in {found['simulated']:.0f} processor s, "
            f"synthesised in {found['processor']:.0f} ({found['wall']:.0f} s), {found['memory']:.2f} GiB\n"
            f"  {each:.3f} processor s per 1000 establishments; by thirds of the file {steady}\n"
            f"  {found['impossible']} impossible records among {found['rows']:,} establishments with "
            f"{found['years']:,} years\n"
        )
        checked, broken = checked + found["years"], broken + found["impossible"]
        if found["memory"] > 8 or found["impossible"]:
            yield f"{rows:,}: more than 8 GiB, or an impossible record"
    say(f"impossible records in all national files: {broken} among {checked:,} years of establishments\n")
    if checked < LEAST_RECORDS:
        yield f"records: fewer than {LEAST_RECORDS:,} were checked"


def main() -> int:
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument("--reduced", action="store_true")
    asked.add_argument("--only", choices=("industry", "trees", "national"), help="one part of the benchmark")
    asked.add_argument("--sizes", default="1000000,2000000,4000000", help="establishments of the national files")
    asked.add_argument("--seeds", default="1", help="simulated industries to try")
    asked.add_argument("--folder", help="where national files are kept while they are needed")
    asked.add_argument("--case", help=argparse.SUPPRESS)
    given = asked.parse_args()
    if given.case:
        case = json.loads(given.case)
        sys.stdout.write(json.dumps((national if case["kind"] == "national" else near)(case)))
        return 0
    size = 5_000 if given.reduced else ONE.establishments
    say = sys.stdout.write
    parts = {
        "industry": lambda: one_industry(given, size, say),
        "trees": lambda: against_trees(size, say),
        "national": lambda: national_files(given, say),
    }
    missed = [one for name, part in parts.items() if given.only in (None, name) for one in part()]
    say("\n".join(missed or ["Within all bars."]) + "\n")
    # Bars are for the full sizes; a reduced run shows that everything works.
    return 1 if missed and not given.reduced else 0


if __name__ == "__main__":
    raise SystemExit(main())
