"""Tests that draw fresh entropy, many times in one process: imported and compiled once, drawn anew each time.

python tests/support/repeated.py 30 -q tests/statistical
"""

import sys

import pytest


def repeated(runs: int, arguments: list[str]) -> int:
    """All of them `runs` times, or until one fails; the exit code of pytest."""
    for run in range(1, runs + 1):
        sys.stdout.write(f"run {run} of {runs}\n")
        sys.stdout.flush()
        if checks := sys.modules.get("support.goodness_of_fit"):
            checks.begin_anew()
        # The cache of the first session would be written by every one.
        code = pytest.main(["-m", "fresh", "-p", "no:cacheprovider", *arguments])
        if code:
            return int(code)
    return 0


if __name__ == "__main__":
    raise SystemExit(repeated(int(sys.argv[1]), sys.argv[2:]))
