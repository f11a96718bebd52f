"""Noisy counts as a hill: one middle, and falling off on both sides. Post-processing only.

Counts of bins over a wide public range are mostly noise. What a file has there is one hill of known volume, since the
number of units is public, and that can be found where no single bin stands out.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from itertools import product

import numpy as np
from scipy.special import ndtr

from tacita.synthesis.panel.formal.lattice import Floats

_WIDTHS = np.geomspace(0.5, 6.0, 8)  # of one side, in octaves
_USUAL, _UNUSUAL = 2.0, 0.5  # the width of numbers of businesses, and the logarithm by which it may differ
_STEP = 0.25  # octaves from one middle to the next
_LEAST = 0.5  # of the units, those that are in some bin: the others have nothing to count


@dataclass(frozen=True, eq=False)
class Hills:
    """Hills over bins, and how likely noisy counts make each: two halves of normal laws, not of the same width."""

    places: Floats  # middle, width below, width above: of each hill, in bins
    laws: Floats  # shares of bins
    heights: Floats
    chances: Floats

    @classmethod
    def of(cls, noisy: Floats, spread: float, units: float, octave: float = 1.0) -> Hills:
        """From counts of so many units, `octave` bins to each octave.

        >>> middle, below, above = Hills.of(1000 * _grid(30, 1.0)[1][0], 1.0, 1000).likeliest
        >>> float(middle), float(below), float(above)
        (0.0, 0.5, 0.5)
        """
        places, laws, norms = _grid(len(noisy), octave)
        along = laws @ noisy
        heights = np.clip(along / norms, _LEAST * units, units)
        off = (heights**2 * norms - 2 * heights * along) / spread**2
        off += ((np.log(places[:, 1:] / octave / _USUAL) / _UNUSUAL) ** 2).sum(axis=1)
        chances = np.exp(-(off - off.min()) / 2)
        return cls(places, laws, heights, chances / chances.sum())

    @property
    def likeliest(self) -> Floats:
        return np.asarray(self.places[int(self.chances.argmax())])

    def counts(self, random: np.random.Generator | None) -> Floats:
        """Expected counts over all hills; with a generator those of one."""
        if random is None:
            return np.asarray((self.chances * self.heights) @ self.laws)
        at = int(random.choice(len(self.chances), p=self.chances))
        return np.asarray(self.heights[at] * self.laws[at])


@lru_cache(maxsize=16)
def _grid(size: int, octave: float) -> tuple[Floats, Floats, Floats]:
    """All hills over so many bins: places, laws, and the sums of squares of the laws."""
    middles = np.arange(0, size + _STEP * octave, _STEP * octave)
    places, laws = [], []
    for below, above in product(_WIDTHS * octave, repeat=2):
        away = np.arange(size + 1)[None, :] - middles[:, None]
        reached = np.where(away < 0, below * ndtr(away / below), below / 2 + above * (ndtr(away / above) - 0.5))
        laws.append(np.diff(reached, axis=1) * 2 / (below + above))
        places.append(np.column_stack([middles, np.full((len(middles), 2), [below, above])]))
    joined = np.concatenate(laws)
    return np.concatenate(places), joined, np.maximum((joined**2).sum(axis=1), 1e-12)
