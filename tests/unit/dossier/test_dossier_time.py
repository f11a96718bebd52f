"""What `evaluate` announces: a time that holds, also where others use the machine."""

import re
from types import SimpleNamespace
from typing import Any

import pytest

from tacita.dossier import run
from tacita.dossier.run import estimate, shared_with


def files(*rows: int) -> Any:
    return tuple(SimpleNamespace(looked_at=one) for one in rows)


@pytest.mark.slow  # by a clock, so for a machine that does nothing else
def test_the_time_announced_is_enough_within_a_factor(timed: Any) -> None:
    """Held against seconds of computing, which do not depend on what else the machine does."""
    (said,) = timed.said
    announced = re.match(r"About (\d+) seconds", estimate(timed.findings.files, 4))
    assert announced
    assert timed.seconds <= 2.5 * int(announced[1]), said
    assert re.match(r"About \d+ (seconds|minutes) and 0\.4 GB of memory for 960 rows of \d columns\.", said)


def test_a_busy_machine_is_given_longer_and_it_is_said() -> None:
    alone = estimate(files(2000, 2000), 5)
    assert alone == "About 8 seconds and 0.4 GB of memory for 4,000 rows of 5 columns."
    assert estimate(files(2000, 2000), 5, shared=1.2) == alone.replace("8", "10")
    busy = estimate(files(2000, 2000), 5, shared=4)
    assert busy == alone.replace("8", "32") + " The machine is busy: that is 4 times as long as alone."
    assert estimate(files(1_000_000, 1_000_000), 40).startswith("About 3 minutes")


# Processor seconds and GB of one file against its original, 2026-11-19 (benchmarks/at_size.py).
MEASURED = ((5_000, 12, 4.8, 0.58), (64_600, 20, 14.5, 0.69), (1_000_000, 40, 177.9, 4.27))


@pytest.mark.parametrize(("rows", "columns", "seconds", "memory"), MEASURED)
def test_what_is_announced_is_within_a_factor_of_two_of_what_was_measured(
    rows: int, columns: int, seconds: float, memory: float
) -> None:
    said = re.match(r"About (\d+) (seconds|minutes) and ([\d.]+) GB", estimate(files(rows, rows), columns))
    assert said
    announced = int(said[1]) * (60 if said[2] == "minutes" else 1)
    assert seconds / 2 < announced < 2 * seconds
    assert memory / 2 < float(said[3]) < 2 * memory


def test_how_busy_the_machine_is_is_what_work_takes_over_its_computing(monkeypatch: pytest.MonkeyPatch) -> None:
    wall, computing = iter((10.0, 10.4)), iter((3.0, 3.1))
    clock = SimpleNamespace(perf_counter=lambda: next(wall), process_time=lambda: next(computing))
    monkeypatch.setattr(run, "time", clock)
    assert shared_with() == pytest.approx(4)
