"""What noisy counts of values likely are. Post-processing only.

A count is foretold by those around it; of what is off by more than noise, some is chance and some are point masses.
"""

from __future__ import annotations

from math import ceil

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from tacita.synthesis.file.columns import Shape
from tacita.synthesis.file.ends import without_ends
from tacita.synthesis.file.targets import nearest

Floats = NDArray[np.float64]

_REACH = 3  # values next to an empty end
_REACHES = (1.0, 2.0, 4.0, 8.0, 16.0, 32.0)  # values to either side that say what is likely of one
_PROPORTIONS = np.array([0.0, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0, 300.0, 1000.0])  # variance over what is expected
_LOOKS = 30
_HEAPED = 40  # values: of fewer, factors for round ones would rest on next to nothing
_MOST_USUAL = 100.0  # times as many as of values that are not round
_ROUNDS = 3
_LEAST = 1e-3  # records that are expected of any value


def likeliest(counts: Floats, expected: Floats, noise: float, random: np.random.Generator | None = None) -> Floats:
    """Counts between what is expected and what was measured, none negative. `random` as in `Facts.likely`."""
    facts = Facts.of(counts - expected, expected, np.zeros(expected.size), noise)
    return nearest(expected + facts.likely(random), max(float(expected.sum()), 1.0))


@frozen(eq=False)
class Facts:
    """Deviations seen with noise, as a mixture: most may be noise alone, while some are point masses.

    What is no noise has a variance in proportion to what is expected; in which proportions, and how often in each, all
    deviations say together.
    """

    off: Floats
    shares: Floats
    """Wiener's share of each deviation, by proportion."""
    chances: Floats
    """Of each proportion, for each deviation."""
    noise: float
    evidence: float
    """Logarithm of how likely the deviations are."""

    @classmethod
    def of(cls, off: Floats, expected: Floats, besides: Floats, noise: float) -> Facts:
        """`besides` are variances of what is expected, as far as it is noise itself."""
        noise = max(noise, 1e-9)
        signal = _PROPORTIONS[:, None] * expected + besides
        seen = signal + noise
        likely = np.exp(-0.5 * (off**2 / seen + np.log(seen / noise))) + 1e-300
        often = np.full(_PROPORTIONS.size, 1 / _PROPORTIONS.size)
        for _ in range(_LOOKS):
            chances = often[:, None] * likely
            often = (chances / chances.sum(axis=0)).sum(axis=1) + 1 / _PROPORTIONS.size
            often /= often.sum()
        chances = often[:, None] * likely
        whole = chances.sum(axis=0)
        return cls(off, signal / seen, chances / whole, noise, float(np.log(whole).sum()))

    def likely(self, random: np.random.Generator | None) -> Floats:
        """Deviations without noise, as far as can be known; with `random`, a draw of what they may be."""
        if random is None:
            return np.asarray((self.chances * self.shares).sum(axis=0) * self.off)
        at = (np.cumsum(self.chances, axis=0) < random.random(self.off.size)).sum(axis=0)
        share = self.shares[np.minimum(at, len(self.shares) - 1), np.arange(self.off.size)]
        return np.asarray(share * self.off + np.sqrt(share * self.noise) * random.standard_normal(self.off.size))


def listed_counts(shape: Shape, random: np.random.Generator | None = None) -> Floats:
    """As `foretold_counts`, the first."""
    return foretold_counts(shape, random)[0]


def foretold_counts(shape: Shape, random: np.random.Generator | None = None) -> tuple[Floats, Floats]:
    """Counts of listed values, each between its own and what the values around it let expect, and the latter.

    How many are around it, and whether multiples of 5 and 10 are more usual than others, is what foretells each count
    best from the others. With `random`, a draw of what counts may be.
    """
    kept = without_ends(np.array(shape.counts, dtype=np.float64), shape.noise)
    there = (
        slice(int(np.flatnonzero(kept)[0]), int(np.flatnonzero(kept)[-1]) + 1) if kept.any() else slice(0, kept.size)
    )
    held, units = kept[there], np.array(shape.values, dtype=np.int64)[there]
    round_ones = (units % 5 == 0).astype(np.int64) + (units % 10 == 0)
    kinds = [np.zeros_like(units)] if units.size < _HEAPED else [np.zeros_like(units), round_ones]
    tried = [_foretold(held, reach, kind, shape.noise) for kind in kinds for reach in _REACHES]
    expected, facts = max(tried, key=lambda one: one[1].evidence)
    kept[there] = nearest(expected + facts.likely(random), max(float(held.sum()), 1.0))
    foretold = np.zeros(kept.size)
    foretold[there] = expected
    return kept, foretold


def with_ends(counts: Floats, bins: NDArray[np.int64], margin: Floats, noise: float) -> Floats:
    """Counts with what their outer bins lack put into the empty ends: of many values that few have, the bin tells more
    in all than all their counts together. `bins` says in which bin each value is, `margin` how many each bin has."""
    whole = counts.copy()
    for one_way, other, own in ((counts, whole, bins), (counts[::-1], whole[::-1], bins[::-1])):
        there = np.flatnonzero(one_way)
        cut, mine = int(there[0]) if there.size else 0, own == own[0]
        lacking = float(margin[own[0]] - one_way[mine].sum())
        if cut and mine[cut] and lacking > 0:
            sure = lacking**2 / (lacking**2 + noise * np.count_nonzero(mine[cut:]))
            other[:cut] += _falling(sure * lacking, one_way[cut : cut + 2 * _REACH + 1], cut)
    return whole


def _foretold(held: Floats, reach: float, kind: NDArray[np.int64], noise: float) -> tuple[Floats, Facts]:
    """What those around it let expect of each count, and how far it is off. Values of one `kind` have a factor of
    their own."""
    place = np.arange(held.size)
    weight = np.exp(-(((place[:, None] - place) / reach) ** 2) / 2)
    # Mirrored at the ends, so that many records at a bound are not taken for as many beyond it.
    weight += np.exp(-(((place[:, None] + place) / reach) ** 2) / 2)
    weight += np.exp(-(((place[:, None] + place - 2 * (held.size - 1)) / reach) ** 2) / 2)
    np.fill_diagonal(weight, 0.0)
    weight /= np.maximum(weight.sum(axis=1, keepdims=True), 1e-9)
    factor, total = np.ones(held.size), max(float(held.sum()), 1.0)
    for _ in range(_ROUNDS if kind.any() else 0):
        around = np.maximum(weight @ (held / factor), 1e-9)
        own = np.bincount(kind, held) / np.maximum(np.bincount(kind, around), 1e-9)
        factor = np.clip(own, 1 / _MOST_USUAL, _MOST_USUAL)[kind]
    expected = np.maximum(factor * (weight @ (held / factor)), _LEAST)
    expected *= total / expected.sum()
    passed_on = noise * factor**2 * ((weight / factor) ** 2).sum(axis=1)
    return expected, Facts.of(held - expected, expected, passed_on, noise)


def _falling(records: float, beside: Floats, places: int) -> Floats:
    """So many records on places that rise evenly towards what stands beside them."""
    rising, usual = np.zeros(places), max(float(np.median(beside)), float(beside.mean()) / 10)
    if records > 0 and usual > 0:
        width = min(places, ceil(2 * records / usual))
        rising[places - width :] = np.arange(1, width + 1) * (2 * records / (width * (width + 1)))
    return rising
