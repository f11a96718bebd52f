"""What cannot occur, in one form for every rule: scores of a record's states that add up to too much.

Public arithmetic. An impossible combination scores 1 for each of its states and has a limit of one less than their
number; of a sum that must not exceed a limit, each state scores the least it can add.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Bar:
    """Attributes with a score for each of their states: no record's scores add up to more than the limit."""

    attributes: tuple[int, ...]
    scores: tuple[Floats, ...]
    limit: float

    @classmethod
    def of(cls, sizes: Sequence[int], states: Mapping[int, Sequence[int]]) -> Bar:
        """The combination of any of these states of each attribute.

        >>> impossible(np.array([[0, 0], [0, 1], [1, 1]]), [Bar.of((2, 2), {0: [0], 1: [1]})]).tolist()
        [False, True, False]
        """
        scores = []
        for attribute, some in states.items():
            score = np.zeros(sizes[attribute])
            score[list(some)] = 1.0
            scores.append(score)
        return cls(tuple(states), tuple(scores), len(states) - 1.0)


def impossible(records: Integers, bars: Sequence[Bar]) -> NDArray[np.bool_]:
    """Which records cannot occur."""
    broken = np.zeros(len(records), dtype=np.bool_)
    for bar in bars:
        total = sum(score[records[:, a]] for a, score in zip(bar.attributes, bar.scores, strict=True))
        broken |= np.asarray(total > bar.limit)
    return broken


def possible(sizes: Sequence[int], bars: Sequence[Bar]) -> list[int] | None:
    """Some record that can occur; None where there is none.

    >>> possible([2, 2], [Bar.of((2, 2), {0: [0], 1: [level]}) for level in (0, 1)])
    [1, 0]
    """
    record = [0] * len(sizes)
    least = [[float(score.min()) for score in bar.scores] for bar in bars]

    def fits(bar: int, known: set[int]) -> bool:
        one = bars[bar]
        parts = zip(one.attributes, one.scores, least[bar], strict=True)
        return sum(float(score[record[a]]) if a in known else low for a, score, low in parts) <= one.limit

    def complete(open_ones: list[int], known: set[int]) -> bool:
        if not open_ones:
            return True
        attribute, *later = open_ones
        concerned = [k for k, bar in enumerate(bars) if attribute in bar.attributes]
        for state in range(sizes[attribute]):
            record[attribute] = state
            if all(fits(k, known | {attribute}) for k in concerned) and complete(later, known | {attribute}):
                return True
        return False

    return record if all(complete(linked, set()) for linked in linked_by(bars)) else None


def linked_by(bars: Sequence[Bar]) -> list[list[int]]:
    """Attributes that stand in bars, those together that bars link, directly or through others.

    >>> linked_by([Bar.of((2,) * 5, {0: [0], 3: [1]}), Bar.of((2,) * 5, {3: [0], 4: [1]}), Bar.of((2,) * 5, {1: [0]})])
    [[0, 3, 4], [1]]
    """
    groups: list[set[int]] = []
    for bar in bars:
        touched = [group for group in groups if group & set(bar.attributes)]
        groups = [group for group in groups if group not in touched] + [set(bar.attributes).union(*touched)]
    return sorted(sorted(group) for group in groups)
