"""Is a declared list of levels about this column at all? A rule for values outside it hides the question.

With `outside = "<level>"` a column whose every value is written otherwise than in the schema (dates against months,
"1,0" against "1") passes every other check, becomes one level throughout, and what is spent on it is lost.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from tacita.data.engine import Engine, text_of
from tacita.data.schema import Categorical

_NO_NUMBER = re.compile(r"\+\d.*|-?0\d+(\.\d+)?|-?\d+\.\d*0")
_SHORT = 200  # levels of a column that is asked about together with others
_AT_ONCE = 1_000  # levels in one question: the first few usually answer it, and a long list is slow to compile


def as_declared(table: Any, kinds: Mapping[str, Categorical], engine: Engine) -> set[str]:
    """Columns with nothing to complain about: every value is declared, or, with a rule for others, some value is.

    All columns are asked about at once: a question for each takes minutes in files of hundreds. Long lists, and columns
    that are not so plain, are left to those questions.
    """
    short = {column: kind for column, kind in kinds.items() if len(kind.levels) <= _SHORT}
    if not short:
        return set()
    asked = engine.written(
        ("levels", table, *short.items()),
        lambda: table.aggregate(
            **{f"{at}": _declared(table[column], kind) for at, (column, kind) in enumerate(short.items())}
        ),
    )
    (found,) = engine.collect(asked).to_pylist()
    return {column for at, column in enumerate(short) if found[f"{at}"]}


def _declared(stored: Any, kind: Categorical) -> Any:
    value = text_of(stored)
    if kind.outside != "error":
        return value.isin(list(kind.levels)).fill_null(False).any()
    return value.isin([*kind.levels, *kind.missing_codes]).fill_null(kind.missing is not None).all()


def none_matches(table: Any, column: str, kind: Categorical, engine: Engine) -> bool:
    """Whether the column has values and not one of them is a declared level. Each question ends at its first row."""
    value = text_of(table[column])

    def occurs(rule: Any) -> bool:
        return bool(engine.collect(table.filter(rule).select(column).limit(1)).num_rows)

    for start in range(0, len(kind.levels), _AT_ONCE):
        if occurs(value.isin(list(kind.levels[start : start + _AT_ONCE]))):
            return False
    return occurs(value.notnull() & ~value.isin(list(kind.missing_codes)) if kind.missing_codes else value.notnull())


def never_written(stored: Any, kind: Categorical) -> str | None:
    """A level that looks like a number and that no stored number is written as, such as "00501"; None for text.

    This is told from how the column is stored and from the schema alone: no row is asked.
    """
    if not stored.is_numeric():
        return None
    levels = (one for one in kind.levels if one not in (kind.outside, kind.missing))
    return next((one for one in levels if _NO_NUMBER.fullmatch(one)), None)


def never_written_problem(where: str, level: str) -> str:
    return (
        f'{where}: the file stores numbers there, and none of them is written "{level}"; write the levels without '
        "zeros or signs that numbers do not have, or store the column as text"
    )


def unmatched_problem(where: str, column: str) -> str:
    return (
        f"{where}: no value of the column is among the declared levels, so that all would become the level that "
        f"variables.{column}.outside names; write the levels as the file has them, or repair the file"
    )
