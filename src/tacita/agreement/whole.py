"""Agreed tables as whole numbers, none negative: finest cells are made whole, and every table is a sum of them.

Cells go down a chain of nested tables, as `tacita.agreement.trees.whole` does on a tree: what was decided for a parent
is shared out among its children. Tables beside the chain (state totals, where the chain has state × sector) are not
decided first, but drawn upon: the children are chosen near their own estimates and near those tables at once, each as
close as its variance asks. Setting cells to zero one by one would push such sums up. Post-processing only.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from tacita.agreement.overlapping import Agreed, NoisyTable, nested_chain
from tacita.agreement.trees import onto_simplices, rounded_to, shared_out

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

_STEPS = 100
_SETTLED = 0.01  # a step that moves no cell by more than this part of its standard deviation is the last


def whole_tables(
    tables: Sequence[NoisyTable], agreed: Agreed, *, signed: bool = False, random: np.random.Generator | None = None
) -> tuple[Integers, tuple[Integers, ...]]:
    """The finest cells and every table as whole numbers that are not negative and agree exactly. `signed`: negative
    values stay, and each is only rounded.

    Ties go to the earlier cell, or with a generator to a random one so that rounding does not push sums of many cells.

    >>> rows = NoisyTable(np.array([0, 0, 1, 1]), np.array([3.0, 1.2]), np.ones(2))
    >>> columns = NoisyTable(np.array([0, 1, 0, 1]), np.array([4.6, -0.4]), np.ones(2))
    >>> from tacita.agreement.overlapping import agree
    >>> cells, (by_row, by_column) = whole_tables([rows, columns], agree([rows, columns]))
    >>> cells.tolist(), by_row.tolist(), by_column.tolist()
    ([3, 0, 1, 0], [3, 1], [4, 0])
    """
    finest = NoisyTable(np.arange(agreed.cells.size), agreed.cells.ravel(), _own_variances(tables, agreed))
    estimates = [
        NoisyTable(one.group, values.ravel(), spread.ravel())
        for one, values, spread in zip(tables, agreed.values, agreed.variances, strict=True)
    ]
    everything = NoisyTable(np.zeros_like(finest.group), finest.values.sum(keepdims=True), np.ones(1))
    ladder = [everything, *estimates, finest]
    chain = [ladder[at] for at in nested_chain(ladder)]
    beside = [one for one in estimates if not any(one is link for link in chain)]
    counts = np.rint(chain[0].values if signed else np.maximum(chain[0].values, 0)).astype(np.int64)
    for above, below in pairwise(chain):
        parent = below.parents_in(above)
        if signed:
            counts = rounded_to(below.values, parent, counts, random=random)
            continue
        drawn_on = [one for one in beside if below.refines(one) and not above.refines(one)]
        beside = [one for one in beside if not any(one is other for other in drawn_on)]
        near = _near(below, drawn_on, parent, counts)
        counts = shared_out(near, parent, counts, random=random)
    cells = counts[chain[-1].group]
    return cells, tuple(np.rint(one.sums(cells.astype(np.float64))).astype(np.int64) for one in tables)


def _own_variances(tables: Sequence[NoisyTable], agreed: Agreed) -> Floats:
    """How firmly the finest cells are known: as the table that shows them singly, else as the loosest table says."""
    for one, spread in zip(tables, agreed.variances, strict=True):
        if one.values.size == one.group.size:
            return spread.ravel()[one.group]
    loosest = max(float(np.max(spread)) for spread in agreed.variances)
    return np.full(tables[0].group.size, loosest)


def _near(cells: NoisyTable, beside: Sequence[NoisyTable], parent: Integers, totals: Integers) -> Floats:
    """Cells that are not negative, have their parents' totals, and are near to their estimates and to other tables.

    Accelerated projected gradients: the projection onto parents' totals is exact, so any number of steps is allowed."""
    values = onto_simplices(cells.values, parent, totals)
    if not beside:
        return values
    own = float(np.mean(cells.variances))
    pulls = [own / np.maximum(one.variances, own * 1e-6) for one in beside]
    places = [NoisyTable(cells.parents_in(one), one.values, one.variances) for one in beside]
    steepest = 1 + sum(
        float(np.max(one.sums(np.ones(values.size)) * pull)) for one, pull in zip(places, pulls, strict=True)
    )
    ahead, momentum = values, 1.0
    for _ in range(_STEPS):
        slope = ahead - cells.values
        for one, pull in zip(places, pulls, strict=True):
            slope += one.spread(pull * (one.sums(ahead) - one.values))
        moved = onto_simplices(ahead - slope / steepest, parent, totals)
        faster = (1 + np.sqrt(1 + 4 * momentum**2)) / 2
        ahead = moved + (momentum - 1) / faster * (moved - values)
        settled = float(np.max(np.abs(moved - values))) < _SETTLED * np.sqrt(own)
        values, momentum = moved, faster
        if settled:
            break
    return values
