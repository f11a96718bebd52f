"""Sums of one or several numbers by cell; those of one unit may all change at once. Proof: `magnitude.md`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from tacita.data.confidential import Confidential, rows
from tacita.data.schema import Schema
from tacita.errors import UsageError
from tacita.mechanisms.eree import staircase_design
from tacita.mechanisms.magnitude import together_design
from tacita.mechanisms.magnitude.base import MagnitudePlan
from tacita.mechanisms.magnitude.error import Column
from tacita.mechanisms.magnitude.reading import Totals, most_steps, number, places, steps, totals
from tacita.noise.entropy import Entropy
from tacita.noise.plateau import PlateauLaw
from tacita.noise.power import BoxLaw


@frozen(kw_only=True)
class SmoothSums(MagnitudePlan):
    """Sums of money, jobs or any other numbers of at least 0 by public attributes. Pure ε.

    Several numbers of a unit may be asked for; they may change together. They have noise of one law together, or
    shares of ε, whichever is less noise: that follows from α, ε and how many there are.

    >>> plan = SmoothSums("0.1", "1", of=["payroll"], by=["sector"])
    >>> str(plan.guarantee)
    "ε = 1 under one establishment's numbers changed by up to α = 0.1"
    >>> plan.margin_share
    Fraction(3, 20)
    """

    proof = "mechanisms/magnitude/magnitude.md"
    measures = "sum"

    @property
    def sizes(self) -> int:
        return len(self.of)

    @property
    def product(self) -> str:
        return f"Sums of {', '.join(self.of)}"

    def law(self) -> PlateauLaw | BoxLaw:
        """The law with the least noise: one for all numbers together, or one for each with its share of ε."""
        together = together_design.least_noise(self.alpha, self.budget, len(self.of)) if len(self.of) > 1 else None
        try:
            apart = staircase_design.least_noise(self.alpha, self.budget / len(self.of))
        except UsageError:
            if together is None:
                raise
            return together
        return apart if together is None or apart.mean_abs() <= together.mean_abs() else together

    def domains(self, schema: Schema) -> dict[str, tuple[int, int]]:
        kinds = {name: number(schema, name) for name in self.of}
        return {name: (places(kind), most_steps(kind)) for name, kind in kinds.items()}

    def columns(self, domains: Mapping[str, tuple[int, int]]) -> tuple[Column, ...]:
        listed = ((at, name, *domains[name]) for at, name in enumerate(self.of))
        return tuple(Column(name, scale, self.error(most), at) for at, name, scale, most in listed)

    def ask(self, data: Confidential) -> Totals:
        def write() -> tuple[dict[str, Any], dict[str, Any]]:
            table, schema = rows(data), data.schema
            counted = {name: steps(table[name], number(schema, name)) for name in self.of}
            return counted, counted

        return totals(data, self.by, self.where, ("sums", *self.of), write)

    def noisy(self, exact_sums: Totals, entropy: Entropy) -> NDArray[np.int64]:
        law, (numerator, denominator) = self.law(), self.scales(exact_sums.largest)
        if isinstance(law, BoxLaw):
            return law.on_grid(exact_sums.sums, numerator, denominator, entropy, self.product)
        flat = law.on_grid(exact_sums.sums.ravel(), numerator.ravel(), denominator, entropy, self.product)
        return flat.reshape(exact_sums.sums.shape)
