"""Tables over attributes with levels, laid out for the passes of `sweeps`. Public arithmetic."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import combinations
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacita.data.schema.rulebook import Bar, linked_by
from tacita.synthesis.file.sweeps import tally

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
WIDEST = 3  # attributes of a table
_JOINED = 5_000  # cells of a table that stands for three pairs: larger ones leave a processor's own memory


class Graph:
    """Which tables there are of which attributes, each with one view per attribute.

    >>> graph = Graph((2, 3), [(0, 1)], ())
    >>> graph.flat([np.arange(6.0).reshape(2, 3)]).tolist()
    [0.0, 3.0, 1.0, 4.0, 2.0, 5.0, 0.0, 1.0, 2.0, 3.0, 4.0, 5.0]

    What is `laid` out are these tables, or where they are `joined`, fewer ones that hold their sums.
    """

    def __init__(
        self, levels: tuple[int, ...], tables: Sequence[tuple[int, ...]], bars: Sequence[Bar], *, joined: bool = False
    ) -> None:
        self.levels, self.tables = levels, list(tables)
        self.laid = joined_tables(levels, self.tables) if joined else {one: (one,) for one in self.tables}
        self.starts = np.concatenate(([0], np.cumsum(levels))).astype(np.int64)
        per_attribute: list[list[tuple[int, ...]]] = [[] for _ in levels]
        size, before = 0, 0
        copies = [np.zeros(0, dtype=np.int32)]  # which cell each place of each view holds
        for table, attributes in enumerate(self.laid):
            shape = self._shape(attributes)
            cells = np.arange(before, before + prod(shape), dtype=np.int32).reshape(shape)
            for axis, own in enumerate(attributes):
                others = [one for one in attributes if one != own]
                strides = [prod(levels[one] for one in (*others[k + 1 :], own)) for k in range(len(others))]
                pad = [(own, 0)] * (WIDEST - 1 - len(others))
                looked_up = [number for pair in (*zip(others, strides, strict=True), *pad) for number in pair]
                per_attribute[own].append((size, *looked_up, own, table))
                copies.append(np.moveaxis(cells, axis, -1).ravel())
                size += cells.size
            before += cells.size
        self._copies = np.concatenate(copies)
        rows = [row for view in per_attribute for row in view]
        held = np.array(rows, dtype=np.int64).reshape(len(rows), 2 * WIDEST + 1)
        self.views, self.owner = np.ascontiguousarray(held[:, :-1]), np.ascontiguousarray(held[:, -1])
        self.first = np.concatenate(([0], np.cumsum([len(one) for one in per_attribute]))).astype(np.int64)
        self.kin = np.full((max(len(self.laid), 1), WIDEST), -1, dtype=np.int64)
        filled = np.zeros(len(self.kin), dtype=np.int64)
        for view, table in enumerate(self.owner.tolist()):
            self.kin[table, filled[table]] = view
            filled[table] += 1
        self._lay_out_bars(bars)

    def _lay_out_bars(self, bars: Sequence[Bar]) -> None:
        """The bars of each attribute, their scores one after another, and attributes that bars link, in blocks."""
        longest = max((len(one.attributes) for one in bars), default=1)
        barred = np.full((max(len(bars), 1), longest, 2), -1, dtype=np.int64)  # attribute, where its scores start
        members: list[list[int]] = [[] for _ in self.levels]
        scores, size = [np.zeros(0)], 0
        for number, bar in enumerate(bars):
            for at, (attribute, score) in enumerate(zip(bar.attributes, bar.scores, strict=True)):
                barred[number, at] = attribute, size
                members[attribute].append(number)
                scores.append(score)
                size += score.size
        bars_of = np.concatenate(([0], np.cumsum([len(one) for one in members]))).astype(np.int64)
        listed = np.array([one for some in members for one in some], dtype=np.int64)
        limits = np.array([one.limit for one in bars], dtype=np.float64)
        self.bars = (bars_of, listed, barred, np.concatenate(scores), limits)
        self.blocks = [np.array(one, dtype=np.int64) for one in linked_by(bars) if len(one) > 1]

    def _shape(self, attributes: tuple[int, ...]) -> tuple[int, ...]:
        return tuple(self.levels[one] for one in attributes)

    def flat(self, values: Sequence[Floats]) -> Floats:
        """The views of all tables with these values, one after another."""
        return self.viewed(self.cells(values))

    def cells(self, values: Sequence[Floats]) -> Floats:
        """All tables with these values, as they are laid out, one after another."""
        own = dict(zip(self.tables, values, strict=True))
        sums = [np.zeros(0)]
        for attributes, held in self.laid.items():
            total = own[attributes] if held == (attributes,) else np.zeros(self._shape(attributes))
            for one in held if held != (attributes,) else ():
                total += np.expand_dims(own[one], tuple(k for k, a in enumerate(attributes) if a not in one))
            sums.append(total.ravel())
        return np.concatenate(sums)

    def viewed(self, cells: NDArray[Any]) -> NDArray[Any]:
        return np.asarray(cells[self._copies])

    def span(self, a: int) -> slice:
        return slice(int(self.starts[a]), int(self.starts[a + 1]))

    def busiest(self) -> list[int]:
        """How many tables there are, for each of them, of its attribute that is in most."""
        held = Counter(one for attributes in self.tables for one in attributes)
        return [max(held[one] for one in attributes) for attributes in self.tables]


def joined_tables(
    levels: tuple[int, ...], tables: Sequence[tuple[int, ...]]
) -> dict[tuple[int, ...], tuple[tuple[int, ...], ...]]:
    """Fewer tables, each with those whose sum it holds: a table of three attributes can stand for its pairs as well.

    >>> joined_tables((2, 2, 2, 9), [(0, 1), (0, 2), (1, 2), (2, 3)])
    {(0, 1, 2): ((0, 1), (0, 2), (1, 2)), (2, 3): ((2, 3),)}
    """
    held = {one: [one] for one in tables if len(one) == WIDEST}
    inside = {pair: one for one in reversed(held) for pair in combinations(one, 2)}
    pairs = [one for one in tables if len(one) < WIDEST]
    for pair in pairs:
        if pair in inside:
            held[inside[pair]].append(pair)
    left = dict.fromkeys(sorted((one for one in pairs if one not in inside), key=lambda one: _size(levels, one)))
    near: dict[int, set[int]] = {a: set() for a in range(len(levels))}
    for a, b in left:
        near[a].add(b)
        near[b].add(a)
    for a, b in list(left):
        third = min(near[a] & near[b], key=lambda c: (levels[c], c), default=None) if (a, b) in left else None
        if third is None or _size(levels, (a, b, third)) > _JOINED:
            continue
        three = sorted((a, b, third))
        sides = list(combinations(three, 2))
        held[tuple(three)] = list(sides)
        for one, other in sides:
            left.pop((one, other))
            near[one].discard(other)
            near[other].discard(one)
    return {one: tuple(some) for one, some in held.items()} | {one: (one,) for one in left}


def _size(levels: tuple[int, ...], attributes: tuple[int, ...]) -> int:
    return prod(levels[one] for one in attributes)


def tabulate_all(records: Integers, levels: tuple[int, ...], tables: Sequence[tuple[int, ...]]) -> list[Integers]:
    """Many tables of synthetic records at once.

    >>> [one.tolist() for one in tabulate_all(np.array([[0, 1], [1, 1]]), (2, 2), [(0, 1), (1,)])]
    [[[0, 1], [0, 1]], [0, 2]]
    """
    shapes = [tuple(levels[one] for one in table) for table in tables]
    named = np.array([[*table, *[0] * (WIDEST - len(table))] for table in tables], dtype=np.int64)
    sizes = np.array([[*shape, *[1] * (WIDEST - len(shape))] for shape in shapes], dtype=np.int64)
    ends = np.cumsum([prod(shape) for shape in shapes])
    counts = np.zeros(int(ends[-1]), dtype=np.int64)
    tally(np.ascontiguousarray(records.T), named, sizes, ends - sizes.prod(axis=1), counts)
    return [part.reshape(shape) for part, shape in zip(np.split(counts, ends[:-1]), shapes, strict=True)]


def tabulate(records: Integers, levels: tuple[int, ...], attributes: tuple[int, ...]) -> Integers:
    """How many synthetic records there are in each cell."""
    shape = tuple(levels[one] for one in attributes)
    cell = np.zeros(len(records), dtype=np.int64)
    for one, size in zip(attributes, shape, strict=True):
        cell = cell * size + records[:, one]
    return np.bincount(cell, minlength=prod(shape)).reshape(shape)
