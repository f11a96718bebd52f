"""Agreement of tables over crossed levels (geography × industry × sex), in closed form where there is one.

An axis is a column with its coarser levels, a table one level of each axis. Two exact routes need no solver:

- *One tree, the other axes either full or summed over*: noise of equal variance splits into its mean along an axis and
  the contrasts within it, which are uncorrelated. Each combination of means and contrasts is a tree of its own.
- *Trees on several axes, every combination of levels measured, variances a product of one factor per axis*: the normal
  equations are a Kronecker product, so the tree estimate is applied along one axis after the other.

What fits neither goes to `tacita.agreement.overlapping`. Variances depend on the layout alone (`expected`), so they are
known before any data. Post-processing only.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, combinations, pairwise, product
from math import prod

import numpy as np
from numpy.typing import NDArray

from tacita.agreement.overlapping import Agreed, NoisyTable, agree
from tacita.agreement.trees import least_squares
from tacita.data.schema import Hierarchy
from tacita.errors import UsageError

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Levels = tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Axis:
    """One column and its coarser levels: `levels[l][i]` is the code at level l of the finest code i, finest first.

    >>> Axis.flat(3).sizes
    (3, 1)
    """

    levels: tuple[Integers, ...]

    @classmethod
    def flat(cls, size: int) -> Axis:
        """A column without a tree: its codes, and all of them together."""
        return cls((np.arange(size), np.zeros(size, dtype=np.int64)))

    @classmethod
    def of(cls, tree: Hierarchy) -> Axis:
        """The column of a declared tree, and each of its levels."""
        return cls(tuple(tree.parent_codes(level) for level in (tree.column, *tree.levels)))

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        return tuple(int(codes.max()) + 1 for codes in self.levels)

    def parents(self, fine: int, coarse: int) -> Integers:
        """For each code of one level, its code at a coarser one."""
        parent = np.empty(self.sizes[fine], dtype=np.int64)
        parent[self.levels[fine]] = self.levels[coarse]
        return parent


@dataclass(frozen=True, eq=False)
class CrossedTable:
    """A measured table: its level on each axis, an array with one axis per axis, and the variance of every cell."""

    levels: Levels
    values: Floats
    variance: float


def agree_crossed(axes: Sequence[Axis], tables: Sequence[CrossedTable]) -> Agreed:
    """All tables as they agree best, each in its own shape; the cells are the cross of the finest levels in use.

    >>> sectors = CrossedTable((0,), np.array([4.0, 3.0, 1.0]), 1.0)
    >>> agreed = agree_crossed([Axis.flat(3)], [CrossedTable((1,), np.array([12.0]), 1.0), sectors])
    >>> agreed.values[1].round(6).tolist(), agreed.variances[1].round(6).tolist()
    ([5.0, 4.0, 2.0], [0.75, 0.75, 0.75])
    """
    layout = Layout.of(axes, [one.levels for one in tables], [one.variance for one in tables])
    for one in tables:
        if one.values.shape != layout.shape(one.levels):
            raise UsageError(f"values: a table at levels {one.levels} has the shape {layout.shape(one.levels)}")
    values = [np.where(np.isinf(one.variance), 0.0, one.values) for one in tables]
    if layout.tree is not None:
        cells, agreed = _by_contrasts(layout, values)
    elif layout.factors is not None:
        cells, agreed = _along_each_axis(layout, values)
    else:
        return _at_large(layout, values)
    return Agreed(cells, tuple(agreed), tuple(expected(layout)), True)


def expected(layout: Layout) -> list[Floats]:
    """The variance of every cell after agreement, table by table, from the layout alone."""
    if layout.tree is not None or layout.factors is not None:
        variances = _contrast_variances(layout) if layout.tree is not None else _factor_variances(layout)
        return [np.broadcast_to(one, layout.shape(at)) for one, at in zip(variances, layout.levels, strict=True)]
    return list(_at_large(layout, [np.zeros(layout.shape(levels)) for levels in layout.levels]).variances)


@dataclass(frozen=True, eq=False)
class Layout:
    """Which tables are measured, with which variance: all that the estimate's weights depend on."""

    axes: tuple[Axis, ...]
    levels: tuple[Levels, ...]
    variances: tuple[float, ...]

    @classmethod
    def of(cls, axes: Sequence[Axis], levels: Sequence[Levels], variances: Sequence[float]) -> Layout:
        if not levels or any(len(one) != len(axes) for one in levels):
            raise UsageError("levels: need at least one table, each with one level per axis")
        if len(set(levels)) != len(levels):
            raise UsageError("levels: a table is named twice; keep it once")
        if any(not 0 <= at < len(axis.sizes) for one in levels for at, axis in zip(one, axes, strict=True)):
            raise UsageError("levels: a table names a level that its axis does not have")
        if any(not one >= 0 for one in variances):
            raise UsageError("variances: must be 0 or more")
        return cls(tuple(axes), tuple(levels), tuple(map(float, variances)))

    def shape(self, levels: Levels) -> tuple[int, ...]:
        return tuple(axis.sizes[at] for axis, at in zip(self.axes, levels, strict=True))

    @cached_property
    def used(self) -> tuple[tuple[int, ...], ...]:
        """The levels of each axis that some table has, coarsest first."""
        return tuple(tuple(sorted({one[at] for one in self.levels}, reverse=True)) for at in range(len(self.axes)))

    @cached_property
    def finest(self) -> Levels:
        return tuple(levels[-1] for levels in self.used)

    @cached_property
    def tree(self) -> int | None:
        """The one axis that may have many levels, where all others are full or summed over; None if several have."""
        deep = [
            at
            for at, (axis, levels) in enumerate(zip(self.axes, self.used, strict=True))
            if len(levels) > 2 or (len(levels) == 2 and axis.sizes[levels[0]] > 1)
        ]
        return None if len(deep) > 1 else (deep or [0])[0]

    @cached_property
    def factors(self) -> list[dict[int, float]] | None:
        """Each axis' variance by level, relative to its finest, where the tables' variances are their product."""
        at_finest = dict(zip(self.levels, self.variances, strict=True))
        if set(self.levels) != set(product(*self.used)) or not 0 < at_finest[self.finest] < np.inf:
            return None
        factors = []
        for at, levels in enumerate(self.used):
            alone = {level: (*self.finest[:at], level, *self.finest[at + 1 :]) for level in levels}
            factors.append({level: at_finest[one] / at_finest[self.finest] for level, one in alone.items()})
        products = [prod(one[at] for one, at in zip(factors, levels, strict=True)) for levels in self.levels]
        scale = at_finest[self.finest]
        return factors if np.allclose(np.array(products) * scale, self.variances, rtol=1e-9, atol=0) else None


