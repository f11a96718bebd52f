"""Exact noise on a cube for a few values that one unit may all change: P(z) ∝ exp(−max|z|/scale). Proof: cube.md.

Laplace noise pays for the sum of all changes, this for the largest one. Of d values that each change by up to c it has
a standard deviation of about c·(d + 1.5)/(√3·ε), Laplace noise one of √2·c·d/ε: 2.3 times as much where d is large.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import ceil, exp, sqrt
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from tacita.errors import UsageError
from tacita.noise.discrete import LARGEST_SCALE, LARGEST_VALUE, discrete_laplace
from tacita.noise.entropy import Entropy, Request, Spare, reserve
from tacita.noise.forcing import settles
from tacita.privacy import text

Integers = NDArray[np.int64]

_MOST_CELLS = 1 << 12
_FARTHEST = (1 << 63) - 1


@dataclass(frozen=True)
class CubeLaw:
    """The error law of noise on a cube of so many values.

    >>> law = CubeLaw(Fraction(50), 11)
    >>> print(law, round(law.spread))
    cube scale=50 values=11 361
    >>> CubeLaw.suits(Fraction(1, 2), 11), CubeLaw.suits(Fraction(50), 1)
    (False, False)
    """

    scale: Fraction
    cells: int
    # Of cubes whose scale is a twelfth of their values about one in 400 is kept, of others more.
    least: ClassVar[int] = 12

    def __post_init__(self) -> None:
        if not isinstance(self.scale, Fraction) or not self.suits(self.scale, self.cells):
            raise UsageError(
                f"scale: noise on a cube needs a Fraction from a twelfth of its values to 2**40, and 2 to "
                f"{_MOST_CELLS} values; use discrete Laplace noise"
            )

    @staticmethod
    def suits(scale: Fraction, cells: int) -> bool:
        """Where such noise is drawn quickly; where it is not, Laplace noise is small beside whole numbers."""
        return 2 <= cells <= _MOST_CELLS and Fraction(cells, CubeLaw.least) <= scale <= LARGEST_SCALE

    def __str__(self) -> str:
        return f"cube scale={text(self.scale)} values={self.cells}"

    @property
    def spread(self) -> float:
        """The standard deviation of each value, without the grid of whole numbers."""
        return float(self.scale) * sqrt((self.cells + 1) * (self.cells + 2) / 3)


def cube_noise(count: int, law: CubeLaw, entropy: Entropy) -> Integers:
    """`count` independent rows with P(z) proportional to exp(−max|z|/scale), exactly.

    >>> from tacita.noise.entropy import SeededEntropy
    >>> cube_noise(3, CubeLaw(Fraction(20), 5), SeededEntropy(1)).shape
    (3, 5)
    """
    return np.array(_cubes(count, law, entropy), dtype=np.int64)


def _cubes(count: int, law: CubeLaw, entropy: Entropy) -> list[list[int]]:
    """The same without an end."""
    cells, rows = law.cells, list[list[int]]()
    while len(rows) < count:
        wanted = ceil(1.2 * (count - len(rows)) * exp(cells / (2 * float(law.scale)))) + 2
        sides = _geometric(wanted * (cells + 1), law.scale, entropy).reshape(wanted, cells + 1)
        spare = reserve(2 * wanted * cells, entropy)
        for side in (sum(one) for one in sides.tolist()):
            if all(_below(2 * (side + step), spare) <= 2 * side for step in range(1, cells + 1)):
                rows.append([_below(2 * side + 1, spare) - side for _ in range(cells)])
    return rows[:count]


@settles("values")
def add_cube(values: Integers, scale: Fraction, entropy: Entropy, label: str) -> Integers:
    """The values with noise on a cube, all of them together: ε-private where each changes by at most ε·scale."""
    true = np.asarray(values)
    if true.dtype.kind not in "iu":
        raise UsageError(f"{label}: discrete noise needs whole numbers; give integer counts")
    law = CubeLaw(scale, true.size)
    entropy.announce(Request(label, str(law), true, np.broadcast_to(np.float64(float(scale)), true.shape)))
    # Clipping is 1-Lipschitz: it cannot widen the distance between two files' values, and nothing can wrap around.
    if true.dtype == np.uint64:
        true = np.minimum(true, np.uint64(LARGEST_VALUE))
    held = np.clip(true.astype(np.int64), -(LARGEST_VALUE - 1), LARGEST_VALUE - 1)
    noise = np.array(_cubes(1, law, entropy), dtype=object).reshape(true.shape)
    # What does not fit is cut after the noise is added: a cut noise would tell the value where it ends.
    return np.asarray(np.clip(held + noise, -_FARTHEST, _FARTHEST), dtype=np.int64)


def _geometric(count: int, scale: Fraction, entropy: Entropy) -> Integers:
    """Draws with P(k) ∝ exp(−k/scale) for k from 0 on: those Laplace draws that are not negative."""
    kept = np.empty(0, dtype=np.int64)
    while kept.size < count:
        drawn = discrete_laplace(2 * (count - kept.size) + 8, scale, entropy)
        kept = np.concatenate([kept, drawn[drawn >= 0]])
    return kept[:count]


def _below(end: int, spare: Spare) -> int:
    """A whole number from 0 to end − 1, each with the same chance."""
    size = -(-end.bit_length() // 64)
    room = 1 << 64 * size
    while True:
        number = 0
        for _ in range(size):
            number = (number << 64) | spare.take()
        if number < room - room % end:
            return number % end
