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
    assert alone == "About 18 seconds and 0.4 GB of memory for 4,000 rows of 5 columns."
    assert estimate(files(2000, 2000), 5, shared=1.2) == alone.replace("18", "22")
    busy = estimate(files(2000, 2000), 5, shared=4)
    assert busy == alone.replace("18", "72") + " The machine is busy: that is 4 times as long as alone."
    assert estimate(files(300_000, 300_000), 28).startswith("About 2 minutes")


def test_how_busy_the_machine_is_is_what_work_takes_over_its_computing(monkeypatch: pytest.MonkeyPatch) -> None:
    wall, computing = iter((10.0, 10.4)), iter((3.0, 3.1))
    clock = SimpleNamespace(perf_counter=lambda: next(wall), process_time=lambda: next(computing))
    monkeypatch.setattr(run, "time", clock)
    assert shared_with() == pytest.approx(4)
