"""The run itself: everything that is read from confidential cells, layer by layer. Proof: steps.md."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from tacita.data import rowwise
from tacita.noise.discrete import add_discrete_laplace
from tacita.noise.entropy import Entropy
from tacita.synthesis.comparison.steps.budget import Costs
from tacita.synthesis.comparison.steps.cells import Leaves, measure_cells
from tacita.synthesis.comparison.steps.electing import Ballot, Electorate, elect
from tacita.synthesis.comparison.steps.model import LEAF, Cells, Layer, Measurement, child_codes, root_codes
from tacita.synthesis.comparison.steps.reading import Occupied
from tacita.synthesis.domain import FREE, Codes, Domain, Integers

_DOUBT = 4  # noisy counts are taken to be off by at most this many scales when a cap is set; nothing breaks if not
MOST_NODES = 10_000_000  # of one layer


@dataclass(frozen=True)
class Growth:
    """How far a tree grows; public. `smallest` are the noisy counts below which nodes of a layer are not split."""

    layers: int
    smallest: tuple[int, ...]


def measure(
    domain: Domain,
    occupied: Occupied,
    ballot: Ballot,
    growth: Growth,
    costs: Costs,
    records: int | None,
    entropy: Entropy,
) -> Measurement:
    """One noisy tree. `records` is the number of records where that is public."""
    root = _root(occupied, costs, records, entropy)
    layers, cells, fixed = [root], [], root_codes(domain)
    # Where each occupied cell stands in the current layer; cells of finished leaves are put aside.
    at = np.zeros(occupied.counts.size, dtype=np.int64)
    codes, counts = occupied.codes, occupied.counts
    for depth in range(growth.layers):
        layer = layers[-1]
        large = layer.noisy >= growth.smallest[depth]
        winner: Integers = _winners(domain, layer, fixed, large, (at, codes, counts), ballot, costs, depth, entropy)
        if int(np.array(domain.sizes)[winner[winner != LEAF]].sum()) > MOST_NODES:
            winner[:] = LEAF  # decided by released numbers alone, like every other split
        layers[-1] = layer = Layer(layer.parent, layer.code, winner, layer.noisy, layer.scale)
        for voted in (False, True):
            done = np.flatnonzero((winner == LEAF) & (large == voted))
            cells += _finished(
                domain, depth, layer, done, fixed, (at, codes, counts), costs.left(depth, voted=voted), entropy
            )
        if not bool((winner != LEAF).any()):
            return Measurement(tuple(layers), tuple(cells))
        going = winner[at] != LEAF
        at, codes, counts = at[going], codes[going], counts[going]
        parent, code, at = _children(domain, fixed, winner, at, codes)
        true = rowwise.sums(at, counts, parent.size)
        scale = 1 / costs.layers[depth]
        noisy = add_discrete_laplace(true, scale, entropy, f"layer {depth + 1}, counts")
        layers.append(Layer(parent, code, np.full(parent.size, LEAF, dtype=np.int64), noisy, scale))
        fixed = child_codes(fixed, layer, layers[-1])
    last = np.arange(layers[-1].parent.size)
    left = costs.left(growth.layers, voted=False)
    cells += _finished(domain, growth.layers, layers[-1], last, fixed, (at, codes, counts), left, entropy)
    return Measurement(tuple(layers), tuple(cells))


def _root(occupied: Occupied, costs: Costs, records: int | None, entropy: Entropy) -> Layer:
    noisy, scale = np.array([records or 0], dtype=np.int64), None
    if records is None:
        scale = 1 / costs.root
        true = np.array([occupied.counts.sum(dtype=np.int64)])
        noisy = add_discrete_laplace(true, scale, entropy, "number of records")
    nothing = np.full(1, LEAF, dtype=np.int64)
    return Layer(np.zeros(1, dtype=np.int64), nothing, nothing, noisy, scale)


def _winners(
    domain: Domain,
    layer: Layer,
    fixed: Codes,
    large: np.ndarray[tuple[int], np.dtype[np.bool_]],
    rows: tuple[Integers, Codes, Integers],
    ballot: Ballot,
    costs: Costs,
    depth: int,
    entropy: Entropy,
) -> Integers:
    """What each node is split by; LEAF for those too small to be split."""
    winner = np.full(layer.parent.size, LEAF, dtype=np.int64)
    voting = np.flatnonzero(large)
    if not voting.size:
        return winner
    nodes = Electorate(fixed, layer.noisy, *rows).among(voting)
    slack = 0.0 if layer.scale is None else _DOUBT * float(layer.scale)
    winner[voting] = elect(domain, nodes, ballot, costs.elections[depth], slack, entropy, f"layer {depth}")
    return winner


def _children(
    domain: Domain, fixed: Codes, winner: Integers, at: Integers, codes: Codes
) -> tuple[Integers, Integers, Integers]:
    """Parents and levels of the next layer, in the order of parents and levels, and where each occupied cell goes."""
    widest = max(domain.sizes)
    exists = np.zeros((winner.size, widest), dtype=np.bool_)
    for attribute in np.unique(winner[winner != LEAF]).tolist():
        here = np.flatnonzero(winner == attribute)
        exists[here, : domain.sizes[attribute]] = domain.open_levels(fixed[here], attribute)
    parent, code = np.nonzero(exists)
    number = np.cumsum(exists.ravel()) - 1
    level = codes[np.arange(at.size), winner[at]].astype(np.int64)
    return parent.astype(np.int64), code.astype(np.int64), number[at * widest + level].astype(np.int64)


def _finished(
    domain: Domain,
    depth: int,
    layer: Layer,
    nodes: Integers,
    fixed: Codes,
    rows: tuple[Integers, Codes, Integers],
    budget: Fraction,
    entropy: Entropy,
) -> list[Cells]:
    """The cells of leaves that fix less than everything."""
    nodes = nodes[(fixed[nodes] == FREE).any(axis=1)] if nodes.size else nodes
    if not nodes.size or not budget:
        return []
    at, codes, counts = rows
    compact = np.full(len(fixed), -1, dtype=np.int64)
    compact[nodes] = np.arange(nodes.size)
    mine = compact[at]
    inside = mine >= 0
    leaves = Leaves(depth, nodes, fixed[nodes], layer.noisy[nodes], mine[inside], codes[inside], counts[inside])
    return [measure_cells(domain, leaves, 1 / budget, entropy)]
