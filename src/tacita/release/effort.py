"""How much processor time and memory a run takes, said before it starts: within a factor of two of what was measured.

Measured on whole releases (`benchmarks/at_size.py`), in processor seconds of one machine; how fast this one is, a
small piece of work tells. What a run waits for (other work, a server, a disk) is not in it.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from tacita.release.plans import PlannedRelease
from tacita.release.spec import TableSpec

_START, _LIGHT = 1.5, 0.35  # processor seconds and GB of a release of nothing
_SEEN = 0.6e-6  # seconds to check and hash a record
_TABLE, _COUNTED, _CELL = 0.08, 0.2e-6, 7e-6  # seconds for each table; more for a record, and to publish a cell
_CELL_HELD, _VALUE_HELD, _DRAWN = 0.9e-6, 40e-9, 0.5  # GB for a cell, a value; at least for files that are drawn
_POOL = 60_000  # records, at most, of the pool that `FileSynthesis` fits
_WORK, _HERE = 1_000_000, 0.017  # numbers to sort, and the seconds that took where all this was measured
_TRIES, _FASTEST, _SLOWEST = 4, 0.25, 4.0


@dataclass(frozen=True)
class Effort:
    """Processor seconds, and GB at most at one time."""

    seconds: float
    memory: float

    def __str__(self) -> str:
        """
        >>> print(Effort(17.2, 0.62)), print(Effort(410, 4.1))
        About 17 seconds of processor time and 0.6 GB of memory
        About 7 minutes of processor time and 4.1 GB of memory
        (None, None)
        """
        spoken = f"{self.seconds:.0f} seconds" if self.seconds < 90 else f"{self.seconds / 60:.0f} minutes"
        return f"About {spoken} of processor time and {self.memory:.1f} GB of memory"


def speed() -> float:
    """How many times longer this machine takes than the one that was measured."""
    taken = []
    for _ in range(_TRIES):  # the first one also asks for memory, and others may be at work
        begun = time.process_time()
        np.sort(np.sin(np.arange(_WORK)))
        taken.append(time.process_time() - begun)
    return min(max(min(taken) / _HERE, _FASTEST), _SLOWEST)


def effort(planned: PlannedRelease, records: int, slower: float = 1.0) -> Effort | None:
    """Of the whole run with so many records, or None where nobody has measured a product of its kind."""
    seconds, memory = _START + _SEEN * records, _LIGHT
    for product in planned.products:
        plan = product.plan
        while hasattr(plan, "plan"):
            plan = plan.plan
        if isinstance(product.spec, TableSpec):
            cells = plan.forecast(planned.schema).cells
            seconds += _TABLE + _COUNTED * records + _CELL * cells
            memory = max(memory, _LIGHT + _CELL_HELD * cells)
        elif (drawn := _FILES.get(type(plan).__name__)) is not None:
            columns = len(plan.reads(planned.schema))
            once, each = drawn(records, columns)
            count = getattr(plan, "sets", 1)
            seconds += once + each * count
            memory = max(memory, _DRAWN + _VALUE_HELD * records * columns * count)
        else:
            return None
    return Effort(seconds * slower, memory)


def _file(records: int, columns: int) -> tuple[float, float]:
    return 0.012 * columns**2, 0.35e-6 * min(records, _POOL) * columns**2 + 2.4e-6 * records * columns


def _pairwise(records: int, columns: int) -> tuple[float, float]:
    return 0.003 * columns**2, 0.033e-6 * records * columns**2


def _quantile(records: int, columns: int) -> tuple[float, float]:
    return 0.4 * columns + 10e-6 * min(records, 100_000) * columns, 0.9e-6 * records * columns


# Seconds to measure and fit once, and to draw a file.
_FILES: dict[str, Callable[[int, int], tuple[float, float]]] = {
    "FileSynthesis": _file,
    "PairwiseSynthesis": _pairwise,
    "QuantileSynthesis": _quantile,
}
