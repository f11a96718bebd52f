"""Ledgers and whole runs, killed at any moment or racing one another: nothing is lost, and nothing paid twice."""

import json
import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from support.postgres_server import programs

RUNNERS = 8

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork and SIGKILL (POSIX)")


on_a_server = pytest.mark.skipif(
    programs() is None or find_spec("psycopg") is None,
    reason="needs psycopg and a PostgreSQL server (Debian: postgresql)",
)


def drive(driver: str, *arguments: object) -> dict[str, Any]:
    command = [sys.executable, str(Path(__file__).with_name(driver)), *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=7_200, check=False)
    assert done.returncode == 0, done.stderr
    counts: dict[str, Any] = json.loads(done.stdout)
    return counts


def check_crashes(path: Path | str, kills: int, seed: int) -> None:
    counts = drive("ledger_driver.py", "crash", path, kills, seed)
    assert counts["kills"] == kills
    # The kills hit something: confirmed spends to lose, runs and writes to interrupt, a cap to pass. The driver sees to
    # it: of every eight kills the first falls into a run and the last comes after a refusal.
    assert counts["confirmed"] >= kills // 2
    assert counts["interrupted"] >= kills // 8
    assert counts["refused"] >= kills // 8
    assert counts["reservations"] >= counts["confirmed"] + counts["interrupted"]


def test_sixteen_kills_while_spending(tmp_path: Path) -> None:
    check_crashes(tmp_path / "crash.ledger", 16, 20260301)


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


# ---------------------------------------------------------------- on a server


@on_a_server
def test_sixteen_kills_of_clients_of_a_server() -> None:
    check_crashes("server", 16, 20261116)


@on_a_server
@pytest.mark.slow
def test_five_hundred_kills_of_clients_of_a_server() -> None:
    for part in range(10):
        check_crashes("server", 50, 20261130 + part)


def check_server_kills(kills: int, seed: int) -> None:
    counts = drive("ledger_driver.py", "crash-server", "server", kills, seed)
    assert counts["kills"] == kills
    # The kills hit something, and the same four clients went on after each.
    assert counts["broken"] + counts["interrupted"] > 0
    assert counts["answered_after"] >= 4 * kills


@on_a_server
def test_three_kills_of_a_server_under_its_clients() -> None:
    check_server_kills(3, 20261117)


@on_a_server
@pytest.mark.slow
def test_twenty_kills_of_a_server_under_its_clients() -> None:
    check_server_kills(20, 20261118)


@on_a_server
def test_of_thirty_two_clients_exactly_one_gets_the_last_share() -> None:
    counts = drive("ledger_driver.py", "race", "server", 2, 32)
    assert counts == {"winners": [1] * 2, "interrupted": 0}


@on_a_server
def test_thirty_two_clients_that_fit_all_get_their_shares_from_a_ledger_created_in_the_race() -> None:
    counts = drive("ledger_driver.py", "race-to-fill", "server", 32, 1)
    assert (counts["done"], counts["left"]) == (32, "ε = 0")
    assert counts["kinds"] == {"cap": 1, "commit": 32, "open": 1, "reserve": 32}


# ---------------------------------------------------------------- whole runs


def check_runs(folder: Path, kills: int, seed: int) -> None:
    folder.mkdir()
    counts = drive("run_driver.py", folder, kills, seed)
    assert counts["kills"] >= kills
    # The kills hit something: runs that had been paid for, and runs that had not.
    assert 0 < counts["after_paying"] < counts["kills"]


def test_fifteen_kills_of_whole_runs(tmp_path: Path) -> None:
    check_runs(tmp_path / "runs", 15, 20261116)


@pytest.mark.slow
def test_a_thousand_kills_of_whole_runs(tmp_path: Path) -> None:
    for part in range(4):
        check_runs(tmp_path / f"runs-{part}", 250, 20261120 + part)
