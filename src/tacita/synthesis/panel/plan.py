"""`PanelSynthesis`: the plan, known in full before any data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

from tacita.data.confidential import Confidential
from tacita.data.schema import Identifier, Schema
from tacita.errors import UsageError
from tacita.noise.entropy import Entropy
from tacita.plan import Forecast, Rehearsable
from tacita.plan.how import FREE, How, as_collected
from tacita.privacy import AddRemoveOne, Guarantee, Loss, Number, exact, text
from tacita.synthesis.panel import layout as laid
from tacita.synthesis.panel.files import PanelFiles
from tacita.synthesis.panel.formal import promise as formal
from tacita.synthesis.panel.formal.model import PanelModel
from tacita.synthesis.panel.group import group_files
from tacita.synthesis.panel.histories import check_histories
from tacita.synthesis.panel.layout import Layout, Ratio
from tacita.synthesis.panel.models import Model, checked, defaults, model_from, model_to_dict
from tacita.synthesis.panel.reading import all_groups
from tacita.synthesis.panel.streams import recorded_seed
from tacita.synthesis.panel.tables import joined_groups, synthesized

_NO_GUARANTEE = "values are drawn from models of the confidential rows; nothing bounds what they show of one unit"


@dataclass(frozen=True, init=False)
class PanelSynthesis(Rehearsable):
    """Partially synthetic panels of businesses, one conditional model after another (kinney2007). No guarantee, unless
    `epsilon` is given: then the files are drawn from noisy tables, and ε holds for all years of a unit together. With
    `alpha` as well, it holds for the unit's numbers to within a factor 1 + α, and not for its life or categories.

    The units and their public columns (`keep`) are published as they are; their lives, static variables and yearly
    numbers are drawn. `years` are the first and last year with numbers. `first` and `last` name the columns of a
    unit's first and last year, whose schema bounds say which years occur: a first year before `years` means "there
    before", the last possible last year means "still there". Without them, a life is what the rows show.

    `yearly` are numbers such as employment, in the order in which they are drawn. A wide file has a column for each
    year, such as {"employment": "emp{year}"}; a long one has one column, and `period` names its year. A missing
    value within a life is imputed. `static` are categories that a unit keeps; `change` names a year in which one of
    them changed and the levels that have such a year: {"changeyear": ("multiunit", ("2", "3", "4"))}.

    `coarser` declares hierarchies by leading digits, {"state": ("county", 2)}. `group` is a public column, or one
    of those, by which the panel is split: every group has its own models. `ratios` are edits that every record
    satisfies: {"payroll": ("employment", 1, 500)} is employment ≤ payroll ≤ 500 · employment, so nobody employed
    means nobody paid. `models` replaces the model of a variable; `sets` is the number of files.

    >>> plan = PanelSynthesis("firm", keep=["county"], years=(1976, 1978), yearly={"employment": "emp{year}"})
    >>> print(plan.guarantee)
    no guarantee
    >>> formal = PanelSynthesis(
    ...     "firm", keep=["county"], years=(1976, 1978), yearly={"employment": "emp{year}"}, epsilon="4"
    ... )
    >>> print(formal.guarantee)
    ε = 4 under one firm's record replaced
    """

    unit: str
    keep: tuple[str, ...]
    years: tuple[int, int]
    yearly: tuple[tuple[str, str], ...]
    first: str | None
    last: str | None
    static: tuple[str, ...]
    change: tuple[tuple[str, tuple[str, tuple[str, ...]]], ...]
    period: str | None
    group: str | None
    coarser: tuple[tuple[str, tuple[str, int]], ...]
    ratios: tuple[tuple[str, tuple[str, float, float]], ...]
    models: tuple[tuple[str, Model], ...]
    sets: int
    epsilon: str | None
    alpha: str | None

    def __init__(
        self,
        unit: str,
        *,
        keep: Sequence[str],
        years: Sequence[int],
        yearly: Mapping[str, str] | Sequence[Any],
        first: str | None = None,
        last: str | None = None,
        static: Sequence[str] = (),
        change: Mapping[str, Any] | Sequence[Any] = (),
        period: str | None = None,
        group: str | None = None,
        coarser: Mapping[str, Any] | Sequence[Any] = (),
        ratios: Mapping[str, Any] | Sequence[Any] = (),
        models: Mapping[str, Any] | Sequence[Any] = (),
        sets: int = 5,
        epsilon: Number | None = None,
        alpha: Number | None = None,
    ) -> None:
        given = {
            "unit": unit,
            "keep": _names(keep, "keep"),
            "years": tuple(years),
            "yearly": tuple((str(name), str(column)) for name, column in _pairs(yearly, "yearly")),
            "first": first,
            "last": last,
            "static": _names(static, "static"),
            "change": tuple(
                (name, (str(of), _names(levels, "change"))) for name, (of, levels) in _pairs(change, "change")
            ),
            "period": period,
            "group": group,
            "coarser": tuple((name, (str(of), int(digits))) for name, (of, digits) in _pairs(coarser, "coarser")),
            "ratios": tuple(
                (name, (str(of), float(low), float(high))) for name, (of, low, high) in _pairs(ratios, "ratios")
            ),
            "models": tuple(sorted((name, model_from(name, one)) for name, one in _pairs(models, "models"))),
            "sets": sets,
            "epsilon": None if epsilon is None else text(exact(epsilon, "epsilon")),
            "alpha": None if alpha is None else text(exact(alpha, "alpha")),
        }
        for name, value in given.items():
            object.__setattr__(self, name, value)
        self._check()

    def _check(self) -> None:
        if self.epsilon is not None and exact(self.epsilon, "epsilon") <= 0:
            raise UsageError('epsilon: must be above 0, such as "4"; leave it out for a panel without a guarantee')
        if self.alpha is not None and (self.epsilon is None or exact(self.alpha, "alpha") <= 0):
            raise UsageError('alpha: must be above 0, such as "0.1" for ten percent, and goes with epsilon')
        if self.epsilon is not None and self.models:
            raise UsageError("models: a panel with epsilon is drawn from noisy tables; leave models out, or epsilon")
        if len(self.years) != 2 or not all(isinstance(one, int) for one in self.years) or self.years[0] > self.years[1]:
            raise UsageError("years: give the first and the last year, such as (1976, 2001)")
        if not self.keep:
            raise UsageError("keep: name the public columns that are published as they are, such as county")
        if not self.yearly:
            raise UsageError('yearly: name the numbers of each year, such as {"employment": "emp{year}"}')
        if isinstance(self.sets, bool) or not isinstance(self.sets, int) or not 1 <= self.sets <= 1000:
            raise UsageError("sets: must be a whole number from 1 to 1000")
        if (self.first is None) != (self.last is None):
            raise UsageError("first, last: name both columns, or neither where a life is what the rows show")
        known = {*self.keep, *(name for name, _ in self.coarser)}
        if self.group is not None and self.group not in known:
            raise UsageError(f"group: {self.group} is neither in keep nor in coarser; it must be public")
        for name, (of, digits) in self.coarser:
            if of not in self.keep or digits < 1:
                raise UsageError(f"coarser.{name}: give a column of keep and how many leading digits count")
        for name, (of, _) in self.change:
            if of not in self.static:
                raise UsageError(f"change.{name}: {of} is not in static; only a static variable has a year of change")
        numbers = [name for name, _ in self.yearly]
        for name, (of, low, high) in self.ratios:
            if name not in numbers or of not in numbers[: numbers.index(name)] or not 0 <= low <= high:
                raise UsageError(f"ratios.{name}: compares a yearly number with an earlier one, with 0 ≤ low ≤ high")

    # ------------------------------------------------------------ the promise

    @property
    def promise(self) -> formal.Promise | None:
        """What the noise is for; None without epsilon."""
        if self.epsilon is None:
            return None
        return formal.Promise(exact(self.epsilon), None if self.alpha is None else exact(self.alpha))

    @property
    def guarantee(self) -> Guarantee:
        if self.promise is not None:
            return self.promise.guarantee(self.unit, self.keep)
        return Guarantee(AddRemoveOne("unit"), Loss.zero(), holds="never", assumes=(_NO_GUARANTEE,))

    def contribution(self, schema: Schema) -> None:
        """All rows of a unit are taken together: `suits` sees to it that they are one history."""

    @property
    def proof(self) -> str:
        return "synthesis/panel/panel.md" if self.promise is None else self.promise.proof

    @property
    def how(self) -> How:
        public = as_collected(self.keep).replace("record", self.unit)
        if self.promise is None:
            return How(
                "The models were fitted to the confidential rows themselves, and the files are drawn from them. No "
                "noise was added and nothing is promised.",
                public,
            )
        return How(self.promise.knows(self.unit), public, FREE)

    def describe(self) -> dict[str, Any]:
        found: dict[str, Any] = {"mechanism": type(self).__name__}
        for one in fields(self):
            found[one.name] = _plain(getattr(self, one.name))
        return found | {"models": [[name, model_to_dict(model)] for name, model in self.models]}

    # ------------------------------------------------------------ what it will do

    def layout(self, schema: Schema) -> Layout:
        """The panel in terms of the schema; raises where the two do not fit."""
        unit = self._id(schema)
        years = tuple(range(self.years[0], self.years[1] + 1))
        for name in self.static:
            laid.category(schema, name, "static")
        if self.period is not None and not hasattr(schema[self.period].kind, "lower"):
            raise UsageError(f"period: {self.period} is the year of a row, so it must be an integer")
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
            yearly=tuple(laid.yearly(schema, name, of, years, self.period is not None) for name, of in self.yearly),
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

    def sequence(self, layout: Layout) -> dict[str, Model]:
        """The model of every variable: the declared ones, and the paper's for the others."""
        return checked(layout, defaults(layout) | dict(self.models))

    def columns(self, schema: Schema) -> tuple[str, ...]:
        layout = self.layout(schema)
        self.sequence(layout)
        return (layout.unit, *layout.stored)

    def forecast(self, schema: Schema) -> Forecast:
        self.columns(schema)
        layout = self.layout(schema)
        groups = max(1, sum(1 for _ in layout.groups()))
        if self.promise is not None:
            return formal.forecast(layout, self.sets, self.promise, groups)
        return Forecast(
            f"Synthetic panel: {', '.join(one.name for one in layout.yearly)}, {self.years[0]} to {self.years[1]}",
            len(self.sequence(layout)) * groups,
            (
                f"{self.sets} files of the units of the file, with {', '.join(self.keep)} as collected",
                "no noise is added: estimates differ from the confidential ones by the models' fit and by their draws",
                "no guarantee: what the files may show of one unit is not bounded",
            ),
            {"files": float(self.sets)},
        )

    # ------------------------------------------------------------ acting

    def suits(self, data: Confidential) -> None:
        layout, grid = self.layout(data.schema), self.alpha is not None
        rule = f"histories of {layout.unit}: {layout.period}, {layout.years}, {layout.stored}, {grid}"
        data.check_once(rule, lambda: check_histories(data, layout, whole_steps=grid))

    def run(self, data: Confidential, entropy: Entropy) -> PanelFiles | PanelModel:
        """All files in memory. For panels that are too large for that, see `tacita.synthesis.panel.write_panel`."""
        layout = self.layout(data.schema)
        if self.promise is not None:
            return formal.run(data, layout, self.sets, self.promise, self.describe(), entropy)
        models, seed = self.sequence(layout), recorded_seed(entropy)
        sets = range(1, self.sets + 1)
        parts = [dict(group_files(panel, models, group, seed, sets)) for group, panel in all_groups(data, layout)]
        tables = tuple(joined_groups([part[number] for part in parts], layout) for number in sets)
        return PanelFiles(data.schema, tables, synthesized(layout), seed, self.describe(), entropy.rehearsal)

    def restore(self, stored: bytes) -> PanelFiles | PanelModel:
        return PanelFiles.from_bytes(stored) if self.epsilon is None else formal.restore(stored, self.layout)


def _names(given: Sequence[str], key: str) -> tuple[str, ...]:
    if isinstance(given, str):
        raise UsageError(f'{key}: give a list of names, such as ["{given}"], not a single string')
    names = tuple(given)
    if len(set(names)) != len(names):
        raise UsageError(f"{key}: a name is listed twice; each is used once")
    return names


def _pairs(given: Mapping[str, Any] | Sequence[Any], key: str) -> list[tuple[str, Any]]:
    """Entries in their own order, which is the order of the synthesis."""
    pairs = list(given.items() if isinstance(given, Mapping) else given)
    if not all(isinstance(pair, Sequence) and not isinstance(pair, str) and len(pair) == 2 for pair in pairs):
        raise UsageError(f"{key}: give one entry for each variable, such as {{employment = …}}")
    return [(str(name), value) for name, value in pairs]


def _plain(value: Any) -> Any:
    return [_plain(one) for one in value] if isinstance(value, tuple) else value
