"""The totals of two years, from which growth follows; one unit's numbers of both may change. Proof: `growth.md`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from attrs import frozen

from tacita.data.confidential import Confidential, rows
from tacita.data.schema import Schema
from tacita.errors import UsageError
from tacita.mechanisms.magnitude.base import of_two_years
from tacita.mechanisms.magnitude.error import Column
from tacita.mechanisms.magnitude.reading import Totals, most_steps, number, places, steps, totals
from tacita.mechanisms.magnitude.sums import SmoothSums

YEARS = EARLIER, LATER = "earlier", "later"
CHANGE, PERCENT = "change", "percent"


@frozen(kw_only=True)
class SmoothGrowth(SmoothSums):
    """Totals of two years, the change and the change in percent: `of` names the columns of the earlier year and of the
    later one. The numbers of both years may change, each in its own direction.

    >>> plan = SmoothGrowth("0.1", "2", of=["jobs2023", "jobs2024"], by=["sector"])
    >>> str(plan.guarantee)
    "ε = 2 under one establishment's numbers changed by up to α = 0.1"
    """

    proof = "mechanisms/magnitude/growth.md"
    measures = "growth"

    def __attrs_post_init__(self) -> None:
        super().__attrs_post_init__()
        of_two_years(self.of)

    @property
    def product(self) -> str:
        return f"Growth from {self.of[0]} to {self.of[1]}"

    @property
    def _size(self) -> str:
        return f"the largest {self.unit} of a year, for that year's total,"

    def domains(self, schema: Schema) -> dict[str, tuple[int, int]]:
        kinds = [number(schema, name) for name in self.of]
        if places(kinds[0]) != places(kinds[1]):
            raise UsageError(
                f"of: {self.of[0]} and {self.of[1]} keep different numbers of decimal places; give both the same scale"
            )
        return {name: (places(kind), most_steps(kind)) for name, kind in zip(YEARS, kinds, strict=True)}

    def columns(self, domains: Mapping[str, tuple[int, int]]) -> tuple[Column, ...]:
        listed = ((at, name, *domains[name]) for at, name in enumerate(YEARS))
        return tuple(Column(name, scale, self.error(most), at) for at, name, scale, most in listed)

    def ask(self, data: Confidential) -> Totals:
        def write() -> tuple[dict[str, Any], dict[str, Any]]:
            table, schema = rows(data), data.schema
            both = zip(YEARS, self.of, strict=True)
            counted = {year: steps(table[name], number(schema, name)) for year, name in both}
            return counted, counted

        return totals(data, self.by, self.where, ("growth", *self.of), write)
