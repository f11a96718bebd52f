"""Does a sample keep to the design that its schema declares? Weights, strata with one unit, population sizes."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from tacita.data.engine import Engine, number_of, text_of
from tacita.data.schema import Categorical, Schema, SurveyDesign

_LEAST, _MOST = ("least", "min"), ("most", "max")


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


def _problems(strata: Any, design: SurveyDesign, row: str) -> Iterator[str]:
    named = ", ".join(f"{row}.{name}" for name in design.strata) or row
    if design.population is not None:
        where = f"{row}.{design.population}"
        if (strata["least"] != strata["most"]).any():
            yield f"{where}: differs within a stratum; give all records of a stratum the size of its population"
        if (strata["least"] < strata["units"]).any():
            yield (
                f"{where}: is smaller than the sample in a stratum; it counts the units of the population "
                f"({'units of ' + design.psu[0] if design.psu else 'records'}), so correct the column or the strata"
            )
    alone = (strata["units"] == 1) & (strata["least"] != 1)
    if design.one_psu == "error" and alone.any():
        unit = f"unit of {design.psu[0]}" if design.psu else "record"
        yield (
            f"{named}: a stratum has a single sampled {unit}, so its variance cannot be estimated; merge strata, or "
            'say what such a stratum contributes with design.one_psu = "certainty" or "adjust"'
        )


def _strata(table: Any, schema: Schema, design: SurveyDesign, engine: Engine) -> Any:
    """One row per stratum: sampled units of the first stage, least and most of the population column."""
    first = design.psu[:1]
    keys = {f"k{at}": text_of(table[name]) for at, name in enumerate((*design.strata, *first))}
    size = number_of(table[design.population]) if design.population is not None else None
    sums = {"units": table.count()}
    if size is not None:
        sums |= {"least": size.min(), "most": size.max()}
    grouped = table.group_by(**keys).aggregate(**sums) if keys else table.aggregate(**sums)
    strata = engine.collect(grouped).to_pandas()
    if size is None:
        strata = strata.assign(least=np.inf, most=np.inf)
    for at, name in enumerate((*design.strata, *first)):
        kind = schema[name].kind
        if isinstance(kind, Categorical):
            # Stored values that the schema maps to one level are one stratum.
            strata[f"k{at}"] = [
                kind.code_of(None if one is None or one != one else str(one)) for one in strata[f"k{at}"]
            ]
    if first:
        strata = strata.groupby(list(keys), as_index=False).agg(units=("units", "sum"), least=_LEAST, most=_MOST)
        strata["units"] = 1
    stratum: list[Any] = [f"k{at}" for at in range(len(design.strata))] or [np.zeros(len(strata))]
    return strata.groupby(stratum).agg(units=("units", "sum"), least=_LEAST, most=_MOST)
