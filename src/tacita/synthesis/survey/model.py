"""Released sums and cross-products of a survey, and the synthetic samples that follow. Post-processing only."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import numpy as np
import pyarrow as pa
from attrs import frozen

from tacita.data.schema import Schema
from tacita.errors import VerificationError
from tacita.implicates import Implicates
from tacita.synthesis.base import Model
from tacita.synthesis.pinned.adjusting import Values
from tacita.synthesis.survey.columns import Columns, Floats, frame_from, frame_record
from tacita.synthesis.survey.holding import held
from tacita.synthesis.survey.measuring import STEPS, Budget, Measurement, Range
from tacita.synthesis.survey.posterior import Chain, Evidence
from tacita.synthesis.survey.records import as_table, cells_of, exact_records, smoothed
from tacita.synthesis.survey.totals import Totals

Weights = Literal["synthetic", "smoothed"]

_AVERAGED = 200  # states of the chain behind a single file


@frozen(eq=False)
class SurveyModel(Model[Measurement]):
    """Each file is a draw of what the confidential file may have been: as many records in each public cell as were
    collected, with sums and cross-products drawn given the noisy ones; a single one takes the middle of what the noise
    leaves open. Estimates from several files are combined by the rule for one measurement, which then covers the noise
    and the sampling error.
    """

    form = "survey-model-1"

    def files(self, m: int, random: np.random.Generator, rows: int | None) -> Implicates:
        chain_random, *randoms = random.spawn(m + 1)
        states = list(Chain(self.evidence, chain_random).draws(_AVERAGED if m == 1 else m))
        if m == 1:
            states = [(np.mean([one[0] for one in states], axis=0), np.mean([one[1] for one in states], axis=0))]
        frames = tuple(self._file(*state, one, noisy=m > 1) for state, one in zip(states, randoms, strict=True))
        return Implicates(frames, self.schema, (*self.plan.columns, self.plan.weight), "one-measurement")

    @property
    def evidence(self) -> Evidence:
        """What was released, as the chain takes it."""
        released = self.released
        budget = self.plan.budget(released.frame.records, released.located, with_totals=released.totals is not None)
        return evidence_of(released, budget, len(self.plan.by))

    def _file(self, sums: Floats, within: Floats, random: np.random.Generator, *, noisy: bool) -> pa.Table:
        released, frame = self.released, self.released.frame
        u = exact_records(frame, sums, within, released.shape, random)
        half = np.array([one.half for one in released.ranges])
        middle = np.array([one.middle for one in released.ranges])
        z = middle + half * u
        if self.plan.weights == "smoothed":
            means = middle + half * (sums / frame.sizes[:, None])[cells_of(frame)]
            z = smoothed(z, means, within * np.outer(half, half) / frame.records)
        columns: Columns = self.plan.layout(self.schema)
        if self.plan.population is not None and released.totals is None:
            z[:, -1] += np.log(self.plan.population / columns.measures[-1].back(z[:, -1]).sum())
        return as_table(self._held(columns.values(z), columns, random if noisy else None), frame, columns, self.schema)

    def _held(self, values: Floats, columns: Columns, random: np.random.Generator | None) -> Floats:
        """Values that add up as measured, in all and in each cell, where that was asked for."""
        if self.released.totals is None:
            return values
        totals = self.released.totals.for_population(self.plan.weight, self.plan.population)
        if not totals.whole:
            return values
        free = np.ones(len(values), dtype=np.bool_)
        numbers = {
            one.name: Values(values[:, at], free, float(one.kind.lower), float(one.kind.upper))
            for at, one in enumerate(columns.measures)
        }
        changed = held(self.plan.weight, numbers, cells_of(self.released.frame), totals, random)
        return np.column_stack([changed.get(name, one.values) for name, one in numbers.items()])

    @property
    def measured(self) -> dict[str, Any]:
        """The released numbers: sums in steps of a range, which is on the modelled scale."""
        released = self.released
        return {
            "ranges": [[one.low, one.high] for one in released.ranges],
            "steps": STEPS,
            "sums": released.sums.tolist(),
            "products": released.products.tolist(),
            "shape": released.shape.tolist(),
            **({} if released.located == len(released.ranges) else {"located": released.located}),
            **({} if released.totals is None else released.totals.record()),
            "design": frame_record(released.frame),
        }

    @classmethod
    def released_from(cls, content: Mapping[str, Any], table: pa.Table, plan: Any, schema: Schema) -> Measurement:
        if content["steps"] != STEPS:
            raise VerificationError("a stored result is not one that Tacita wrote; restore the ledger from its backup")
        return Measurement(
            frame_from(content["design"], len(plan.by)),
            tuple(Range(low, high) for low, high in content["ranges"]),
            np.array(content["sums"], dtype=np.int64),
            np.array(content["products"], dtype=np.int64),
            np.array(content["shape"], dtype=np.float64),
            content.get("located", len(content["ranges"])),
            Totals.of_record(content) if "totals" in content else None,
        )


def evidence_of(measured: Measurement, budget: Budget, by: int) -> Evidence:
    d = measured.sums.shape[1]
    factor = np.full((d, d), float(budget.product) ** (0.5 if budget.gaussian else 1.0))
    factor[np.diag_indices(d)] = float(budget.square)
    effects, owner = measured.frame.effects(by)
    spread = float(budget.spread) ** 0.5 if budget.gaussian else float(budget.spread)
    return Evidence(
        measured.frame.sizes.astype(np.float64),
        effects,
        owner,
        measured.sums / STEPS,
        measured.products / STEPS**2,
        spread,
        spread * factor,
        budget.gaussian,
    )
