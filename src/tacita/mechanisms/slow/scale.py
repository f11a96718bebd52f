"""From a sum to whole steps of its root or logarithm, exactly. Proof: `slow.md`."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
from flint import arb, ctx, fmpq
from numpy.typing import NDArray

from tacita.privacy import PerRecord
from tacita.privacy.neighbours import ROUNDING, STEPS

Integers = NDArray[np.int64]

_MOST = 1 << 61  # steps; what is set to it moves no further than it would
_BITS = 200  # sums have 61, and what is left of 200 after all roundings is far more than a step needs


def variance_for(rho: Fraction) -> Fraction:
    """The variance in steps with which the reference loses ρ."""
    return Fraction((STEPS + ROUNDING) ** 2) / (2 * rho)


def steps(sums: Integers, places: int, relation: PerRecord) -> Integers:
    """S·F(sum) rounded down, or one step off: whole numbers for exact noise."""
    found, back = np.unique(sums, return_inverse=True)
    with ctx.workprec(_BITS):
        whole = _ball(relation, relation.reference)
        scaled = [_steps(_ball(relation, Fraction(int(one), 10**places)) / whole) for one in found.tolist()]
    return np.array(scaled, dtype=np.int64)[back].reshape(sums.shape)


def _ball(relation: PerRecord, number: Fraction) -> Any:
    """f(offset + number) − f(offset), but for a factor that is the same for all numbers."""
    ratio = number / relation.offset
    inside = 1 + arb(fmpq(ratio.numerator, ratio.denominator))
    if relation.scaling == "log":
        return inside.log()
    root = inside.sqrt()
    return (root if relation.scaling == "square-root" else root.sqrt()) - 1


def _steps(share: Any) -> int:
    middle = (share * STEPS).mid()
    return int(middle.floor().unique_fmpz()) if middle < _MOST else _MOST
