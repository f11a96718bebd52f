"""What all plans of magnitudes share: the promise, what they read, the paid-for sizes, and the words about them."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import ClassVar, Protocol

import numpy as np
from attrs import Factory, field, frozen
from numpy.typing import NDArray

from tacita.data.confidential import Confidential
from tacita.data.grid import check_grid
from tacita.data.schema import Schema
from tacita.errors import UsageError
from tacita.measured import Measurements, refuse_own_names
from tacita.mechanisms.eree.calibration import check_parameters, log_laplace_scale
from tacita.mechanisms.magnitude.error import Column, MagnitudeError
from tacita.mechanisms.magnitude.reading import Totals, check_attributes, check_levels
from tacita.noise.entropy import Entropy
from tacita.noise.error import UnitLaw, margin_of
from tacita.noise.rounding import noisy_log
from tacita.plan import ONE_ROW, Contribution, Forecast, Plan
from tacita.plan.fields import (
    Named,
    as_epsilon,
    as_margin_share,
    as_names,
    as_where,
    at_least_one,
    each_once,
    part_of_budget,
    short_alpha,
)
from tacita.plan.how import How
from tacita.privacy import Guarantee, Loss, Number, NumbersWithin, text

LARGEST = "largest_"  # and a number: the paid-for sizes among what was measured
PUBLIC_LIST = "which units are in the file, their categories, and which of their numbers are missing, are public"
# Scales are ratios of 64-bit integers, and α's numerator is a factor of them.
_MOST_SCALE = 1 << 60
# A size blurred by e^(2η/3) is known well enough for a margin; a finer one takes more from the sums than it gives.
_BLUR = Fraction(2, 3)
_MOST_SHARE = Fraction(1, 4)
_SIZE_DIGITS = 9  # of the largest size that the schema allows: what the paid-for size is rounded to


class NoiseLaw(UnitLaw, Protocol):
    """The noise of one sum in units of its scale, and how large it is."""

    def mean_abs(self) -> float: ...


def _as_alpha(given: Number) -> Fraction:
    return NumbersWithin("unit", given).alpha


def _as_columns(given: str | Sequence[str]) -> tuple[str, ...]:
    return (given,) if isinstance(given, str) else as_names(given)


def _enough(plan: MagnitudePlan) -> Fraction:
    """The share of ε with which sizes are known to about a factor e^(2/3), in hundredths; at most a quarter."""
    needed = plan.sizes * math.log1p(float(plan.alpha)) / float(_BLUR * plan.epsilon)
    return min(_MOST_SHARE, Fraction(math.ceil(100 * needed), 100))


def of_two_years(of: Sequence[str]) -> None:
    if len(of) != 2:
        raise UsageError('of: name two columns, the earlier year first, such as ["jobs2023", "jobs2024"]')


@frozen(kw_only=True)
class MagnitudePlan(Plan[Measurements]):
    """Sums by cell when one unit's numbers may all change by a factor 1 + α, each in its own direction."""

    brings = "counts"

    alpha: Fraction = field(converter=_as_alpha, validator=short_alpha, kw_only=False)
    epsilon: Fraction = field(converter=as_epsilon, kw_only=False)
    of: tuple[str, ...] = field(converter=_as_columns, validator=at_least_one)
    by: tuple[str, ...] = field(default=(), converter=as_names, validator=each_once)
    where: Named[tuple[str, ...]] = field(default=Named(), converter=as_where)
    unit: str = "establishment"
    margin_share: Fraction = field(
        default=Factory(_enough, takes_self=True), converter=as_margin_share, validator=part_of_budget
    )

    def __attrs_post_init__(self) -> None:
        check_parameters(self.alpha, epsilon=self.epsilon)
        NumbersWithin(self.unit, self.alpha)

    # what a concrete plan says of itself

    measures: ClassVar[str]
    """The statistic, as a specification calls it."""

    @property
    @abstractmethod
    def sizes(self) -> int:
        """How many sizes set the noise of a cell; each is measured for the margins."""

    @abstractmethod
    def law(self) -> NoiseLaw:
        """The law of the noise on one sum, in units of its scale."""

    @abstractmethod
    def domains(self, schema: Schema) -> dict[str, tuple[int, int]]:
        """Of each sum: its decimal places, and the largest size in steps that sets its noise."""

    @abstractmethod
    def columns(self, domains: Mapping[str, tuple[int, int]]) -> tuple[Column, ...]:
        """The sums as they are published."""

    @abstractmethod
    def ask(self, data: Confidential) -> Totals:
        """The exact answer."""

    @abstractmethod
    def noisy(self, exact_sums: Totals, entropy: Entropy) -> NDArray[np.int64]: ...

    @property
    def _size(self) -> str:
        """What the noise follows, in words."""
        return f"the largest {self.unit}"

    @property
    @abstractmethod
    def product(self) -> str:
        """What is published, in words."""

    # what they all do alike

    @property
    def guarantee(self) -> Guarantee:
        return Guarantee(NumbersWithin(self.unit, self.alpha), Loss(self.epsilon), assumes=(PUBLIC_LIST, ONE_ROW))

    @property
    def how(self) -> How:
        return How(
            f"The numbers of each {self.unit} were added up in each cell, and random noise was added to each sum: the "
            f"more, the larger the cell's largest {self.unit} is.",
            f"The table has the cells in which the file has any {self.unit}, and so shows where there are some: who is "
            "in the file is taken as public.",
        )

    def contribution(self, schema: Schema) -> Contribution:
        return Contribution(self.unit)

    @property
    def floor(self) -> Fraction:
        """The least scale in steps: a number of a few steps may change by a whole one."""
        return 1 + self.alpha

    @property
    def budget(self) -> Fraction:
        """What is left for the sums once margins are paid for."""
        return self.epsilon * (1 - self.margin_share)

    @property
    def feasible(self) -> bool:
        """Whether the noise exists at these parameters."""
        try:
            self.law()
        except UsageError:
            return False
        return True

    @property
    def blur(self) -> Fraction | None:
        """Scale of the noise on the logarithm of a paid-for size."""
        if not self.margin_share:
            return None
        return log_laplace_scale(self.alpha, self.epsilon * self.margin_share / self.sizes)

    def error(self, most: int) -> MagnitudeError:
        """The law of the error of a sum that holds the unit which sets its noise."""
        return MagnitudeError(self.law(), self.alpha, self.floor, most, self.blur, self._grid(most))

    @staticmethod
    def _grid(most: int) -> int:
        return int(10 ** max(0, len(str(most)) - _SIZE_DIGITS))

    def scales(self, largest: NDArray[np.int64]) -> tuple[NDArray[np.int64], int]:
        """max(α·x, 1 + α) as exact whole numbers over one denominator."""
        above, below = self.alpha.numerator, self.alpha.denominator
        return np.maximum(largest * above, above + below), below

    def measure_sizes(self, exact_sums: Totals, most: tuple[int, ...], entropy: Entropy) -> NDArray[np.int64] | None:
        """The paid-for size of the largest unit, at least 1/α + 1 steps, by each measure of size."""
        if self.blur is None:
            return None
        least = int(-(-1 // self.alpha)) + 1
        measured = np.zeros_like(exact_sums.largest)
        for at, bound in enumerate(most):
            grid = self._grid(bound)
            above = np.maximum(exact_sums.largest[:, at], least) - 1
            label = f"largest {self.unit} by size {at}, {self.product}"
            steps = noisy_log(above, Fraction(1), self.blur, Fraction(1), entropy, label, grid=Fraction(grid))
            measured[:, at] = np.minimum(steps, _MOST_SCALE // grid) * grid + 1
        return measured

    def reads(self, schema: Schema) -> tuple[str, ...]:
        check_attributes(schema, self.by)
        check_levels(schema, self.where)
        refuse_own_names(self.by)
        if taken := [name for name in self.of if name.removeprefix(LARGEST).isdigit() and name.startswith(LARGEST)]:
            raise UsageError(f"of: {taken[0]} is what a size of the largest {self.unit} is called; rename the variable")
        for name, (_, most) in self.domains(schema).items():
            if most * self.alpha.numerator > _MOST_SCALE:
                raise UsageError(
                    f"alpha: {text(self.alpha)} has too many digits for exact noise on {name}; write fewer, lower the "
                    "upper bound, or keep fewer decimal places"
                )
        return tuple(dict.fromkeys((*self.by, *self.where, *self.of)))

    def forecast(self, schema: Schema) -> Forecast:
        self.reads(schema)
        law = self.law()
        columns = self.columns(self.domains(schema))
        share = float(self.alpha) * law.mean_abs()
        middle, sure = (float(self.alpha) * margin_of(law, one) for one in (0.5, 0.95))
        margins = "that is not paid for, so margins are as wide as if it were as large as the sum or the schema allows"
        if self.blur is not None:
            margins = f"margins are about {float(self.alpha) * margin_of(law, 0.96, self.blur):.3g} times it, or less"
        sentences = (
            f"typical error {share:.3g} times {self._size} of a cell; half of the errors are below {middle:.3g} times "
            f"it, 19 in 20 below {sure:.3g} times it",
            *(self._in_units(one, share) for one in {one.size: one for one in reversed(columns)}.values()),
            f"how large it is stays secret; {margins}",
        )
        rows = schema.domain_size(self.by) if self.by else 1
        by = f" by {' × '.join(self.by)}" if self.by else ""
        figures = {"typical_error_of_largest": share, "margin_95_of_largest": sure}
        only = "".join(f", only {name} in {', '.join(levels)}" for name, levels in self.where.items())
        return Forecast(f"{self.product}{by}{only}", rows * len(columns), sentences, figures)

    def _in_units(self, column: Column, share: float) -> str:
        """The typical error in the column's own units, for sizes far below the largest that the schema allows."""
        most = column.error.most / 10**column.places
        sizes = [10.0 ** (math.floor(math.log10(max(most, 1))) - below) for below in (3, 2, 1)]
        errors = [float(f"{share * size:.3g}") for size in sizes]
        listed = ", ".join(f"{error:,.10g} at {size:,.10g}" for error, size in zip(errors, sizes, strict=True))
        return f"that is, of {column.name}, by this size: {listed}"

    def suits(self, data: Confidential) -> None:
        super().suits(data)
        if data.form == "linked":
            raise UsageError(f"{self.product}: sums read one file with a row for each {self.unit}; join the tables")
        self.law()
        data.check_once(f"{self.of} on their grid", lambda: check_grid(data, self.of, data.schema))

    def run(self, data: Confidential, entropy: Entropy) -> Measurements:
        self.reads(data.schema)
        columns = self.columns(self.domains(data.schema))
        exact_sums = self.ask(data)
        values = self.noisy(exact_sums, entropy)
        noisy = {one.name: values[:, at] for at, one in enumerate(columns)}
        most = tuple({one.size: one.error.most for one in columns}.values())
        sizes = self.measure_sizes(exact_sums, most, entropy)
        if sizes is not None:
            noisy |= {f"{LARGEST}{at}": sizes[:, at] for at in range(self.sizes)}
        facts = {
            one.name: {"places": one.places, "most": one.error.most, "law": one.error.describe()} for one in columns
        }
        return Measurements(
            keys=exact_sums.keys,
            noisy=noisy,
            facts={"statistic": self.measures, "magnitudes": facts},
            plan=self.describe(),
            guarantee=str(self.guarantee),
            rehearsal=entropy.rehearsal,
        )

    def restore(self, stored: bytes) -> Measurements:
        return Measurements.from_bytes(stored)
