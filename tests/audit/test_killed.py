"""Ledgers and whole runs, killed at any moment or racing one another: nothing is lost, and nothing paid twice."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

RUNNERS = 8

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork and SIGKILL (POSIX)")


def drive(driver: str, *arguments: object) -> dict[str, Any]:
    command = [sys.executable, str(Path(__file__).with_name(driver)), *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=7_200, check=False)
    assert done.returncode == 0, done.stderr
    counts: dict[str, Any] = json.loads(done.stdout)
    return counts


def check_crashes(path: Path, kills: int, seed: int) -> None:
    counts = drive("ledger_driver.py", "crash", path, kills, seed)
    assert counts["kills"] == kills
    # The kills hit something: confirmed spends to lose, runs and writes to interrupt, a cap to pass.
    assert counts["confirmed"] >= kills // 2
    assert counts["interrupted"] + counts["inside_a_write"] >= kills // 10
    assert counts["refused"] > 0
    assert counts["reservations"] >= counts["confirmed"] + counts["interrupted"]


def test_forty_kills_while_spending(tmp_path: Path) -> None:
    check_crashes(tmp_path / "crash.ledger", 40, 20260301)


@pytest.mark.slow
def test_two_hundred_kills_while_spending(tmp_path: Path) -> None:
    # Four files, because after every kill the whole chain is read several times over.
    for part in range(4):
        check_crashes(tmp_path / f"crash-{part}.ledger", 50, 20260310 + part)


def test_kills_while_creating(tmp_path: Path) -> None:
    counts = drive("ledger_driver.py", "crash-creating", tmp_path, 25, 20260303)
    assert counts["kills"] == 25
    assert counts["files"] > 0


def test_of_eight_processes_exactly_one_gets_the_last_share(tmp_path: Path) -> None:
    counts = drive("ledger_driver.py", "race", tmp_path / "race.ledger", 10, RUNNERS)
    assert counts == {"winners": [1] * 10, "interrupted": 0}


def test_eight_processes_that_fit_all_get_their_shares_from_a_ledger_created_in_the_race(tmp_path: Path) -> None:
    counts = drive("ledger_driver.py", "race-to-fill", tmp_path / "fill.ledger", RUNNERS, 5)
    assert counts["done"] == RUNNERS
    assert counts["left"] == "ε = 0"
    assert counts["kinds"] == {"cap": 1, "commit": 40, "open": 1, "reserve": 40}


def check_runs(folder: Path, kills: int, seed: int) -> None:
    folder.mkdir()
    counts = drive("run_driver.py", folder, kills, seed)
    assert counts["kills"] >= kills
    # The kills hit something: runs that had been paid for, and runs that had not.
    assert 0 < counts["after_paying"] < counts["kills"]


def test_thirty_kills_of_whole_runs(tmp_path: Path) -> None:
    check_runs(tmp_path / "runs", 30, 20261116)


@pytest.mark.slow
def test_a_thousand_kills_of_whole_runs(tmp_path: Path) -> None:
    for part in range(4):
        check_runs(tmp_path / f"runs-{part}", 250, 20261120 + part)
