"""Is a declared list of levels about this column at all? A rule for values outside it hides the question.

With `outside = "<level>"` a column whose every value is written otherwise than in the schema (dates against months,
"1,0" against "1") passes every other check, becomes one level throughout, and what is spent on it is lost.
"""

from __future__ import annotations

from typing import Any

from tacita.data.engine import Engine, text_of
from tacita.data.schema import Categorical

_AT_ONCE = 1_000  # levels in one question: the first few usually answer it, and a long list is slow to compile


def none_matches(table: Any, column: str, kind: Categorical, engine: Engine) -> bool:
    """Whether the column has values and not one of them is a declared level. Each question ends at its first row."""
    value = text_of(table[column])

    def occurs(rule: Any) -> bool:
        return bool(engine.collect(table.filter(rule).select(column).limit(1)).num_rows)

    for start in range(0, len(kind.levels), _AT_ONCE):
        if occurs(value.isin(list(kind.levels[start : start + _AT_ONCE]))):
            return False
    return occurs(value.notnull() & ~value.isin(list(kind.missing_codes)) if kind.missing_codes else value.notnull())


def unmatched_problem(where: str, column: str) -> str:
    return (
        f"{where}: no value of the column is among the declared levels, so that all would become the level that "
        f"variables.{column}.outside names; write the levels as the file has them, or repair the file"
    )
