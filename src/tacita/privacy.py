"""What is protected, how much is lost, how firmly that holds, and on what assumptions.

No data and no arrays in here: a guarantee is known before any file is opened. All
losses are exact rationals, so ten releases at 0.1 fill a budget of 1 exactly.

>>> cap = Loss("1")
>>> sum((Loss("0.1") for _ in range(10)), Loss.zero()) == cap
True
>>> Guarantee(StrongAlpha("0.1"), Loss("1")) + Guarantee(WeakAlpha("0.1"), Loss("1"))
Traceback (most recent call last):
...
tacita.errors.RefusedError: these two guarantees protect different things and cannot be added: \
strong α = 0.1 neighbours; weak α = 0.1 neighbours. ...
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal, localcontext
from fractions import Fraction
from typing import Literal

from tacita.errors import RefusedError, UsageError

Number = str | int | Fraction
Holds = Literal["always", "asymptotically", "never"]
_FIRMNESS: tuple[Holds, ...] = ("always", "asymptotically", "never")
UNCHECKED = "not checked: "  # begins every assumption about who a unit is that no id in the file could show


_MOST_DIGITS = 100  # before the point, and of a power of ten
_LONGEST = 9_000  # characters; sums of losses in a ledger are exact, and may be long


def exact(value: Number, name: str = "value") -> Fraction:
    """Read a privacy parameter without rounding it.

    >>> exact("0.1")
    Fraction(1, 10)
    >>> exact(0.1, "epsilon")
    Traceback (most recent call last):
    ...
    tacita.errors.UsageError: epsilon: give it as a string or a Fraction, such as "0.1" or "1/3"; \
a float is not the number it prints
    """
    if isinstance(value, bool) or not isinstance(value, str | int | Fraction):
        raise UsageError(
            f'{name}: give it as a string or a Fraction, such as "0.1" or "1/3"; a float is not the number it prints'
        )
    if isinstance(value, str):
        # Before a Fraction is made: 1e999999999 has a billion digits.
        _, _, exponent = value.lower().partition("e")
        digits = exponent.strip().lstrip("+-").replace("_", "")
        if len(value) > _LONGEST or (digits.isdecimal() and (len(digits) > 9 or int(digits) > _MOST_DIGITS)):
            raise UsageError(
                f'{name}: has too many digits, or an exponent beyond ±{_MOST_DIGITS}; write it as "0.1", "1/3" or "2"'
            )
    try:
        found = Fraction(value)
    except (ValueError, ZeroDivisionError):
        raise UsageError(f'{name}: not a number; write it as "0.1", "1/3" or "2"') from None
    if abs(found) > 10**_MOST_DIGITS:
        raise UsageError(f"{name}: is larger than 10^{_MOST_DIGITS}; no privacy parameter is that large")
    return found


def text(value: Fraction) -> str:
    """The shortest exact way to write a rational: a decimal where there is one.

    >>> text(Fraction(1, 10)), text(Fraction(1, 3)), text(Fraction(2))
    ('0.1', '1/3', '2')
    """
    rest, digits = value.denominator, 0
    for prime in (2, 5):
        times = 0
        while rest % prime == 0:
            rest, times = rest // prime, times + 1
        digits = max(digits, times)
    if rest != 1:
        return str(value)
    if digits == 0:
        return str(value.numerator)
    whole = f"{abs(value.numerator) * 10**digits // value.denominator:0{digits + 1}d}"
    return f"{'-' if value < 0 else ''}{whole[:-digits]}.{whole[-digits:]}"


# ---------------------------------------------------------------- neighbours


@dataclass(frozen=True)
class AddRemoveOne:
    """Two files are neighbours when one unit, with everything it reports, is in only one of them.

    >>> print(AddRemoveOne("worker"))
    one worker added or removed
    """

    unit: str

    def __str__(self) -> str:
        return f"one {self.unit} added or removed"

    @property
    def meaning(self) -> str:
        return f"whether any one {self.unit} is in the file at all, and everything it reported"


@dataclass(frozen=True)
class ReplaceOne:
    """Two files of the same public size are neighbours when one unit's record differs."""

    unit: str

    def __str__(self) -> str:
        return f"one {self.unit}'s record replaced"

    @property
    def meaning(self) -> str:
        return f"what any one {self.unit} reported; the number of units is public"


@dataclass(frozen=True)
class _Alpha:
    alpha: Fraction

    def __init__(self, alpha: Number) -> None:
        value = exact(alpha, "alpha")
        if value <= 0:
            raise UsageError(
                "alpha: must be above 0; it is the relative change in an establishment's size that is hidden, "
                'such as "0.1" for 10 percent'
            )
        object.__setattr__(self, "alpha", value)


