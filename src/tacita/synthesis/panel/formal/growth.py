"""Sizes year by year from released laws, held to the released sums of every year. Post-processing only."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tacita.synthesis.panel.formal.budget import statuses
from tacita.synthesis.panel.formal.lattice import Bins, Floats, Integers
from tacita.synthesis.panel.formal.lives import Leaving
from tacita.synthesis.panel.formal.released import COARSE, ROWS, Measurement, size_counts, step_rows
from tacita.synthesis.panel.formal.smoothing import counts_of, law_of, pick_from, towards, varied
from tacita.synthesis.panel.formal.steps import StepLaws
from tacita.synthesis.panel.formal.targets import Targets
from tacita.synthesis.panel.formal.units import most_of, stock
from tacita.synthesis.panel.panel import MISSING, Panel

_FURTHEST = 2.0  # tilts beyond this would follow noise


def draw_sizes(
    made: Panel, counts: Integers, found: Measurement, random: np.random.Generator, middle: bool
) -> Integers:
    """Whole numbers of the size's step in every year of a life, MISSING elsewhere; and last years, on the way."""
    years, doubt = len(made.layout.years), None if middle else random
    targets, first = Targets.of(found, years, doubt), FirstSizes.of(made, found, doubt)
    laws = StepLaws.of(made, found, doubt)
    leaving = Leaving(made, counts, step_rows(found.tables, made.layout, ROWS), found, random)
    sizes = np.full((years, made.rows), MISSING)
    kind, begin = stock(made), made.begins - made.layout.years[0]
    for place in range(years):
        entering = np.flatnonzero((begin == place) & (made.last == MISSING))
        for who, cohort in ((entering[kind[entering] == 1], 0), (entering[kind[entering] == 0], place + 1)):
            if len(who):
                sizes[place, who] = first.drawn(who, targets.entrants[cohort], random)
        if place:
            who = np.flatnonzero((begin < place) & (made.last == MISSING))
            new = sizes[place, entering]
            entered = np.minimum(new, targets.cap).sum(), np.clip(new - targets.cap, 0, targets.top - targets.cap).sum()
            sizes[place, who] = laws.drawn(made, place, who, sizes[place - 1, who], targets, entered, random)
        if place < years - 1:
            leaving.after(place, sizes)
    leaving.rest()
    return sizes


@dataclass(frozen=True, eq=False)
class FirstSizes:
    """The law of the size in a unit's first year, by kind and status."""

    bins: Bins
    laws: Floats
    row: Integers
    capped: Floats
    spread: float

    @classmethod
    def of(cls, made: Panel, found: Measurement, doubt: np.random.Generator | None) -> FirstSizes:
        noisy = found["sizes"]
        status = statuses(made.layout)
        bins = Bins.sizes(most_of(made.layout, 0))
        kinds = varied(size_counts(noisy, bins), noisy.spread, doubt)
        laws, row = law_of(kinds), stock(made)
        if status > 1:
            coarse = bins.coarser(size_counts(noisy, bins).sum(axis=0), COARSE)
            noisy = found["sizes by status"]
            own = counts_of(noisy.values, noisy.spread, doubt)
            pooled = own.sum(axis=1)[:, None, :]
            ratio = law_of(towards(own, pooled, noisy.spread)) / np.maximum(law_of(pooled), 1e-3)
            laws = law_of(laws[:, None, :] * ratio[..., coarse.of(bins.lower)])
            row = row * status + made.static[made.layout.static[0]]
        laws = laws.reshape(-1, bins.count)
        return cls(bins, laws, row, bins.capped_means(found.caps["entrants"]), found["entrants"].spread)

    def drawn(self, who: Integers, target: float, random: np.random.Generator) -> Integers:
        """Sizes whose clamped sum is as released, where its noise is small beside it."""
        rows, counts = np.unique(self.row[who], return_counts=True)
        base = self.laws[rows]
        expected = float(counts @ (base @ self.capped))
        # A year differs from others by some 10%: that much is followed against its noise.
        trust = (0.1 * expected) ** 2 / ((0.1 * expected) ** 2 + self.spread**2)
        wanted = expected + trust * (target - expected)
        logs = np.log1p(self.capped)
        low, high = -_FURTHEST, _FURTHEST
        for _ in range(40):
            tilt = (low + high) / 2
            laws = law_of(base * np.exp(tilt * (logs - logs.max())))
            low, high = (tilt, high) if counts @ (laws @ self.capped) < wanted else (low, tilt)
        place = np.searchsorted(rows, self.row[who])
        return self.bins.drawn(pick_from(laws, place, random), random)
