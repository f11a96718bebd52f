"""`FileSynthesis`: one synthesizer for ordinary files of categories and numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from math import prod, sqrt
from typing import Any, ClassVar

import numpy as np
from attrs import Attribute, field, frozen
from numpy.typing import NDArray

from tacita.data import gathered
from tacita.data.cells import Amount
from tacita.data.confidential import Confidential
from tacita.data.schema import Integer, Numeric, Rulebook, Schema
from tacita.data.schema.rulebook import any_possible
from tacita.errors import UsageError
from tacita.mechanisms.table.noise import Reach
from tacita.noise.concentrated import rho_for
from tacita.noise.entropy import Entropy
from tacita.plan import Forecast
from tacita.plan.fields import as_delta, whole
from tacita.plan.how import FREE, SIZE, How, Worth
from tacita.privacy import Loss
from tacita.synthesis.base import Synthesizer
from tacita.synthesis.file.agreeing import MOST_CELLS, as_share, as_tables, of_columns, share_of_tables
from tacita.synthesis.file.bins import MOST_BINS, bins_for
from tacita.synthesis.file.budget import Budget
from tacita.synthesis.file.columns import FEW, LISTED, Category, Grid, Shape, column_of, ordered_states
from tacita.synthesis.file.division import division
from tacita.synthesis.file.intervals import interval_words, worth_of
from tacita.synthesis.file.measuring import measure_plain, measure_tables
from tacita.synthesis.file.model import FileModel, columns_of
from tacita.synthesis.file.numbers import is_listed, measure_number, noisy, told_apart
from tacita.synthesis.file.released import Tables
from tacita.synthesis.file.rounds import most_tables, share_of_rounds
from tacita.synthesis.file.targets import records_of
from tacita.synthesis.pinned.measuring import Pin, Pinning, ranks_off, spending, worth_pinning
from tacita.synthesis.pinned.plain import LIKE_AGES, LIKE_INCOMES, LIKE_WEALTH, likely_off, scarce_words, weighted_words

Floats = NDArray[np.float64]

_COUNT = Fraction(1, 100)  # of the budget, where the number of records is not public
_NUMBERS, _FEW_NUMBERS = Fraction(1, 2), Fraction(3, 4)  # of the share of columns that need cuts; of few of them
_STILL_FEW = Fraction(1, 4)  # of the budget
_WIDE = 2  # times as much for a number of many values as for one whose values are counted
_TOTAL, _MOST_TOTALS = Fraction(1, 20), Fraction(1, 5)  # of the budget, for each total and for all
_USUAL = 10_000  # records, where their number is neither public nor given
_OTHER_SIZES = (1_000, 100_000)
_FINEST = 1000  # no table gets a smaller part of the budget than a column's over this
_LOUDEST = 1e8  # records
_MOST_UNSURE = 1e6  # records; files as long as the noise happens to say might not fit anywhere


def one_of_columns(plan: Any, setting: Attribute[Any], given: Any) -> None:
    if given is not None and given not in plan.columns:
        raise UsageError(f"{setting.name}: must name one of the columns")


@frozen(kw_only=True)
class FileSynthesis(Synthesizer[FileModel]):
    """Synthetic files of categories and numbers together, from noisy tables of columns, and of pairs and triples.

    Numbers need no cuts: their point masses and quantiles are found privately, and values in the files have the
    declared resolution. Missing numbers that the schema calls a state of their own (`missing = "own state"`) stay
    missing, in dependence on the other columns. Which pairs of columns are counted is chosen privately, and where the
    noise lets them be seen, tables of three columns that these do not explain; a random field is fitted to all noisy
    tables, and records of the files agree with what is more than noise in them. What the
    schema's [[rules]] and [[zeros]] say holds in every record; nothing is spent on columns that follow from others.
    Totals of numbers are measured directly as well, of values times weights where a column is a `weight`, named here
    or in the schema, and the files are held to them.

    With `delta = 0` the promise is pure: noise is then larger. `bins` is how many bins a number has in tables of two
    columns; without it they are as many as the budget carries. `rows` is the length of the synthetic files.

    `keep` names tables of two or three columns that the files must agree with: they are measured in any case, with
    `keep_share` of what tables get. Tables that are published beside the files cost nothing (`FileModel.agreeing`).

    >>> print(FileSynthesis(["age", "income"], "1", delta="1e-9").guarantee)
    ε = 1, δ = 1e-09 under one record replaced
    """

    model = FileModel
    proof = "synthesis/file/file.md"
    takes_any_rows = True
    brings = "values"
    concentrated = True
    takes_missing = True
    keeps_rules = True
    later: ClassVar[Mapping[str, Any]] = {"keep": [], "keep_share": "0.25"}

    delta: Fraction = field(default=Fraction(1, 10**9), converter=as_delta)
    weight: str | None = field(default=None, validator=one_of_columns)
    bins: int | None = field(default=None, validator=whole(2, 200, optional=True))
    rows: int | None = field(default=None, validator=whole(1, 10**9, optional=True))
    keep: tuple[tuple[str, ...], ...] = field(default=(), converter=as_tables, validator=of_columns)
    keep_share: Fraction = field(default=Fraction(1, 4), converter=as_share, validator=share_of_tables)

    def __attrs_post_init__(self) -> None:
        self.budget  # noqa: B018 -- refuses a δ that no noise can keep

    @property
    def loss(self) -> Loss:
        return Loss(self.epsilon, delta=self.delta) if self.delta else Loss(self.epsilon)

    @property
    def budget(self) -> Budget:
        total = rho_for(self.epsilon, self.delta) if self.delta else self.epsilon
        return Budget(total, not self.delta, self.size_is_public)

    @property
    def how(self) -> How:
        return How(
            "Each column, pairs of columns, and some sets of three were counted, and random noise was added to each "
            "count. Which pairs and sets were counted, and where a number is cut into bins, was decided by random "
            "draws that were paid for too. "
            + ("Tables that were asked for by name were counted in any case. " if self.keep else "")
            + "The totals of numbers, weighted where records have weights, were measured with noise as well. "
            "The files are drawn from these noisy results alone.",
            SIZE if self.size_is_public else "",
            FREE,
        )

    # ------------------------------------------------------------ what it will do

    def reads(self, schema: Schema) -> tuple[str, ...]:
        for name in self.columns:
            column_of(schema, name)
        weight = self.weighed_by(schema)
        grid = self._numbers(schema).get(weight or "")
        if weight is not None and (grid is None or grid.first < 0):
            raise UsageError(
                f"weight: {weight} must be a number whose lower bound is at least 0, and follow from no rule"
            )
        book = Rulebook.of(schema, self.columns)
        if book.rules and not any_possible(book):
            raise UsageError(
                "zeros: no combination of the columns' levels is left; take one out of [[zeros]] or [[rules]]"
            )
        self._refuse_keep(schema, book.drawn)
        if self.budget.typical(self.budget.total, _FINEST * len(book.drawn)) > _LOUDEST:
            raise UsageError("epsilon: too small for the noise on so many tables; raise it or leave columns out")
        if not self.size_is_public and self.rows is None:
            unsure = self.budget.typical(self.budget.total * _COUNT, 1)
            if unsure > _MOST_UNSURE:
                raise UsageError(
                    f"rows: the number of records would be known to ±{unsure:.1g} only; give rows, or raise epsilon"
                )
        return self.columns

    def _refuse_keep(self, schema: Schema, drawn: tuple[str, ...]) -> None:
        for table in self.keep:
            if follows := [name for name in table if name not in drawn]:
                raise UsageError(
                    f"keep: {follows[0]} follows from other columns by a rule; name those, or drop the table"
                )
            cells = prod(_likely(schema, name, self.bins or MOST_BINS) for name in table)
            if cells > MOST_CELLS:
                raise UsageError(
                    f"keep: {' × '.join(table)} has {cells:,} cells, more than {MOST_CELLS:,}; drop a column"
                )

    def _kept(self, names: Sequence[str]) -> list[tuple[int, ...]]:
        """The named tables, by the places of their columns."""
        return [tuple(sorted(names.index(name) for name in table)) for table in self.keep]

    def _drawn(self, schema: Schema) -> tuple[str, ...]:
        """The columns that follow from no other by a rule; nothing is spent on those that do."""
        return Rulebook.of(schema, self.columns).drawn

    def _numbers(self, schema: Schema) -> dict[str, Grid]:
        """The numbers whose values or quantiles are measured before any table."""
        public = {name: column_of(schema, name) for name in self._drawn(schema)}
        return {name: one[0] for name, one in public.items() if not isinstance(one, Category)}

    @property
    def _count(self) -> Fraction:
        """For the number of records."""
        return Fraction(0) if self.size_is_public else self.budget.total * _COUNT

    @property
    def variance_of_count(self) -> float:
        """Of the noise on the number of records, where it is not public."""
        return self.budget.table(self._count).variance

    def _amounts(self, schema: Schema, records: int) -> tuple[dict[str, Fraction], Fraction, Fraction]:
        """For each number, for each total, for tables."""
        total = self.budget.total
        cut = {
            name: _WIDE if grid.size > LISTED else 1 for name, grid in self._numbers(schema).items() if grid.size > FEW
        }
        share = Fraction(len(cut), len(self._drawn(schema)))
        whole = total * max(_NUMBERS * share, min(_FEW_NUMBERS * share, _STILL_FEW))
        each = {name: whole * one / sum(cut.values()) for name, one in cut.items()}
        number = len(self._totals(schema, records, each))
        total_each = total * min(_TOTAL, _MOST_TOTALS / max(number, 1))
        if records < worth_pinning(spending(total_each, pure=not self.delta), replaced=self.size_is_public):
            total_each = Fraction(0)
        return each, total_each, total - self._count - number * total_each - sum(each.values(), Fraction(0))

    def _totals(self, schema: Schema, records: int, each: Mapping[str, Fraction]) -> dict[str, Amount]:
        """What is added up directly: the weight, and numbers times it; without one, numbers whose values are not all
        counted, as far as `each` gets that much."""
        weight = self.weighed_by(schema)
        numbers = self._numbers(schema)
        wide = [
            name
            for name in each
            if (weight is not None or not is_listed(numbers[name], records, self.budget, each[name]))
            and name != weight
            and isinstance(schema[name].kind, Integer | Numeric)
        ]
        if weight is None:
            return {name: Amount((name,)) for name in wide}
        return {weight: Amount((weight,)), **{name: Amount((weight, name)) for name in wide}}

    def weighed_by(self, schema: Schema) -> str | None:
        """The column of weights: the one that is named, or the one that the schema calls a weight."""
        declared = [name for name in self.columns if schema[name].role == "weight"]
        return declared[0] if self.weight is None and len(declared) == 1 else self.weight

    def _bins(self, records: int, columns: int) -> int:
        return bins_for(records, columns, self.budget) if self.bins is None else self.bins

    def forecast(self, schema: Schema) -> Forecast:
        self.reads(schema)
        records = self.rows or _USUAL
        each, total_each, rest = self._amounts(schema, records)
        drawn = self._drawn(schema)
        levels = tuple(_likely(schema, name, self._bins(records, len(drawn))) for name in drawn)
        kept = self._kept(drawn)
        for_kept = rest * self.keep_share if kept else Fraction(0)
        spent = division(levels, records, self.budget, rest - for_kept, kept)
        sentences = [
            f"If there are {records:,} records: {len(levels)} tables of one column and {spent.number} of two; noise "
            f"alone moves about {100 * spent.noise:.2g}% of the records of one of two; once all agree, files are off "
            f"by about {100 * spent.distance:.2g}%"
        ]
        if rounds := share_of_rounds(levels, records, self.budget, spent.pairs):
            sentences.append(
                f"up to {100 * float(rounds):.0f}% of what tables get goes to about "
                f"{most_tables(levels, records, self.budget, spent.pairs * rounds)} of three columns that pairs do not "
                "explain, if there are any"
            )
        if kept:
            noise = max(sqrt(one.variance) for one in self.budget.tables(kept, levels, for_kept))
            sentences.append(f"keep: cells of the named tables are off by about {noise:.2g} records at most")
        figures = {
            "mean total variation from noise": spent.noise,
            "distance of tables of two": spent.distance,
            "pairs": float(spent.number),
        }
        measured = self._totals(schema, records, each)
        totals = measured if total_each else {}
        for name, grid in self._numbers(schema).items():
            states = levels[drawn.index(name)]
            noise = self.budget.typical(spent.ones, len(levels))
            rank = noise * sqrt(states) / 2 / records
            spread = noise * sqrt(states / 12) * (grid.size / grid.parts) / records
            figures[f"{name}: rank error of the median"] = rank
            if name not in totals:
                figures[f"{name}: error of the mean at most"] = spread
            # Of a mean that is held to a measured total more is said below.
            words = f", the mean by about {spread:.3g} if values fill their bounds, by less if they do not"
            sentences.append(
                f"{name}: the median is off by about {100 * rank:.2g}% of the ranks{'' if name in totals else words}"
            )
        if (weight := self.weighed_by(schema)) is not None:
            paid = spending(total_each, pure=not self.delta) if totals else None
            told, more = weighted_words([name for name in measured if name != weight], paid, records)
            sentences += [*told, "means that leave the weight out hang on few large values, and may be far off"]
            figures |= more
        elif totals:
            ranks = spending(total_each, pure=not self.delta).scale(Reach.of_one(1, 1))
            alike, mean, heavy = (likely_off(one, ranks, records) for one in (LIKE_AGES, LIKE_INCOMES, LIKE_WEALTH))
            errors = {", alike": alike, "": mean, ", heavy tail": heavy}
            figures |= {f"{name}: mean error{how}": one for name in totals for how, one in errors.items()}
            sentences.append(
                f"{', '.join(totals)}: totals are measured directly, and means are off by about {100 * alike:.2g}% if "
                f"a number is as alike as ages are, by {100 * mean:.2g}% if as skewed as incomes, and by "
                f"{100 * heavy:.2g}% if as skewed as wealth; one that most records have as 0 is as far off as with "
                "only the other records"
            )
        elif self._numbers(schema):
            sentences.append("means that hang on few large values may be far off")
        if self.rows is None and measured:
            sentences.append(self._means_of_other_sizes(schema))
        if each:
            least = max(told_apart(self.budget, one) for one in each.values())
            figures["fewest records of a number"] = float(least)
            sentences.append(scarce_words(least))
        if self.sets > 1 and spent.number and self._numbers(schema):
            sentences.append(interval_words(spent.noise))
        sentences += self.without_weights(schema)
        return Forecast(self.product, len(levels) + len(kept) + spent.number, tuple(sentences), figures)

    def worth(self, schema: Schema, measured: Mapping[str, Any]) -> Worth | None:
        """For readers of the page: which intervals of several files hold."""
        return worth_of(measured) if self.sets > 1 and self._numbers(schema) else None

    def _means_of_other_sizes(self, schema: Schema) -> str:
        """How many records there are is no part of a plan, and means hang on it more than on all else."""
        told, weighted = [], self.weighed_by(schema) is not None
        means = "weighted means" if weighted else "means"
        for records in _OTHER_SIZES:
            _, each, _ = self._amounts(schema, records)
            if not each:
                told.append(f"with {records:,} records no totals are measured, and {means} may be far off")
                continue
            paid = spending(each, pure=not self.delta)
            ranks = ranks_off(paid) if weighted else paid.scale(Reach.of_one(1, 1))
            mean, heavy = (100 * likely_off(sigma, ranks, records) for sigma in (LIKE_INCOMES, LIKE_WEALTH))
            told.append(
                f"with {records:,} records {means} are off by about {mean:.2g}%, or {heavy:.2g}% if like wealth"
            )
        return "; ".join(told)

    # ------------------------------------------------------------ acting

    def measure(self, data: Confidential, entropy: Entropy) -> Tables:
        self.reads(data.schema)
        book = Rulebook.of(data.schema, self.columns)
        names = book.drawn
        columns = gathered.columns_of(data, names)
        budget, records = self.budget, columns.records
        if not self.size_is_public:
            question = budget.table(self._count)
            records = max(1, int(noisy(np.array([records]), question, entropy, "number of records")[0]))
        each, total_each, rest = self._amounts(data.schema, records)
        totals = self._totals(data.schema, records, each) if total_each else {}
        shapes = {
            name: measure_number(columns.values(name), grid, records, budget, each[name], entropy, name)
            if name in each
            else Shape(records)
            for name, grid in self._numbers(data.schema).items()
        }
        bins = self._bins(records, len(names))
        coded = columns_of(book, data.schema, shapes, bins)
        levels = tuple(one.size for one in coded)
        bars = book.bars({one.name: one.spans for one in coded})
        kept, share, weighed_by = self._kept(names), self.keep_share, self.weighed_by(data.schema)
        weight = None if weighed_by is None else names.index(weighed_by)
        answers = measure_tables(
            columns.coded(coded),
            levels,
            records,
            budget,
            rest,
            entropy,
            ordered_states(coded),
            kept,
            share,
            bars,
            weight,
        )
        if not self.size_is_public:
            records, _ = records_of(answers, records, question.variance)
        pins = self._pins(data.schema, columns, shapes, totals, total_each, entropy)
        return Tables(records, bins, shapes, answers, pins)

    def _pins(
        self,
        schema: Schema,
        columns: gathered.Columns,
        shapes: Mapping[str, Shape],
        totals: Mapping[str, Amount],
        each: Fraction,
        entropy: Entropy,
    ) -> dict[str, Pin]:
        if not totals:
            return {}
        paid, replaced = spending(each, pure=not self.delta), self.size_is_public
        if self.weighed_by(schema) is not None:
            return Pinning(1, replaced, schema).measure_all(columns, totals, paid, entropy)
        grids = self._numbers(schema)
        return {
            name: measure_plain(columns.added([name]), grids[name], shapes[name], paid, replaced, entropy, name)
            for name in totals
        }


def _likely(schema: Schema, name: str, bins: int) -> int:
    """About how many states a column will have."""
    public = column_of(schema, name)
    if isinstance(public, Category):
        return public.size
    grid, missing = public
    return (grid.size if grid.size <= FEW else bins) + missing
