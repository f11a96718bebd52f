"""Files and their neighbours, as an attacker would choose them. Nothing here uses the code under audit.

A `Family` is one file and files that the plan's own relation calls its neighbours. Where one unit's record is replaced,
all of them are neighbours of one another, too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from tacita.data.schema import Schema

Random = np.random.Generator
File = Any  # what Confidential.from_frame takes


@dataclass(frozen=True, eq=False)
class Family:
    """`base` and its neighbours `near`; `mutual` where any two of all of them are neighbours."""

    base: File
    near: tuple[File, ...]
    mutual: bool = False

    @property
    def files(self) -> tuple[File, ...]:
        return (self.base, *self.near)

    def pairs(self) -> Iterator[tuple[int, int]]:
        """Which files are neighbours, by their place in `files`."""
        if self.mutual:
            yield from combinations(range(len(self.files)), 2)
        else:
            yield from ((0, at) for at in range(1, len(self.files)))


@dataclass(frozen=True, eq=False)
class Files:
    """Where the families of one plan come from; `family` makes another one each time."""

    schema: Schema
    family: Callable[[Random, int], Family]


def picked(random: Random, options: Any) -> Any:
    """One of them, itself and not a NumPy copy of it."""
    return options[int(random.integers(len(options)))]
