"""What was released about a group, and laws and clamps that follow from it. Post-processing only."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from tacita.noise.cube import CubeLaw
from tacita.privacy import text
from tacita.synthesis.panel.formal.budget import mostly_hidden
from tacita.synthesis.panel.formal.lattice import Bins, Floats, Integers, Steps
from tacita.synthesis.panel.formal.smoothing import balanced_cap, law_of, pick_from, varied, with_tail
from tacita.synthesis.panel.formal.units import most_of
from tacita.synthesis.panel.layout import Layout

# Shares of first sizes below the ends of coarser bins: for statuses, for steps and leaving, for steps by age, and for
# numbers beside the size.
COARSE = np.array([0.3, 0.5, 0.65, 0.8, 0.9, 0.97, 0.995])
ROWS = np.array([0.02, 0.06, 0.12, 0.2, 0.3, 0.4, 0.5, 0.58, 0.66, 0.74, 0.8, 0.85, 0.9, 0.94, 0.97, 0.985, 0.995])
BROAD = np.array([0.35, 0.65, 0.9])
PAY = COARSE[:-1]
DOUBT = 0.25  # of what a clamp hides
DOUBT_TOPS, DOUBT_FAR = 1.0, 2.0  # higher up less is known, and yearly noise is averaged
_DOUBT_STEPS = 0.06
_DOUBT_FAR_STEPS = 0.05
USUAL_STEP, USUALLY_MOVING = 0.15, 0.7  # logarithms by which businesses move in a year, and how many do at all
NEAR = 1.0  # rows to either side that a row of few steps is compared with
_UNUSUAL, _OTHERWISE, _OTHERWISE_YET = 1.0, 0.5, 0.3  # how far chances may be from usual ones, neighbours', and theirs
_STANDS_OUT = 5.0  # standard deviations by which a count does: of some 400 with Laplace noise hardly one does by chance
_FURTHEST = 1.5  # the logarithm of a step that counts: noise far out would outweigh all others
_FEWER = 5  # a size has at least so large a part of the steps that a size has on average
_CUBE = "cube"


@dataclass(frozen=True, eq=False)
class Noisy:
    """A released table and the scale of its noise, which is Laplace noise of each value or on a cube of all."""

    values: Integers
    scale: Fraction
    cube: bool = False

    @property
    def spread(self) -> float:
        """The standard deviation of the noise."""
        return CubeLaw(self.scale, self.values.size).spread if self.cube else float(self.scale) * 2**0.5

    @classmethod
    def from_dict(cls, stored: Mapping[str, Any]) -> Noisy:
        values = np.array(stored["values"], dtype=np.int64)
        return cls(values, Fraction(stored["scale"]), stored.get("noise") == _CUBE)

    def to_dict(self) -> dict[str, Any]:
        """Laplace noise goes without saying, as in earlier measurements."""
        told = {"values": self.values.tolist(), "scale": text(self.scale)}
        return told | {"noise": _CUBE} if self.cube else told


@dataclass(frozen=True, eq=False)
class Measurement:
    """Everything that was released about one group, by name; with the clamps, which follow from it."""

    tables: Mapping[str, Noisy]
    caps: Mapping[str, int]

    def __getitem__(self, name: str) -> Noisy:
        return self.tables[name]

    def hides(self, units: int) -> bool:
        """Whether noise hides most of the first sizes of so many units: a small panel. Earlier measurements do not tell
        what then stands in for them."""
        sizes = self["sizes"]
        told = any(name.startswith("octaves ") for name in self.tables)
        return told and mostly_hidden(sizes.spread, sizes.values.size, units)


def size_counts(noisy: Noisy, bins: Bins) -> Floats:
    """Released first sizes of those that enter and of those there before."""
    edges = bins.lower.astype(np.float64)
    return np.array([with_tail(one.astype(np.float64), noisy.spread, edges, normal=True) for one in noisy.values])


def step_rows(found: Mapping[str, Noisy], layout: Layout, shares: Floats) -> Bins:
    """Sizes whose steps have one law: so many of the released first sizes lie below each."""
    bins = Bins.sizes(most_of(layout, 0))
    return bins.coarser(size_counts(found["sizes"], bins).sum(axis=0), shares)


def size_cap(
    counts: Floats,
    bins: Bins,
    rate: Fraction | float | Callable[[Floats], Floats],
    above: int = 0,
    doubt: float = DOUBT,
) -> int:
    """A clamp for a sum over so many units of what lies above a lower one; noise has the scale (difference) · rate,
    or what `rate` makes of the difference."""
    caps = np.append(np.maximum(bins.upper, 1), bins.most)
    caps = caps[caps > above]
    if not len(caps):
        return above + 1  # everything lies below
    below = bins.capped_means(above)
    covered = np.array([counts @ (bins.capped_means(int(cap)) - below) for cap in caps])
    apart: Floats = (caps - above).astype(np.float64)
    scale = rate(apart) if callable(rate) else apart * float(rate)
    return balanced_cap(caps, covered, np.asarray(scale * 2**0.5), doubt)


def step_counts(noisy: Noisy, rows: Bins) -> Floats:
    """Released steps by size, as far as noise does not hide them: of all sizes together as businesses usually move, of
    neighbouring sizes as all do, and of one size as its neighbours do."""
    raw, spread, possible = noisy.values.astype(np.float64), noisy.spread, Steps.possible(rows)
    sums = raw.sum(axis=1)
    totals = np.maximum(np.maximum(sums, float(sums.mean()) / _FEWER), spread)[:, None]

    def held(law: Floats, near: Floats, doubt: float) -> Floats:
        expected = near @ (law * totals)
        alike = spread * np.sqrt((near**2).sum(axis=1))[:, None]
        told = _told(near @ raw, expected, alike, doubt)
        return law_of(np.where(possible, law * told / np.maximum(expected, 1e-9), 0.0))

    apart = np.subtract.outer(np.arange(rows.count), np.arange(rows.count))
    law = held(usual_steps(rows), np.ones(apart.shape), _UNUSUAL)
    law = held(law, np.exp(-((apart / NEAR) ** 2) / 2), _OTHERWISE)
    return np.asarray(held(law, np.eye(rows.count), _OTHERWISE_YET) * totals)


def moved_share(found: Mapping[str, Noisy], layout: Layout) -> float | None:
    """What units that stay gain, or lose, in a year, as a share of the size's total, as released sizes and steps tell;
    None where they tell nothing."""
    rows, bins = step_rows(found, layout, ROWS), Bins.sizes(most_of(layout, 0))
    sizes = np.maximum(size_counts(found["sizes"], bins).sum(axis=0), 0.0) * bins.capped_means(most_of(layout, 0))
    held = np.bincount(rows.of(bins.lower), sizes, minlength=rows.count)
    moved = np.abs(np.expm1(np.minimum(Steps.logs(), _FURTHEST)))
    total = float(held.sum())
    return float(held @ (step_laws(found["steps"], rows) @ moved)) / total / 2 if total > 0 else None


def _told(counted: Floats, expected: Floats, spread: Floats, doubt: float) -> Floats:
    """Counts that may be off from what is expected by a share of it, or by as much as they stand out."""
    off = np.maximum((doubt * expected) ** 2, (counted - expected) ** 2 - (_STANDS_OUT * spread) ** 2)
    return np.asarray(np.maximum((expected * spread**2 + counted * off) / (spread**2 + off), 0.0))


def step_laws(noisy: Noisy, rows: Bins, random: np.random.Generator | None = None) -> Floats:
    """Laws of steps by size. With a generator drawn from what the noise leaves open."""
    return law_of(varied(step_counts(noisy, rows), noisy.spread, random))


def _hidden(noisy: Noisy) -> float:
    """How much of a law noise hides, from 0 to 1."""
    return float(min(noisy.spread * noisy.values.size**0.5 / max(float(noisy.values.sum()), 1.0), 1.0))


def usual_steps(rows: Bins) -> Floats:
    ends = np.concatenate([[0.0], Steps.edges()[1:] - 1, [np.inf]])
    up = np.diff(-np.exp(-np.log1p(ends) / USUAL_STEP))
    down = np.diff(-((1 - np.minimum(ends[: Steps.same + 1], 1.0)) ** (1 / USUAL_STEP)))
    law = np.concatenate([down[::-1], [2 / USUALLY_MOVING - 2], up])
    return law_of(np.where(Steps.possible(rows), law, 0.0))


def step_cap(
    noisy: Noisy, rows: Bins, units: float, rate: Callable[[Floats], Floats], usual: Usual, above: int = 0
) -> int:
    """A clamp for a year's sum over so many units, as large as `usual`, of what steps have above a lower one; noise as
    in `size_cap`."""
    random = np.random.default_rng(0)  # for an integral over released weights; nothing confidential is near
    counts = step_laws(noisy, rows) * usual.rows(rows)[:, None]
    doubt = float(np.hypot(_DOUBT_FAR_STEPS if above else _DOUBT_STEPS, _hidden(noisy)))
    total, moving = max(float(counts.sum()), 1e-9), counts.copy()
    moving[:, Steps.same] = 0
    if not moving.sum():
        return above + 1
    row, step = np.unravel_index(random.choice(counts.size, 20_000, p=(moving / moving.sum()).ravel()), counts.shape)
    before = usual.drawn(rows, row, random)
    moved = np.abs(Steps.drawn(before, step, rows.most, random) - before)
    caps = np.unique(np.quantile(moved, np.linspace(0.5, 0.999, 200)).astype(np.int64).clip(1))
    caps = np.append(caps, max(int(moved.max()), 1))
    caps = caps[caps > above]
    if not len(caps):
        return above + 1
    each = units * float(moving.sum()) / total / 2 / len(moved)
    more = [np.maximum(moved - cap, 0).astype(np.float64) for cap in caps]
    hidden = np.array([float(one.sum()) * each for one in more])
    # Of the units beyond a clamp a year has some and not others: the fewer and the farther, the less the law tells.
    chance = np.array([float((one**2).sum()) * each for one in more])
    noise = rate((caps - above).astype(np.float64)) * 2**0.5
    return int(caps[np.argmin(noise**2 + (doubt * hidden) ** 2 + chance)])


@dataclass(frozen=True, eq=False)
class Usual:
    """How many units of each bin of sizes are there in a year, about."""

    bins: Bins
    counts: Floats

    def rows(self, rows: Bins) -> Floats:
        found = np.bincount(rows.of(self.bins.lower), self.counts, minlength=rows.count)
        return np.asarray(found, dtype=np.float64)

    def drawn(self, rows: Bins, row: Integers, random: np.random.Generator) -> Integers:
        """Sizes of units that are in given rows: bins as often as usual, and evenly where none is."""
        inside = rows.of(self.bins.lower)[None, :] == np.arange(rows.count)[:, None]
        laws = np.where(inside, np.maximum(self.counts, 0.0)[None, :] + 1e-9, 0.0)
        return self.bins.drawn(pick_from(law_of(laws), row, random), random)
