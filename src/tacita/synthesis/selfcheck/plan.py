"""`SelfCheck`: a synthesizer that measures, with a share of its own budget, what its first file got wrong.

Proof: `selfcheck.md`.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from functools import cached_property
from typing import Any, Literal

import pyarrow as pa
from attrs import Attribute, evolve, field, frozen

from tacita.data.confidential import Confidential
from tacita.data.schema import Categorical, Identifier, Schema
from tacita.errors import UsageError
from tacita.implicates import Implicates
from tacita.mechanisms.table.noise import Budget, Reach
from tacita.noise.concentrated import epsilon_for, rho_for
from tacita.noise.entropy import Entropy
from tacita.noise.forcing import follows
from tacita.plan import Bounded, Contribution, Forecast, Plan, contribution_of, opened, packed
from tacita.plan.fields import Named, one_of, plain
from tacita.plan.how import How
from tacita.privacy import AddRemoveOne, Guarantee, Number, exact, text
from tacita.synthesis.selfcheck.measuring import measure, questions_of
from tacita.synthesis.selfcheck.report import CONFIDENCE, UNFIT, Report, as_limits, report_from
from tacita.synthesis.selfcheck.yardstick import STEPS, WIDEST

Fail = Literal["stamp", "withhold"]

FORM = "self-check-1"
_USUAL = 10_000  # records, where their number is neither public nor given


def _as_share(given: Number) -> Fraction:
    return exact(given, "share")


def _part(plan: Any, setting: Attribute[Any], share: Fraction) -> None:
    if not 0 < share < 1:
        raise UsageError('share: must lie between 0 and 1, such as "0.05"')


@frozen(eq=False, repr=False)
class Checked:
    """What a `SelfCheck` releases: the model that the synthesizer released, and the report on its first file.

    `model` and `implicates` are None where the files were withheld.
    """

    plan: SelfCheck
    report: Report
    model: Any
    rehearsal: bool

    @property
    def implicates(self) -> Implicates | None:
        return None if self.model is None else self.model.implicates

    def sample(self, m: int | None = None, **more: Any) -> Implicates:
        """As the model's own `sample`."""
        if self.model is None:
            raise UsageError("the files failed their self-check and were withheld, as the plan said; none can be drawn")
        drawn: Implicates = self.model.sample(m, **more)
        return drawn

    @property
    def measured(self) -> dict[str, Any]:
        own = {} if self.model is None else dict(self.model.measured)
        return own | {"check": self.report.record()}

    def to_bytes(self) -> bytes:
        about = {"plan": self.plan.describe(), "check": self.report.record(), "rehearsal": self.rehearsal}
        kept = [] if self.model is None else [self.model.to_bytes()]
        return packed(FORM, about, pa.table({"model": pa.array(kept, type=pa.large_binary())}))

    def promised(self, plan: Any) -> Checked:
        """The same as a result of the plan around its own (`plan/bounded.py`)."""
        return self if self.model is None else evolve(self, model=self.model.promised(plan))

    def __repr__(self) -> str:
        return f"Checked({self.model!r}, {self.report.verdict})"


