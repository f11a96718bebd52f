"""What a column may hold: the public domain of one variable.

A domain is written down by a person. Nothing here ever looks at rows.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date, datetime
from functools import cached_property
from typing import Any, ClassVar, Literal

from tacita.errors import SchemaError

Role = Literal["id", "public", "confidential", "worker", "workplace", "weight", "design", "size"]
TableName = Literal["job", "workplace", "worker"]

ROLES: tuple[Role, ...] = ("id", "public", "confidential", "worker", "workplace", "weight", "design", "size")
TABLES: tuple[TableName, ...] = ("job", "workplace", "worker")
OWN_STATE = "own state"
"""What `missing` says of a number whose absence is kept as such, beside its values."""


@dataclass(frozen=True)
class Identifier:
    """A column that tells units apart; it is never published.

    >>> Identifier("workplace").entity
    'workplace'
    """

    entity: str

    def to_dict(self) -> dict[str, Any]:
        return {"entity": self.entity}


@dataclass(frozen=True)
class Categorical:
    """A closed list of codes, in their published order.

    `outside` says where a value goes that is not in the list: "error" (the file is refused before anything is
    spent) or one of the levels. `missing` is the level that empty cells and `missing_codes` become; without it
    they are an error too.

    >>> sex = Categorical(("F", "M", "U"), labels=("Female", "Male", "Unknown"), missing="U", missing_codes=("9",))
    >>> sex.code["M"], sex.label_of("M")
    (1, 'Male')
    >>> sex.code_of("9"), sex.code_of(None), sex.code_of("X")
    (2, 2, None)
    """

    levels: tuple[str, ...]
    labels: tuple[str, ...] = ()
    outside: str = "error"
    missing: str | None = None
    missing_codes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not self.levels:
            raise SchemaError("levels: the list is empty; give at least one level")
        repeated = sorted({level for level in self.levels if self.levels.count(level) > 1}) if self._repeats() else []
        if repeated:
            raise SchemaError(f"levels: {some_of(repeated)} listed more than once; keep each level once")
        if "" in self.levels:
            raise SchemaError('levels: "" cannot be a level, an empty cell is missing; declare missing = "<level>"')
        if "error" in self.levels:
            raise SchemaError('levels: "error" cannot be a level, it names the strict rule of `outside`; rename it')
        if not self.labels:
            object.__setattr__(self, "labels", self.levels)
        if len(self.labels) != len(self.levels):
            raise SchemaError("labels: there must be one label per level")
        known = set(self.levels)
        if self.outside != "error" and self.outside not in known:
            raise SchemaError(f'outside: "{self.outside}" is neither "error" nor one of the levels')
        if self.missing is not None and self.missing not in known:
            raise SchemaError(f'missing: "{self.missing}" is not one of the levels; add it to levels')
        if clash := sorted(known.intersection(self.missing_codes)):
            raise SchemaError(f"missing_codes: {some_of(clash)} also listed as a level; keep it in one place")
        if self.missing_codes and self.missing is None:
            raise SchemaError('missing_codes: say where they go with missing = "<level>"')

    def _repeats(self) -> bool:
        return len(set(self.levels)) != len(self.levels)

    @cached_property
    def code(self) -> dict[str, int]:
        """Position of each level in the list."""
        return {level: position for position, level in enumerate(self.levels)}

    def code_of(self, raw: str | None) -> int | None:
        """Where the schema's own rule puts one stored value; None where the rule is to refuse the file."""
        if raw is None or raw == "" or raw in self.missing_codes:
            return None if self.missing is None else self.code[self.missing]
        if raw in self.code:
            return self.code[raw]
        return None if self.outside == "error" else self.code[self.outside]

    def label_of(self, level: str) -> str:
        return self.labels[self.code[level]]

    def to_dict(self) -> dict[str, Any]:
        return {
            "type": "categorical",
            "levels": list(self.levels),
            "labels": dict(zip(self.levels, self.labels, strict=True)),
            "outside": self.outside,
            "missing": self.missing,
            "missing_codes": list(self.missing_codes),
        }


@dataclass(frozen=True)
class _Number:
    lower: float
    upper: float
    outside: Literal["clamp", "error"] = "clamp"
    missing: float | None = None
    missing_codes: tuple[float, ...] = ()
    own_missing: bool = field(default=False, kw_only=True)
    """Whether a missing value stays one, beside the values, instead of becoming one of them."""

    def __post_init__(self) -> None:
        if self.own_missing and self.missing is not None:
            raise SchemaError(f'missing: is either a number or "{OWN_STATE}"')
        for key in ("lower", "upper"):
            if not math.isfinite(getattr(self, key)):
                raise SchemaError(f"{key}: must be a finite number")
        if self.lower > self.upper:
            raise SchemaError("lower: is above upper; swap them or correct one")
        if self.outside not in ("clamp", "error"):
            raise SchemaError('outside: must be "clamp" or "error" for a number')
        if self.missing is not None and not self.lower <= self.missing <= self.upper:
            raise SchemaError("missing: must lie between lower and upper")
        if self.missing_codes and self.missing is None and not self.own_missing:
            raise SchemaError(f'missing_codes: say what they become with missing = <number>, or "{OWN_STATE}"')

    def _common(self) -> dict[str, Any]:
        return {
            "lower": self.lower,
            "upper": self.upper,
            "outside": self.outside,
            "missing": OWN_STATE if self.own_missing else self.missing,
            "missing_codes": list(self.missing_codes),
        }


