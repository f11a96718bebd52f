"""Records by cell and size of a number: a small scan that says where those near to a rank are.

Quantiles need the values next to them and how many records are elsewhere; to count every value of a large file by cells
takes many times as long.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import ceil, floor, log2
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tacita.data import rowwise
from tacita.data.cells import Amount, Cells, cell_places, kept, whole_numbers
from tacita.data.confidential import Confidential, asked, engine_of, tallied
from tacita.data.schema import Schema
from tacita.lazy import later

ibis = later("ibis")

Integers = NDArray[np.int64]

_SIZE, _BELOW, _N = (f"tacita_{name}" for name in ("size", "below", "n"))
_FEW_ROWS = 1 << 17
_MANY = 1 << 20  # records, of which those near to some ranks are looked for first
_MOST_OF_ALL = 0.5  # of them, that are no fewer worth looking for


@dataclass(frozen=True)
class BySize:
    """How many records have an amount of each size, 2^(e/parts) to 2^((e+1)/parts), by sign and the stored values of
    some columns."""

    by: tuple[str, ...]
    amount: Amount
    parts: int

    def each(self, schema: Schema) -> int:
        """How many rows each combination of the values of `by` may have."""
        low, high = self.amount.bounds(schema)
        octaves = max(log2(max(abs(low), abs(high), 1.0) / self.amount.grain(schema)), 1.0)
        return (ceil(self.parts * octaves) + 3) * (2 if low < 0 else 1)

    def over(self, table: Any, schema: Schema, rules: Mapping[str, Any] | None = None) -> Any:
        broken = dict(rules or {})
        amount = self.amount.of(table, schema)
        columns = {name: table[name] for name in self.by} | {_SIZE: self.size(amount)}
        if self.amount.bounds(schema)[0] < 0:
            columns[_BELOW] = amount < 0
        coded = table.select(**columns, **broken)
        flags = {name: coded[name].any() for name in broken}
        return coded.group_by(list(columns)).aggregate(**{_N: coded.count()}, **flags)

    def size(self, amount: Any) -> Any:
        """Amounts are within their bounds, so this is finite; of 0 there is none."""
        return (amount.cast("float64").abs().nullif(0.0).log2() * float(self.parts)).floor().cast("int64")


@dataclass(frozen=True, eq=False)
class Sized:
    """What a scan says: for each of its rows a cell, a size, a sign and how many records there are."""

    scan: BySize
    cells: int
    cell: Integers
    size: Integers
    sign: Integers
    number: Integers

    @property
    def there(self) -> Integers:
        """The records of each cell."""
        return rowwise.sums(self.cell, self.number, self.cells)

    @property
    def lowest(self) -> int:
        return int(self.size[self.sign != 0].min(initial=0))

    @property
    def order(self) -> Integers:
        """A number for each row's size and sign that rises with the amount."""
        return self.sign * (self.size - self.lowest + 1)


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
    size = part[_SIZE].combine_chunks()
    sign = size.is_valid().to_numpy(zero_copy_only=False).astype(np.int64)
    if _BELOW in part.column_names:
        below = part[_BELOW].combine_chunks().fill_null(False)
        sign = np.where(below.to_numpy(zero_copy_only=False), -sign, sign)
    there = size.fill_null(0).cast(pa.int64()).to_numpy(zero_copy_only=False)
    place, number = cell_places(part, schema, scan.by), whole_numbers(part, _N)
    return Sized(scan, cells.count(schema), place, there, sign, number)


def near(data: Confidential, sized: Sized, ranks: list[tuple[Integers, Integers]]) -> Near | None:
    """Which records have the sizes of those that stand from the one rank to the other in their cells, for any of
    `ranks`, and the next to them. None where it is sooner to look at all values: where records are few, where nearly
    all have such sizes, and where the engine is elsewhere, since the question says where records are."""
    there = int(sized.number.sum(dtype=np.int64))
    if there < _MANY or engine_of(data).name != "duckdb":
        return None
    order = sized.order
    rising = np.lexsort((order, sized.cell))
    cell, number = sized.cell[rising], sized.number[rising]
    upto = np.cumsum(number, dtype=np.int64)
    upto -= np.concatenate(([0], upto))[np.searchsorted(cell, cell)]  # of its cell
    wanted = np.zeros(order.size, dtype=bool)
    for low, high in ranks:
        wanted |= (upto >= low[cell]) & (upto - number <= high[cell] + 1)
    sizes = np.unique(order[rising[wanted]])
    close = np.isin(order, sizes)
    if int(sized.number[close].sum(dtype=np.int64)) > there * _MOST_OF_ALL:
        return None
    breaks = np.flatnonzero(np.diff(sizes) > 1)
    ends = zip(sizes[np.append(0, breaks + 1)].tolist(), sizes[np.append(breaks, sizes.size - 1)].tolist(), strict=True)
    return Near(sized, tuple(ends), ~close)


@dataclass(frozen=True, eq=False)
class Near:
    """Some sizes, as stretches of `Sized.order`, and which rows of the scan are of others."""

    sized: Sized
    stretches: tuple[tuple[int, int], ...]
    far: NDArray[np.bool_]

    def only(self, schema: Schema) -> Callable[[Any], Any]:
        """The condition for records."""

        def condition(table: Any) -> Any:
            amount = self.sized.scan.amount.of(table, schema)
            order = (self.sized.scan.size(amount) - (self.sized.lowest - 1)).fill_null(0)
            if self.sized.scan.amount.bounds(schema)[0] < 0:
                order = ibis.ifelse(amount < 0, -order, order)
            return ibis.or_(*(order.between(first, last) for first, last in self.stretches))

        return condition

    def others(self, schema: Schema, least: int, most: int) -> tuple[Integers, Integers, Integers]:
        """Of all others the cells, a value of each size in the steps that the schema declares, from `least` to `most`,
        and how many there are. Where exactly they are no rank that is looked for depends on."""
        sizes = np.where(self.sized.sign == 0, 0, self.sized.size)[self.far].tolist()
        ends = [
            floor(2.0 ** (one / self.sized.scan.parts) / self.sized.scan.amount.grain(schema) + 0.5) for one in sizes
        ]
        # A size begins nearer to 0 than a bound that lies within it, and no value stands there.
        value = np.clip(np.array(ends, dtype=np.int64) * self.sized.sign[self.far], least, most)
        return self.sized.cell[self.far], value, self.sized.number[self.far]
