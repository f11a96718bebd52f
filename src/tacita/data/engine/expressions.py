"""Stored values in one canonical form, whatever file or engine they come from."""

from __future__ import annotations

import math
from datetime import date
from typing import Any

from tacita.data.schema import Categorical, Date, Identifier, Integer, Kind, Numeric
from tacita.data.schema.units import Domain
from tacita.lazy import later

ibis = later("ibis")

# Numbers are compared to a millionth: finer digits do not survive every file format anyway.
_PARTS = 1_000_000
_MILLIONTHS = 9e9  # below, a number's millionths are a whole number that a float holds
_DAY = r"^\d{4}-\d{2}-\d{2}($|[T ])"
EXACT = 2**53  # whole floats below stand for one integer each; from here on a float may stand for several


def text_of(column: Any) -> Any:
    """A code or id as text: 7, 7.0, 7.00 and "7" are the same code; empty text and NaN are missing.

    Two different stored values never become the same text. Integers and decimals of any size are therefore written
    digit by digit, never through a float, and a float of 2^53 or more is written in a form that no integer has.
    """
    kind = column.type()
    if kind.is_string():
        return column.nullif("")
    if kind.is_decimal():
        return _decimal_text(column, kind)
    if not kind.is_floating():
        return column.cast("string")
    number = column.cast("float64")
    whole = is_whole(number) & (number.abs() < EXACT)
    return ibis.cases(
        (number.isnull() | number.isnan(), ibis.null("string")),
        (whole, number.cast("int64").cast("string")),
        else_=number.cast("string"),
    )


def _decimal_text(column: Any, kind: Any) -> Any:
    """Every digit of a decimal, without the zeros that only fill its places."""
    text = column.cast("string")
    if kind.scale == 0:
        return text
    if kind.precision == kind.scale:
        # DuckDB writes 0.50 as .50 where the type has no digit before the point.
        text = text.re_replace(r"^\.", "0.").re_replace(r"^-\.", "-0.")
    return text.re_replace(r"\.?0+$", "")


def is_whole(number: Any) -> Any:
    """Whether a number has no fraction. By remainder: `floor` casts to an integer, which infinity does not survive."""
    return number % 1.0 == 0.0


def exactly(number: float) -> Any:
    """A float that an engine reads to the last bit: as digits, a long one may be read as the float next to it."""
    if not number or not math.isfinite(number):
        return ibis.literal(number, "float64")
    fraction, power = math.frexp(number)
    return _times_two(ibis.literal(int(fraction * 2**53), "int64").cast("float64"), power - 53)


def divided(number: Any, by: float) -> Any:
    """A float divided by another, above 0, with the rounding of one division."""
    fraction, power = math.frexp(by)
    return _times_two(number, 53 - power) / ibis.literal(int(fraction * 2**53), "int64").cast("float64")


