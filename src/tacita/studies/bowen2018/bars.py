"""What the best plan is held to on the simulated file: means over repetitions at a true ε, one person replaced."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from tacita.studies.bowen2018.printed import ALONE, ONE_OVER_E, SPECKS, TV2, E
from tacita.studies.results import Row


@dataclass(frozen=True)
class Bar:
    power: int
    metric: str
    limit: float
    higher: bool = False

    def met(self, value: float) -> bool:
        """>>> Bar(1, SPECKS, 0.006).met(0.005), Bar(1, ALONE, 0.8, higher=True).met(0.7)
        (True, False)
        """
        return value >= self.limit if self.higher else value <= self.limit

    def value(self, rows: Iterable[Row], method: str) -> float | None:
        """The method's mean; conclusions of tests at level 0.05."""
        for row in rows:
            here = row.method == method and row.where.get("power") == self.power
            if here and row.metric.startswith(self.metric) and row.where.get("level") in (None, 0.05):
                return row.ours
        return None


BARS = (
    Bar(E, TV2, 0.007),
    Bar(E, SPECKS, 0.006),
    Bar(E, ALONE, 0.80, higher=True),
    Bar(ONE_OVER_E, TV2, 0.0125),
    Bar(ONE_OVER_E, SPECKS, 0.010),
    Bar(ONE_OVER_E, ALONE, 0.72, higher=True),
)
