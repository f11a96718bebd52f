"""Everything that is read from confidential rows: counts of one and of two attributes, with discrete Gaussian noise."""

from __future__ import annotations

from math import prod

import numpy as np
from numpy.typing import NDArray

from tacita.data import rowwise
from tacita.noise.entropy import Entropy
from tacita.noise.gaussian import add_discrete_gaussian
from tacita.synthesis.pairwise.model import Answer
from tacita.synthesis.pairwise.queries import Query

Integers = NDArray[np.int64]


def measure(codes: Integers, levels: tuple[int, ...], queries: list[Query], entropy: Entropy) -> tuple[Answer, ...]:
    found = []
    for query in queries:
        exact = counts(codes, levels, query.attributes, query.contrast)
        label = "contrast of " if query.contrast else "table of "
        label += " × ".join(f"attribute {one + 1}" for one in query.attributes)
        found.append(Answer(query, add_discrete_gaussian(exact, query.variance, entropy, label)))
    return tuple(found)


def counts(codes: Integers, levels: tuple[int, ...], attributes: tuple[int, ...], contrast: bool = False) -> Integers:
    """A table of the records; in a contrast two-level attributes stand with the difference of their levels."""
    shape = tuple(levels[one] for one in attributes)
    cell = rowwise.cells(len(codes), (codes[:, one] for one in attributes), shape)
    table = np.bincount(cell, minlength=prod(shape)).reshape(shape).astype(np.int64)
    for axis in reversed(range(len(shape))):
        if contrast and shape[axis] == 2:
            table = np.asarray(table.take(0, axis) - table.take(1, axis))
    return table
