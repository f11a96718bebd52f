"""Noisy cells of leaves: all where they are few enough, else only those that reach a threshold. Proof: steps.md.

Both ways give the listed cells the same law. The second never looks at an empty cell one by one, so its cost follows
the occupied cells and the listed ones, not the domain.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import ceil, exp, log

import numpy as np

from tacita.data import rowwise
from tacita.noise.discrete import DiscreteLaplace, add_discrete_laplace, reaching
from tacita.noise.entropy import Entropy, Request, reserve
from tacita.noise.forcing import settles
from tacita.synthesis.comparison.steps.electing import geometric
from tacita.synthesis.comparison.steps.model import Cells
from tacita.synthesis.domain import Codes, Domain, Integers

DENSE = 1 << 21  # leaves of a layer with at most this many cells together are drawn cell by cell
# Where they have more, about as many empty cells are listed as this, or twice the noisy number of their records: the
# projection onto a leaf's total sets all cells below about the number of its records to 0 in any case.
LISTED = 1 << 16


@dataclass(frozen=True, eq=False)
class Leaves:
    """Leaves of one layer with one budget. `at`, `codes`, `counts` are their occupied cells: confidential.

    `noisy` are the released counts of the leaves.
    """

    layer: int
    nodes: Integers
    fixed: Codes
    noisy: Integers
    at: Integers
    codes: Codes
    counts: Integers


def threshold_for(cells: int, scale: Fraction, records: int) -> int:
    """The threshold for this many cells, raw ones counted, that hold about this many records. Public arithmetic.

    >>> threshold_for(1_290_240, Fraction(1), 44_821), threshold_for(10**12, Fraction(5), 10**6)
    (1, 63)
    """
    listed = max(LISTED, 2 * records)
    q = exp(-1 / float(scale))
    return max(1, ceil(float(scale) * log(cells / (listed * (1 + q))))) if cells > max(DENSE, listed) else 1


@settles("leaves")
def measure_cells(domain: Domain, leaves: Leaves, scale: Fraction, entropy: Entropy, *, dense: int = DENSE) -> Cells:
    """The listed cells of these leaves. Which way is taken depends on the number of cells alone, which is public."""
    possible = domain.possible(leaves.fixed)
    strides = domain.strides(leaves.fixed)
    sizes = np.prod(np.where(strides > 0, np.array(domain.sizes, dtype=np.int64), 1), axis=1, dtype=np.int64)
    starts = np.concatenate(([0], np.cumsum(sizes)))
    threshold = threshold_for(int(starts[-1]), scale, int(np.maximum(leaves.noisy, 0).sum()))
    place = np.zeros(leaves.at.size, dtype=np.int64)
    for at in range(len(domain.sizes)):
        place += leaves.codes[:, at] * strides[leaves.at, at]
    label = f"layer {leaves.layer}, {len(leaves.nodes)} leaves, cells"
    draw = _all if int(starts[-1]) <= dense else _reaching
    node, place, noisy, sums = draw(
        domain, leaves, starts, place, int(possible.sum()), scale, threshold, entropy, label
    )
    return Cells(leaves.layer, leaves.nodes, possible, scale, threshold, node, place, noisy, sums)


def _all(
    domain: Domain,
    leaves: Leaves,
    starts: Integers,
    place: Integers,
    possible: int,
    scale: Fraction,
    threshold: int,
    entropy: Entropy,
    label: str,
) -> tuple[Integers, Integers, Integers, Integers | None]:
    """Every cell that can occur gets its noise."""
    true = np.zeros(int(starts[-1]), dtype=np.int64)
    true[starts[leaves.at] + place] = leaves.counts
    node = np.repeat(np.arange(len(leaves.nodes)), np.diff(starts))
    number = np.arange(true.size) - starts[node]
    if domain.zeros:
        can = ~domain.forbidden_places(leaves.fixed, node, number)
        true, node, number = true[can], node[can], number[can]
    noisy = add_discrete_laplace(true, scale, entropy, label)
    sums = rowwise.sums(node, noisy, len(leaves.nodes))
    listed = noisy >= threshold
    return node[listed], number[listed], noisy[listed], sums


def _reaching(
    domain: Domain,
    leaves: Leaves,
    starts: Integers,
    place: Integers,
    possible: int,
    scale: Fraction,
    threshold: int,
    entropy: Entropy,
    label: str,
) -> tuple[Integers, Integers, Integers, Integers | None]:
    """Occupied cells one by one; of the empty ones, how many reach the threshold, which, and how far."""
    taken = starts[leaves.at] + place
    order = np.argsort(taken)
    taken = taken[order]
    values = add_discrete_laplace(leaves.counts[order], scale, entropy, label)
    entropy.announce(Request(f"{label}, empty", str(DiscreteLaplace(scale)), np.zeros(0), np.zeros(0)))
    extra = reaching(possible - taken.size, threshold, scale, reserve(64, entropy))
    empty = _empty_cells(domain, leaves, starts, taken, extra, entropy)
    above = threshold + geometric(extra, scale, entropy)
    listed = values >= threshold
    flat = np.concatenate((taken[listed], empty))
    noisy = np.concatenate((values[listed], above))
    # In the order of the cells: nothing tells an occupied cell from an empty one.
    order = np.argsort(flat)
    flat, noisy = flat[order], noisy[order]
    node = np.searchsorted(starts, flat, side="right") - 1
    return node, flat - starts[node], noisy, None


def _empty_cells(
    domain: Domain, leaves: Leaves, starts: Integers, taken: Integers, wanted: int, entropy: Entropy
) -> Integers:
    """Different empty cells that can occur, every set of this size equally likely: draw, and reject what is not one."""
    end = int(starts[-1])
    unused = np.uint64(64 - max(end - 1, 1).bit_length())
    chosen = np.zeros(0, dtype=np.int64)
    while chosen.size < wanted:
        drawn = (entropy.words(2 * (wanted - chosen.size) + 64) >> unused).astype(np.int64)
        drawn = drawn[drawn < end]
        spot = np.minimum(np.searchsorted(taken, drawn), max(taken.size - 1, 0))
        if taken.size:
            drawn = drawn[taken[spot] != drawn]
        node = np.searchsorted(starts, drawn, side="right") - 1
        drawn = drawn[~domain.forbidden_places(leaves.fixed, node, drawn - starts[node])]
        # The first ones that are new, in the order they were drawn: sorting first would favour small numbers.
        joined = np.concatenate((chosen, drawn))
        _, first = np.unique(joined, return_index=True)
        chosen = joined[np.sort(first)][:wanted]
    return chosen
