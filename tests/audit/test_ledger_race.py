"""Many processes, one budget: the last share goes to exactly one of them."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

DRIVER = Path(__file__).with_name("ledger_driver.py")
RUNNERS = 8

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork (POSIX)")


def drive(task: str, path: Path, *numbers: int) -> dict[str, Any]:
    command = [sys.executable, str(DRIVER), task, str(path), *(str(number) for number in numbers)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    counts: dict[str, Any] = json.loads(done.stdout)
    return counts


def test_of_eight_processes_exactly_one_gets_the_last_share(tmp_path: Path) -> None:
    counts = drive("race", tmp_path / "race.ledger", 10, RUNNERS)
    assert counts == {"winners": [1] * 10, "interrupted": 0}


def test_eight_processes_that_fit_all_get_their_shares_from_a_ledger_created_in_the_race(tmp_path: Path) -> None:
    counts = drive("race-to-fill", tmp_path / "fill.ledger", RUNNERS, 5)
    assert counts["done"] == RUNNERS
    assert counts["left"] == "ε = 0"
    assert counts["kinds"] == {"cap": 1, "commit": 40, "open": 1, "reserve": 40}
