"""What all employer-employee plans share: their parameters, what they read, and how a table is measured.

A plan answers one marginal: counts of workers by workplace attributes (`by`), optionally crossed with worker
attributes (`worker`) or restricted to some workers (`where`). Cells that hold different establishments compose
in parallel. Cells that split one establishment's workers do not, under either definition, so their budgets add.
"""

from __future__ import annotations

from abc import abstractmethod
from fractions import Fraction
from typing import Any, Literal

import numpy as np
from attrs import Attribute, field, frozen
from numpy.typing import NDArray

from tacita.data.confidential import Confidential
from tacita.data.schema import Integer, Schema
from tacita.data.workforce import LARGEST_ESTABLISHMENT, Workforce, require_countable, workforce
from tacita.errors import SchemaError, UsageError
from tacita.measured import Measured
from tacita.noise.entropy import Entropy
from tacita.noise.error import ErrorLaw
from tacita.plan import ONE_JOB, Contribution, Forecast, Plan
from tacita.plan.fields import (
    Named,
    as_delta,
    as_epsilon,
    as_margin_share,
    as_names,
    as_where,
    each_once,
    one_of,
    part_of_budget,
    short_alpha,
)
from tacita.plan.how import How
from tacita.privacy import Guarantee, Loss, Neighbours, Number, StrongAlpha, WeakAlpha

Definition = Literal["strong", "weak"]
Calibration = Literal["proved", "paper"]

PUBLIC_FRAME = "the list of establishments and their workplace attributes is public"
LISTED_CELLS = (
    "Where the file has a list of establishments, the table has the cells in which the list has one, and so shows "
    "where there are any: the list is taken as public."
)


def check_establishments(schema: Schema) -> None:
    """Refuse a schema that does not tell establishments apart, or allows sizes that no noise is made for."""
    if schema.id_of("workplace") is None:
        raise SchemaError(
            'variables: no id with entity = "workplace" is declared; establishment tables need to know which rows '
            "belong to the same establishment, so add that column to the file and the schema"
        )
    for name in schema.by_role("size"):
        kind = schema[name].kind
        if isinstance(kind, Integer) and kind.upper > LARGEST_ESTABLISHMENT:
            raise SchemaError(
                f"variables.{name}.upper: noise is made for establishments of up to {LARGEST_ESTABLISHMENT:,} workers; "
                "lower the bound, above which sizes are clamped"
            )


@frozen(kw_only=True)
class CountPlan(Plan[Measured]):
    """The query side of a plan: which marginal, over which workers."""

    brings = "counts"

    by: tuple[str, ...] = field(default=(), converter=as_names, validator=each_once)
    worker: tuple[str, ...] = field(default=(), converter=as_names, validator=each_once)
    where: Named[tuple[str, ...]] = field(default=Named(), converter=as_where)

    @where.validator
    def _not_crossed_as_well(self, setting: Attribute[Any], given: Named[tuple[str, ...]]) -> None:
        for name, levels in given.items():
            each_once(self, setting, levels)
            if name in self.worker:
                raise UsageError(f"where: {name} is already crossed in by worker; name it in one of the two")

    # what a concrete mechanism says of itself

    @abstractmethod
    def measure(self, exact_counts: Workforce, entropy: Entropy) -> NDArray[np.int64]:
        """Noisy counts, one row per workplace cell and one column per worker cell."""

    @abstractmethod
    def error_law(self, cells: int) -> ErrorLaw:
        """The public law of the error when the workers of a workplace cell are split into `cells` parts."""

    def measure_largest(self, exact_counts: Workforce, entropy: Entropy) -> NDArray[np.int64] | None:
        """A paid-for noisy size of the largest establishment per cell; None when margins are free."""
        return None

    @property
    def drops_above(self) -> int | None:
        return None

    @property
    def every_cell(self) -> bool:
        """Whether all declared cells are published, whatever establishments the file has."""
        return False

    @abstractmethod
    def accuracy(self, cells: int) -> tuple[tuple[str, ...], dict[str, float]]:
        """Plain sentences and figures about the expected error."""

    @property
    def how(self) -> How:
        return How(
            f"Jobs were counted in each cell, and random noise was added to each count{self._noise}.", LISTED_CELLS
        )

    @property
    def _noise(self) -> str:
        """How much noise a count got, for readers of the page: the end of a sentence."""
        return ""

    # what they all do alike

    def contribution(self, schema: Schema) -> Contribution | None:
        """Jobs of one establishment are counted together; a worker counts through one job."""
        return Contribution("worker", ONE_JOB)

    def cells(self, schema: Schema) -> int:
        return schema.domain_size(self.worker) if self.worker else 1

    def reads(self, schema: Schema) -> tuple[str, ...]:
        for name in self.by:
            if schema[name].role != "workplace":
                raise UsageError(
                    f"by: {name} has role {schema[name].role} in the schema; a table's rows are workplace attributes. "
                    "Worker attributes go in worker = [...]"
                )
            schema.categorical(name)
        for name in (*self.worker, *self.where):
            if schema[name].role != "worker":
                raise UsageError(f"worker: {name} has role {schema[name].role} in the schema, not worker")
            schema.categorical(name)
        for name, levels in self.where.items():
            unknown = [level for level in levels if level not in schema.levels(name)]
            if unknown or not levels:
                problem = f"{unknown[0]!r} is not one" if unknown else "the list is empty"
                raise UsageError(f"where: {name} must list declared levels; {problem}")
        check_establishments(schema)
        ids = [found for entity in ("workplace", "worker") if (found := schema.id_of(entity)) is not None]
        return tuple(dict.fromkeys((*ids, *schema.by_role("size"), *self.by, *self.worker, *self.where)))

    def forecast(self, schema: Schema) -> Forecast:
        self.reads(schema)
        cells = self.cells(schema)
        sentences, figures = self.accuracy(cells)
        product = " × ".join((*self.by, *self.worker)) or "all jobs"
        only = "".join(f", only {name} in {', '.join(levels)}" for name, levels in self.where.items())
        rows = schema.domain_size(self.by) if self.by else 1
        return Forecast(f"Jobs by {product}{only}", rows * cells, sentences, figures)

    def suits(self, data: Confidential) -> None:
        super().suits(data)
        if self.every_cell or data.form == "flat":
            require_countable(data.schema, self.by, self.worker)

    def run(self, data: Confidential, entropy: Entropy) -> Measured:
        self.reads(data.schema)
        counted = workforce(
            data,
            self.by,
            worker=self.worker,
            where=self.where or None,
            drop_above=self.drops_above,
            every_cell=self.every_cell,
        )
        values = self.measure(counted, entropy)
        return Measured(
            keys=counted.keys,
            worker=self.worker,
            values=values,
            error=self.error_law(values.shape[1]),
            plan=self.describe(),
            guarantee=str(self.guarantee),
            rehearsal=entropy.rehearsal,
            largest=self.measure_largest(counted, entropy),
        )

    def restore(self, stored: bytes) -> Measured:
        return Measured.from_bytes(stored, self.error_law)


