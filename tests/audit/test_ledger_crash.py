"""Killed at any moment, the ledger opens, verifies, and has lost and doubled nothing."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

DRIVER = Path(__file__).with_name("ledger_driver.py")

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork and SIGKILL (POSIX)")


def drive(task: str, path: Path, *numbers: int) -> dict[str, Any]:
    command = [sys.executable, str(DRIVER), task, str(path), *(str(number) for number in numbers)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    counts: dict[str, Any] = json.loads(done.stdout)
    return counts


def check_crashes(path: Path, kills: int, seed: int) -> None:
    counts = drive("crash", path, kills, seed)
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
    counts = drive("crash-creating", tmp_path, 25, 20260303)
    assert counts["kills"] == 25
    assert counts["files"] > 0
