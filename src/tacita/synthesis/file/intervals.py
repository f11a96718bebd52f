"""What 95% intervals from several files are worth, by public facts and by what was released. Public arithmetic."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from math import pi, sqrt
from typing import Any

import numpy as np

from tacita.plan.how import Worth

_TELLS_SLOPES = 0.02  # of the records that noise moves in a table of two columns
# Measured on four files, at ε from 1 to 30: docs/known-limitations.md.
_WEAK = (
    "slopes of regressions and correlations that involve a number are not supported: of their 95% intervals from "
    "several files 80 to 89% hold"
)
_STRONG = "of 95% intervals of slopes of regressions from several files 89 to 98% hold"
_OTHERS = "of those of shares, means and means of groups of 50 records or more 89 to 99%"


def tells_slopes(noise: float) -> bool:
    """Whether noise moves few enough records of a table of two columns, as a share of all."""
    return noise <= _TELLS_SLOPES


def interval_words(noise: float) -> str:
    """What a plan says beforehand."""
    return f"{_STRONG if tells_slopes(noise) else _WEAK}, {_OTHERS}"


def worth_of(measured: Mapping[str, Any]) -> Worth:
    """What the page says, from the released tables of two columns."""
    pairs = [one for one in measured["tables"] if len(one["attributes"]) == 2]
    moved = [_noise(one) * np.size(one["values"]) / max(measured["records"], 1) / 2 for one in pairs]
    noise = float(np.mean(np.minimum(moved, 1.0))) if moved else 0.0
    said = f"Noise alone moves about {100 * noise:.2g}% of the records of a table of two columns"
    return Worth(f"{said}: {interval_words(noise)}.", enough=True)


def _noise(table: Mapping[str, Any]) -> float:
    """Mean size of the noise on one number."""
    size = float(Fraction(table["noise"]))
    return size if "Laplace" in table["law"] else sqrt(2 / pi * size)
