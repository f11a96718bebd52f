"""How a layout of tran2023 divides the budget of one variable among its quantiles, and in which order it draws them.

`plain` draws every quantile by itself. `stepwise` draws the median and walks outwards, each quantile held on the right
side of the one before. `sandwich` walks over a few main quantiles first and draws each of the rest between its
neighbours. With a fixed slope every quantile has the median's slopes.

>>> Layout("stepwise", "fixed", median="0.8").shares([Fraction(1, 4), Fraction(1, 2), Fraction(3, 4)])
{Fraction(1, 4): Fraction(1, 10), Fraction(1, 2): Fraction(4, 5), Fraction(3, 4): Fraction(1, 10)}
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from tacita.errors import UsageError
from tacita.privacy import Number, exact

Kind = Literal["plain", "stepwise", "sandwich"]
Slope = Literal["fixed", "varying"]

# The 1st, 3rd, …, 47th, 50th, 53rd, …, 97th and 99th percentiles (section 4.1).
QUANTILES: tuple[Fraction, ...] = tuple(Fraction(one, 100) for one in (*range(1, 48, 2), 50, *range(53, 98, 2), 99))
# Six in the text; the authors' public scripts add the first percentile.
MAIN_IN_TEXT = tuple(Fraction(one, 100) for one in (5, 25, 50, 75, 95, 99))
MAIN_IN_CODE = (Fraction(1, 100), *MAIN_IN_TEXT)

HALF = Fraction(1, 2)


@dataclass(frozen=True)
class Step:
    """One draw: the quantile, its share of the budget, and the quantiles just below and above drawn before it."""

    tau: Fraction
    share: Fraction
    floor: Fraction | None
    cap: Fraction | None


@dataclass(frozen=True)
class Layout:
    """An order of draws and a division of the budget.

    `median` is the median's share of the budget of the quantiles that are walked over: of all for stepwise, of the
    main ones for sandwich. `main_share` is what the main quantiles get. `plain` has neither: all shares are equal.

    >>> print(Layout("sandwich", "varying"))
    sandwich, varying slope
    """

    kind: Kind
    slope: Slope = "fixed"
    median: Number = "0.8"
    main_share: Number = "0.8"
    main: tuple[Fraction, ...] = MAIN_IN_TEXT

    def __post_init__(self) -> None:
        if self.kind not in ("plain", "stepwise", "sandwich"):
            raise UsageError('kind: one of "plain", "stepwise" and "sandwich"')
        if self.slope not in ("fixed", "varying"):
            raise UsageError('slope: "fixed" or "varying"')
        for name, value in (("median", self.median), ("main_share", self.main_share)):
            if not 0 < exact(value, name) < 1:
                raise UsageError(f'{name}: a share of the budget strictly between 0 and 1, such as "0.8"')
        if HALF not in self.main:
            raise UsageError("main: the main quantiles must include the median, 1/2")

    def __str__(self) -> str:
        return self.kind if self.kind == "plain" else f"{self.kind}, {self.slope} slope"

    def shares(self, quantiles: Sequence[Fraction]) -> dict[Fraction, Fraction]:
        """Each quantile's share of the budget; they add to 1.

        >>> sum(Layout("sandwich").shares(QUANTILES).values())
        Fraction(1, 1)
        """
        return {step.tau: step.share for step in sorted(self.steps(quantiles), key=lambda step: step.tau)}

    def steps(self, quantiles: Sequence[Fraction]) -> list[Step]:
        """All draws in their order."""
        taus = sorted(quantiles)
        if not taus or len(set(taus)) != len(taus) or not 0 < taus[0] <= taus[-1] < 1:
            raise UsageError("quantiles: give each once, strictly between 0 and 1")
        if self.kind == "plain":
            return [Step(tau, Fraction(1, len(taus)), None, None) for tau in taus]
        if HALF not in taus:
            raise UsageError("quantiles: stepwise and sandwich start from the median; include 1/2")
        if self.kind == "stepwise":
            return _walk(taus, exact(self.median), Fraction(1))
        # A main quantile that is not asked for is not drawn either: it would be paid for and thrown away.
        main = [tau for tau in taus if tau in self.main]
        rest = [tau for tau in taus if tau not in self.main]
        steps = _walk(main, exact(self.median), exact(self.main_share) if rest else Fraction(1))
        known = list(main)
        for tau in [*(t for t in reversed(rest) if t < HALF), *(t for t in rest if t > HALF)]:
            below, above = [one for one in known if one < tau], [one for one in known if one > tau]
            share = (1 - exact(self.main_share)) / len(rest)
            steps.append(Step(tau, share, max(below, default=None), min(above, default=None)))
            known.append(tau)
        return steps


def intervals(taus: Sequence[Fraction]) -> list[tuple[Fraction, Fraction]]:
    """The interval each quantile stands for: the one it closes, and for the last also what is above it.

    >>> [(str(left), str(right)) for left, right in intervals([Fraction(1, 4), Fraction(1, 2)])]
    [('0', '1/4'), ('1/4', '1')]
    """
    return list(zip((Fraction(0), *taus[:-1]), (*taus[:-1], Fraction(1)), strict=True))


def _walk(taus: Sequence[Fraction], median: Fraction, budget: Fraction) -> list[Step]:
    """The median, then downwards, then upwards."""
    others = len(taus) - 1
    steps = [Step(HALF, budget * (median if others else 1), None, None)]
    share = budget * (1 - median) / others if others else Fraction(0)
    before = HALF
    for tau in [one for one in reversed(taus) if one < HALF]:
        steps.append(Step(tau, share, None, before))
        before = tau
    before = HALF
    for tau in [one for one in taus if one > HALF]:
        steps.append(Step(tau, share, before, None))
        before = tau
    return steps