@frozen
class SelfCheck(Plan[Checked]):
    """A synthesizer whose first file is compared with the confidential rows, at no further price.

    `share` of the budget of `plan` pays for a fixed list of checks: how far tables of one and of two columns are off,
    on average and at worst; ranks of numbers; how many rows have a number below or above all in the file; means. The
    synthesizer gets the rest. `limits` are what is tolerated of each. Files that break one beyond the margin
    of the check are stamped not fit for use or, with `fail = "withhold"`, not kept at all: only the report remains, and
    the price stays paid.

    >>> from tacita.synthesis import FileSynthesis
    >>> plan = SelfCheck(FileSynthesis(["age", "income"], "1", delta="1e-9"), limits={"mean": "5%"})
    >>> print(plan.guarantee)
    ε = 1, δ = 1e-09 under one record replaced
    >>> print(text(plan.inner.epsilon))
    0.973582067
    """

    proof = "synthesis/selfcheck/selfcheck.md"

    plan: Any
    share: Fraction = field(default=Fraction(1, 20), converter=_as_share, validator=_part, kw_only=True)
    limits: Named[Fraction] = field(factory=dict, converter=as_limits, kw_only=True)
    fail: Fail = field(default="stamp", validator=one_of(Fail), kw_only=True)

    def __attrs_post_init__(self) -> None:
        if self.plan.guarantee.holds == "never" or not hasattr(self.plan, "model"):
            raise UsageError(
                f"check: {type(self.plan).__name__} spends no ε on synthetic files, so there is nothing to take a "
                "share of; leave check out"
            )
        if not self.plan.one_row:
            raise UsageError(
                "check: compares files of one row for each unit, and this one has several; leave check out, or give a "
                "wide file"
            )

    # ------------------------------------------------------------ who gets what

    @cached_property
    def _paid(self) -> tuple[Any, Budget]:
        plan, left = self.plan, 1 - self.share
        delta = getattr(plan, "delta", Fraction(0))
        if delta and plan.concentrated:
            rho = rho_for(plan.epsilon, delta)
            return evolve(plan, epsilon=epsilon_for(rho * left, delta)), Budget.of_rho(rho * self.share)
        return evolve(plan, epsilon=plan.epsilon * left), Budget(plan.epsilon * self.share)

    @property
    def inner(self) -> Any:
        """The synthesizer with what is left to it."""
        return self._paid[0]

    @property
    def budget(self) -> Budget:
        """What the checks may cost."""
        return self._paid[1]

    @property
    def replaced(self) -> bool:
        """Whether the number of records is public, and one record may become another."""
        return not isinstance(self.guarantee.neighbours, AddRemoveOne)

    # ------------------------------------------------------------ as the synthesizer has it

    @property
    def guarantee(self) -> Guarantee:
        guarantee: Guarantee = self.plan.guarantee
        return guarantee

    @property
    def epsilon(self) -> Fraction:
        epsilon: Fraction = self.plan.epsilon
        return epsilon

    @property
    def sets(self) -> int:
        sets: int = self.plan.sets
        return sets

    @property
    def takes_any_rows(self) -> bool:
        return bool(self.plan.takes_any_rows)

    @property
    def takes_missing(self) -> bool:
        return bool(self.plan.takes_missing)

    @property
    def keeps_rules(self) -> bool:
        return bool(self.plan.keeps_rules)

    def weighed_by(self, schema: Schema) -> str | None:
        weight: str | None = self.plan.weighed_by(schema)
        return weight

    def relies_on(self, schema: Schema) -> dict[str, Any]:
        relied: dict[str, Any] = self.plan.relies_on(schema)
        return relied

    @property
    def how(self) -> How | None:
        inner: How | None = self.plan.how
        more = " The first file was then compared with the confidential one, and random noise was added to the results."
        return None if inner is None else replace(inner, knows=inner.knows + more)

    def contribution(self, schema: Schema) -> Contribution | None:
        return contribution_of(self.plan, schema)

    def describe(self) -> dict[str, Any]:
        """The synthesizer's own description, so that whatever knows it knows this one; its ε is that of both."""
        own: dict[str, Any] = self.plan.describe()
        return own | self._told()

    def _told(self) -> dict[str, Any]:
        return {"check": {"share": text(self.share), "limits": plain(self.limits), "fail": self.fail}}

    def former_descriptions(self) -> tuple[dict[str, Any], ...]:
        return tuple(one | self._told() for one in self.plan.former_descriptions())

    # ------------------------------------------------------------ what it will do

    def compared(self, schema: Schema) -> tuple[str, ...]:
        """The columns that may be compared: all that are read, but ids."""
        return tuple(name for name in self.inner.reads(schema) if not isinstance(schema[name].kind, Identifier))

    def reads(self, schema: Schema) -> tuple[str, ...]:
        self._margin(schema)  # refuses noise that no sampler draws
        names: tuple[str, ...] = self.inner.reads(schema)
        return names

    def _margin(self, schema: Schema) -> float:
        """How far the noise, also that of the number of records, may move a distance between tables, in records."""
        names = self.compared(schema)
        numbers = sum(not isinstance(schema[name].kind, Categorical) for name in names)
        count = questions_of(len(names), numbers, self.replaced)
        each, certainty = self.budget.share(Fraction(1, count)), 1 - (1 - CONFIDENCE) / count
        try:
            each.law(Reach.of_one(WIDEST * STEPS, 1))
        except UsageError:
            raise UsageError("share: leaves too little for the noise of the checks; raise it, or epsilon") from None
        distance = each.law(Reach.added_up(STEPS, 2 if self.replaced else 1)).margin(certainty) / STEPS
        unsure = 0 if self.replaced else each.law(Reach.of_one(1, 1)).margin(certainty)
        return (distance + unsure) / 2

    def forecast(self, schema: Schema) -> Forecast:
        foretold: Forecast = self.inner.forecast(schema)
        records = getattr(self.plan, "rows", None) or _USUAL
        margin = self._margin(schema) / records
        said = (
            f"a self-check takes {float(self.share):.2g} of the budget; of {records:,} records it tells how far tables "
            f"are off to within ±{100 * margin:.2g}%, of others in inverse proportion to their number"
        )
        if margin > float(self.limits["one_way"]):
            said += "; that is more than limits.one_way, so it may leave open whether the files are fit for use"
        figures = {**foretold.figures, "self-check: margin of a distance": margin}
        return replace(foretold, sentences=(*foretold.sentences, said), figures=figures)

    def suits(self, data: Confidential) -> None:
        self.inner.suits(data)

    # ------------------------------------------------------------ acting

    def run(self, data: Confidential, entropy: Entropy) -> Checked:
        model = self.inner.run(data, entropy)
        file = follows(entropy, model.to_bytes(), lambda: model.implicates.tables[0])
        names = tuple(name for name in self.compared(data.schema) if name in file.column_names)
        weights = (getattr(self.plan, "weight", None), *data.schema.by_role("weight"))
        weight = next((one for one in weights if one in names), None)
        report = measure(data, file, names, weight, self.budget, self.limits, self.replaced, entropy)
        withheld = self.fail == "withhold" and report.verdict == UNFIT
        return Checked(self, report, None if withheld else model, model.rehearsal)

    def restore(self, stored: bytes) -> Checked:
        content, table = opened(stored, FORM)
        kept = table["model"].to_pylist()
        model = self.inner.restore(kept[0]) if kept else None
        return Checked(self, report_from(content["check"]), model, content["rehearsal"])


def stamped(plan: Plan[Any]) -> Plan[Any]:
    """The same plan, whose failing files are stamped rather than withheld: for trials, which must see files."""
    if isinstance(plan, Bounded):
        return evolve(plan, plan=stamped(plan.plan))
    return evolve(plan, fail="stamp") if isinstance(plan, SelfCheck) else plan
