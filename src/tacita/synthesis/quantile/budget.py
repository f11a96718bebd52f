"""How a budget is divided: over variables, and within one over plane, middle distance and levels. Public arithmetic."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import ceil

from tacita.mechanisms.kng.line import halves, levels_for

_DEEPEST = 10
# A part is halved again only if its budget times its records is large enough that an empty end is seldom chosen.
_FIRM = 10
# The outermost part of a number's own distribution may be less firm: what a mean hangs on lies there, and a bisection
# of so many levels finds it at no further cost.
_OUTER = 3
# With fewer records times ε, quartiles would be noise, and lie anywhere between wide bounds: the median is all that is
# asked for.
SCARCE = 40
_PLANE, _SCALE = Fraction(2, 5), Fraction(1, 5)
COUNTS = Fraction(1, 50)  # of the whole, where the number of records is not public
OWN = Fraction(1, 2)  # of a variable's budget, for its own distribution, where its files have that
FIRST = Fraction(3, 4)  # the same of a number without predictors; its total gets the rest
# The same where octaves are counted: counts spend once what halvings spend level by level.
OCTAVES, ALONE = Fraction(2, 5), Fraction(1, 2)
CELLS = Fraction(1, 2)  # of what is left to a number with categorical and numeric predictors, for the former
LOOK = Fraction(1, 8)  # of a variable's budget, for seven quantiles that say whether it has long tails
# Of what a number's own distribution leaves, for its total; with fewer records times ε, nothing: a total would say no
# more than quantiles do.
TOTAL, TOTALLED = Fraction(1, 2), 40
PLAIN = Fraction(1, 8)  # the same of a number that is drawn by planes, or whose tail is hardly heavy
MASSES = Fraction(1, 4)  # of what a number's own distribution gets, to count point masses that were found
# To find point masses where none are declared: a sixth of a variable's budget, or what it takes to count them to 2% of
# the records.
COUNTED, ENOUGH = Fraction(1, 6), 100
# Records times ε of a variable. With fewer, regressions would be noise, and variables are drawn by themselves.
CONNECTED = 20
# With fewer, ranks are all that can be learnt of how variables go together.
SCALED = 800
# Of what is left then, for rank tables that say whether the number stays close to one of its predictors: if that one
# explains so much of its rank, planes draw it better than ranks do.
CLOSENESS, CLOSE = Fraction(1, 8), 0.7
# With more, a number's own distribution is known better by itself than from regressions.
ABUNDANT = 20_000
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


def own_targets(epsilon: Fraction, records: int) -> tuple[tuple[Fraction, ...], tuple[Fraction, ...]]:
    """The quantiles to find of a number by itself, and the ε of each level: halves as long as the records can carry
    them, then quarters, eighths, … of the two ends, because tails make the mean.

    >>> targets, levels = own_targets(Fraction(1, 4), 5000)
    >>> len(targets), float(max(targets)), len(levels)
    (19, 0.984375, 5)
    >>> own_targets(Fraction(1, 4), 100)[0]
    (Fraction(1, 2),)
    """
    if records * epsilon < SCARCE:
        return (Fraction(1, 2),), (epsilon,)
    chosen: tuple[Fraction, ...] = halves(2)
    for depth in range(2, _DEEPEST + 1):
        firm = records * epsilon / (depth + 1) / _FIRM
        if depth > 2 and firm < 1 << depth:
            break
        ends = [
            Fraction(1, 1 << k) for k in range(depth + 1, depth + 1 + (1 << (depth - 1))) if firm * _FIRM > _OUTER << k
        ]
        chosen = tuple(sorted({*halves(depth), *ends, *(1 - one for one in ends)}))
    levels = levels_for(len(chosen))
    return chosen, (epsilon / levels,) * levels


def told_apart(epsilon: Fraction) -> int:
    """Of so many records of a group beside point masses that are found more than the middle is asked for.

    >>> told_apart(Fraction(1))
    64
    """
    return ceil(SCARCE / (epsilon * (1 - COUNTED) * (1 - MASSES)))


def enough_for_a_group(epsilon: Fraction) -> int:
    """Records that carry a model of their own: with fewer, no more than the middle of a number could be asked for, and
    what is guessed of its tail would be wrong in the same way in every small group.

    >>> enough_for_a_group(Fraction(1, 2))
    256
    """
    return ceil(told_apart(epsilon) / OWN)


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
