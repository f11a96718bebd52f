"""All pairs against MST and AIM, on public person files: distance, SPECKS and seconds at the same guarantee.

The peers are what a user would pick instead: MST and AIM with the graphical-model estimation of the package `mbi`
(2.x), and the same two as SmartNoise and dpmm ship them. None of them is a dependency, and not all go together in one
environment; name the interpreter that has each:

    python benchmarks/pairwise_peers.py [DATA] [--mbi PYTHON] [--smartnoise PYTHON] [--dpmm PYTHON]
        [--repetitions 3] [--limit 480] [--reduced]

DATA is the folder that holds cps2016_categorical and nist_diverse_communities; by default the one beside the project.
Rows under "replaced" promise (ε, δ = 1e-9) for one record replaced, rows under "added" for one added or removed, which
is what those packages promise; ours stands in both. Every method runs in a process of its own, one at a time. "cold" is
the first run there with the import of its package, "warm" the fastest of the others; one that takes more CPU seconds
than the limit did not finish. At the end every row of ours is held against the best peer of its kind.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from signal import Signals

import numpy as np
import pandas as pd

from tacita.noise.concentrated import rho_for
from tacita_studies.bowen2018.methods import EPSILONS
from tacita_studies.bowen2018.printed import ALONE, SPECKS, TV2
from tacita_studies.bowen2018.real import CPS_2016, NATIONAL
from tacita_studies.bowen2018.scores import general
from tacita_studies.bowen2018.simulation import PersonFile, simulate, voters

DELTA = "1e-9"
CHILD = Path(__file__).parent / "peers" / "pairwise.py"
# Guarantee, package whose interpreter runs it, name of the method in the child.
METHODS = (
    ("replaced", "tacita", "PairwiseSynthesis"),
    ("replaced", "mbi", "MST, mbi 2"),
    ("replaced", "mbi", "AIM, mbi 2"),
    ("added", "tacita", "PairwiseSynthesis, added"),
    ("added", "smartnoise", "MST, SmartNoise"),
    ("added", "smartnoise", "AIM, SmartNoise"),
    ("added", "dpmm", "MST, dpmm"),
    ("added", "dpmm", "AIM, dpmm"),
)
MODULES = {"tacita": "tacita", "mbi": "mbi", "smartnoise": "snsynth", "dpmm": "dpmm"}


@dataclass(frozen=True)
class Result:
    """Means over repetitions; warm is None where only one run was asked for."""

    method: str
    pairs: float
    specks: float
    tests: float
    cold: float
    warm: float | None


@dataclass(frozen=True)
class Made:
    """Files of one method as codes, and of each what it took."""

    codes: list[np.ndarray]
    seconds: list[float]
    cpu: list[float]
    peak: float


def make(
    method: str,
    python: str,
    frame: pd.DataFrame,
    about: PersonFile,
    epsilon: str,
    repetitions: int,
    limit: int,
    first: int = 0,
) -> Made | str:
    """What the method made in a process of its own, or why there is nothing."""
    names = list(about.names)
    levels = {name: list(about.levels[name]) for name in names}
    codes = np.column_stack([pd.Categorical(frame[name], categories=levels[name]).codes for name in names])
    zeros = [
        [a, levels[a].index(u), b, levels[b].index(v)] for (a, u), (b, v) in (tuple(z.items()) for z in about.zeros)
    ]
    rho = float(rho_for(Fraction(epsilon), Fraction(DELTA)))
    given = {"names": names, "sizes": list(about.sizes), "zeros": zeros, "epsilon": epsilon, "delta": DELTA, "rho": rho}
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        np.save(folder / "codes.npy", codes.astype(np.int64))
        (folder / "about.json").write_text(json.dumps(given))
        before = _used()
        ended = subprocess.run(
            [python, str(CHILD), method, place, str(repetitions), str(limit), str(first)],
            capture_output=True,
            text=True,
        )
        runs = [[float(one) for one in line.split()] for line in _lines(folder / "seconds.txt")]
        if not runs:
            said = ended.stderr.strip().splitlines()
            if ended.returncode < 0:
                signal = Signals(-ended.returncode)
                reached = next((f"; {one}" for one in reversed(said) if one.startswith("reached: ")), "")
                if signal in (Signals.SIGXCPU, Signals.SIGKILL):
                    return f"did not finish in {limit} CPU s ({_used() - before:.0f} taken{reached})"
                return f"was ended by {signal.name} after {_used() - before:.0f} of {limit} CPU s{reached}"
            reason = said[-1] if said else str(ended.returncode)
            return f"failed: {reason.replace(f'{Path(python).parents[1]}/', '')}"  # places are of one machine
        made = [np.load(folder / f"made-{one}.npy") for one in range(len(runs))]
    seconds, cpu, peaks = (list(one) for one in zip(*runs, strict=True))
    return Made(made, seconds, cpu, max(peaks))


def run(
    method: str,
    python: str,
    frame: pd.DataFrame,
    about: PersonFile,
    epsilon: str,
    repetitions: int,
    limit: int,
) -> Result | str:
    """How near the method comes and in what time, or why there is nothing."""
    made = make(method, python, frame, about, epsilon, repetitions, limit)
    if isinstance(made, str):
        return made
    found = []
    for codes in made.codes:
        columns = {name: np.array(about.levels[name])[codes[:, k]] for k, name in enumerate(about.names)}
        found.append(general(frame, [pd.DataFrame(columns)], about.schema))
    mean = {key: float(np.mean([one[key] for one in found])) for key in found[0]}
    warm = min(made.seconds[1:]) if len(made.seconds) > 1 else None
    return Result(method, mean[TV2, None], mean[SPECKS, None], mean[ALONE, 0.05], made.seconds[0], warm)


def _used() -> float:
    """CPU seconds of all processes that were started here and have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _lines(path: Path) -> list[str]:
    return path.read_text().splitlines() if path.exists() else []


