"""Tables that files agree with: those a plan names, and those that are published beside the files.

Public arithmetic and post-processing: what is published was paid for, and has its law of noise.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from math import prod
from typing import Any

import numpy as np
from attrs import Attribute

from tacita.errors import UsageError
from tacita.measured import Measurements
from tacita.plan.fields import as_names
from tacita.privacy import Number, exact, text
from tacita.synthesis.file.budget import Question
from tacita.synthesis.file.columns import Category, Column
from tacita.synthesis.file.graph import WIDEST
from tacita.synthesis.file.targets import Answer
from tacita.tables.estimates import estimated

MOST_CELLS = 1_000_000  # of a table
_MOST_SHARE = Fraction(9, 10)
_ANY = 0.95  # confidence; what is taken are values and variances
_OTHERWISE = ("where", "weights", "levels", "sampling", "at_most")  # settings of a table that counts something else


def as_tables(given: Iterable[Sequence[str]]) -> tuple[tuple[str, ...], ...]:
    listed = isinstance(given, Iterable) and not isinstance(given, str)
    tables = [as_names(one) for one in given] if listed else [()]
    wrong = [one for one in tables if not isinstance(one, tuple) or not 2 <= len(set(one)) == len(one) <= WIDEST]
    if wrong or not all(isinstance(name, str) for one in tables for name in one):
        raise UsageError('keep: give lists of two or three columns, such as [["region", "sex"], ["age", "sex"]]')
    if len({frozenset(one) for one in tables}) != len(tables):
        raise UsageError("keep: a table is listed twice; each is measured once")
    return tuple(tables)


def of_columns(plan: Any, setting: Attribute[Any], given: tuple[tuple[str, ...], ...]) -> None:
    for name in (name for one in given for name in one):
        if name not in plan.columns:
            raise UsageError(f"keep: {name} is not in columns; add it there, or drop its tables")


def as_share(given: Number) -> Fraction:
    return exact(given, "keep_share")


def share_of_tables(plan: Any, setting: Attribute[Any], share: Fraction) -> None:
    if not 0 < share <= _MOST_SHARE:
        raise UsageError(f'keep_share: must be above 0 and at most {text(_MOST_SHARE)}, such as "0.25"')


def usable(table: Any, columns: Sequence[Column]) -> bool:
    """Whether a published table counts the very records of the files, by columns that are drawn as they are."""
    if not isinstance(table, Measurements) or table.plan.get("statistic") != "count":
        return False
    sizes = {one.name: one.size for one in columns if isinstance(one, Category)}
    if any(table.plan.get(key) for key in _OTHERWISE) or table.facts.get("visible") is False:
        return False
    by = tuple(table.keys)
    return len(by) <= WIDEST and set(by) <= set(sizes) and table.cells == prod(sizes[name] for name in by) <= MOST_CELLS


def answer_of(table: Measurements, columns: Sequence[Column]) -> Answer:
    """A published table as one that was measured for the files."""
    known, place = estimated(table, _ANY), {one.name: k for k, one in enumerate(columns)}
    by = sorted(table.keys, key=lambda name: place[name])
    cell = np.lexsort([table.keys[name] for name in reversed(by)]) if by else np.zeros(1, dtype=np.int64)
    values = np.rint(known.value[cell]).astype(np.int64).reshape([columns[place[name]].size for name in by])
    noise = Fraction(1 if known.variance is None else float(known.variance[0])).limit_denominator(10**6)
    question = Question(tuple(place[name] for name in by), False, max(noise, Fraction(1, 100)), Fraction(0), False)
    return Answer(question, values)
