"""Is every unit of a file one history? Asked of the whole file before anything is spent or drawn.

Groups are worked on one after another, so that a unit with rows in several of them would be several units, and lose
several times what is promised. Messages name the column and the rule, never a value.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import ibis

from tacita.data.checks import any_repeated
from tacita.data.confidential import Confidential, engine_of, rows
from tacita.data.engine import level_code, number_of, text_of
from tacita.data.grid import check_grid
from tacita.data.schema import Categorical, Integer, Numeric
from tacita.errors import SchemaError
from tacita.synthesis.panel.layout import Layout

_UNIT, _PLACE = "tacita_unit", "tacita_place"


def check_histories(data: Confidential, layout: Layout, *, whole_steps: bool) -> None:
    """Refuse a file in which a unit has two rows for one year, or two values of what it keeps.

    `whole_steps` also refuses yearly numbers between two steps of their grid: two of them that are one step apart could
    be rounded to two.
    """
    whole = rows(data)
    unit = whole[layout.unit]
    table = engine_of(data).written(
        ("unit", whole, layout.unit),
        lambda: whole.mutate(**{_UNIT: unit if unit.type().is_integer() else text_of(unit)}),
    )
    if layout.period is None:
        if any_repeated(engine_of(data), table, [_UNIT]):
            raise SchemaError(
                f"{layout.unit}: an id occurs more than once; a wide panel has one row per unit, so add the rows up, "
                "or declare a long file with period"
            )
    else:
        _check_years(data, layout, table)
        _check_constant(data, layout, table)
    if whole_steps:
        years = layout.years if layout.period is None else layout.years[:1]
        check_grid(data, [one.column(year) for one in layout.yearly for year in years], layout.schema)


def _check_years(data: Confidential, layout: Layout, table: Any) -> None:
    """One row per unit and year, for the years of the panel."""
    year = _number(table, str(layout.period), layout)
    engine = engine_of(data)
    (found,) = engine.collect(table.aggregate(between=(year % 1.0 != 0.0).any())).to_pylist()
    if found["between"]:
        raise SchemaError(f"{layout.period}: a year is not a whole number; repair the file")
    inside = table.mutate(**{_PLACE: year}).filter(year.between(layout.years[0], layout.years[-1]))
    if any_repeated(engine, inside, [_UNIT, _PLACE]):
        raise SchemaError(f"{layout.period}: a unit has two rows for one year; add them up, or correct {layout.unit}")


def _check_constant(data: Confidential, layout: Layout, table: Any) -> None:
    """What a unit keeps is the same in all its rows, in whatever group they are."""
    kept = {name: _kept(table, name, layout) for name in _kept_columns(layout)}
    if not _disagree(data, table, kept):
        return
    name = next(name for name in kept if _disagree(data, table, {name: kept[name]}))
    raise SchemaError(f"{name}: rows of one unit disagree; give all rows of a unit the same value")


def _kept_columns(layout: Layout) -> tuple[str, ...]:
    spans = [one.name for one in (layout.first, layout.last) if one.stored]
    return tuple(dict.fromkeys((*layout.keep, *spans, *layout.static, *(one.name for one in layout.changes))))


def _disagree(data: Confidential, table: Any, kept: Mapping[str, Any]) -> bool:
    values = {f"tacita_v{at}": value for at, value in enumerate(kept.values())}
    pieces = table.select(_UNIT, **values).distinct()
    return any_repeated(engine_of(data), pieces, [_UNIT])


def _kept(table: Any, name: str, layout: Layout) -> Any:
    """A value as the panel reads it: codes that mean missing are one value, whatever the schema puts there."""
    kind = layout.schema[name].kind
    if not isinstance(kind, Categorical):
        return _number(table, name, layout)
    if name in layout.keep:  # these have no rules: what is stored is a level
        return text_of(table[name])
    value = text_of(table[name])
    missing = value.isnull() | value.isin(list(kind.missing_codes)) if kind.missing_codes else value.isnull()
    return ibis.ifelse(missing, -1, level_code(table[name], kind))


def _number(table: Any, name: str, layout: Layout) -> Any:
    """A number within its bounds, null where it is missing."""
    kind = layout.schema[name].kind
    assert isinstance(kind, Integer | Numeric)
    number = number_of(table[name])
    if kind.missing_codes:
        number = ibis.ifelse(number.isin([float(one) for one in kind.missing_codes]), ibis.null("float64"), number)
    clamped = ibis.least(ibis.greatest(number, float(kind.lower)), float(kind.upper))
    return ibis.ifelse(number.isnull(), ibis.null("float64"), clamped)
