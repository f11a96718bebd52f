"""A confidential sample as arrays: answers and weights by the schema's rule, cells and strata from public columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacita.data.confidential import Confidential, asked, rows
from tacita.data.engine import level_code, ruled_number
from tacita.data.half_samples import Codes, Floats, half_sample_factors
from tacita.data.schema import Categorical, Integer, Numeric, Schema, SurveyDesign
from tacita.errors import SchemaError, UsageError


@dataclass(frozen=True, eq=False)
class SurveyRows:
    """Rows of a sample: `cell` is the place of a row in the full crossing of the public columns."""

    weight: Floats
    answers: dict[str, Floats]
    cell: Codes
    unit: Codes
    stratum: Codes
    population: Floats | None

    def half_samples(self, replicates: int, rng: np.random.Generator) -> Floats:
        """Factors of the weights, one row per record and one column per replicate: a function of public columns."""
        first = np.unique(self.unit, return_index=True)[1]
        stratum = self.stratum[first]
        sampled = np.bincount(stratum)[stratum].astype(np.float64)
        share = np.zeros(first.size) if self.population is None else sampled / self.population[first]
        return half_sample_factors(stratum, sampled, np.minimum(share, 1.0), replicates, rng)[self.unit]


def public_design(schema: Schema, by: Sequence[str], answers: Sequence[str]) -> SurveyDesign:
    """The declared design, if all but answers and weights is public; otherwise an error that says what is not."""
    design = schema.design
    if design is None:
        raise SchemaError("design: the schema declares none; add a [design] table that names the weight")
    for key, names in (
        ("by", tuple(by)),
        ("design.strata", design.strata),
        ("design.psu", design.psu[:1]),
        ("design.population", () if design.population is None else (design.population,)),
    ):
        for name in names:
            if name not in design.public:
                raise UsageError(
                    f"{key}: {name} is not public, and this method hides only answers and weights; "
                    "list it in design.public if everybody may see it, or leave it out"
                )
    for name in by:
        schema.categorical(name)
    for name in answers:
        if not isinstance(schema[name].kind, Integer | Numeric):
            raise UsageError(f"means: {name} is not a number; name numeric columns")
        if name in design.columns:
            raise UsageError(f"means: {name} is a part of the design; name answers")
    return design


def bounds(schema: Schema, name: str) -> tuple[float, float]:
    kind = schema[name].kind
    assert isinstance(kind, Integer | Numeric)
    return float(kind.lower), float(kind.upper)


def read(data: Confidential, by: Sequence[str], answers: Sequence[str]) -> SurveyRows:
    """One pass over the file."""
    schema = data.schema
    design = public_design(schema, by, answers)
    codes = dict.fromkeys((*by, *design.strata, *design.psu[:1]))
    numbers = dict.fromkeys((design.weight, *answers, *([design.population] if design.population else ())))
    table, wanted = rows(data), (*codes, *numbers)
    collected = asked(
        data,
        ("sample", *wanted),
        lambda: table.select(**{name: _ruled(table[name], schema, name).cast("float64") for name in wanted}),
    )
    found = {name: np.asarray(collected[name].to_numpy(zero_copy_only=False), dtype=np.float64) for name in wanted}
    if any(np.isnan(found[name]).any() for name in numbers) or any((found[name] < 0).any() for name in codes):
        # Confidential.check refuses such files before anything is spent; this is for callers that skip it.
        raise UsageError("a value is missing or not declared, and the schema has no rule for it; check the file first")
    count = len(collected)
    stratum = _crossed(found, design.strata, schema, count)
    stratum = np.unique(stratum, return_inverse=True)[1].reshape(-1)
    unit: NDArray[Any] = np.arange(count)
    if design.psu:
        code = found[design.psu[0]].astype(np.int64)
        unit = np.unique(stratum * (code.max() + 1) + code, return_inverse=True)[1].reshape(-1)
    return SurveyRows(
        found[design.weight],
        {name: found[name] for name in answers},
        _crossed(found, by, schema, count),
        unit,
        stratum,
        None if design.population is None else found[design.population],
    )


def _crossed(found: dict[str, Floats], names: Sequence[str], schema: Schema, count: int) -> Codes:
    code = np.zeros(count, dtype=np.int64)
    for name in names:
        code = code * len(schema.levels(name)) + found[name].astype(np.int64)
    return code


def _ruled(column: Any, schema: Schema, name: str) -> Any:
    kind = schema[name].kind
    if isinstance(kind, Categorical):
        return level_code(column, kind)
    assert isinstance(kind, Integer | Numeric)
    return ruled_number(column, kind)
