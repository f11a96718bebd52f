"""Laplace noise on survey tables: the comparison of hu2024, section 2.4, and a version that keeps its promise.

`calibration="paper"` adds noise to every cell and margin, scaled to sensitivities that are read off the confidential
rows (equations 8 and 9): it has no guarantee. `calibration="proved"`, the default, adds exact discrete Laplace noise to
the weighted sums of each interior cell, scaled to public bounds. Proof: laplace.md.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from math import ceil, log2
from typing import Any, ClassVar, Literal

import numpy as np
from attrs import field, frozen
from numpy.typing import NDArray

from tacita.data import rowwise
from tacita.data.confidential import Confidential
from tacita.data.schema import Schema
from tacita.errors import UsageError
from tacita.mechanisms.survey.measured import NoisySums, SurveyCells
from tacita.mechanisms.survey.paper import paper_estimates
from tacita.mechanisms.survey.sample import SurveyRows, bounds, public_design, read
from tacita.noise.discrete import DiscreteLaplace, add_discrete_laplace
from tacita.noise.entropy import Entropy, Request
from tacita.plan import Forecast, Plan
from tacita.plan.fields import (
    RECORD,
    OneUnit,
    as_epsilon,
    as_names,
    as_relation,
    each_once,
    one_of,
    replaced,
    whole,
)
from tacita.privacy import Guarantee, Loss, Number, ReplaceOne, exact

Calibration = Literal["proved", "paper"]
Integers = NDArray[np.int64]

_STEPS = 22  # a record's sum is rounded to 2^-22 of its range, far below any noise
_PUBLIC = "design variables are public, and with them the number of records of each cell; a record keeps its cell"
_BOUNDS = "bounds of weights and answers are public"
_LOCAL = "no guarantee: sensitivities are those of the confidential rows themselves, and differ between neighbours"


def _as_share(given: Number) -> Fraction:
    return exact(given, "variance_share")


def _as_replaced(given: str | ReplaceOne | Mapping[str, Any]) -> OneUnit:
    return ReplaceOne(given) if isinstance(given, str) else as_relation(given)  # once the unit was given as a word


@frozen
class SurveyLaplace(Plan[SurveyCells]):
    """Noisy counts and means by a crossing of public design variables, with margins and noisy variances.

    `means` names the answers. `variance_share` of ε goes to R half-sample replicates (Preston 2009), from which the
    variances are estimated; the rest to the estimates. Each part is divided evenly among counts and means.

    >>> print(SurveyLaplace(["field", "gender"], "10.8", means=["salary"]).guarantee)
    ε = 10.8 under one record replaced
    >>> print(SurveyLaplace(["field", "gender"], "10.8", means=["salary"], calibration="paper").guarantee)
    no guarantee
    """

    former: ClassVar[Mapping[str, str]] = {"unit": "neighbours"}
    proof = "mechanisms/survey/laplace.md"

    by: tuple[str, ...] = field(converter=as_names, validator=each_once)
    epsilon: Fraction = field(converter=as_epsilon)
    means: tuple[str, ...] = field(default=(), converter=as_names, validator=each_once, kw_only=True)
    calibration: Calibration = field(default="proved", validator=one_of(Calibration), kw_only=True)
    replicates: int = field(default=10, validator=whole(2, 1000), kw_only=True)
    variance_share: Fraction = field(default=Fraction(1, 2), converter=_as_share, kw_only=True)
    neighbours: OneUnit = field(default=RECORD, converter=_as_replaced, validator=replaced, kw_only=True)

    def __attrs_post_init__(self) -> None:
        if not 0 < self.variance_share < 1:
            raise UsageError('variance_share: must lie strictly between 0 and 1, such as "0.5"')

    @property
    def guarantee(self) -> Guarantee:
        if self.calibration == "paper":
            return Guarantee(self.neighbours, Loss(self.epsilon), holds="never", assumes=(_LOCAL, _PUBLIC))
        one_record = f"each {self.neighbours.unit} has one record in the file"
        return Guarantee(self.neighbours, Loss(self.epsilon), assumes=(_PUBLIC, _BOUNDS, one_record))

    def former_descriptions(self) -> tuple[dict[str, Any], ...]:
        (record,) = super().former_descriptions()
        return (record | {"unit": self.neighbours.unit},)

    def reads(self, schema: Schema) -> tuple[str, ...]:
        design = public_design(schema, self.by, self.means)
        return tuple(dict.fromkeys((*self.by, *self.means, *design.columns)))

    def relies_on(self, schema: Schema) -> dict[str, Any]:
        return {} if schema.design is None else {"design": schema.design.to_dict()}

    @property
    def statistics(self) -> int:
        """Counts, and a mean of each answer."""
        return 1 + len(self.means)

    def forecast(self, schema: Schema) -> Forecast:
        self.reads(schema)
        cells = schema.domain_size(self.by)
        product = "Survey table by " + " × ".join(self.by or ("nothing",))
        if self.calibration == "paper":
            return Forecast(product, cells, ("its noise depends on the confidential rows and cannot be foretold",), {})
        grid = self._grids(schema)[0]
        law = DiscreteLaplace(self._point_scale(grid.range))
        off, margin = law.mean_abs() * grid.unit, law.margin(0.9) * grid.unit
        return Forecast(
            product,
            cells,
            (
                f"the noise moves the count of each cell by about {off:.4g} units of the population",
                f"nine in ten counts are moved by at most {margin:.4g}",
            ),
            {"count: typical noise": off, "count: margin_90": margin},
        )

    # ------------------------------------------------------------ measuring

    def run(self, data: Confidential, entropy: Entropy) -> SurveyCells:
        sample = read(data, self.by, self.means)
        # Which half-samples are drawn says nothing about anybody: they follow from public columns and this word alone.
        entropy.announce(Request("half-samples", "uniform words", np.zeros(0), np.zeros(0)))
        factors = sample.half_samples(self.replicates, np.random.default_rng(int(entropy.words(1)[0])))
        schema = data.schema
        levels = tuple(schema.levels(name) for name in self.by)
        shape = tuple(len(one) for one in levels)
        if self.calibration == "paper":
            point = self.epsilon * (1 - self.variance_share) / (2 ** len(self.by) * self.statistics)
            spread = self.epsilon * self.variance_share / (2 ** len(self.by) * self.statistics * self.replicates)
            value, variance = paper_estimates(sample, factors, shape, point, spread, entropy)
            measured: dict[str, Any] = {}
        else:
            sums = self._noisy_sums(sample, factors, schema, entropy)
            value, variance = sums.estimates(shape)
            measured = _as_json(sums)
        return SurveyCells(
            self.by,
            levels,
            self.means,
            value,
            variance,
            self.replicates,
            measured,
            self.describe(),
            str(self.guarantee),
            entropy.rehearsal,
        )

    def restore(self, stored: bytes) -> SurveyCells:
        return SurveyCells.from_bytes(stored)

    def _noisy_sums(
        self, sample: SurveyRows, factors: NDArray[np.float64], schema: Schema, entropy: Entropy
    ) -> NoisySums:
        cells = schema.domain_size(self.by)
        grids = self._grids(schema)
        products = [sample.weight, *(sample.weight * sample.answers[name] for name in self.means)]
        point = np.empty((self.statistics, cells), dtype=np.int64)
        replicated = np.empty((self.statistics, self.replicates, cells), dtype=np.int64)
        scales: list[tuple[Fraction, Fraction]] = []
        for at, (grid, values, name) in enumerate(zip(grids, products, ("weights", *self.means), strict=True)):
            sums = rowwise.sums(sample.cell, grid.steps(values), cells)
            one = self._point_scale(grid.range)
            point[at] = add_discrete_laplace(sums, one, entropy, f"sums of {name} by cell")
            again = np.array([rowwise.sums(sample.cell, grid.steps(values, each), cells) for each in factors.T])
            two = self._replicated_scale(grid.reach(factors))
            replicated[at] = add_discrete_laplace(again, two, entropy, f"half-sample sums of {name} by cell")
            scales.append((one, two))
        return NoisySums(
            point,
            replicated,
            tuple(grid.unit for grid in grids),
            tuple(one for one, _ in scales),
            tuple(two for _, two in scales),
            np.bincount(sample.cell, minlength=cells).astype(np.int64),
            tuple(bounds(schema, name) for name in (_weight(schema), *self.means)),
        )

    def _grids(self, schema: Schema) -> list[_Grid]:
        weights = bounds(schema, _weight(schema))
        corners = [[w * y for w in weights for y in bounds(schema, name)] for name in self.means]
        return [_Grid(*weights), *(_Grid(min(one), max(one)) for one in corners)]

    def _point_scale(self, reach: int) -> Fraction:
        return reach * self.statistics / (self.epsilon * (1 - self.variance_share))

    def _replicated_scale(self, reach: int) -> Fraction:
        return reach * self.statistics / (self.epsilon * self.variance_share)


class _Grid:
    """Whole steps for values between two public bounds: a power of two wide, and at most 2^22 from zero."""

    def __init__(self, low: float, high: float) -> None:
        self.low, self.high = low, high
        self.unit = 2.0 ** (ceil(log2(max(high - low, abs(high), abs(low)) or 1.0)) - _STEPS)

    @property
    def range(self) -> int:
        """How far one record can move a sum."""
        return max(int(self.steps(np.array([self.high]))[0] - self.steps(np.array([self.low]))[0]), 1)

    def steps(self, values: NDArray[np.float64], factor: Any = 1.0) -> Integers:
        """Values times a factor in whole steps. Each operation is monotone in the value, also as it is rounded."""
        held = np.clip(values, self.low, self.high)
        return np.asarray(np.rint(held * (factor / self.unit)).astype(np.int64))

    def reach(self, factors: NDArray[np.float64]) -> int:
        """How far one record can move its sums in all replicates together: the largest over the records."""
        reach = np.zeros(factors.shape[0], dtype=np.int64)
        for each in factors.T:
            low, high = (self.steps(np.full(each.shape, end), each) for end in (self.low, self.high))
            reach += high - low
        return max(int(reach.max()), 1)


def _weight(schema: Schema) -> str:
    assert schema.design is not None
    return schema.design.weight


def _as_json(sums: NoisySums) -> dict[str, Any]:
    return {
        "point": sums.point.tolist(),
        "replicated": sums.replicated.tolist(),
        "unit": list(sums.unit),
        "point_noise": [DiscreteLaplace(one).describe() for one in sums.point_scale],
        "replicated_noise": [DiscreteLaplace(one).describe() for one in sums.replicated_scale],
        "size": sums.size.tolist(),
    }