def _times_two(number: Any, power: int) -> Any:
    """A float times two to a power, step by step: whole numbers are written without loss, and no step rounds."""
    for one in (*[60] * (abs(power) // 60), abs(power) % 60):
        factor = ibis.literal(2**one, "int64").cast("float64")
        number = number * factor if power > 0 else number / factor
    return number


def nearest(number: Any) -> Any:
    """The nearest whole number, of two the even one, as IEEE 754 rounds; engines round halves each in its own way."""
    whole = number.floor().cast("int64")
    above = number - whole.cast("float64")
    half = ibis.ifelse((above == 0.5) & (whole % 2 != 0), 1, 0)
    return whole + ibis.ifelse(above > 0.5, 1, half)


def is_missing(column: Any) -> Any:
    """Whether a code or id is missing, without the cost of turning it into text."""
    kind = column.type()
    if kind.is_string():
        return column.isnull() | (column == "")
    if kind.is_floating():
        return column.isnull() | column.isnan()
    return column.isnull()


def number_in(text: Any) -> Any:
    """Text as a number, missing where it is none; beyond the range of floats infinity, or 0.

    DuckDB alone takes 1_000 for a number. It hands a cast of a bare column to its CSV reader, which then fails at the
    first text that is no number.
    """
    return ibis.ifelse(text.contains("_"), ibis.null("string"), text.nullif("")).try_cast("float64")


def number_of(column: Any) -> Any:
    """A stored number as float64, missing where it is empty, NaN or no number at all."""
    kind = column.type()
    if kind.is_integer():
        return column.cast("float64")
    if kind.is_string():
        column = number_in(column)
    elif not (kind.is_floating() and kind.nbytes == 8):
        column = column.cast("float64")
    return ibis.ifelse(column.isnan(), ibis.null("float64"), column)


def day_in(stored: Any) -> Any:
    """A stored date as days since 1970-01-01, without its time of day; missing where text is no date."""
    kind = stored.type()
    if kind.is_string():
        stored = ibis.ifelse(stored.re_search(_DAY), stored.substr(0, 10), ibis.null("string")).try_cast("date")
    elif kind.is_timestamp():
        stored = stored.date()
    return stored.epoch_days().cast("float64")


def ruled_number(column: Any, kind: Integer | Numeric | Date) -> Any:
    """A number after the schema's own rule: missing replaced, clamped to its bounds, rounded to its places.

    Where the rule is to refuse the file, a missing value stays missing: `Confidential.check` has refused it before.
    """
    if isinstance(kind, Integer) and column.type().is_signed_integer() and not kind.missing_codes:
        # The same without a float in between, in a third of the time.
        clamped = ibis.least(ibis.greatest(column.cast("int64"), kind.lower), kind.upper)
        instead = ibis.null("int64") if kind.missing is None else ibis.literal(float(kind.missing)).cast("int64")
        return ibis.ifelse(column.isnull(), instead, clamped)
    number = number_of(column)
    missing = number.isnull()
    if kind.missing_codes:
        missing = missing | number.isin([float(code) for code in kind.missing_codes])
    lower, upper = bounds_of(kind)
    clamped = ibis.least(ibis.greatest(number, lower), upper)
    parts = 10.0**kind.scale if isinstance(kind, Numeric) else 1.0
    # The cast is for Spark, whose floor is an integer and would divide to a decimal.
    rounded = (clamped * parts + 0.5).floor().cast("float64") / parts
    known = Date.day(kind.missing) if isinstance(kind.missing, date) else kind.missing
    instead = ibis.null("float64") if known is None else ibis.literal(float(known))
    value = ibis.ifelse(missing, instead, rounded)
    return value if isinstance(kind, Numeric) else value.cast("int64")


def bounds_of(kind: Integer | Numeric | Date) -> tuple[float, float]:
    """The least and the largest number; of dates in days."""
    if isinstance(kind, Date):
        return float(kind.first), float(kind.last)
    return float(kind.lower), float(kind.upper)


def level_code(column: Any, kind: Categorical) -> Any:
    """Position of a stored value in the list of levels, by the schema's own rule; -1 where the rule is to refuse.

    One comparison per level, so for short lists only (long ones are coded after grouping).
    """
    value = text_of(column)
    missing = value.isnull()
    if kind.missing_codes:
        missing = missing | value.isin(list(kind.missing_codes))
    return ibis.cases(
        (missing, -1 if kind.missing is None else kind.code[kind.missing]),
        *((value == level, code) for level, code in kind.code.items()),
        else_=-1 if kind.outside == "error" else kind.code[kind.outside],
    ).cast("int32")


def canonical_number(column: Any, kind: Integer | Numeric | Date) -> Any:
    """A number as text that DuckDB and Spark write alike: whole millionths, by arithmetic that IEEE 754 fixes.

    Numbers that the schema's rule tells apart always differ here: where the millionths alone (or, from 9e9 on, the
    whole number) would be ruled otherwise than the number itself, the ruled value is added.
    """
    number = number_of(column)
    size = number.abs()
    millionths, whole = (number * _PARTS + 0.5).floor(), number.floor()
    shown = ibis.cases(
        (size < _MILLIONTHS, millionths.cast("int64").cast("string")),
        (size < EXACT, ibis.literal("u") + whole.cast("int64").cast("string")),
        (number > 0, ibis.literal("+big")),
        else_=ibis.literal("-big"),
    )
    kept = ibis.cases(
        (size < _MILLIONTHS, millionths.cast("float64") / _PARTS),
        (size < EXACT, whole.cast("float64")),
        (number > 0, ibis.literal(math.inf)),
        else_=ibis.literal(-math.inf),
    )
    ruled = ruled_number(number, kind)
    parts = 10.0**kind.scale if isinstance(kind, Numeric) else 1.0
    added = ibis.literal("~") + (ruled * parts + 0.5).floor().cast("int64").cast("string")
    return ibis.cases(
        (number.isnull(), ibis.null("string")),
        (ruled == ruled_number(kept, kind), shown),
        else_=shown + added,
    )


def unit_of_rows(column: Any, kind: Kind) -> Any:
    """A stored value as the whole number that rules between columns are about, after the column's own rule."""
    if isinstance(kind, Categorical):
        return level_code(column, kind).cast("int64")
    assert not isinstance(kind, Identifier)  # or no rule would be about it
    domain = Domain.of(kind)
    number = ruled_number(column, kind).cast("float64") * float(10**domain.places)
    return (number + 0.5).floor().cast("int64").fill_null(domain.first - 1)
