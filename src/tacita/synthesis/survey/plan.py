"""`SurveySynthesis`: weighted survey microdata from noisy sums and cross-products."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from math import ceil
from typing import Any, ClassVar

import numpy as np
from attrs import field, frozen
from attrs.validators import optional

from tacita.data.confidential import Confidential
from tacita.data.schema import Schema
from tacita.errors import UsageError
from tacita.noise.concentrated import rho_for
from tacita.noise.entropy import Entropy
from tacita.plan import ONE_ROW, Forecast, form_of, seed_from
from tacita.plan.fields import as_delta, one_of, whole
from tacita.plan.how import FREE, How, as_collected
from tacita.privacy import Loss
from tacita.synthesis.base import Model
from tacita.synthesis.file.budget import Budget as TableBudget
from tacita.synthesis.survey.base import SurveyPlan
from tacita.synthesis.survey.columns import Columns, Frame, Transform, columns_of, gathered_by, read_frame
from tacita.synthesis.survey.distribution import (
    Distribution,
    DistributionModel,
    Law,
    records_needed,
    table_noise,
    total_noise,
)
from tacita.synthesis.survey.distribution import measure as measure_distribution
from tacita.synthesis.survey.measuring import TOTALS, Budget, Measurement, located_of, measure, middles_of, ranges_known
from tacita.synthesis.survey.model import SurveyModel, Weights, evidence_of
from tacita.synthesis.survey.posterior import Chain
from tacita.synthesis.survey.shape import measure_shape
from tacita.synthesis.survey.totals import SEEN, measure_totals, worth_totals

_USUAL = 100  # records of a cell, for the forecast
_SHOWS = 400  # records of a cell: the mean of amounts that vary as much as they are large errs by a twentieth by chance


@frozen(kw_only=True)
class SurveySynthesis(SurveyPlan[Model[Any]]):
    """Synthetic survey samples: outcomes and weights drawn anew, public design variables as collected.

    Noise goes to the sums of logarithms in each cell of `by` and to their cross-products over the file, once, whatever
    the number of files. `keep` names further public columns, such as primary sampling units, that go along. With
    `delta` the noise is Gaussian. `weights = "smoothed"` publishes each weight's mean given the outcomes.

    Where an outcome may be 0 or negative, as wealth and debt are, no law is assumed (`law = "any"`): noise goes to
    tables of cells and numbers, and to weighted totals, of all records and of each cell, which the files are held to.

    `population` is the number that all weights add up to, where it is public.

    >>> plan = SurveySynthesis(["salary"], "3.6", weight="w", by=["field", "gender"])
    >>> print(plan.guarantee)
    ε = 3.6 under one record replaced
    """

    model = SurveyModel
    later: ClassVar[Mapping[str, Any]] = {"law": None, "population": None}
    proof = "synthesis/survey/survey.md"
    concentrated = True
    brings = "values"

    delta: Fraction = field(default=Fraction(0), converter=as_delta)
    weights: Weights = field(default="synthetic", validator=one_of(Weights))
    law: Law | None = field(default=None, validator=optional(one_of(Law)))
    population: int | None = field(default=None, validator=optional(whole(1, 10**12)))

    def __attrs_post_init__(self) -> None:
        if self.delta:
            rho_for(self.epsilon, self.delta)  # raises where δ is none
        if self.law == "any" and (self.transforms or self.weights == "smoothed"):
            raise UsageError('law: "any" has no scale and no mean of weights; leave transforms and weights out')

    def normal(self, schema: Schema) -> bool:
        """Whether numbers are taken for normal on their scales: not where one may be 0 or negative, unless law says so.

        A normal law knows no zeros, and a wide range of negative and positive values is nowhere near it.
        """
        positive = all(getattr(schema[name].kind, "lower", 0) > 0 for name in self.columns)
        return self.law == "normal" or (self.law is None and (positive or self.weights == "smoothed"))

    @property
    def loss(self) -> Loss:
        return Loss(self.epsilon, delta=self.delta)

    @property
    def assumes(self) -> Sequence[str]:
        public = [f"{', '.join(self.design)} of every record are public: a replaced record keeps them"]
        known = [f"the population of {self.population:,} is public"] if self.population else []
        return (ONE_ROW, *(public if self.design else ()), *known)

    @property
    def how(self) -> How:
        return How(
            "Sums of the answers and weights in each cell of the design, with their squares and products over the "
            "file, or, where an answer may be 0 or negative, counts of answers and weights and the totals of weighted "
            "answers, were measured with random noise; the ranges they were held to, and the shape of their "
            "distribution, were drawn at random near the file's own. "
            "The files are drawn from these measurements alone.",
            as_collected(self.design),
            FREE,
        )

    # ------------------------------------------------------------ what it will do

    @property
    def _total(self) -> Fraction:
        """ε, or ρ of zero-concentrated privacy."""
        return rho_for(self.epsilon, self.delta) if self.delta else self.epsilon

    def budget(self, records: int, located: int | None = None, *, with_totals: bool = False) -> Budget:
        """Of sums, squares and products, for a normal law; `located` numbers have their range drawn."""
        left, d = self._total * (1 - TOTALS if with_totals else 1), len(self.columns) + 1
        return (Budget.concentrated if self.delta else Budget.pure)(left, d, records, located)

    def _known(self, columns: Columns, records: int) -> list[bool]:
        return ranges_known(columns.measures, self._total, records, gaussian=bool(self.delta))

    @property
    def _of_any(self) -> TableBudget:
        """The budget where no law is assumed."""
        return TableBudget(self._total, not self.delta, replace=True)

    @property
    def _totals_from(self) -> int:
        """With so many records weighted totals are known better than a law has them."""
        return round(SEEN * worth_totals(self._of_any, self._total * TOTALS, len(self.columns) + 1))

    def _with_totals(self, frame: Frame) -> bool:
        """Whether weighted totals are measured under a normal law: in small cells chance hides what it has wrong."""
        enough = max(self._totals_from, _SHOWS * frame.cells)
        return self.weights == "synthetic" and frame.records >= enough

    def layout(self, schema: Schema) -> Columns:
        plain: dict[str, Transform] = dict.fromkeys(self.columns, "identity")
        scales = self.transforms if self.normal(schema) else plain
        return columns_of(schema, self.columns, self.weight, self.by, self.keep, scales)

    def reads(self, schema: Schema) -> tuple[str, ...]:
        return self.layout(schema).names

    def forecast(self, schema: Schema) -> Forecast:
        numbers = len(self.layout(schema).measures)
        if not self.normal(schema):
            return self._forecast_of_any(numbers)
        cells = schema.domain_size(self.by)
        # A released range spans about 3.4 standard deviations to either side.
        located = located_of(self._known(self.layout(schema), _USUAL * cells))
        deviation = 3.4 * self.budget(_USUAL * cells, located).deviation()
        error, sampling, least = deviation / _USUAL, _USUAL**-0.5, ceil(deviation**2)
        return Forecast(
            self.product,
            cells * numbers + numbers * (numbers + 1) // 2,
            (
                f"in a cell of {_USUAL} records the noise moves the mean of a logarithm by about {error:.2g} standard "
                f"deviations, the sampling itself by {sampling:.2g}; in smaller cells by more, in inverse proportion",
                f"cells of fewer than about {least:,} records lean on the others, as noise moves their means by more "
                "than sampling does: where most are smaller, margins may be too narrow; raise epsilon, name fewer "
                "design variables in by, or publish tables",
                *self._of_the_law(),
                f"{self.sets} files for one price; intervals from them cover the noise and the sampling error",
            ),
            {"noise in a cell of 100, standard deviations": error, "cells that stand alone, records": float(least)},
        )

    def _of_the_law(self) -> tuple[str, ...]:
        """When what a normal law has wrong shows, and is made good."""
        if self.weights == "smoothed":
            return ()
        return (
            f"from {self._totals_from:,} records on, and {_SHOWS} for each cell, weighted totals are measured as well, "
            "files are held to them, and margins know what the law has wrong; with fewer, counts and means may be off "
            "by a tenth or more where answers or weights are not normal on their scales, unseen by margins; publish "
            'tables then, or, where the population is public, name it; law = "any" assumes no law',
        )

    def _forecast_of_any(self, numbers: int) -> Forecast:
        """What is public of tables and totals: noise in records, and in the largest of what records add."""
        largest = total_noise(self._of_any, numbers)
        tables = numbers * (numbers + 3) // 2
        moved = table_noise(self._of_any, tables)
        words = [
            f"weighted totals are measured directly, each off by about {largest:.2g} times the largest that a record "
            f"adds: by {largest / 10:.2g}% if that is a thousandth of the total",
            f"{tables} tables of cells and numbers have noise of about {moved:.2g} records in each count; means in "
            "small cells lean on all records, and are the less sure the heavier the tails",
            f"means and their margins need about {records_needed(self._of_any, numbers):,} records; with fewer, what "
            "the largest of them add is not seen: means may be off by half or more, and margins are too narrow; ask "
            "for fewer columns, or for tables",
            f"{self.sets} files for one price",
        ]
        if self.transforms:
            words.append('transforms are not used, as a number may be 0 or negative; they belong to law = "normal"')
        figures = {"noise of a total, largest contributions": largest, "noise of a count, records": moved}
        return Forecast(self.product, tables + numbers, tuple(words), figures)

    # ------------------------------------------------------------ acting

    def suits(self, data: Confidential) -> None:
        columns = self.layout(data.schema)
        frame = read_frame(data, columns)
        weight = columns.measures[-1].kind
        if self.population and not weight.lower <= self.population / frame.records <= weight.upper:
            raise UsageError(
                f"population: {frame.records:,} records whose weights keep within the bounds of {self.weight} do not "
                f"add up to {self.population:,}; correct it, or variables.{self.weight}"
            )
        if not self.normal(data.schema):
            return
        located = located_of(self._known(columns, frame.records))
        self.budget(frame.records, located, with_totals=self._with_totals(frame)).refuse_too_loud(located)
        if frame.records - frame.cells <= len(self.columns) + 1:
            raise UsageError(
                "by: the sample has too few records for its cells, so that no spread within cells can be told; give "
                "fewer design variables in by and name the others in keep"
            )

    def measure(self, data: Confidential, entropy: Entropy) -> Measurement | Distribution:
        columns = self.layout(data.schema)
        if not self.normal(data.schema):
            return self._distribution(data, columns, entropy)
        gathered, frame = gathered_by(data, columns)
        totalled, measures = self._with_totals(frame), columns.measures
        known = self._known(columns, frame.records)
        budget = self.budget(frame.records, located_of(known), with_totals=totalled)
        measured = measure(gathered, frame, measures, known, budget, entropy)
        if budget.shape:
            means = Chain(evidence_of(measured, budget, len(self.by)), np.random.default_rng(0)).centres()
            measured = replace(measured, shape=measure_shape(gathered, measures, measured, means, budget, entropy))
        if not totalled:
            return measured
        centres = middles_of(measures[:-1], measured.ranges[:-1], frame.records, budget)
        totals = measure_totals(gathered, frame, columns, self._of_any, self._total * TOTALS, centres, entropy)
        return replace(measured, totals=totals)

    def run(self, data: Confidential, entropy: Entropy) -> Model[Any]:
        released = self.measure(data, entropy)
        model = DistributionModel if isinstance(released, Distribution) else SurveyModel
        return model(self, data.schema, released, seed_from(entropy), entropy.rehearsal)  # type: ignore[arg-type]

    def restore(self, stored: bytes) -> Model[Any]:
        model = DistributionModel if form_of(stored) == DistributionModel.form else SurveyModel
        return model.from_bytes(self, stored)

    def _distribution(self, data: Confidential, columns: Columns, entropy: Entropy) -> Distribution:
        gathered, frame = gathered_by(data, columns)
        return measure_distribution(gathered, frame, columns, self._of_any, entropy)
