"""The design matrix of a propensity model, held as codes and produced block by block.

A dummy column has one entry per row, so a row is a short list of positions and not a long row of zeros: the
cross-product XᵀWX costs the square of the number of *columns of the file*, not of parameters. Where all columns are
categorical the rows are the distinct patterns with their counts. A missing number is zero and has a flag.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from tacita.compiled import njit
from tacita.evaluation.cells import WORKERS, Codes, Numbers
from tacita.evaluation.encoding import Pair

_BLOCK_CELLS = 1 << 18  # entries of a block: it should stay in a core's cache while it is used
_LARGEST_CROSS = 1 << 22  # cells of two crossed columns; a larger interaction is left out and named


@dataclass(frozen=True, eq=False)
class Dummies:
    """One group of dummies: the parameter of each cell (−1: none), times a number where `value` is not −1."""

    label: str
    first: int
    second: int  # −1 for a single column
    width: int  # levels of the second column
    value: int
    position: NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class Block:
    """Some rows of the design, transposed: positions of the dummies, numbers that scale them, dense columns."""

    index: NDArray[np.int32]
    numbers: Numbers
    dense: Numbers
    rows: slice


@dataclass(frozen=True, eq=False)
class Design:
    """Rows with counts, their codes and standardised numbers, and the terms of the model.

    Parameters are ordered: every group of dummies, the intercept, the numbers, the products of numbers.
    """

    codes: Codes
    numbers: Numbers
    original: Numbers
    total: Numbers
    groups: tuple[Dummies, ...]
    products: tuple[tuple[int, int], ...]
    intercept: int
    left_out: tuple[str, ...]

    @property
    def rows(self) -> int:
        return len(self.total)

    @property
    def parameters(self) -> int:
        return self.intercept + 1 + len(self.numbers) + len(self.products)

    def blocks(self, worker: int) -> Iterator[Block]:
        """The blocks that one of the workers takes care of; only one is in memory at a time."""
        length = min(max(_BLOCK_CELLS // (len(self.groups) + self.parameters - self.intercept), 256), 8192)
        for start in range(worker * length, self.rows, WORKERS * length):
            rows = slice(start, min(start + length, self.rows))
            index = np.empty((len(self.groups), rows.stop - rows.start), dtype=np.int32)
            _fill_index(self.codes[:, rows], *self._layout, index)
            numbers = np.ascontiguousarray(self.numbers[:, rows])
            dense = np.empty((self.parameters - self.intercept, rows.stop - rows.start))
            dense[0] = 1.0
            dense[1 : 1 + len(numbers)] = numbers
            _fill_products(numbers, self._pairs, dense)
            yield Block(index, numbers, dense, rows)

    @cached_property
    def _layout(self) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int32]]:
        """The groups as arrays: columns and width, where their positions start, and all positions in a row."""
        shape = np.array([(one.first, one.second, one.width) for one in self.groups], dtype=np.int64).reshape(-1, 3)
        starts = np.cumsum([0, *(len(one.position) for one in self.groups)])
        return shape, starts, np.concatenate([np.zeros(0, dtype=np.int32), *(one.position for one in self.groups)])

    @cached_property
    def _pairs(self) -> NDArray[np.int64]:
        return np.array(self.products, dtype=np.int64).reshape(-1, 2)


@njit(nogil=True, cache=True)
def _fill_index(codes, shape, starts, positions, index):  # type: ignore[no-untyped-def]
    for place in range(shape.shape[0]):
        first, second, width = shape[place]
        for row in range(index.shape[1]):
            cell = np.int64(codes[first, row])
            if second >= 0:
                cell = cell * width + codes[second, row]
            index[place, row] = positions[starts[place] + cell]


@njit(nogil=True, cache=True)
def _fill_products(numbers, pairs, dense):  # type: ignore[no-untyped-def]
    for place in range(pairs.shape[0]):
        a, b = pairs[place]
        for row in range(numbers.shape[1]):
            dense[1 + numbers.shape[0] + place, row] = numbers[a, row] * numbers[b, row]


def build(pair: Pair, *, interactions: bool, limit: int) -> Design:
    """Main effects of all columns, and all two-way interactions if asked.

    Interactions enter from the smallest to the largest until the model would have more than `limit` parameters;
    the others are named in `left_out`. Levels and cells that no row has are not parameters, nor is a constant.
    """
    names, codes, original, total = pair.once("design rows", lambda: _rows(pair))
    labels, numbers = pair.once("design numbers", lambda: _standardised(pair, len(total)))
    sizes = [int(one.max()) + 1 for one in codes]
    counts = [np.bincount(one, weights=total, minlength=size) for one, size in zip(codes, sizes, strict=True)]
    varied = [place for place, count in enumerate(counts) if np.count_nonzero(count) > 1]
    reference = [int(count.argmax()) for count in counts]
    groups: list[Dummies] = []
    free = 0
    for place in varied:
        used = np.flatnonzero(counts[place])
        used = used[used != reference[place]]
        groups.append(Dummies(names[place], place, -1, 1, -1, _numbered(used, sizes[place], free)))
        free += len(used)
    products: list[tuple[int, int]] = []
    left_out: list[str] = []
    if interactions:
        crosses, left_out = _crosses(codes, total, sizes, reference, varied, names)
        dummies = [len(np.flatnonzero(group.position >= 0)) for group in groups]
        by_number = [(dummies[g], g, q) for g in range(len(groups)) for q in range(len(numbers))]
        by_product = list(combinations(range(len(numbers)), 2))
        everything = [(1, f"{labels[a]}×{labels[b]}", "product", (a, b)) for a, b in by_product]
        everything += [(n, f"{groups[g].label}×{labels[q]}", "scaled", (g, q)) for n, g, q in by_number]
        everything += [(len(used), f"{names[a]}×{names[b]}", "crossed", (a, b)) for a, b, used in crosses]
        cell_of = {(a, b): used for a, b, used in crosses}
        spent = free + 1 + len(numbers)
        for size, label, form, (a, b) in sorted(everything, key=lambda one: one[0]):
            if spent + size > limit:
                left_out.append(label)
                continue
            spent += size
            if form == "product":
                products.append((a, b))
            elif form == "scaled":
                main = groups[a]
                used = np.flatnonzero(main.position >= 0)
                groups.append(Dummies(label, main.first, -1, 1, b, _numbered(used, len(main.position), free)))
                free += size
            else:
                position = _numbered(cell_of[a, b], sizes[a] * sizes[b], free)
                groups.append(Dummies(label, a, b, sizes[b], -1, position))
                free += size
    return Design(codes, numbers, original, total, tuple(groups), tuple(products), free, tuple(left_out))


def _rows(pair: Pair) -> tuple[list[str], Codes, Numbers, Numbers]:
    """Codes (categorical columns, then flags of missing numbers) and how many original and total rows each has."""
    if pair.all_categorical:
        patterns = pair.cells.patterns()
        codes = pair.cells.codes[:, patterns.representative]
        original = patterns.original.astype(np.float64)
        return list(pair.original.names), codes, original, original + patterns.synthetic.astype(np.float64)
    names = list(pair.original.categorical)
    stacked = [pair.codes(name) for name in names]
    for name in pair.original.numeric:
        missing = np.isnan(pair.numbers(name))
        if missing.any():
            names.append(f"{name} missing")
            stacked.append(missing.astype(np.int32))
    codes = np.stack(stacked) if stacked else np.zeros((0, pair.rows), dtype=np.int32)
    return names, codes, pair.is_original.astype(np.float64), np.ones(pair.rows)


def _standardised(pair: Pair, rows: int) -> tuple[list[str], Numbers]:
    labels, made = [], []
    for name in pair.original.numeric:
        values = pair.numbers(name)
        known = values[~np.isnan(values)]
        if known.size and known.min() < known.max():
            scale = max(abs(known.min()), abs(known.max()))  # first to [−1, 1]: huge values must not overflow a square
            spread = float(np.std(known / scale))
            if spread > 0:
                labels.append(name)
                made.append(np.where(np.isnan(values), 0.0, (values / scale - _centre(known / scale)) / spread))
    return labels, np.stack(made) if made else np.zeros((0, rows))


def _centre(known: Numbers) -> float:
    """Where zero goes: the commonest value if a quarter of the rows have it (no income), else the mean.

    The model is the same wherever it is. A heap at zero leaves most entries, and products of entries, empty.
    """
    ordered = np.sort(known)
    quarters = ordered[np.linspace(0, len(ordered) - 1, 9).astype(np.int64)]  # a heap that large holds one of them
    values, sizes = np.unique(quarters, return_counts=True)
    for value in values[np.argsort(-sizes, kind="stable")]:
        size = np.searchsorted(ordered, value, side="right") - np.searchsorted(ordered, value, side="left")
        if 4 * size >= len(ordered):
            return float(value)
    return float(known.mean())


def _crosses(
    codes: Codes, total: Numbers, sizes: list[int], reference: list[int], varied: list[int], names: list[str]
) -> tuple[list[tuple[int, int, NDArray[np.int64]]], list[str]]:
    """For every two columns of codes, the observed cells away from both reference levels."""
    crosses, too_large = [], []
    for a, b in combinations(varied, 2):
        if sizes[a] * sizes[b] > _LARGEST_CROSS:
            too_large.append(f"{names[a]}×{names[b]}")
            continue
        cell = codes[a].astype(np.int64) * sizes[b] + codes[b]
        seen = np.bincount(cell, weights=total, minlength=sizes[a] * sizes[b]).reshape(sizes[a], sizes[b])
        seen[reference[a], :] = 0
        seen[:, reference[b]] = 0
        crosses.append((a, b, np.flatnonzero(seen)))
    return crosses, too_large


def _numbered(used: NDArray[np.int64], size: int, first: int) -> NDArray[np.int32]:
    position = np.full(size, -1, dtype=np.int32)
    position[used] = np.arange(first, first + len(used), dtype=np.int32)
    return position
