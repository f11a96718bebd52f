"""Synthetic numbers held to the released sums: of all years together, and of each year. Post-processing only."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tacita.synthesis.panel.formal.counted import units_there
from tacita.synthesis.panel.formal.ladder import LADDER
from tacita.synthesis.panel.formal.lattice import Floats, Integers
from tacita.synthesis.panel.formal.released import Measurement
from tacita.synthesis.panel.formal.smoothing import joint, wandering
from tacita.synthesis.panel.formal.sums import above_clamp, grain, share_below, tails_apart, unseen_above
from tacita.synthesis.panel.formal.targets import above_all
from tacita.synthesis.panel.formal.units import most_of
from tacita.synthesis.panel.layout import Layout
from tacita.synthesis.panel.panel import MISSING
from tacita.synthesis.panel.predictors import Flags

# Judgement, not derived; none of it is about privacy.
_USUAL = 0.05  # how far a total moves in a year beyond the number of units, where noise hides it
_TURNOVER = (
    0.7  # of the logarithm by which that number moves: units that come or go are not as large as those that stay
)
_MOST_MOVED = 0.3  # but no more than that: a share that is not negative goes far up only
_OTHERWISE = 0.05  # how far the part above the clamp of single years goes its own way in a year
_UNSEEN = 0.5  # of what lies above the clamp: how far it may be off
_EITHER = 0.6  # of how far apart laws of large units are
_PARTLY = 0.6  # of what counts may hide above a clamp: in panels that are not small
_LEAST = 0.05  # of what a unit has in other years, that it has at least in one
_MOSTLY = 0.9  # of a number: what lies below a clamp from which the rest is well told
_ROUGHLY = 0.3  # of a number: by how much it may be off where it is not
_SURELY = 3.0  # variances by which released sums must differ from them to contradict
_HIDDEN = 20.0  # a sum is so many times what was drawn, where nothing of it was seen
_WIDTH = 1.4  # of logarithms of usual sizes
_FIRST, _FURTHEST = 1.5, 9.0  # logarithms by which numbers move: the largest at first, then all


@dataclass(frozen=True)
class Doubt:
    """What is drawn is off by, where nothing contradicts it, as shares: the level of all years, and how they differ."""

    level: float
    years: float


# The size is drawn along sums of every year. Other numbers follow from logarithms, which tell little of their sums.
OF_SIZE, OF_OTHERS = Doubt(0.02, 0.02), Doubt(0.1, 0.02)
HIDDEN = Doubt(2.0, 0.2)  # of any number of a small panel, whose sizes and steps follow from noise and what is usual


@dataclass(frozen=True, eq=False)
class YearTotals:
    """What a number adds up to in all years, which part of it each year has, and how far both may be off."""

    total: float
    off: float
    shape: Floats
    apart: Floats  # as a share of each year's part
    hidden: bool = False  # of a small panel

    @classmethod
    def of(
        cls,
        found: Measurement,
        layout: Layout,
        name: str,
        units: int,
        random: np.random.Generator | None,
        here: Floats | None = None,
        level: float | None = None,
    ) -> YearTotals | None:
        """From released sums; with a generator drawn from all that fit. None where no unit was visible. `here` are the
        units of each year of a file, by default as many as were released; `level` is where in what noise leaves open of
        all years together this file is, as a normal number, by default one that is drawn."""
        if f"sum {name}" not in found.tables:
            return None
        here = np.maximum(units_there(found.tables, layout, units) if here is None else here, 1.0)
        total, off = _total(found, layout, name, units)
        hidden = "sizes" in found.tables and found.hides(units)
        if random is not None:
            # What counts do not tell of units above the clamp, what was drawn does not tell either. A sum is not
            # negative, and keeps its mean.
            about = found[f"octaves {name}"], units, found.caps[f"sum {name}"]
            unseen = unseen_above(*about) * (1 if hidden else _PARTLY)
            most = most_of(layout, [one.name for one in layout.yearly].index(name)) * len(layout.years)
            wide = float(np.linalg.norm([off, unseen, _EITHER * tails_apart(*about, most)]))
            wide = float(np.sqrt(np.log1p((wide / total) ** 2)))
            at = float(random.standard_normal())
            total *= float(np.exp(wide * (at if level is None else level) - wide**2 / 2))
        shape, apart = _profile(found, name, here, total, random)
        return cls(total, off, shape, apart, hidden)

    @property
    def middle(self) -> Floats:
        return self.total * self.shape

    def joined(self, own: Floats, doubt: Doubt, random: np.random.Generator | None) -> Floats:
        """With what was drawn, first the level of all years and then how years differ; each may be off by as much as
        `doubt` has it, or by as far as the two contradict each other. All files are drawn alike, so that with a
        generator this is drawn, too."""
        drawn = max(float(own.sum()), 1.0)
        doubt = HIDDEN if self.hidden else doubt
        level = between(
            np.array([drawn]), np.array([self.total]), np.array([self.off / self.total]), doubt.level, random
        )
        aims = between(own / drawn, self.shape, self.apart, doubt.years, random)
        return np.asarray(np.maximum(level * aims / aims.sum(), 1.0))


def between(own: Floats, released: Floats, open_: Floats, doubt: float, random: np.random.Generator | None) -> Floats:
    """Both with the weight that their doubts leave them, which are shares."""
    contradicted = (own / released - 1) ** 2 - _SURELY * open_**2
    # All together, and each by itself: a single year may be unlike all others.
    doubts = np.sqrt(doubt**2 + np.maximum(contradicted, max(float(contradicted.mean()), 0.0)))
    trust = open_**2 / np.maximum(open_**2 + doubts**2, 1e-300)
    if random is not None:
        own = own + doubts * released * random.standard_normal(len(own))
    return np.asarray(np.maximum(trust * own + (1 - trust) * released, 1e-12))


def _total(found: Measurement, layout: Layout, name: str, units: int) -> tuple[float, float]:
    """All years together, and its standard deviation."""
    most, years = most_of(layout, [one.name for one in layout.yearly].index(name)), len(layout.years)
    clamp, noisy, counts = found.caps[f"sum {name}"], found[f"sum {name}"], found[f"octaves {name}"]
    above = above_clamp(counts, units, clamp, most * years)
    off = float(np.hypot(noisy.spread * grain(clamp), _UNSEEN * above))
    total = int(noisy.values[0]) * grain(clamp) + above
    # Sums of single years tell the same: well where most of it lies below their clamps, and else of use only where a
    # unit that noise made up has the other clamp far too high.
    life = float(units_there(found.tables, layout, units).sum()) / max(units, 1)
    life = min(max(life, 1.0), float(years))
    told = (_from_ladder if f"years {name}" not in found.tables else _from_years)(found, name, units, life, most, years)
    if told is not None:
        total, off = joint(total, off, *told)
    return max(total, off / 2, 1.0), off


def _from_years(
    found: Measurement, name: str, units: int, life: float, most: int, years: int
) -> tuple[float, float] | None:
    """All years together from sums of single years of a number beside the size, and how far it may be off."""
    sums, spread, cap = yearly_sums(found, name)
    below = share_below(found[f"octaves {name}"], units, life, cap, most)
    if below <= 1 - _MOSTLY:
        return None
    other = max(float(sums.sum()), 1.0) / below
    untold = 1 - below if below > _MOSTLY else max(1 - below, _ROUGHLY)
    return other, float(np.hypot(spread * years**0.5, untold * other) / below)


def _from_ladder(
    found: Measurement, name: str, units: int, life: float, most: int, years: int
) -> tuple[float, float] | None:
    """The same of the size, whose sums of single years go on above their clamp, and for all years above another."""
    ends = [found.caps[one] for one in LADDER]
    layers = [found[one] for one in LADDER]
    sums = [max(float(one.values.sum()), 1.0) for one in layers]
    rest = sums[2] * above_all((sums[0], sums[1], sums[2]), (ends[0], ends[1], ends[2]), most)
    noise = [one.spread * one.values.size**0.5 for one in layers]
    about = found[f"octaves {name}"], units, min(int(ends[2] * life), most * years)
    unseen = unseen_above(*about), _EITHER * tails_apart(*about, most * years)
    return sum(sums) + rest, float(np.linalg.norm([*noise, rest, *unseen]))


def _profile(
    found: Measurement, name: str, here: Floats, total: float, random: np.random.Generator | None
) -> tuple[Floats, Floats]:
    """Shares of the years, and by which part of itself each may be off: as many as there are units, and beyond that
    what sums of single years tell against their noise. Where many units come or go, the others may be of another size
    than they."""
    sums, spread, _ = yearly_sums(found, name)
    moves = np.hypot(_USUAL, np.minimum(_TURNOVER * np.abs(np.diff(np.log(here))), _MOST_MOVED))
    # About what a unit has below the clamp of single years: as released, but not far beyond what the total tells.
    mean = float(sums.sum())
    if mean < 3 * spread * len(sums) ** 0.5:
        steps = np.zeros(len(here)) if random is None else np.append(0.0, random.standard_normal(len(moves)) * moves)
        apart = np.exp(np.cumsum(steps))
        return here * apart / float(here @ apart), np.full(len(here), float((moves**2).sum() + _USUAL**2) ** 0.5)
    each = here * mean / here.sum()
    apart, open_ = wandering(sums / each, spread / each, _USUAL, random, moves / _USUAL)
    hidden = max(0.0, 1 - mean / total)
    if random is not None:
        other = np.cumsum(random.standard_normal(len(here))) * _OTHERWISE * hidden
        apart = apart + other - other.mean()
    apart = np.maximum(apart, _LEAST)
    shape = here * apart
    return shape / shape.sum(), np.hypot(open_ / apart, hidden * _OTHERWISE * len(here) ** 0.5 / 2)


def yearly_sums(found: Measurement, name: str) -> tuple[Floats, float, int]:
    """Released sums of single years, the standard deviation of their noise, and their clamp."""
    yearly = f"years {name}" if f"years {name}" in found.tables else "levels"
    cap = found.caps[yearly]
    step = float(grain(cap)) if yearly != "levels" else 1.0
    return np.asarray(found[yearly].values * step, dtype=np.float64), found[yearly].spread * step, cap


def held_to(
    values: Integers, totals: YearTotals, most: int, doubt: Doubt, random: np.random.Generator, *, middle: bool
) -> Integers:
    """Whole numbers of every year moved so that they add up to what was released, within their bounds.

    The largest move first, since sums hang on them and counts say little of them, and all alike for the rest. A unit is
    rounded the same way in all years, so that a number that stayed the same still does. What is 0 stays so, unless
    hardly anything was drawn in a year whose sum is known: noise hid all sizes, and each unit has a usual one then.
    """
    there = values != MISSING
    values = seen_at_all(values, there, totals, random)
    aims = totals.joined(np.where(there, values, 0).sum(axis=1).astype(np.float64), doubt, None if middle else random)
    rounding, held = random.random((values.shape[1],)), values.copy()
    for place, aim in enumerate(aims.tolist()):
        who = np.flatnonzero(there[place] & (values[place] > 0))
        if len(who):
            own = values[place, who].astype(np.float64)
            for weights, furthest in ((upper(own), _FIRST), (np.ones(len(who)), _FURTHEST)):
                own = moved_to(own, weights, aim, most, furthest)
            held[place, who] = np.clip(np.floor(own + rounding[who]), 1, most)
    return held


def seen_at_all(values: Integers, there: Flags, totals: YearTotals, random: np.random.Generator) -> Integers:
    """The same, but for years of which noise hid all sizes: each unit has a usual share of what is released of them."""
    usual, seen = np.exp(_WIDTH * random.standard_normal(values.shape[1])), values.copy()
    for place, sum_ in enumerate(totals.middle.tolist()):
        here = there[place]
        if float(values[place, here].sum()) * _HIDDEN < sum_:
            seen[place, here] = np.maximum(np.rint(usual[here] / usual[here].sum() * sum_), 1).astype(np.int64)
    return seen


def upper(values: Floats) -> Floats:
    """0 up to the middle, and from there on as the logarithm goes, to 1 for the largest."""
    logs = np.log(values)
    middle = float(np.median(logs))
    return np.asarray(np.maximum(logs - middle, 0) / max(float(logs.max()) - middle, 1e-9))


def moved_to(values: Floats, weights: Floats, aim: float, most: int, furthest: float) -> Floats:
    low, high = -furthest, furthest
    for _ in range(50):
        shift = (low + high) / 2
        moved = np.minimum(values * np.exp(shift * weights), most)
        low, high = (shift, high) if float(moved.sum()) < aim else (low, shift)
    return np.asarray(moved)
