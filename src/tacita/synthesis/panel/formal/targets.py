"""What each year of a file is held to, from the released sums. Post-processing only."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from tacita.synthesis.panel.formal.lattice import Floats
from tacita.synthesis.panel.formal.released import Measurement, Noisy
from tacita.synthesis.panel.formal.smoothing import joint, smoothed

# Judgement: chosen on the simulated industry of kinney2007, not derived. Halving or doubling one of them moved the mean
# error of employment by less than half a point, but for _ASTRAY and _FOLLOWS (docs/decisions/0007-panels.md). They use
# released sums only: no claim about privacy rests on them.
_ASTRAY = 0.01  # of a year's total: what a year's steps may miss beside their noise
_ASTRAY_TOP = 0.05
_STEADY = 0.03  # how far the share of large units in the total moves in a year
_PROFILE = 0.15  # how far a year's far sum is from what the sum of all years tells
_FOLLOWS = 1.5  # how that sum's years differ: as this power of the layer below, the farther out the more
_FADES = 0.8  # what is left after a year of how the first year differs from that
_FAR_GAIN = 0.7


@dataclass(frozen=True, eq=False)
class Layer:
    """Sums over all units of what their sizes have between two ends, year by year."""

    low: int
    high: int
    sums: Floats
    gain: Floats  # how much of a gap is closed each year

    def part(self, sizes: NDArray[np.int64] | Floats) -> Floats:
        return np.asarray(np.clip(sizes - self.low, 0, self.high - self.low), dtype=np.float64)


@dataclass(frozen=True, eq=False)
class Targets:
    """What each year is held to: clamped sums of first sizes, of steps up and down, and of all sizes, in layers."""

    entrants: Floats
    layers: tuple[Layer, ...]  # from the lowest up
    flows: Floats
    far_flows: Floats
    flow_cap: int
    far_cap: int
    far_open: float

    @classmethod
    def of(
        cls,
        found: Measurement,
        here: Floats,
        most: int,
        opening: Callable[[int, int], tuple[float, float]],
        doubt: np.random.Generator | None,
    ) -> Targets:
        """`opening` tells from first sizes what those of the first year have between two ends; `most` is the bound.
        `here` is the share of units that have no gap in a year: all are drawn, so that sums are of more than are seen.
        """
        years = len(here)
        noisy, high, caps = found["levels"], found["tops"], found.caps
        values, spread = _opened(noisy, opening(0, caps["levels"]))
        levels, _ = smoothed(values / here, spread / here, random=doubt)
        levels = np.maximum(levels, 1.0)
        entrants = found["entrants"].values.astype(np.float64)
        values, spread = _opened(high, opening(caps["levels"], caps["tops"]))
        ratio, open_ = smoothed(values / here / levels, spread / here / levels, _STEADY, doubt)
        tops = np.maximum(ratio, 0.0) * levels
        top_gain = _gain((_ASTRAY_TOP * tops) ** 2, (open_ * levels) ** 2)
        upper = Layer(caps["levels"], caps["tops"], tops, top_gain)
        # One sum of all years; its years go with the layer below, and differ more than it does.
        profile = levels * np.maximum(ratio, 0.1 * float(np.abs(ratio).mean())) ** _FOLLOWS
        beyond = not_negative(found["tops of all years"], doubt)[0] * profile / max(float(profile @ here), 1e-300)
        beyond = np.maximum(beyond, 1.0)
        # The first year's is also known from first sizes; years near it go with it.
        left = float(np.hypot(found["tops of all years"].spread / years, _PROFILE * beyond[0]))
        start, _ = joint(*opening(caps["tops"], caps["tops of all years"]), float(beyond[0]), left)
        beyond *= (max(start, 1.0) / beyond[0]) ** (_FADES ** np.arange(years))
        far = Layer(caps["tops"], caps["tops of all years"], beyond, np.full(years, _FAR_GAIN))
        ends = caps["levels"], caps["tops"], caps["tops of all years"]
        share = above_all((float(levels.sum()), float(tops.sum()), float(beyond.sum())), ends, most)
        rest = Layer(ends[2], max(most, ends[2]), beyond * share, far.gain)
        own, open_far, flows, beyond = 0.0, 1.0, np.zeros((0, 2)), np.zeros((0, 2))
        if years > 1:
            steps = found["flows"]
            # Rates move slowly; sums follow the total.
            flows = np.zeros((years - 1, 2))
            for at in range(2):
                seen = levels[:-1] * np.minimum(here[:-1], here[1:])
                rates, spread = steps.values[:, at] / seen, steps.spread / seen
                flows[:, at] = np.maximum(smoothed(rates, spread, random=doubt)[0], 0.0) * levels[:-1]
            beyond = flows * not_negative(found["flows of all years"], doubt) / np.maximum(flows.sum(axis=0), 1.0)
            own, open_far = 2 * steps.spread**2, found["flows of all years"].spread / (years - 1)
        gain = _gain(own + (_ASTRAY * levels) ** 2, np.full(years, noisy.spread**2))
        lower = Layer(0, caps["levels"], levels, gain)
        return cls(
            entrants,
            (lower, upper, far, rest),
            flows,
            beyond,
            caps.get("flows", 1),
            caps.get("flows of all years", 2),
            open_far,
        )


def above_all(sums: tuple[float, float, float], ends: tuple[int, int, int], most: int) -> float:
    """What sizes have above the last end, over what they have between the last two, if their logarithms are normal.

    Nothing is measured there, and units that nothing holds drift away over many years. The normal law is the one whose
    layers stand to each other as the released ones do.

    >>> round(above_all((694.0, 78.0, 190.0), (107, 161, 818), 20_000), 2)
    0.25
    """
    middle, width = np.meshgrid(np.linspace(-2, 9, 221), np.linspace(0.3, 3.5, 129), indexing="ij")
    first, second, third, all_ = (_capped_mean(middle, width, end) for end in (*ends, max(most, ends[2])))
    wanted = np.log(np.maximum(sums, 1.0))
    off = [np.log(np.maximum(one, 1e-300)) for one in (first, second - first, third - second)]
    miss = (off[1] - off[0] - wanted[1] + wanted[0]) ** 2 + (off[2] - off[1] - wanted[2] + wanted[1]) ** 2
    at = np.unravel_index(int(miss.argmin()), miss.shape)
    return float((all_[at] - third[at]) / max(float(third[at] - second[at]), 1e-300))


def _capped_mean(middle: Floats, width: Floats, end: int) -> Floats:
    """The mean of min(x, end) where log x is normal."""
    place = (np.log(max(end, 1)) - middle) / width
    return np.asarray(np.exp(middle + width**2 / 2) * ndtr(place - width) + end * ndtr(-place))


def _opened(noisy: Noisy, opening: tuple[float, float]) -> tuple[Floats, Floats]:
    """Released sums of all years, that of the first joined with what first sizes tell; and what noise leaves open."""
    values, spread = noisy.values.astype(np.float64), np.full(len(noisy.values), noisy.spread)
    values[0], spread[0] = joint(*opening, float(values[0]), noisy.spread)
    return values, spread


def not_negative(noisy: Noisy, random: np.random.Generator | None) -> Floats:
    """Sums that are not negative; with a generator drawn around the released ones, which stay their means."""
    middle = np.maximum(noisy.values, 1.0)
    if random is None:
        return middle
    shape = (middle / noisy.spread) ** 2
    return np.asarray(random.gamma(shape) / shape * middle)


def _gain(own: Floats, noise: Floats) -> Floats:
    """How much of a gap to a noisy total is closed each year, where what is drawn goes astray by `own` each year."""
    ahead = (own + np.sqrt(own**2 + 4 * own * noise)) / 2
    return np.asarray(ahead / np.maximum(ahead + noise, 1e-300))
