"""A classification tree (CART) for "is this row original?", grown on binned columns.

Splits lower the Gini impurity most. A number is cut between two of at most 255 bins of the stacked file; the levels
of a category are ordered by their share of original rows, which for two classes finds the best of all groupings. The
tree is grown to a depth with a smallest leaf and is not pruned: the permutation null is grown by the same rule.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tacita.compiled import njit
from tacita.evaluation.cells import Numbers, to_bins
from tacita.evaluation.encoding import Pair

_BINS = 255


@dataclass(frozen=True, eq=False)
class Binned:
    """The stacked file for trees: one row of bins per column, and which columns have an order."""

    bins: NDArray[np.uint16]
    sizes: NDArray[np.int64]
    ordered: NDArray[np.bool_]


def binned(pair: Pair) -> Binned:
    """Codes of categories; numbers in bins of equal share, or one bin per value where there are few."""
    made, sizes, ordered = [], [], []
    for column in pair.columns:
        if column.kind == "categorical":
            codes, size = pair.codes(column.name), len(column.levels)
        else:
            codes, size = to_bins(pair.numbers(column.name), _cuts(pair.numbers(column.name)))
        if size > np.iinfo(np.uint16).max:  # free text: rare levels share the last bin
            codes, size = np.minimum(codes, np.iinfo(np.uint16).max), int(np.iinfo(np.uint16).max) + 1
        made.append(codes.astype(np.uint16))
        sizes.append(size)
        ordered.append(column.kind == "numeric")
    return Binned(np.stack(made), np.array(sizes), np.array(ordered))


def _cuts(values: Numbers) -> Numbers:
    known = np.sort(values[~np.isnan(values)])
    if not known.size:
        return np.zeros(0)
    at = (np.arange(1, _BINS) * known.size) // _BINS
    distinct = known[np.flatnonzero(np.diff(known, append=np.inf))]
    return np.asarray(distinct[:-1] if distinct.size <= _BINS else np.unique(known[at]))


def grow(data: Binned, original: NDArray[np.bool_], *, depth: int, leaf: int) -> Numbers:
    """Share of original rows in the leaf of each row."""
    rows = len(original)
    node = np.zeros(rows, dtype=np.int32)
    share = np.array([original.mean()])
    for _ in range(depth):
        nodes = len(share)
        splits = [
            _best_split(_histogram(bins, size, node, original, nodes), ordered, leaf)
            for bins, size, ordered in zip(data.bins, data.sizes, data.ordered, strict=True)
        ]
        gains = np.stack([gain for gain, _ in splits])
        chosen = gains.argmax(axis=0)
        split = gains.max(axis=0) > 0
        if not split.any():
            break
        left = np.zeros((nodes, int(data.sizes.max())), dtype=np.bool_)
        for place in np.flatnonzero(split):
            sides = splits[chosen[place]][1][place]
            left[place, : len(sides)] = sides
        # Children are numbered 2i and 2i + 1; a node that does not split keeps its rows in 2i.
        node = _descend(data.bins, chosen, split, left, node)
        kept = np.bincount(node, minlength=2 * nodes)
        positive = np.bincount(node, weights=original, minlength=2 * nodes)
        share = np.divide(positive, kept, out=np.zeros(2 * nodes), where=kept > 0)
    return share[node]


@njit(nogil=True, cache=True)
def _histogram(bins, size, node, original, nodes):  # type: ignore[no-untyped-def]
    counts = np.zeros((nodes, size, 2), dtype=np.int64)
    for row in range(len(bins)):
        counts[node[row], bins[row], 1 if original[row] else 0] += 1
    return counts


@njit(nogil=True, cache=True)
def _best_split(counts, ordered, leaf):  # type: ignore[no-untyped-def]
    """For every node the largest fall in impurity and the bins that go left; 0 where no split is allowed."""
    nodes, size, _ = counts.shape
    gains = np.zeros(nodes)
    left = np.zeros((nodes, size), dtype=np.bool_)
    for node in range(nodes):
        total = counts[node].sum(axis=0)
        n = total[0] + total[1]
        if n < 2 * leaf or total[0] == 0 or total[1] == 0:
            continue
        here = counts[node, :, 0] + counts[node, :, 1]
        used = np.flatnonzero(here)
        if not ordered:
            used = used[np.argsort(counts[node, used, 1] / here[used])]
        base = (total[1] * total[1] + total[0] * total[0]) / n
        zeros, ones, where = 0, 0, -1
        for place in range(len(used) - 1):
            zeros += counts[node, used[place], 0]
            ones += counts[node, used[place], 1]
            m = zeros + ones
            if m < leaf or n - m < leaf:
                continue
            # Gini: the sum over sides of (ones² + zeros²) / rows rises as the impurity falls.
            gain = (
                (ones * ones + zeros * zeros) / m + ((total[1] - ones) ** 2 + (total[0] - zeros) ** 2) / (n - m) - base
            )
            if gain > gains[node] + 1e-9:
                gains[node] = gain
                where = place
        for place in range(where + 1):
            left[node, used[place]] = True
    return gains, left


@njit(nogil=True, cache=True)
def _descend(bins, chosen, split, left, node):  # type: ignore[no-untyped-def]
    out = np.empty(len(node), dtype=np.int32)
    for row in range(len(node)):
        here = node[row]
        goes_left = not split[here] or left[here, bins[chosen[here], row]]
        out[row] = 2 * here if goes_left else 2 * here + 1
    return out
