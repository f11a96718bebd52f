"""Noisy tables of the same records that are made to agree: every sum equals its parts, in one table and across tables.

The tables share a set of finest cells, and each cell of a table is a sum of some of them. The estimate is generalised
least squares: of all unbiased weighings of the noisy values it has the smallest variance in every cell. Tables that
nest are solved on their tree in linear time (`tacita.agreement.trees`), few cells exactly, many by conjugate
gradients. Crosses of trees and attributes have closed forms (`tacita.agreement.crossed`). Post-processing only.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from tacita.agreement.trees import least_squares
from tacita.errors import UsageError

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

FEW_CELLS = 2_000
"""Up to here a dense solution takes seconds at most."""
_STEPS = 2_000
_TOLERANCE = 1e-12


@dataclass(frozen=True, eq=False)
class NoisyTable:
    """One measured table: `group[i]` is the cell of it that finest cell i counts in, -1 where it counts in none.

    A variance of 0 is a count that is known, of infinity one that was not measured and is to be estimated.
    """

    group: Integers
    values: Floats
    variances: Floats

    def __post_init__(self) -> None:
        values = np.asarray(self.values, dtype=np.float64)
        variances = np.broadcast_to(np.asarray(self.variances, dtype=np.float64), values.shape)
        group = np.asarray(self.group, dtype=np.int64)
        if values.ndim != 1 or group.ndim != 1:
            raise UsageError("values: a noisy table is a list of cells, and a group per finest cell")
        if bool((np.bincount(group[group >= 0], minlength=values.size) == 0).any()) or group.max() >= values.size:
            raise UsageError("group: each cell of a table needs at least one finest cell, and no others are named")
        if bool((np.isnan(variances) | (variances < 0)).any()) or not np.isfinite(values[np.isfinite(variances)]).all():
            raise UsageError("variances: must be 0 or more, and what was measured finite")
        object.__setattr__(self, "group", group)
        object.__setattr__(self, "values", np.where(np.isfinite(variances), values, 0.0))
        object.__setattr__(self, "variances", variances)

    def sums(self, cells: Floats) -> Floats:
        """This table of the given finest cells."""
        inside = self.group >= 0
        sums = np.bincount(self.group[inside], weights=cells[inside], minlength=self.values.size)
        return np.asarray(sums, dtype=np.float64)

    def spread(self, values: Floats) -> Floats:
        """Each finest cell with the number of the table's cell that it counts in; 0 where it counts in none."""
        return np.append(values, 0.0)[self.group]  # -1 is the last place

    @cached_property
    def covers(self) -> bool:
        """Whether every finest cell counts in it."""
        return bool((self.group >= 0).all())

    def refines(self, other: NoisyTable) -> bool:
        """Whether each cell of the other table is a sum of cells of this one."""
        if self.values.size < other.values.size or not self.covers:
            return False
        return bool((self.parents_in(other)[self.group] == other.group).all())

    def parents_in(self, coarser: NoisyTable) -> Integers:
        """For each cell of this table, the cell of a coarser one that it lies in."""
        parent = np.full(self.values.size, -1, dtype=np.int64)
        inside = self.group >= 0
        parent[self.group[inside]] = coarser.group[inside]
        return parent


@dataclass(frozen=True, eq=False)
class Agreed:
    """Tables that agree. `cells` are finest cells with exactly these sums; where no measured table tells some of them
    apart they are one choice of many. `variances` are those of the estimates, or bounds on them where not `exact`."""

    cells: Floats
    values: tuple[Floats, ...]
    variances: tuple[Floats, ...]
    exact: bool


def agree(tables: Sequence[NoisyTable]) -> Agreed:
    """The best linear unbiased estimate of every cell of every table, from all of them together.

    >>> total = NoisyTable(np.array([0, 0, 0]), np.array([12.0]), np.array([1.0]))
    >>> parts = NoisyTable(np.array([0, 1, 2]), np.array([4.0, 3.0, 1.0]), np.ones(3))
    >>> agreed = agree([total, parts])
    >>> [one.tolist() for one in agreed.values], [one.tolist() for one in agreed.variances]
    ([[11.0], [5.0, 4.0, 2.0]], [[0.75], [0.75, 0.75, 0.75]])
    """
    if not tables or len({one.group.size for one in tables}) != 1:
        raise UsageError("tables: need at least one, all over the same finest cells")
    chain = nested_chain(tables)
    if len(chain) == len(tables):
        return _on_a_tree(tables, chain)
    joined, member = _joined(tables)
    solve = _dense if member.max() < FEW_CELLS else _gradients
    cells, variances, exact = solve(joined)
    cells = (cells / np.bincount(member))[member]
    return Agreed(cells, tuple(one.sums(cells) for one in tables), variances, exact)


def _on_a_tree(tables: Sequence[NoisyTable], chain: Sequence[int]) -> Agreed:
    layers = [tables[at] for at in chain]
    parents = [fine.parents_in(coarse) for coarse, fine in pairwise(layers)]
    tree = least_squares(parents, [one.values for one in layers], [one.variances for one in layers])
    back = np.argsort(chain)
    finest = layers[-1].group
    cells = (tree.values[-1] / np.bincount(finest))[finest]
    return Agreed(cells, tuple(tree.values[at] for at in back), tuple(tree.variances[at] for at in back), True)


def _joined(tables: Sequence[NoisyTable]) -> tuple[list[NoisyTable], Integers]:
    """The same tables over fewer finest cells: those that no table tells apart are one."""
    member = np.zeros(tables[0].group.size, dtype=np.int64)
    for one in tables:
        member = np.unique(member * (one.values.size + 1) + one.group + 1, return_inverse=True)[1]
    first = np.unique(member, return_index=True)[1]
    return [NoisyTable(one.group[first], one.values, one.variances) for one in tables], member


