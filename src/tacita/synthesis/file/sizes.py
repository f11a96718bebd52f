"""How large values are: counts of public cells, and the distribution they let expect. Post-processing only.

Bounds may be wide, and nobody knows beforehand how large values are, nor how many are negative. Cells are octaves on
either side of 0, or equally wide where bounds say about how large values are, as those of dates do. Halving after
halving spends a part of the budget on each level, and what is far out, or on the other side of 0, is not seen by it.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import pairwise
from math import log, sqrt

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from tacita.synthesis.file.columns import Grid, Shape
from tacita.synthesis.file.ends import without_ends

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

_NARROW = 16  # times the smaller bound: up to there cells are equally wide
_EVEN = 64  # cells
_BENDS = (0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0)  # how far (in logarithms) a density bends from octave to octave
_FAR_BENDS = 0.3  # at most, beyond the outermost thresholds, where a little noise would make a second peak
_SLOWEST = 0.5  # from octave to octave, so far out: with a power of 1 or less there would be no mean
_CLEAR = 3.0  # deviations of the noise
_LOOSE_BENDS = 3.0  # at most, where there are no thresholds
_LEVEL = 10.0  # by how much its logarithm may be off what it would be if all octaves were alike
_FALLS = ((0.3, 0.5), (0.0, 0.05))  # by how much faster it falls from octave to octave, and how sure that is
_STEPS = 25
_LONGEST = 1.5  # step, in logarithms
_STILL = 1e-3
_TOLD = 16.0  # squares, in noise, by which counts must be nearer to some density than to 0; noise alone is hardly ever
_APART = 1e-7  # of the records, at least, so that no two shares are one
_EDGE = 0.75  # of a record is beyond an end
_LEAST = 0.25  # of the noise on a cell, and 1 record: beyond what has fewer nothing is told


def is_even(grid: Grid) -> bool:
    """Whether bounds say about how large values are."""
    nearest = min(abs(grid.first), abs(grid.last))
    return grid.first * grid.last > 0 and max(abs(grid.first), abs(grid.last)) <= _NARROW * nearest


def ladder(grid: Grid) -> tuple[int, ...]:
    """The first unit of each cell but the first.

    >>> ladder(Grid(-5, 9, 1.0)), len(ladder(Grid(10_957, 18_627, 1.0)))
    ((-3, -1, 0, 1, 2, 4, 8), 63)
    """
    if is_even(grid):
        cuts = {grid.first + grid.size * k // _EVEN for k in range(1, _EVEN)}
    else:
        powers = [1 << k for k in range(62)]
        cuts = {0, *powers, *(1 - one for one in powers)}
    return tuple(sorted(one for one in cuts if grid.first < one <= grid.last))


def _scale(grid: Grid, edges: Floats) -> Floats:
    """Places on which cells are about equally long."""
    if is_even(grid):
        return np.asarray((edges - grid.first) * (_EVEN / grid.size))
    return np.asarray(np.sign(edges) * np.log2(1 + np.abs(edges)))


def others_of(shape: Shape) -> tuple[float, float]:
    """How many records have a value beside point masses, by those that have none, and its variance."""
    others = max(shape.records - sum(shape.counts) - shape.sizes[-1], 0)
    return float(others), shape.size_noise + len(shape.counts) * shape.tally_noise


@frozen(eq=False)
class _Counted:
    """Noisy counts of what lies between cuts; beyond the first and the last, too, unless all are `ends`."""

    cuts: tuple[int, ...]
    counts: Floats
    noise: float
    ends: bool = False


@lru_cache(maxsize=512)
def distribution_of(shape: Shape, grid: Grid) -> tuple[Floats, Floats]:
    """Units, in order, and the share of values below each: what all counts together make likeliest of a smooth density.

    How much it bends is what makes the counts likeliest. Ends are left out beyond which next to nobody is expected.
    """
    families = [_Counted(ladder(grid), np.array(shape.sizes[:-1], dtype=np.float64), shape.size_noise)]
    if is_even(grid):  # an end where nobody is is no tail
        families[0] = _Counted(families[0].cuts, without_ends(families[0].counts, shape.size_noise), shape.size_noise)
    if shape.thresholds:
        families.append(_Counted(shape.thresholds, np.array(shape.between, dtype=np.float64), shape.noise))
    if shape.finer:
        families.append(
            _Counted(shape.finer_cuts, np.array(shape.finer, dtype=np.float64), shape.finer_noise, ends=True)
        )
    edges = np.array(sorted({grid.first, grid.last + 1, *(one for some in families for one in some.cuts)}))
    sums = [_sums(edges, one) for one in families]
    adding, counts = (np.concatenate([one[k] for one in sums]) for k in (0, 1))
    noise = np.concatenate([np.full(len(one[1]), some.noise) for one, some in zip(sums, families, strict=True)])
    whole, unsure = others_of(shape)
    adding, counts, noise = (
        np.vstack([adding, np.ones(edges.size - 1)]),
        np.append(counts, whole),
        np.append(noise, unsure),
    )
    most = np.full(edges.size - 1, _LOOSE_BENDS)
    if fine := shape.thresholds or shape.finer_cuts:
        between = (edges[:-1] >= min(fine)) & (edges[1:] <= max(fine))
        most = np.where(between, _BENDS[-1], _FAR_BENDS if shape.thresholds else _LOOSE_BENDS)
    places = _scale(grid, edges.astype(np.float64))
    found = _smooth(places, edges, most, adding, counts, np.maximum(noise, 1e-3), _FALLS[is_even(grid)])
    if not found.any():
        return _unknown(grid), np.array([0.25, 0.5, 0.75])
    if not is_even(grid):
        found = _falling(found, places, edges, _told(shape, families[0], grid))
    if is_even(grid):
        found[adding[: len(sums[0][1])].T @ (sums[0][1] == 0) > 0] = 0.0
    reached, total = np.cumsum(found), float(found.sum())
    least = max(1.0, _LEAST * shape.size_noise**0.5)
    told = (reached >= least) & (reached <= total - least)
    told[-1] = False
    if not told.any():
        told[int(np.abs(reached[:-1] - total / 2).argmin())] = True
    if is_even(grid):  # ends are where they were seen
        filled = np.flatnonzero(found)
        told[[max(filled[0] - 1, 0), min(filled[-1], told.size - 2)]] = True
    edge = _EDGE / max(shape.records, 1)
    shares = np.clip(np.cumsum(found / total + _APART)[told], edge, 1 - edge)
    some = np.append(np.diff(shares) > 0, True)
    return edges[1:][told][some].astype(np.float64), shares[some]


def _told(shape: Shape, sizes: _Counted, grid: Grid) -> tuple[int, int]:
    """The outermost units on either side of 0 of which more is known than that noise may stand there."""
    if shape.thresholds:
        return min(shape.thresholds), max(shape.thresholds)
    clear = np.flatnonzero(sizes.counts > min(_CLEAR * sqrt(sizes.noise), float(sizes.counts.max()) - 0.5))
    ends = (grid.first, *sizes.cuts, grid.last + 1)
    return ends[int(clear[0])], ends[int(clear[-1]) + 1]


def _falling(found: Floats, places: Floats, edges: Integers, told: tuple[int, int]) -> Floats:
    """The same where nothing is told of those further out than that they are fewer and fewer: bounds may be so wide
    that one record in a thousand there would weigh more than all others."""
    density, middle = found / np.diff(places), (places[1:] + places[:-1]) / 2
    for k in range(1, density.size):
        if edges[k] >= told[1] > 0:
            density[k] = min(density[k], density[k - 1] * _SLOWEST ** (middle[k] - middle[k - 1]))
    for k in range(density.size - 2, -1, -1):
        if edges[k + 1] <= told[0] < 0:
            density[k] = min(density[k], density[k + 1] * _SLOWEST ** (middle[k + 1] - middle[k]))
    return np.asarray(density * np.diff(places))


def _unknown(grid: Grid) -> Floats:
    """Quartiles of a number of which nothing is known: next to 0, where it does least harm, or all over its bounds."""
    if is_even(grid):
        return np.asarray(grid.first + grid.size * np.array([0.25, 0.5, 0.75]))
    begins = min(max(0, grid.first), grid.last)
    away = 1 if begins + 3 <= grid.last else -1
    return np.sort(begins + away * np.array([1.0, 2.0, 3.0]))


def _sums(edges: Integers, one: _Counted) -> tuple[Floats, Floats]:
    """Which cells each count adds up, and the counts; between two equal cuts is nothing."""
    ends = list(one.cuts) if one.ends else [int(edges[0]), *one.cuts, int(edges[-1])]
    at = np.searchsorted(edges, ends)
    rows, counts = [], []
    for (first, last), count in zip(pairwise(at.tolist()), one.counts.tolist(), strict=True):
        if first < last:
            row = np.zeros(edges.size - 1)
            row[first:last] = 1.0
            rows.append(row)
            counts.append(count)
    return np.array(rows), np.array(counts)


def _smooth(
    places: Floats,
    edges: Integers,
    most: Floats,
    adding: Floats,
    counts: Floats,
    noise: Floats,
    falling: tuple[float, float],
) -> Floats:
    """Records in each cell; none where the counts are next to nothing but noise. Each bends by so much at `most`."""
    wide, middle = np.diff(places), (places[1:] + places[:-1]) / 2
    total = max(float(counts[-1]), 1.0)
    start = np.append(np.full(wide.size, log(total / float(wide.sum()))), falling[0])
    now, found, chances = start, [], []
    for bend in _BENDS:
        prior = _prior(middle, edges, np.minimum(bend, most), falling[1])
        now, evidence = _likeliest(now, start, wide, adding, counts, noise, prior)
        found.append(now[:-1])
        chances.append(evidence)
    weights = np.exp(np.array(chances) - max(chances))
    likely = np.asarray(wide * np.exp(weights @ np.array(found) / weights.sum()))
    told = float(((counts**2 - (counts - adding @ likely) ** 2) / noise).sum())
    return likely if told > _TOLD else np.zeros(wide.size)


def _likeliest(
    now: Floats, start: Floats, wide: Floats, adding: Floats, counts: Floats, noise: Floats, precision: Floats
) -> tuple[Floats, float]:
    """Logarithms of the density and how fast it falls, and how likely all is (as a logarithm)."""

    def off_by(some: Floats) -> float:
        off = adding @ (wide * np.exp(some[:-1])) - counts
        return float((off**2 / noise).sum()) + float((some - start) @ precision @ (some - start))

    least, bent = off_by(now), precision
    for _ in range(_STEPS):
        slopes = np.append(adding * (wide * np.exp(now[:-1])), np.zeros((counts.size, 1)), axis=1)
        bent = slopes.T @ (slopes / noise[:, None]) + precision
        pull = slopes.T @ ((counts - adding @ (wide * np.exp(now[:-1]))) / noise) - precision @ (now - start)
        step = np.linalg.solve(bent, pull)
        step *= min(1.0, _LONGEST / max(float(np.abs(step).max()), 1e-12))
        for _ in range(6):
            then = off_by(now + step)
            if then <= least:
                break
            step /= 2
        else:
            break
        now, least, still = now + step, then, least - then < _STILL
        if still:
            break
    return now, -0.5 * (least + float(np.linalg.slogdet(bent)[1] - np.linalg.slogdet(precision)[1]))


def _prior(middle: Floats, edges: Integers, bends: Floats, fall: float) -> Floats:
    """What a density is before anything was counted, as the precision of its logarithms and of how fast it falls.

    As that of a log-normal number it falls faster and faster, evenly, from which it may bend; and it is on one side of
    0 about in proportion to what it is on the other."""
    size = middle.size
    precision = np.zeros((size + 1, size + 1))
    precision[:size, :size] = np.eye(size) / (_LEVEL**2 * size)
    precision[size, size] = 1 / fall**2
    side = int(np.searchsorted(edges, 0)) if edges[0] < 0 < edges[-1] else 0
    for first, end in ((0, side), (side, size)):
        for k in range(first + 1, end - 1):
            before, after = middle[k] - middle[k - 1], middle[k + 1] - middle[k]
            row = np.zeros(size + 1)
            row[k - 1 : k + 2] = 1 / before, -1 / before - 1 / after, 1 / after
            row[size] = (before + after) / 2
            precision += np.outer(row, row) / (bends[k] ** 2 * (before + after) / 2)
    away = _mirrored(middle, side)
    for (k, one), (j, two) in pairwise(away):
        precision[:size, :size] += np.outer(two - one, two - one) / (bends[k] ** 2 * (middle[j] - middle[k]))
    return precision


def _mirrored(middle: Floats, side: int) -> list[tuple[int, Floats]]:
    """Of each cell below 0 (there are so many), its density less that of values as large above 0."""
    rows, above = [], middle[side:]
    for k in range(side):
        size = -middle[k]
        if size <= above[-1]:
            row = np.zeros(middle.size)
            row[k] = 1.0
            at = min(max(int(np.searchsorted(above, size)), 1), above.size - 1)
            share = min(max((size - above[at - 1]) / (above[at] - above[at - 1]), 0.0), 1.0)
            row[side + at - 1] -= 1 - share
            row[side + at] -= share
            rows.append((k, row))
    return rows
