"""Creation, destruction and net change of a number between two years, by cell. Proof: `flows.md`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from tacita.data.confidential import Confidential, rows
from tacita.data.schema import Schema
from tacita.errors import UsageError
from tacita.lazy import later
from tacita.mechanisms.magnitude.base import MagnitudePlan, of_two_years
from tacita.mechanisms.magnitude.error import Column
from tacita.mechanisms.magnitude.flows_design import NetLaw, least_noise
from tacita.mechanisms.magnitude.reading import Totals, most_steps, number, places, steps, totals
from tacita.noise.entropy import Entropy
from tacita.noise.power import PowerLaw

ibis = later("ibis")

CREATED, DESTROYED, NET = "creation", "destruction", "net"


@frozen(kw_only=True)
class SmoothFlows(MagnitudePlan):
    """What units gained and lost between two years: `of` names the columns of the earlier and of the later one.

    Creation is the sum of all gains, destruction that of all losses, net what is left. The numbers of both years may
    change, each in its own direction. A unit whose number of one year is missing counts as 0 there, so that entry and
    exit are part of the flows.

    >>> plan = SmoothFlows("0.1", "2", of=["jobs2023", "jobs2024"], by=["sector"])
    >>> str(plan.guarantee)
    "ε = 2 under one establishment's numbers changed by up to α = 0.1"
    """

    proof = "mechanisms/magnitude/flows.md"
    measures = "flows"

    def __attrs_post_init__(self) -> None:
        super().__attrs_post_init__()
        of_two_years(self.of)

    @property
    def sizes(self) -> int:
        return 1

    @property
    def product(self) -> str:
        return f"Flows from {self.of[0]} to {self.of[1]}"

    @property
    def _size(self) -> str:
        return f"the largest {self.unit}, both years added,"

    @property
    def least(self) -> int:
        """Numbers below 1/α + 1 steps change by a step or less, so their noise is that of this number."""
        return int(-(-1 // self.alpha)) + 1

    def law(self) -> PowerLaw:
        return least_noise(self.alpha, self.budget)

    def domains(self, schema: Schema) -> dict[str, tuple[int, int]]:
        kinds = [number(schema, name) for name in self.of]
        if places(kinds[0]) != places(kinds[1]):
            raise UsageError(
                f"of: {self.of[0]} and {self.of[1]} keep different numbers of decimal places; give both the same scale"
            )
        size = sum(max(most_steps(kind), self.least) for kind in kinds)
        return dict.fromkeys((CREATED, DESTROYED, NET), (places(kinds[0]), size))

    def columns(self, domains: Mapping[str, tuple[int, int]]) -> tuple[Column, ...]:
        (scale, most), *_ = domains.values()
        flow = replace(self.error(most), within_value=False)
        net = replace(flow, law=NetLaw(self.law()), signed=True)
        return (Column(CREATED, scale, flow), Column(DESTROYED, scale, flow), Column(NET, scale, net))

    def ask(self, data: Confidential) -> Totals:
        def write() -> tuple[dict[str, Any], dict[str, Any]]:
            table, schema = rows(data), data.schema
            before, after = (steps(table[name], number(schema, name)) for name in self.of)
            sums = {CREATED: ibis.greatest(after - before, 0), DESTROYED: ibis.greatest(before - after, 0)}
            return sums, {"both": ibis.greatest(before, self.least) + ibis.greatest(after, self.least)}

        return totals(data, self.by, self.where, ("flows", *self.of, self.least), write)

    def noisy(self, exact_sums: Totals, entropy: Entropy) -> NDArray[np.int64]:
        numerator, denominator = self.scales(exact_sums.largest[:, 0])
        flows = self.law().on_grid(exact_sums.sums, numerator, denominator, entropy, self.product)
        return np.column_stack([flows, flows[:, 0] - flows[:, 1]])
