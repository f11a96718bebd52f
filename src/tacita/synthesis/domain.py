"""The public cells of a file: attributes with their levels or bins, and combinations that cannot occur."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from math import prod

import numpy as np
from numpy.typing import NDArray

from tacita.data.schema import Categorical, Schema
from tacita.errors import UsageError
from tacita.synthesis.attributes import Attribute, attribute_of

Codes = NDArray[np.int16]
Integers = NDArray[np.int64]
Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

MOST_CELLS = 1 << 62
_MOST_ZEROS = 8
_MOST_LEVELS = 30_000
FREE = -1  # in a row of codes: the attribute is not fixed


@dataclass(frozen=True)
class Domain:
    """The cells that a record may fall in.

    `zeros` are patterns of (attribute, code): a cell that matches all of one pattern cannot occur.

    >>> two = Categorical(("0", "1"))
    >>> voters = Domain((Attribute("voted", two), Attribute("registered", two)), (((0, 1), (1, 0)),))
    >>> voters.sizes, voters.cells
    ((2, 2), 3)
    """

    attributes: tuple[Attribute, ...]
    zeros: tuple[tuple[tuple[int, int], ...], ...] = ()

    def __post_init__(self) -> None:
        if self.raw_cells > MOST_CELLS:
            raise UsageError(
                f"columns: their levels make more than 2^62 cells ({self.raw_cells:.3g}); use fewer columns or "
                "fewer cuts"
            )
        if self.cells == 0:
            raise UsageError("zeros: together they leave no cell at all; remove one")

    @property
    def sizes(self) -> tuple[int, ...]:
        return tuple(one.size for one in self.attributes)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(one.name for one in self.attributes)

    @property
    def raw_cells(self) -> int:
        return prod(self.sizes)

    @cached_property
    def cells(self) -> int:
        """Cells that can occur."""
        return int(self.possible(np.full((1, len(self.attributes)), FREE, dtype=np.int16))[0])

    @cached_property
    def _merged(self) -> tuple[tuple[int, dict[int, int]], ...]:
        """Inclusion and exclusion: every set of patterns that can hold together, as one pattern with its sign."""
        merged = []
        for count in range(1, len(self.zeros) + 1):
            for some in combinations(self.zeros, count):
                joined: dict[int, int] = {}
                if all(joined.setdefault(at, code) == code for pattern in some for at, code in pattern):
                    merged.append((-1 if count % 2 else 1, joined))
        return tuple(merged)

    def possible(self, fixed: Codes) -> Integers:
        """How many cells can occur where some attributes are fixed (one row each, −1 where free)."""
        free = fixed == FREE
        sizes = np.array(self.sizes, dtype=np.int64)
        total = np.prod(np.where(free, sizes, 1), axis=1, dtype=np.int64)
        result = total.copy()
        for sign, pattern in self._merged:
            share = total.copy()
            for at, code in pattern.items():
                share = np.where(free[:, at], share // sizes[at], np.where(fixed[:, at] == code, share, 0))
            result += sign * share
        return np.asarray(result)

    def forbidden(self, codes: NDArray[np.integer]) -> Flags:
        """Which rows of codes fall in a cell that cannot occur."""
        broken = np.zeros(len(codes), dtype=np.bool_)
        for pattern in self.zeros:
            match = np.ones(len(codes), dtype=np.bool_)
            for at, code in pattern:
                match &= codes[:, at] == code
            broken |= match
        return broken

    def open_levels(self, fixed: Codes, at: int) -> Flags:
        """Which levels of a free attribute can occur, for each row of fixed codes."""
        is_open = np.ones((len(fixed), self.sizes[at]), dtype=np.bool_)
        for level in sorted({code for pattern in self.zeros for place, code in pattern if place == at}):
            tried = fixed.copy()
            tried[:, at] = level
            is_open[:, level] = self.possible(tried) > 0
        return is_open

    def any_cell(self) -> Codes:
        """A cell that can occur."""
        fixed = np.full((1, len(self.sizes)), FREE, dtype=np.int16)
        for at in range(len(self.sizes)):
            fixed[0, at] = np.argmax(self.open_levels(fixed, at)[0])
        return fixed

    def strides(self, fixed: Codes) -> Integers:
        """Weights that number the cells of each row's free attributes from 0; 0 for fixed attributes."""
        result = np.zeros(fixed.shape, dtype=np.int64, order="F")
        weight = np.ones(len(fixed), dtype=np.int64)
        for at in range(len(self.sizes) - 1, -1, -1):
            free = fixed[:, at] == FREE
            result[free, at] = weight[free]
            weight[free] *= self.sizes[at]
        return result

    def decoded(self, fixed: Codes, node: Integers, place: Integers, attributes: Sequence[int] | None = None) -> Codes:
        """Codes of cells given by the row of `fixed` they belong to and their number among its free cells."""
        chosen = range(len(self.sizes)) if attributes is None else attributes
        strides = self.strides(fixed)
        result = np.empty((node.size, len(chosen)), dtype=np.int16)
        for column, at in enumerate(chosen):
            stride = strides[node, at]
            free = (place // np.maximum(stride, 1)) % self.sizes[at]
            result[:, column] = np.where(stride > 0, free, fixed[node, at])
        return result

    def forbidden_places(self, fixed: Codes, node: Integers, place: Integers) -> Flags:
        """The same as `forbidden`, for cells in the form of `decoded`, looking only at the attributes concerned."""
        if not self.zeros:
            return np.zeros(node.size, dtype=np.bool_)
        concerned = sorted({at for pattern in self.zeros for at, _ in pattern})
        codes = self.decoded(fixed, node, place, concerned)
        where = {at: column for column, at in enumerate(concerned)}
        broken = np.zeros(node.size, dtype=np.bool_)
        for pattern in self.zeros:
            match = np.ones(node.size, dtype=np.bool_)
            for at, code in pattern:
                match &= codes[:, where[at]] == code
            broken |= match
        return broken


def all_zeros(
    schema: Schema, names: Sequence[str], given: Sequence[Mapping[str, str]]
) -> tuple[tuple[tuple[str, str], ...], ...]:
    """The plan's own impossible combinations and those of the schema that concern only these columns."""
    declared = (zero for zero in schema.zeros if all(name in names for name, _ in zero))
    return tuple(dict.fromkeys((*(tuple(pattern.items()) for pattern in given), *declared)))


def domain_of(
    schema: Schema,
    names: Sequence[str],
    cuts: Mapping[str, tuple[float, ...]],
    zeros: Sequence[Sequence[tuple[str, str]]],
) -> Domain:
    """The domain of some columns; raises where the schema cannot carry it."""
    attributes = tuple(_attribute(schema, name, cuts.get(name)) for name in names)
    place = {name: at for at, name in enumerate(names)}
    if len(zeros) > _MOST_ZEROS:
        raise UsageError(f"zeros: {len(zeros)} patterns, at most {_MOST_ZEROS}; join columns or drop some")
    patterns = []
    for number, pattern in enumerate(zeros, start=1):
        listed = []
        for name, level in pattern:
            kind = attributes[place[name]].kind
            if not isinstance(kind, Categorical) or level not in kind.code:
                raise UsageError(f'zeros: number {number} names "{level}", which is no level of {name} in the schema')
            listed.append((place[name], kind.code[level]))
        patterns.append(tuple(listed))
    return Domain(attributes, tuple(patterns))


def _attribute(schema: Schema, name: str, cuts: tuple[float, ...] | None) -> Attribute:
    attribute = attribute_of(schema, name, cuts)
    if attribute.size > _MOST_LEVELS:
        raise UsageError(f"columns: {name} has more than {_MOST_LEVELS:,} levels; group them first")
    return attribute
