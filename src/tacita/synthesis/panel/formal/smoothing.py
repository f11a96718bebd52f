"""Post-processing of released numbers: laws from noisy counts, and series from noisy years."""

from __future__ import annotations

import numpy as np
from scipy.special import ndtr, ndtri

from tacita.agreement.trees import onto_simplices
from tacita.synthesis.panel.formal.lattice import Floats, Integers

_FEW = 6  # years through which no line is drawn


def smoothed(
    values: Floats, spread: Floats, most: float | None = None, random: np.random.Generator | None = None
) -> tuple[Floats, Floats]:
    """A series that moves as a random walk around a line, given noisy values with known standard deviations; and what
    stays open.

    How far it moves from year to year is what the values make most likely, but at most a share `most` of its mean.
    With a generator the series is drawn from all that fit, instead of their middle.

    >>> found, open_ = smoothed(np.array([10.0, 30.0, 20.0, 40.0]), np.full(4, 50.0))
    >>> bool(np.ptp(found) < 10), bool((open_ < 50).all())
    (True, True)
    """
    noise = np.asarray(spread, dtype=np.float64) ** 2
    line, slack = _line(values, noise)
    apart = values - line
    top = max(float(np.var(np.diff(apart))), 1e-12) if len(values) > 1 else 1e-12
    if most is not None:
        top = min(top, (most * float(np.abs(values).mean())) ** 2 / 2)
    walks = top * np.concatenate([[1e-6], np.geomspace(1e-3, 2.0, 25)])
    best = max(walks, key=lambda walk: _filtered(apart, noise, walk)[2])
    mean, variance = _both_ways(apart, noise, best)
    mean = mean + line
    if random is not None:
        # What smoothing misses of a series made in the same way is what it leaves open of this one.
        other = np.cumsum(np.sqrt(best) * random.standard_normal(len(values)))
        again = other + spread * random.standard_normal(len(values))
        line = _line(again, noise)[0]
        mean = mean + other - line - _both_ways(again - line, noise, best)[0]
    return mean, np.sqrt(np.maximum(variance, 0) + slack)


def _line(values: Floats, noise: Floats) -> tuple[Floats, Floats]:
    """The line through noisy values, and the variance that noise in its slope leaves; of few values their mean.

    A sum that grows by a few percent every year would else be taken for one that wanders as far as it grows.
    """
    weight = 1 / np.maximum(noise, max(1e-6 * float(noise.max()), 1e-300))
    weight /= weight.sum()
    mean = float(weight @ values)
    if len(values) < _FEW:
        return np.full(len(values), mean), np.zeros(len(values))
    place = np.arange(len(values), dtype=np.float64)
    place -= float(weight @ place)
    spread = float(weight @ place**2)
    slack = float((weight**2 * place**2) @ noise) / spread**2
    line = mean + place * (float(weight @ (place * values)) / spread)
    return np.asarray(line, dtype=np.float64), np.asarray(place**2 * slack, dtype=np.float64)


def _both_ways(values: Floats, noise: Floats, walk: float) -> tuple[Floats, Floats]:
    """Means and variances given all years: Rauch, Tung and Striebel."""
    mean, variance, _ = _filtered(values, noise, walk)
    for at in range(len(values) - 2, -1, -1):
        gain = variance[at] / max(variance[at] + walk, 1e-300)
        mean[at] += gain * (mean[at + 1] - mean[at])
        variance[at] += gain**2 * (variance[at + 1] - variance[at] - walk)
    return mean, variance


def _filtered(values: Floats, noise: Floats, walk: float) -> tuple[Floats, Floats, float]:
    mean, variance = np.zeros(len(values)), np.zeros(len(values))
    now, doubt, likelihood = float(values[0]), float(noise[0]), 0.0
    mean[0], variance[0] = now, doubt
    for at in range(1, len(values)):
        doubt += walk
        off, total = float(values[at]) - now, doubt + float(noise[at])
        likelihood -= 0.5 * (np.log(max(total, 1e-300)) + off**2 / max(total, 1e-300))
        gain = doubt / max(total, 1e-300)
        now, doubt = now + gain * off, doubt * (1 - gain)
        mean[at], variance[at] = now, doubt
    return mean, variance, likelihood


