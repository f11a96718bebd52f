"""Files of one row per unit, made from a schema alone: usual ones, degenerate ones, and records that sit on borders."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from typing import Any

import numpy as np
import pyarrow as pa

from tacita.audit.families import Family, Files, Random, picked
from tacita.data.schema import Categorical, Date, Integer, Numeric, Schema
from tacita.errors import UsageError
from tacita.privacy import AddRemoveOne, Neighbours, ReplaceOne

Record = dict[str, Any]
Unit = list[Record]

_PRECISE = 2**53  # ids from here on are not told apart by a double


def record_files(
    schema: Schema,
    neighbours: Neighbours,
    *,
    fixed: tuple[str, ...] = (),
    sizes: tuple[int, ...] = (1, 2, 7, 25),
    rows: int = 1,
) -> Files:
    """Families under adding or replacing one unit. `fixed` columns are public: a replaced record keeps them. A unit has
    up to `rows` records, and the one that differs has as many."""
    maker = _Maker(schema, fixed, sizes, rows)
    if isinstance(neighbours, AddRemoveOne):
        return Files(schema, maker.added)
    if isinstance(neighbours, ReplaceOne):
        return Files(schema, maker.replaced)
    raise UsageError(f"the audit has no files of records for {neighbours}; write a tacita.audit.families.Files for it")


@dataclass(frozen=True)
class _Maker:
    schema: Schema
    fixed: tuple[str, ...]
    sizes: tuple[int, ...]
    rows: int

    # ------------------------------------------------------------ families

    def added(self, random: Random, count: int) -> Family:
        base = self._base(random)
        near = []
        for at in range(count):
            place = int(random.integers(len(base)))
            if len(base) > 1 and at % 4 == 3:
                near.append([*base[:place], *base[place + 1 :]])
            else:
                near.append([*base[:place], self._hostile(random, base, at), *base[place:]])
        return Family(self._frame(base), tuple(self._frame(one) for one in near))

    def replaced(self, random: Random, count: int) -> Family:
        base = self._base(random)
        place = max(range(len(base)), key=lambda at: (len(base[at]), random.random()))
        kept = {name: base[place][0][name] for name in (*self.fixed, *self._ids())}
        near = []
        for at in range(count):  # with as many records: how many there are is public
            other = [{**record, **kept} for record in self._hostile(random, base, at)[: len(base[place])]]
            near.append([*base[:place], other, *base[place + 1 :]])
        return Family(self._frame(base), tuple(self._frame(one) for one in near), mutual=True)

    # ------------------------------------------------------------ records

    def _ids(self) -> tuple[str, ...]:
        return self.schema.by_role("id")

    def _base(self, random: Random) -> list[Unit]:
        """A usual file, one in which everybody is the same, one with many doubles, or one of extremes."""
        kind, size = picked(random, ("usual", "usual", "equal", "doubles", "extreme")), int(picked(random, self.sizes))
        few = [self._usual(random) for _ in range(1 if kind == "equal" else 3)]

        def record(at: int) -> Record:
            if kind in ("equal", "doubles"):
                return dict(picked(random, few))
            return self._drawn(random, strange=kind == "extreme" and at % 2 == 0)

        return [
            [self._numbered(record(at), at) for _ in range(int(random.integers(1, self.rows + 1)))]
            for at in range(size)
        ]

    def _numbered(self, record: Record, at: int) -> Record:
        return {**record, **dict.fromkeys(self._ids(), _PRECISE + at)}

    def _hostile(self, random: Random, base: list[Unit], at: int) -> Unit:
        """At the ends of every column, missing everywhere, unheard of, a copy of another, or any mixture; as often as
        a unit may have it."""

        def record() -> Record:
            if at in (0, 1):
                return {name: self._pool(name)[-at] for name in self.schema.names}
            if at == 2:
                return dict(picked(random, base)[0])
            return self._drawn(random, strange=bool(random.random() < 0.7))

        once = record()
        alike = random.random() < 0.5
        return [self._numbered(once if alike else record(), len(base) + at) for _ in range(self.rows)]

    def _drawn(self, random: Random, *, strange: bool) -> Record:
        usual = self._usual(random)
        if not strange:
            return usual
        return {
            name: picked(random, self._pool(name)) if random.random() < 0.8 else usual.get(name)
            for name in self.schema.names
        }

    def _usual(self, random: Random) -> Record:
        record: Record = {}
        for name in self.schema.names:
            kind = self.schema[name].kind
            if isinstance(kind, Categorical):
                record[name] = picked(random, kind.levels)
            elif isinstance(kind, Integer | Numeric):
                # Skewed, as money is: half of the values lie in the lowest hundredth of the range.
                share = float(random.random()) ** (1 if random.random() < 0.5 else 6)
                value = kind.lower + (kind.upper - kind.lower) * share
                record[name] = float(round(value, kind.scale if isinstance(kind, Numeric) else 0))
            elif isinstance(kind, Date):
                record[name] = date.fromordinal(
                    kind.epoch + int(random.integers(kind.first, kind.last + 1))
                ).isoformat()
        return record

    def _pool(self, name: str) -> list[Any]:
        """Values on and beyond the borders of a column, as far as its own rules let a file have them."""
        kind = self.schema[name].kind
        if isinstance(kind, Categorical):
            strange: list[Any] = [] if kind.outside == "error" else ["?!", "-1"]
            absent: list[Any] = [] if kind.missing is None else [None, *kind.missing_codes]
            return [kind.levels[0], *strange, *absent, *kind.levels[1:]]
        if isinstance(kind, Integer | Numeric):
            step = 10.0 ** -(kind.scale if isinstance(kind, Numeric) else 0)
            middle = round((kind.lower + kind.upper) / 2, 0)
            beyond = [] if kind.outside == "error" else [kind.upper * 2 + 1e9]
            if beyond and self.schema[name].role != "weight":  # every weight must be above 0 and finite
                beyond += [kind.lower - 1e9, np.inf, -np.inf]
            lost = [] if kind.missing is None and not kind.own_missing else [np.nan, *map(float, kind.missing_codes)]
            inner = [middle, middle + step, kind.lower + step, kind.upper - step]
            return [float(kind.lower), *inner, *beyond, *lost, float(kind.upper)]
        if isinstance(kind, Date):
            beyond_days = [] if kind.outside == "error" else ["0001-01-01", "9999-12-31"]
            no_day = [] if kind.missing is None and not kind.own_missing else [None, "2001-02-29", "soon"]
            return [kind.lower.isoformat(), *beyond_days, *no_day, kind.upper.isoformat()]
        return [None]

    def _frame(self, units: list[Unit]) -> pa.Table:
        records = [record for unit in units for record in unit]
        columns: dict[str, Any] = {}
        for name in self.schema.names:
            text = isinstance(self.schema[name].kind, Categorical | Date)
            kind = pa.int64() if name in self._ids() else pa.string() if text else pa.float64()
            # As from pandas: NaN is a missing number.
            columns[name] = pa.array([record[name] for record in records], type=kind, from_pandas=True)
        return pa.table(columns)
