"""Records drawn evenly: in a single draw, tables of three columns that were not measured are off by chance as well.

Several files are drawn, and the one that is kept is held to what they have on average.

Post-processing only.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from itertools import combinations
from math import comb

import numpy as np
from numpy.typing import NDArray

from tacita.synthesis.file.graph import tabulate_all
from tacita.synthesis.file.records import Goal

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

_WORK = 6_000_000  # records times tables: some seconds
_FEWEST = 12  # tables: fewer are not worth further draws
_LOOKED_AT = 150_000  # records in all files whose mean is taken
_LOOKS = (3, 12)  # such files
_MOST_CELLS = 20_000  # of a table
_MOST_CANDIDATES = 4_000
_AT_ONCE = 100
_FIRM = 5.0  # times the weight of the table that is held most loosely


def looks_for(rows: int) -> int:
    """How many files to take the mean of."""
    return int(np.clip(_LOOKED_AT // rows, *_LOOKS))


def worth_evening(
    levels: tuple[int, ...], rows: int, known: Collection[tuple[int, ...]], random: np.random.Generator
) -> list[tuple[int, ...]]:
    """Tables of three columns that are not held to anything yet: candidates, of which the file is held to some."""
    wide = [a for a, size in enumerate(levels) if size > 1]
    if rows * _FEWEST > _WORK or comb(len(wide), 3) < _FEWEST:
        return []
    if comb(len(wide), 3) > 2 * _MOST_CANDIDATES:
        drawn = np.sort(random.permuted(np.tile(wide, (4 * _MOST_CANDIDATES, 1)), axis=1)[:, :3], axis=1)
        threes = sorted({tuple(one) for one in drawn.tolist()})
    else:
        threes = list(combinations(wide, 3))
    sizes = np.array(levels)[np.array(threes)].prod(axis=1)
    small = [one for one, size in zip(threes, sizes.tolist(), strict=True) if size <= _MOST_CELLS and one not in known]
    return small[:_MOST_CANDIDATES]


def even_goals(
    looks: Sequence[Integers], levels: tuple[int, ...], threes: Sequence[tuple[int, ...]], lightest: float
) -> list[Goal]:
    """The means of those tables in which chance moves most, as many as the work allows."""
    rows, pool = len(looks[0]), np.concatenate(looks)
    moved, means = [], []
    for first in range(0, len(threes), _AT_ONCE):
        for counts in tabulate_all(pool, levels, threes[first : first + _AT_ONCE]):
            mean = (counts / len(looks)).astype(np.float32)
            # A cell that has less than a record on average is off by all of it, however records are drawn.
            moved.append(float(np.sqrt(mean[mean >= 1]).sum()))
            means.append(mean)
    most = np.argsort(-np.array(moved), kind="stable")[: _WORK // rows]
    return [Goal(threes[k], np.asarray(means[k], dtype=np.float64), _FIRM * lightest) for k in sorted(most.tolist())]
