"""`StepsSynthesis`: the plan, known in full before any data."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import prod, sqrt
from typing import Literal

from attrs import Attribute, field, frozen

from tacita.data.confidential import Confidential
from tacita.data.schema import Schema
from tacita.errors import UsageError
from tacita.noise.discrete import DiscreteLaplace
from tacita.noise.entropy import Entropy
from tacita.plan import Forecast
from tacita.plan.fields import one_of, whole
from tacita.plan.how import EACH_PAID, FREE, SIZE, How
from tacita.privacy import Guarantee, Loss, Number, exact
from tacita.synthesis.cellplan import CellPlan
from tacita.synthesis.comparison.steps.budget import Costs, divided
from tacita.synthesis.comparison.steps.cells import threshold_for
from tacita.synthesis.comparison.steps.electing import Ballot, Criterion, Election, Rule
from tacita.synthesis.comparison.steps.measuring import MOST_NODES, Growth, measure
from tacita.synthesis.comparison.steps.model import Fit, Measurement, StepsModel
from tacita.synthesis.comparison.steps.reading import read
from tacita.synthesis.domain import Domain

Stop = Literal["small", "never"]
_NEVER = -(1 << 62)


def _as_budget(given: str | Sequence[Number]) -> str | tuple[Fraction, ...]:
    return given if isinstance(given, str) else tuple(exact(one, "budget") for one in given)


def _as_share(given: Number) -> Fraction:
    return exact(given, "election_share")


def _as_threshold(given: Number | None) -> Fraction | None:
    return None if given is None else exact(given, "threshold")


@frozen(kw_only=True)
class StepsSynthesis(CellPlan[StepsModel]):
    """Synthetic person files with many categorical attributes, by a tree of noisy counts (bowen2018, STEPS).

    Each node of the tree is split by an attribute of its own: elected privately by the deviance of its one-way
    loglinear model (`rule` "most" or "least", `criterion` "deviance" or "aic"), in the public order of `columns`
    (`election` "public"), or at random. Below `layers` layers, the remaining attributes are cross-tabulated in full.
    The counts of the tree are made consistent by weighted least squares and turned into whole numbers node by node.

    `budget` is "equal", "half-leaf" or relative weights of the layers and the cells; `election_share` of ε pays the
    elections. `stop` "small" leaves nodes whole whose noisy count is small against the noise (or below `least`);
    `threshold` is a deviance below which a node stops. What a branch does not spend goes to its cells. `cuts` are
    public borders of bins for numbers, `zeros` combinations of levels that cannot occur.

    `election` "paper" is the method as printed: elections on raw counts, each file measured with its share of ε,
    phantom categories. It has no guarantee.

    >>> plan = StepsSynthesis(["income", "stay", "voted"], "1", layers=2)
    >>> print(plan.guarantee)
    ε = 1 under one record replaced
    """

    model = StepsModel
    proof = "synthesis/comparison/steps/steps.md"

    layers: int = field(default=2)
    election: Election = field(default="private", validator=one_of(Election))
    rule: Rule = field(default="most", validator=one_of(Rule))
    criterion: Criterion = field(default="aic", validator=one_of(Criterion))
    budget: str | tuple[Fraction, ...] = field(default="half-leaf", converter=_as_budget)
    election_share: Fraction = field(default=Fraction(1, 5), converter=_as_share)
    stop: Stop = field(default="small", validator=one_of(Stop))
    least: int | None = field(default=None, validator=whole(0, 1 << 40, optional=True))
    threshold: Fraction | None = field(default=None, converter=_as_threshold)

    @layers.validator
    def _no_more_layers_than_columns(self, setting: Attribute[int], given: int) -> None:
        whole(0, len(self.columns))(self, setting, given)

    def __attrs_post_init__(self) -> None:
        if isinstance(self.budget, str):
            if self.budget not in ("equal", "half-leaf"):
                raise UsageError('budget: must be "equal", "half-leaf" or a list of relative weights')
        elif len(self.budget) != self._parts or min(self.budget) <= 0:
            raise UsageError(f"budget: give {self._parts} weights above 0: one per layer, and one for the cells")
        if not 0 < self.election_share < 1:
            raise UsageError("election_share: must lie strictly between 0 and 1")
        if self.threshold is not None and (self.rule != "most" or self.election == "public"):
            raise UsageError('threshold: stopping by deviance needs an election with rule = "most"; leave it out')
        if self.threshold is not None and self.threshold < 0:
            raise UsageError("threshold: a deviance is never negative; give 0 or more")
        if self.election == "paper" and (self.stop != "never" or self.threshold is not None):
            raise UsageError('stop: the method as printed does not stop; use stop = "never" and no threshold')

    # ------------------------------------------------------------ the promise

    @property
    def guarantee(self) -> Guarantee:
        if self.election == "paper":
            return Guarantee(
                self.neighbours,
                Loss(self.epsilon),
                "never",
                ("attributes are elected on raw counts, which is not paid",),
            )
        return super().guarantee

    @property
    def how(self) -> How:
        if self.election == "paper":
            return How(
                "Random noise was added to counts in a tree that was built from the exact ones.", SIZE, EACH_PAID
            )
        return How(
            "Records were counted along a tree of the columns, and random noise was added to each count; where the "
            "file decided how the tree branches, it did so by a random draw that was paid for too. The files are drawn "
            "from the noisy counts alone.",
            SIZE if self.size_is_public else "",
            FREE,
        )

    # ------------------------------------------------------------ what it will do

    @property
    def _parts(self) -> int:
        return self.layers + (self.layers < len(self.columns))

    def _costs(self) -> Costs:
        """Budgets per step, calibrated for one record added or removed."""
        whole = self.epsilon / self.sets if self.election == "paper" else self.per_record
        voting = self.election == "private" and self.rule != "random"
        return divided(
            whole,
            self.layers,
            len(self.columns),
            self.budget,
            self.election_share if voting else Fraction(0),
            root=not self.size_is_public,
            stop=self.threshold is not None,
        )

    def _growth(self, costs: Costs, domain: Domain) -> Growth:
        if self.least is not None:
            return Growth(self.layers, (self.least,) * self.layers)
        if self.stop == "never":
            return Growth(self.layers, (_NEVER,) * self.layers)
        return Growth(self.layers, tuple(costs.smallest(depth, max(domain.sizes)) for depth in range(self.layers)))

    def _ballot(self) -> Ballot:
        order = tuple(range(len(self.columns)))
        return Ballot(self.election, self.rule, self.criterion, order, self.threshold)

    def reads(self, schema: Schema) -> tuple[str, ...]:
        """The columns it reads; raises where the schema cannot carry the plan."""
        domain = self.domain(schema)
        widest = prod(sorted(domain.sizes)[::-1][: self.layers])
        if (self.stop == "never" or self.least is not None) and min(widest, domain.cells) > MOST_NODES:
            raise UsageError(
                f"layers: {self.layers} layers may have {min(widest, domain.cells):,} nodes, more than {MOST_NODES:,}; "
                'use fewer layers, or stop = "small" without least'
            )
        return self.columns

    def forecast(self, schema: Schema) -> Forecast:
        domain, costs = self.domain(schema), self._costs()
        sentences, figures = [], {}
        for depth, epsilon in enumerate(costs.layers, start=1):
            error = sqrt(DiscreteLaplace(1 / epsilon).variance())
            figures[f"layer {depth}: standard error"] = error
            sentences.append(f"layer {depth}: each count is off by about {error:.3g} before counts are made consistent")
        left = costs.left(self.layers, voted=False)
        if left:
            error = sqrt(DiscreteLaplace(1 / left).variance())
            figures["cells: standard error"] = error
            least = threshold_for(domain.raw_cells, 1 / left, 0)
            figures["cells: threshold"] = float(least)
            sentences.append(
                f"each of {domain.cells:,} cells is off by about {error:.3g}; those below a threshold of "
                f"at most {least} are left out, and what they held is shared among the others of their node"
            )
        if costs.root:
            figures["records: standard error"] = sqrt(DiscreteLaplace(1 / costs.root).variance())
        if self.stop == "small" and self.layers and self.least is None:
            smallest = self._growth(costs, domain).smallest[0]
            sentences.append(f"a node is split only while its noisy count is at least {smallest} (first layer)")
        return Forecast(self.product, domain.cells, tuple(sentences), figures)

    # ------------------------------------------------------------ acting

    def measure(self, data: Confidential, entropy: Entropy) -> tuple[Measurement, ...]:
        domain, costs = self.domain(data.schema), self._costs()
        occupied = read(data, domain)
        records = occupied.records if self.size_is_public else None
        return tuple(
            measure(domain, occupied, self._ballot(), self._growth(costs, domain), costs, records, entropy)
            for _ in range(self.sets if self.election == "paper" else 1)
        )

    @property
    def fit(self) -> Fit:
        return "phantom" if self.clip else "least-squares"

    @property
    def clip(self) -> bool:
        return self.election == "paper"
