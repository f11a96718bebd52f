"""One group from beginning to end: every conditional model is fitted, then a file is drawn in the same order.

First year, last year, static variables, the year of a change; then year by year the numbers, those of units in their
first year apart from those of continuers. All values of a unit but the public ones are drawn, so whatever is missing
in the confidential file is imputed in the same pass.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal, cast

import numpy as np

from tacita.errors import UsageError
from tacita.synthesis.panel.categories import CategoryModel, FittedCategories, Limits
from tacita.synthesis.panel.gaps import YearGaps
from tacita.synthesis.panel.layout import YEAR, Change, Yearly, before
from tacita.synthesis.panel.matching import YearSums, years_matched
from tacita.synthesis.panel.numbers import FittedNumbers, NumberModel
from tacita.synthesis.panel.panel import MISSING, Panel
from tacita.synthesis.panel.predictors import Flags, Floats, Integers, Predictors, joined

Kind = Literal["stock", "births", "continuers"]
_FEWEST = 1000  # records of one year; with fewer, all years are modelled together, each with its own level


@dataclass(frozen=True, eq=False)
class FittedGroup:
    """The fitted models of one group. Confidential: it holds counts and laws of its units."""

    first: FittedCategories
    last: FittedCategories
    static: Mapping[str, FittedCategories]
    changes: Mapping[str, FittedCategories | None]
    yearly: Mapping[tuple[str, int, Kind], FittedNumbers]
    sums: YearSums
    gaps: YearGaps


Models = Mapping[str, CategoryModel | NumberModel]


def fit(panel: Panel, models: Models, random: np.random.Generator) -> FittedGroup:
    """Every model on the units for which its response and predictors are observed."""
    layout = panel.layout
    first = _fit_category(panel, models, layout.first.name, panel.first - layout.first.lower, panel.first >= 0, random)
    last = _fit_category(panel, models, layout.last.name, panel.last - layout.last.lower, panel.known, random)
    static = {
        name: _fit_category(panel, models, name, panel.static[name], panel.static[name] >= 0, random)
        for name in layout.static
    }
    changes = {one.name: _fit_change(panel, models, one, random) for one in layout.changes}
    yearly: dict[tuple[str, int, Kind], FittedNumbers] = {}
    for one in layout.yearly:
        yearly |= dict(_fit_yearly(panel, models, one, random))
    return FittedGroup(first, last, static, changes, yearly, YearSums.of(panel), YearGaps.of(panel))


def draw(fitted: FittedGroup, panel: Panel, models: Models, random: np.random.Generator) -> Panel:
    """One synthetic file: the public columns of `panel`, and everything else drawn."""
    layout, made = panel.layout, panel.blank()
    whole = np.zeros(made.rows, dtype=np.int64)
    given = made.static_predictors(_needs(models, layout.first.name))
    latest = min(layout.first.upper, layout.last.upper) - layout.first.lower
    first = fitted.first.draw(given, random, Limits(whole, whole + latest))
    made.first = layout.first.lower + years_matched(first, panel.first - layout.first.lower, whole, random)
    given = made.static_predictors(_needs(models, layout.last.name))
    low = np.maximum(made.first - layout.last.lower, 0)
    last = fitted.last.draw(given, random, Limits(low, whole + layout.last.levels - 1))
    made.last = layout.last.lower + years_matched(last, panel.last - layout.last.lower, low, random)
    for name in layout.static:
        given = made.static_predictors(_needs(models, name))
        made.static[name] = fitted.static[name].draw(given, random, _possible_levels(made, name))
    for change in layout.changes:
        made.changed[change.name] = _draw_change(fitted.changes[change.name], made, models, change, random)
    # A unit that is away has values all the same, so that it comes back as one that went on; they are not published.
    for place in range(len(layout.years)):
        fitted.gaps.draw(made, place, random)
        for kind, who in kinds(made, place):
            for one in layout.yearly:
                given = made.yearly_predictors(place, who, (*_needs(models, one.name), YEAR))
                values = one.scale.published(fitted.yearly[one.name, place, kind].draw(given, random))
                made.values[one.name][place, who] = values
                fitted.sums.hold(made, one, place, who, random)
                made.values[one.name][place, who] = ruled(made.values[one.name][place, who], one, place, who, made)
    return made


def kinds(panel: Panel, place: int) -> Iterator[tuple[Kind, Integers]]:
    """Units with values in a year: there before the panel began, in their first year, or continuing."""
    year = panel.layout.years[place]
    here = panel.known & (panel.first <= year) & (panel.last >= year)
    if place == 0:
        yield "stock", np.flatnonzero(here & (panel.first < year))
    yield "births", np.flatnonzero(here & (panel.first == year))
    if place:
        yield "continuers", np.flatnonzero(here & (panel.begins < year))


# ---------------------------------------------------------------- categories


def _needs(models: Models, name: str) -> tuple[str, ...]:
    return models[name].needs


def _fit_category(
    panel: Panel, models: Models, name: str, response: Integers, observed: Flags, random: np.random.Generator
) -> FittedCategories:
    model: CategoryModel = models[name]  # type: ignore[assignment]
    given = panel.static_predictors(model.needs)
    who = np.flatnonzero(observed & given.complete(model.needs))
    if not len(who):
        raise UsageError(f"{name}: a group has no unit for which it and its predictors are observed; join groups")
    levels = {panel.layout.first.name: panel.layout.first.levels, panel.layout.last.name: panel.layout.last.levels}
    count = levels.get(name) or len(panel.layout.schema.levels(name))
    return model.fit(response[who], count, given.at(who), random)


def _possible_levels(made: Panel, name: str) -> Limits:
    """A unit that is seen in one year only cannot have changed."""
    levels = len(made.layout.schema.levels(name))
    barred = np.zeros((made.rows, levels), dtype=bool)
    for one in made.layout.changes:
        if one.static == name:
            barred[:, list(one.levels)] |= (_room(made) <= 0)[:, None]
    low = np.zeros(made.rows, dtype=np.int64)
    return Limits(low, low + levels - 1, barred)


def _room(panel: Panel) -> Integers:
    """In how many years of its life a unit can have changed: all that are seen but the first."""
    return np.minimum(panel.last, panel.layout.years[-1]) - panel.begins


def _fit_change(panel: Panel, models: Models, one: Change, random: np.random.Generator) -> FittedCategories | None:
    """Years from the first to the change."""
    model: CategoryModel = models[one.name]  # type: ignore[assignment]
    offset = panel.changed[one.name] - panel.begins - 1
    given = panel.static_predictors(model.needs)
    who = panel.known & np.isin(panel.static[one.static], one.levels) & (panel.changed[one.name] != MISSING)
    who &= (offset >= 0) & (offset < _room(panel)) & given.complete(model.needs)
    if not who.any():
        return None
    return model.fit(offset[who], len(panel.layout.years), given.at(who), random)


def _draw_change(
    fitted: FittedCategories | None, made: Panel, models: Models, one: Change, random: np.random.Generator
) -> Integers:
    found = np.full(made.rows, MISSING)
    who = np.flatnonzero(np.isin(made.static[one.static], one.levels) & (_room(made) > 0))
    room = _room(made)[who]
    if fitted is None:
        offset = np.floor(random.random(len(who)) * room).astype(np.int64)
    else:
        given = made.static_predictors(_needs(models, one.name)).at(who)
        offset = fitted.draw(given, random, Limits(np.zeros(len(who), dtype=np.int64), room - 1))
    found[who] = made.begins[who] + 1 + offset
    return found


# ---------------------------------------------------------------- numbers


def _fit_yearly(
    panel: Panel, models: Models, one: Yearly, random: np.random.Generator
) -> Iterator[tuple[tuple[str, int, Kind], FittedNumbers]]:
    model: NumberModel = models[one.name]  # type: ignore[assignment]
    few: list[tuple[int, Kind]] = []
    for place in range(len(panel.layout.years)):
        for kind, who in kinds(panel, place):
            response, given = _records(panel, one, model, place, who)
            if len(response) >= _FEWEST:
                yield (one.name, place, kind), model.fit(response, given, one.scale, random)
            else:
                few.append((place, kind))
    pooled = {kind: _fit_pooled(panel, one, model, kind, random) for kind in dict.fromkeys(kind for _, kind in few)}
    for place, kind in few:
        yield (one.name, place, kind), pooled[kind]


def _records(panel: Panel, one: Yearly, model: NumberModel, place: int, who: Integers) -> tuple[Floats, Predictors]:
    """Observed values of one year with observed predictors."""
    response = panel.values[one.name][place, who]
    given = panel.yearly_predictors(place, who, (*model.needs, YEAR))
    seen = np.flatnonzero(~np.isnan(response) & given.complete(given.columns))
    return response[seen], given.at(seen)


def _fit_pooled(
    panel: Panel, one: Yearly, model: NumberModel, kind: Kind, random: np.random.Generator
) -> FittedNumbers:
    """All years of a kind together, the year among the predictors; those of another kind where it never occurs."""
    model = replace(cast(Any, model), given=tuple(dict.fromkeys((*model.given, YEAR))))
    lagged = set() if kind == "continuers" else {before(other.name) for other in panel.layout.yearly}
    wanted: Kind
    for wanted in (kind, "births", "stock", "continuers"):
        parts = [
            _records(panel, one, model, place, who)
            for place in range(len(panel.layout.years))
            for other, who in kinds(panel, place)
            if other == wanted
        ]
        parts = [part for part in parts if len(part[0])]
        if parts:
            response = np.concatenate([values for values, _ in parts])
            given = joined([predictors for _, predictors in parts], without=lagged)
            return model.fit(response, given, one.scale, random)
    raise UsageError(f"{one.name}: a group has no observed value; join groups, or leave the variable out")


def ruled(values: Floats, one: Yearly, place: int, who: Integers, made: Panel) -> Floats:
    """The nearest published value that the edits allow."""
    for ratio in made.layout.ratios:
        if ratio.name == one.name:
            other = made.values[ratio.other][place, who]
            step = one.scale.step
            low = np.ceil(ratio.low * other / step - 1e-9) * step
            high = np.floor(ratio.high * other / step + 1e-9) * step
            values = np.minimum(np.maximum(values, low), np.maximum(high, low))
    return values
