"""A file with the public facts of bowen2018's youth voters: the attributes of Table 1, the cell sizes of Table 2.

The law is a mixture of latent classes. Within a class the attributes are unrelated, and every class has its own shares
around public margins; two attributes hardly depend on the class, so that some pairs are unrelated. Nobody votes who is
not registered: Table 2 sums to three quarters of the product of the levels, which is one impossible combination of two
two-level attributes. The constants are set once, to come near Table 2, and to nothing else.

`PersonFile` is what is public about a categorical file: attributes with levels, cuts of numbers, impossible pairs.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from tacita.data.schema import Schema

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]

ROWS = 44_821


@dataclass(frozen=True)
class Attribute:
    """A line of Table 1: its levels, and the margin around which the classes are scattered."""

    name: str
    levels: tuple[str, ...]
    margin: tuple[float, ...]


def _yes(name: str, share: float) -> Attribute:
    return Attribute(name, ("0", "1"), (1 - share, share))


def _numbered(count: int, first: int = 1) -> tuple[str, ...]:
    return tuple(str(first + one) for one in range(count))


ATTRIBUTES = (
    _yes("voted", 0.38),
    _yes("prereg_state", 0.20),
    Attribute("age", _numbered(5, first=18), (0.2,) * 5),
    _yes("married", 0.10),
    _yes("female", 0.50),
    Attribute(
        "family_income",
        _numbered(14),
        (0.05, 0.05, 0.05, 0.06, 0.06, 0.07, 0.08, 0.09, 0.09, 0.10, 0.10, 0.08, 0.07, 0.05),
    ),
    _yes("college", 0.08),
    _yes("white", 0.80),
    _yes("hispanic", 0.13),
    _yes("registered", 0.58),
    _yes("metro", 0.80),
    Attribute("residence", _numbered(6), (0.20, 0.15, 0.20, 0.15, 0.10, 0.20)),
    _yes("business_farm", 0.12),
    _yes("in_person", 0.50),
    _yes("dmv", 0.20),
)
NAMES = tuple(one.name for one in ATTRIBUTES)
LEVELS = tuple(len(one.levels) for one in ATTRIBUTES)
IMPOSSIBLE = {"voted": "1", "registered": "0"}

_CLASSES = 10
_SCATTER = 1.4  # Dirichlet counts per level: the fewer, the more the classes differ
_NEARLY_UNRELATED = {"female": 150.0, "in_person": 150.0}
_SHARPER, _EVENER = 1.12, 0.7  # powers of the shares within classes and of the class weights
_LAW_SEED, _FILE_SEED = 73, 1


@dataclass(frozen=True, eq=False)
class Law:
    """Class weights, and for every attribute the shares of its levels in each class."""

    weights: Floats
    shares: tuple[Floats, ...]

    def draw(self, rows: int, random: np.random.Generator) -> Integers:
        """Records as codes, impossible ones drawn again."""
        drawn = np.zeros((0, len(self.shares)), dtype=np.int64)
        while len(drawn) < rows:
            member = random.choice(self.weights.size, size=rows, p=self.weights)
            columns = [
                np.minimum(
                    (random.random(rows)[:, None] > np.cumsum(one, axis=1)[member]).sum(axis=1), one.shape[1] - 1
                )
                for one in self.shares
            ]
            drawn = np.vstack([drawn, _possible(np.column_stack(columns))])
        return drawn[:rows]


def _possible(codes: Integers) -> Integers:
    barred = [codes[:, NAMES.index(name)] == int(level) for name, level in IMPOSSIBLE.items()]
    return np.asarray(codes[~np.logical_and.reduce(barred)])


@cache
def law() -> Law:
    random = np.random.default_rng(_LAW_SEED)
    weights = _power(random.dirichlet(np.ones(_CLASSES)), _EVENER)
    shares = []
    for one in ATTRIBUTES:
        counts = np.array(one.margin) * len(one.levels) * _NEARLY_UNRELATED.get(one.name, _SCATTER)
        drawn = random.dirichlet(counts, size=_CLASSES)
        shares.append(drawn if one.name in _NEARLY_UNRELATED else _power(drawn, _SHARPER))
    return Law(weights, tuple(shares))


def _power(shares: Floats, power: float) -> Floats:
    raised = shares**power
    return np.asarray(raised / raised.sum(axis=-1, keepdims=True))


def simulate(rows: int = ROWS, *, seed: int = _FILE_SEED) -> pd.DataFrame:
    """The study's file; another seed is a fresh sample of the same law."""
    codes = law().draw(rows, np.random.default_rng(seed))
    return pd.DataFrame({one.name: np.array(one.levels)[codes[:, k]] for k, one in enumerate(ATTRIBUTES)})


def voters() -> PersonFile:
    """What is public about the file."""
    return PersonFile(
        "bowen2018 youth voters, simulated", {one.name: one.levels for one in ATTRIBUTES}, zeros=(IMPOSSIBLE,)
    )


def cell_sizes(frame: pd.DataFrame) -> dict[str, int]:
    """Table 2: how many cells of the full cross-tabulation hold 0, 1, …, 5 and more records."""
    held = frame.groupby(list(NAMES), observed=True).size().to_numpy()
    possible = int(np.prod(LEVELS)) * 3 // 4
    counts = {str(size): int((held == size).sum()) for size in range(1, 6)}
    return {"0": possible - len(held), **counts, "> 5": int((held > 5).sum())}


@dataclass(frozen=True)
class PersonFile:
    """`levels` of categories, `bounds` and `cuts` of whole numbers, `zeros` of combinations that cannot occur.

    >>> PersonFile("demo", {"sex": ("1", "2")}, {"age": (0, 99)}, {"age": (18, 65)}).cells
    6
    """

    name: str
    levels: Mapping[str, tuple[str, ...]]
    bounds: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    cuts: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    zeros: tuple[Mapping[str, str], ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        return (*self.levels, *self.bounds)

    @property
    def sizes(self) -> tuple[int, ...]:
        return (*(len(one) for one in self.levels.values()), *(len(self.cuts[name]) + 1 for name in self.bounds))

    @property
    def cells(self) -> int:
        """Cells of the full cross-tabulation, impossible ones included."""
        count = 1
        for size in self.sizes:
            count *= size
        return count

    @property
    def schema(self) -> Schema:
        variables: dict[str, dict[str, object]] = {
            name: {"type": "categorical", "role": "confidential", "levels": list(levels)}
            for name, levels in self.levels.items()
        }
        for name, (lower, upper) in self.bounds.items():
            variables[name] = {"type": "integer", "role": "confidential", "lower": lower, "upper": upper}
        content = {"dataset": {"identity": self.name, "unit": "person"}, "variables": variables}
        return Schema.from_dict(content | ({"zeros": [dict(one) for one in self.zeros]} if self.zeros else {}))
