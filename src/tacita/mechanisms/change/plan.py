"""`Change`: growth, or flows, between two years by the cells of a file's categories."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any, Literal

import numpy as np
from attrs import field, frozen

from tacita.data.cells import Amount, number_kind
from tacita.data.confidential import Confidential
from tacita.data.pairs import Pairs, Period, check_pairs
from tacita.data.schema import Schema
from tacita.errors import SchemaError, UsageError
from tacita.measured import Measurements, refuse_own_names
from tacita.mechanisms.change.accuracy import foreseen
from tacita.mechanisms.change.measuring import flows, growth
from tacita.mechanisms.table.noise import Budget
from tacita.mechanisms.table.settings import as_columns, as_confidence, loss_of, optional_epsilon, optional_rho
from tacita.noise.entropy import Entropy
from tacita.plan import ONE_ROW, Contribution, Forecast, Plan
from tacita.plan.fields import (
    RECORD,
    Named,
    OneUnit,
    as_delta,
    as_names,
    as_relation,
    as_where,
    by_name,
    each_once,
    one_of,
    one_unit,
)
from tacita.plan.how import How
from tacita.privacy import Guarantee, ReplaceOne

Changing = Literal["growth", "flows"]


def _as_years(given: Mapping[str, Sequence[Any]] | Sequence[Any]) -> Named[tuple[str, ...]]:
    return Named((name, tuple(map(str, as_names(years)))) for name, years in by_name(given, "between"))


@frozen
class Change(Plan[Measurements]):
    """What became of a total between two years, by groups: its growth, or what units gained and lost.

    The years stand in two columns of one row (`of` names both, the earlier first), or in rows of their own: `between`
    then names the column that says the year of a row, and the two years, and `of` the number; without `of` units are
    counted. Units are told apart by the id of the unit that is protected, and all they have in both years is protected
    together.

    Growth has the total of both years, the change, and the change in percent. Flows have what units gained (`creation`)
    and lost (`destruction`), the parts of them that came and went with units that had nothing in the cell before, or
    have nothing after (`entry`, `exit`), and what is left (`net`).

    >>> from tacita.privacy import AddRemoveOne
    >>> plan = Change("growth", "1", of="pay", by=["region"], between={"year": [2023, 2024]},
    ...               neighbours=AddRemoveOne("person"))
    >>> str(plan.guarantee)
    'ε = 1 under one person added or removed'
    """

    proof = "mechanisms/change/change.md"
    takes_missing = True
    brings = "counts"

    statistic: Changing = field(default="growth", validator=one_of(Changing))
    epsilon: Fraction = field(default=None, converter=optional_epsilon)
    of: tuple[str, ...] = field(default=(), converter=as_columns, validator=each_once, kw_only=True)
    between: Named[tuple[str, ...]] = field(default=Named(), converter=_as_years, kw_only=True)
    by: tuple[str, ...] = field(default=(), converter=as_names, validator=each_once, kw_only=True)
    where: Named[tuple[str, ...]] = field(default=Named(), converter=as_where, kw_only=True)
    weights: str | None = field(default=None, kw_only=True)
    delta: Fraction = field(default=Fraction(0), converter=as_delta, kw_only=True)
    rho: Fraction | None = field(default=None, converter=optional_rho, kw_only=True)
    confidence: Fraction = field(default=Fraction(19, 20), converter=as_confidence, kw_only=True)
    neighbours: OneUnit = field(default=RECORD, converter=as_relation, validator=one_unit, kw_only=True)

    def __attrs_post_init__(self) -> None:
        if len(self.between) > 1 or any(len(set(years)) != 2 or len(years) != 2 for years in self.between.values()):
            raise UsageError("between: name one column and two years, the earlier first, such as {year = [2023, 2024]}")
        if len(self.of) != 2 and not self.between:
            raise UsageError(
                'of: name two columns, the earlier year first, such as ["jobs2023", "jobs2024"]; or, where the years '
                "stand in rows of their own, say between = {year = [2023, 2024]}"
            )
        if len(self.of) > 1 and self.between:
            raise UsageError("of: with between, name one column, or none to count units; between tells the years apart")
        if (self.rho is None) == (self.epsilon is None) or (self.rho is not None and self.delta):
            raise UsageError('epsilon: give it, such as "1", or rho alone')
        if not 0 <= self.delta < 1:
            raise UsageError("delta: must be at least 0 and below 1")
        if not 0 < self.confidence <= 1 - Fraction(1, 10**9):
            raise UsageError('confidence: must lie between 0 and 1, at most 0.999999999, such as "0.95"')
        if self.weights is not None and not isinstance(self.weights, str):
            raise UsageError("weights: give the name of one column")

    # ------------------------------------------------------------ known before any data

    @property
    def takes_any_rows(self) -> bool:
        """Rows of two years belong together; where one row has both, several of a unit can be bounded."""
        return not self.between

    @property
    def budget(self) -> Budget:
        return Budget(self.epsilon, self.delta) if self.rho is None else Budget.of_rho(self.rho)

    @property
    def records(self) -> int:
        """How many units come or go: one, or both where one is replaced."""
        return 2 if isinstance(self.neighbours, ReplaceOne) else 1

    @property
    def guarantee(self) -> Guarantee:
        loss = loss_of(self.epsilon, self.delta, self.rho)
        assumes = ("levels and bounds are public",)
        return Guarantee(self.neighbours, loss, assumes=assumes if self.between else (ONE_ROW, *assumes))

    @property
    def how(self) -> How:
        return How(
            "What every unit had in the two years was compared, changes beyond a limit counted as that limit, and "
            "random noise was added to their sums in each cell."
        )

    def contribution(self, schema: Schema) -> Contribution | None:
        """Rows of both years are taken together; `suits` sees to it that there is one of each."""
        return None if self.between else Contribution(self.neighbours.unit)

    def pairs(self, schema: Schema) -> Pairs:
        weight = () if self.weights is None else (self.weights,)
        if not self.between:
            return Pairs(self.by, self.where, (Amount((self.of[0], *weight)), Amount((self.of[1], *weight))))
        unit, ((column, years),) = self.neighbours.unit, self.between.items()
        name = schema.id_for(unit)
        if name is None:
            raise SchemaError(
                f"between: the schema has no {unit} id, so nothing tells which rows of the two years belong together; "
                f'declare it with role = "id" and entity = "{unit}", or give of two columns of one row'
            )
        amount = Amount((*self.of, *weight))
        return Pairs(self.by, self.where, (amount, amount), Period(column, (years[0], years[1]), name))

    def weighed_by(self, schema: Schema) -> str | None:
        return self.weights

    def reads(self, schema: Schema) -> tuple[str, ...]:
        pairs = self.pairs(schema)
        pairs.cells.check(schema)
        refuse_own_names(self.by)
        if pairs.period is not None:
            pairs.period.check(schema)
        for name in (column for amount in pairs.amounts for column in amount.columns):
            kind = number_kind(schema, name)
            if kind.lower < 0 and (name == self.weights or self.statistic == "flows"):
                raise UsageError(
                    f"{name}: may be negative by its bounds; flows and weights are of numbers that are at least 0"
                )
        if twice := [name for name in (*self.of, *self.between) if name in self.by]:
            raise UsageError(f"by: {twice[0]} also stands in of or between; name it in one of them")
        return pairs.columns

    def forecast(self, schema: Schema) -> Forecast:
        self.reads(schema)
        sentences, figures = foreseen(self, schema)
        what = " to ".join(self.of) if len(self.of) == 2 else self.of[0] if self.of else f"{self.neighbours.unit}s"
        years = "".join(f", {column} {' to '.join(years)}" for column, years in self.between.items())
        by = f" by {' × '.join(self.by)}" if self.by else ""
        product = f"{'Growth' if self.statistic == 'growth' else 'Flows'} of {what}{by}{years}"
        return Forecast(product, self.pairs(schema).cells.count(schema), sentences, figures)

    def suits(self, data: Confidential) -> None:
        period = self.pairs(data.schema).period
        if period is not None:
            rule = f"one row of each of {period.years} for each {period.unit}"
            data.check_once(rule, lambda: check_pairs(data, period))

    # ------------------------------------------------------------ acting

    def run(self, data: Confidential, entropy: Entropy) -> Measurements:
        self.reads(data.schema)
        pairs = self.pairs(data.schema)
        measured = growth if self.statistic == "growth" else flows
        noisy, facts = measured(data, pairs, self.budget, self.records, entropy)
        shape = pairs.cells.shape(data.schema)
        codes = np.unravel_index(np.arange(pairs.cells.count(data.schema)), shape) if shape else ()
        keys = {name: code.astype(np.int32) for name, code in zip(self.by, codes, strict=True)}
        return Measurements(keys, noisy, facts, self.describe(), str(self.guarantee), entropy.rehearsal)

    def restore(self, stored: bytes) -> Measurements:
        return Measurements.from_bytes(stored)
