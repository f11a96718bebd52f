"""What the records are to agree with."""

from __future__ import annotations

from copy import copy

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

_SIGNS = np.array([1.0, -1.0])


class Targets:
    """Measured numbers as one big symmetric table over all levels of all attributes, with weights.

    Weights times `scale` are one over the variance of the noise.
    """

    def __init__(self, levels: tuple[int, ...], zeros: list[tuple[int, int, int, int]], scale: float = 1.0) -> None:
        self.scale = scale
        self.levels = np.array(levels, dtype=np.int64)
        self.starts = np.concatenate(([0], np.cumsum(self.levels)))
        width, size = int(self.starts[-1]), len(levels)
        self.tables: dict[tuple[int, int], Floats] = {}
        self.guessed: set[tuple[int, int]] = set()
        self.ones = np.zeros(width)
        self.step, self.bend = np.zeros((size, size)), np.zeros((size, size))
        self.signed = np.zeros((size, size), dtype=np.bool_)
        self.one_step = np.zeros(size)
        self.barred = np.zeros((width, width), dtype=np.bool_)
        for a, u, b, v in zeros:
            one, two = self.starts[a] + u, self.starts[b] + v
            self.barred[one, two] = self.barred[two, one] = True

    def possible(self) -> list[int] | None:
        """Some record that no structural zero forbids; None where they forbid all."""
        bound = [a for a in range(self.levels.size) if self.barred[self.span(a)].any()]
        record = [0] * int(self.levels.size)

        def complete(done: int) -> bool:
            if done == len(bound):
                return True
            a = bound[done]
            for level in range(int(self.levels[a])):
                column = self.starts[a] + level
                if not any(self.barred[column, self.starts[b] + record[b]] for b in bound[:done]):
                    record[a] = level
                    if complete(done + 1):
                        return True
            return False

        return record if complete(0) else None

    def copy(self) -> Targets:
        found = copy(self)
        found.tables, found.guessed, found.ones = dict(self.tables), set(self.guessed), self.ones.copy()
        found.step, found.bend, found.signed = self.step.copy(), self.bend.copy(), self.signed.copy()
        return found

    @property
    def measured(self) -> dict[tuple[int, int], Floats]:
        return {pair: values for pair, values in self.tables.items() if pair not in self.guessed}

    def span(self, a: int) -> slice:
        return slice(int(self.starts[a]), int(self.starts[a + 1]))

    def set_one(self, a: int, values: Floats, weight: float) -> None:
        self.ones[self.span(a)] = values
        self.one_step[a] = weight

    def set_pair(self, a: int, b: int, values: Floats, weight: float, contrast: bool) -> None:
        """`values` is the table, or a contrast: two-level attributes enter by the difference of their levels."""
        self.tables[a, b] = values
        for x, y in ((a, b), (b, a)):
            self.signed[x, y] = contrast and self.levels[x] == 2
            self.step[x, y] = weight
            # Half the second derivative of a change of x: two numbers move by one, or one by two.
            self.bend[x, y] = 2 * weight if self.signed[x, y] else weight

    def numbers(self, a: int, b: int, table: Floats) -> Floats:
        """What is measured of a table."""
        found = _SIGNS @ table if self.signed[a, b] else table
        return np.asarray(found @ _SIGNS if self.signed[b, a] else found)

    def spread(self, a: int, b: int, numbers: Floats) -> Floats:
        """Numbers on the cells they are made of, with their signs."""
        found = numbers[..., None] * _SIGNS if self.signed[b, a] else numbers
        return np.asarray(_SIGNS[:, None] * found[None] if self.signed[a, b] else found)

    def cells(self, a: int, b: int) -> int:
        """How many cells a number is made of."""
        return int((1 + self.signed[a, b]) * (1 + self.signed[b, a]))


def shares_of(counts: NDArray[np.int64] | Floats) -> Floats:
    """Noisy counts as shares, none negative; even ones where nothing is left."""
    held = np.maximum(counts, 0).astype(np.float64)
    return np.asarray(held / held.sum() if held.sum() > 0 else np.full(held.size, 1 / held.size))
