"""What the best plan is held to on the simulated file: means over repetitions at a true ε, one person replaced."""

from __future__ import annotations

from fractions import Fraction
from math import sqrt
from statistics import NormalDist

import pandas as pd

from tacita.noise.concentrated import rho_for
from tacita_studies.bowen2018.methods import pairwise
from tacita_studies.bowen2018.printed import ALONE, ONE_OVER_E, SPECKS, TV2, E
from tacita_studies.harness.bars import Bar


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


BARS = tuple(
    bar
    for power, pairs, specks, tests in ((E, 0.007, 0.006, 0.80), (ONE_OVER_E, 0.0125, 0.010, 0.72))
    for bar in (
        Bar(pairwise(1).name, TV2, most=pairs, where={"power": power}),
        Bar(pairwise(1).name, SPECKS, most=specks, where={"power": power}),
        Bar(pairwise(1).name, f"{ALONE}, at 0.05", least=tests, where={"power": power}),
    )
)
