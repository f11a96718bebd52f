"""What the records are to agree with."""

from __future__ import annotations

from copy import copy

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

SIGNS = np.array([[1.0, -1.0], [-1.0, 1.0]])


class Targets:
    """Measured numbers as one big symmetric table over all levels of all attributes, with weights."""

    def __init__(self, levels: tuple[int, ...], zeros: list[tuple[int, int, int, int]]) -> None:
        self.levels = np.array(levels, dtype=np.int64)
        self.starts = np.concatenate(([0], np.cumsum(self.levels)))
        width, size = int(self.starts[-1]), len(levels)
        self.tables: dict[tuple[int, int], Floats] = {}
        self.ones = np.zeros(width)
        self.step, self.bend = np.zeros((size, size)), np.zeros((size, size))
        self.contrast = np.zeros((size, size), dtype=np.bool_)
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
        found.tables, found.ones = dict(self.tables), self.ones.copy()
        return found

    def span(self, a: int) -> slice:
        return slice(int(self.starts[a]), int(self.starts[a + 1]))

    def set_one(self, a: int, values: Floats, weight: float) -> None:
        self.ones[self.span(a)] = values
        self.one_step[a] = weight

    def set_pair(self, a: int, b: int, values: Floats, weight: float, contrast: bool) -> None:
        """`values` is the table, or for a contrast its one number."""
        self.tables[a, b] = values
        for x, y in ((a, b), (b, a)):
            self.step[x, y] = weight
            # Half the second derivative of a change: two counts move by one, or one contrast by two.
            self.bend[x, y] = 2 * weight if contrast else weight
            self.contrast[x, y] = contrast
