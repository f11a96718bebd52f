"""Released sums and cross-products of a survey, and the synthetic samples that follow. Post-processing only."""

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
from tacita.synthesis.survey.columns import Columns, Floats, Frame, frame_of
from tacita.synthesis.survey.measuring import STEPS, Budget, Measurement, Range
from tacita.synthesis.survey.posterior import Chain, Evidence
from tacita.synthesis.survey.records import as_table, cells_of, exact_records, smoothed

Weights = Literal["synthetic", "smoothed"]

_FORM = "survey-model-1"
_AVERAGED = 200  # states of the chain behind a single file


@dataclass(frozen=True, eq=False)
class SurveyModel:
    """What the ledger keeps and a bundle publishes: `implicates` are its files, `sample` draws others.

    Each file is a draw of what the confidential file may have been: as many records in each public cell as were
    collected, with sums and cross-products drawn given the noisy ones. Estimates from several files are combined by
    the rule for one measurement, which then covers the noise and the sampling error.
    """

    schema: Schema
    columns: Columns
    frame: Frame
    measurement: Measurement
    budget: Budget
    weights: Weights
    sets: int
    seed: int
    plan: Mapping[str, Any]
    rehearsal: bool

    @cached_property
    def implicates(self) -> Implicates:
        return self.sample(self.sets, seed=self.seed)

    def sample(self, m: int = 1, *, seed: int | None = None) -> Implicates:
        """m synthetic samples; a single one takes the middle of what the noise leaves open."""
        if isinstance(m, bool) or not isinstance(m, int) or m < 1:
            raise UsageError("m: give the number of files, at least 1")
        chain_random, *randoms = np.random.default_rng(self.seed if seed is None else seed).spawn(m + 1)
        states = list(Chain(self.evidence, chain_random).draws(_AVERAGED if m == 1 else m))
        if m == 1:
            states = [(np.mean([one[0] for one in states], axis=0), np.mean([one[1] for one in states], axis=0))]
        frames = tuple(self._file(*state, random) for state, random in zip(states, randoms, strict=True))
        return Implicates(frames, self.schema, tuple(one.name for one in self.columns.measures), "one-measurement")

    @property
    def evidence(self) -> Evidence:
        """What was released, as the chain takes it."""
        return evidence_of(self.frame, self.measurement, self.budget, len(self.columns.by))

    def _file(self, sums: Floats, within: Floats, random: np.random.Generator) -> pa.Table:
        u = exact_records(self.frame, sums, within, self.measurement.shape, random)
        half = np.array([one.half for one in self.measurement.ranges])
        middle = np.array([one.middle for one in self.measurement.ranges])
        z = middle + half * u
        if self.weights == "smoothed":
            means = middle + half * (sums / self.frame.sizes[:, None])[cells_of(self.frame)]
            z = smoothed(z, means, within * np.outer(half, half) / self.frame.records)
        return as_table(z, self.frame, self.columns, self.schema)

    # ------------------------------------------------------------ stored as plain JSON

    @property
    def measured(self) -> dict[str, Any]:
        """The released numbers: sums in steps of a range, which is on the modelled scale."""
        found = self.measurement
        return {
            "ranges": [[one.low, one.high] for one in found.ranges],
            "steps": STEPS,
            "sums": found.sums.tolist(),
            "products": found.products.tolist(),
            "shape": found.shape.tolist(),
            "design": {"levels": self.frame.levels.tolist(), "records": self.frame.counts.tolist()},
        }

    def to_bytes(self) -> bytes:
        stored = {"form": _FORM, "plan": dict(self.plan), "schema": self.schema.to_dict(), "seed": self.seed}
        stored |= {"rehearsal": self.rehearsal, **self.measured}
        return json.dumps(stored, sort_keys=True, separators=(",", ":")).encode()


def evidence_of(frame: Frame, found: Measurement, budget: Budget, by: int) -> Evidence:
    d = found.sums.shape[1]
    factor = np.full((d, d), float(budget.product) ** (0.5 if budget.gaussian else 1.0))
    factor[np.diag_indices(d)] = float(budget.square)
    effects, owner = frame.effects(by)
    spread = float(budget.spread) ** 0.5 if budget.gaussian else float(budget.spread)
    return Evidence(
        frame.sizes.astype(np.float64),
        effects,
        owner,
        found.sums / STEPS,
        found.products / STEPS**2,
        spread,
        spread * factor,
        budget.gaussian,
    )


def unpacked(content: Mapping[str, Any], by: int) -> tuple[Frame, Measurement]:
    if content.get("form") != _FORM or content.get("steps") != STEPS:
        raise VerificationError("a stored result is not one that Tacita wrote; restore the ledger from its backup")
    counts = np.array(content["design"]["records"], dtype=np.int64)
    levels = np.array(content["design"]["levels"], dtype=np.int64).reshape(len(counts), -1)
    ranges = tuple(Range(low, high) for low, high in content["ranges"])
    sums, products = (np.array(content[key], dtype=np.int64) for key in ("sums", "products"))
    shape = np.array(content["shape"], dtype=np.float64)
    return frame_of(levels, counts, by), Measurement(ranges, sums, products, shape)
