"""Everything that is read from confidential rows: counts of one and of two attributes, with discrete Gaussian noise."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from tacita.data.gathered import Coded
from tacita.noise.entropy import Entropy
from tacita.noise.gaussian import add_discrete_gaussian
from tacita.synthesis.pairwise.model import Answer
from tacita.synthesis.pairwise.queries import Query

Integers = NDArray[np.int64]


class Asked(Protocol):
    """A table of these attributes, or the contrast over its two-level ones."""

    @property
    def attributes(self) -> tuple[int, ...]: ...

    @property
    def contrast(self) -> bool: ...


def measure(coded: Coded, queries: list[Query], entropy: Entropy) -> tuple[Answer, ...]:
    found = []
    for query, exact in zip(queries, counts(coded, queries), strict=True):
        label = "contrast of " if query.contrast else "table of "
        label += " × ".join(f"attribute {one + 1}" for one in query.attributes)
        found.append(Answer(query, add_discrete_gaussian(exact, query.variance, entropy, label)))
    return tuple(found)


def counts(coded: Coded, queries: Sequence[Asked]) -> Iterator[Integers]:
    """Tables of the records; in a contrast two-level attributes stand with the difference of their levels."""
    tables = coded.tables([one.attributes for one in queries])
    return (contrast(table) if one.contrast else table for one, table in zip(queries, tables, strict=True))


def contrast(table: Integers) -> Integers:
    """The table with the difference of the levels of every attribute that has two.

    >>> contrast(np.array([[5, 1, 2], [3, 0, 4]])).tolist()
    [2, 1, -2]
    """
    for axis in reversed(range(table.ndim)):
        if table.shape[axis] == 2:
            table = np.asarray(table.take(0, axis) - table.take(1, axis))
    return table
