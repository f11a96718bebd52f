"""Released draws of the parameters, and the synthetic samples that follow from them. Post-processing only."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
import pyarrow as pa

from tacita.data.schema import Schema
from tacita.errors import UsageError, VerificationError
from tacita.implicates import Implicates
from tacita.synthesis.comparison.pseudo.fbp import PopulationModel
from tacita.synthesis.comparison.pseudo.fbs import Parameters, SampleModel
from tacita.synthesis.comparison.pseudo.kernel import Floats, Integers
from tacita.synthesis.comparison.pseudo.reading import Layout
from tacita.synthesis.survey.columns import Frame, frame_of
from tacita.synthesis.survey.records import as_table, cells_of, smoothed

Weights = Literal["smoothed", "synthetic", "printed"]

_FORM = "pseudo-posterior-1"


@dataclass(frozen=True, eq=False)
class PseudoModel:
    """What the ledger keeps and a bundle publishes: one draw of the parameters for each file.

    The draws themselves are what the budget paid for. `implicates` are the files of the release; another file needs
    another draw, and another budget.
    """

    schema: Schema
    layout: Layout
    frame: Frame
    model: SampleModel | PopulationModel
    parameters: Parameters
    weights: Weights
    total: float | None
    seed: int
    plan: Mapping[str, Any]
    rehearsal: bool

    @property
    def sets(self) -> int:
        return len(next(iter(self.parameters.values())))

    @cached_property
    def implicates(self) -> Implicates:
        return self.sample(self.sets)

    def sample(self, m: int = 1, *, seed: int | None = None) -> Implicates:
        """The first m files; a seed draws other records from the same parameters."""
        if isinstance(m, bool) or not isinstance(m, int) or not 1 <= m <= self.sets:
            raise UsageError(
                f"m: {self.sets} draws of the parameters were released, one for each file, and each cost its share; "
                "ask for no more files, or plan the release with more sets"
            )
        randoms = np.random.default_rng(self.seed if seed is None else seed).spawn(self.sets)[:m]
        frames = tuple(self._file({k: v[s] for k, v in self.parameters.items()}, r) for s, r in enumerate(randoms))
        return Implicates(frames, self.schema, self.layout.synthesized, "partial")

    def _file(self, drawn: Parameters, random: np.random.Generator) -> pa.Table:
        cell = cells_of(self.frame)
        many = self.layout.combinations
        combination = np.zeros(cell.size, dtype=np.int64)
        if many > 1:
            reached = np.cumsum(drawn["shares"].reshape(-1, many), axis=1)[:, :-1]
            combination = (random.random(cell.size)[:, None] > reached[cell]).sum(axis=1)
        own = cell * many + combination
        if isinstance(self.model, PopulationModel):
            z = population_records(self.model, drawn, own, self.weights, random)
        else:
            z = sample_records(self.model, drawn, own, self.weights, random)
        if self.total is not None:
            z[:, -1] += np.log(self.total) - np.logaddexp.reduce(z[:, -1])
        table = as_table(z, self.frame, self.layout.columns, self.schema)
        for name, column in self.layout.category_columns(combination).items():
            table = table.append_column(name, column)
        return table

    # ------------------------------------------------------------ stored as plain JSON

    @property
    def measured(self) -> dict[str, Any]:
        """The released draws of the parameters, and the public design."""
        return {
            "parameters": {name: values.tolist() for name, values in self.parameters.items()},
            "effects": self.model.effects.tolist(),
            "design": {"levels": self.frame.levels.tolist(), "records": self.frame.counts.tolist()},
        }

    def to_bytes(self) -> bytes:
        stored = {"form": _FORM, "plan": dict(self.plan), "schema": self.schema.to_dict(), "seed": self.seed}
        stored |= {"rehearsal": self.rehearsal, **self.measured}
        return json.dumps(stored, sort_keys=True, separators=(",", ":")).encode()


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


def unpacked(stored: bytes) -> tuple[dict[str, Any], Schema, Parameters]:
    content = json.loads(stored)
    if content.get("form") != _FORM:
        raise VerificationError("a stored result is not one that Tacita wrote; restore the ledger from its backup")
    parameters = {name: np.array(values, dtype=np.float64) for name, values in content["parameters"].items()}
    return content, Schema.from_dict(content["schema"]), parameters


def stored_frame(content: Mapping[str, Any], by: int) -> Frame:
    counts = np.array(content["design"]["records"], dtype=np.int64)
    return frame_of(np.array(content["design"]["levels"], dtype=np.int64).reshape(len(counts), -1), counts, by)
