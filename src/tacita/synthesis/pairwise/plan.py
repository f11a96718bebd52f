"""`PairwiseSynthesis`: records that agree with noisy tables of all pairs of columns."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from itertools import combinations_with_replacement
from math import sqrt
from typing import Any, ClassVar, Literal

import numpy as np
from attrs import Attribute as Setting
from attrs import field, frozen

from tacita.data.confidential import Confidential
from tacita.data.gathered import Coded, columns_of
from tacita.data.schema import Schema
from tacita.errors import UsageError
from tacita.noise.concentrated import rho_for
from tacita.noise.entropy import Entropy
from tacita.noise.gaussian import LARGEST_VARIANCE
from tacita.plan import Forecast
from tacita.plan.fields import Named, as_cuts, as_delta, one_of, rising, whole
from tacita.plan.how import FREE, SIZE, How
from tacita.privacy import Loss
from tacita.synthesis.attributes import Attribute, attribute_of
from tacita.synthesis.base import Synthesizer
from tacita.synthesis.pairwise.choosing import choose_pairs, how_many
from tacita.synthesis.pairwise.measuring import measure
from tacita.synthesis.pairwise.model import Answer, PairwiseModel, Tables, zeros_among
from tacita.synthesis.pairwise.queries import Query, error, mean_off, queries, singles, some_queries
from tacita.synthesis.pairwise.targets import Targets

Select = Literal["auto", "all", "private"]

# Shares of the budget where pairs are chosen privately; the pairs that were chosen get the rest.
_ONE_WAY, _CHOOSING = Fraction(1, 2), Fraction(7, 100)
_CLEAR = 0.15  # all pairs are carried if the noise alone moves less than this share of records, on average
_MOST_CELLS = 20_000_000
_ROOM_TO_CHOOSE = 10  # chosen pairs are paid one by one, which may take more noise than all of them together
_MOST_UNSURE = 1e6  # records; files as long as the noise happens to say might not fit anywhere
_USUAL = 10_000  # records, where their number is neither public nor given


def _as_pairs(given: Sequence[Sequence[str]]) -> tuple[tuple[str, str], ...]:
    pairs = []
    for pair in given if isinstance(given, Iterable) else [given]:
        if (
            not isinstance(pair, Sequence)
            or isinstance(pair, str)
            or len(pair) != 2
            or not all(isinstance(one, str) for one in pair)
        ):
            raise UsageError('pairs: give two names each, such as [["age", "sex"], ["age", "vote"]]')
        if len(set(pair)) == 1:
            raise UsageError(f"pairs: {pair[0]} stands beside itself; give two different columns")
        pairs.append((min(pair), max(pair)))
    if len(set(pairs)) != len(pairs):
        raise UsageError("pairs: a pair is listed twice; each is measured once")
    return tuple(sorted(pairs))


def _of_columns(plan: Any, setting: Setting[Any], given: tuple[tuple[str, str], ...]) -> None:
    for name in sorted({name for pair in given for name in pair}):
        if name not in plan.columns:
            raise UsageError(f"pairs: {name} is not in columns; add it there, or drop its pairs")


@frozen(kw_only=True)
class PairwiseSynthesis(Synthesizer[PairwiseModel]):
    """Synthetic person files: all pairs of columns measured, and records built to agree with all of them at once.

    Every one-way table and every pair of columns gets discrete Gaussian noise; where the budget cannot carry all
    pairs, the ones that matter are chosen privately. Synthetic records start unrelated and change one value at a time
    as long as that brings their tables nearer to the measured ones. `cuts` are public bins for numbers; combinations
    that the schema's [[zeros]] call impossible never occur. `pairs` are measured in any case: those known to matter, or
    released before, such as columns that follow one another in a `StepsModel` (its `pairs`). `rows` is the length
    of the synthetic files; without it they are as long as the confidential one, as far as that is known.

    >>> print(PairwiseSynthesis(["age", "vote"], "1", delta="1e-9").guarantee)
    ε = 1, δ = 1e-09 under one record replaced
    """

    model = PairwiseModel
    proof = "synthesis/pairwise/pairwise.md"
    former: ClassVar[Mapping[str, str]] = {"attributes": "columns"}
    takes_any_rows = True
    brings = "counts"
    concentrated = True

    delta: Fraction = field(default=Fraction(1, 10**9), converter=as_delta)
    cuts: Named[tuple[float, ...]] = field(default=Named(), converter=as_cuts, validator=rising)
    select: Select = field(default="auto", validator=one_of(Select))
    pairs: tuple[tuple[str, str], ...] = field(default=(), converter=_as_pairs, validator=_of_columns)
    rows: int | None = field(default=None, validator=whole(1, 10**9, optional=True))

    def __attrs_post_init__(self) -> None:
        rho_for(self.epsilon, self.delta)  # refuses a δ that no noise can keep

    @property
    def loss(self) -> Loss:
        return Loss(self.epsilon, delta=self.delta)

    @property
    def how(self) -> How:
        return How(
            "Each column, and pairs of columns, were counted, and random noise was added to each count; where not all "
            "pairs were counted, which ones was decided by a random draw that was paid for too. The files are drawn "
            "from the noisy counts alone.",
            SIZE if self.size_is_public else "",
            FREE,
        )

    # ------------------------------------------------------------ what it will do

    def attributes(self, schema: Schema) -> tuple[Attribute, ...]:
        return tuple(attribute_of(schema, name, self.cuts.get(name)) for name in self.columns)

    def reads(self, schema: Schema) -> tuple[str, ...]:
        levels = self._levels(schema)
        cells = sum(a * b for a, b in combinations_with_replacement(levels, 2))
        if cells > _MOST_CELLS:
            raise UsageError(
                f"columns: their levels make {cells:,} pairs, more than {_MOST_CELLS:,}; give wider cuts to the "
                "numbers or leave a column out"
            )
        if max(one.variance for one in self._all(levels)) > LARGEST_VARIANCE / _ROOM_TO_CHOOSE:
            raise UsageError("epsilon: too small for the noise on so many tables; raise it or leave columns out")
        if not self.size_is_public and self.rows is None:
            ones = [one for one in self._all(levels) if len(one.attributes) == 1]
            unsure = sum(1 / (float(one.variance) * levels[one.attributes[0]]) for one in ones) ** -0.5
            if unsure > _MOST_UNSURE:
                raise UsageError(
                    f"rows: the number of records would be known to ±{unsure:.1g} only; give rows, or raise epsilon"
                )
        for zero in schema.zeros:
            if len(zero) > 2 and all(name in self.columns for name, _ in zero):
                raise UsageError(
                    f"zeros: {', '.join(name for name, _ in zero)} make an impossible combination of more than two "
                    "columns, which this method cannot keep off; join the columns into one, or use StepsSynthesis"
                )
        zeros = zeros_among(self.attributes(schema), schema)
        if zeros and Targets(levels, zeros).possible() is None:
            raise UsageError("zeros: no combination of the columns' levels is left; take an entry out of [[zeros]]")
        return self.columns

    def _levels(self, schema: Schema) -> tuple[int, ...]:
        return tuple(one.size for one in self.attributes(schema))

    def _all(self, levels: tuple[int, ...]) -> list[Query]:
        return queries(levels, rho_for(self.epsilon, self.delta), self.size_is_public)

    def _chooses(self, levels: tuple[int, ...], rows: int) -> bool:
        if len(levels) < 2 or self.select == "all" or len(self.pairs) == len(levels) * (len(levels) - 1) // 2:
            return False
        if self.select == "private":
            return True
        return _off(self._all(levels), levels, rows)[0] > _CLEAR

    def forecast(self, schema: Schema) -> Forecast:
        self.reads(schema)
        levels = self._levels(schema)
        rows = self.rows or _USUAL
        tables = self._all(levels)
        noise, distance = _off(tables, levels, rows)
        errors = [sqrt(one.variance) for one in tables]
        sentences = [
            f"{len(levels)} one-way tables and {len(tables) - len(levels)} pairs; standard deviation of the noise "
            f"{min(errors):.3g} to {max(errors):.3g} per number",
            f"with {rows:,} records the noise alone moves about {100 * noise:.2g}% of the records of a table of two "
            f"columns; once all tables agree, files are off by about {100 * distance:.2g}%",
        ]
        if self._chooses(levels, rows):
            chosen, share = how_many(len(levels)) - len(self.pairs), 100 * float(_CHOOSING)
            sentences.append(
                f"that is much: {share:.0f}% of the budget chooses {chosen} pairs worth measuring"
                if chosen > 0
                else "that is much: only the given pairs are measured"
            )
        sentences += self.without_weights(schema)
        if weights := [name for name in self.columns if schema[name].role == "weight"]:
            sentences.append(
                f"{weights[0]} is a column like any other here: weighted totals are not measured, and weighted means "
                "may be far off; FileSynthesis and SurveySynthesis hold files to them"
            )
        figures = {
            "mean total variation from noise": noise,
            "distance of tables of two": distance,
            "pairs": float(len(tables) - len(levels)),
        }
        return Forecast(self.product, sum(len(one.attributes) for one in tables), tuple(sentences), figures)

    # ------------------------------------------------------------ acting

    def measure(self, data: Confidential, entropy: Entropy) -> Tables:
        self.reads(data.schema)
        columns = columns_of(data, self.columns)
        coded = columns.coded(self.attributes(data.schema))
        public = columns.records if self.size_is_public else None
        answers = self._measured(coded, self._levels(data.schema), public, entropy)
        return Tables(_noisy_records(answers) if public is None else public, answers)

    def _measured(
        self, coded: Coded, levels: tuple[int, ...], public: int | None, entropy: Entropy
    ) -> tuple[Answer, ...]:
        """All tables; or one-way tables, then the choice of pairs, then these."""
        if not self._chooses(levels, public or self.rows or _USUAL):
            return measure(coded, self._all(levels), entropy)
        rho = rho_for(self.epsilon, self.delta)
        replace = self.size_is_public
        ones = measure(coded, some_queries(singles(levels), levels, rho * _ONE_WAY, replace), entropy)
        records = _noisy_records(ones) if public is None else public
        given = sorted(_between([self.columns.index(name) for name in pair]) for pair in self.pairs)
        choosing = _CHOOSING if len(given) < how_many(len(levels)) else Fraction(0)
        budgets = rho * choosing, rho * (1 - _ONE_WAY - choosing)
        pairs = given
        if choosing:
            pairs = choose_pairs(coded, levels, ones, records, budgets, replace, entropy, given)
        return ones + measure(coded, some_queries(pairs, levels, budgets[1], replace), entropy)


def _off(tables: list[Query], levels: tuple[int, ...], rows: int) -> tuple[float, float]:
    """What noise moves in tables of two columns, and by how much files will be off."""
    return mean_off({one.attributes: error(one, levels) for one in tables if len(one.attributes) == 2}, levels, rows)


def _between(places: Sequence[int]) -> tuple[int, int]:
    return min(places), max(places)


def _noisy_records(answers: tuple[Answer, ...]) -> int:
    """The number of records as the one-way tables tell it, each weighted by its noise."""
    ones = [answer for answer in answers if len(answer.query.attributes) == 1]
    weights = np.array([1 / (float(one.query.variance) * one.values.size) for one in ones])
    return max(1, round(float(np.average([one.values.sum() for one in ones], weights=weights))))
