"""Attributes as levels: categories as declared, numbers by public cuts; and back to values."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tacita.data.coding import States
from tacita.data.reading import refuse_linked
from tacita.data.schema import Categorical, Integer, Numeric, Schema
from tacita.errors import UsageError

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


@dataclass(frozen=True)
class Attribute:
    """One column with its levels; `cuts` are the inner borders of a number's bins, each the start of the bin above."""

    name: str
    kind: Categorical | Integer | Numeric
    cuts: tuple[float, ...] = ()

    @property
    def size(self) -> int:
        return len(self.kind.levels) if isinstance(self.kind, Categorical) else len(self.cuts) + 1

    @property
    def states(self) -> States | None:
        return None if isinstance(self.kind, Categorical) else States(self.cuts)

    def code(self, values: Floats) -> Integers:
        """Levels of values as `reading.read` gives them."""
        if isinstance(self.kind, Categorical):
            return values.astype(np.int64)
        return np.searchsorted(np.array(self.cuts), values, side="right").astype(np.int64)

    def column(self, codes: NDArray[np.integer], random: np.random.Generator) -> pa.Array:
        """Published values; a number is spread evenly over its bin."""
        if isinstance(self.kind, Categorical):
            return pa.array(self.kind.levels, type=pa.string()).take(pa.array(codes.astype(np.int32)))
        low, high = self._first[codes], self._first[codes.astype(np.int64) + 1]
        drawn = np.minimum(low + np.floor((high - low) * random.random(codes.size)), high - 1)
        return pa.array(drawn.astype(np.int64) if isinstance(self.kind, Integer) else drawn / self._parts)

    @property
    def _parts(self) -> float:
        return 10.0**self.kind.scale if isinstance(self.kind, Numeric) else 1.0

    @property
    def _first(self) -> Floats:
        """The first value of each bin, counted in units of the last place, and the one after the last of all.

        A value stands at whole units, so a border between two of them belongs to the upper one.
        """
        assert not isinstance(self.kind, Categorical)
        borders = np.array([self.kind.lower, *self.cuts]) * self._parts
        last = np.floor(self.kind.upper * self._parts + 1e-6)
        return np.append(np.ceil(borders - 1e-6), last + 1)

    @property
    def empty(self) -> bool:
        """Whether a bin holds no value that can be written at all."""
        return not isinstance(self.kind, Categorical) and bool((np.diff(self._first) < 1).any())


def attribute_of(schema: Schema, name: str, cuts: tuple[float, ...] | None) -> Attribute:
    kind = schema[name].kind
    refuse_linked(schema, name)
    if isinstance(kind, Categorical):
        if cuts is not None:
            raise UsageError(f"cuts: {name} is categorical; cuts are for numbers")
        return Attribute(name, kind)
    if not isinstance(kind, Integer | Numeric):
        raise UsageError(f"columns: {name} is an id; ids are never synthesized, leave it out")
    if cuts is None:
        raise UsageError(
            f"cuts: {name} is a number; give the public borders of its bins, such as cuts.{name} = [10, 50]"
        )
    if list(cuts) != sorted(set(cuts)) or not all(kind.lower < cut <= kind.upper for cut in cuts):
        raise UsageError(
            f"cuts.{name}: must rise strictly and lie above lower and not above upper; one is out of order or "
            "outside its bounds in the schema"
        )
    attribute = Attribute(name, kind, cuts)
    if attribute.empty:
        raise UsageError(f"cuts.{name}: no value of {name} lies between two of them; take one of the two out")
    return attribute
