"""Tables of the coded records: all single columns, then the pairs that are worth it; plain totals. Proof: file.md."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from tacita.data.gathered import Added, Coded
from tacita.data.schema.rulebook import Bar
from tacita.mechanisms.table.noise import Budget as Price
from tacita.mechanisms.table.noise import Reach
from tacita.noise.entropy import Entropy
from tacita.synthesis.file.asking import asked
from tacita.synthesis.file.bins import spread_of
from tacita.synthesis.file.budget import Budget
from tacita.synthesis.file.choosing import measure_rounds
from tacita.synthesis.file.columns import Grid, Shape
from tacita.synthesis.file.division import division, off_anyway, open_pairs
from tacita.synthesis.file.rounds import share_of_rounds
from tacita.synthesis.file.targets import Answer, margins
from tacita.synthesis.pairwise.choosing import distance, drawn_pairs
from tacita.synthesis.pinned.measuring import Pin, Summing

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

_LEAST_AGAIN = Fraction(1, 200)  # of what columns and pairs get: less would be noise alone


def measure_tables(
    coded: Coded,
    levels: tuple[int, ...],
    records: int,
    budget: Budget,
    amount: Fraction,
    entropy: Entropy,
    ordered: tuple[int, ...],
    keep: Sequence[tuple[int, ...]] = (),
    keep_share: Fraction = Fraction(0),
    bars: tuple[Bar, ...] = (),
    weight: int | None = None,
) -> tuple[Answer, ...]:
    """`ordered` as in `Field`; `keep` are measured in any case, with their share of the amount; pairs with the weight
    are among those that are measured: every weighted share hangs on one of them."""
    kept = asked(coded, budget.tables(keep, levels, amount * keep_share), entropy) if keep else ()
    amount = amount * (1 - keep_share) if keep else amount
    spent = division(levels, records, budget, amount, keep)
    for_rounds = share_of_rounds(levels, records, budget, spent.pairs)
    first = 1 - for_rounds
    singles = [(a,) for a in range(len(levels))]
    ones = asked(coded, budget.tables(singles, levels, spent.ones * first), entropy)
    pairs, for_pairs = open_pairs(levels), spent.pairs
    if spent.choosing:
        sure = [pair for pair in pairs if weight in pair or pair in keep]
        number = spent.number + sum(pair in keep for pair in sure)
        if number > len(sure):
            expected = [one for one, _ in margins(ones, levels, float(records))]
            likely = budget.tables(pairs, levels, for_pairs * len(pairs) / spent.number, spent.leaning)
            free = [np.outer(expected[a], expected[b]) / records for a, b in pairs]
            scores = [
                off_anyway(one, levels, ordered, table) - distance(exact, table)
                for one, exact, table in zip(likely, coded.tables(pairs), free, strict=True)
            ]
            rate = budget.rate(spent.choosing / (number - len(sure)))
            scored = np.array(scores, dtype=np.int64)
            pairs = drawn_pairs(pairs, scored, rate, len(levels), number, budget.replace, entropy, sure)
        else:
            pairs, for_pairs = sure, for_pairs + spent.choosing
    pairs = [pair for pair in pairs if pair not in keep]
    known = kept + ones
    known += asked(coded, budget.tables(pairs, levels, for_pairs * first, spent.leaning), entropy) if pairs else ()
    if not for_rounds:
        return known
    whole = spent.ones + for_pairs
    found, left = measure_rounds(coded, levels, records, budget, whole * for_rounds, entropy, known, ordered, bars)
    if left < whole * _LEAST_AGAIN:
        return known + found
    # What nothing more was found for makes columns and pairs more precise.
    again = budget.tables(singles, levels, left * spent.ones / whole)
    again += budget.tables(pairs, levels, left * for_pairs / whole, spent.leaning)
    return known + found + asked(coded, again, entropy)


def measure_plain(
    added: Added, grid: Grid, shape: Shape, budget: Price, replaced: bool, entropy: Entropy, name: str
) -> Pin:
    """The total of a number of many values, without weights. Proof: pinned.md."""
    above, below = spread_of(grid, shape).ends(budget.scale(Reach.of_one(1, 1)), shape.records)
    return Summing(1, replaced).between(added, 1 / grid.parts, above, below, budget, entropy, f"total of {name}")
