"""Sums of a number by cell, each with noise on its root or logarithm. Proof: `slow.md`."""

from __future__ import annotations

from fractions import Fraction

from attrs import field, frozen

from tacita.data.confidential import Confidential, rows
from tacita.data.schema import Schema
from tacita.errors import UsageError
from tacita.measured import Measurements, refuse_own_names
from tacita.mechanisms.magnitude.base import PUBLIC_LIST
from tacita.mechanisms.magnitude.reading import check_attributes, check_levels, number, places, steps, totals
from tacita.mechanisms.slow.error import SlowError
from tacita.mechanisms.slow.scale import steps as slow_steps
from tacita.mechanisms.slow.scale import variance_for
from tacita.noise.entropy import Entropy
from tacita.noise.gaussian import add_discrete_gaussian
from tacita.plan import ONE_ROW, Contribution, Forecast, Plan
from tacita.plan.fields import Named, as_names, as_where, each_once
from tacita.plan.how import How
from tacita.privacy import Guarantee, Loss, Number, PerRecord, exact, upward
from tacita.privacy.neighbours import Scaling

SLOW = "slow"
_LEAST_RHO = Fraction(1, 256)  # less would need a variance that the exact sampler does not have


def _as_rho(given: Number) -> Fraction:
    return exact(given, "rho")


def _as_size(given: Number) -> Fraction:
    return exact(given, "offset and reference")


@frozen(kw_only=True)
class SlowSums(Plan[Measurements]):
    """Sums of one number by public attributes, for comparison with `SmoothSums`: the logarithm or a root of each sum
    gets Gaussian noise, and the estimate is made unbiased. A unit whose number is the reference loses ρ, a larger one
    more: `PerRecord.policy`.

    >>> plan = SlowSums("0.5", of="payroll", by=["sector"], offset="10000", reference="1000000")
    >>> str(plan.guarantee)
    "ρ = 0.5 under one establishment's number, by log scaling from 10000 with the loss of 1000000"
    """

    proof = "mechanisms/slow/slow.md"
    brings = "counts"

    rho: Fraction = field(converter=_as_rho, kw_only=False)
    of: str = field()
    by: tuple[str, ...] = field(default=(), converter=as_names, validator=each_once)
    where: Named[tuple[str, ...]] = field(default=Named(), converter=as_where)
    unit: str = "establishment"
    scaling: Scaling = "log"
    offset: Fraction = field(converter=_as_size)
    reference: Fraction = field(converter=_as_size)

    def __attrs_post_init__(self) -> None:
        if not isinstance(self.of, str):
            raise UsageError("of: give the name of one number; several need a table each")
        if self.rho < _LEAST_RHO:
            raise UsageError('rho: must be at least 1/256, such as "0.5"; for less, raise the reference that loses it')
        _ = self.relation

    @property
    def relation(self) -> PerRecord:
        return PerRecord(self.unit, self.scaling, offset=self.offset, reference=self.reference)

    @property
    def guarantee(self) -> Guarantee:
        return Guarantee(self.relation, Loss(rho=self.rho), assumes=(PUBLIC_LIST, ONE_ROW))

    @property
    def how(self) -> How:
        name = {"log": "logarithm", "square-root": "square root", "fourth-root": "fourth root"}[self.scaling]
        return How(
            f"The numbers of each {self.unit} were added up in each cell, and random noise was added to the {name} of "
            "each sum: the larger the sum, the more noise it has.",
            f"The table has the cells in which the file has any {self.unit}, and so shows where there are some: who is "
            "in the file is taken as public.",
        )

    def contribution(self, schema: Schema) -> Contribution:
        return Contribution(self.unit)

    @property
    def variance(self) -> Fraction:
        return variance_for(self.rho)

    @property
    def error(self) -> SlowError:
        return SlowError(self.relation, self.variance)

    def reads(self, schema: Schema) -> tuple[str, ...]:
        check_attributes(schema, self.by)
        check_levels(schema, self.where)
        refuse_own_names(self.by)
        number(schema, self.of)
        return tuple(dict.fromkeys((*self.by, *self.where, self.of)))

    def forecast(self, schema: Schema) -> Forecast:
        self.reads(schema)
        upper = float(number(schema, self.of).upper)
        sizes = [float(self.reference) * 10.0**power for power in (-2, -1, 0, 1, 2)]
        errors = [self.error.typical(size) for size in sizes]
        listed = ", ".join(f"{error:,.3g} at {size:,.10g}" for error, size in zip(errors, sizes, strict=True))
        most = self.rho * Fraction(self.relation.policy(upper))
        sentences = (
            f"typical error of a sum, by its size: {listed}",
            f"each {self.unit} with the number v loses {self.relation.policy_in_words}",
            f"that is up to ρ = {upward(float(most))} where the schema allows numbers up to {upper:,.10g}",
        )
        by = f" by {' × '.join(self.by)}" if self.by else ""
        only = "".join(f", only {name} in {', '.join(levels)}" for name, levels in self.where.items())
        figures = {"typical_error_at_reference": errors[2], "most_rho": float(most)}
        cells = schema.domain_size(self.by) if self.by else 1
        return Forecast(f"Sums of {self.of}{by}{only}", cells, sentences, figures)

    def suits(self, data: Confidential) -> None:
        super().suits(data)
        if data.form == "linked":
            raise UsageError(
                f"sums of {self.of}: are read from one file with a row for each {self.unit}; join the tables"
            )

    def run(self, data: Confidential, entropy: Entropy) -> Measurements:
        self.reads(data.schema)
        kind = number(data.schema, self.of)
        found = totals(
            data, self.by, self.where, ("slow", self.of), lambda: ({self.of: steps(rows(data)[self.of], kind)}, {})
        )
        scaled = slow_steps(found.sums[:, 0], places(kind), self.relation)
        noisy = add_discrete_gaussian(scaled, self.variance, entropy, f"{self.scaling} of sums of {self.of}")
        facts = {"places": places(kind), "law": self.error.law.describe()}
        return Measurements(
            keys=found.keys,
            noisy={self.of: noisy},
            facts={"statistic": "sum", SLOW: facts},
            plan=self.describe(),
            guarantee=str(self.guarantee),
            rehearsal=entropy.rehearsal,
        )

    def restore(self, stored: bytes) -> Measurements:
        return Measurements.from_bytes(stored)
