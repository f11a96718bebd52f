"""What the best plan is held to on the simulated file: means over repetitions at a true ε, one person replaced."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from math import sqrt
from statistics import NormalDist

import pandas as pd

from tacita.noise.concentrated import rho_for
from tacita_studies.bowen2018.printed import ALONE, ONE_OVER_E, SPECKS, TV2, E
from tacita_studies.harness.results import Row


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


def specks_of_margins(frame: pd.DataFrame, epsilon: str, delta: str = "1e-9") -> float:
    """About the SPECKS that is left when the whole budget buys one-way tables, divided in the best way.

    SPECKS sees a shift of the margins in standard deviations, d, as 2Φ(d/2) − 1. A table of L levels with shares p,
    noise of variance v on its counts and a known total adds v·c to (n·d)², c = (1 − 1/L)·Σ 1/p; it costs ρ = 1/v when a
    record is replaced, so the best division of ρ has (n·d)² = (Σ √c)²/ρ. Attributes are taken as unrelated.
    """
    rho = float(rho_for(Fraction(epsilon), Fraction(delta)))
    shares = [frame[name].value_counts(normalize=True).to_numpy() for name in frame.columns]
    root = sum(sqrt((1 - 1 / one.size) * float((1 / one).sum())) for one in shares)
    shift = root / (len(frame) * sqrt(rho))
    return 2 * NormalDist().cdf(shift / 2) - 1


BARS = (
    Bar(E, TV2, 0.007),
    Bar(E, SPECKS, 0.006),
    Bar(E, ALONE, 0.80, higher=True),
    Bar(ONE_OVER_E, TV2, 0.0125),
    Bar(ONE_OVER_E, SPECKS, 0.010),
    Bar(ONE_OVER_E, ALONE, 0.72, higher=True),
)