def wandering(
    values: Floats,
    spread: Floats,
    usual: float,
    random: np.random.Generator | None = None,
    times: Floats | None = None,
) -> tuple[Floats, Floats]:
    """A series of unknown level that moves by about `usual` from year to year, or so many `times` that, unless noisy
    values clearly say otherwise; and what stays open. With a generator it is drawn from all that fit.

    >>> mean, open_ = wandering(np.array([1.0, 9.0, 2.0]), np.full(3, 10.0), 0.05)
    >>> bool(np.ptp(mean) < 0.1), bool((open_ > 1).all())
    (True, True)
    """
    count = len(values)
    passed = np.append(0.0, np.cumsum(np.ones(count - 1) if times is None else times**2))
    walk = np.minimum(passed[:, None], passed[None, :])
    level = (10 * (float(np.abs(values).max()) + float(np.max(spread)))) ** 2
    best, least = (np.zeros(count), np.zeros((count, count))), np.inf
    for step in usual * 2.0 ** np.arange(-2, 5):
        prior = level + step**2 * walk
        both = prior + np.diag(np.maximum(spread, 1e-6) ** 2)
        solved = np.linalg.solve(both, np.column_stack([values, prior]))
        unlikely = float(values @ solved[:, 0]) + float(np.linalg.slogdet(both)[1]) + np.log(step / usual) ** 2
        if unlikely < least:
            least, best = unlikely, (prior @ solved[:, 0], prior - prior @ solved[:, 1:])
    mean, open_ = best
    if random is not None:
        size, ways = np.linalg.eigh((open_ + open_.T) / 2)
        mean = mean + ways @ (np.sqrt(np.maximum(size, 0)) * random.standard_normal(count))
    return mean, np.sqrt(np.maximum(np.diag(open_), 0))


def joint(one: float, doubt: float, other: float, open_: float) -> tuple[float, float]:
    """Two estimates of a number, each with the weight that its standard deviation leaves it; and what stays open."""
    both = max(doubt**2 + open_**2, 1e-300)
    return one + doubt**2 / both * (other - one), doubt * open_ / both**0.5


def counts_of(noisy: Integers, spread: float, random: np.random.Generator | None, total: float | None = None) -> Floats:
    """Counts that are not negative, slice by slice of the last axis: the nearest with the slice's total.

    With a generator they are `varied`.
    """
    flat = noisy.reshape(-1, noisy.shape[-1]).astype(np.float64)
    group = np.repeat(np.arange(len(flat)), flat.shape[1])
    totals = np.maximum(flat.sum(axis=1), 0.0) if total is None else np.full(len(flat), total)
    found = onto_simplices(flat.ravel(), group, totals)
    if random is not None:
        found = onto_simplices(varied(found, spread, random), group, totals)
    return found.reshape(noisy.shape)


def towards(own: Floats, parent: Floats, spread: float) -> Floats:
    """Counts of each slice moved towards the parent's law as far as they differ from it by no more than noise.

    `parent` is one law, or one for each slice. The weights are those of James and Stein.
    """
    law = parent / np.maximum(parent.sum(axis=-1, keepdims=True), 1e-300)
    expected = own.sum(axis=-1, keepdims=True) * law
    noise = own.shape[-1] * spread**2
    apart = ((own - expected) ** 2).sum(axis=-1, keepdims=True)
    keep = np.maximum(apart - noise, 0) / np.maximum(apart, 1e-300)
    return np.asarray(keep * own + (1 - keep) * expected)


def law_of(counts: Floats) -> Floats:
    """Shares along the last axis; even ones where nothing is there."""
    held = np.maximum(counts, 0.0)
    total = held.sum(axis=-1, keepdims=True)
    return np.asarray(np.where(total > 0, held / np.maximum(total, 1e-300), 1 / counts.shape[-1]))


def pick_from(laws: Floats, row: Integers, random: np.random.Generator) -> Integers:
    """One code for each unit, from the law of its row; rows are handled together, so no unit needs a copy."""
    steps = np.cumsum(laws, axis=1)
    steps /= steps[:, -1:]
    ladder = (steps + np.arange(len(laws))[:, None]).ravel()
    found = np.searchsorted(ladder, row + random.random(len(row)), side="right") - row * laws.shape[1]
    return np.asarray(np.clip(found, 0, laws.shape[1] - 1), dtype=np.int64)


_CLEAR = 4.0  # standard deviations of its noise by which the end of a law must stand out
_FALL = (0.8, 40.0)  # exponents of a tail
_OPEN = 2.0  # standard deviations by which a cell may hold more than was counted


