"""How a panel is laid out: the settings that both panel plans have, held against the schema. No row is seen here."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, TypeVar

from attrs import Attribute, field, frozen

from tacita.data.confidential import Confidential
from tacita.data.schema import Identifier, Schema
from tacita.errors import UsageError
from tacita.plan import Brings, Plan
from tacita.plan.fields import as_names, by_name, each_once, whole
from tacita.plan.how import as_collected
from tacita.synthesis.base import MOST_FILES, Model
from tacita.synthesis.panel import layout as laid
from tacita.synthesis.panel.former import FormerPanels
from tacita.synthesis.panel.histories import check_histories
from tacita.synthesis.panel.layout import Layout, Ratio

Given = Mapping[str, Any] | Sequence[Any]
M = TypeVar("M", bound=Model[Any], covariant=True)


# ---------------------------------------------------------------- what is kept of each setting, in the order given


def _as_columns(given: Given) -> tuple[tuple[str, str], ...]:
    return tuple((name, str(column)) for name, column in by_name(given, "columns"))


def _as_years(given: Sequence[int]) -> tuple[int, ...]:
    return tuple(given)


def _as_change(given: Given) -> tuple[tuple[str, tuple[str, tuple[str, ...]]], ...]:
    return tuple((name, (str(of), as_names(levels))) for name, (of, levels) in by_name(given, "change"))


def _as_coarser(given: Given) -> tuple[tuple[str, tuple[str, int]], ...]:
    return tuple((name, (str(of), int(digits))) for name, (of, digits) in by_name(given, "coarser"))


def _as_ratios(given: Given) -> tuple[tuple[str, tuple[str, float, float]], ...]:
    return tuple((name, (str(of), float(low), float(high))) for name, (of, low, high) in by_name(given, "ratios"))


# ---------------------------------------------------------------- what they may be


def _some_columns(plan: Any, setting: Attribute[Any], given: tuple[tuple[str, str], ...]) -> None:
    each_once(plan, setting, tuple(name for name, _ in given))
    if not given:
        raise UsageError('columns: name the numbers of each year, such as {"employment": "emp{year}"}')


def _two_years(plan: Any, setting: Attribute[Any], given: tuple[int, ...]) -> None:
    if len(given) != 2 or not all(isinstance(one, int) for one in given) or given[0] > given[1]:
        raise UsageError("years: give the first and the last year, such as (1976, 2001)")


def _both_or_neither(plan: Any, setting: Attribute[Any], given: str | None) -> None:
    if (plan.first is None) != (given is None):
        raise UsageError("first, last: name both columns, or neither where a life is what the rows show")


def _changes(plan: Any, setting: Attribute[Any], given: tuple[tuple[str, tuple[str, tuple[str, ...]]], ...]) -> None:
    for name, (of, levels) in given:
        each_once(plan, setting, levels)
        if of not in plan.static:
            raise UsageError(f"change.{name}: {of} is not in static; only a static variable has a year of change")


def _public_group(plan: Any, setting: Attribute[Any], given: str | None) -> None:
    if given is not None and given not in {*plan.keep, *(name for name, _ in plan.coarser)}:
        raise UsageError(f"group: {given} is neither in keep nor in coarser; it must be public")


def _leading_digits(plan: Any, setting: Attribute[Any], given: tuple[tuple[str, tuple[str, int]], ...]) -> None:
    for name, (of, digits) in given:
        if of not in plan.keep or digits < 1:
            raise UsageError(f"coarser.{name}: give a column of keep and how many leading digits count")


def _with_an_earlier(
    plan: Any, setting: Attribute[Any], given: tuple[tuple[str, tuple[str, float, float]], ...]
) -> None:
    numbers = [name for name, _ in plan.columns]
    for name, (of, low, high) in given:
        if name not in numbers or of not in numbers[: numbers.index(name)] or not 0 <= low <= high:
            raise UsageError(f"ratios.{name}: compares a yearly number with an earlier one, with 0 ≤ low ≤ high")


@frozen(kw_only=True)
class PanelPlan(Plan[M], metaclass=FormerPanels):
    """The layout of a panel. The units and their public columns (`keep`) are published as they are; their lives, static
    variables and yearly numbers are drawn.

    `columns` are numbers such as employment, in the order in which they are drawn. A wide file has a column for each
    year, such as {"employment": "emp{year}"}; a long one has one column, and `period` names its year. A missing
    value within a life is imputed; a year for which a long file has no row is a gap, and files have gaps, too. `years`
    are the first and last year with numbers. `first` and `last` name the columns of a unit's first and last year, whose
    schema bounds say which years occur: a first year before `years` means "there before", the last possible last year
    means "still there". Without them, a life is what the rows show.

    `static` are categories that a unit keeps; `change` names a year in which one of them changed and the levels that
    have such a year: {"changeyear": ("multiunit", ("2", "3", "4"))}. `coarser` declares hierarchies by leading
    digits, {"state": ("county", 2)}. `group` is a public column, or one of those, by which the panel is split: every
    group is measured and drawn by itself. `ratios` are edits that every record satisfies: {"payroll": ("employment",
    1, 500)} is employment ≤ payroll ≤ 500 · employment, so nobody employed means nobody paid. `sets` is the number of
    files.
    """

    former: ClassVar[Mapping[str, str]] = {"yearly": "columns"}
    gone: ClassVar[tuple[str, ...]]
    model: ClassVar[type[Model[Any]]]

    columns: tuple[tuple[str, str], ...] = field(converter=_as_columns, validator=_some_columns, kw_only=False)
    unit: str = field()
    keep: tuple[str, ...] = field(default=(), converter=as_names, validator=each_once)
    years: tuple[int, ...] = field(converter=_as_years, validator=_two_years)
    first: str | None = field(default=None)
    last: str | None = field(default=None, validator=_both_or_neither)
    static: tuple[str, ...] = field(default=(), converter=as_names, validator=each_once)
    change: tuple[tuple[str, tuple[str, tuple[str, ...]]], ...] = field(
        default=(), converter=_as_change, validator=_changes
    )
    period: str | None = field(default=None)
    group: str | None = field(default=None, validator=_public_group)
    coarser: tuple[tuple[str, tuple[str, int]], ...] = field(
        default=(), converter=_as_coarser, validator=_leading_digits
    )
    ratios: tuple[tuple[str, tuple[str, float, float]], ...] = field(
        default=(), converter=_as_ratios, validator=_with_an_earlier
    )
    sets: int = field(default=1, validator=whole(1, MOST_FILES))

    @property
    @abstractmethod
    def on_grid(self) -> bool:
        """Whether the promise is made in steps of the declared grid, so that all numbers must lie on it."""

    def contribution(self, schema: Schema) -> None:
        """All rows of a unit are taken together: `suits` sees to it that they are one history."""

    @property
    def one_row(self) -> bool:
        """A wide file has one row for each unit."""
        return self.period is None

    @property
    def brings(self) -> Brings:
        return "records" if self.group is None else "groups"

    @property
    def public(self) -> str:
        """What leaves exactly, in words for readers of the page."""
        return as_collected(self.keep).replace("record", self.unit)

    @property
    def product(self) -> str:
        """What the forecast is about."""
        return f"Synthetic panel: {', '.join(name for name, _ in self.columns)}, {self.years[0]} to {self.years[1]}"

    @property
    def files(self) -> str:
        return "1 file" if self.sets == 1 else f"{self.sets} files"

    @property
    def collected(self) -> str:
        """Which columns go along, for the end of a sentence."""
        return f", with {', '.join(self.keep)} as collected" if self.keep else ""

    # ------------------------------------------------------------ what it will do

    def layout(self, schema: Schema) -> Layout:
        """The panel in terms of the schema; raises where the two do not fit."""
        unit = self._id(schema)
        years = tuple(range(self.years[0], self.years[1] + 1))
        for name in self.static:
            laid.category(schema, name, "static")
        if self.period is not None and not hasattr(schema[self.period].kind, "lower"):
            raise UsageError(
                f"period: {self.period} is the year of a row, so it must be an integer; where tables are by year too, "
                'write the column into the file twice under two names, and declare the other with type = "categorical"'
            )
        return Layout(
            schema=schema,
            unit=unit,
            keep=tuple(laid.public(schema, name) for name in self.keep),
            coarser=tuple((name, of, digits) for name, (of, digits) in self.coarser),
            group=self.group,
            period=self.period,
            years=years,
            first=laid.span(schema, self.first, "first", years),
            last=laid.span(schema, self.last, "last", years),
            static=self.static,
            changes=tuple(laid.change(schema, name, of, levels) for name, (of, levels) in self.change),
            yearly=tuple(laid.yearly(schema, name, of, years, self.period is not None) for name, of in self.columns),
            ratios=tuple(Ratio(name, of, low, high) for name, (of, low, high) in self.ratios),
        )

    def _id(self, schema: Schema) -> str:
        """The column that tells units apart: the id of that entity, or the id column of that name."""
        column = schema.id_for(self.unit) or self.unit
        if not isinstance(schema[column].kind, Identifier):
            raise UsageError(f'unit: {self.unit} must be an id; declare variables.{self.unit}.role = "id"')
        if column != self.unit and self.unit in schema:
            raise UsageError(
                f"unit: {self.unit} is a column, and the entity of another one, {column}; rename one of the two, so "
                "that it is clear whose rows belong together"
            )
        return column

    def reads(self, schema: Schema) -> tuple[str, ...]:
        layout = self.layout(schema)
        return (layout.unit, *layout.stored)

    def suits(self, data: Confidential) -> None:
        layout, grid = self.layout(data.schema), self.on_grid
        rule = f"histories of {layout.unit}: {layout.period}, {layout.years}, {layout.stored}, {grid}"
        data.check_once(rule, lambda: check_histories(data, layout, whole_steps=grid))

    def restore(self, stored: bytes) -> M:
        restored: Any = self.model.from_bytes(self, stored)
        return restored  # type: ignore[no-any-return]

    def described_before(self, **settings: Any) -> dict[str, Any]:
        """As it was described when there was one class for panels with and without ε."""
        now = self.describe() | {"mechanism": "PanelSynthesis"} | settings
        return {"yearly" if key == "columns" else key: value for key, value in now.items()}
