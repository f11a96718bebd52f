"""Does a sample keep to the design that its schema declares? Weights, strata with one unit, population sizes."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from tacita.data.engine import Engine, number_of, text_of
from tacita.data.schema import Categorical, Kind, Schema, SurveyDesign


def positive_rules(where: str, column: str, stored: Any, schema: Schema) -> dict[str, tuple[Any, str]]:
    """Weights and population sizes must be there and positive, whatever the schema does to numbers out of bounds."""
    design = schema.design
    if design is None or column not in (design.weight, design.population):
        return {}
    number = number_of(stored)
    what = "weight" if column == design.weight else "population size"
    wrong = number.isnull() | (number <= 0) | (number == math.inf)
    # The key is that of the rule for missing values, whose advice would be wrong here.
    return {
        f"{where} missing": (
            wrong,
            f"{where}: a {what} is missing, zero, negative or infinite; every record needs a positive one, "
            "so repair the file or take out the records that are no part of the sample",
        )
    }


def design_problems(table: Any, schema: Schema, engine: Engine) -> list[str]:
    """What is wrong with strata and population sizes."""
    assert schema.design is not None
    design = schema.design
    strata = _strata(table, schema, design, engine)
    return list(_problems(strata, design, schema.row))


def _problems(strata: list[_Stratum], design: SurveyDesign, row: str) -> Iterator[str]:
    named = ", ".join(f"{row}.{name}" for name in design.strata) or row
    if design.population is not None:
        where = f"{row}.{design.population}"
        if any(one.least != one.most for one in strata):
            yield f"{where}: differs within a stratum; give all records of a stratum the size of its population"
        if any(one.least < one.units for one in strata):
            yield (
                f"{where}: is smaller than the sample in a stratum; it counts the units of the population "
                f"({'units of ' + design.psu[0] if design.psu else 'records'}), so correct the column or the strata"
            )
    if design.one_psu == "error" and any(one.units == 1 and one.least != 1 for one in strata):
        unit = f"unit of {design.psu[0]}" if design.psu else "record"
        yield (
            f"{named}: a stratum has a single sampled {unit}, so its variance cannot be estimated; merge strata, or "
            'say what such a stratum contributes with design.one_psu = "certainty" or "adjust"'
        )


@dataclass
class _Stratum:
    """Sampled units of the first stage, least and most of the population column."""

    units: int = 0
    least: float = math.inf
    most: float = -math.inf


def _strata(table: Any, schema: Schema, design: SurveyDesign, engine: Engine) -> list[_Stratum]:
    asked = engine.written(("strata", table, schema), lambda: _by_stratum(table, design))
    names = (*design.strata, *design.psu[:1])
    units: dict[tuple[Any, ...], _Stratum] = {}
    for part in engine.collect(asked).to_pylist():
        # Stored values that the schema maps to one level are one stratum.
        key = tuple(_code(part[f"k{at}"], schema[name].kind) for at, name in enumerate(names))
        if None not in key:
            _add(units.setdefault(key, _Stratum()), part["units"], part.get("least"), part.get("most"))
    strata: dict[tuple[Any, ...], _Stratum] = {}
    for key, one in units.items():
        number = 1 if design.psu else one.units
        _add(strata.setdefault(key[: len(design.strata)], _Stratum()), number, one.least, one.most)
    return list(strata.values())


def _code(stored: str | None, kind: Kind) -> Any:
    return kind.code_of(stored) if isinstance(kind, Categorical) else stored


def _add(to: _Stratum, units: int, least: float | None, most: float | None) -> None:
    to.units += units
    to.least = min(to.least, math.inf if least is None else least)
    to.most = max(to.most, math.inf if most is None else most)


def _by_stratum(table: Any, design: SurveyDesign) -> Any:
    keys = {f"k{at}": text_of(table[name]) for at, name in enumerate((*design.strata, *design.psu[:1]))}
    sums = {"units": table.count()}
    if design.population is not None:
        size = number_of(table[design.population])
        sums |= {"least": size.min(), "most": size.max()}
    return table.group_by(**keys).aggregate(**sums) if keys else table.aggregate(**sums)
