"""Attributes as levels: categories as declared, numbers by public cuts; and back to values."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tacita.errors import UsageError
from tacita.schema import Categorical, Integer, Numeric, Schema

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


@dataclass(frozen=True)
class Attribute:
    """One column with its levels; `cuts` are the inner borders of a number's bins, each the start of the bin above."""

    name: str
    kind: Categorical | Integer | Numeric
    cuts: tuple[float, ...] = ()

    @property
    def levels(self) -> int:
        return len(self.kind.levels) if isinstance(self.kind, Categorical) else len(self.cuts) + 1

    def code(self, values: Floats) -> Integers:
        """Levels of values as `reading.read` gives them."""
        if isinstance(self.kind, Categorical):
            return values.astype(np.int64)
        return np.searchsorted(np.array(self.cuts), values, side="right").astype(np.int64)

    def value(self, codes: Integers, random: np.random.Generator) -> pa.Array:
        """Published values; a number is spread evenly over its bin."""
        if isinstance(self.kind, Categorical):
            return pa.array(np.array(self.kind.levels, dtype=object)[codes], type=pa.string())
        step = 10.0**-self.kind.scale if isinstance(self.kind, Numeric) else 1.0
        edges = np.concatenate(([self.kind.lower], self.cuts, [self.kind.upper + step]))
        low, high = edges[codes], edges[codes + 1]
        drawn = np.floor((low + (high - low) * random.random(codes.size)) / step + 1e-9) * step
        held = np.clip(np.round(drawn, 9), self.kind.lower, self.kind.upper)
        return pa.array(held.astype(np.int64) if isinstance(self.kind, Integer) else held)


def attribute_of(schema: Schema, name: str, cuts: tuple[float, ...] | None) -> Attribute:
    kind = schema[name].kind
    if isinstance(kind, Categorical):
        if cuts is not None:
            raise UsageError(f"cuts: {name} is categorical; cuts are for numbers")
        return Attribute(name, kind)
    if not isinstance(kind, Integer | Numeric):
        raise UsageError(f"attributes: {name} is an id; ids are never synthesized, leave it out")
    if cuts is None:
        raise UsageError(
            f"cuts: {name} is a number; give the public borders of its bins, such as cuts.{name} = [10, 50]"
        )
    if list(cuts) != sorted(set(cuts)) or not all(kind.lower < cut <= kind.upper for cut in cuts):
        raise UsageError(f"cuts.{name}: must rise strictly and lie above lower and not above upper")
    return Attribute(name, kind, cuts)
