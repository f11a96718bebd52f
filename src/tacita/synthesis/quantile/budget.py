"""How a budget is divided: over variables, and within one over plane, middle distance and levels. Public arithmetic."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

_DEEPEST = 10
# A part is halved again only if its budget times its records is large enough that an empty end is seldom chosen.
_FIRM = 10
_PLANE, _SCALE = Fraction(2, 5), Fraction(1, 5)
COUNTS = Fraction(1, 50)  # of the whole, where the number of records is not public
SPIKES = Fraction(1, 4)  # of a variable's budget, where it has point masses


@dataclass(frozen=True)
class Levels:
    """The budget of one numeric model: zero for plane and scale where there are no predictors."""

    plane: Fraction
    scale: Fraction
    halvings: tuple[Fraction, ...]

    @property
    def depth(self) -> int:
        return len(self.halvings) + (2 if self.plane else 0)

    @property
    def total(self) -> Fraction:
        return self.plane + self.scale + sum(self.halvings, Fraction(0))


def marginal_levels(epsilon: Fraction, records: int) -> Levels:
    """As many halvings as the records can carry, and two at least: from one quantile no spread could be told.

    >>> marginal_levels(Fraction(3, 10), 5000).depth, marginal_levels(Fraction(1), 1_000_000).depth
    (4, 10)
    """
    depth = 2
    while depth < _DEEPEST and Fraction(records, 2 ** (depth + 1)) * epsilon / (depth + 1) >= _FIRM:
        depth += 1
    return Levels(Fraction(0), Fraction(0), (epsilon / depth,) * depth)


def conditional_levels(epsilon: Fraction, records: int) -> Levels:
    """A plane, a middle distance on either side, and halvings of the rest.

    >>> conditional_levels(Fraction(35, 100), 5000).depth
    4
    """
    rest = epsilon * (1 - _PLANE - _SCALE)
    below = 1
    while below + 2 < _DEEPEST and Fraction(records, 2 ** (below + 3)) * rest / (below + 1) >= _FIRM:
        below += 1
    return Levels(epsilon * _PLANE, epsilon * _SCALE, (rest / below,) * below)
