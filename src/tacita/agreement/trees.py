"""Counts on a tree that add up: least squares, its exact variances, and whole numbers that are not negative.

A tree is a list of layers. `parents[l][i]` is the place in layer l of the parent of node i of layer l + 1; a node
without children is a leaf, in whatever layer it stands. Fan-out, depth and noise may differ from node to node. All
passes are linear in the number of nodes and work on whole layers at once. Post-processing only.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tacita.errors import UsageError

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Consistent:
    """Estimates that add up at every node, and the variance of each, layer by layer."""

    values: tuple[Floats, ...]
    variances: tuple[Floats, ...]


def least_squares(parents: Sequence[Integers], values: Sequence[Floats], variances: Sequence[Floats]) -> Consistent:
    """The best linear unbiased estimate of every node from noisy counts of all of them.

    A variance of 0 is a count that is known, of infinity one that was not measured. Upwards, each node weighs its own
    value against the sum of its children by inverse variance; downwards, what a parent learned elsewhere is shared
    out among its children in proportion to their variances. This is exact smoothing on a tree, so the variances are
    those of the dense generalised least-squares solution.

    >>> tree = least_squares([np.array([0, 0])], [np.array([10.0]), np.array([4.0, 3.0])], [np.ones(1), np.ones(2)])
    >>> [one.round(3).tolist() for one in tree.values], [one.round(3).tolist() for one in tree.variances]
    ([[9.0], [5.0, 4.0]], [[0.667], [0.667, 0.667]])
    """
    _check(parents, values, variances)
    depth = len(values)
    up = [np.array(one, dtype=np.float64) for one in values]
    spread = [np.array(one, dtype=np.float64) for one in variances]
    for at in range(depth):
        up[at][np.isinf(spread[at])] = 0.0
    sums: list[Floats] = [np.zeros(0)] * depth
    doubt: list[Floats] = [np.zeros(0)] * depth  # variance of the sum of a node's children
    for at in range(depth - 2, -1, -1):
        size = up[at].size
        sums[at] = _summed(parents[at], up[at + 1], size)
        doubt[at] = _summed(parents[at], spread[at + 1], size)
        inner = np.bincount(parents[at], minlength=size) > 0
        own, below = spread[at], doubt[at]
        weight = np.zeros(size)  # of the children's sum
        finite = inner & np.isfinite(below)
        both = finite & np.isfinite(own) & (own + below > 0)
        weight[both] = own[both] / (own[both] + below[both])
        weight[finite & np.isinf(own)] = 1.0
        up[at] = (1 - weight) * up[at] + weight * sums[at]
        joined = weight * np.where(finite, below, 0.0)
        spread[at] = np.where(weight > 0, joined, own)
    if bool(np.isinf(spread[0]).any()):
        raise UsageError("variances: a root and something below it are both unmeasured, so it cannot be estimated")
    fitted, known = [up[0]], [spread[0]]
    for at in range(depth - 1):
        parent, own = parents[at], spread[at + 1]
        below, missing = doubt[at][parent], np.isinf(own)
        if bool((np.bincount(parent[missing], minlength=up[at].size) > 1).any()):
            raise UsageError("variances: two children of one parent are unmeasured, so neither can be estimated")
        gain = np.zeros(own.size)
        usual = np.isfinite(below) & (below > 0)
        gain[usual] = own[usual] / below[usual]
        gain[missing] = 1.0
        fitted.append(up[at + 1] + gain * (fitted[at] - sums[at])[parent])
        # An unmeasured child is what the others leave of the parent; its parent was estimated without them.
        others = np.bincount(parent, weights=np.where(missing, 0.0, own), minlength=up[at].size)[parent]
        here = np.where(missing, 0.0, own)
        kept = np.where(usual, gain**2 * (known[at][parent] - np.where(usual, below, 0.0)), 0.0)
        known.append(np.where(missing, known[at][parent] + others, here + kept))
    return Consistent(tuple(fitted), tuple(np.maximum(one, 0.0) for one in known))


def phantom_histogram(
    parents: Sequence[Integers], values: Sequence[Floats], fan_out: int, total: float | None = None
) -> tuple[Floats, ...]:
    """The paper's universal histogram: constant weights, every attribute padded to `fan_out` categories that are empty.

    Weights of Hay et al. (2010), equation 2 of bowen2018 with its misprint put right; for trees whose leaves all lie in
    the last layer. Phantom categories take their share of every correction and are then dropped, so the sums
    do not match afterwards: `least_squares` is the estimate to use.

    >>> [one.tolist() for one in phantom_histogram([np.array([0, 0])], [np.array([9.0]), np.array([4.0, 2.0])], 2)]
    [[8.0], [5.0, 3.0]]
    """
    if fan_out < 2:
        raise UsageError("fan_out: must be at least 2")
    _check(parents, values, values)
    depth, b = len(values), float(fan_out)
    up = [np.array(one, dtype=np.float64) for one in values]
    for at in range(depth - 2, -1, -1):
        height = depth - at
        own = (b**height - b ** (height - 1)) / (b**height - 1)
        below = np.bincount(parents[at], weights=up[at + 1], minlength=up[at].size)
        inner = np.bincount(parents[at], minlength=up[at].size) > 0
        up[at] = np.where(inner, own * up[at] + (1 - own) * below, up[at])
    levels = [up[0] if total is None else np.full(up[0].size, float(total))]
    for at in range(depth - 1):
        below = np.bincount(parents[at], weights=up[at + 1], minlength=up[at].size)
        levels.append(up[at + 1] + ((levels[at] - below) / b)[parents[at]])
    return tuple(levels)


def whole(
    parents: Sequence[Integers], values: Sequence[Floats], *, random: np.random.Generator | None = None
) -> tuple[Integers, ...]:
    """Whole numbers, none negative, that add up exactly at every node; from the roots down.

    The roots are rounded. The children of each node are then moved together onto the nearest non-negative values with
    the node's total, and rounded without changing it: ties to the earlier child, or with a generator at random so that
    the expected value of each is what it was before rounding.

    >>> [one.tolist() for one in whole([np.array([0, 0, 0])], [np.array([6.2]), np.array([5.0, -1.0, 2.2])])]
    [[6], [4, 0, 2]]
    """
    _check(parents, values, values)
    counts = [np.maximum(np.rint(values[0]), 0).astype(np.int64)]
    for at, parent in enumerate(parents):
        counts.append(shared_out(values[at + 1], parent, counts[at], random=random))
    return tuple(counts)


def shared_out(
    values: Floats, group: Integers, totals: Integers, *, random: np.random.Generator | None = None
) -> Integers:
    """Each group's values as whole numbers that are not negative and sum to the group's total."""
    order, starts = _grouped(group, values.size)
    moved = _onto_simplices(values[order], group[order], starts, totals)
    result = np.empty(values.size, dtype=np.int64)
    result[order] = _rounded(moved, group[order], starts, totals, random)
    return result


def rounded_to(
    values: Floats, group: Integers, totals: Integers, *, random: np.random.Generator | None = None
) -> Integers:
    """Each group's values as whole numbers that sum to the group's total, negative ones too: moved alike, then rounded.

    >>> rounded_to(np.array([-1.4, 2.7, 0.2]), np.zeros(3, dtype=np.int64), np.array([2])).tolist()
    [-1, 3, 0]
    """
    order, starts = _grouped(group, values.size)
    sizes = np.bincount(group, minlength=totals.size)
    moved = (
        values + ((totals - np.bincount(group, weights=values, minlength=totals.size)) / np.maximum(sizes, 1))[group]
    )
    result = np.empty(values.size, dtype=np.int64)
    result[order] = _rounded(moved[order], group[order], starts, totals, random)
    return result


def onto_simplices(values: Floats, group: Integers, totals: NDArray[np.int64] | Floats) -> Floats:
    """Each group's nearest values that are not negative and sum to the group's total.

    >>> onto_simplices(np.array([5.0, 3.0, -1.0, 2.0]), np.array([0, 1, 0, 0]), np.array([6, 1])).tolist()
    [4.5, 1.0, 0.0, 1.5]
    """
    order, starts = _grouped(group, values.size)
    result = np.empty(values.size)
    result[order] = _onto_simplices(values[order], group[order], starts, totals)
    return result


def _summed(parent: Integers, values: Floats, size: int) -> Floats:
    return np.asarray(np.bincount(parent, weights=values, minlength=size), dtype=np.float64)


def _grouped(group: Integers, size: int) -> tuple[Integers, Integers]:
    """An order in which groups are contiguous, each in its first order, and where each of them starts."""
    order = np.argsort(group, kind="stable") if size and bool((np.diff(group) < 0).any()) else np.arange(size)
    ordered = group[order]
    starts = np.flatnonzero(np.concatenate(([True], ordered[1:] != ordered[:-1]))) if size else np.zeros(0, np.int64)
    return order, starts


def _within(sums: Floats, starts: Integers, sizes: Integers) -> Floats:
    """Running sums that begin anew in each group."""
    before = np.concatenate(([0.0], sums))[starts]
    return np.asarray(sums - np.repeat(before, sizes))


def _onto_simplices(values: Floats, group: Integers, starts: Integers, totals: NDArray[np.int64] | Floats) -> Floats:
    if values.size == 0:
        return np.zeros(0)
    sizes = np.diff(np.concatenate((starts, [values.size])))
    # The group's mean is taken out first: running sums over many groups then lose no digits.
    centred = values - np.repeat(np.add.reduceat(values, starts) / sizes, sizes)
    place = np.repeat(np.arange(starts.size), sizes)
    descending = np.lexsort((-centred, place))
    ordered = centred[descending]
    wanted = np.asarray(totals, dtype=np.float64)[group[starts]]
    rank = np.arange(values.size) - np.repeat(starts, sizes) + 1
    shift = (_within(np.cumsum(ordered), starts, sizes) - np.repeat(wanted, sizes)) / rank
    # The last place where a value is not below its shift; the first place always is one for a total of 0 or more.
    last = np.maximum.reduceat(np.where(ordered >= shift, rank, 1), starts)
    cut = shift[starts + last - 1]
    moved = np.maximum(centred - np.repeat(cut, sizes), 0.0)
    moved[np.repeat(wanted <= 0, sizes)] = 0.0
    return np.asarray(moved)


def _rounded(
    values: Floats, group: Integers, starts: Integers, totals: Integers, random: np.random.Generator | None
) -> Integers:
    if values.size == 0:
        return np.zeros(0, dtype=np.int64)
    sizes = np.diff(np.concatenate((starts, [values.size])))
    # A value within rounding error of a whole number is that number.
    floors = np.floor(values + 1e-9)
    part = np.maximum(values - floors, 0.0)
    result = floors.astype(np.int64)
    missing = np.asarray(totals)[group[starts]] - np.add.reduceat(result, starts)
    if bool((missing < 0).any()):
        raise UsageError("totals: a total lies below the sum of the values that were projected on it")
    if random is None:
        order = np.lexsort((-part, np.repeat(np.arange(starts.size), sizes)))
        rank = np.arange(values.size) - np.repeat(starts, sizes)
        result[order] += (rank < np.repeat(missing, sizes)).astype(np.int64)
        return result
    # Systematic sampling: one more wherever the running sum of parts passes a point of a randomly placed unit grid.
    reached = _within(np.cumsum(part), starts, sizes)
    whole_parts = reached[starts + sizes - 1]
    stretch = np.where(whole_parts > 0, missing / np.where(whole_parts > 0, whole_parts, 1.0), 0.0)
    reached *= np.repeat(stretch, sizes)
    reached[starts + sizes - 1] = missing  # the end of each group, without rounding error
    passed = np.floor(reached + np.repeat(random.random(starts.size), sizes))
    before = np.concatenate(([0.0], passed[:-1]))
    before[starts] = 0.0
    result += (passed - before).astype(np.int64)
    return result


def _check(parents: Sequence[Integers], values: Sequence[Floats], variances: Sequence[Floats]) -> None:
    if not values or len(parents) != len(values) - 1 or len(variances) != len(values):
        raise UsageError("parents: a tree of L layers has L lists of values and variances and L - 1 of parents")
    for at, (one, spread) in enumerate(zip(values, variances, strict=True)):
        if np.ndim(one) != 1 or np.size(one) != np.size(spread):
            raise UsageError(f"values: layer {at} needs one value and one variance per node")
        if at and np.size(parents[at - 1]) != np.size(one):
            raise UsageError(f"parents: layer {at} needs one parent per node")
        if (
            at
            and np.size(one)
            and not 0 <= np.min(parents[at - 1]) <= np.max(parents[at - 1]) < np.size(values[at - 1])
        ):
            raise UsageError(f"parents: layer {at} names a parent that layer {at - 1} does not have")
