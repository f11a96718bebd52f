"""Ours and every peer on the same files in turns, in one command: `make bench-peers`.

    python benchmarks/all_peers.py [--install] [--peer opendp] [--file adult] [--epsilon 1] [--repetitions 3]
        [--limit 600] [--install-limit 1200] [--reduced] [--out build/bench]

Tables are those of `tables_peers.py`, synthetic files of categories those of `pairwise_peers.py`; each package works in
a process of its own, one at a time, from an environment of its own in build/peers. Files are adult and sd2011 from
../shared/data (or TACITA_DATA), and where they are not there the simulated one. Writes benchmarks/RESULTS.md and
results.json in --out: one row per system, file and guarantee. A system that cannot run has its error in the row.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
import tempfile
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from file_synthesis import distances
from pairwise_peers import DELTA, Made, make
from peers.environments import HOME, PEERS, Environment, environment, ours
from tables_peers import ASKED, Asked, File, Package, opened, scored

from tacita.data.schema import Categorical
from tacita_studies.accuracy.folder import public_files
from tacita_studies.bowen2018.simulation import PersonFile, simulate, voters

REPLACED, ADDED, NONE = "one replaced", "one added or removed", "none"
# Guarantee, package, and the method's name in peers/pairwise.py.
METHODS = (
    (REPLACED, "tacita", "all pairs"),
    (REPLACED, "mbi", "MST, mbi 2"),
    (REPLACED, "mbi", "AIM, mbi 2"),
    (ADDED, "tacita", "all pairs, added"),
    (ADDED, "smartnoise", "MST, SmartNoise"),
    (ADDED, "smartnoise", "AIM, SmartNoise"),
    (ADDED, "dpmm", "MST, dpmm"),
    (ADDED, "dpmm", "AIM, dpmm"),
    (NONE, "sdv", "GaussianCopula, SDV"),
    (NONE, "synthpop", "trees, synthpop"),
)
TABLES = ("opendp", "tumult")


@dataclass(frozen=True)
class Row:
    """What one system did with one file under one guarantee. `error` is of the statistic: for tables the typical error
    of a cell, for files the mean distance (L1) of all tables of two columns."""

    product: str
    file: str
    guarantee: str
    system: str
    version: str
    error: float | None = None
    three_way: float | None = None
    cpu_seconds: float | None = None
    wall_seconds: float | None = None
    peak_mb: float | None = None
    runs: int = 0
    problem: str | None = None


# ---------------------------------------------------------------- tables


def tables(asked: Asked, file: File, there: dict[str, Environment], draws: int, limit: float) -> list[Row]:
    guarantee = f"ε = 1, {ADDED}" + (f", δ = {asked.delta}" if asked.delta != "0" else "")
    rows, task, truth = [], file.task(asked, "1", draws), file.truth(asked)
    for name in ("tacita", *TABLES):
        found = there[name]
        about: dict[str, Any] = {
            "product": str(asked), "file": asked.file, "guarantee": guarantee, "system": name, "version": found.version,
        }  # fmt: skip
        if found.error is not None:
            rows.append(Row(**about, problem=found.error))
            continue
        package = Package(name, found.python)
        few = {"draws": 2, "timed": 2} if name == "tumult" else {}
        answer = package.ask({**task, **few}, limit)
        package.end()
        if "error" in answer:
            rows.append(Row(**about, problem=answer["error"]))
            continue
        made = len(answer["drawn"])
        score = scored(asked, truth, answer)
        rows.append(
            Row(
                **about,
                error=score.error,
                cpu_seconds=answer["cpu"],
                wall_seconds=score.seconds,
                peak_mb=answer["peak"],
                runs=made,
            )
        )
    return rows


# ---------------------------------------------------------------- synthetic files


def person_files(folder: Path, wanted: set[str]) -> dict[str, tuple[pd.DataFrame, PersonFile]]:
    """The categories of the public files; the simulated file where none is there."""
    found = {}
    for one in public_files(folder) if folder.is_dir() else ():
        if one.name in wanted:
            schema, frame = one.schema, one.read()
            levels = {}
            for variable in schema:
                if isinstance(variable.kind, Categorical):
                    levels[variable.name] = tuple(variable.kind.levels)
                    known = frame[variable.name].where(frame[variable.name].isin(variable.kind.levels))
                    frame[variable.name] = known.fillna(variable.kind.missing or variable.kind.levels[0])
            found[one.name] = (frame[list(levels)], PersonFile(one.name, levels))
    return found or {"simulated": (simulate(), voters())}


def two_and_three(real: pd.DataFrame, about: PersonFile, made: np.ndarray) -> tuple[float, float]:
    names = list(about.names)
    codes = np.column_stack([pd.Categorical(real[n], categories=list(about.levels[n])).codes for n in names])
    sizes = list(about.sizes)
    near = [float(distances(codes.astype(int), made.astype(int), sizes, ways).mean()) for ways in (2, 3)]
    return near[0], near[1]


def files(
    name: str,
    frame: pd.DataFrame,
    about: PersonFile,
    epsilon: str,
    there: dict[str, Environment],
    given: argparse.Namespace,
) -> list[Row]:
    """Every method once, then every method again: whatever else the machine does falls on all of them."""
    done: dict[str, list[Made]] = {method: [] for _, _, method in METHODS}
    problems: dict[str, str] = {}
    for repetition in range(given.repetitions):
        for _, package, method in METHODS:
            found = there[package]
            if method in problems:
                continue
            if found.error is not None:
                problems[method] = found.error
                continue
            made = make(method, found.python, frame, about, epsilon, 1, given.limit, repetition)
            if isinstance(made, str):
                problems[method] = made
            else:
                done[method].append(made)
            say(f"{name}, ε = {epsilon}: {method}, run {repetition + 1}: {problems.get(method, 'done')}")
    rows = []
    for guarantee, package, method in METHODS:
        promise = guarantee if guarantee == NONE else f"ε = {epsilon}, δ = {DELTA}, {guarantee}"
        about_row: dict[str, Any] = {
            "product": f"synthetic file, {len(about.names)} categories", "file": name, "guarantee": promise,
            "system": method if package != "tacita" else "tacita", "version": there[package].version,
        }  # fmt: skip
        runs = done[method]
        if not runs:
            rows.append(Row(**about_row, problem=problems.get(method, "was not run")))
            continue
        near = np.array([two_and_three(frame, about, one.codes[0]) for one in runs]).mean(axis=0)
        rows.append(
            Row(
                **about_row,
                error=float(near[0]),
                three_way=float(near[1]),
                cpu_seconds=float(np.median([one.cpu[0] for one in runs])),
                wall_seconds=float(np.median([one.seconds[0] for one in runs])),
                peak_mb=max(one.peak for one in runs),
                runs=len(runs),
                problem=problems.get(method),
            )
        )
    return rows


# ---------------------------------------------------------------- what is written


def page(rows: list[Row], about: dict[str, Any]) -> str:
    """All rows, and for each peer ours over theirs: below 1 is better for us, above 1 is a loss."""
    names = (
        "product", "file", "guarantee", "system", "version", "error", "3-way", "CPU s", "wall s", "peak MB", "runs",
        "error ratio", "CPU ratio",
    )  # fmt: skip
    began, ended = about["load"]
    lines = [
        "# Ours beside its peers",
        "",
        f"Written by `{about['command']}` on {about['date']}; do not edit.",
        "",
        f"{about['cores']} cores, load average {began:.1f} at the beginning and {ended:.1f} at the end: on a machine "
        "that others use, wall seconds say little: compare CPU seconds. A run of a synthetic file counts from before "
        f"its package is imported; each had {about['limit']} s. Ratios are ours over theirs: more than 1 is a loss. "
        "The error of a table is the typical one of a cell, that of a file the mean L1 distance of all tables of two "
        "columns (3-way: of three). CPU and memory are of the Python process; what a JVM takes is not in them.",
        "",
        f"| {' | '.join(names)} |",
        f"| {' | '.join('---' for _ in names)} |",
    ]
    for row in rows:
        ours = next(
            (
                one
                for one in rows
                if one.system == "tacita"
                and (one.product, one.file, one.guarantee) == (row.product, row.file, row.guarantee)
            ),
            None,
        )
        start = f"| {row.product} | {row.file} | {row.guarantee} | {row.system} | {row.version or '–'} |"
        if row.error is None:
            lines.append(f"{start} {(row.problem or '').replace('|', '/')} | | | | | | | |")
            continue
        compared = ours is not None and ours is not row and ours.error is not None
        ratios = (
            f"{_ratio(ours.error, row.error)} | {_ratio(ours.cpu_seconds, row.cpu_seconds)}"
            if compared and ours is not None
            else " | "
        )
        three = f"{row.three_way:.4f}" if row.three_way is not None else ""
        lines.append(
            f"{start} {row.error:.4g} | {three} | {row.cpu_seconds:.2f} | {row.wall_seconds:.2f} | "
            f"{row.peak_mb:,.0f} | {row.runs} | {ratios} |"
        )
    return "\n".join([*lines, ""])


def _ratio(ours: float | None, theirs: float | None) -> str:
    return f"{ours / theirs:.2f}" if ours is not None and theirs else "–"


def say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--install", action="store_true", help="put peers that are missing into build/peers")
    parser.add_argument("--peer", action="append", choices=list(PEERS), help="only these; may be repeated")
    parser.add_argument("--file", action="append", help="only this file; may be repeated")
    parser.add_argument("--epsilon", action="append", help="of synthetic files; 1 and 10 unless given")
    parser.add_argument("--repetitions", type=int, default=3)
    parser.add_argument("--draws", type=int, default=20, help="of each table")
    parser.add_argument("--limit", type=int, default=600, help="seconds for one run")
    parser.add_argument("--install-limit", type=float, default=1200)
    parser.add_argument("--reduced", action="store_true", help="adult alone, ε = 1, once")
    parser.add_argument("--out", type=Path, default=HOME / "build" / "bench")
    usual = Path(os.environ.get("TACITA_DATA", HOME.parent / "shared" / "data"))
    parser.add_argument("--data", type=Path, default=usual, help="where the public files are (or TACITA_DATA)")
    given = parser.parse_args()
    if given.reduced:
        given.file, given.epsilon, given.repetitions, given.draws = ["adult"], ["1"], 1, 10
    load, date = os.getloadavg()[0], datetime.now(UTC)
    there = {"tacita": ours(), "synthpop": Environment(sys.executable, "R")}
    for name in PEERS:
        if given.peer and name not in given.peer:
            there[name] = Environment("", "", "was not asked for in this run (--peer)")
        else:
            there[name] = environment(name, install=given.install, limit=given.install_limit)
        say(f"{name}: {there[name].error or there[name].version}")
    rows: list[Row] = []
    wanted = set(given.file or ("adult", "sd2011", *(one.file for one in ASKED)))
    with tempfile.TemporaryDirectory() as place:
        chosen = [one for one in ASKED if one.file in wanted]
        known = opened(given.data, {one.file for one in chosen}, Path(place)) if given.data.is_dir() else {}
        for asked in chosen:
            if asked.file in known:
                rows += tables(asked, known[asked.file], there, given.draws, given.limit)
                say(f"{asked.file}: {asked}")
    for name, (frame, about) in person_files(given.data, wanted & {"adult", "sd2011"}).items():
        for epsilon in given.epsilon or ("1", "10"):
            rows += files(name, frame, about, epsilon, there, given)
    asked_for = [one for one in sys.argv[1:] if one != "--data" and one != str(given.data)]  # places are of one machine
    facts = {
        "command": f'make bench-peers BENCH="{" ".join(asked_for)}"',
        "date": f"{date:%Y-%m-%d}", "cores": os.cpu_count(), "machine": platform.machine(),
        "load": [load, os.getloadavg()[0]], "limit": given.limit,
    }  # fmt: skip
    given.out.mkdir(parents=True, exist_ok=True)
    (given.out / "results.json").write_text(json.dumps({**facts, "rows": [asdict(row) for row in rows]}, indent=1))
    (HOME / "benchmarks" / "RESULTS.md").write_text(page(rows, facts))
    say(f"Written: {given.out / 'results.json'} and benchmarks/RESULTS.md")
    return 0


if __name__ == "__main__":
    sys.exit(main())
