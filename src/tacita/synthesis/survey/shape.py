"""The shape of a number around its cells' means: released quantiles of what is left, where records are many.

With few records a normal law on the modelled scale does better than fifteen noisy quantiles; whether the shape is
measured follows from public numbers alone (`Budget`). Left out are released centres, so a residual is a function of
one record and released numbers.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.special import ndtri

from tacita.data.gathered import Columns as Gathered
from tacita.mechanisms.kng.line import Lattice, bisect, halves
from tacita.noise.entropy import Entropy
from tacita.synthesis.survey.columns import Floats, Measure
from tacita.synthesis.survey.measuring import SHAPE_LEVELS, Budget, Measurement

_LATTICE = Lattice(-2.0, 2.0, unit=0.25, centre=0.0)  # in half-ranges, of which two values are at most two apart
_SCORES = np.asarray(ndtri([float(share) for share in halves(SHAPE_LEVELS)]))
_LEAST_STEP = 1e-4


def measure_shape(
    gathered: Gathered,
    measures: Sequence[Measure],
    found: Measurement,
    centres: Floats,
    budget: Budget,
    entropy: Entropy,
) -> Floats:
    """Quantiles of each number's distance from its cell's centre, one row per number."""
    rows_of = []
    for at, (one, range_) in enumerate(zip(measures, found.ranges, strict=True)):
        values, cell = gathered.values_by_cell(one.name)
        left = np.sort(np.clip(range_.held(one.forward(values)) - centres[cell, at], -2.0, 2.0))
        epsilons = [budget.shape] * SHAPE_LEVELS
        rows_of.append(bisect(left, _LATTICE, halves(SHAPE_LEVELS), epsilons, entropy, f"shape of {one.name}"))
    return np.stack(rows_of)


def shaped(normal: Floats, quantiles: Floats) -> Floats:
    """Correlated standard normal columns with the measured shapes; beyond the last quantiles they stay normal."""
    if not len(quantiles):
        return normal
    columns = []
    for at, row in enumerate(quantiles):
        rising = np.maximum.accumulate(row + _LEAST_STEP * np.arange(row.size))
        slopes = (
            (rising[2] - rising[0]) / (_SCORES[2] - _SCORES[0]),
            (rising[-1] - rising[-3]) / (_SCORES[-1] - _SCORES[-3]),
        )
        scores = normal[:, at]
        inside = np.interp(scores, _SCORES, rising)
        below, above = np.minimum(scores - _SCORES[0], 0.0), np.maximum(scores - _SCORES[-1], 0.0)
        columns.append(inside + below * slopes[0] + above * slopes[1])
    return np.column_stack(columns)
