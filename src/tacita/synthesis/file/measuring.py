"""Tables of the coded records: all single columns, then the pairs that are worth it; plain totals. Proof: file.md."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from tacita.mechanisms.table.noise import Budget as Price
from tacita.mechanisms.table.noise import Reach
from tacita.noise.entropy import Entropy
from tacita.synthesis.file.bins import spread_of
from tacita.synthesis.file.budget import Budget, Question
from tacita.synthesis.file.columns import Grid, Shape
from tacita.synthesis.file.division import division, open_pairs
from tacita.synthesis.file.numbers import noisy
from tacita.synthesis.file.targets import Answer, margins
from tacita.synthesis.pairwise.choosing import distance, drawn_pairs
from tacita.synthesis.pairwise.measuring import counts
from tacita.synthesis.pinned.measuring import Pin, Summing

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


def measure_tables(
    codes: Integers,
    levels: tuple[int, ...],
    records: int,
    budget: Budget,
    amount: Fraction,
    entropy: Entropy,
) -> tuple[Answer, ...]:
    spent = division(levels, records, budget, amount)
    singles = [(a,) for a in range(len(levels))]
    ones = asked(codes, levels, budget.tables(singles, levels, spent.ones), entropy)
    pairs = open_pairs(levels)
    if spent.choosing:
        expected = [one for one, _ in margins(ones, levels, float(records))]
        likely = budget.tables(pairs, levels, spent.pairs * len(pairs) / spent.number)
        scores = [
            round(one.error(levels))
            - distance(codes, levels, pair, np.outer(expected[pair[0]], expected[pair[1]]) / records)
            for one, pair in zip(likely, pairs, strict=True)
        ]
        rate = budget.rate(spent.choosing / spent.number)
        scored = np.array(scores, dtype=np.int64)
        pairs = drawn_pairs(pairs, scored, rate, len(levels), spent.number, budget.replace, entropy)
    return ones + (asked(codes, levels, budget.tables(pairs, levels, spent.pairs), entropy) if pairs else ())


def asked(codes: Integers, levels: tuple[int, ...], questions: list[Question], entropy: Entropy) -> tuple[Answer, ...]:
    answers = []
    for one in questions:
        label = ("contrast of " if one.contrast else "table of ") + " × ".join(
            f"column {a + 1}" for a in one.attributes
        )
        answers.append(Answer(one, noisy(counts(codes, levels, one.attributes, one.contrast), one, entropy, label)))
    return tuple(answers)


def measure_plain(
    values: Floats, grid: Grid, shape: Shape, budget: Price, replaced: bool, entropy: Entropy, name: str
) -> Pin:
    """The total of a number of many values, without weights. Proof: pinned.md."""
    above, below = spread_of(grid, shape).ends(budget.scale(Reach.of_one(1, 1)), shape.records)
    added = np.where(np.isnan(values), 0.0, values)  # a missing number adds nothing
    one_cell = Summing(np.zeros(values.size, dtype=np.int64), 1, replaced)
    return one_cell.between(added, 1 / grid.parts, above, below, budget, entropy, f"total of {name}")