def _as_alpha(given: Number) -> Fraction:
    return StrongAlpha(given).alpha


@frozen
class AlphaPlan(CountPlan):
    """A plan under (α, ε) employer-employee privacy."""

    alpha: Fraction = field(converter=_as_alpha, validator=short_alpha)
    epsilon: Fraction = field(converter=as_epsilon)
    definition: Definition = field(default="strong", validator=one_of(Definition), kw_only=True)
    calibration: Calibration = field(default="proved", validator=one_of(Calibration), kw_only=True)
    margin_share: Fraction = field(
        default=Fraction(0), converter=as_margin_share, validator=part_of_budget, kw_only=True
    )
    delta: Fraction = field(default=Fraction(0), converter=as_delta, kw_only=True)

    def __attrs_post_init__(self) -> None:
        self._check_delta()
        self._check_combination()

    def _check_delta(self) -> None:
        if self.delta:
            raise UsageError(
                "delta: this mechanism never fails, so it has no delta; leave it out (SmoothLaplace has one)"
            )

    def _check_combination(self) -> None:
        if self.calibration == "paper" and self.definition == "strong" and (self.worker or self.where):
            raise UsageError(
                "calibration: the paper has no proved mechanism for worker attributes under the strong definition "
                '(its theorem 7.5 does not hold); use definition = "weak", or calibration = "proved"'
            )

    @property
    def neighbours(self) -> Neighbours:
        return StrongAlpha(self.alpha) if self.definition == "strong" else WeakAlpha(self.alpha)

    @property
    def guarantee(self) -> Guarantee:
        return Guarantee(self.neighbours, Loss(self.epsilon, delta=self.delta), assumes=(PUBLIC_FRAME, ONE_JOB))

    def epsilon_per_cell(self, cells: int) -> Fraction:
        """Worker cells share the budget; what pays for margins of error is set aside first."""
        return self.epsilon * (1 - self.margin_share) / cells

    def deciding_size(self, counted: Workforce) -> NDArray[np.int64]:
        """The size of the establishment that sets the noise of each value."""
        if self.definition == "weak":
            return counted.largest
        if self.worker or self.where:
            # An attacker may know all but the new workers' kind, so any one cell may grow by α of the whole.
            return np.broadcast_to(counted.largest_total[:, None], counted.counts.shape)
        return counted.largest

    @property
    def feasible(self) -> bool:
        """Whether the mechanism exists at these parameters (one worker cell)."""
        try:
            self.error_law(1)
        except UsageError:
            return False
        return True
