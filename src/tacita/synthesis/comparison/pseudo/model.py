"""Released draws of the parameters, and the synthetic samples that follow from them. Post-processing only."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
import pyarrow as pa
from attrs import frozen

from tacita.data.schema import Schema
from tacita.implicates import Implicates
from tacita.synthesis.base import Model
from tacita.synthesis.comparison.pseudo.fbp import Parameters, PopulationModel, SampleModel
from tacita.synthesis.comparison.pseudo.kernel import Floats, Integers
from tacita.synthesis.survey.columns import Frame, frame_from, frame_record
from tacita.synthesis.survey.records import as_table, cells_of, smoothed

Weights = Literal["smoothed", "synthetic", "printed"]


@dataclass(frozen=True, eq=False)
class Draws:
    """One draw of the parameters for each file, which is what the budget paid for, and the public frame."""

    frame: Frame
    parameters: Parameters


@frozen(eq=False)
class PseudoModel(Model[Draws]):
    """One draw of the parameters for each file; another file needs another draw, and another budget. A seed draws other
    records from the same parameters."""

    form = "pseudo-posterior-1"

    @property
    def paid_files(self) -> int:
        return len(next(iter(self.released.parameters.values())))

    @cached_property
    def fitted(self) -> SampleModel | PopulationModel:
        """The model without its parameters."""
        model: SampleModel | PopulationModel = self.plan.fitted_model(
            self.plan.layout(self.schema), self.released.frame
        )
        return model

    def files(self, m: int, random: np.random.Generator, rows: int | None) -> Implicates:
        frames = tuple(
            self._file({name: values[at] for name, values in self.released.parameters.items()}, one)
            for at, one in enumerate(random.spawn(m))
        )
        return Implicates(frames, self.schema, self.plan.layout(self.schema).synthesized, "partial")

    def _file(self, drawn: Parameters, random: np.random.Generator) -> pa.Table:
        plan, frame, layout = self.plan, self.released.frame, self.plan.layout(self.schema)
        cell = cells_of(frame)
        many = layout.combinations
        combination = np.zeros(cell.size, dtype=np.int64)
        if many > 1:
            reached = np.cumsum(drawn["shares"].reshape(-1, many), axis=1)[:, :-1]
            combination = (random.random(cell.size)[:, None] > reached[cell]).sum(axis=1)
        own = cell * many + combination
        if isinstance(self.fitted, PopulationModel):
            z = population_records(self.fitted, drawn, own, plan.weights, random)
        else:
            z = sample_records(self.fitted, drawn, own, plan.weights, random)
        if plan.total is not None:
            z[:, -1] += np.log(plan.total) - np.logaddexp.reduce(z[:, -1])
        table = as_table(layout.columns.values(z), frame, layout.columns, self.schema)
        for name, column in layout.category_columns(combination).items():
            table = table.append_column(name, column)
        return table

    @property
    def measured(self) -> dict[str, Any]:
        """The released draws of the parameters, and the public design."""
        return {
            "parameters": {name: values.tolist() for name, values in self.released.parameters.items()},
            "effects": self.fitted.effects.tolist(),
            "design": frame_record(self.released.frame),
        }

    @classmethod
    def released_from(cls, content: Mapping[str, Any], table: pa.Table, plan: Any, schema: Schema) -> Draws:
        parameters = {name: np.array(values, dtype=np.float64) for name, values in content["parameters"].items()}
        return Draws(frame_from(content["design"], len(plan.by)), parameters)


def sample_records(
    model: SampleModel, drawn: Parameters, cell: Integers, weights: Weights, random: np.random.Generator
) -> Floats:
    """Records of the sample: outcomes and weight drawn together, or the weight as its mean given the outcomes."""
    means = (model.effects @ drawn["coefficients"])[cell]
    z = means + random.standard_normal(means.shape) @ np.linalg.cholesky(drawn["covariance"]).T
    return z if weights == "synthetic" else smoothed(z, means, drawn["covariance"])


def population_records(
    model: PopulationModel, drawn: Parameters, cell: Integers, weights: Weights, random: np.random.Generator
) -> Floats:
    """Outcomes as in the population, given the public cell, with weights that make up for the cells only.

    The outcomes are corrected already. A weight that falls with the outcome would correct them a second time as soon
    as it enters a mean, so by default all records of a cell share the weight unit/E(π). "printed" uses only κ_y·y of
    the mean of log π, and "synthetic" draws π: both as section 2.3 reads, brought to the same total.
    """
    mean = (model.effects @ drawn["beta"])[cell]
    y = mean + drawn["sigma_y"] * random.standard_normal(cell.size)
    log_weight = model.log_cell_weights(drawn)[cell]
    if weights != "smoothed":
        free = -drawn["kappa_y"] * y
        if weights == "synthetic":
            noise = drawn["sigma_pi"] * random.standard_normal(cell.size)
            free = free - (model.effects @ drawn["kappa_x"])[cell] - noise
        log_weight = free + np.logaddexp.reduce(log_weight) - np.logaddexp.reduce(free)
    return np.column_stack([y, log_weight])
