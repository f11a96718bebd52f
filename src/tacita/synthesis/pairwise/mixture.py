"""A mixture of unrelated attributes that fits the measured pairs: where records start, and what tempers the noise.

Post-processing only. With shares P (classes × levels of all attributes) and class weights w, all two-way tables of the
mixture are the one product Pᵀ·diag(w)·P, so a gradient step costs one small matrix product, whatever the number of
records. A few classes carry what pairs have in common, including most of what three attributes share; noise has no
such structure, so the fit removes part of it. The more noise, the fewer classes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tacita.synthesis.pairwise.targets import Targets, shares_of

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

_CLASSES = (3, 6, 12, 24)
_STEPS = 400
_PACE = 0.05
_SMALLEST = 1e-4
_SCATTER = 0.05
_SMALL = 5  # numbers of a table
_LEAST_LEFT = 0.2  # of the noise, where the mixture has more parameters than was measured
_RAKES = 5
_TINY = 1e-12
_GUESS = 0.1  # weight of a pair that was not measured, beside the lightest that was


@dataclass(frozen=True, eq=False)
class Mixture:
    """Class weights and, in each class, the shares of the levels of every attribute."""

    weights: Floats
    shares: Floats

    @property
    def pairs(self) -> Floats:
        """Shares of all pairs of levels."""
        return np.asarray((self.shares * self.weights[:, None]).T @ self.shares)

    def freedom(self, targets: Targets) -> int:
        """How many numbers describe it."""
        return int(self.weights.size * (1 + (targets.levels - 1).sum()) - 1)

    @property
    def ones(self) -> Floats:
        return np.asarray(self.weights @ self.shares)

    def draw(self, targets: Targets, rows: int, random: np.random.Generator) -> Integers:
        """Records: as many of each class as its weight says, values drawn within it."""
        place = (np.arange(rows) + 0.5) / rows
        member = np.minimum(np.searchsorted(np.cumsum(self.weights), place), self.weights.size - 1)
        columns = []
        for a in range(targets.levels.size):
            reached = np.cumsum(self.shares[:, targets.span(a)], axis=1)[member]
            columns.append(np.minimum((random.random(rows)[:, None] > reached).sum(axis=1), targets.levels[a] - 1))
        return np.ascontiguousarray(np.column_stack(columns).astype(np.int64))


def fit_mixture(targets: Targets, rows: int, random: np.random.Generator) -> Mixture:
    """As many classes as the measured numbers bear out against their noise: Akaike's criterion, variances known."""
    best = _fitted(targets, rows, _CLASSES[0], random)
    least = _criterion(targets, best, rows)
    for classes in _CLASSES[1:]:
        more = _fitted(targets, rows, classes, random)
        if (here := _criterion(targets, more, rows)) >= least:
            break
        best, least = more, here
    return best


def _criterion(targets: Targets, mixture: Mixture, rows: int) -> float:
    return _misfit(targets, mixture, rows) + 2 * mixture.freedom(targets)


def _misfit(targets: Targets, mixture: Mixture, rows: int) -> float:
    """Squared deviations from all that was measured, in variances of its noise."""
    one_weight = np.repeat(targets.one_step, targets.levels)
    found = float((one_weight * (targets.ones - mixture.ones * rows) ** 2).sum())
    pairs = mixture.pairs * rows
    for (a, b), values in targets.measured.items():
        off = values - targets.numbers(a, b, pairs[targets.span(a), targets.span(b)])
        found += float(targets.step[a, b] * (off**2).sum())
    return found * targets.scale


def _fitted(targets: Targets, rows: int, classes: int, random: np.random.Generator) -> Mixture:
    """Weighted least squares by gradient steps with momentum (Adam), from classes scattered around the margins."""
    wanted, weight, margins = _shares(targets, rows)
    one_weight = np.repeat(targets.one_step, targets.levels)
    starts, owner = targets.starts[:-1], np.repeat(np.arange(targets.levels.size), targets.levels)
    # Classes differ in nothing but attributes of which a pair was measured.
    linked = {a for pair in targets.measured for a in pair}
    apart = np.repeat([_SCATTER * (a in linked) for a in range(targets.levels.size)], targets.levels)
    tops = np.log(np.maximum(margins, _SMALLEST)) + apart * random.normal(size=(classes, margins.size))
    sizes = np.zeros(classes)
    memory = [(np.zeros_like(one), np.zeros_like(one)) for one in (tops, sizes)]
    found = Mixture(_softmax(sizes), _softmax(tops, starts, owner))
    for step in range(1, _STEPS + 1):
        off = weight * (found.pairs - wanted)
        one_off = one_weight * (found.ones - margins)
        pull = found.shares @ off
        by_share = (2 * pull + one_off) * found.weights[:, None]
        by_weight = (pull * found.shares).sum(axis=1) + found.shares @ one_off
        mean = np.add.reduceat(by_share * found.shares, starts, axis=1)[:, owner]
        gradients = (found.shares * (by_share - mean), found.weights * (by_weight - by_weight @ found.weights))
        for one, gradient, (first, second) in zip((tops, sizes), gradients, memory, strict=True):
            first += 0.1 * (gradient - first)
            second += 0.01 * (gradient**2 - second)
            one -= _PACE * (first / (1 - 0.9**step)) / (np.sqrt(second / (1 - 0.99**step)) + 1e-12)
        found = Mixture(_softmax(sizes), _softmax(tops, starts, owner))
    return found


