"""Last years from a life table, where a group is too small for shares by first year."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tacita.synthesis.panel.categories import CollapsingMultinomial, FittedCollapsing
from tacita.synthesis.panel.predictors import Floats, Integers, Predictors

_SWEEPS = 20
_PRIOR = 2.0  # expected exits that a prior counts for, by which a year, or an age, is like all others
_AGES = (1, 2, 3, 4, 5, 7, 9, 12, 16, 21, 31, 51)  # old units leave seldom, so their ages are taken together


@dataclass(frozen=True)
class LifeTable(CollapsingMultinomial):
    """The last year given the first, which stands first in `given`: shares by cell as in `CollapsingMultinomial`.

    Where even the units of a first year are too few, their own exits count beside `least` units' worth of a life
    table: the chance to leave in a year is an effect of the year times one of the age. Shares of all units instead, as
    a multinomial would have it, would let the young live on as the old do. The lowest first year stands for all that
    were there before; their age is unknown, and one of its own.
    """

    def fit(self, response: Integers, levels: int, given: Predictors, random: np.random.Generator) -> FittedLives:
        return FittedLives(self, levels, self.tables(response, levels, given))


@dataclass(frozen=True, eq=False)
class FittedLives(FittedCollapsing):
    def rest(self, given: Predictors, random: np.random.Generator) -> tuple[Floats, Integers]:
        column = given.columns[self.model.given[0]]
        first, last = np.arange(column.levels)[:, None], np.arange(self.levels)
        left = np.zeros((column.levels, self.levels))
        left[self.tables[-2].cells] = self.tables[-2].counts
        # Codes of first and last year may start at different years; the shortest life that occurs tells by how much.
        begins = first + np.min((last - first)[left > 0])
        there = np.where(last >= begins, left[:, ::-1].cumsum(axis=1)[:, ::-1], 0.0)
        there[:, -1] = 0.0  # in the last year everybody is still there, or gone with it
        left = np.where(there > 0, left, 0.0)
        lived = np.searchsorted(_AGES, np.maximum(last - begins, 0), side="right")
        age = np.where(first == 0, 0, lived + 1)
        level = left.sum() / max(there.sum(), 1.0)
        by_year, by_age = np.ones(self.levels), np.ones(int(age.max()) + 1)
        for sweep in range(_SWEEPS):
            # Each given the other has a gamma posterior: means first, and in the last two sweeps draws.
            draw = random.standard_gamma if sweep >= _SWEEPS - 2 else np.asarray
            exits, expected = left.sum(axis=0), level * (there * by_age[age]).sum(axis=0)
            by_year = draw(exits + _PRIOR) / (expected + _PRIOR)
            exits, expected = (
                np.bincount(age.ravel(), weights=held.ravel()) for held in (left, level * there * by_year)
            )
            by_age = draw(exits + _PRIOR) / (expected + _PRIOR)
        prior = self.model.least * np.clip(level * by_year * by_age[age], 1e-6, 1 - 1e-6)
        hazard = random.beta(left + prior, np.maximum(there - left, 0.0) + self.model.least - prior)
        hazard = np.where(last < begins, 0.0, hazard)
        hazard[:, -1] = 1.0
        stays = np.cumprod(1 - hazard, axis=1)
        return hazard * np.column_stack([np.ones(column.levels), stays[:, :-1]]), column.values
