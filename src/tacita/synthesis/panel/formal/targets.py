"""What each year of a file is held to, from the released sums. Post-processing only."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tacita.synthesis.panel.formal.lattice import Floats
from tacita.synthesis.panel.formal.released import Measurement
from tacita.synthesis.panel.formal.smoothing import smoothed

_ASTRAY = 0.01  # of a year's total: what a year's steps may miss beside their noise
_ASTRAY_TOP = 0.05
_STEADY = 0.03  # how far the share of large units in the total moves in a year


@dataclass(frozen=True, eq=False)
class Targets:
    """What each year is held to: clamped sums of first sizes, of steps up and down, and of all sizes."""

    entrants: Floats
    flows: Floats
    levels: Floats
    cap: int
    flow_cap: int
    gain: Floats
    tops: Floats
    top: int
    top_gain: Floats

    @classmethod
    def of(cls, found: Measurement, years: int, doubt: np.random.Generator | None) -> Targets:
        noisy, high = found["levels"], found["tops"]
        levels = smoothed(noisy.values.astype(np.float64), np.full(years, noisy.spread), random=doubt)[0]
        levels = np.maximum(levels, 1.0)
        entrants = found["entrants"].values.astype(np.float64)
        ratio, open_ = smoothed(high.values / levels, high.spread / levels, _STEADY, doubt)
        tops = np.maximum(ratio, 0.0) * levels
        top_gain = _gain((_ASTRAY_TOP * tops) ** 2, (open_ * levels) ** 2)
        ends = found.caps["levels"], found.caps["tops"]
        if years == 1:
            return cls(entrants, np.zeros((0, 2)), levels, ends[0], 1, np.ones(1), tops, ends[1], top_gain)
        steps = found["flows"]
        # Rates move slowly; sums follow the total.
        flows = np.zeros((years - 1, 2))
        for at in range(2):
            rates, spread = steps.values[:, at] / levels[:-1], steps.spread / levels[:-1]
            flows[:, at] = np.maximum(smoothed(rates, spread, random=doubt)[0], 0.0) * levels[:-1]
        gain = _gain(2 * steps.spread**2 + (_ASTRAY * levels) ** 2, np.full(years, noisy.spread**2))
        return cls(entrants, flows, levels, ends[0], found.caps["flows"], gain, tops, ends[1], top_gain)


def _gain(own: Floats, noise: Floats) -> Floats:
    """How much of a gap to a noisy total is closed each year, where what is drawn goes astray by `own` each year."""
    ahead = (own + np.sqrt(own**2 + 4 * own * noise)) / 2
    return np.asarray(ahead / np.maximum(ahead + noise, 1e-300))
