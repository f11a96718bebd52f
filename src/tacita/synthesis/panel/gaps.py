"""Years within a life in which a unit has no row: of long files alone, since a wide one has a row for all years.

A gap is neither a zero nor a missing value: the unit is not in the file that year, and no sum counts it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tacita.synthesis.panel.panel import Panel
from tacita.synthesis.panel.predictors import Flags, Floats, Integers

_CLASSES = np.array([0.2, 0.4, 0.6, 0.8])  # parts of all sizes


def inner(panel: Panel) -> Flags:
    """Years strictly within a life, years × units: a unit is there in its first and its last."""
    year = np.asarray(panel.layout.years)[:, None]
    return np.asarray(panel.known & (year > panel.begins) & (year < np.minimum(panel.last, year[-1])))


def draw_gaps(made: Panel, place: int, counts: Integers, kinds: Integers, random: np.random.Generator) -> None:
    """Of the units of each kind so many are away in a year; where a kind has too few, others make up for it."""
    within, lacking = inner(made)[place], 0
    for kind, count in enumerate(counts.tolist()):
        who = random.permutation(np.flatnonzero(within & (kinds == kind)))[:count]
        made.gaps[place, who], lacking = True, lacking + count - len(who)
    made.gaps[place, random.permutation(np.flatnonzero(within & ~made.gaps[place]))[:lacking]] = True


@dataclass(frozen=True, eq=False)
class YearGaps:
    """How many units of a confidential panel are away in each year: of each class of their size the year before, and
    last of those that were away then."""

    ends: Floats
    counts: Integers

    @classmethod
    def of(cls, panel: Panel) -> YearGaps:
        sizes = panel.values[panel.layout.yearly[0].name]
        ends = np.nanquantile(sizes, _CLASSES) if panel.gaps.any() else np.zeros(0)
        found = cls(ends, np.zeros((len(panel.gaps), len(ends) + 2), dtype=np.int64))
        for place in range(1, len(panel.gaps)):
            kinds = found.kinds(panel, place)[panel.gaps[place]]
            found.counts[place] = np.bincount(kinds, minlength=len(ends) + 2)
        return found

    def kinds(self, panel: Panel, place: int) -> Integers:
        before = panel.values[panel.layout.yearly[0].name][place - 1]
        return np.where(panel.gaps[place - 1], len(self.ends) + 1, np.searchsorted(self.ends, before, side="right"))

    def draw(self, made: Panel, place: int, random: np.random.Generator) -> None:
        if place and self.counts[place].any():
            draw_gaps(made, place, self.counts[place], self.kinds(made, place), random)
