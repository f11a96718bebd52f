"""Records by cell and size of a number: a small scan that says where those near to a rank are, and what numbers that
count up to a limit add up to.

Quantiles need the values next to them and how many records are elsewhere; to count every value of a large file by cells
takes many times as long. Sums whose limit is bought first need the octaves of all numbers and then the sums, and one
scan of octaves by cells has both. The size of a number is its first binary digits, found by whole-number operations on
that number alone, which every engine does alike.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacita.data import rowwise
from tacita.data.cells import Amount, Cells, cell_places, decimals, kept, whole_numbers
from tacita.data.confidential import Confidential, asked, engine_of, tallied
from tacita.data.schema import Schema
from tacita.lazy import later

ibis = later("ibis")

Integers = NDArray[np.int64]

_SIZE, _ONES, _STEPS, _BELOW, _N, _SUM = (f"tacita_{name}" for name in ("size", "ones", "steps", "below", "n", "sum"))
_FEW_ROWS = 1 << 17
_MANY = 1 << 20  # records, of which those near to some ranks are looked for first
_MOST_OF_ALL = 0.5  # of them, that are no fewer worth looking for
_MOST_ADDED = 1 << 31  # steps of a number that is added up in 64 bits, of any number of records that there may be


@dataclass(frozen=True)
class BySize:
    """How many records have a number of each size, by sign and the stored values of some columns, and their sum if it
    is wanted. Numbers whose first `digits` binary ones are alike have one size: the least of them, in declared steps.

    >>> BySize((), Amount(("pay",)), 3).after(np.array([0, 5, 8, 896])).tolist()
    [0, 5, 9, 1023]
    """

    by: tuple[str, ...]
    amount: Amount
    digits: int
    added: bool = False

    def each(self, schema: Schema) -> int:
        """How many rows each combination of the values of `by` may have."""
        per_octave = 1 << (self.digits - 1)
        return (per_octave * self._most(schema).bit_length() + 3) * (2 if self._signed(schema) else 1)

    def over(self, table: Any, schema: Schema, rules: Mapping[str, Any] | None = None) -> Any:
        broken, signed = dict(rules or {}), self._signed(schema)
        steps = self.steps(table, schema)
        size = steps.abs() if signed else steps
        columns = {name: table[name] for name in self.by} | {_STEPS: steps, _SIZE: size, _ONES: size}
        coded = table.select(**columns, **({_BELOW: steps < 0} if signed else {}), **broken)
        shift = 1
        while shift < self._most(schema).bit_length():  # until all digits below the first one are ones
            coded = coded.mutate(**{_ONES: coded[_ONES] | (coded[_ONES] >> shift)})
            shift *= 2
        if self.digits > 1:
            coded = coded.mutate(**{_SIZE: coded[_SIZE] - (coded[_SIZE] & (coded[_ONES] >> self.digits))})
        sums = {_SUM: coded[_STEPS].sum()} if self.added else {}
        flags = {name: coded[name].any() for name in broken}
        keys = [*self.by, _ONES if self.digits == 1 else _SIZE, *([_BELOW] if signed else [])]
        return coded.group_by(keys).aggregate(**{_N: coded.count()}, **sums, **flags)

    def steps(self, table: Any, schema: Schema) -> Any:
        """The number of every record in the steps that the schema declares, which is whole."""
        (column,) = self.amount.columns
        number = self.amount.of(table, schema)
        if number.type().is_integer():
            return number
        return (number.cast("float64") * 10.0 ** decimals(schema, column) + 0.5).floor().cast("int64")

    def after(self, sizes: Integers) -> Integers:
        """The last number of each size."""
        octave = np.frexp(np.maximum(sizes, 1).astype(np.float64))[1] - 1
        last: Integers = sizes + (np.int64(1) << np.maximum(octave - self.digits + 1, 0)) - 1
        return last

    def _most(self, schema: Schema) -> int:
        low, high = self.amount.bounds(schema)
        return round(max(abs(low), abs(high), 1.0) / self.amount.grain(schema)) + 1

    def _signed(self, schema: Schema) -> bool:
        return self.amount.bounds(schema)[0] < 0


@dataclass(frozen=True, eq=False)
class Sized:
    """What a scan says: for each of its rows a cell, a size, a sign, how many records there are and their sum."""

    scan: BySize
    cells: int
    cell: Integers
    size: Integers
    sign: Integers
    number: Integers
    total: Integers | None = None

    @property
    def there(self) -> Integers:
        """The records of each cell."""
        return rowwise.sums(self.cell, self.number, self.cells)

    def begin(self, sizes: Integers) -> Integers:
        """The least number of each size, which for a negative one is the furthest from 0."""
        return np.where(sizes < 0, -self.scan.after(-sizes), sizes)

    def end(self, sizes: Integers) -> Integers:
        return np.where(sizes < 0, sizes, self.scan.after(sizes))

    def octaves(self, lowest: int, highest: int) -> Integers:
        """As `cells.octaves` of all cells together, where a step is 1."""
        place = np.clip(np.frexp(self.size.astype(np.float64))[1] - 1, lowest, highest - 1) - lowest
        return rowwise.sums(place.astype(np.int64), np.where(self.sign == 0, 0, self.number), highest - lowest)

    def clamped(self, limit: int) -> Integers:
        """The sum of each cell, where numbers further from 0 than a limit count as the limit: one at which an octave
        begins, or beyond which no number is."""
        assert self.total is not None
        counted = np.where(self.size >= limit, self.sign * limit * self.number, self.total)
        return rowwise.sums(self.cell, counted, self.cells)


def by_size(data: Confidential, cells: Cells, scan: BySize) -> Sized | None:
    """None where the answer might not be small."""
    schema = data.schema
    if cells.count(schema) * scan.each(schema) > _FEW_ROWS:
        return None
    part = None if cells.where or cells.missing(schema) else tallied(data, scan)
    if part is None:
        part = asked(
            data, ("sizes", cells.key, scan), lambda: scan.over(kept(data, cells, scan.amount.columns), schema)
        )
    size = whole_numbers(part, _SIZE) if scan.digits > 1 else (whole_numbers(part, _ONES) + 1) >> 1
    sign = np.sign(size)
    if _BELOW in part.column_names:
        below = part[_BELOW].combine_chunks().fill_null(False)
        sign = np.where(below.to_numpy(zero_copy_only=False), -sign, sign)
    place, number = cell_places(part, schema, scan.by), whole_numbers(part, _N)
    total = whole_numbers(part, _SUM) if scan.added else None
    return Sized(scan, cells.count(schema), place, size, sign, number, total)


def octave_scan(schema: Schema, cells: Cells, amount: Amount) -> BySize | None:
    """The scan by which a sum with a limit that is bought is read at once; None where that needs one after the other:
    of products, of steps that are no whole numbers, and of numbers that all are above 0 or that 64 bits cannot add."""
    low, high = amount.bounds(schema)
    if len(amount.columns) != 1 or decimals(schema, amount.columns[0]) or low > 0 or max(-low, high) > _MOST_ADDED:
        return None
    scan = BySize(cells.by, amount, 1, added=True)
    return scan if cells.count(schema) * scan.each(schema) <= _FEW_ROWS else None


def near(data: Confidential, sized: Sized, ranks: list[tuple[Integers, Integers]]) -> Near | None:
    """Which records have the sizes of those that stand from the one rank to the other in their cells, for any of
    `ranks`, and the next to them. None where it is sooner to look at all values: where records are few, where nearly
    all have such sizes, and where the engine is elsewhere, since the question says where records are."""
    there = int(sized.number.sum(dtype=np.int64))
    if there < _MANY or engine_of(data).name != "duckdb":
        return None
    order = sized.sign * sized.size
    rising = np.lexsort((order, sized.cell))
    cell, number = sized.cell[rising], sized.number[rising]
    upto = np.cumsum(number, dtype=np.int64)
    upto -= np.concatenate(([0], upto))[np.searchsorted(cell, cell)]  # of its cell
    wanted = np.zeros(order.size, dtype=bool)
    for low, high in ranks:
        wanted |= (upto >= low[cell]) & (upto - number <= high[cell] + 1)
    every = np.unique(order)
    close = np.isin(every, order[rising[wanted]])
    far = ~close[np.searchsorted(every, order)]
    if int(sized.number[~far].sum(dtype=np.int64)) > there * _MOST_OF_ALL:
        return None
    # Stretches of sizes that follow on each other among those that occur.
    breaks = np.flatnonzero(np.diff(close.astype(np.int8), prepend=0, append=0)).reshape(-1, 2)
    first, last = every[breaks[:, 0]], every[breaks[:, 1] - 1]
    ends = zip(sized.begin(first).tolist(), sized.end(last).tolist(), strict=True)
    return Near(sized, tuple(ends), far)


@dataclass(frozen=True, eq=False)
class Near:
    """Some sizes, as stretches of steps from the first to the last, and which rows of the scan are of others."""

    sized: Sized
    stretches: tuple[tuple[int, int], ...]
    far: NDArray[np.bool_]

    def only(self, schema: Schema) -> Callable[[Any], Any]:
        """The condition for records."""

        def condition(table: Any) -> Any:
            steps = self.sized.scan.steps(table, schema)
            return ibis.or_(*(steps.between(first, last) for first, last in self.stretches))

        return condition

    def others(self, least: int, most: int) -> tuple[Integers, Integers, Integers]:
        """Of all others the cells, a value of each size in the steps that the schema declares, from `least` to `most`,
        and how many there are. Where exactly they are no rank that is looked for depends on."""
        # A size begins nearer to 0 than a bound that lies within it, and no value stands there.
        value = np.clip((self.sized.sign * self.sized.size)[self.far], least, most)
        return self.sized.cell[self.far], value, self.sized.number[self.far]