@dataclass(frozen=True)
class Integer(_Number):
    """Whole numbers between two public bounds.

    >>> Integer(0, 100_000).outside
    'clamp'
    >>> Integer(5, 1)
    Traceback (most recent call last):
    ...
    tacita.errors.SchemaError: lower: is above upper; swap them or correct one
    """

    lower: int
    upper: int

    def __post_init__(self) -> None:
        super().__post_init__()
        for key in ("lower", "upper"):
            if abs(getattr(self, key)) > 2**53:
                raise SchemaError(f"{key}: must lie within ±2^53, where every whole number is exact")

    def to_dict(self) -> dict[str, Any]:
        return {"type": "integer", **self._common()}


@dataclass(frozen=True)
class Numeric(_Number):
    """Decimal numbers between two public bounds, kept to `scale` places after the point.

    >>> Numeric(0, 250_000, scale=2).to_dict()["scale"]
    2
    """

    scale: int = 2

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "lower", float(self.lower))
        object.__setattr__(self, "upper", float(self.upper))
        if not 0 <= self.scale <= 9:
            raise SchemaError("scale: must be between 0 and 9 decimal places")
        if max(abs(self.lower), abs(self.upper)) * 10**self.scale > 2**53:
            raise SchemaError("scale: bounds times 10^scale exceed 2^53; keep fewer decimal places")

    def to_dict(self) -> dict[str, Any]:
        return {"type": "numeric", "scale": self.scale, **self._common()}


@dataclass(frozen=True)
class Date:
    """Days between two public ones, both included. Written as 2026-01-31; a time of day is left out when read.

    >>> Date(date(1970, 1, 1), date(1970, 1, 31)).last
    30
    """

    epoch: ClassVar[int] = date(1970, 1, 1).toordinal()

    lower: date
    upper: date
    outside: Literal["clamp", "error"] = "clamp"
    missing: date | None = None
    own_missing: bool = field(default=False, kw_only=True)
    missing_codes: ClassVar[tuple[float, ...]] = ()  # text that is no date is missing

    def __post_init__(self) -> None:
        if self.lower > self.upper:
            raise SchemaError("lower: is after upper; swap them or correct one")
        if self.outside not in ("clamp", "error"):
            raise SchemaError('outside: must be "clamp" or "error" for a date')
        if self.missing is not None and (self.own_missing or not self.lower <= self.missing <= self.upper):
            raise SchemaError(f'missing: must lie between lower and upper, or be "{OWN_STATE}"')

    @classmethod
    def day(cls, one: date) -> int:
        """Days since 1970-01-01."""
        return one.toordinal() - cls.epoch

    @property
    def first(self) -> int:
        return self.day(self.lower)

    @property
    def last(self) -> int:
        return self.day(self.upper)

    def to_dict(self) -> dict[str, Any]:
        missing = None if self.missing is None else self.missing.isoformat()
        return {
            "type": "date",
            "lower": self.lower.isoformat(),
            "upper": self.upper.isoformat(),
            "outside": self.outside,
            "missing": OWN_STATE if self.own_missing else missing,
        }


def a_date(value: Any, where: str) -> date:
    """A date of TOML, or text such as "2026-01-31"."""
    try:
        if isinstance(value, str):
            value = date.fromisoformat(value)
    except ValueError:
        value = None
    if not isinstance(value, date) or isinstance(value, datetime):
        raise SchemaError(f"{where}: must be a date, written as 2026-01-31")
    return value


def day_of(value: Any, where: str) -> int:
    """The same as days since 1970-01-01."""
    return Date.day(a_date(value, where))


Kind = Identifier | Categorical | Integer | Numeric | Date


@dataclass(frozen=True)
class Variable:
    """One declared column: its domain, what it is for, and which linked table holds it."""

    name: str
    kind: Kind
    role: Role
    table: TableName = "job"
    label: str = ""

    def to_dict(self) -> dict[str, Any]:
        return {"role": self.role, "table": self.table, "label": self.label, **self.kind.to_dict()}


def frozen_labels(levels: tuple[str, ...], labels: Mapping[str, str]) -> tuple[str, ...]:
    """Labels in the order of the levels; a level without one shows its code."""
    if unknown := sorted(set(labels) - set(levels)):
        raise SchemaError(f"labels: {some_of(unknown)} not in levels; add the level or drop the label")
    return tuple(labels.get(level, level) for level in levels)


def some_of(names: list[str]) -> str:
    """A few names and how many more, with the verb that goes with them."""
    shown = ", ".join(f'"{name}"' for name in names[:3])
    return shown + (f" and {len(names) - 3} more are" if len(names) > 3 else " are" if len(names) > 1 else " is")
