"""How many units have each life, and how many are there in each year, from released counts. Post-processing only.

Those that begin and those that end in a year are counted by themselves. Summed over the table of all lives they would
have the noise of all its cells.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from tacita.agreement.trees import onto_simplices
from tacita.synthesis.panel.formal.budget import weight_of
from tacita.synthesis.panel.formal.lattice import Bins, Floats, Integers
from tacita.synthesis.panel.formal.released import Noisy, size_counts
from tacita.synthesis.panel.formal.smoothing import towards, wandering
from tacita.synthesis.panel.formal.sums import yearly_law
from tacita.synthesis.panel.formal.units import alive, most_of
from tacita.synthesis.panel.layout import Layout
from tacita.synthesis.panel.predictors import Flags

_CLEAR = 4.0  # standard deviations by which a year differs from the others
_SURELY = 3.0  # the same for all gaps together
_USUAL = 0.05  # how far the share of units that are away moves in a year, where noise hides it
_MOST_AWAY = 0.95
_ENTERING = 0.5  # how large those that enter usually are, beside the others
_ROUNDS = 200  # of fitting a table to its margins; seldom are more than a few needed


def possible_lives(layout: Layout) -> Flags:
    first = np.arange(layout.first.levels)[:, None] + layout.first.lower
    last = np.arange(layout.last.levels)[None, :] + layout.last.lower
    return np.asarray(last >= first)


def life_counts(
    found: Mapping[str, Noisy], layout: Layout, units: int, random: np.random.Generator | None = None
) -> Floats:
    """Units by first and last year; with a generator drawn from what the noise leaves open, with the same mean."""
    noisy, possible = found["lives"], possible_lives(layout)
    own = np.where(possible, noisy.values, 0).astype(np.float64)
    begun = _of_years(found["lives begun"], own, noisy.spread * possible.sum(axis=1) ** 0.5, units, 0, random)
    ended = _of_years(found["lives ended"], own.T, noisy.spread * possible.sum(axis=0) ** 0.5, units, -1, random)
    alike = _fitted(possible.astype(np.float64), begun, ended)
    cells = towards(own[possible], alike[possible], noisy.spread)
    start = np.zeros(own.shape)
    # No life is ruled out that the margins may need.
    start[possible] = np.maximum(cells, 0.0) + 1e-3 * alike[possible] + 1e-9
    return _fitted(start, begun, ended)


def units_there(found: Mapping[str, Noisy], layout: Layout, units: int) -> Floats:
    """Units with a row in each year. Earlier measurements, and made-up ones, have the table of lives alone."""
    told = life_counts(found, layout, units) if "lives begun" in found else found["lives"].values
    return np.asarray(alive(layout, told) - within_lives(layout, told) * gap_shares(found, layout, units)[0])


def gap_shares(
    found: Mapping[str, Noisy], layout: Layout, units: int, random: np.random.Generator | None = None
) -> tuple[Floats, float]:
    """Of the units within their lives, the share that is away in each year; and of those that may have been away the
    year before, too, the share that was. None are where noise may have made them up. With a generator drawn from what
    the noise leaves open."""
    nobody = np.zeros(len(layout.years))
    if "gaps" not in found:
        return nobody, 0.0
    noisy = found["gaps"]
    each, (going, staying) = noisy.values[:-2].astype(np.float64), noisy.values[-2:].tolist()
    if going + staying < _SURELY * noisy.spread * 2**0.5:
        return nobody, 0.0
    # All years together are known twice; better where they were counted together.
    each += (going + staying - float(each.sum())) / (2 + len(each))
    weights = np.maximum(within_lives(layout, life_counts(found, layout, units), weighted=True)[1:-1], 1.0)
    shares, _ = wandering(each / weights, noisy.spread / weights, _USUAL, random)
    nobody[1:-1] = np.clip(shares, 0, _MOST_AWAY)
    away = nobody[1:-1] * weights
    return nobody, float(np.clip(staying / max(float(np.minimum(away[1:], away[:-1]).sum()), 1.0), 0, 1))


def within_lives(layout: Layout, lives: Floats | Integers, *, weighted: bool = False) -> Floats:
    """Units for which a year is neither the first nor the last that is seen, from a table of first and last years."""
    first = np.maximum(np.arange(layout.first.levels) + layout.first.lower, layout.years[0])[:, None]
    last = np.minimum(np.arange(layout.last.levels) + layout.last.lower, layout.years[-1])[None, :]
    held = np.where(last > first, lives, 0) * 1.0
    if weighted:
        held *= np.vectorize(weight_of)(np.maximum(last - first, 0))
    return np.array([held[(first < year) & (year < last)].sum() for year in layout.years])


def usual_sizes(found: Mapping[str, Noisy], layout: Layout, units: int, hidden: bool) -> Floats:
    """About how many units of each bin of sizes are there in a year, if sizes stayed as they were first."""
    laws = first_sizes(found, layout, units, hidden).sum(axis=0)
    held = units_there(found, layout, units).mean() / max(float(laws.sum()), 1.0)
    return np.asarray(laws * max(float(held), 0.0))


def first_sizes(found: Mapping[str, Noisy], layout: Layout, units: int, hidden: bool) -> Floats:
    """Released first sizes of those that enter and of those there before. Where noise has hidden most of them, they are
    moved towards what octaves of all years tell: those there before are as large, those that enter half as large."""
    bins, noisy = Bins.sizes(most_of(layout, 0)), found["sizes"]
    if not hidden:
        return size_counts(noisy, bins)
    counts = found[f"octaves {layout.yearly[0].name}"]
    life = float(units_there(found, layout, units).sum()) / max(units, 1)
    each, often = yearly_law(counts, units, min(max(life, 1.0), float(len(layout.years))))
    sizes = np.zeros((2, bins.count))
    for kind, (own, smaller) in enumerate(zip(noisy.values.astype(np.float64), (_ENTERING, 1.0), strict=True)):
        where = bins.of(np.clip(each * smaller, 1, bins.most))
        parent = np.asarray(np.bincount(where, often, minlength=bins.count), dtype=np.float64)
        # A sum below 0 tells that there are few.
        own[-1] += max(1.0 - float(own.sum()), 0.0)
        sizes[kind] = np.maximum(towards(own, parent, noisy.spread), 0.0)
    return sizes


def _of_years(
    counted: Noisy, lives: Floats, open_: Floats, units: int, edge: int, random: np.random.Generator | None
) -> Floats:
    """Units that begin, or end, in each year: as counted, and as the table of lives has them. The year at the `edge`
    of the panel holds those whose beginning or end is not seen; the others are like each other where noise hides how
    they differ."""
    trust = open_**2 / (open_**2 + counted.spread**2)
    both = trust * counted.values + (1 - trust) * lives.sum(axis=1)
    spread = np.sqrt(trust) * counted.spread
    inner = np.arange(len(both)) != edge % len(both)
    both[inner] = _alike(both[inner], spread[inner])
    middle = onto_simplices(both, np.zeros(len(both), dtype=np.int64), np.array([float(units)]))
    if random is None:
        return middle
    # A gamma law is not negative and keeps its mean.
    shape = (np.maximum(middle, 1e-6) / spread) ** 2
    drawn = random.gamma(shape) / shape * np.maximum(middle, 1e-6)
    return np.asarray(drawn * units / max(float(drawn.sum()), 1e-9))


def _alike(values: Floats, spread: Floats) -> Floats:
    """Years moved towards their mean, as James and Stein have it; those that stand out stay, and count for no other.

    >>> _alike(np.array([60.0, 4.0, -3.0, 2.0]), np.full(4, 5.0)).round(1).tolist()
    [60.0, 1.0, 1.0, 1.0]
    """
    plain = np.ones(len(values), dtype=bool)
    for _ in range(len(values)):
        middle = float(np.median(values[plain]))
        away = np.where(plain, np.abs(values - middle) / spread, 0.0)
        if plain.sum() < 3 or away.max() < _CLEAR:
            break
        plain[int(away.argmax())] = False
    if plain.sum() < 3:
        return values
    own, doubt = values[plain], spread[plain]
    mean = max(float(own.mean()), 0.0)
    apart = float(((own - mean) ** 2).sum())
    keep = max(apart - float((doubt**2).sum()), 0.0) / max(apart, 1e-300)
    moved = values.copy()
    moved[plain] = mean + keep * (own - mean)
    return moved


def _fitted(table: Floats, rows: Floats, columns: Floats) -> Floats:
    """The table with these margins, as near as its zeros allow; rows are met exactly."""
    for _ in range(_ROUNDS):
        sums = table.sum(axis=0)
        table = table * np.where(sums > 0, columns / np.maximum(sums, 1e-300), 0.0)
        sums = table.sum(axis=1, keepdims=True)
        off = float(np.abs(sums[:, 0] - rows).max())
        table = table * np.where(sums > 0, rows[:, None] / np.maximum(sums, 1e-300), 0.0)
        if off < 0.01:
            break
    return table
