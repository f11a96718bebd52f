"""Values of every kind of column as whole numbers, and sets of them: what rules between columns are made of.

A level is its place in the list, a number counts units of its last place, a date counts days; a missing number or date
that is a state of its own stands one below the first. Public arithmetic.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date
from itertools import pairwise
from math import ceil, floor
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tacita.data.schema.kinds import Categorical, Date, Identifier, Integer, Kind, Numeric, day_of
from tacita.errors import SchemaError

Span = tuple[int, int]
_TEST_KEYS = ("least", "most", "not")


@dataclass(frozen=True)
class Domain:
    """The units a column may have: from `first` to `last`, and `first - 1` for missing where that is a state."""

    first: int
    last: int
    missing: bool = False
    places: int = 0
    """Digits after the point that one unit stands for."""

    @classmethod
    def of(cls, kind: Kind) -> Domain:
        if isinstance(kind, Identifier):
            raise SchemaError("is an id, which no rule can be about; take it out of the rule")
        if isinstance(kind, Categorical):
            return cls(0, len(kind.levels) - 1)
        if isinstance(kind, Date):
            return cls(kind.first, kind.last, kind.own_missing)
        places = kind.scale if isinstance(kind, Numeric) else 0
        first, last = ceil(kind.lower * 10**places - 1e-6), floor(kind.upper * 10**places + 1e-6)
        return cls(first, last, kind.own_missing, places)

    @property
    def spans(self) -> tuple[Span, ...]:
        return ((self.first - self.missing, self.last),)


@dataclass(frozen=True)
class Values:
    """Some units of a column: spans that neither touch nor overlap, in order.

    >>> some = Values.of([(5, 9), (1, 3), (10, 10)])
    >>> some.spans, some.others(Domain(0, 20)).spans
    (((1, 3), (5, 10)), ((0, 0), (4, 4), (11, 20)))
    """

    spans: tuple[Span, ...]

    @classmethod
    def of(cls, spans: Iterable[Span]) -> Values:
        merged: list[Span] = []
        for first, last in sorted(span for span in spans if span[0] <= span[1]):
            if merged and first <= merged[-1][1] + 1:
                merged[-1] = merged[-1][0], max(last, merged[-1][1])
            else:
                merged.append((first, last))
        return cls(tuple(merged))

    def others(self, domain: Domain) -> Values:
        ends = [(low, low - 1) for low, _ in domain.spans] + list(self.spans) + [(domain.last + 1, domain.last + 1)]
        return Values.of((here[1] + 1, there[0] - 1) for here, there in pairwise(ends))

    def both(self, other: Values) -> Values:
        return Values.of((max(a, c), min(b, d)) for a, b in self.spans for c, d in other.spans)

    def holds(self, units: Any) -> Any:
        """Of an array of units, or of an expression of an engine: which are among them."""
        here = units != units
        for first, last in self.spans:
            here = here | ((units >= first) & (units <= last))
        return here

    def covers(self, span: Span) -> bool:
        return any(first <= span[0] and span[1] <= last for first, last in self.spans)


def values_of(test: Any, kind: Kind, where: str) -> Values:
    """What a rule says of a column: a value, a list of values, least and most, or what it is not."""
    domain = Domain.of(kind)
    if isinstance(test, list):
        if not test:
            raise SchemaError(f"{where}: the list is empty; name a value")
        return Values.of(span for one in test for span in values_of(one, kind, where).spans)
    if isinstance(test, Mapping):
        if not test or not set(test) <= set(_TEST_KEYS) or ("not" in test and len(test) > 1):
            raise SchemaError(f"{where}: write {{ least = … }}, {{ most = … }}, both, or {{ not = … }}")
        if "not" in test:
            return values_of(test["not"], kind, where).others(domain)
        if isinstance(kind, Categorical):
            raise SchemaError(f"{where}: least and most are for numbers and dates; name levels")
        first = unit_of(test["least"], kind, where) if "least" in test else domain.first
        last = unit_of(test["most"], kind, where) if "most" in test else domain.last
        return Values.of([(max(first, domain.first), min(last, domain.last))])
    one = unit_of(test, kind, where)
    if not domain.first - domain.missing <= one <= domain.last:
        raise SchemaError(f"{where}: lies outside the declared bounds; correct one of them")
    return Values.of([(one, one)])


def unit_of(value: Any, kind: Kind, where: str) -> int:
    """One value as the schema's author writes it."""
    if isinstance(kind, Categorical):
        if not isinstance(value, str) or value not in kind.code:
            raise SchemaError(f"{where}: must be one of the column's levels, in quotes")
        return kind.code[value]
    domain = Domain.of(kind)
    if value == "missing":
        if not domain.missing:
            raise SchemaError(f'{where}: "missing" needs missing = "own state" in the column\'s declaration')
        return domain.first - 1
    if isinstance(kind, Date):
        return day_of(value, where)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise SchemaError(f'{where}: must be a number without quotes, or "missing"')
    unit = value * 10**domain.places
    if abs(unit - round(unit)) > 1e-6:
        raise SchemaError(f"{where}: has more places after the point than the column's scale; round it")
    whole: int = round(unit)
    return whole


def value_of(unit: int, kind: Kind) -> Any:
    """The same back, as JSON has it."""
    if isinstance(kind, Categorical):
        return kind.levels[unit]
    domain = Domain.of(kind)
    if unit < domain.first:
        return "missing"
    if isinstance(kind, Date):
        return date.fromordinal(unit + kind.epoch).isoformat()
    return unit if isinstance(kind, Integer) else unit / 10**domain.places


def written_values(values: Values, kind: Kind) -> list[Any]:
    """A canonical test: every level by itself, numbers from least to most, and missing."""
    if isinstance(kind, Categorical):
        return [kind.levels[one] for first, last in values.spans for one in range(first, last + 1)]
    domain = Domain.of(kind)
    held: list[Any] = []
    for first, last in values.spans:
        if first < domain.first:
            held.append("missing")
        if last >= domain.first:
            low = max(first, domain.first)
            held.append({"least": value_of(low, kind), "most": value_of(last, kind)})
    return held


def published(kind: Kind, units: NDArray[np.int64]) -> pa.Array:
    """Units as a file shows them."""
    if isinstance(kind, Categorical):
        return pa.array(kind.levels, type=pa.string()).take(pa.array(units.astype(np.int32)))
    domain = Domain.of(kind)
    gone = units < domain.first
    values: Any = units / 10.0**domain.places if isinstance(kind, Numeric) else units
    shown = pa.array(values, mask=gone if gone.any() else None)
    return shown.cast(pa.int32()).cast(pa.date32()) if isinstance(kind, Date) else shown
