"""`QuantileSynthesis`: the plan, known in full before any data."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from attrs import Attribute, field, frozen

from tacita.data.confidential import Confidential
from tacita.data.reading import read
from tacita.data.schema import Schema
from tacita.errors import UsageError
from tacita.noise.entropy import Entropy
from tacita.plan import ONE_ROW, Forecast
from tacita.plan.fields import Named, among_columns, as_names, by_name, each_once, whole, words_by_name
from tacita.plan.how import FREE, SIZE, How, as_collected
from tacita.privacy import Number, exact
from tacita.synthesis.base import Synthesizer
from tacita.synthesis.pinned.plain import scarce_words, weighted_words
from tacita.synthesis.quantile.budget import COUNTS, told_apart
from tacita.synthesis.quantile.curve import Tail
from tacita.synthesis.quantile.expected import correlation_error, expected_error
from tacita.synthesis.quantile.measuring import Costs, measure
from tacita.synthesis.quantile.model import QuantileModel, ReleasedGroups
from tacita.synthesis.quantile.octaves import is_wide
from tacita.synthesis.quantile.variables import Column, Scale, Variable, check_spikes, column_of
from tacita.synthesis.quantile.weighted import Weighing

# Relative budgets: a conditional model has a plane to find as well, a table of shares has less to say.
_NUMBER, _CONDITIONAL, _CATEGORY = 6, 7, 3
_MOST_CELLS = 200_000
_WIDEST_COUNT = 1_000_000
_USUAL_SIZES = (1_000, 10_000, 100_000)  # records, where their number is not given
_SMALL_SIZES = (300, 1_000, 3_000, 10_000)  # the same for figures of means, which say when a file is too small
_POOR = 0.15  # of a mean


def _as_predictors(given: Mapping[str, Sequence[str]] | Sequence[Any]) -> Named[tuple[str, ...]]:
    return Named((name, as_names(before)) for name, before in by_name(given, "predictors"))


def _as_scales(given: Mapping[str, Scale] | Sequence[Any]) -> Named[Scale]:
    return Named(by_name(given, "scales"))


def _as_spikes(given: Mapping[str, Sequence[float]] | Sequence[Any]) -> Named[tuple[float, ...]]:
    return Named((name, _masses(name, values)) for name, values in by_name(given, "spikes"))


def _masses(name: str, given: Any) -> tuple[float, ...]:
    if not isinstance(given, Sequence) or isinstance(given, str) or not given:
        raise UsageError(f"spikes.{name}: give a list of values, such as [0]")
    if not all(isinstance(one, int | float) and math.isfinite(one) for one in given) or len(set(given)) != len(given):
        raise UsageError(f"spikes.{name}: must be numbers, each of them once, such as [0]")
    return tuple(float(one) for one in given)


def _as_tails(given: Mapping[str, Tail] | Sequence[Any]) -> Named[Tail]:
    return Named(by_name(given, "tails"))


def _as_shares(given: Mapping[str, Number] | Sequence[Any]) -> Named[Fraction]:
    return Named((name, exact(share, f"shares.{name}")) for name, share in by_name(given, "shares"))


def _known_before(plan: Any, setting: Attribute[Any], given: Named[tuple[str, ...]]) -> None:
    among_columns(plan, setting, given)
    for name, before in given.items():
        each_once(plan, setting, before)
        known = (*plan.keep, *plan.groups, *plan.columns[: plan.columns.index(name)])
        if late := [one for one in before if one not in known]:
            raise UsageError(
                f"predictors.{name}: {late[0]} does not come before {name}; predictors are earlier in columns, or in "
                "keep"
            )


def _of_numbers_read(plan: Any, setting: Attribute[Any], given: Named[Scale]) -> None:
    among_columns(plan, setting, {name: one for name, one in given.items() if name not in plan.keep})


def _above_zero(plan: Any, setting: Attribute[Any], given: Named[Fraction]) -> None:
    for name, share in given.items():
        if share <= 0:
            raise UsageError(f"shares.{name}: must be above 0; it is a relative weight")


def _is_poor(name: str, figures: Mapping[str, float]) -> bool:
    return figures.get(f"{name}: mean error", 0.0) > _POOR


@frozen(kw_only=True)
class QuantileSynthesis(Synthesizer[QuantileModel]):
    """Synthetic microdata for skewed numbers, by exact private quantile regression, one variable after another.

    Each of `columns` is modelled given those before it (or given its entry in `predictors`): a median plane, how the
    spread around it varies, and the shape of the rest, all drawn exactly from the K-norm gradient mechanism by
    bisection. Where records are few for ε, or a number has long tails or sits on few values, its own quantiles are
    released instead with its noisy total, which the files are held to, and noisy tables of two numbers say how its
    ranks go with others. Categorical variables and declared point masses (`spikes`) are modelled by noisy shares.

    `groups` are categorical columns; each combination of their levels gets its own models, at no further cost. `keep`
    names public columns that are published as they are (partial synthesis; the rows are then public, so it needs
    `ReplaceOne`). `scales` gives a variable a public "log" or "arcsinh" scale, `tails` a public family for what
    lies beyond the last quantile, `shares` relative budgets. `rows` is the public number of rows to draw.

    >>> plan = QuantileSynthesis(["size", "pay"], "1", rows=5000)
    >>> print(plan.guarantee)
    ε = 1 under one record replaced
    """

    model = QuantileModel
    proof = "synthesis/quantile/quantile.md"
    former: ClassVar[Mapping[str, str]] = {"order": "columns"}

    groups: tuple[str, ...] = field(default=(), converter=as_names, validator=each_once)
    keep: tuple[str, ...] = field(default=(), converter=as_names, validator=each_once)
    predictors: Named[tuple[str, ...]] = field(default=Named(), converter=_as_predictors, validator=_known_before)
    rows: int | None = field(default=None, validator=whole(1, 10**9, optional=True))
    scales: Named[Scale] = field(
        default=Named(), converter=_as_scales, validator=[_of_numbers_read, words_by_name(Scale)]
    )
    spikes: Named[tuple[float, ...]] = field(default=Named(), converter=_as_spikes, validator=among_columns)
    tails: Named[Tail] = field(default=Named(), converter=_as_tails, validator=[among_columns, words_by_name(Tail)])
    shares: Named[Fraction] = field(default=Named(), converter=_as_shares, validator=[among_columns, _above_zero])

    def __attrs_post_init__(self) -> None:
        twice = [name for name in (*self.groups, *self.keep) if name in self.columns]
        if twice:
            raise UsageError(f"columns: {twice[0]} is also named in groups or keep; name it in one of them")
        if self.keep and not self.size_is_public:
            raise UsageError(
                "keep: publishing rows with public columns shows which units are in the file, so the promise must be "
                "about their values: use neighbours = ReplaceOne(unit)"
            )
        if self.keep and [name for name in self.groups if name not in self.keep]:
            raise UsageError("groups: with keep, groups must be public columns that are kept; add them to keep")
        if self.keep and self.rows is not None:
            raise UsageError("rows: with keep, the rows are those of the file; leave rows out")

    # ------------------------------------------------------------ the promise

    @property
    def takes_any_rows(self) -> bool:
        return not self.keep

    @property
    def assumes(self) -> Sequence[str]:
        return (ONE_ROW, "the kept columns are public") if self.keep else (ONE_ROW,)

    @property
    def how(self) -> How:
        size = SIZE if self._counts_are_public and self.rows is None else ""
        return How(
            "Categories were counted and numbers added up with random noise, and the quantiles of numbers were drawn "
            "at random near the file's own, by laws under which no single record tells. The files are drawn from these "
            "alone.",
            as_collected(self.keep) if self.keep else size,
            FREE,
        )

    # ------------------------------------------------------------ what it will do

    @property
    def _counts_are_public(self) -> bool:
        """A replaced record leaves their number as it is; a total that was given needs no measuring either."""
        return bool(self.keep) or (not self.groups and (self.rows is not None or self.size_is_public))

    def _costs(self, variables: tuple[Variable, ...]) -> Costs:
        """Budgets per step, calibrated for one record added or removed."""
        counts = Fraction(0) if self._counts_are_public else self.per_record * COUNTS
        weights = {one.name: self.shares.get(one.name, Fraction(one.weight)) for one in variables}
        share = (self.per_record - counts) / sum(weights.values())
        stays = self.size_is_public and (bool(self.keep) or not self.groups)
        return Costs(counts, {name: weight * share for name, weight in weights.items()}, stays)

    def variables(self, schema: Schema) -> tuple[Variable, ...]:
        """The columns with what each is drawn from; raises where the schema cannot carry one."""
        variables: list[Variable] = []
        for place, name in enumerate(self.columns):
            before = self.predictors.get(name, (*self.keep, *self.columns[:place]))
            known = [self._column(schema, one) for one in before if one not in self.groups]
            column = self._column(schema, name)
            spikes = self.spikes.get(name, ())
            check_spikes(column, spikes)
            numbers = tuple(one for one in known if one.is_number)
            weight = _CATEGORY if not column.is_number else _CONDITIONAL if numbers else _NUMBER
            codes = tuple(one for one in known if not one.is_number)
            variables.append(Variable(column, numbers, codes, spikes, self.tails.get(name, "fitted"), weight))
        return tuple(variables)

    def weighing(self, schema: Schema) -> Weighing | None:
        """The weighted totals that are measured, where a column is a weight."""
        return Weighing.of(schema, self.columns, replaced=self.size_is_public)

    def weighed_by(self, schema: Schema) -> str | None:
        weighing = self.weighing(schema)
        return None if weighing is None else weighing.weight

    def _column(self, schema: Schema, name: str) -> Column:
        return column_of(schema, name, self.scales.get(name, "identity"))

    def _groups(self, schema: Schema) -> tuple[Column, ...]:
        for name in self.groups:
            schema.categorical(name)
        return tuple(column_of(schema, name) for name in self.groups)

    def reads(self, schema: Schema) -> tuple[str, ...]:
        variables, groups = self.variables(schema), self._groups(schema)
        for name in self.keep:
            if schema[name].role != "public":
                raise UsageError(
                    f"keep: {name} has role {schema[name].role} in the schema; only public columns may be published as "
                    "they are"
                )
            column_of(schema, name)
        counts = self._costs(variables).counts
        if counts and self.rows is None and 1 / counts > _WIDEST_COUNT:
            raise UsageError(
                f"rows: with this epsilon the number of records is measured to about ±{float(1 / counts):.0e}, so the "
                "files could have any size; give rows, or a larger epsilon"
            )
        cells = schema.domain_size(self.groups) if groups else 1
        for one in variables:
            outcomes = 1 if one.column.is_number else len(schema.levels(one.name))
            size = cells * math.prod(one.levels) * outcomes
            if size > _MOST_CELLS:
                raise UsageError(
                    f"{one.name}: its categorical predictors and groups make {size:,} cells, more than "
                    f"{_MOST_CELLS:,}; give predictors.{one.name} with fewer of them"
                )
        return tuple(dict.fromkeys((*self.keep, *self.groups, *self.columns)))

    def forecast(self, schema: Schema) -> Forecast:
        self.reads(schema)
        variables, groups, weighing = self.variables(schema), self._groups(schema), self.weighing(schema)
        models = schema.domain_size(self.groups) if groups else 1
        sizes = [self.rows] if self.rows else list(_USUAL_SIZES)
        sentences, figures = [], {}
        for size in sizes:
            records, costs = max(1, size // models), self._costs(variables)
            weighted = Fraction(0)
            if weighing is not None:
                weighted = weighing.each(costs.all_variables, size)
                costs = costs.less(weighing.all(weighted))
            told = [self._told(one, costs, records, models) for one in variables]
            pairs = self._pairs(variables, costs, records)
            sentences += [f"If there are {records:,} records" + (f" in each of {models} groups:" if groups else ":")]
            sentences += [sentence for sentence, _ in told]
            if size == (self.rows or _USUAL_SIZES[1]):
                figures = {name: value for _, those in told for name, value in those.items()}
                figures |= {"rank correlation": sum(pairs) / len(pairs)} if pairs else {}
            if weighing is not None:
                paid = weighing.budget(weighted) if weighted else None
                words, more = weighted_words(weighing.numbers, paid, size)
                sentences += words
                figures |= more if size == (self.rows or _USUAL_SIZES[1]) else {}
            if pairs:
                sentences.append(f"rank correlations of two numbers are off by about {sum(pairs) / len(pairs):.2g}")
            poor = [one.name for one, (_, those) in zip(variables, told, strict=True) if _is_poor(one.name, those)]
            if poor:
                sentences.append(
                    f"too few records for this epsilon and these columns: {', '.join(poor)} may be far off; raise "
                    "epsilon, name fewer columns or groups, or publish tables instead"
                )
        for size in () if self.rows else _SMALL_SIZES:
            costs = self._costs(variables)
            if weighing is not None:
                costs = costs.less(weighing.all(weighing.each(costs.all_variables, size)))
            for one in variables:
                _, those = self._told(one, costs, max(1, size // models), models)
                figures |= {f"{name} at {size}": those[name] for name in those if "mean error" in name}
        if costs.counts:
            figures["records: count error"] = float(1 / costs.counts)
            sentences.append(f"the number of records (per group) is measured to about ±{float(1 / costs.counts):.3g}")
        if spent := [costs.variables[one.name] for one in variables if one.column.is_number]:
            least = told_apart(min(spent))
            figures["fewest records of a number"] = float(least)
            sentences.append("a number that most records have as 0 is as far off as with only the other records")
            sentences.append(scarce_words(least, " of a group" if groups else ""))
        sentences += self.without_weights(schema)
        return Forecast(self.product, len(variables) * models, tuple(sentences), figures)

    @staticmethod
    def _pairs(variables: tuple[Variable, ...], costs: Costs, records: int) -> list[float]:
        """What to expect of the rank correlations of numbers with those before them."""
        return [
            correlation_error(
                costs.variables[one.name], records, len(one.numbers), codes=bool(one.levels), wide=is_wide(one.column)
            )
            for one in variables
            for _ in one.numbers
            if one.column.is_number
        ]

    def _told(self, one: Variable, costs: Costs, records: int, models: int) -> tuple[str, dict[str, float]]:
        """What is to be expected of one variable, in words and figures."""
        epsilon = costs.variables[one.name]
        if not one.column.is_number:
            error = float(1 / epsilon)
            return f"{one.name}: counts by level are off by about {error:.3g}", {f"{one.name}: count error": error}
        cells, wide = math.prod(one.levels), is_wide(one.column)
        expected = expected_error(epsilon, records, one.has_predictors, cells, stays=costs.stays, wide=wide)
        figures = {
            f"{one.name}: rank error": expected.ranks * math.sqrt(models),  # of the whole file
            f"{one.name}: quantiles": float(expected.quantiles),
            f"{one.name}: mean error, alike": expected.alike,
            f"{one.name}: mean error": expected.mean,
            f"{one.name}: mean error, heavy tail": expected.heavy,
        }
        words = (
            f"{one.name}: {expected.quantiles} quantiles, each off by about {expected.ranks:.3g} ranks "
            f"({100 * expected.ranks / records:.2g}% of the records); the mean is off by about "
            f"{100 * expected.alike:.2g}% if the number is as alike as ages are, by {100 * expected.mean:.2g}% if as "
            f"skewed as incomes, and by {100 * expected.heavy:.2g}% if as skewed as wealth"
        )
        return words, figures

    # ------------------------------------------------------------ acting

    def measure(self, data: Confidential, entropy: Entropy) -> ReleasedGroups:
        names, variables = self.reads(data.schema), self.variables(data.schema)
        columns = read(data, names)
        kept = None
        if self.keep:
            # In the order of their values: the order of the confidential file says nothing then.
            order = np.lexsort([columns[name] for name in reversed(self.keep)])
            kept = {name: columns[name][order] for name in self.keep}
        records = self.rows
        if records is None and self._counts_are_public:
            records = len(columns[self.columns[0]])
        costs, groups = self._costs(variables), self._groups(data.schema)
        return measure(columns, variables, groups, costs, records, kept, self.weighing(data.schema), entropy)
