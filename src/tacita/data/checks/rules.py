"""Does every record keep the rules between columns? Asked before anything is spent, a few hundred rules at a time.

As with levels and bounds, a file that breaks one is refused, which its data steward alone sees. A rule with
`broken = "allow"` is not asked about.
"""

from __future__ import annotations

from typing import Any

from tacita.data.engine import Engine, unit_of_rows
from tacita.data.schema import Rulebook, Schema

_AT_ONCE = 200  # rules in one question


def rule_problems(table: Any, todo: list[str], schema: Schema, engine: Engine) -> list[str]:
    """One message for each rule that a record breaks, if it is about one of the columns `todo`."""
    book = Rulebook.of(schema, [name for name in table.columns if _in_a_rule(name, schema)])
    asked = [
        rule
        for rule in book.rules
        if rule.refuses and (rule.combinations or rule.limits or rule.derived) and set(rule.columns) & set(todo)
    ]
    problems = []
    for start in range(0, len(asked), _AT_ONCE):
        some = asked[start : start + _AT_ONCE]
        names = dict.fromkeys(name for rule in some for name in rule.columns)
        coded = table.select(**{name: unit_of_rows(table[name], schema[name].kind) for name in names})
        units = {name: coded[name] for name in names}
        flags = {f"f{k}": book.breaks(rule, units).any() for k, rule in enumerate(some)}
        (answer,) = engine.collect(coded.aggregate(**flags)).to_pylist()
        problems += [_problem(rule.columns, rule.entry) for k, rule in enumerate(some) if answer[f"f{k}"]]
    return problems


def _in_a_rule(name: str, schema: Schema) -> bool:
    return any(name in rule.columns for rule in schema.rules) or any(name in dict(zero) for zero in schema.zeros)


def _problem(columns: tuple[str, ...], entry: Any) -> str:
    if not entry:
        return (
            f"{', '.join(columns)}: a record has a combination of levels that [[zeros]] calls impossible; "
            "repair the file, or take that entry out of the schema"
        )
    return (
        f"{', '.join(columns)}: a record breaks the rule with {_word(entry)} in [[rules]]; repair the file, correct "
        'the rule, or let such records pass with broken = "allow": synthetic files keep it all the same'
    )


def _word(entry: Any) -> str:
    return "only_when" if "only_when" in entry else str(next(iter(entry)))