@dataclass(frozen=True, init=False)
class StrongAlpha(_Alpha):
    """haney2017, definition 7.1: one establishment gains up to max(α·size, 1) workers of any kind.

    The list of establishments and their workplace attributes is public and equal in both files.

    >>> print(StrongAlpha("0.1"))
    strong α = 0.1 neighbours
    """

    def __str__(self) -> str:
        return f"strong α = {text(self.alpha)} neighbours"

    @property
    def meaning(self) -> str:
        return (
            "whether any one worker holds a job, and the size of any one establishment to within a factor "
            f"{text(1 + self.alpha)}, against an attacker who may know everything else"
        )


@dataclass(frozen=True, init=False)
class WeakAlpha(_Alpha):
    """haney2017, definition 7.3: every class of an establishment's workers grows by at most max(α·class, 1).

    "Class" means a class defined by the declared worker attributes. (Read literally, with classes that may
    single out persons by name, the printed definition shrinks to one added worker.) Weak neighbours are
    strong neighbours, so a strong guarantee is also a weak one.
    """

    def __str__(self) -> str:
        return f"weak α = {text(self.alpha)} neighbours"

    @property
    def meaning(self) -> str:
        return (
            "whether any one worker holds a job, and the number of workers of any kind at any one establishment "
            f"to within a factor {text(1 + self.alpha)}, against an attacker with no knowledge of who works there"
        )


@dataclass(frozen=True, init=False)
class NumbersWithin(_Alpha):
    """One unit's numbers differ, in all years at once, each by at most max(α · the smaller, one whole step). When units
    were there, their categories and which numbers are missing are the same in both files.

    >>> print(NumbersWithin("firm", "0.1"))
    one firm's numbers changed by up to α = 0.1
    """

    unit: str

    def __init__(self, unit: str, alpha: Number) -> None:
        super().__init__(alpha)
        object.__setattr__(self, "unit", unit)

    def __str__(self) -> str:
        return f"one {self.unit}'s numbers changed by up to α = {text(self.alpha)}"

    @property
    def meaning(self) -> str:
        hidden = f"the numbers of any one {self.unit}, all years together, to within a factor {text(1 + self.alpha)}"
        return f"{hidden} or one step; not when it was there, its categories, or roughly how large it is"


Neighbours = AddRemoveOne | ReplaceOne | StrongAlpha | WeakAlpha | NumbersWithin


# ---------------------------------------------------------------- loss


@dataclass(frozen=True, init=False)
class Loss:
    """How much a release may shift an attacker's odds: (ε, δ), or ρ of zero-concentrated privacy.

    >>> Loss("0.5") + Loss("0.5")
    Loss(epsilon='1')
    >>> Loss("1", delta="1e-9") <= Loss("1")
    False
    >>> Loss(rho="0.1")
    Loss(rho='0.1')
    """

    epsilon: Fraction
    delta: Fraction
    rho: Fraction | None

    def __init__(self, epsilon: Number = 0, *, delta: Number = 0, rho: Number | None = None) -> None:
        eps, dlt = exact(epsilon, "epsilon"), exact(delta, "delta")
        concentrated = None if rho is None else exact(rho, "rho")
        if eps < 0 or not 0 <= dlt < 1 or (concentrated is not None and concentrated < 0):
            raise UsageError("a loss needs epsilon ≥ 0, 0 ≤ delta < 1 and rho ≥ 0")
        if concentrated is not None and (eps or dlt):
            raise UsageError("a loss is either (epsilon, delta) or rho, not both")
        object.__setattr__(self, "epsilon", eps)
        object.__setattr__(self, "delta", dlt)
        object.__setattr__(self, "rho", concentrated)

    @classmethod
    def zero(cls) -> Loss:
        return cls(0)

    @property
    def is_zero(self) -> bool:
        return not (self.epsilon or self.delta or self.rho)

    def __add__(self, other: Loss) -> Loss:
        if self.is_zero or other.is_zero:
            return other if self.is_zero else self
        if (self.rho is None) != (other.rho is None):
            raise RefusedError(
                "a loss in rho and a loss in (epsilon, delta) do not add; turn the pure one into rho first "
                "with Loss.as_zcdp(), or account for both with dp-accounting"
            )
        if self.rho is not None and other.rho is not None:
            return Loss(rho=self.rho + other.rho)
        return Loss(self.epsilon + other.epsilon, delta=self.delta + other.delta)

    def __mul__(self, times: int | Fraction) -> Loss:
        if times < 0:
            raise UsageError("a loss can only be multiplied by a number that is not negative")
        if self.rho is not None:
            return Loss(rho=self.rho * times)
        return Loss(self.epsilon * times, delta=self.delta * times)

    def __le__(self, other: Loss) -> bool:
        if self.is_zero:
            return True
        if (self.rho is None) != (other.rho is None):
            return False
        if self.rho is not None and other.rho is not None:
            return self.rho <= other.rho
        return self.epsilon <= other.epsilon and self.delta <= other.delta

    def minus(self, other: Loss) -> Loss:
        """What is left of this loss after `other`; refuses to go below zero."""
        if not other <= self:
            raise RefusedError(f"cannot take {other} out of {self}")
        if other.is_zero:
            return self
        if self.rho is not None and other.rho is not None:
            return Loss(rho=self.rho - other.rho)
        return Loss(self.epsilon - other.epsilon, delta=self.delta - other.delta)

    def for_rows(self, count: int) -> Loss:
        """What a unit of up to `count` rows loses where one row loses this: group privacy.

        >>> Loss("0.2").for_rows(5), Loss(rho="0.1").for_rows(3)
        (Loss(epsilon='1'), Loss(rho='0.9'))
        """
        if self.rho is not None:
            return Loss(rho=self.rho * count**2)
        return Loss(self.epsilon * count, delta=self.delta * _steps(self.epsilon, count) if self.delta else 0)

    def per_row(self, count: int) -> Loss:
        """What one row may lose so that a unit of up to `count` rows loses no more than this.

        >>> share = Loss("1", delta="1e-6").per_row(5)
        >>> share.epsilon, float(share.delta), share.for_rows(5) <= Loss("1", delta="1e-6")
        (Fraction(1, 5), 1.28851248085e-07, True)
        """
        if self.rho is not None:
            return Loss(rho=self.rho / count**2)
        share = self.epsilon / count
        delta = _digits(self.delta / _steps(share, count), ROUND_FLOOR) if self.delta else 0
        return Loss(share, delta=delta)

    def as_zcdp(self) -> Loss:
        """A pure ε guarantee is ε²/2 zero-concentrated (Bun and Steinke 2016, proposition 1.4)."""
        if self.rho is not None:
            return self
        if self.delta:
            raise RefusedError("a loss with delta > 0 has no exact rho")
        return Loss(rho=self.epsilon**2 / 2)

    def __str__(self) -> str:
        if self.rho is not None:
            return f"ρ = {text(self.rho)}"
        return f"ε = {text(self.epsilon)}" + (f", δ = {float(self.delta):.3g}" if self.delta else "")

    def __repr__(self) -> str:
        if self.rho is not None:
            return f"Loss(rho={text(self.rho)!r})"
        return f"Loss(epsilon={text(self.epsilon)!r}" + (f", delta={text(self.delta)!r})" if self.delta else ")")


