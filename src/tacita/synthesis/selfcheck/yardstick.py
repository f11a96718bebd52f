"""What a synthetic file is compared by, read off that file and the schema: states of columns, cuts, clamps.

The file was released, so all of this is public. `code`, `places`, `beyond` and `steps` are applied to confidential rows
too, record by record.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tacita.data.schema import Categorical, Date, Identifier, Schema
from tacita.lazy import later

pc = later("pyarrow.compute")

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Columns = Mapping[str, Floats]

STEPS = 1 << 12  # of one record, and of one mean
WIDEST = 250  # how far one record may move a mean, in multiples of the file's: noise for this can always be drawn
_LEVELS = 20  # of a category that are states of their own; the others are one together
_BINS, _RANKS = 10, 200
_MOST_PAIRS = 2000
# Clamps at these quantiles of the file, or at so many times them: the rows may reach further than the file.
_CLAMPS = ((0.999, 4), (0.999, 2), (0.999, 1), (0.995, 1), (0.99, 1), (0.98, 1), (0.95, 1), (0.9, 1))


def coded(file: pa.Table, schema: Schema, names: Sequence[str]) -> dict[str, Floats]:
    """Columns of a synthetic file as `tacita.data.reading.read` codes those of the confidential one."""
    codes = {}
    for name in names:
        kind, column = schema[name].kind, file[name].combine_chunks()
        if isinstance(kind, Categorical):
            column = pc.index_in(column.cast(pa.string()), value_set=pa.array(kind.levels, type=pa.string()))
            instead = None if kind.missing is None else kind.code[kind.missing]
        else:
            instead = getattr(kind, "missing", None)
            if isinstance(kind, Date):
                column, instead = column.cast(pa.int32()), None if instead is None else kind.day(instead)
        values = np.array(column.cast(pa.float64()).to_numpy(zero_copy_only=False))
        codes[name] = values if instead is None else np.where(np.isnan(values), instead, values)
    return codes


@dataclass(frozen=True, eq=False)
class Category:
    """The frequent levels of the file are states, and all others one together."""

    name: str
    states: Integers
    size: int

    @classmethod
    def of(cls, name: str, values: Floats, levels: int) -> Category:
        counts = np.bincount(values[values >= 0].astype(np.int64), minlength=levels)
        frequent = np.sort(np.argsort(-counts, kind="stable")[:_LEVELS])
        states = np.full(levels, len(frequent), dtype=np.int64)
        states[frequent] = np.arange(len(frequent))
        return cls(name, states, len(frequent) + 1)

    def code(self, values: Floats) -> Integers:
        known = values >= 0  # what is missing is not
        return np.where(known, self.states[np.where(known, values, 0).astype(np.int64)], self.size - 1)


@dataclass(frozen=True, eq=False)
class Number:
    """Bins between deciles of the file, then missing; `ranks` are finer cuts, `ends` its smallest and largest value."""

    name: str
    cuts: Floats
    ranks: Floats
    ends: tuple[float, float]

    @classmethod
    def of(cls, name: str, values: Floats) -> Number:
        known = np.sort(values[~np.isnan(values)])
        ends = (float(known[0]), float(known[-1])) if known.size else (-np.inf, np.inf)
        return cls(name, _quantiles(known, _BINS), _quantiles(known, _RANKS), ends)

    @property
    def size(self) -> int:
        return len(self.cuts) + 2

    def code(self, values: Floats) -> Integers:
        codes = np.searchsorted(self.cuts, values, side="left").astype(np.int64)
        codes[np.isnan(values)] = self.size - 1
        return codes

    def places(self, values: Floats) -> Integers:
        """Between which finer cuts a value lies; a missing one stands above all."""
        return np.searchsorted(self.ranks, values, side="left").astype(np.int64)

    def beyond(self, values: Floats) -> NDArray[np.bool_]:
        return (values < self.ends[0]) | (values > self.ends[1])


def _quantiles(known: Floats, parts: int) -> Floats:
    """Distinct values of the file at equal steps of rank, the largest left out."""
    at = np.arange(1, parts) * len(known) // parts
    return np.unique(known[at]) if known.size else known


@dataclass(frozen=True, eq=False)
class Centred:
    """How far records lie from the file's (weighted) mean, clamped, in units of the mean size of its values.

    Summed over the file this is zero; summed over others it is how far their mean lies from the file's. `ends` are the
    least and the most that `steps` can be, which is zero for a missing value. `unseen` is what the file holds beyond
    the clamp, in the same units.
    """

    name: str
    weight: str | None
    mean: float
    clamp: tuple[float, float]
    shift: float
    size: float
    unseen: float

    def steps(self, columns: Columns) -> Integers:
        values = columns[self.name]
        off = (values - self.mean) * (1.0 if self.weight is None else columns[self.weight])
        steps = self._steps(np.where(np.isnan(off), self.shift, off))
        return np.where(np.isnan(off), 0, steps)

    def _steps(self, off: Floats) -> Integers:
        return np.rint((np.clip(off, *self.clamp) - self.shift) / self.size * STEPS).astype(np.int64)

    @property
    def ends(self) -> tuple[int, int]:
        low, high = self._steps(np.array(self.clamp))
        return min(int(low), 0), max(int(high), 0)


def centred(name: str, weight: str | None, file: Columns, noise: Callable[[tuple[int, int]], float]) -> list[Centred]:
    """With the clamp that leaves least open, by the noise it costs and by what the file holds beyond it; none where
    the file's values are all alike."""
    present = ~np.isnan(file[name])
    values = file[name][present]
    weights = np.ones(len(values)) if weight is None else file[weight][present]
    total = float(weights.sum())
    if not values.size or not total > 0:
        return []
    mean = float((weights * values).sum()) / total
    size = float((weights * np.abs(values)).sum()) / len(file[name])
    off = weights * (values - mean)
    sums = []
    for trim, times in _CLAMPS:
        low, high = (times * float(one) for one in np.quantile(off, [1 - trim, trim]))
        if low < high and size > 0:
            held = np.clip(off, low, high)
            unseen = float(np.abs(off - held).sum()) / len(file[name]) / size
            one = Centred(name, weight, mean, (low, high), float(held.mean()), size, unseen)
            sums += [one] if one.ends[1] - one.ends[0] <= WIDEST * STEPS else []
    return [min(sums, key=lambda one: noise(one.ends) + one.unseen)] if sums else []


@dataclass(frozen=True, eq=False)
class Yardstick:
    """The columns that are compared, and the pairs of them."""

    columns: tuple[Category | Number, ...]

    @classmethod
    def of(cls, schema: Schema, file: Columns) -> Yardstick:
        columns_coded: list[Category | Number] = []
        for name, values in file.items():
            kind = schema[name].kind
            if isinstance(kind, Categorical):
                columns_coded.append(Category.of(name, values, len(kind.levels)))
            elif not isinstance(kind, Identifier):
                columns_coded.append(Number.of(name, values))
        return cls(tuple(columns_coded))

    @property
    def numbers(self) -> tuple[Number, ...]:
        return tuple(one for one in self.columns if isinstance(one, Number))

    @property
    def pairs(self) -> Sequence[tuple[int, int]]:
        """All pairs of columns, or evenly many of them where there are too many to look at."""
        return pairs_of(len(self.columns))


def pairs_of(columns: int) -> Sequence[tuple[int, int]]:
    """
    >>> len(pairs_of(40)), len(pairs_of(200))
    (780, 1990)
    """
    pairs = list(combinations(range(columns), 2))
    return pairs[:: -(-len(pairs) // _MOST_PAIRS)] if pairs else []
