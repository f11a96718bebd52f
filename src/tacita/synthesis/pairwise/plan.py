"""`PairwiseSynthesis`: records that agree with noisy tables of all pairs of attributes."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations_with_replacement
from math import sqrt
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from tacita.data.confidential import Confidential
from tacita.data.reading import read
from tacita.data.schema import Schema
from tacita.errors import UsageError
from tacita.noise.concentrated import rho_for
from tacita.noise.entropy import Entropy, Request
from tacita.noise.gaussian import LARGEST_VARIANCE
from tacita.plan import ONE_ROW, Forecast, Rehearsable
from tacita.plan.how import FREE, SIZE, How
from tacita.privacy import AddRemoveOne, Guarantee, Loss, Number, ReplaceOne, exact, text
from tacita.privacy.json_form import neighbours_to_json
from tacita.synthesis.attributes import Attribute, attribute_of
from tacita.synthesis.pairwise.choosing import choose_pairs, how_many
from tacita.synthesis.pairwise.measuring import measure
from tacita.synthesis.pairwise.model import Answer, PairwiseModel, unpacked, zeros_among
from tacita.synthesis.pairwise.queries import Query, error, queries, singles, some_queries
from tacita.synthesis.pairwise.targets import Targets

Select = Literal["auto", "all", "private"]

# Shares of the budget where pairs are chosen privately; the pairs that were chosen get the rest.
_ONE_WAY, _CHOOSING = Fraction(1, 2), Fraction(7, 100)
_CLEAR = 0.15  # all pairs are carried if the noise alone moves less than this share of records, on average
_MOST_CELLS = 20_000_000
_ROOM_TO_CHOOSE = 10  # chosen pairs are paid one by one, which may take more noise than all of them together
_MOST_UNSURE = 1e6  # records; files as long as the noise happens to say might not fit anywhere
_USUAL = 10_000  # records, where their number is neither public nor given


@dataclass(frozen=True, init=False)
class PairwiseSynthesis(Rehearsable):
    """Synthetic person files: all pairs of attributes measured, and records built to agree with all of them at once.

    Every one-way table and every pair of attributes gets discrete Gaussian noise; where the budget cannot carry all
    pairs, the ones that matter are chosen privately. Synthetic records start unrelated and change one value at a time
    as long as that brings their tables nearer to the measured ones. `cuts` are public bins for numbers; combinations
    that the schema's [[zeros]] call impossible never occur. `pairs` are measured in any case: those known to matter, or
    released before, such as attributes that follow one another in a `StepsModel` (its `pairs`). `rows` is the length
    of the synthetic files; without it they are as long as the confidential one, as far as that is known.

    >>> print(PairwiseSynthesis(["age", "vote"], "1", delta="1e-9").guarantee)
    ε = 1, δ = 1e-09 under one record's record replaced
    """

    takes_any_rows = True

    attributes: tuple[str, ...]
    epsilon: Fraction
    delta: Fraction
    cuts: tuple[tuple[str, tuple[float, ...]], ...]
    select: Select
    pairs: tuple[tuple[str, str], ...]
    rows: int | None
    sets: int
    neighbours: AddRemoveOne | ReplaceOne

    def __init__(
        self,
        attributes: Sequence[str],
        epsilon: Number,
        *,
        delta: Number = "1e-9",
        cuts: Mapping[str, Sequence[float]] | Sequence[Any] = (),
        select: Select = "auto",
        pairs: Sequence[Sequence[str]] = (),
        rows: int | None = None,
        sets: int = 1,
        neighbours: AddRemoveOne | ReplaceOne = ReplaceOne("record"),  # noqa: B008 -- frozen
    ) -> None:
        given = {
            "attributes": _names(attributes),
            "epsilon": exact(epsilon, "epsilon"),
            "delta": exact(delta, "delta"),
            "cuts": _cuts(cuts),
            "select": select,
            "pairs": _pairs(pairs),
            "rows": rows,
            "sets": sets,
            "neighbours": neighbours,
        }
        for name, value in given.items():
            object.__setattr__(self, name, value)
        self._check()

    def _check(self) -> None:
        if len(self.attributes) < 1:
            raise UsageError('attributes: name the columns to synthesize, such as ["age", "sex"]')
        if self.select not in ("auto", "all", "private"):
            raise UsageError('select: must be "auto", "all" or "private"')
        if not isinstance(self.neighbours, AddRemoveOne | ReplaceOne):
            raise UsageError("neighbours: must be AddRemoveOne(unit) or ReplaceOne(unit)")
        for key, value in (("rows", self.rows), ("sets", self.sets)):
            if value is not None and (isinstance(value, bool) or not isinstance(value, int) or value < 1):
                raise UsageError(f"{key}: must be a whole number of at least 1")
        for name, _ in self.cuts:
            if name not in self.attributes:
                raise UsageError(f"cuts: {name} is not in attributes; add it there, or drop its cuts")
        for name in {name for pair in self.pairs for name in pair}:
            if name not in self.attributes:
                raise UsageError(f"pairs: {name} is not in attributes; add it there, or drop its pairs")
        rho_for(self.epsilon, self.delta)

    @property
    def guarantee(self) -> Guarantee:
        return Guarantee(self.neighbours, Loss(self.epsilon, delta=self.delta), assumes=(ONE_ROW,))

    @property
    def how(self) -> How:
        return How(
            "Each column, and pairs of columns, were counted, and random noise was added to each count; where not all "
            "pairs were counted, which ones was decided by a random draw that was paid for too. The files are drawn "
            "from the noisy counts alone.",
            SIZE if self._replace else "",
            FREE,
        )

    @property
    def proof(self) -> str:
        return "synthesis/pairwise/pairwise.md"

    def describe(self) -> dict[str, Any]:
        return {
            "mechanism": type(self).__name__,
            "attributes": list(self.attributes),
            "epsilon": text(self.epsilon),
            "delta": text(self.delta),
            "cuts": {name: list(each) for name, each in self.cuts},
            "select": self.select,
            "pairs": [list(pair) for pair in self.pairs],
            "rows": self.rows,
            "sets": self.sets,
            "neighbours": neighbours_to_json(self.neighbours),
        }

    # ------------------------------------------------------------ what it will do

    @property
    def _replace(self) -> bool:
        return isinstance(self.neighbours, ReplaceOne)

    def _attributes(self, schema: Schema) -> tuple[Attribute, ...]:
        cuts = dict(self.cuts)
        return tuple(attribute_of(schema, name, cuts.get(name)) for name in self.attributes)

    def columns(self, schema: Schema) -> tuple[str, ...]:
        levels = self._levels(schema)
        cells = sum(a * b for a, b in combinations_with_replacement(levels, 2))
        if cells > _MOST_CELLS:
            raise UsageError(
                f"attributes: their levels make {cells:,} pairs, more than {_MOST_CELLS:,}; give wider cuts to the "
                "numbers or leave an attribute out"
            )
        if max(one.variance for one in self._all(levels)) > LARGEST_VARIANCE / _ROOM_TO_CHOOSE:
            raise UsageError("epsilon: too small for the noise on so many tables; raise it or leave attributes out")
        if not self._replace and self.rows is None:
            ones = [one for one in self._all(levels) if len(one.attributes) == 1]
            unsure = sum(1 / (float(one.variance) * levels[one.attributes[0]]) for one in ones) ** -0.5
            if unsure > _MOST_UNSURE:
                raise UsageError(
                    f"rows: the number of records would be known to ±{unsure:.1g} only; give rows, or raise epsilon"
                )
        for zero in schema.zeros:
            if len(zero) > 2 and all(name in self.attributes for name, _ in zero):
                raise UsageError(
                    f"zeros: {', '.join(name for name, _ in zero)} make an impossible combination of more than two "
                    "columns, which this method cannot keep off; join the columns into one, or use StepsSynthesis"
                )
        zeros = zeros_among(self._attributes(schema), schema)
        if zeros and Targets(levels, zeros).possible() is None:
            raise UsageError("zeros: no combination of the attributes' levels is left; take an entry out of [[zeros]]")
        return self.attributes

    def _levels(self, schema: Schema) -> tuple[int, ...]:
        return tuple(one.size for one in self._attributes(schema))

    def _all(self, levels: tuple[int, ...]) -> list[Query]:
        return queries(levels, rho_for(self.epsilon, self.delta), self._replace)

    def _chooses(self, levels: tuple[int, ...], rows: int) -> bool:
        if len(levels) < 2 or self.select == "all" or len(self.pairs) == len(levels) * (len(levels) - 1) // 2:
            return False
        if self.select == "private":
            return True
        return _mean_noise(self._all(levels), levels, rows) > _CLEAR

    def forecast(self, schema: Schema) -> Forecast:
        self.columns(schema)
        levels = self._levels(schema)
        rows = self.rows or _USUAL
        found = self._all(levels)
        noise = _mean_noise(found, levels, rows)
        sentences = [
            f"{len(levels)} one-way tables and {len(found) - len(levels)} pairs; standard deviation of the noise "
            f"{sqrt(min(q.variance for q in found)):.3g} to {sqrt(max(q.variance for q in found)):.3g} per number",
            f"with {rows:,} records the noise alone moves about {100 * noise:.2g}% of the records of a table of two "
            "attributes, before the tables are reconciled",
        ]
        if self._chooses(levels, rows):
            chosen, share = how_many(len(levels)) - len(self.pairs), 100 * float(_CHOOSING)
            sentences.append(
                f"that is much: {share:.0f}% of the budget chooses {chosen} pairs worth measuring"
                if chosen > 0
                else "that is much: only the given pairs are measured"
            )
        figures = {"mean total variation from noise": noise, "pairs": float(len(found) - len(levels))}
        product = f"Synthetic records of {len(levels)} attributes"
        return Forecast(product, sum(len(one.attributes) for one in found), tuple(sentences), figures)

    # ------------------------------------------------------------ acting

    def run(self, data: Confidential, entropy: Entropy) -> PairwiseModel:
        schema = data.schema
        self.columns(schema)
        attributes = self._attributes(schema)
        columns = read(data, self.attributes)
        codes = np.column_stack([one.code(columns[one.name]) for one in attributes])
        levels = self._levels(schema)
        public = len(codes) if self._replace else None
        answers = self._measured(codes, levels, public, entropy)
        entropy.announce(Request("seed of the synthetic files", "uniform words", np.zeros(0), np.zeros(0)))
        seed = int(entropy.words(1)[0])
        records = public if public is not None else _noisy_records(answers)
        return self._model(schema, attributes, answers, records, seed, entropy.rehearsal)

    def _measured(
        self, codes: NDArray[np.int64], levels: tuple[int, ...], public: int | None, entropy: Entropy
    ) -> tuple[Answer, ...]:
        """All tables; or one-way tables, then the choice of pairs, then these."""
        if not self._chooses(levels, public or self.rows or _USUAL):
            return measure(codes, levels, self._all(levels), entropy)
        rho = rho_for(self.epsilon, self.delta)
        ones = measure(codes, levels, some_queries(singles(levels), levels, rho * _ONE_WAY, self._replace), entropy)
        records = _noisy_records(ones) if public is None else public
        given = sorted(_between([self.attributes.index(name) for name in pair]) for pair in self.pairs)
        choosing = _CHOOSING if len(given) < how_many(len(levels)) else Fraction(0)
        budgets = rho * choosing, rho * (1 - _ONE_WAY - choosing)
        pairs = given
        if choosing:
            pairs = choose_pairs(codes, levels, ones, records, budgets, self._replace, entropy, given)
        return ones + measure(codes, levels, some_queries(pairs, levels, budgets[1], self._replace), entropy)

    def restore(self, stored: bytes) -> PairwiseModel:
        schema = Schema.from_dict(json.loads(stored)["schema"])
        attributes = self._attributes(schema)
        content, answers = unpacked(stored, attributes)
        return self._model(schema, attributes, answers, content["records"], content["seed"], content["rehearsal"])

    def _model(
        self,
        schema: Schema,
        attributes: tuple[Attribute, ...],
        answers: tuple[Answer, ...],
        records: int,
        seed: int,
        rehearsal: bool,
    ) -> PairwiseModel:
        rows = records if self.rows is None else self.rows
        return PairwiseModel(schema, attributes, answers, records, rows, self.sets, seed, self.describe(), rehearsal)


def _mean_noise(found: list[Query], levels: tuple[int, ...], rows: int) -> float:
    pairs = [query for query in found if len(query.attributes) == 2]
    return float(np.mean([min(error(query, levels) / 2 / rows, 1.0) for query in pairs])) if pairs else 0.0


def _between(places: Sequence[int]) -> tuple[int, int]:
    return min(places), max(places)


def _noisy_records(answers: tuple[Answer, ...]) -> int:
    """The number of records as the one-way tables tell it, each weighted by its noise."""
    ones = [answer for answer in answers if len(answer.query.attributes) == 1]
    weights = np.array([1 / (float(one.query.variance) * one.values.size) for one in ones])
    return max(1, round(float(np.average([one.values.sum() for one in ones], weights=weights))))


def _cuts(given: Mapping[str, Sequence[float]] | Sequence[Any]) -> tuple[tuple[str, tuple[float, ...]], ...]:
    try:
        pairs = [(name, tuple(each)) for name, each in (given.items() if isinstance(given, Mapping) else given)]
    except (TypeError, ValueError):
        raise UsageError("cuts: give a list of borders for each number, such as {age = [18, 65]}") from None
    for name, each in pairs:
        if not all(isinstance(cut, int | float) and not isinstance(cut, bool) for cut in each):
            raise UsageError(f"cuts.{name}: must be numbers without quotes, such as [18, 65]")
    return tuple(sorted((name, tuple(float(cut) for cut in each)) for name, each in pairs))


def _pairs(given: Sequence[Sequence[str]]) -> tuple[tuple[str, str], ...]:
    found = []
    for pair in given:
        if isinstance(pair, str) or len(pair) != 2 or not all(isinstance(one, str) for one in pair):
            raise UsageError('pairs: give two names each, such as [["age", "sex"], ["age", "vote"]]')
        if len(set(pair)) == 1:
            raise UsageError(f"pairs: {pair[0]} stands beside itself; give two different attributes")
        found.append((min(pair), max(pair)))
    if len(set(found)) != len(found):
        raise UsageError("pairs: a pair is listed twice; each is measured once")
    return tuple(sorted(found))


def _names(given: Sequence[str]) -> tuple[str, ...]:
    if isinstance(given, str):
        raise UsageError(f'attributes: give a list of names, such as ["{given}"], not a single string')
    if not isinstance(given, Sequence) or not all(isinstance(one, str) for one in given):
        raise UsageError('attributes: give a list of names, such as ["age", "sex"]')
    if len(set(given)) != len(tuple(given)):
        raise UsageError("attributes: a name is listed twice; each is used once")
    return tuple(given)