def _steps(epsilon: Fraction, count: int) -> Fraction:
    """No less than 1 + e^ε + … + e^((count-1)ε): how often δ is paid on the way through `count` rows."""
    if epsilon * count > 1000:
        raise UsageError("epsilon: is so large that no delta is left for units of several rows; lower it")
    with localcontext(prec=30, rounding=ROUND_CEILING):
        # `exp` rounds to the nearest; the next number above is no less than the truth.
        powers = [(Decimal(at * epsilon.numerator) / epsilon.denominator).exp().next_plus() for at in range(1, count)]
        return _digits(sum(map(Fraction, powers), Fraction(1)), ROUND_CEILING)


def _digits(value: Fraction, rounding: str) -> Fraction:
    """Twelve digits of a number, so that it can be read."""
    with localcontext(prec=12, rounding=rounding):
        return Fraction(Decimal(value.numerator) / value.denominator)


# ---------------------------------------------------------------- guarantee


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
    def odds_factor(self) -> str:
        """What the loss means for an attacker's odds, in words."""
        if self.holds == "never":
            return "no bound: this method has no guarantee"
        if self.loss.rho is not None:
            return "bounded on average over outputs (zero-concentrated privacy)"
        factor = math.exp(self.loss.epsilon) if self.loss.epsilon < 700 else math.inf
        shown = f"{factor:.2f}" if factor < 100 else f"{factor:.3g}" if factor < math.inf else "beyond 10^300"
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
        f"; one protects a {mine.unit} and the other a {wanted.unit}: give the plan neighbours = {type(mine).__name__}"
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


def in_parallel(guarantees: Iterable[Guarantee], split_by: Literal["public", "confidential"]) -> Guarantee:
    """Releases from disjoint parts of one file, one part each.

    Split by a public attribute, a unit stays in its part: the largest loss is the loss of all. Split by a
    confidential value, a replaced record may leave one part and join another, so replace-one pays twice.
    Under α-neighbours only a split of *establishments* by public attributes is disjoint; a split of one
    establishment's workers is not (haney2017, theorem 7.5, does not hold).
    """
    parts = list(guarantees)
    total = in_sequence(parts)
    losses = [part.loss for part in parts]
    largest = losses[0]
    for loss in losses[1:]:
        if largest <= loss:
            largest = loss
        elif not loss <= largest:
            raise RefusedError("parts of one split have losses that cannot be compared; give each the same kind")
    if split_by == "confidential":
        if isinstance(total.neighbours, StrongAlpha | WeakAlpha):
            raise RefusedError(
                "a split by worker attributes does not compose in parallel under α-neighbours: one establishment's "
                "new workers may fall in every part. Add the losses, or measure the parts as one vector"
            )
        if isinstance(total.neighbours, ReplaceOne | NumbersWithin):
            largest = largest * 2
    return Guarantee(total.neighbours, largest, total.holds, total.assumes)