def tempered(targets: Targets, mixture: Mixture, rows: int) -> Targets:
    """Pairs between what was measured and what the mixture says, the nearer to the latter the less is left to explain.

    Where the mixture says it all, a table of n numbers is off by about n variances of the noise, less what the fit has
    followed of the noise itself. What exceeds that is real: the share that is kept of each deviation is James and
    Stein's. Small tables share one estimate. One-way tables stay as measured.
    """
    pairs, found = mixture.pairs * rows, targets.copy()
    smooth = {(a, b): targets.numbers(a, b, pairs[targets.span(a), targets.span(b)]) for a, b in targets.tables}
    off = {
        (a, b): _Off(targets.step[a, b] * targets.scale * float(((values - smooth[a, b]) ** 2).sum()), values.size)
        for (a, b), values in targets.measured.items()
    }
    numbers = targets.ones.size + sum(one.numbers for one in off.values())
    left = max(1 - mixture.freedom(targets) / numbers, _LEAST_LEFT)
    few = [one for one in off.values() if one.numbers < _SMALL]
    small = _Off(sum(one.squares for one in few), sum(one.numbers for one in few))
    for pair, values in targets.measured.items():
        here = small if off[pair].numbers < _SMALL else off[pair]
        found.tables[pair] = np.asarray(smooth[pair] + here.real(left) * (values - smooth[pair]))
    return found


class _Off(NamedTuple):
    """Squared deviations in variances of the noise, and of how many numbers."""

    squares: float
    numbers: int

    def real(self, left: float) -> float:
        return max(0.0, 1 - left * self.numbers / self.squares) if self.squares > 0 else 0.0


def _shares(targets: Targets, rows: int) -> tuple[Floats, Floats, Floats]:
    """Measured pairs as shares, with weights; a contrast becomes a table by its margins."""
    width = int(targets.starts[-1])
    wanted, weight, margins = np.zeros((width, width)), np.zeros((width, width)), np.zeros(width)
    for a in range(targets.levels.size):
        margins[targets.span(a)] = shares_of(targets.ones[targets.span(a)])
    for (a, b), values in targets.tables.items():
        free, cells = np.outer(margins[targets.span(a)], margins[targets.span(b)]), targets.cells(a, b)
        table = free + targets.spread(a, b, values / rows - targets.numbers(a, b, free)) / cells
        size = cells * targets.step[a, b]
        for one, two, block in ((a, b, table), (b, a, table.T)):
            wanted[targets.span(one), targets.span(two)] = block
            weight[targets.span(one), targets.span(two)] = size
    return wanted, weight, margins


def completed(targets: Targets, rows: int) -> Targets:
    """Targets with a guess, of little weight, for every pair that was not measured.

    Without it the few classes would tie together attributes that have nothing to do with each other.
    """
    if not targets.tables:
        return targets
    wanted, weight, margins = _shares(targets, rows)
    light, found = _GUESS * float(weight[weight > 0].min()), targets.copy()
    for (a, b), table in _unmeasured(targets, wanted, margins).items():
        raked = _raked(table, margins[targets.span(a)], margins[targets.span(b)])
        found.set_pair(a, b, raked * rows, light, False)
        found.guessed.add((a, b))
    return found


def _unmeasured(targets: Targets, wanted: Floats, margins: Floats) -> dict[tuple[int, int], Floats]:
    """What the strongest measured pairs, as a tree, say about the other pairs: unrelated where nothing links them."""
    spans = [targets.span(a) for a in range(targets.levels.size)]
    free = np.outer(margins, margins)
    strength = {(a, b): float(np.abs(wanted - free)[spans[a], spans[b]].sum()) for a, b in targets.tables}
    links: list[list[int]] = [[] for _ in spans]
    group = list(range(len(spans)))
    for a, b in sorted(strength, key=lambda pair: -strength[pair]):
        if (old := group[a]) != (new := group[b]):
            group = [new if one == old else one for one in group]
            links[a].append(b)
            links[b].append(a)
    found = {}
    for a in range(len(spans)):
        reached, todo = {a: np.diag(margins[spans[a]])}, [a]
        while todo:
            via = todo.pop()
            for b in links[via]:
                if b not in reached:
                    step = np.maximum(wanted[spans[via], spans[b]], 0) + _SMALLEST * free[spans[via], spans[b]] + _TINY
                    reached[b] = reached[via] @ (step / step.sum(axis=1, keepdims=True))
                    todo.append(b)
        for b in range(a + 1, len(spans)):
            if (a, b) not in targets.tables:
                found[a, b] = reached.get(b, free[spans[a], spans[b]])
    return found


def _raked(table: Floats, rows: Floats, columns: Floats) -> Floats:
    """The table with these margins, nearly: a guess must not pull at what was measured of single attributes."""
    for _ in range(_RAKES):
        table = table * (columns / np.maximum(table.sum(axis=0), _TINY))
        table = table * (rows / np.maximum(table.sum(axis=1), _TINY))[:, None]
    return table


def _softmax(values: Floats, starts: Integers | None = None, owner: Integers | None = None) -> Floats:
    """Shares along the last axis, or within each of its pieces; `owner` is the piece of every place."""
    if starts is None or owner is None:
        starts, owner = np.zeros(1, dtype=np.int64), np.zeros(values.shape[-1], dtype=np.int64)
    held = np.exp(values - np.maximum.reduceat(values, starts, axis=-1)[..., owner])
    return np.asarray(held / np.add.reduceat(held, starts, axis=-1)[..., owner])
