"""Tables of three columns, chosen privately where the records differ from what was released so far. Proof: file.md.

In each round a field is fitted to all that was released, with public random numbers, so that the same answers always
give the same field. A table is worth as many records as lie beyond what its noise would hide of its distance from the
field. Once none is worth its price, noise is halved; what is left in the end goes back to the pairs.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from tacita.data.gathered import Coded
from tacita.data.schema.rulebook import Bar
from tacita.noise.choice import choose
from tacita.noise.entropy import Entropy, Request, reserve
from tacita.synthesis.file.asking import asked
from tacita.synthesis.file.budget import Budget
from tacita.synthesis.file.fitting import Sketch
from tacita.synthesis.file.rounds import Level, apart, candidates, first_level
from tacita.synthesis.file.targets import Answer
from tacita.synthesis.pairwise.choosing import largest_change

Integers = NDArray[np.int64]

_ROUNDS = 3
_WORDS = 64


def measure_rounds(
    coded: Coded,
    levels: tuple[int, ...],
    records: int,
    budget: Budget,
    amount: Fraction,
    entropy: Entropy,
    known: Sequence[Answer],
    ordered: tuple[int, ...],
    bars: tuple[Bar, ...],
) -> tuple[tuple[Answer, ...], Fraction]:
    """Tables within an amount, and what is left of it."""
    level, left = first_level(levels, records, budget, amount), amount
    if level is None:
        return (), left
    found: list[Answer] = []
    sketch = Sketch(levels, bars, float(records), ordered)
    sketch.learn(known)
    seen = sketch.seen()
    names = {one.question.attributes for one in known}
    open_ones = candidates(levels, records, level.noise, names, seen, sketch.tied)
    exact = list(coded.tables(open_ones))
    for rounds_left in range(_ROUNDS, 0, -1):
        expected = sketch.expected(open_ones, seen) if open_ones else []
        tables = list(zip(exact, expected, strict=True))
        names = {one.question.attributes for one in found}
        chosen: list[tuple[int, ...]] = []
        while open_ones and left >= level.amount and not chosen:
            most = max(1, int(left / level.amount) // rounds_left)
            chosen, spent = _chosen(open_ones, tables, names, level, records, budget, most, entropy)
            left -= spent
            if not chosen:
                level = level.finer(budget)
        if not chosen:
            break
        rest = left - len(chosen) * level.table
        each = level.table if rest >= level.amount else left / len(chosen)  # too little is left for another one
        answers = asked(coded, [budget.one(one, levels, each) for one in chosen], entropy)
        left -= sum((one.question.cost for one in answers), Fraction(0))
        found += answers
        if rounds_left > 1:
            sketch.learn((*known, *found))
            seen = sketch.seen()
    return tuple(found), left


def _chosen(
    open_ones: Sequence[tuple[int, ...]],
    tables: Sequence[tuple[Integers, Integers]],
    known: Collection[tuple[int, ...]],
    level: Level,
    records: int,
    budget: Budget,
    most: int,
    entropy: Entropy,
) -> tuple[list[tuple[int, ...]], Fraction]:
    """Up to so many tables, and what choosing them cost; it ends where none is chosen."""
    rate = budget.rate(level.choosing)
    worth = [beyond(exact, expected, level.hidden) for exact, expected in tables]
    none = level.worth(records, len(worth), rate)
    scores = -np.array([*worth, none], dtype=np.int64)
    change = np.array([largest_change(budget.replace)] * len(worth) + [0])
    chosen: list[tuple[int, ...]] = []
    for number in range(most):
        still = np.array([one not in known and apart(one, chosen) for one in open_ones] + [True])
        if not still[:-1].any():
            return chosen, number * level.choosing
        law = f"exponential rate={rate} open={''.join(map(str, still.astype(int)))}"
        entropy.announce(Request(f"table {number + 1} of {most}, or none", law, scores, change))
        at = choose(still.astype(np.int64), scores, rate, reserve(_WORDS, entropy))
        if at == len(open_ones):
            return chosen, (number + 1) * level.choosing
        chosen.append(open_ones[at])
    return chosen, most * level.choosing


def beyond(exact: Integers, expected: Integers, hidden: int) -> int:
    """Records by which cells differ from what is expected of them, as far as it is more than `hidden` in each.

    All numbers are whole, so that one record more in a cell changes the result by 1 at most.
    """
    return int(np.maximum(np.abs(exact - expected) - hidden, 0).sum(dtype=np.int64))