# ------------------------------------------------------------ one tree, the other axes full or summed over


def _subsets(axes: Sequence[int]) -> list[tuple[int, ...]]:
    return list(chain.from_iterable(combinations(axes, size) for size in range(len(axes) + 1)))


def _full(layout: Layout, levels: Levels) -> tuple[int, ...]:
    """The axes beside the tree that a table has in full, and not summed over."""
    return tuple(at for at, size in enumerate(layout.shape(levels)) if at != layout.tree and size > 1)


def _components(layout: Layout) -> dict[tuple[int, ...], dict[int, list[tuple[int, float]]]]:
    """For each set of axes whose contrasts are estimated together: by level of the tree, the tables that show them,
    each with the variance of its sum over the axes that are not among them."""
    components: dict[tuple[int, ...], dict[int, list[tuple[int, float]]]] = {}
    assert layout.tree is not None
    for at, (levels, variance) in enumerate(zip(layout.levels, layout.variances, strict=True)):
        full, shape = _full(layout, levels), layout.shape(levels)
        for contrasts in _subsets(full):
            summed = prod(shape[axis] for axis in full if axis not in contrasts)
            components.setdefault(contrasts, {}).setdefault(levels[layout.tree], []).append((at, variance * summed))
    return components


def _precision(variances: Sequence[float]) -> tuple[list[float], float]:
    """Weights that join independent values of one thing, and the variance of what they give."""
    if 0 in variances:
        return [float(at == list(variances).index(0)) for at in range(len(variances))], 0.0
    total = sum(1 / one for one in variances)
    if total == 0:
        return [0.0] * len(variances), np.inf
    return [1 / one / total for one in variances], 1 / total


def _tree_fit(axis: Axis, levels: Sequence[int], values: Sequence[Floats], variances: Sequence[float]) -> list[Floats]:
    """The tree estimate along the first axis of arrays at these levels, coarsest first, column by column."""
    columns = prod(values[0].shape[1:])
    parents = [
        (axis.parents(fine, coarse)[:, None] * columns + np.arange(columns)).ravel()
        for coarse, fine in pairwise(levels)
    ]
    spread = [np.full(one.size, variance) for one, variance in zip(values, variances, strict=True)]
    fitted = least_squares(parents, [one.ravel() for one in values], spread).values
    return [one.reshape(shaped.shape) for one, shaped in zip(fitted, values, strict=True)]


def _tree_variances(axis: Axis, levels: Sequence[int], variances: Sequence[float]) -> list[Floats]:
    parents = [axis.parents(fine, coarse) for coarse, fine in pairwise(levels)]
    spread = [np.full(axis.sizes[level], variance) for level, variance in zip(levels, variances, strict=True)]
    return list(least_squares(parents, [np.zeros(one.size) for one in spread], spread).variances)