def with_tail(
    noisy: Floats, spread: float, edges: Floats, parent: Floats | None = None, *, normal: bool = False
) -> Floats:
    """Counts of one slice, none negative, whose end is taken from elsewhere where only noise is left of it.

    The last cells hold few units of great weight, so noise in them must not count. From the last place on whose
    remainder stands out from its noise, that remainder goes on as the cells before it fell off: by a power of `edges`,
    the lower ends of the cells, or as logarithms of a normal variable do. Where that is unknown it has the parent's
    shape.

    >>> with_tail(np.array([900.0, 90.0, 9.0, 3.0, -4.0]), 4.0, np.array([1.0, 10, 100, 1000, 10000])).round(1).tolist()
    [900.0, 88.4, 8.7, 0.9, 0.1]
    """
    size = len(noisy)
    if not size:
        return np.zeros(0)
    rest = np.cumsum(noisy[::-1])[::-1]
    doubt = spread * np.sqrt(np.arange(size, 0, -1))
    hidden = np.flatnonzero(rest < _CLEAR * doubt)
    start = max(int(hidden[0]) - 1, 0) if len(hidden) else size - 1
    total = max(float(rest[0]), 0.0)
    remainder = min(max(float(rest[start]), 0.0), total) if start else total
    shape = _extended(rest, start, edges, normal)
    if shape is None:
        shape = np.eye(1, size - start)[0] if parent is None else law_of(parent[start:])
    body = onto_simplices(noisy[:start], np.zeros(start, dtype=np.int64), np.array([total - remainder]))
    # What is carried on is no more than counts leave open; where they are clear, nothing is.
    less = float(np.exp(-(2**0.5) / spread))
    room = min(_OPEN * spread, 2 * less / (1 - less))  # of whole numbers, little noise hides none
    end = np.minimum(remainder * shape, np.maximum(noisy[start:], 0.0) + room)
    end[0] += remainder - float(end.sum())
    return np.concatenate([body, end])


def outwards(noisy: Floats, spread: float, middle: int, distance: Floats) -> Floats:
    """Counts of slices that fall off on both sides of a middle cell; shrunk towards all slices together, with
    ends as in `with_tail`. `distance` are those of the cells from the middle, on a scale of logarithms.
    """
    found, pooled, joint = np.zeros(noisy.shape), noisy.sum(axis=0), np.zeros(noisy.shape[1])
    edges = np.exp(distance)
    for cells in (np.arange(middle)[::-1], np.arange(middle, noisy.shape[1])):
        parent = with_tail(pooled[cells], spread * len(noisy) ** 0.5, edges[cells])
        for row, one in enumerate(noisy):
            found[row, cells] = with_tail(one[cells], spread, edges[cells], parent)
        joint[cells] = parent
    # A slice of which nothing stands out has the law of all.
    return towards(found, joint, spread) + 1e-6 * joint


def varied(counts: Floats, spread: float, random: np.random.Generator | None) -> Floats:
    """Counts drawn around estimated ones, as far as noise and size leave them open; the same without a generator.

    A large count moves by the standard deviation of its noise, a small one by the square root of itself, and each has
    its estimate as its mean: a gamma law, so that an almost empty cell at the far end does not grow on average.
    """
    if random is None:
        return counts
    tight = 1 + np.maximum(counts, 0.0) / spread**2
    return np.asarray(random.gamma(np.maximum(counts, 0.0) * tight) / tight)


def _extended(rest: Floats, start: int, edges: Floats, normal: bool) -> Floats | None:
    """Shares of the cells from `start` on, from how fast the counts fell off before it; None where that is unknown."""
    cells = len(rest) - start
    ahead = np.flatnonzero((rest[:start] >= 4 * rest[start]) & (edges[:start] > 0))
    if cells == 1 or not len(ahead) or rest[start] <= 0:
        return None
    begin = int(ahead[-1])
    apart = np.log(edges[start] / edges[begin])
    away = np.log(edges[start:] / edges[start])
    if normal:
        ends = ndtri(np.clip(1 - rest[[begin, start]] / rest[0], 1e-9, 1 - 1e-9))
        beyond = 1 - ndtr(ends[1] + max(float(ends[1] - ends[0]), 0.05) / apart * away)
        beyond = beyond / beyond[0]
    else:
        fall = min(max(float(np.log(rest[begin] / rest[start])) / apart, _FALL[0]), _FALL[1])
        beyond = np.exp(-fall * away)
    return np.asarray(-np.diff(np.append(beyond, 0.0)))


def balanced_cap(caps: Integers, covered: Floats, noise: Floats, doubt: float) -> int:
    """The clamp for which noise and what it hides, known to within a share `doubt`, are least together."""
    hidden = covered[-1] - covered
    return int(caps[np.argmin(noise**2 + (doubt * hidden) ** 2)])
