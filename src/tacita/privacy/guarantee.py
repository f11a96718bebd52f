"""The whole promise: what is protected, how much is lost, how firmly that holds, and on what assumptions."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from tacita.errors import RefusedError, UsageError
from tacita.privacy.loss import Loss
from tacita.privacy.neighbours import AddRemoveOne, Neighbours, NumbersWithin, ReplaceOne, StrongAlpha, WeakAlpha

Holds = Literal["always", "asymptotically", "never"]
_FIRMNESS: tuple[Holds, ...] = ("always", "asymptotically", "never")
UNPROTECTED = "released without a guarantee, for this reason: "  # begins why a board let something leave without one
UNCHECKED = "not checked: "  # begins every assumption about who a unit is that no id in the file could show


@dataclass(frozen=True)
class Guarantee:
    """The whole promise: neighbours, loss, how firmly it holds and what it assumes.

    >>> g = Guarantee(StrongAlpha("0.1"), Loss("1"), assumes=("workplace attributes are public",))
    >>> (g + g).loss
    Loss(epsilon='2')
    """

    neighbours: Neighbours
    loss: Loss
    holds: Holds = "always"
    assumes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.holds not in _FIRMNESS:
            raise UsageError(f"holds: must be one of {', '.join(_FIRMNESS)}")
        if not isinstance(self.assumes, tuple) or not all(isinstance(one, str) for one in self.assumes):
            raise UsageError("assumes: must be a tuple of sentences")

    def __add__(self, other: Guarantee) -> Guarantee:
        if self.neighbours != other.neighbours:
            raise RefusedError(
                "these two guarantees protect different things and cannot be added: "
                f"{self.neighbours}; {other.neighbours}. Use one neighbour relation for the whole release, or "
                "restate the stronger one with Guarantee.under(...)"
            )
        return Guarantee(
            self.neighbours,
            self.loss + other.loss,
            max(self.holds, other.holds, key=_FIRMNESS.index),
            tuple(dict.fromkeys(self.assumes + other.assumes)),
        )

    def under(self, neighbours: Neighbours) -> Guarantee:
        """The same promise restated under a relation it implies.

        >>> print(Guarantee(StrongAlpha("0.1"), Loss("1")).under(WeakAlpha("0.1")).neighbours)
        weak α = 0.1 neighbours
        """
        mine = self.neighbours
        if mine == neighbours:
            return self
        if isinstance(mine, StrongAlpha | WeakAlpha) and _are_neighbours_of(mine, neighbours):
            return Guarantee(neighbours, self.loss, self.holds, self.assumes)
        if isinstance(mine, AddRemoveOne) and neighbours == ReplaceOne(mine.unit) and self.loss.delta == 0:
            return Guarantee(neighbours, self.loss * (2 if self.loss.rho is None else 4), self.holds, self.assumes)
        if isinstance(neighbours, NumbersWithin):
            wider = isinstance(mine, NumbersWithin) and mine.unit == neighbours.unit and neighbours.alpha <= mine.alpha
            if wider or mine == ReplaceOne(neighbours.unit):
                return Guarantee(neighbours, self.loss, self.holds, self.assumes)
        hint = _other_unit(mine, neighbours)
        raise RefusedError(f"a guarantee for {mine} says nothing proved about {neighbours}{hint}")

    @property
    def protects(self) -> str:
        """What may differ between neighbouring files without showing."""
        return "nothing: no formal guarantee is given" if self.holds == "never" else self.neighbours.meaning

    @property
    def odds_factor(self) -> str:
        """What the loss means for an attacker's odds, in words."""
        if self.holds == "never":
            return "no bound: this method has no guarantee"
        if self.loss.rho is not None:
            return "bounded on average over outputs (zero-concentrated privacy)"
        factor = math.exp(self.loss.epsilon) if self.loss.epsilon < 700 else math.inf
        shown = f"{factor:.2f}" if factor < 100 else f"{factor:,.0f}" if factor < 1e6 else f"{factor:.3g}"
        if math.isinf(factor):
            shown = "beyond 10^300"
        tail = f", except with probability {float(self.loss.delta):.2g}" if self.loss.delta else ""
        limit = " in the limit" if self.holds == "asymptotically" else ""
        return f"an attacker's odds change by at most a factor {shown}{limit}{tail}"

    def __str__(self) -> str:
        if self.holds == "never":
            return "no guarantee"
        firmly = "" if self.holds == "always" else " (asymptotically)"
        return f"{self.loss} under {self.neighbours}{firmly}"


def _other_unit(mine: Neighbours, wanted: Neighbours) -> str:
    """The way out where two relations differ in their unit: a default of a plan is about a record."""
    if isinstance(mine, StrongAlpha | WeakAlpha) or isinstance(wanted, StrongAlpha | WeakAlpha):
        return ""
    if mine.unit == wanted.unit:
        return ""
    return (
        f"; units are {mine.unit} and {wanted.unit}: give the plan neighbours = {type(mine).__name__}"
        f'("{wanted.unit}") if every {mine.unit} of the file is one {wanted.unit}'
    )


def _are_neighbours_of(mine: StrongAlpha | WeakAlpha, others: Neighbours) -> bool:
    """Whether two files that are neighbours in the other sense are always neighbours in the α sense."""
    if others == AddRemoveOne("worker"):
        return True  # one more worker is allowed at every α, and adds at most one to every class
    if isinstance(others, StrongAlpha | WeakAlpha) and others.alpha <= mine.alpha:
        return isinstance(mine, StrongAlpha) or isinstance(others, WeakAlpha)
    return False


def unchecked_units(guarantee: Guarantee) -> tuple[str, ...]:
    """What a promise takes on trust about who a unit is: first thing to be read, before any number.

    >>> trusted = "each row of the file is one whole person; the file has no person id, so nothing could check it"
    >>> unchecked_units(Guarantee(ReplaceOne("person"), Loss("1"), assumes=(UNCHECKED + trusted, "bounds are public")))
    ('each row of the file is one whole person; the file has no person id, so nothing could check it',)
    """
    return tuple(one.removeprefix(UNCHECKED) for one in guarantee.assumes if one.startswith(UNCHECKED))


def in_sequence(guarantees: Iterable[Guarantee]) -> Guarantee:
    """Several releases from the same rows: losses add."""
    parts = list(guarantees)
    if not parts:
        raise UsageError("no guarantee was given; a release has at least one part")
    total = parts[0]
    for one in parts[1:]:
        total = total + one
    return total