def _by_contrasts(layout: Layout, values: Sequence[Floats]) -> tuple[Floats, list[Floats]]:
    assert layout.tree is not None
    axis = layout.axes[layout.tree]
    agreed = [np.zeros(one.shape) for one in values]
    cells = np.zeros(layout.shape(layout.finest))
    for contrasts, by_level in _components(layout).items():
        levels = sorted(by_level, reverse=True)
        joined, spread = [], []
        for level in levels:
            weights, variance = _precision([one for _, one in by_level[level]])
            parts = [_contrast(values[at], contrasts, layout.tree) for at, _ in by_level[level]]
            joined.append(sum((weight * part for weight, part in zip(weights, parts, strict=True)), np.zeros(())))
            spread.append(variance)
        fitted = _tree_fit(axis, levels, [np.moveaxis(one, layout.tree, 0) for one in joined], spread)
        by_name = {level: np.moveaxis(one, 0, layout.tree) for level, one in zip(levels, fitted, strict=True)}
        for at, table in enumerate(layout.levels):
            if set(contrasts) <= set(_full(layout, table)):
                part = by_name[table[layout.tree]]
                agreed[at] += part * (part.size / agreed[at].size)
        finest = levels[-1]
        down = axis.parents(layout.finest[layout.tree], finest)
        shared = np.take(by_name[finest], down, axis=layout.tree) / _aligned(np.bincount(down)[down], layout)
        cells += shared * (shared.size / cells.size)
    return cells, agreed


def _aligned(by_code: Integers | Floats, layout: Layout) -> Floats:
    """Numbers by code of the tree, in a shape that goes with all axes."""
    shape = [1] * len(layout.axes)
    shape[layout.tree or 0] = by_code.size
    return by_code.reshape(shape).astype(np.float64)


def _contrast(values: Floats, contrasts: tuple[int, ...], tree: int) -> Floats:
    """The table summed over all axes but the tree and these, less its mean along each of these."""
    summed = values.sum(
        axis=tuple(at for at in range(values.ndim) if at != tree and at not in contrasts), keepdims=True
    )
    for at in contrasts:
        summed = summed - summed.mean(axis=at, keepdims=True)
    return np.asarray(summed)


def _contrast_variances(layout: Layout) -> list[Floats]:
    assert layout.tree is not None
    totals = [np.zeros((1,) * len(layout.axes)) for _ in layout.levels]
    for contrasts, by_level in _components(layout).items():
        levels = sorted(by_level, reverse=True)
        joined = [_precision([one for _, one in by_level[level]])[1] for level in levels]
        by_node = dict(zip(levels, _tree_variances(layout.axes[layout.tree], levels, joined), strict=True))
        for at_table, table in enumerate(layout.levels):
            full, shape = _full(layout, table), layout.shape(table)
            if set(contrasts) <= set(full):
                share = prod((1 - 1 / shape[at]) if at in contrasts else 1 / shape[at] ** 2 for at in full)
                node = by_node[table[layout.tree]]
                totals[at_table] = totals[at_table] + share * _aligned(node, layout)
    return totals


# ------------------------------------------------------------ trees on several axes, all combinations measured


def _along_each_axis(layout: Layout, values: Sequence[Floats]) -> tuple[Floats, list[Floats]]:
    assert layout.factors is not None
    tables = dict(zip(layout.levels, values, strict=True))
    for at, (axis, levels, factor) in enumerate(zip(layout.axes, layout.used, layout.factors, strict=True)):
        others = {(*one[:at], *one[at + 1 :]) for one in layout.levels}
        for rest in others:
            places = [(*rest[:at], level, *rest[at:]) for level in levels]
            arrays = [np.moveaxis(tables[place], at, 0) for place in places]
            fitted = _tree_fit(axis, levels, arrays, [factor[level] for level in levels])
            tables |= {place: np.moveaxis(one, 0, at) for place, one in zip(places, fitted, strict=True)}
    return tables[layout.finest], [tables[levels] for levels in layout.levels]


def _factor_variances(layout: Layout) -> list[Floats]:
    assert layout.factors is not None
    scale = dict(zip(layout.levels, layout.variances, strict=True))[layout.finest]
    by_axis = [
        dict(zip(levels, _tree_variances(axis, levels, [factor[level] for level in levels]), strict=True))
        for axis, levels, factor in zip(layout.axes, layout.used, layout.factors, strict=True)
    ]
    return [
        scale * prod(np.ix_(*(nodes[level] for level, nodes in zip(levels, by_axis, strict=True))), start=np.ones(()))
        for levels in layout.levels
    ]


# ------------------------------------------------------------ anything else


def noisy_tables(layout: Layout, values: Sequence[Floats]) -> list[NoisyTable]:
    """The same tables as lists of cells, over the cross of the finest levels in use."""
    cells = np.indices(layout.shape(layout.finest), sparse=True)
    tables = []
    for levels, table, variance in zip(layout.levels, values, layout.variances, strict=True):
        codes = [
            axis.parents(fine, coarse)[code]
            for axis, fine, coarse, code in zip(layout.axes, layout.finest, levels, cells, strict=True)
        ]
        group = np.ravel_multi_index(np.broadcast_arrays(*codes), layout.shape(levels)).ravel()
        tables.append(NoisyTable(group, table.ravel(), np.array(variance)))
    return tables


def _at_large(layout: Layout, values: Sequence[Floats]) -> Agreed:
    agreed = agree(noisy_tables(layout, values))
    shapes = [layout.shape(levels) for levels in layout.levels]
    return Agreed(
        agreed.cells.reshape(layout.shape(layout.finest)),
        tuple(one.reshape(shape) for one, shape in zip(agreed.values, shapes, strict=True)),
        tuple(one.reshape(shape) for one, shape in zip(agreed.variances, shapes, strict=True)),
        agreed.exact,
    )
