"""Everything of a self-check that sees confidential rows: one number for each check, with exact noise.

Proof: selfcheck.md. Every number is a whole one, and one record more, less or other changes it by no more than its
`Reach`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tacita.data.confidential import Confidential
from tacita.data.reading import read
from tacita.data.schema import Date
from tacita.mechanisms.table.noise import Budget, Reach
from tacita.noise.entropy import Entropy
from tacita.synthesis.selfcheck.report import CONFIDENCE, Finding, Report
from tacita.synthesis.selfcheck.yardstick import STEPS, Centred, Columns, Yardstick, centred, coded

Integers = NDArray[np.int64]


@dataclass(frozen=True)
class Question:
    """A whole number, how far one record moves it, how many of it make up one record or one mean, and by how much of
    the number of records it is off where that number is."""

    name: str
    value: int
    reach: Reach
    unit: int
    follows_records: Fraction = Fraction(0)
    unseen: float | None = None  # of a mean: how much of it lies beyond the clamp


def questions_of(columns: int, numbers: int, replaced: bool) -> int:
    """How many numbers a check releases, at most: the budget is divided by it."""
    return 2 * (columns > 0) + 2 * (columns > 1) + 3 * (numbers > 0) + (not replaced)


def measure(
    data: Confidential,
    file: pa.Table,
    names: tuple[str, ...],
    weight: str | None,
    budget: Budget,
    limits: Mapping[str, Fraction],
    replaced: bool,
    entropy: Entropy,
) -> Report:
    """The first synthetic file against the rows, by the columns of these names."""
    synthetic = coded(file, data.schema, names)
    yardstick = Yardstick.of(data.schema, synthetic)
    count = questions_of(len(yardstick.columns), len(yardstick.numbers), replaced)
    each = budget.share(Fraction(1, count))
    certainty = 1 - (1 - CONFIDENCE) / count
    rows = read(data, names, gaps=True)
    records, unsure = len(rows[names[0]]), 0
    if not replaced:
        one = Reach.of_one(1, 1)
        records = max(1, int(each.noisy(np.array([records]), one, entropy, "self-check: number of records")[0]))
        unsure = each.law(one).margin(certainty)
    comparison = _Comparison(yardstick, synthetic, rows, records, replaced)
    clear = each.law(Reach.of_one(STEPS, 1)).margin(certainty) / STEPS

    def noise(ends: tuple[int, int]) -> float:
        return _width(ends, replaced) / STEPS * clear / records

    means = [
        answer
        for number in yardstick.numbers
        if not isinstance(data.schema[number.name].kind, Date)  # whose zero is a convention
        for answer in centred(number.name, weight if number.name != weight else None, synthetic, noise)
    ]
    findings = []
    for asked in (*comparison.questions(), *_means(means, rows, replaced)):
        noisy = int(each.noisy(np.array([asked.value]), asked.reach, entropy, f"self-check: {asked.name}")[0])
        law = each.law(asked.reach)
        margin, slack = law.margin(certainty), float(asked.follows_records * unsure)
        most, fewest = records + unsure, records - unsure
        high = ((noisy + margin) / asked.unit + slack) / fewest if fewest > 0 else None
        if asked.unseen is None:
            high = 1.0 if high is None else min(max(high, 0.0), 1.0)
        elif high is not None:
            high = max(high, 0.0) + asked.unseen
        low = max(((noisy - margin) / asked.unit - slack) / most, 0.0)
        value = max(noisy / asked.unit / records, 0.0)
        limit = float(limits[asked.name])
        findings.append(Finding(asked.name, min(value, high or value), low, high, limit, noisy, law.describe()))
    return Report(records, tuple(findings))


@dataclass(frozen=True)
class _Comparison:
    """The tables of the rows beside what the synthetic file, brought to as many records, would have there."""

    yardstick: Yardstick
    synthetic: Columns
    rows: Columns
    records: int
    replaced: bool

    def questions(self) -> Iterator[Question]:
        codes = [(one.code(self.synthetic[one.name]), one.code(self.rows[one.name])) for one in self.yardstick.columns]
        sizes = [one.size for one in self.yardstick.columns]
        singles = [self._distance(ours, theirs, size) for (ours, theirs), size in zip(codes, sizes, strict=True)]
        yield from self._distances("one_way", singles)
        pairs = []
        for a, b in self.yardstick.pairs:
            ours, theirs = (codes[a][at] * sizes[b] + codes[b][at] for at in (0, 1))
            pairs.append(self._distance(ours, theirs, sizes[a] * sizes[b]))
        if pairs:
            yield from self._distances("two_way", pairs)
        if self.yardstick.numbers:
            yield self._ranks()
            yield self._beyond()

    def _distance(self, ours: Integers, theirs: Integers, size: int) -> int:
        """Twice the records that stand in the wrong cell, in steps."""
        return int(np.abs(self._off(ours, theirs, size)).sum(dtype=np.int64))

    def _off(self, ours: Integers, theirs: Integers, size: int) -> Integers:
        expected = np.bincount(ours, minlength=size) * (STEPS * self.records / len(ours))
        counted = STEPS * np.bincount(theirs, minlength=size).astype(np.int64)
        return np.asarray(counted - np.rint(expected).astype(np.int64))

    def _distances(self, name: str, states: list[int]) -> Iterator[Question]:
        """The mean, rounded down, and the largest: either is moved by no more than one table is."""
        reach = Reach.added_up(STEPS, 2 if self.replaced else 1)
        half = Fraction(1, 2)
        yield Question(name, sum(states) // len(states), reach, 2 * STEPS, half)
        yield Question(f"{name}_worst", max(states), reach, 2 * STEPS, half)

    def _ranks(self) -> Question:
        """The largest difference of records up to a cut, over all cuts of all numbers."""
        worst = 0
        for one in self.yardstick.numbers:
            ours, theirs = one.places(self.synthetic[one.name]), one.places(self.rows[one.name])
            up_to = np.cumsum(self._off(ours, theirs, len(one.ranks) + 1), dtype=np.int64)[:-1]
            worst = max(worst, int(np.abs(up_to).max(initial=0)))
        return Question("rank", worst, Reach.of_one(STEPS, 1), STEPS, Fraction(1))

    def _beyond(self) -> Question:
        """Records with a number beyond all that the file has of it."""
        outside = np.zeros(len(self.rows[self.yardstick.numbers[0].name]), dtype=np.bool_)
        for one in self.yardstick.numbers:
            outside |= one.beyond(self.rows[one.name])
        return Question("beyond", int(np.count_nonzero(outside)), Reach.of_one(1, 1), 1)


def _means(means: list[Centred], rows: Columns, replaced: bool) -> Iterator[Question]:
    """The largest difference of means, over all numbers."""
    if means:
        worst = max(abs(int(one.steps(rows).sum(dtype=np.int64))) for one in means)
        reach = max(_width(one.ends, replaced) for one in means)
        unseen = max(one.unseen for one in means)
        yield Question("mean", worst, Reach.of_one(max(reach, 1), 1), STEPS, unseen=unseen)


def _width(ends: tuple[int, int], replaced: bool) -> int:
    """How far one record moves a sum of steps that lie between these ends."""
    return ends[1] - ends[0] if replaced else max(-ends[0], ends[1])
