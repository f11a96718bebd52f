"""Which attribute a node is split by: elected with noise, or by a rule that sees no record. Proof: steps.md.

How much an attribute tells apart: the deviance of its one-way table, in whole units, by whole-number arithmetic.

Half the deviance of the one-way loglinear model against equal frequencies, for counts n_1 … n_K with sum n, is
Σ n_k ln n_k − n ln n + n ln K. x ln x is replaced by a convex function that is linear between public breakpoints, with
whole slopes (64 units to one), so that what one record changes is a whole number with known bounds: no rounding error
of the confidential data needs to be covered. The slopes end at a public cap, so they are bounded at any n.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from tacita.data import rowwise
from tacita.noise.discrete import discrete_laplace
from tacita.noise.entropy import Entropy, Request
from tacita.noise.forcing import settles
from tacita.privacy import text
from tacita.synthesis.comparison.steps.model import LEAF
from tacita.synthesis.domain import FREE, Codes, Domain, Flags, Integers

UNITS = 64  # to one unit of half the deviance
_DENSE = 4096  # every whole number up to here is a breakpoint
LARGEST_CAP = 1 << 40


def _breakpoints() -> Integers:
    grown = _DENSE * (1 + 1 / 256) ** np.arange(1, 1 + int(np.ceil(256 * np.log(LARGEST_CAP / _DENSE) * 1.01)))
    return np.unique(np.concatenate((np.arange(_DENSE), np.ceil(grown).astype(np.int64))))


def _slopes(points: Integers) -> Integers:
    """(x + 1) ln(x + 1) − x ln x in whole units; never falling."""
    x = points.astype(np.float64)
    steps = np.log1p(x) + x * np.log1p(1 / np.maximum(x, 1)) * (x > 0)
    return np.asarray(np.maximum.accumulate(np.rint(UNITS * steps).astype(np.int64)))


_POINTS = _breakpoints()
_SLOPES = _slopes(_POINTS)
_REACHED = np.concatenate(([0], np.cumsum(_SLOPES[:-1] * np.diff(_POINTS))))


def _piece(x: Integers) -> Integers:
    return np.asarray(np.searchsorted(_POINTS, x, side="right") - 1)


def steepest(cap: int) -> int:
    """The most that one record adds to `x_log_x` under this cap.

    >>> steepest(1) / UNITS, steepest(1 << 16) / UNITS
    (1.390625, 12.09375)
    """
    return int(_SLOPES[_piece(np.array([min(cap, LARGEST_CAP)]))[0]])


def x_log_x(x: Integers, cap: Integers | int) -> Integers:
    """x ln x in whole units; from the cap on, a straight line of the slope reached there.

    >>> (x_log_x(np.array([0, 1, 10, 1000]), 1 << 20) / UNITS).round(1).tolist()
    [0.0, 0.0, 23.0, 6907.8]
    """
    cap = np.minimum(cap, LARGEST_CAP)
    held = np.minimum(x, cap)
    at = _piece(held)
    value = _REACHED[at] + (held - _POINTS[at]) * _SLOPES[at]
    return np.asarray(value + (x - held) * _SLOPES[_piece(cap)])


def log_units(levels: Integers) -> Integers:
    """ln K in whole units."""
    return np.asarray(np.rint(UNITS * np.log(np.maximum(levels, 1))).astype(np.int64))


def widest(cap: int, sizes: tuple[int, ...], *, with_stop: bool) -> int:
    """How far apart one record can move two candidates of one election, in units.

    A record adds between ln K and ln K + (slope at the cap) to the score of an attribute with K levels, and between 0
    and the slope to that of stopping. K lies between 2 and the largest number of levels.
    """
    smallest, largest = log_units(np.array([2, max(*sizes, 2)], dtype=np.int64)).tolist()
    return int(steepest(cap) + largest - (0 if with_stop else smallest))


def one_way(table: Integers, levels: Integers, cap: Integers, *, aic: bool) -> Integers:
    """Half the deviance, plus what is the same for every attribute of the node; one row per node."""
    flat = table.ravel()
    value = np.zeros(flat.size, dtype=np.int64)
    full = np.flatnonzero(flat)
    value[full] = x_log_x(flat[full], cap[full // table.shape[1]])
    score = value.reshape(table.shape).sum(axis=1, dtype=np.int64)
    score += table.sum(axis=1, dtype=np.int64) * log_units(levels)
    return np.asarray(score - UNITS * (levels - 1) if aic else score)


Election = Literal["private", "public", "paper"]
Rule = Literal["most", "least", "random"]
Criterion = Literal["deviance", "aic"]

_SMALLEST_CAP = 8
_NEVER = np.iinfo(np.int64).min // 2


@dataclass(frozen=True)
class Ballot:
    """How elections are held; all of it public. `threshold` is a deviance below which stopping is better."""

    election: Election
    rule: Rule
    criterion: Criterion
    order: tuple[int, ...]
    threshold: Fraction | None


@dataclass(frozen=True, eq=False)
class Electorate:
    """The nodes of one layer that may be split. `at` and the two others describe the occupied cells: confidential."""

    fixed: Codes
    noisy: Integers
    at: Integers
    codes: Codes
    counts: Integers

    def among(self, which: Integers) -> Electorate:
        """Some of the nodes, with their cells."""
        if which.size == len(self.fixed):
            return self
        compact = np.full(len(self.fixed), -1, dtype=np.int64)
        compact[which] = np.arange(which.size)
        mine = compact[self.at]
        inside = mine >= 0
        return Electorate(self.fixed[which], self.noisy[which], mine[inside], self.codes[inside], self.counts[inside])


def candidates(domain: Domain, fixed: Codes) -> Integers:
    """For each node and attribute, how many levels can occur if the node is split by it; 0 where it is fixed."""
    levels = np.where(fixed == FREE, np.array(domain.sizes, dtype=np.int64), 0)
    for at in sorted({place for pattern in domain.zeros for place, _ in pattern}):
        here = np.flatnonzero(fixed[:, at] == FREE)
        levels[here, at] = domain.open_levels(fixed[here], at).sum(axis=1)
    return np.asarray(levels)


def elect(
    domain: Domain, nodes: Electorate, ballot: Ballot, epsilon: Fraction, slack: float, entropy: Entropy, label: str
) -> Integers:
    """An attribute for every node, or LEAF where it is not to be split. `slack` is how far off noisy counts may be."""
    levels = candidates(domain, nodes.fixed)
    # Splitting by an attribute with one possible level says nothing; it is done only if there is nothing else.
    useful = levels >= 2
    useful |= (levels == 1) & ~useful.any(axis=1, keepdims=True)
    if ballot.election == "public" and ballot.rule != "random":
        return _first(useful, ballot.order)
    if ballot.rule == "random":
        return _random(useful, entropy, label)
    alone = useful.sum(axis=1) + (ballot.threshold is not None) < 2
    if bool(alone.any()):
        # Nothing to elect: no record is looked at for these.
        elected = _first(useful, tuple(range(useful.shape[1])))
        rest = np.flatnonzero(~alone)
        if rest.size:
            elected[rest] = elect(domain, nodes.among(rest), ballot, epsilon, slack, entropy, label)
        return elected
    cap = _caps(nodes.noisy, slack)
    if ballot.election == "paper":
        cap = np.full(len(cap), LARGEST_CAP, dtype=np.int64)
    scores = _scores(domain, nodes, useful, levels, cap, ballot)
    if ballot.election == "private":
        return _noisy_best(domain, scores, useful, cap, ballot, epsilon, entropy, label)
    return _best(scores, ballot)


def _caps(noisy: Integers, slack: float) -> Integers:
    """A power of two that the true count hardly exceeds, from the released count."""
    wanted = np.maximum(noisy.astype(np.float64) + slack, _SMALLEST_CAP)
    return np.asarray(1 << np.minimum(np.ceil(np.log2(wanted)), 40).astype(np.int64))


def _first(useful: Flags, order: tuple[int, ...]) -> Integers:
    ordered = np.array(order, dtype=np.int64)
    elected = ordered[np.argmax(useful[:, ordered], axis=1)]
    return np.where(useful.any(axis=1), elected, LEAF)


def _random(useful: Flags, entropy: Entropy, label: str) -> Integers:
    """Public randomness: each free attribute of a node is equally likely."""
    entropy.announce(Request(f"{label}, random split", "uniform words", np.zeros(0), np.zeros(0)))
    draws = (entropy.words(useful.size).reshape(useful.shape) >> np.uint64(1)).astype(np.int64)
    elected = np.argmax(np.where(useful, draws, -1), axis=1)
    return np.where(useful.any(axis=1), elected, LEAF)


def _scores(
    domain: Domain, nodes: Electorate, useful: Flags, levels: Integers, cap: Integers, ballot: Ballot
) -> Integers:
    """Confidential: a score for every node and candidate; the last column is for stopping, where that is allowed."""
    count, width = useful.shape
    scores = np.full((count, width + 1), _NEVER, dtype=np.int64)
    for at in range(width):
        here = np.flatnonzero(useful[:, at])
        if not here.size:
            continue
        compact = np.full(count, -1, dtype=np.int64)
        compact[here] = np.arange(here.size)
        mine = compact[nodes.at]
        inside = mine >= 0
        size = domain.sizes[at]
        joined = mine[inside] * size + nodes.codes[inside, at]
        table = rowwise.sums(joined, nodes.counts[inside], here.size * size).reshape(here.size, size)
        scores[here, at] = one_way(table, levels[here, at], cap[here], aic=ballot.criterion == "aic")
    if ballot.rule == "least":
        scores[:, :width][useful] *= -1
    if ballot.threshold is not None:
        totals = rowwise.sums(nodes.at, nodes.counts, count)
        scores[:, width] = x_log_x(totals, cap) + round(UNITS * ballot.threshold / 2)
    return scores


def _best(scores: Integers, ballot: Ballot) -> Integers:
    elected = np.argmax(scores, axis=1)
    none = (scores == _NEVER).all(axis=1) | (elected == scores.shape[1] - 1)
    return np.where(none, LEAF, elected)


@settles("scores")
def _noisy_best(
    domain: Domain,
    scores: Integers,
    useful: Flags,
    cap: Integers,
    ballot: Ballot,
    epsilon: Fraction,
    entropy: Entropy,
    label: str,
) -> Integers:
    """Report noisy max with geometric noise: of scale (widest move of one record)/ε, for nodes of one cap together."""
    stop = ballot.threshold is not None
    running = np.concatenate((useful, np.full((len(useful), 1), stop)), axis=1)
    noisy = np.where(running, scores, _NEVER)
    for size in np.unique(cap).tolist():
        which = running & (cap == size)[:, None]
        scale = Fraction(widest(size, domain.sizes, with_stop=stop)) / epsilon
        law = f"geometric scale={text(scale)}"
        true = scores[which]
        entropy.announce(
            Request(f"{label}, election at {size}", law, true, np.broadcast_to(np.float64(float(scale)), true.shape))
        )
        noisy[which] += geometric(true.size, scale, entropy)
    return _best(noisy, ballot)


def geometric(count: int, scale: Fraction, entropy: Entropy) -> NDArray[np.int64]:
    """Whole numbers from 0 on with P(k) ∝ exp(−k/scale), exactly (see `noise/binomial.md`)."""
    drawn = discrete_laplace(count, scale, entropy)
    return np.where(drawn >= 0, drawn, -drawn - 1)
