"""A variable as normal scores: the kernel estimate of its distribution, and the way back."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.ndimage import gaussian_filter1d
from scipy.special import ndtri

from tacita.synthesis.panel.predictors import Flags, Floats

_FINEST, _COARSEST = 4096, 64  # cells of the table of the distribution
_CELLS_PER_WIDTH = 3.0


@dataclass(frozen=True, eq=False)
class NormalScores:
    """Φ⁻¹(F(v)) for a kernel estimate F of a law, with a share `atom` of it below everything else.

    The kernel is on the log scale of the variable, and each of its bumps is centred so that exp(v) keeps its mean: a
    plain kernel would add half its variance to the log of every total. The width falls as n^(-1/3), which is right
    for a distribution function. Beyond the table (a quarter of a record) values stay at its ends, so no draw lies
    farther out than a kernel's reach from a record.

    >>> law = NormalScores.of(np.log(np.arange(1.0, 1001.0)))
    >>> abs(float(law.scores_of(np.log(np.array([500.5])))[0])) < 0.01
    True
    """

    values: Floats
    scores: Floats
    atom: float = 0.0

    @classmethod
    def of(cls, values: Floats, atom: float = 0.0) -> NormalScores:
        count = len(values)
        if count == 0:
            return cls(np.zeros(1), np.zeros(1), 1.0)
        spread = float(values.std())
        low, high = np.quantile(values, [0.25, 0.75])
        if high > low:
            spread = min(spread, float(high - low) / 1.34)
        width = max(0.5 * spread * count ** (-1 / 3), 1e-3)
        start = float(values.min()) - 4 * width
        reach = float(values.max()) + 4 * width - start
        cells = int(np.clip(reach / width * _CELLS_PER_WIDTH, _COARSEST, _FINEST))
        step = reach / cells
        # The table cannot be finer than its cells, and a kernel narrower than one would not smooth at all.
        smooth = max(width, 0.6 * step)
        place = np.minimum(((values - smooth**2 / 2 - start) / step).astype(np.int64), cells - 1)
        mass = gaussian_filter1d(
            np.bincount(np.maximum(place, 0), minlength=cells).astype(np.float64), smooth / step, mode="nearest"
        )
        steps = np.concatenate([[0.0], np.cumsum(mass)])
        below = np.clip(steps / steps[-1], 0.25 / count, 1 - 0.25 / count)
        distinct = np.concatenate([[True], np.diff(below) > 1e-13])
        edges = start + step * np.arange(cells + 1)
        return cls(edges[distinct], ndtri(atom + (1 - atom) * below[distinct]), atom)

    def scores_of(self, values: Floats) -> Floats:
        return np.interp(values, self.values, self.scores)

    def values_of(self, scores: Floats) -> tuple[Floats, Flags]:
        """Values on the log scale, and which of them are the atom."""
        if self.atom <= 0:
            return np.interp(scores, self.scores, self.values), np.zeros(len(scores), dtype=bool)
        atoms = np.ones(len(scores), dtype=bool) if self.atom >= 1 else scores < ndtri(self.atom)
        return np.interp(scores, self.scores, self.values), atoms