def _dense(tables: Sequence[NoisyTable]) -> tuple[Floats, tuple[Floats, ...], bool]:
    """Known counts are met by moving only in directions that leave them; the rest is least squares in those."""
    size = tables[0].group.size
    design = np.concatenate([(np.arange(one.values.size)[:, None] == one.group).astype(float) for one in tables])
    values, variances = (np.concatenate([getattr(one, key) for one in tables]) for key in ("values", "variances"))
    known = variances == 0
    start, free = np.zeros(size), np.eye(size)
    if known.any():
        start = np.linalg.lstsq(design[known], values[known], rcond=None)[0]
        if not np.allclose(design[known] @ start, values[known], rtol=1e-9, atol=1e-6):
            raise UsageError("values: counts that are known (variance 0) contradict each other")
        _, strength, directions = np.linalg.svd(design[known])
        free = directions[int((strength > strength[0] * 1e-10).sum()) :].T
    weight = np.where(known | np.isinf(variances), 0.0, 1 / np.where(known, 1.0, variances))
    moving = design @ free
    strength, basis = np.linalg.eigh(moving.T @ (weight[:, None] * moving))
    seen = strength > max(float(strength.max(initial=0.0)) * 1e-12, 1e-300)
    unseen = moving @ basis[:, ~seen]
    if bool((np.abs(unseen) > 1e-7).any()):
        raise UsageError("variances: a cell that was not measured cannot be estimated from the others")
    basis = basis[:, seen] / np.sqrt(strength[seen])
    spread = moving @ basis
    cells = start + free @ (basis @ (spread.T @ (weight * (values - design @ start))))
    ends = np.cumsum([one.values.size for one in tables])[:-1]
    return cells, tuple(np.split((spread**2).sum(axis=1), ends)), True


def _gradients(tables: Sequence[NoisyTable]) -> tuple[Floats, tuple[Floats, ...], bool]:
    """Conjugate gradients on the normal equations, with the inverse of a tree among the tables to speed them up."""
    if any(bool((one.variances == 0).any()) for one in tables):
        raise UsageError(f"variances: known counts (0) beside more than {FEW_CELLS} crossed cells are not supported")
    bounds = tuple(_bound(one, tables) for one in tables)
    if any(bool(np.isinf(one).any()) for one in bounds):
        raise UsageError("variances: a cell that was not measured cannot be estimated from the others")
    weights = [1 / one.variances for one in tables]

    def spread_out(per_table: Sequence[Floats]) -> Floats:
        total = np.zeros(tables[0].group.size)
        for one, values in zip(tables, per_table, strict=True):
            total += one.spread(values)
        return total

    def normal(cells: Floats) -> Floats:
        return spread_out([weight * one.sums(cells) for one, weight in zip(tables, weights, strict=True)])

    precondition = _tree_inverse(tables, spread_out(weights))
    residual = spread_out([weight * one.values for one, weight in zip(tables, weights, strict=True)])
    cells, target = np.zeros(residual.size), float(np.linalg.norm(residual)) * _TOLERANCE
    step = direction = precondition(residual)
    power = float(residual @ step)
    for _ in range(_STEPS):
        if np.linalg.norm(residual) <= target:
            return cells, bounds, False
        image = normal(direction)
        length = power / float(direction @ image)
        cells += length * direction
        residual = residual - length * image
        step = precondition(residual)
        before, power = power, float(residual @ step)
        direction = step + power / before * direction
    raise UsageError("tables: their agreement did not settle; are some variances larger than others by many powers?")


def _tree_inverse(tables: Sequence[NoisyTable], diagonal: Floats) -> Callable[[Floats], Floats]:
    """An approximate inverse of the normal equations: exact for a chain of nested tables down to single cells."""
    layers = [tables[at] for at in nested_chain(tables)]
    whole = layers and layers[-1].values.size == diagonal.size
    if not whole or not all(bool(np.isfinite(one.variances).all()) for one in layers):
        return lambda residual: residual / diagonal
    finest = layers[-1]
    parents = [fine.parents_in(coarse) for coarse, fine in pairwise(layers)]
    variances = [one.variances for one in layers]
    nothing = [np.zeros(one.values.size) for one in layers[:-1]]

    def solve(residual: Floats) -> Floats:
        scores = np.empty(finest.values.size)
        scores[finest.group] = residual
        return least_squares(parents, [*nothing, scores * finest.variances], variances).values[-1][finest.group]

    return solve


def nested_chain(tables: Sequence[NoisyTable]) -> list[int]:
    """Places of tables that nest, coarsest first and down to the largest; each counts every finest cell."""
    order = sorted((at for at, one in enumerate(tables) if one.covers), key=lambda at: tables[at].values.size)
    chain: list[int] = []
    for at in order:
        if tables[order[-1]].refines(tables[at]) and (not chain or tables[at].refines(tables[chain[-1]])):
            chain.append(at)
    return chain


def _bound(table: NoisyTable, tables: Sequence[NoisyTable]) -> Floats:
    """What weighing a cell's own value against its sum in each finer table would reach; the estimate is no worse."""
    precision = np.zeros(table.values.size)
    for finer in tables:
        if finer is table:
            precision += 1 / table.variances
        elif finer.refines(table):
            parent = finer.parents_in(table)
            inside = parent >= 0
            precision += 1 / np.bincount(parent[inside], weights=finer.variances[inside], minlength=precision.size)
    return np.asarray(np.where(precision > 0, 1 / np.where(precision > 0, precision, 1.0), np.inf))
