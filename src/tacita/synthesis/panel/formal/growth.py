"""Sizes year by year from released laws, held to the released sums of every year. Post-processing only."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tacita.synthesis.panel.formal.budget import statuses
from tacita.synthesis.panel.formal.counted import first_sizes, gap_shares
from tacita.synthesis.panel.formal.lattice import Bins, Floats, Integers
from tacita.synthesis.panel.formal.lives import Leaving
from tacita.synthesis.panel.formal.released import COARSE, ROWS, Measurement, step_rows
from tacita.synthesis.panel.formal.smoothing import counts_of, joint, law_of, pick_from, towards, varied
from tacita.synthesis.panel.formal.steps import StepLaws
from tacita.synthesis.panel.formal.targets import Layer, Targets
from tacita.synthesis.panel.formal.units import most_of, stock
from tacita.synthesis.panel.panel import MISSING, Panel

_FURTHEST = 2.0  # tilts beyond this would follow noise
_DOUBT = 0.1  # of the sum of those that enter in the first year


def draw_sizes(
    made: Panel, counts: Integers, found: Measurement, random: np.random.Generator, middle: bool
) -> Integers:
    """Whole numbers of the size's step in every year of a life, MISSING elsewhere; and last years, on the way."""
    years, doubt = len(made.layout.years), None if middle else random
    first, laws = FirstSizes.of(made, found, doubt), StepLaws.of(made, found, doubt)
    leaving = Leaving(made, counts, step_rows(found.tables, made.layout, ROWS), found, random)
    sizes = np.full((years, made.rows), MISSING)
    kinds, begin = stock(made), made.begins - made.layout.years[0]
    there = np.flatnonzero((begin == 0) & (made.last == MISSING))
    most = most_of(made.layout, 0)
    shares = gap_shares(found.tables, made.layout, made.rows)[0]
    targets = Targets.of(found, 1 - shares, most, lambda low, high: first.between(there, low, high), doubt)
    for place in range(years):
        entering = np.flatnonzero((begin == place) & (made.last == MISSING))
        # In the first year those there before come last: they make up for what is missing to its sums.
        for kind in (0, 1):
            who, cohort = entering[kinds[entering] == kind], 0 if kind else place + 1
            if len(who):
                layers = _missing(targets.layers, sizes[0]) if kind and not place else ()
                sizes[place, who] = first.drawn(who, targets.entrants[cohort], layers, random)
        if place:
            who = np.flatnonzero((begin < place) & (made.last == MISSING))
            new = sizes[place, entering]
            entered = [float(layer.part(new).sum()) for layer in targets.layers]
            sizes[place, who] = laws.drawn(made, place, who, sizes[place - 1, who], targets, entered, random)
        if place < years - 1:
            leaving.after(place, sizes)
    leaving.rest()
    return sizes


def _missing(layers: tuple[Layer, ...], sizes: Integers) -> list[tuple[Layer, float]]:
    """What the first year's sums ask of those whose size is not drawn yet."""
    drawn = sizes[sizes != MISSING]
    return [(layer, float(layer.sums[0] - layer.part(drawn).sum())) for layer in layers]


@dataclass(frozen=True, eq=False)
class FirstSizes:
    """The law of the size in a unit's first year, by kind and status."""

    bins: Bins
    laws: Floats
    row: Integers
    capped: Floats
    spread: float
    noise: float
    before: Floats  # released sizes of those whose beginning is not seen

    @classmethod
    def of(cls, made: Panel, found: Measurement, doubt: np.random.Generator | None) -> FirstSizes:
        noisy = found["sizes"]
        status = statuses(made.layout)
        bins = Bins.sizes(most_of(made.layout, 0))
        counts = first_sizes(found.tables, made.layout, made.rows, found.hides(made.rows))
        kinds = varied(counts, noisy.spread, doubt)
        laws, row = law_of(kinds), stock(made)
        if status > 1:
            coarse = bins.coarser(counts.sum(axis=0), COARSE)
            noisy = found["sizes by status"]
            own = counts_of(noisy.values, noisy.spread, doubt)
            pooled = own.sum(axis=1)[:, None, :]
            ratio = law_of(towards(own, pooled, noisy.spread)) / np.maximum(law_of(pooled), 1e-3)
            laws = law_of(laws[:, None, :] * ratio[..., coarse.of(bins.lower)])
            row = row * status + made.static[made.layout.static[0]]
        laws = laws.reshape(-1, bins.count)
        capped, sizes = bins.capped_means(found.caps["entrants"]), found["sizes"]
        before = sizes.values[1].astype(np.float64)
        return cls(bins, laws, row, capped, found["entrants"].spread, sizes.spread, before)

    def between(self, who: Integers, low: int, high: int) -> tuple[float, float]:
        """What the released first sizes tell of the first year's sum between two ends, and how far that may be off.

        Of those there before, the counts as released: their law has an end that is carried on, which may mislead.
        """
        part = self.bins.capped_means(high) - self.bins.capped_means(low)
        rows, counts = np.unique(self.row[who], return_counts=True)
        new = rows < len(self.laws) // 2
        entering = float(counts[new] @ (self.laws[rows[new]] @ part))
        doubt = np.hypot(self.noise * np.linalg.norm(part), _DOUBT * entering)
        return float(self.before @ part) + entering, float(doubt)

    def drawn(
        self, who: Integers, target: float, layers: Sequence[tuple[Layer, float]], random: np.random.Generator
    ) -> Integers:
        """Sizes whose clamped sums are as released, as far as noise does not hide what they are."""
        rows, counts = np.unique(self.row[who], return_counts=True)
        base = self.laws[rows]
        expected = float(counts @ (base @ self.capped))
        # A year differs from others by some 10%: that much is followed against its noise.
        wanted = [joint(expected, 0.1 * expected, target, self.spread)[0]]
        parts = [self.capped]
        for layer, sum_ in layers:
            wanted.append(sum_)
            parts.append(self.bins.capped_means(layer.high) - self.bins.capped_means(layer.low))
        laws = base
        for _ in range(4 if layers else 1):
            for part, aim in zip(parts, wanted, strict=True):
                laws = _leaning(laws, counts, part, aim)
        return self.bins.drawn(pick_from(laws, np.searchsorted(rows, self.row[who]), random), random)


def _leaning(laws: Floats, counts: Integers, part: Floats, wanted: float) -> Floats:
    """Laws tilted by the logarithm of something, so that its expected sum is as wanted."""
    logs = np.log1p(part)
    low, high = -_FURTHEST, _FURTHEST
    for _ in range(40):
        tilt = (low + high) / 2
        found = law_of(laws * np.exp(tilt * (logs - logs.max())))
        low, high = (tilt, high) if counts @ (found @ part) < wanted else (low, tilt)
    return found
