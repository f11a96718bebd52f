"""Ours and every peer on the same files in turns, in one command: `make bench-peers`.

    python benchmarks/all_peers.py [--install] [--peer opendp] [--file adult] [--statistic count] [--method MST]
        [--epsilon 1] [--limit 600] [--install-limit 1200] [--reduced]

Tables are those of `tables_peers.py`, synthetic files of categories those of `pairwise_peers.py`; each package works in
a process of its own, one at a time, from an environment of its own in build/peers. The limit is of CPU seconds, so that
a busy machine changes nothing. Files are adult, cps2016 and sd2011 from ../shared/data (or TACITA_DATA), and where they
are not there the simulated one. Writes benchmarks/RESULTS.md and results.json in --out after every question: one row
per system, file and guarantee. What was not asked for this time stays from the last results.json there. A system that
cannot run has its error in the row.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from file_synthesis import distances
from pairwise_peers import DELTA, make
from peers.environments import HOME, PEERS, Environment, environment, in_r, ours
from peers.page import Row, page
from tables_peers import ASKED, Asked, File, Package, has_grid, opened, scored

from tacita.data.schema import Categorical
from tacita_studies.accuracy.folder import public_files
from tacita_studies.bowen2018.simulation import PersonFile, simulate, voters

REPLACED, ADDED, NONE = "one replaced", "one added or removed", "none"
PERSON_FILES = ("adult", "cps2016", "sd2011")
# Guarantee, package, and the method's name in peers/pairwise.py.
METHODS = (
    (REPLACED, "tacita", "FileSynthesis"),
    (REPLACED, "tacita", "PairwiseSynthesis"),
    (REPLACED, "mbi", "MST, mbi 2"),
    (REPLACED, "mbi", "AIM, mbi 2"),
    (ADDED, "tacita", "FileSynthesis, added"),
    (ADDED, "tacita", "PairwiseSynthesis, added"),
    (ADDED, "smartnoise", "MST, SmartNoise"),
    (ADDED, "smartnoise", "AIM, SmartNoise"),
    (ADDED, "dpmm", "MST, dpmm"),
    (ADDED, "dpmm", "AIM, dpmm"),
    (NONE, "sdv", "GaussianCopula, SDV"),
    (NONE, "synthpop", "trees, synthpop"),
)
TABLES = ("tacita", "opendp", "tumult")


def runs_of(method: str) -> int:
    """AIM takes so long that it runs once. MST on mbi is quick where it chooses a tree that was compiled before, and
    slow where it does not, so that one warm run says little."""
    return 1 if method.startswith("AIM") else 4 if method == "MST, mbi 2" else 2


def stamp() -> dict[str, Any]:
    return {"load": os.getloadavg()[0], "date": f"{datetime.now(UTC):%Y-%m-%d}"}


# ---------------------------------------------------------------- tables


def tables(asked: Asked, file: File, there: dict[str, Environment], draws: int, limit: int) -> Iterator[Row]:
    guarantee = f"ε = 1, {ADDED}" + (f", δ = {asked.delta}" if asked.delta != "0" else "")
    task, truth = file.task(asked, "1", draws), file.truth(asked)
    for name in TABLES:
        if name not in there:
            continue
        found = there[name]
        about: dict[str, Any] = {
            "product": str(asked), "file": asked.file, "guarantee": guarantee, "system": name, "version": found.version,
        }  # fmt: skip
        if found.error is not None:
            yield Row(**about, **stamp(), problem=found.error)
            continue
        several = name != "tacita" and len(asked.by) > 1
        few = {"draws": 1 + (not several), "timed": 1 + (not several)} if several or name == "tumult" else {}
        ways = ("even", "factors") if name == "opendp" and asked.statistic == "quantiles" and not has_grid(task) else ()
        made: list[Row] = []
        for way in ways or ("even",):
            package = Package(name, found.python)
            answer = package.ask({**task, **few, "way": way}, limit)
            package.end()
            if "error" in answer:
                made.append(Row(**about, **stamp(), problem=answer["error"]))
                continue
            score, cpu = scored(asked, truth, answer), answer["cpu"]
            made.append(
                Row(
                    **about,
                    **stamp(),
                    error=score.error,
                    doubt=score.doubt if len(answer["drawn"]) > 2 else None,
                    cold=cpu[0],
                    warm=float(np.median(cpu[1:])) if cpu[1:] else None,
                    peak_mb=answer["peak"],
                    runs=len(answer["drawn"]),
                )
            )
        yield min(made, key=lambda row: np.inf if row.error is None else row.error)


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
) -> Iterator[Row]:
    """Every method in a process of its own: a cold run and warm ones."""
    for guarantee, package, method in METHODS:
        if package not in there or (given.method and not any(method.startswith(one) for one in given.method)):
            continue
        found = there[package]
        promise = guarantee if guarantee == NONE else f"ε = {epsilon}, δ = {DELTA}, {guarantee}"
        about_row: dict[str, Any] = {
            "product": f"{len(about.names)} categories", "file": name, "guarantee": promise,
            "system": method.removesuffix(", added"), "version": found.version,
        }  # fmt: skip
        if found.error is not None:
            yield Row(**about_row, **stamp(), problem=found.error)
            continue
        made = make(method, found.python, frame, about, epsilon, runs_of(method), given.limit)
        if isinstance(made, str):
            yield Row(**about_row, **stamp(), problem=made)
            continue
        near = np.array([two_and_three(frame, about, one) for one in made.codes]).mean(axis=0)
        yield Row(
            **about_row,
            **stamp(),
            error=float(near[0]),
            three_way=float(near[1]),
            cold=made.cpu[0],
            warm=float(np.median(made.cpu[1:])) if made.cpu[1:] else None,
            peak_mb=made.peak,
            runs=len(made.codes),
        )


# ---------------------------------------------------------------- the run


def asked_for(given: argparse.Namespace, there: dict[str, Environment]) -> Iterator[Row]:
    wanted = set(given.file or (*PERSON_FILES, *(one.file for one in ASKED)))
    if not given.method:
        with tempfile.TemporaryDirectory() as place:
            chosen = [
                one for one in ASKED if one.file in wanted and (not given.statistic or one.statistic in given.statistic)
            ]
            known = opened(given.data, {one.file for one in chosen}, Path(place)) if given.data.is_dir() else {}
            for asked in chosen:
                if asked.file in known:
                    yield from tables(asked, known[asked.file], there, given.draws, given.limit)
    if not given.statistic:
        for name, (frame, about) in person_files(given.data, wanted & set(PERSON_FILES)).items():
            for epsilon in given.epsilon or ("1", "10"):
                yield from files(name, frame, about, epsilon, there, given)


def systems() -> list[str]:
    return [*TABLES, *dict.fromkeys(method.removesuffix(", added") for _, _, method in METHODS)]


def sorted_rows(rows: dict[tuple[str, ...], Row]) -> list[Row]:
    """In the order of the questions and systems here, whatever was asked for first."""
    names = systems()
    asked = [(one.file, str(one)) for one in ASKED]

    def place(row: Row) -> tuple[Any, ...]:
        table = (row.file, row.product)
        at = asked.index(table) if table in asked else len(asked)
        return at, row.file, row.guarantee == NONE, row.guarantee, names.index(row.system)

    return sorted(rows.values(), key=place)


def say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--install", action="store_true", help="put peers that are missing into build/peers")
    named = [*PEERS, "tacita", "synthpop"]
    parser.add_argument("--peer", action="append", choices=named, help="only these; may be repeated")
    parser.add_argument("--file", action="append", help="only this file; may be repeated")
    parser.add_argument("--statistic", action="append", help="only tables, of this statistic; may be repeated")
    parser.add_argument("--method", action="append", help="only synthetic files, by methods that begin so")
    parser.add_argument("--epsilon", action="append", help="of synthetic files; 1 and 10 unless given")
    parser.add_argument("--draws", type=int, default=20, help="of each table")
    parser.add_argument("--limit", type=int, default=600, help="CPU seconds for one run")
    parser.add_argument("--install-limit", type=float, default=1200)
    parser.add_argument("--reduced", action="store_true", help="adult alone, ε = 1, ten draws")
    usual = Path(os.environ.get("TACITA_DATA", HOME.parent / "shared" / "data"))
    parser.add_argument("--data", type=Path, default=usual, help="where the public files are (or TACITA_DATA)")
    given = parser.parse_args()
    if given.reduced:
        given.file, given.epsilon, given.draws = given.file or ["adult"], ["1"], 10
    there = {}
    for name in named:
        if given.peer and name not in given.peer:
            continue
        if name == "tacita":
            there[name] = ours()
        elif name == "synthpop":
            there[name] = in_r(name)
        else:
            there[name] = environment(name, install=given.install, limit=given.install_limit)
        say(f"{name}: {there[name].error or there[name].version}")
    # Places are of one machine.
    typed = [one for one in sys.argv[1:] if one not in ("--install", "--data", str(given.data))]
    facts = {"command": f'make bench-peers BENCH="{" ".join(typed)}"', "cores": os.cpu_count(), "systems": systems()}
    kept = HOME / "benchmarks" / "results.json"
    for row in asked_for(given, there):
        before = [Row(**one) for one in json.loads(kept.read_text())["rows"]] if kept.exists() else []
        rows = {one.key: one for one in before} | {row.key: row}  # another run may have added to them
        say(f"{row.file}, {row.product}, {row.guarantee}, {row.system}: {row.problem or f'{row.error:.4g}'}")
        inorder = sorted_rows(rows)
        kept.write_text(json.dumps({**facts, "rows": [asdict(one) for one in inorder]}, indent=1) + "\n")
        kept.with_name("RESULTS.md").write_text(page(inorder, facts))
    say("Written: benchmarks/results.json and benchmarks/RESULTS.md")
    return 0


if __name__ == "__main__":
    sys.exit(main())
