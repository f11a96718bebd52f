"""A panel as the plan declares it, held against the schema: what is public, what a life is, what is seen each year."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from tacita.data.schema import Categorical, Integer, Numeric, Schema
from tacita.errors import UsageError
from tacita.synthesis.panel.numbers import Scale

LIFE, AGE, REMAINING, CLOSING, YEAR = "life", "age", "remaining", "closing", "calendar year"
_MADE = (LIFE, AGE, REMAINING, CLOSING, YEAR)


def before(name: str) -> str:
    """What the value of the year before is called as a predictor.

    >>> before("employment")
    'employment before'
    """
    return f"{name} before"


@dataclass(frozen=True)
class Span:
    """A year as a category: from the first to the last that the schema allows."""

    name: str
    lower: int
    upper: int
    stored: bool

    @property
    def levels(self) -> int:
        return self.upper - self.lower + 1


@dataclass(frozen=True)
class Yearly:
    """A number that every unit has in every year of its life; `pattern` is its column, or its columns by year."""

    name: str
    pattern: str
    scale: Scale

    def column(self, year: int) -> str:
        return self.pattern.replace("{year}", str(year))


@dataclass(frozen=True)
class Change:
    """The year in which a static variable changed, for units with one of some of its levels."""

    name: str
    static: str
    levels: tuple[int, ...]


@dataclass(frozen=True)
class Ratio:
    """An edit: `low` times another number of the same year ≤ this one ≤ `high` times that other number."""

    name: str
    other: str
    low: float
    high: float


@dataclass(frozen=True)
class Layout:
    """Everything about the panel that is public, in the terms of the models."""

    schema: Schema
    unit: str
    keep: tuple[str, ...]
    coarser: tuple[tuple[str, str, int], ...]
    group: str | None
    period: str | None
    years: tuple[int, ...]
    first: Span
    last: Span
    static: tuple[str, ...]
    changes: tuple[Change, ...]
    yearly: tuple[Yearly, ...]
    ratios: tuple[Ratio, ...]

    @property
    def stored(self) -> tuple[str, ...]:
        """The columns of the file that are read, apart from the unit's id."""
        spans = [one.name for one in (self.first, self.last) if one.stored]
        years = self.years if self.period is None else self.years[:1]
        numbers = [one.column(year) for one in self.yearly for year in years]
        period = [] if self.period is None else [self.period]
        return (*self.keep, *period, *spans, *self.static, *(one.name for one in self.changes), *numbers)

    @property
    def names(self) -> tuple[str, ...]:
        """Every name that a model may be given."""
        numbers = [one.name for one in self.yearly]
        return (
            *self.keep, *(name for name, _, _ in self.coarser), self.first.name, self.last.name, *self.static,
            *_MADE, *numbers, *map(before, numbers),
        )  # fmt: skip

    def groups(self) -> Iterator[tuple[str, tuple[str, ...]]]:
        """Each group with the stored levels that belong to it. From the schema: no row is looked at."""
        if self.group is None:
            return
        column, digits = self.group_column
        found: dict[str, list[str]] = {}
        for level in self.schema.levels(column):
            found.setdefault(level if digits is None else level[:digits], []).append(level)
        for name in sorted(found):
            yield name, tuple(found[name])

    @property
    def group_count(self) -> int:
        return 1 if self.group is None else sum(1 for _ in self.groups())

    @property
    def group_column(self) -> tuple[str, int | None]:
        for name, column, digits in self.coarser:
            if name == self.group:
                return column, digits
        return str(self.group), None


def category(schema: Schema, name: str, what: str) -> Categorical:
    kind = schema[name].kind
    if not isinstance(kind, Categorical):
        raise UsageError(f'{what}: {name} must be categorical; declare variables.{name}.type = "categorical"')
    return kind


def public(schema: Schema, name: str) -> str:
    kind = category(schema, name, "keep")
    if schema[name].role not in ("public", "workplace"):
        raise UsageError(
            f"keep: {name} has role {schema[name].role} in the schema; only public columns are published as they are"
        )
    if kind.outside != "error" or kind.missing is not None:
        raise UsageError(
            f"keep: {name} has a rule for values that are missing or outside its levels, which would change public "
            f"values; take missing and outside out of variables.{name}"
        )
    return name


def span(schema: Schema, name: str | None, what: str, years: tuple[int, ...]) -> Span:
    if name is None:
        return Span(f"{what}year", years[0], years[-1], stored=False)
    kind = schema[name].kind
    if not isinstance(kind, Integer):
        raise UsageError(f"{what}: {name} is a year, so it must be an integer with the bounds it may have")
    if kind.lower > years[-1] or kind.upper < years[0] or kind.upper - kind.lower > 1000:
        raise UsageError(f"{what}: the bounds of {name} must meet the years of the panel, and span at most 1000")
    return Span(name, int(kind.lower), int(kind.upper), stored=True)


def yearly(schema: Schema, name: str, pattern: str, years: tuple[int, ...], long: bool) -> Yearly:
    if long == ("{year}" in pattern):
        fix = "name its one column" if long else 'name its columns by year, such as "emp{year}"'
        raise UsageError(f"columns.{name}: a {'long' if long else 'wide'} file is declared, so {fix}")
    found = Yearly(name, pattern, Scale(0.0, 0.0, 1.0))
    scales = set()
    for year in years[:1] if long else years:
        kind = schema[found.column(year)].kind
        if not isinstance(kind, Integer | Numeric):
            raise UsageError(f"columns.{name}: {found.column(year)} must be an integer or a number")
        if kind.lower < 0:
            raise UsageError(f"columns.{name}: {found.column(year)} must have lower ≥ 0; sizes are modelled by logs")
        scales.add(Scale.of(kind))
    if len(scales) != 1:
        raise UsageError(f"columns.{name}: its columns must have the same bounds and decimal places in every year")
    return Yearly(name, pattern, scales.pop())


def change(schema: Schema, name: str, static: str, levels: tuple[str, ...]) -> Change:
    kind = category(schema, static, "change")
    if not isinstance(schema[name].kind, Integer):
        raise UsageError(f"change: {name} is a year, so it must be an integer")
    for level in levels:
        if level not in kind.levels:
            raise UsageError(f'change.{name}: "{level}" is not a level of {static}')
    return Change(name, static, tuple(kind.code[level] for level in levels))