def line(title: str, power: int, guarantee: str, method: str, found: Result | str) -> str:
    start = f"{title[:22]:22} e^{power:<3} {guarantee:9} {method:17}"
    if isinstance(found, str):
        return f"{start} {found}\n"
    warm = "-" if found.warm is None else f"{found.warm:.1f}"
    return f"{start} {found.pairs:9.4f} {found.specks:8.4f} {found.tests:6.0%} {found.cold:7.1f} {warm:>7}\n"


def verdict(found: list[Result]) -> str:
    """Ours, the first, beside the best peer by each measure, and how much longer the nearest peer takes."""
    ours, *peers = found
    if not peers:
        return "no peer\n"
    pairs, specks = (min(peers, key=lambda one: getattr(one, name)) for name in ("pairs", "specks"))
    slower = [f"{pairs.cold / ours.cold:.1f} × cold"]
    if ours.warm is not None and pairs.warm is not None:
        slower.append(f"{pairs.warm / ours.warm:.1f} × warm")
    return (
        f"pairs {ours.pairs:.4f} against {pairs.pairs:.4f} ({pairs.method}, takes {', '.join(slower)}); "
        f"SPECKS {ours.specks:.4f} against {specks.specks:.4f} ({specks.method})\n"
    )


def usable(pythons: Mapping[str, str]) -> Iterator[str]:
    for package, python in pythons.items():
        tried = subprocess.run([python, "-c", f"import {MODULES[package]}"], capture_output=True, text=True)
        if tried.returncode == 0:
            yield package
        else:
            sys.stdout.write(f"{package} is not installed for {python}: its rows are left out\n")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path, nargs="?", default=Path(__file__).resolve().parents[2] / "shared" / "data")
    for package in ("mbi", "smartnoise", "dpmm"):
        parser.add_argument(f"--{package}", default=sys.executable, metavar="PYTHON")
    parser.add_argument("--repetitions", type=int, default=3)
    parser.add_argument("--limit", type=int, default=480, help="CPU seconds for one run")
    parser.add_argument("--reduced", action="store_true", help="the simulated file only, once, a minute for each run")
    arguments = parser.parse_args()
    pythons = {"tacita": sys.executable} | {one: getattr(arguments, one) for one in ("mbi", "smartnoise", "dpmm")}
    there = set(usable(pythons))
    files = [("simulated file", simulate(), voters())]
    if arguments.reduced:
        arguments.repetitions, arguments.limit = 1, min(arguments.limit, 60)
    else:
        files += [(one.name, one.read(arguments.data), one.about) for one in (CPS_2016, NATIONAL)]
    sys.stdout.write(
        f"{'file':22} {'ε':5} {'one is':9} {'method':17} {'TV pairs':>9} {'SPECKS':>8} {'tests':>6} {'cold s':>7} "
        f"{'warm s':>7}\n"
    )
    verdicts = []
    for title, frame, about in files:
        for power in (-1, 1):
            good: dict[str, list[Result]] = {"replaced": [], "added": []}
            for guarantee, package, method in METHODS:
                if package not in there:
                    continue
                found = run(
                    method, pythons[package], frame, about, EPSILONS[power], arguments.repetitions, arguments.limit
                )
                sys.stdout.write(line(title, power, guarantee, method, found))
                sys.stdout.flush()
                if isinstance(found, Result):
                    good[guarantee].append(found)
            verdicts += [f"{title[:22]:22} e^{power:<3} {key:9} {verdict(rows)}" for key, rows in good.items() if rows]
    sys.stdout.write("\nAll pairs beside the best peer\n" + "".join(verdicts))
    return 0


if __name__ == "__main__":
    sys.exit(main())
