"""What the models ask of a unit, confidential or synthetic: when it was there, its age, its condition."""

from __future__ import annotations

import numpy as np

from tacita.synthesis.panel.formal.lattice import TRENDS, Floats, Integers, life_class, shrunk
from tacita.synthesis.panel.layout import Layout
from tacita.synthesis.panel.panel import MISSING, Panel
from tacita.synthesis.panel.predictors import Flags

_MOST_PERIODS = 5
PASSING = 0.5  # how large those that come or go usually are, beside those that are there in all years


def stock(panel: Panel) -> Integers:
    """1 for units whose beginning is not seen, 0 for those that enter."""
    layout = panel.layout
    return (panel.first < max(layout.years[0], layout.first.lower + 1)).astype(np.int64)


def periods(layout: Layout) -> Integers:
    """The period of every first year: those there from the beginning, and up to five stretches of entrants."""
    years = np.arange(layout.first.levels) + layout.first.lower
    entrants = years >= max(layout.years[0], layout.first.lower + 1)
    rank = np.cumsum(entrants) - 1
    count = max(int(entrants.sum()), 1)
    found = 1 + rank * min(_MOST_PERIODS, count) // count
    return np.asarray(np.where(entrants, found, 0), dtype=np.int64)


def lives_of(panel: Panel) -> Integers:
    """The class of how long each unit is seen."""
    return life_class(panel.last, panel.begins, min(panel.layout.last.upper, panel.layout.years[-1]))


def transitions(panel: Panel) -> Integers:
    """How many pairs of successive years each unit is there for."""
    return np.asarray(np.maximum(np.minimum(panel.last, panel.layout.years[-1]) - panel.begins, 0))


def young(panel: Panel, place: int, who: Integers) -> Integers:
    """1 for units that entered at most three years ago."""
    recent = (panel.layout.years[place] - panel.first[who] <= 3) & (stock(panel)[who] == 0)
    return np.asarray(recent.astype(np.int64))


def condition(panel: Panel, place: int, who: Integers, sizes: Integers) -> Integers:
    """Whether a unit is young and whether it has just shrunk, as one code."""
    before = sizes[place - 1, who] if place else np.full(len(who), MISSING)
    fell = (before != MISSING) & shrunk(before, sizes[place, who])
    return np.asarray(young(panel, place, who) * TRENDS + fell)


def whole_steps(panel: Panel, name: str) -> Integers:
    """Values as whole numbers of their public step; MISSING where there is none.

    Halves go up, whatever the number: two values that are one step apart are read one apart, also between the steps.
    """
    scale = next(one.scale for one in panel.layout.yearly if one.name == name)
    values = panel.values[name]
    seen = ~np.isnan(values)
    return np.where(seen, np.floor(np.where(seen, values, 0) / scale.step + 0.5), MISSING).astype(np.int64)


def most_of(layout: Layout, at: int) -> int:
    scale = layout.yearly[at].scale
    return round(scale.upper / scale.step)


def counted_as_large(panel: Panel, there: Flags, random: np.random.Generator | None) -> Floats:
    """Units of each year, in units that are seen from the first year to the last. With a generator, those that come or
    go are of any size up to theirs."""
    passing = PASSING if random is None else float(random.random())
    first, last = panel.layout.years[0], panel.layout.years[-1]
    stays = (panel.first <= first) & (panel.last >= last)
    return np.asarray(np.where(there, np.where(stays, 1.0, passing), 0.0).sum(axis=1))


def alive(layout: Layout, lives: Integers | Floats) -> Floats:
    """Units that are there in each year, from a table of first and last years."""
    first = np.arange(layout.first.levels)[:, None] + layout.first.lower
    last = np.arange(layout.last.levels)[None, :] + layout.last.lower
    held = np.where(last >= first, lives, 0)
    return np.array([held[((first <= year) & (last >= year))].sum() for year in layout.years], dtype=np.float64)
