"""What is public about a survey file, from which counts and means by two design variables are asked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product
from typing import Any

from tacita.data.schema import Schema
from tacita_studies.hu2024.printed import ALL


@dataclass(frozen=True)
class SurveyFile:
    """One outcome, one weight and two public design variables; the first of these gives the strata, if `stratified`.

    `levels` and `bounds` are declared, never read from rows, and so are the numbers of persons in the population and of
    records in the sample, where they are known.
    """

    name: str
    outcome: str
    weight: str
    levels: Mapping[str, tuple[str, ...]]
    bounds: Mapping[str, tuple[float, float]]
    stratified: bool = True
    persons: float | None = None
    records: int | None = None

    @property
    def by(self) -> tuple[str, ...]:
        return tuple(self.levels)

    @property
    def usual_weight(self) -> float | None:
        """Persons per record, if both numbers are public."""
        return None if self.persons is None or self.records is None else self.persons / self.records

    @property
    def without_strata(self) -> SurveyFile:
        return replace(self, stratified=False)

    @cached_property
    def cells(self) -> tuple[tuple[str, ...], ...]:
        """Margins before what they add up, as in the paper's tables."""
        return tuple(product(*((ALL, *levels) for levels in self.levels.values())))

    @cached_property
    def schema(self) -> Schema:
        variables: dict[str, dict[str, Any]] = {
            name: {"type": "categorical", "role": "public", "levels": list(known)}
            for name, known in self.levels.items()
        }
        for name, role in ((self.outcome, "confidential"), (self.weight, "weight")):
            lower, upper = self.bounds[name]
            variables[name] = {"type": "numeric", "role": role, "lower": lower, "upper": upper, "scale": 4}
            if role == "confidential":
                variables[name]["outside"] = "clamp"
        design = {
            "weight": self.weight,
            "strata": list(self.by[:1]) if self.stratified else [],
            "public": list(self.by),
        }
        return Schema.from_dict(
            {"dataset": {"identity": self.name, "unit": "person"}, "variables": variables, "design": design}
        )
