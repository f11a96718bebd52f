"""Whole runs of the command line that are killed at random points. Run as a script by the test beside it.

A parent without threads forks a child for every run, so that nothing is loaded anew. Each folder is run in until a
run survives; what every kill left behind is looked at, and what the last run leaves is looked at closely. Prints one
JSON object of counts; an assertion that fails ends it with a traceback.
"""

import json
import os
import random
import signal
import sys
import tempfile
import time
import traceback
from pathlib import Path

import altair  # noqa: F401  (loaded once, before the first fork, like all that a run needs)
import ibis.backends.duckdb  # noqa: F401

sys.path.insert(0, str(Path(__file__).parents[1]))

from support.command_line import SCHEMA, SPEC, write_jobs
from tacita import cli
from tacita.ledger import Ledger
from tacita.ledger.views import Entry
from tacita.privacy import StrongAlpha
from tacita.release.plans import prepare
from tacita.release.run import run  # noqa: F401
from tacita.release.spec import Spec
from tacita.release.verify import compare_with_ledger, verify

SECOND = """
[[table]]
name = "everything"
mechanism = "SmoothStaircase"
epsilon = "1"
"""
PRODUCTS = 2
STRONG = StrongAlpha("0.1")


def child(folder: Path) -> int:
    """A process that makes the release; its id."""
    started = os.fork()
    if started:
        return started
    try:
        silence = os.open(os.devnull, os.O_WRONLY)
        os.dup2(silence, 1)
        os.dup2(silence, 2)
        cli.main(["run", str(folder / "release.toml"), "--out", str(folder / "bundle")])
    except SystemExit as stop:
        os._exit(int(stop.code or 0))
    finally:
        os._exit(99)


def fresh(folder: Path) -> Path:
    folder.mkdir()
    (folder / "jobs.schema.toml").write_text(SCHEMA)
    (folder / "release.toml").write_text(SPEC.replace('epsilon = "2"', 'epsilon = "1000"') + SECOND)
    write_jobs(folder / "jobs.parquet")
    return folder


def ended(process: int) -> int:
    """The exit code; that of a killed one is minus the signal."""
    return os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])


def wait_for_a_charge(process: int, ledger: Path) -> None:
    """Until the run has set something aside, or has ended by itself and waits to be asked for its code."""
    while not (Ledger.is_begun(ledger) and reservations(ledger)):
        if os.waitid(os.P_PID, process, os.WEXITED | os.WNOHANG | os.WNOWAIT):
            return
        time.sleep(0.001)


def verified(bundle: Path) -> None:
    """In a process of its own: `verify` draws the page again, and a parent with the threads of that cannot fork."""
    started = os.fork()
    if started:
        assert ended(started) == 0, "a bundle does not verify"
        return
    try:
        verify(bundle)
        os._exit(0)
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(1)


def reservations(ledger: Path) -> list[Entry]:
    return [one for one in Ledger.open(ledger, read_only=True).entries() if one.kind == "reserve"]


def look(folder: Path, before: list[str]) -> list[str]:
    """What must hold after every kill: the ledger is sound and has lost nothing, and a bundle is whole or not there."""
    if (folder / "bundle").exists():
        verified(folder / "bundle")
    if not Ledger.is_begun(folder / "jobs.ledger"):
        assert not before, "a ledger is gone"
        return []
    ledger = Ledger.open(folder / "jobs.ledger")
    ledger.verify()
    hashes = [one.hash for one in ledger.entries()]
    assert hashes[: len(before)] == before, "an entry that was there is gone"
    return hashes


def look_closely(folder: Path, kills: int) -> dict[str, int]:
    """What must hold once a run survived: every share is released, or a kill fell into its run."""
    ledger = Ledger.open(folder / "jobs.ledger")
    paid = reservations(folder / "jobs.ledger")
    released = [one for one in paid if one.state == "released"]
    broken_off = [one for one in paid if one.state == "reserved, never finished, counts as spent"]
    assert len(released) == PRODUCTS, "a result was paid for twice, or never stored"
    assert len({one.label for one in released}) == PRODUCTS
    assert len(released) + len(broken_off) == len(paid), "a share was set aside and forgotten"
    assert len(broken_off) <= kills, "more was charged than kills can have cost"
    assert ledger.spent(STRONG, "test-jobs").epsilon == len(paid)
    verified(folder / "bundle")
    compare_with_ledger(folder / "bundle", folder / "jobs.ledger")
    left = {one.name for one in folder.iterdir()}
    assert left == {"bundle", "jobs.ledger", "jobs.parquet", "jobs.schema.toml", "release.toml"}, left
    return {"folders": 1, "broken_off": len(broken_off)}


def main(place: str, kills: int, seed: int) -> None:
    folder, moments = Path(place), random.Random(seed)
    tempfile.tempdir = str(folder / "temporary")
    (folder / "temporary").mkdir()
    os.environ["TMPDIR"] = tempfile.tempdir
    prepare(Spec.load(fresh(folder / "warm") / "release.toml")).forecasts()  # the laws are computed once, here
    start = time.perf_counter()
    assert ended(child(folder / "warm")) == 0
    typical = time.perf_counter() - start
    counts = {"kills": 0, "survived": 0, "folders": 0, "broken_off": 0, "after_paying": 0, "with_bundle": 0}
    while counts["kills"] < kills:
        here, killed = fresh(folder / f"run-{counts['folders']}"), 0
        before: list[str] = []
        while True:
            process = child(here)
            number = counts["kills"] + killed
            if number % 3 == 2:  # however busy the machine is, some kills fall after the charge
                wait_for_a_charge(process, here / "jobs.ledger")
                time.sleep(typical * moments.random() ** 4)
            elif number:  # and the very first falls before it
                time.sleep(moments.uniform(0, typical * (0.7 if killed < 8 else 4.0)))
            os.kill(process, signal.SIGKILL)
            code = ended(process)
            assert code in (0, -signal.SIGKILL), f"a run ended with {code}"
            before = look(here, before)
            if code == 0:
                break
            killed += 1
            counts["after_paying"] += bool(before)
            counts["with_bundle"] += (here / "bundle").exists()
            if (here / "bundle").exists():  # killed after all was done
                (here / "bundle").rename(folder / f"whole-{counts['kills'] + killed}")
            if counts["kills"] + killed >= kills:
                assert ended(child(here)) == 0
                break
        counts["kills"] += killed
        for name, number in look_closely(here, killed).items():
            counts[name] += number
        counts["survived"] += 1
    assert ended(child(fresh(folder / "last"))) == 0
    left = [one.name for one in (folder / "temporary").iterdir()]
    assert not left, f"temporary folders were left: {left}"
    sys.stdout.write(json.dumps(counts))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
