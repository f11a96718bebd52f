"""Which pairs are worth measuring, chosen privately one after another. Proof: pairwise.md.

A pair is worth as much as its table differs from what the released one-way tables say of unrelated attributes, less
what its noise would add. The first choices each join two groups of attributes that no chosen pair connects yet, so that
every attribute is reached; the others are free.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import combinations
from math import isqrt

import numpy as np
from numpy.typing import NDArray

from tacita.data.gathered import Coded
from tacita.noise.choice import choose
from tacita.noise.entropy import Entropy, Request, reserve
from tacita.synthesis.pairwise.model import Answer
from tacita.synthesis.pairwise.queries import pair_errors
from tacita.synthesis.pairwise.targets import shares_of

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Pair = tuple[int, int]

_PER_ATTRIBUTE = 3
_FINE = 10**12  # rates are whole multiples of one over this
_WORDS = 64


def how_many(attributes: int) -> int:
    """How many pairs are chosen: three for each attribute, or half of all, and enough to reach every attribute.

    >>> how_many(20), how_many(5), how_many(3)
    (60, 5, 2)
    """
    half = attributes * (attributes - 1) // 4
    return min(_PER_ATTRIBUTE * attributes, max(half, attributes - 1))


def rate_of(rho: Fraction, choices: int, replace: bool) -> Fraction:
    """The rate of the exponential law for so many choices within ρ, rounded down."""
    change = largest_change(replace)
    return Fraction(isqrt(int(2 * rho / (choices * change**2) * _FINE**2)), _FINE)


def largest_change(replace: bool) -> int:
    """Of a distance, when one record is replaced or added."""
    return 2 if replace else 1


def choose_pairs(
    coded: Coded,
    levels: tuple[int, ...],
    ones: Sequence[Answer],
    records: int,
    budgets: tuple[Fraction, Fraction],
    replace: bool,
    entropy: Entropy,
    given: Sequence[Pair] = (),
) -> list[Pair]:
    """The given pairs and others, within the first of the two budgets; with the second they will be measured."""
    pairs, wanted = list(combinations(range(len(levels)), 2)), how_many(len(levels))
    errors = pair_errors(levels, budgets[1], wanted, replace)
    tables = coded.tables(pairs)
    apart = [distance(one, unrelated(ones, records, pair)) for pair, one in zip(pairs, tables, strict=True)]
    scores = np.array([errors[pair] - far for pair, far in zip(pairs, apart, strict=True)], dtype=np.int64)
    rate = rate_of(budgets[0], wanted - len(given), replace)
    return drawn_pairs(pairs, scores, rate, len(levels), wanted, replace, entropy, given)


def drawn_pairs(
    pairs: list[Pair],
    scores: Integers,
    rate: Fraction,
    attributes: int,
    wanted: int,
    replace: bool,
    entropy: Entropy,
    given: Sequence[Pair] = (),
) -> list[Pair]:
    """So many pairs in all, one after another with probability ∝ exp(−rate·score) among those that are open."""
    chosen = list(given)
    for open_ones in _open(pairs, attributes, chosen, wanted):
        label = f"pair {len(chosen) + 1} of {wanted}"
        law = f"exponential rate={rate} open={''.join(map(str, open_ones.astype(int)))}"
        entropy.announce(Request(label, law, scores, np.full(scores.shape, largest_change(replace))))
        chosen.append(pairs[choose(open_ones.astype(np.int64), scores, rate, reserve(_WORDS, entropy))])
    return sorted(chosen)


def unrelated(ones: Sequence[Answer], records: int, pair: Pair) -> Floats:
    """The table of two attributes that have nothing to do with each other, as the one-way tables have it."""
    first, second = (shares_of(ones[one].values) for one in pair)
    return records * np.outer(first, second)


def distance(exact: Integers, expected: Floats) -> int:
    """Records by which a table differs from what is expected of it, such as that of unrelated attributes.

    The table to compare with is rounded to whole records, so that one record changes the result by no more than it
    changes the table, exactly.
    """
    return int(np.abs(exact - np.rint(expected).astype(np.int64)).sum(dtype=np.int64))


def _open(pairs: list[Pair], attributes: int, chosen: list[Pair], wanted: int) -> Iterator[NDArray[np.bool_]]:
    """Before each choice, which pairs may be chosen: those that join two groups, or all others once there is one."""
    ends, place = np.array(pairs), {pair: k for k, pair in enumerate(pairs)}
    group, left = np.arange(attributes), np.ones(len(pairs), dtype=np.bool_)
    seen = 0
    while len(chosen) < wanted:
        for pair in chosen[seen:]:
            group[group == group[pair[0]]] = group[pair[1]]
            left[place[pair]] = False
        seen = len(chosen)
        apart = group[ends[:, 0]] != group[ends[:, 1]]
        yield apart if apart.any() else left.copy()
