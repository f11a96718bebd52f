"""How much one unit loses, exactly: privacy parameters as rationals, and as text."""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal, localcontext
from fractions import Fraction

from tacita.errors import RefusedError, UsageError

Number = str | int | Fraction

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
        number = Fraction(value)
    except (ValueError, ZeroDivisionError):
        raise UsageError(f'{name}: not a number; write it as "0.1", "1/3" or "2"') from None
    if abs(number) > 10**_MOST_DIGITS:
        raise UsageError(f"{name}: is larger than 10^{_MOST_DIGITS}; no privacy parameter is that large")
    return number


def upward(value: float) -> str:
    """Three digits, rounded up: a loss is never said to be smaller than it is, but for what doubles cannot tell.

    >>> upward(20.44), upward(0.1351), upward(6.0)
    ('20.5', '0.136', '6')
    """
    unit = 10.0 ** (math.floor(math.log10(value)) - 2)
    return f"{math.ceil(value / unit - 1e-6) * unit:.3g}"


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

    def __init__(self, epsilon: Number = 0, delta: Number = 0, *, rho: Number | None = None) -> None:
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
