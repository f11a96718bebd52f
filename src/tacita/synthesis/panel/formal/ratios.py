"""A number beside the size, such as payroll: its logarithm per head, around a centre of each year."""

from __future__ import annotations

from dataclasses import dataclass
from math import log, log1p

import numpy as np

from tacita.synthesis.panel.formal.hills import Hills
from tacita.synthesis.panel.formal.lattice import Floats, Integers
from tacita.synthesis.panel.formal.smoothing import law_of, outwards, wandering

STEPS = 256  # of a range: sums of logarithms are whole numbers
DEVIATIONS = 40
_BINS = 128
_CLEAR = 4.0  # standard deviations of the noise
_SELDOM = 0.02  # of the fullest bin
_PEAK = 20.0  # standard deviations by which the fullest bin must stand out for others to tell where the range ends
_REACH = 2.5  # widths of a normal law
_PLENTY = 10.0  # standard deviations by which a row's moves speak for themselves
_EDGES = np.array([0.01, 0.02, 0.035, 0.05, 0.07, 0.1, 0.14, 0.2, 0.3, 0.5])  # of the range
_FURTHEST = 0.7
_USUAL = 0.05  # how far a centre moves in a year, where noise hides it
MOVES = 2 * len(_EDGES) + 2
_ROWS = np.array([-0.3, -0.2, -0.1, 0.0, 0.1, 0.2, 0.3])


@dataclass(frozen=True)
class Range:
    """Logarithms between two ends."""

    low: float
    high: float

    @classmethod
    def public(cls, most_size: int, most: int) -> Range:
        return cls(-log1p(most_size), log1p(most))

    bins = _BINS
    rows = len(_ROWS) + 1

    @property
    def width(self) -> float:
        return self.high - self.low

    def of(self, logs: Floats) -> Integers:
        share = (logs - self.low) / self.width
        return np.clip(np.floor(share * _BINS), 0, _BINS - 1).astype(np.int64)

    def narrowed(self, noisy: Integers, spread: float, units: float) -> Range:
        """From released counts: the stretch around the most frequent value where values stand out from the noise; where
        noise hides that, most of the normal law that fits the counts."""
        unit = self.width / _BINS
        if noisy.max() < _PEAK * spread:
            middle, below, above = Hills.of(noisy.astype(np.float64), spread, units, log(2) / unit).likeliest
            ends = float(middle - _REACH * below), float(middle + _REACH * above)
            return Range(self.low + unit * ends[0], self.low + unit * ends[1])
        clear = noisy > max(_CLEAR * spread, _SELDOM * float(noisy.max()))
        low = high = int(np.argmax(noisy))
        while low > 0 and clear[low - 1]:
            low -= 1
        while high < _BINS - 1 and clear[high + 1]:
            high += 1
        return Range(self.low + unit * (low - 1), self.low + unit * (high + 2))

    # ------------------------------------------------------------ of a narrowed range

    @property
    def middle(self) -> float:
        return (self.low + self.high) / 2

    def steps(self, logs: Floats) -> Integers:
        """Distances from the middle, in whole steps, held within the range."""
        held = np.clip((logs - self.middle) / self.width, -0.5, 0.5)
        return np.asarray(np.rint(held * STEPS), dtype=np.int64)

    def means(self, sums: Integers, counts: Floats, spread: float) -> tuple[Floats, Floats]:
        """What released sums of steps tell of each year's mean, and what noise does to it."""
        return self.middle + sums / STEPS * self.width / counts, spread / STEPS * self.width / counts

    def centres(self, sums: Integers, counts: Floats, spread: float) -> Floats:
        # Noise may lead a small group's centres anywhere; those of the file lie within the range.
        return np.clip(wandering(*self.means(sums, counts, spread), _USUAL)[0], self.low, self.high)

    def deviation(self, apart: Floats) -> Integers:
        """Bins of the distance from the year's centre, over one range on either side of it."""
        share = np.clip((apart / self.width + 1) / 2, 0, 1)
        return np.minimum(np.floor(share * DEVIATIONS), DEVIATIONS - 1).astype(np.int64)

    def starts(self, noisy: Integers, spread: float) -> Floats:
        """Released counts of deviations, with ends that are not noise."""
        middle = int(np.argmax(noisy.sum(axis=0)))
        return outwards(
            noisy.astype(np.float64), spread, middle, np.abs(np.arange(DEVIATIONS) - middle) * 2 / DEVIATIONS
        )

    def paths(self, noisy: Integers, spread: float) -> Floats:
        """The same of moves. Of deviations that are seldom, moves go back as a line through the others tells."""
        away = np.concatenate([[0.0], _EDGES])
        found = outwards(noisy.astype(np.float64), spread, len(away), np.concatenate([away[::-1], away]))
        half = (away + np.append(_EDGES, _FURTHEST)) / 2
        moves = np.concatenate([-half[::-1], half])
        centres = np.concatenate([[_ROWS[0] - 0.05], (_ROWS[1:] + _ROWS[:-1]) / 2, [_ROWS[-1] + 0.05]])
        clear = noisy.sum(axis=1) > _PLENTY * spread * MOVES**0.5
        if clear.sum() < 2:
            return found
        means = law_of(found) @ moves
        back = np.polyfit(centres[clear], means[clear], 1, w=np.sqrt(noisy.sum(axis=1)[clear]))
        for row in np.flatnonzero(~clear):
            low, high = -50.0, 50.0
            for _ in range(50):
                tilt = (low + high) / 2
                law = law_of(found[row] * np.exp(tilt * moves))
                low, high = (tilt, high) if float(law @ moves) < np.polyval(back, centres[row]) else (low, tilt)
            found[row] = law * found[row].sum()
        return found

    def effects(self, noisy: Integers, spread: float) -> Floats:
        """How far units of each class of sizes lie from the year's centre, on average."""
        middle = ((np.arange(DEVIATIONS) + 0.5) / DEVIATIONS * 2 - 1) * self.width
        return law_of(self.starts(noisy, spread)) @ middle

    def deviations(self, bins: Integers, random: np.random.Generator) -> Floats:
        return np.asarray(((bins + random.random(len(bins))) / DEVIATIONS * 2 - 1) * self.width)

    def row(self, apart: Floats) -> Integers:
        return np.asarray(np.searchsorted(_ROWS, apart / self.width, side="right"))

    def move(self, moved: Floats) -> Integers:
        place = np.searchsorted(_EDGES, np.abs(moved) / self.width, side="right")
        return np.asarray(np.where(moved < 0, len(_EDGES) - place, len(_EDGES) + 1 + place))

    def moves(self, bins: Integers, random: np.random.Generator) -> Floats:
        edges = np.concatenate([[0.0], _EDGES, [_FURTHEST]])
        up = bins > len(_EDGES)
        place = np.where(up, bins - len(_EDGES) - 1, len(_EDGES) - bins)
        found = edges[place] + (edges[place + 1] - edges[place]) * random.random(len(bins))
        return np.asarray(np.where(up, found, -found) * self.width)
