"""Whole runs killed at any moment: nothing lost, nothing paid twice, no half bundle, nothing left lying about."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

DRIVER = Path(__file__).with_name("run_driver.py")

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork and SIGKILL (POSIX)")


def check(folder: Path, kills: int, seed: int) -> None:
    folder.mkdir()
    command = [sys.executable, str(DRIVER), str(folder), str(kills), str(seed)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=7_200, check=False)
    assert done.returncode == 0, done.stderr
    counts = json.loads(done.stdout)
    assert counts["kills"] >= kills
    # The kills hit something: runs that had been paid for, and runs that had not.
    assert 0 < counts["after_paying"] < counts["kills"]


def test_thirty_kills_of_whole_runs(tmp_path: Path) -> None:
    check(tmp_path / "runs", 30, 20261116)


@pytest.mark.slow
def test_a_thousand_kills_of_whole_runs(tmp_path: Path) -> None:
    for part in range(4):
        check(tmp_path / f"runs-{part}", 250, 20261120 + part)
