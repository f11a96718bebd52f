"""The questions about sizes of single years: three, each about what lies above the clamp of the one before."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from tacita.synthesis.panel.formal.budget import Budget
from tacita.synthesis.panel.formal.lattice import Bins, Floats, Integers
from tacita.synthesis.panel.formal.released import DOUBT_FAR, DOUBT_TOPS, size_cap
from tacita.synthesis.panel.formal.sensitivities import Sensitivity, WholeHistory, each_scale

LADDER = ("levels", "tops", "tops of all years")  # the last of them of all years together


def ladder_ends(
    usual: Floats, bins: Bins, budget: Budget, change: WholeHistory, years: int, *, cubes: bool
) -> tuple[int, int, int]:
    """Where each ends, from about how many units of each size are there in a year."""
    shares, cube = [budget[name] for name in LADDER], cubes and change.rungs_on_cubes
    scales = [each_scale(years, one, cube=cube) for one in shares[:2]]
    low = size_cap(usual, bins, scales[0])
    top = size_cap(usual, bins, scales[1], low, DOUBT_TOPS)
    # A sum of all years at once has the noise of one year.
    return low, top, size_cap(usual, bins, change.rate(shares[2], sum(shares, Fraction(0))), top, DOUBT_FAR)


def ladder_sums(
    sizes: Integers, ends: Sequence[int], budget: Budget, change: WholeHistory
) -> list[tuple[Integers, Sensitivity]]:
    """What sizes (years × units) add up to in each question, and by how much a unit can change that."""
    low, top, far = ends
    most = change.ladder([0, *ends], [budget[name] for name in LADDER], len(sizes))
    sums = [
        np.minimum(sizes, low).sum(axis=1, dtype=np.int64),
        np.clip(sizes - low, 0, top - low).sum(axis=1, dtype=np.int64),
        np.array([np.clip(sizes - top, 0, far - top).sum(dtype=np.int64)]),
    ]
    return list(zip(sums, most, strict=True))
