"""`Table`: one statistic of any file by the cells of its categories, with the noise that its relation asks for."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any, Literal, cast

import numpy as np
from attrs import field, frozen

from tacita.data.cells import Amount, Cells, Tally, number_kind
from tacita.data.confidential import Confidential
from tacita.data.schema import Schema
from tacita.data.sized import BySize
from tacita.errors import UsageError
from tacita.measured import Measurements, refuse_own_names
from tacita.mechanisms.table import measuring
from tacita.mechanisms.table.accuracy import foreseen
from tacita.mechanisms.table.levels import Division, Split, TableLevels, split_of
from tacita.mechanisms.table.noise import Budget
from tacita.mechanisms.table.price import epsilon_for
from tacita.mechanisms.table.quantiles import Wanted, quantiles, rank_scan
from tacita.mechanisms.table.sampling import SAMPLING, Residual, residual, spread, steps_of
from tacita.mechanisms.table.settings import as_columns, as_confidence, loss_of, optional_epsilon, optional_rho
from tacita.noise.entropy import Entropy
from tacita.plan import ONE_ROW, Brings, Forecast, Plan
from tacita.plan.fields import (
    RECORD,
    Named,
    OneUnit,
    as_delta,
    as_names,
    as_relation,
    as_where,
    each_once,
    one_of,
    one_unit,
)
from tacita.plan.how import How
from tacita.privacy import Guarantee, Number, ReplaceOne, exact

Statistic = Literal["count", "sum", "mean", "variance", "share", "median", "quantiles", "ratio"]
_COLUMNS: dict[str, int] = {"count": 0, "ratio": 2}  # how many columns `of` names; one unless said here
_QUANTILES = (Fraction(1, 4), Fraction(1, 2), Fraction(3, 4))
_MOST_QUANTILES = 99
_FINEST_SHARE = 10_000  # denominators of quantiles: shares in hundredths of a percent


def _as_shares(given: Sequence[Number]) -> tuple[Fraction, ...]:
    if isinstance(given, str) or not isinstance(given, Sequence):
        raise UsageError('quantiles: give a list of shares in quotes, such as ["0.1", "0.5", "0.9"]')
    return tuple(sorted({exact(one, "quantiles") for one in given}))


def _as_clamp(given: Any) -> tuple[float, float] | str | None:
    if given is None or isinstance(given, str):
        return given
    numbers = [one for one in given if isinstance(one, int | float) and not isinstance(one, bool)]
    if len(numbers) != 2 or len(given) != 2 or not numbers[0] < numbers[1]:
        raise UsageError('clamp: give two numbers, such as [0, 200000], or "declared"')
    return float(numbers[0]), float(numbers[1])


@frozen
class Table(Plan[Measurements]):
    """A statistic of records by groups, with margins: counts, sums, means, variances, shares, ratios, quantiles.

    `of` names the column (for a ratio two: numerator and denominator; for shares the category). `weights` names a
    column by which every record counts. Instead of ε, a wanted `margin` can be given, in units or in percent of a cell
    of `margin_at` records: the cost follows from it. Many tables are better paid for in `rho`, whose noise grows only
    with the root of their number. Sums of numbers with wide bounds buy their clamps; `clamp` gives them as public
    knowledge, or says "declared" for the bounds of the schema.

    `sampling` is for weighted samples: margins then hold the value of the population, not only that of the file. A
    fifth of the budget measures how far another sample would have led; sampling units are those of the schema's design.

    `levels` names coarser levels of declared trees over columns of `by`. The table is then measured at every level with
    a share of ε, and published so that all sums agree, or with means, shares and ratios of sums that do. `division`
    says how ε is shared out: "equal", with which no level has wider margins than if it were released by itself, or
    "best" for the least variance over all.

    >>> from tacita.privacy import AddRemoveOne
    >>> Table("mean", "1", of="age", by=["region"], neighbours=AddRemoveOne("person")).guarantee
    Guarantee(neighbours=AddRemoveOne(unit='person'), loss=Loss(epsilon='1'), ...)
    >>> Table(margin="5%", margin_at=1000, by=["region"]).epsilon
    Fraction(3, 25)
    """

    proof = "mechanisms/table/table.md"
    takes_any_rows = True
    takes_missing = True

    statistic: Statistic = field(default="count", validator=one_of(Statistic))
    epsilon: Fraction = field(default=None, converter=optional_epsilon)  # or as the margin asks
    of: tuple[str, ...] = field(default=(), converter=as_columns, validator=each_once, kw_only=True)
    by: tuple[str, ...] = field(default=(), converter=as_names, validator=each_once, kw_only=True)
    where: Named[tuple[str, ...]] = field(default=Named(), converter=as_where, kw_only=True)
    levels: tuple[str, ...] = field(default=(), converter=as_names, validator=each_once, kw_only=True)
    division: Division = field(default="equal", validator=one_of(Division), kw_only=True)
    weights: str | None = field(default=None, kw_only=True)
    sampling: bool = field(default=False, kw_only=True)
    quantiles: tuple[Fraction, ...] = field(default=(), converter=_as_shares, kw_only=True)
    clamp: tuple[float, float] | str | None = field(default=None, converter=_as_clamp, kw_only=True)
    delta: Fraction = field(default=Fraction(0), converter=as_delta, kw_only=True)
    rho: Fraction | None = field(default=None, converter=optional_rho, kw_only=True)
    margin: str | None = field(default=None, kw_only=True)
    margin_at: int | None = field(default=None, kw_only=True)
    confidence: Fraction = field(default=Fraction(19, 20), converter=as_confidence, kw_only=True)
    neighbours: OneUnit = field(default=RECORD, converter=as_relation, validator=one_unit, kw_only=True)

    def __attrs_post_init__(self) -> None:
        wanted = _COLUMNS.get(self.statistic, 1)
        if len(self.of) != wanted:
            many = ("no column", "one column", "two columns, numerator and denominator")[wanted]
            raise UsageError(f"of: a {self.statistic} is of {many}; name {many if wanted else 'none'}")
        for key, good in (("clamp", self.clamp in (None, "declared") or isinstance(self.clamp, tuple)),
                          ("weights", self.weights is None or isinstance(self.weights, str)),
                          ("sampling", isinstance(self.sampling, bool) and (self.weights or not self.sampling)),
                          ("confidence", 0 < self.confidence <= 1 - Fraction(1, 10**9)),
                          ("delta", 0 <= self.delta < 1)):  # fmt: skip
            if not good:
                raise UsageError(f"{key}: {_RULES[key]}")
        if self.weights is not None and self.statistic == "variance":
            raise UsageError("weights: a weighted variance is not offered; leave weights out")
        if self.levels and self.sampling:
            raise UsageError("sampling: is not offered for tables of several levels; leave levels or sampling out")
        clamped = self.statistic in ("sum", "mean", "variance") or (
            self.weights and self.statistic in ("count", "share")
        )
        if self.clamp is not None and not clamped:
            raise UsageError(f"clamp: a {self.statistic} is not clamped where you say; leave clamp out")
        if self.quantiles and self.statistic != "quantiles":
            raise UsageError('quantiles: go with statistic = "quantiles"; remove them, or change the statistic')
        if len(self.quantiles) > _MOST_QUANTILES:
            raise UsageError(f"quantiles: name up to {_MOST_QUANTILES} shares")
        if any(not 0 < one < 1 or one.denominator > _FINEST_SHARE for one in self.quantiles):
            raise UsageError('quantiles: shares lie between 0 and 1, with up to four digits, such as "0.95"')
        if self.levels and (self.statistic not in _LEVELLED or self.margin is not None):
            raise UsageError(
                "levels: are for counts, sums, means, shares and ratios that are planned by epsilon; leave levels or "
                "margin out"
            )
        self._settle_price()

    def _settle_price(self) -> None:
        """ε or ρ as given, or ε as the wanted margin asks for."""
        if self.rho is not None:
            if self.epsilon is not None or self.delta or self.margin is not None:
                raise UsageError("rho: is a price of its own; leave epsilon, delta and margin out, or rho")
            return
        if self.margin is None:
            if self.epsilon is None:
                raise UsageError(
                    'epsilon: give it, such as "1", or rho, or a wanted margin = "5%" with margin_at = 1000'
                )
            return
        derived = epsilon_for(self)
        if self.epsilon is not None and self.epsilon != derived:
            raise UsageError("margin: the price follows from it; leave epsilon out, or margin")
        object.__setattr__(self, "epsilon", derived)

    # ------------------------------------------------------------ known before any data

    @property
    def shares(self) -> tuple[Fraction, ...]:
        """The quantiles that are drawn."""
        return (Fraction(1, 2),) if self.statistic == "median" else self.quantiles or _QUANTILES

    @property
    def attributes(self) -> tuple[str, ...]:
        """What makes the cells of the measured table; shares are of the levels of a category."""
        return (*self.by, *(self.of if self.statistic == "share" else ()))

    @property
    def cells(self) -> Cells:
        return Cells(self.attributes, self.where, self.numbers)

    @property
    def numbers(self) -> tuple[str, ...]:
        """The numbers that a record must have to count."""
        of = self.of if self.statistic != "share" else ()
        return (*of, *((self.weights,) if self.weights is not None else ()))

    @property
    def budget(self) -> Budget:
        """What is spent on the values themselves."""
        return self._whole.share(1 - SAMPLING if self.sampling else Fraction(1))

    @property
    def _whole(self) -> Budget:
        return Budget(self.epsilon, self.delta) if self.rho is None else Budget.of_rho(self.rho)

    def units(self, schema: Schema) -> tuple[str, ...]:
        """The columns that name a sampling unit of the first stage; none where every record is one."""
        design = schema.design
        if not self.sampling or design is None or not design.psu:
            return ()
        return tuple(dict.fromkeys((*design.strata, design.psu[0])))

    def relies_on(self, schema: Schema) -> dict[str, Any]:
        """The trees of its levels, and the columns that name sampling units."""
        trees = {tree.column: tree.to_dict() for tree in schema.hierarchies if self.levels and tree.column in self.by}
        units = self.units(schema)
        return {key: held for key, held in (("hierarchy", trees), ("units", list(units))) if held}

    @property
    def records(self) -> int:
        return 2 if isinstance(self.neighbours, ReplaceOne) else 1

    @property
    def guarantee(self) -> Guarantee:
        loss = loss_of(self.epsilon, self.delta, self.rho)
        return Guarantee(self.neighbours, loss, assumes=(ONE_ROW, "levels and bounds are public"))

    @property
    def how(self) -> How:
        return How(_KNOWS[self.statistic] + (_CLAMPED if self.statistic in _CLAMPS else "")
                   + (_SAMPLED if self.sampling else ""))  # fmt: skip

    def split(self, schema: Schema) -> Split | None:
        """The levels and their shares; None for one table."""
        if not self.levels:
            return None
        return split_of(schema, self.attributes, self.levels, self.division, 1 if self.budget.gaussian else 2)

    def amount(self, column: str | None = None) -> Amount:
        return Amount(tuple(name for name in (column, self.weights) if name is not None))

    @property
    def brings(self) -> Brings:
        return "values" if self.statistic in ("median", "quantiles") or self.sampling else "counts"

    def weighed_by(self, schema: Schema) -> str | None:
        return self.weights

    def reads(self, schema: Schema) -> tuple[str, ...]:
        self.cells.check(schema)
        if self.levels:
            TableLevels.of(schema, self.by, self.levels)
        refuse_own_names(self.attributes)
        for name in self.attributes:
            if f"{name}_label" in self.attributes:
                raise UsageError(
                    f"by: {name}_label is what the column of labels of {name} is called; rename the variable"
                )
        numbers = self.of if self.statistic != "share" else ()
        for name in (*numbers, *((self.weights,) if self.weights else ())):
            number_kind(schema, name)
        if self.weights is not None and number_kind(schema, self.weights).lower < 0:
            raise UsageError(f"weights: {self.weights} may be negative by its bounds; a weight is at least 0")
        if twice := [name for name in self.of if name in self.by]:
            raise UsageError(f"of: {twice[0]} also stands in by; name it in one of the two")
        units = self.units(schema)
        if units and self.statistic in ("share", "median", "quantiles"):
            raise UsageError(
                f"sampling: a {self.statistic} of a sample with sampling units (design.psu) is not offered; for shares "
                "ask for the weighted mean of a column of 0 and 1, or leave sampling out"
            )
        weights = filter(None, (self.weights,))
        return tuple(dict.fromkeys((*self.attributes, *self.where, *numbers, *weights, *units)))

    def scan(self, schema: Schema) -> Tally | BySize | None:
        """Sums too where limits are known, sizes for quantiles and for limits that are bought; else records by stored
        values: that all are declared is seen so in a tenth of the time of comparing every row with every level."""
        if self.statistic in ("median", "quantiles") and not self.weights:
            return rank_scan(self.cells, self.of[0])
        if self.where or self.cells.missing(schema) or self.weights or self.statistic not in ("sum", "mean"):
            return Tally(self.attributes)
        amount, clamp = self.amount(self.of[0]), self._clamp(schema, self.of[0])
        if (interval := measuring.public_interval(schema, amount, clamp)) is None:
            return measuring.scan_of(schema, self.cells, amount, clamp) or Tally(self.attributes)
        name, steps = ("sum", measuring.sum_steps) if self.statistic == "sum" else ("above", measuring.mean_steps)
        return Tally(self.attributes, ((name, amount, steps(interval, amount.grain(schema)), 1),))

    def forecast(self, schema: Schema) -> Forecast:
        self.reads(schema)
        if self.sampling:
            steps_of(self._spreading().priced(1 - measuring.BOUGHT), self.units(schema))  # refuses what has no noise
        sentences, figures = foreseen(self, schema)
        of = f" of {' over '.join(self.of)}" if self.of else ""
        by = f" by {' × '.join(self.by)}" if self.by else ""
        named = "records" if self.statistic == "count" else self.statistic
        weighted = f", weighted by {self.weights}" if self.weights else ""
        only = "".join(f", only {name} in {', '.join(levels)}" for name, levels in self.where.items())
        product = f"{named}{of}{by}{weighted}{only}"
        split = self.split(schema)
        rows = self.cells.count(schema) if split is None else sum(split.levels.sizes)
        return Forecast(product[:1].upper() + product[1:], rows, sentences, figures)

    # ------------------------------------------------------------ acting

    def run(self, data: Confidential, entropy: Entropy) -> Measurements:
        self.reads(data.schema)
        split = self.split(data.schema)
        ask = measuring.Ask(self.cells, self.budget, self.records, split)
        noisy, facts = self._measure(data, ask, entropy)
        if self.sampling and facts.get("visible") is not False and "sampling" not in facts:
            more, known = self._spread(data, noisy, facts, entropy)
            noisy, facts = noisy | more, facts | known
        if split is not None:
            keys = split.levels.keys()
            return Measurements(keys, noisy, facts, self.describe(), str(self.guarantee), entropy.rehearsal)
        shape = self.cells.shape(data.schema)
        codes = np.unravel_index(np.arange(self.cells.count(data.schema)), shape) if shape else ()
        keys = {name: code.astype(np.int32) for name, code in zip(self.attributes, codes, strict=True)}
        return Measurements(keys, noisy, facts, self.describe(), str(self.guarantee), entropy.rehearsal)

    def _measure(
        self, data: Confidential, ask: measuring.Ask, entropy: Entropy
    ) -> tuple[measuring.Noisy, measuring.Facts]:
        if self.statistic in ("median", "quantiles"):
            spreading = self._spreading() if self.sampling else None
            wanted = Wanted(self.of[0], self.shares, float(1 - self.confidence), spreading)
            return quantiles(data, ask, wanted, self.weights, entropy)
        if self.statistic in ("count", "share"):
            if self.weights is None:
                return measuring.counts(data, ask, entropy)
            return measuring.sums(data, ask, self.amount(), self._clamp(data.schema), entropy, "count")
        amount = self.amount(self.of[0])
        clamp = self._clamp(data.schema, self.of[0])
        if self.statistic == "variance":
            return measuring.variances(data, ask, amount, clamp, entropy)
        if self.statistic == "sum":
            return measuring.sums(data, ask, amount, clamp, entropy, "sum")
        if self.statistic == "mean" and self.weights is None:
            return measuring.means(data, ask, amount, clamp, entropy)
        return self._ratio(data, ask, entropy)

    def _spreading(self) -> measuring.Ask:
        return measuring.Ask(self.cells, self._whole.share(SAMPLING), self.records)

    def _spread(
        self, data: Confidential, noisy: measuring.Noisy, facts: measuring.Facts, entropy: Entropy
    ) -> tuple[measuring.Noisy, measuring.Facts]:
        """What margins need to know of the sample."""
        amount: Amount | Residual
        if self.statistic in ("mean", "ratio"):
            name = "above"
            amount = residual(self.amount(self.of[0]), self._below, self.by, noisy, facts)
        else:
            name = "sum" if self.statistic == "sum" else "count"
            amount = self.amount(self.of[0] if name == "sum" else None)
        furthest = max(abs(facts[name]["lower"]), abs(facts[name]["upper"]))
        return spread(data, self._spreading(), amount, furthest, self.units(data.schema), entropy)

    @property
    def _below(self) -> Amount:
        """The denominator of a ratio; that of a weighted mean is the weight."""
        return self.amount(self.of[1] if self.statistic == "ratio" else None)

    def _ratio(
        self, data: Confidential, ask: measuring.Ask, entropy: Entropy
    ) -> tuple[measuring.Noisy, measuring.Facts]:
        """A ratio of two sums; a weighted mean is one of weight × value over weight."""
        share = Fraction(1, 2) if self.statistic == "ratio" else measuring.NUMERATOR
        above = self.amount(self.of[0])
        clamp = self._clamp(data.schema, self.of[0]) if self.statistic == "mean" else None
        one, facts = measuring.sums(data, ask.priced(share), above, clamp, entropy, "above")
        two, more = measuring.sums(data, ask.priced(1 - share), self._below, None, entropy, "below")
        return one | two, facts | more

    def _clamp(self, schema: Schema, column: str | None = None) -> tuple[float, float] | None:
        if self.clamp == "declared":
            return self.amount(column).bounds(schema)
        return cast("tuple[float, float] | None", self.clamp)

    def restore(self, stored: bytes) -> Measurements:
        return Measurements.from_bytes(stored)


_RULES = {
    "clamp": 'give two numbers, such as [0, 200000], or "declared"',
    "weights": "give the name of one column",
    "sampling": "is true or false, and needs weights = the column of the sample's weights",
    "confidence": 'must lie between 0 and 1, at most 0.999999999, such as "0.95"',
    "delta": "must be at least 0 and below 1",
}
_LEVELLED = ("count", "sum", "mean", "share", "ratio")
_CLAMPS = ("sum", "mean", "variance", "ratio")
_CLAMPED = (
    " Numbers beyond a limit count as that limit; where the limit was not public knowledge, it was read from noisy "
    "counts."
)
_SAMPLED = (
    " Squares of what records, or sampling units, add to the result were added up with noise too: from these follows "
    "how far another sample would have led."
)
_KNOWS = {
    "count": "Records were counted in each cell, and random noise was added to each count.",
    "share": "Records were counted in each cell, and random noise was added to each count. "
    "Shares follow from such counts.",
    "sum": "Numbers were added up in each cell, and random noise was added to each sum.",
    "mean": "Numbers were added up in each cell, and random noise was added to each sum. Means follow from such sums.",
    "variance": "Squares of numbers were added up in each cell, random noise was added, and variances follow from it.",
    "ratio": "Numbers were added up in each cell, and random noise was added to each sum. "
    "Ratios follow from such sums.",
    "median": "In each cell a value was drawn by chance, the likelier the nearer it is to the middle record.",
    "quantiles": "In each cell values were drawn by chance, the likelier the nearer they are to the wanted rank.",
}
