"""Privacy parameters as exact rationals, and as text."""

from __future__ import annotations

from fractions import Fraction

from tacita.errors import UsageError

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
