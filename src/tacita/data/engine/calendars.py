"""Days in files of statistical packages, which keep them as numbers: what a column's format counts, and from when."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date
from typing import Any

import numpy as np
import pyarrow as pa

_UNIX = date(1970, 1, 1)
_OTHERS, _SPSS = (_UNIX - date(1960, 1, 1)).days, (_UNIX - date(1582, 10, 14)).days
_LAST = (date.min - _UNIX).days, (date.max - _UNIX).days
_DAY = 86_400  # seconds
# Formats that show a day. Stata's begin with %; SPSS and SAS share some names, and count otherwise.
_STATA = ((re.compile(r"%-?(?:td|d)", re.IGNORECASE), 1), (re.compile(r"%-?tc", re.IGNORECASE), _DAY * 1000))
_OF_SPSS = re.compile(r"(?:A|E|S|J)?DATE\d*|DATETIME[\d.]*|YMDHMS[\d.]*", re.IGNORECASE)
_OF_SAS = (
    (re.compile(r"(?:E8601DT|DATETIME)[\d.]*", re.IGNORECASE), _DAY),
    (re.compile(r"(?:DATE|MMDDYY|DDMMYY|YYMMDD|E8601DA|B8601DA|JULIAN)[A-Z]?[\d.]*", re.IGNORECASE), 1),
)


@dataclass(frozen=True)
class Calendar:
    """So many units are a day, counted from so many days before 1970."""

    units: int
    before: int


def calendar_of(suffix: str, given: str | None) -> Calendar | None:
    """How a column of such a format counts its days; None for one that is no day.

    >>> calendar_of(".dta", "%tdD_m_Y"), calendar_of(".sav", "EDATE10"), calendar_of(".sas7bdat", "DATE9")
    (Calendar(units=1, before=3653), Calendar(units=86400, before=141428), Calendar(units=1, before=3653))
    >>> calendar_of(".dta", "%9.0g") is calendar_of(".sav", "F8.2") is calendar_of(".dta", "%tm") is None
    True
    """
    named = given or ""
    if suffix == ".dta":
        return next((Calendar(units, _OTHERS) for known, units in _STATA if known.match(named)), None)
    if suffix in (".sav", ".zsav"):
        return Calendar(_DAY, _SPSS) if _OF_SPSS.fullmatch(named) else None
    return next((Calendar(units, _OTHERS) for known, units in _OF_SAS if known.fullmatch(named)), None)


def days(column: Iterable[Any], calendar: Calendar) -> pa.Array:
    """Each number as its day; what is no number, such as Stata's own missing values, is missing.

    >>> days([0.0, 21915.5, None, "a"], Calendar(1, 3653)).to_pylist()
    [datetime.date(1960, 1, 1), datetime.date(2020, 1, 1), None, None]
    """
    numbers = np.array([one if isinstance(one, int | float) else np.nan for one in column], dtype=np.float64)
    counted = np.clip(np.floor(numbers / calendar.units) - calendar.before, *_LAST)  # a schema's bounds are within
    gone = ~np.isfinite(numbers)
    return pa.array(np.where(gone, 0, counted).astype(np.int32), mask=gone).cast(pa.date32())
