"""Rules that every record keeps, as a person declares them in `[[rules]]`: public facts, never read from rows.

Whatever its form, a rule is made of *combinations* that no record has, of *limits* on sums of numbers, and of a column
that follows from others (*derived*). Everything beyond this module sees these three alone.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacita.data.schema import reading
from tacita.data.schema.derived import Derived, Follows, Formula, Total, in_order
from tacita.data.schema.kinds import Categorical, Date, Kind
from tacita.data.schema.units import Domain, Span, Values, unit_of, value_of, values_of, written_values
from tacita.errors import SchemaError

Integers = NDArray[np.int64]
Combination = tuple[tuple[str, Values], ...]
Kinds = Mapping[str, Kind]
Entry = Mapping[str, Any]

_LARGEST = 2**60
RULE_KEYS = {
    "never": ("never",),
    "when": ("when", "then"),
    "only_when": ("column", "only_when", "otherwise"),
    "determines": ("determines", "from", "map", "bins", "file", "when_missing"),
    "less": ("less", "or_equal"),
    "sum": ("sum", "equals"),
    "computes": ("computes", "as"),
}  # the keys of each form, under the one that tells it
_FORMS = "never, when and then, column and only_when, determines and from, less, sum and equals, or computes and as"


@dataclass(frozen=True)
class Limit:
    """Columns times whole numbers add up to at most so many units, in records where none of them is missing."""

    terms: tuple[tuple[str, int], ...]
    most: int


@dataclass(frozen=True)
class Rule:
    """One rule; `entry` is how it is written, with everything spelled out."""

    columns: tuple[str, ...]
    entry: Entry
    combinations: tuple[Combination, ...] = ()
    limits: tuple[Limit, ...] = ()
    derived: Follows | None = None
    refuses: bool = True
    """Whether an original file in which a record breaks it is refused."""


def rules_of(entries: Any, kinds: Kinds, folder: Path | None) -> tuple[Rule, ...]:
    """Every `[[rules]]` of a schema whose columns have these kinds."""
    if not isinstance(entries, list) or not all(isinstance(one, Mapping) for one in entries):
        raise SchemaError("rules: must be tables, each written as [[rules]]")
    rules = tuple(_rule(one, kinds, folder, f"rules, number {k}") for k, one in enumerate(entries, start=1))
    by_column: dict[str, int] = {}
    for number, rule in enumerate(rules, start=1):
        if rule.derived is not None and by_column.setdefault(rule.derived.column, number) != number:
            first = by_column[rule.derived.column]
            raise SchemaError(
                f"rules, number {number}: {rule.derived.column} already follows from rule {first}; keep one of the two"
            )
    in_order([rule.derived for rule in rules if rule.derived is not None])
    return rules


def only(where: Any, kinds: Kinds) -> tuple[Rule, ...]:
    """What holds in records of one kind, such as `{"sex": "F", "age": {"least": 65}}`, as rules."""
    others = {name: one.others(Domain.of(kinds[name])) for name, one in _conditions(where, kinds, "where").items()}
    return tuple(Rule((name,), {}, (((name, one),),)) for name, one in others.items() if one.spans)


def _rule(entry: Entry, kinds: Kinds, folder: Path | None, where: str) -> Rule:
    readers: dict[str, Callable[..., Rule]] = {
        "never": _never,
        "when": _implication,
        "only_when": _only_when,
        "determines": _determines,
        "less": _less,
        "sum": _sum,
        "computes": _computes,
    }
    given = [key for key in RULE_KEYS if key in entry]
    if len(given) != 1:
        raise SchemaError(f"{where}: a rule has one of these forms: {_FORMS}")
    keys, read = RULE_KEYS[given[0]], readers[given[0]]
    reading.refuse_placeholders(entry, where)
    reading.refuse_unknown(entry, (*keys, "broken"), where)
    broken = reading.one_of(entry, "broken", ("refuse", "allow"), where, default="refuse")
    made = read(entry, kinds, where, folder) if read is _determines else read(entry, kinds, where)
    return Rule(
        made.columns,
        {**made.entry, "broken": broken},
        made.combinations,
        made.limits,
        made.derived,
        broken == "refuse",
    )


def _kind(name: Any, kinds: Kinds, where: str) -> Kind:
    if not isinstance(name, str) or name not in kinds:
        raise SchemaError(f"{where}: {name} is not declared; add [variables.{name}], or correct the name")
    try:
        Domain.of(kinds[name])
    except SchemaError as problem:
        raise SchemaError(f"{where}: {name} {problem}") from None
    return kinds[name]


def _conditions(entry: Any, kinds: Kinds, where: str) -> dict[str, Values]:
    if not isinstance(entry, Mapping) or not entry:
        raise SchemaError(f'{where}: must name columns with values, such as {{ smoker = "no" }}')
    tests = {}
    for name, test in entry.items():
        tests[name] = values_of(test, _kind(name, kinds, where), f"{where}.{name}")
        if not tests[name].spans:
            raise SchemaError(f"{where}.{name}: no value within the declared bounds is meant; correct it")
    return dict(sorted(tests.items()))


def _written(tests: Mapping[str, Values], kinds: Kinds) -> dict[str, Any]:
    return {name: written_values(values, kinds[name]) for name, values in tests.items()}


def _never(entry: Entry, kinds: Kinds, where: str) -> Rule:
    tests = _conditions(entry["never"], kinds, f"{where}, never")
    if len(tests) < 2:
        raise SchemaError(f"{where}, never: name two or more columns; what one column may hold is its own declaration")
    return Rule(tuple(tests), {"never": _written(tests, kinds)}, (tuple(tests.items()),))


def _implication(entry: Entry, kinds: Kinds, where: str) -> Rule:
    when = _conditions(entry["when"], kinds, f"{where}, when")
    then = _conditions(entry.get("then"), kinds, f"{where}, then")
    if both := sorted(set(when) & set(then)):
        raise SchemaError(f"{where}: {both[0]} stands in when and in then; a rule is about different columns")
    against = {name: values.others(Domain.of(kinds[name])) for name, values in then.items()}
    barred = tuple((*when.items(), (name, values)) for name, values in against.items() if values.spans)
    return Rule((*when, *then), {"when": _written(when, kinds), "then": _written(then, kinds)}, barred)


def _only_when(entry: Entry, kinds: Kinds, where: str) -> Rule:
    column = reading.text(entry, "column", where)
    kind = _kind(column, kinds, where)
    when = _conditions(entry["only_when"], kinds, f"{where}, only_when")
    otherwise = entry.get("otherwise", kind.missing if isinstance(kind, Categorical) else "missing")
    if otherwise is None or column in when:
        raise SchemaError(f"{where}: say which level of {column} stands for not applicable, with otherwise")
    none = values_of(otherwise, kind, f"{where}, otherwise")
    applies = none.others(Domain.of(kind))
    against = {name: values.others(Domain.of(kinds[name])) for name, values in when.items()}
    barred = tuple(((name, values), (column, applies)) for name, values in against.items() if values.spans)
    written = {"column": column, "only_when": _written(when, kinds), "otherwise": written_values(none, kind)}
    return Rule((column, *when), written, barred)


def _less(entry: Entry, kinds: Kinds, where: str) -> Rule:
    names = reading.texts(entry, "less", where)
    or_equal = entry.get("or_equal", False)
    if len(names) < 2 or len(set(names)) != len(names) or not isinstance(or_equal, bool):
        raise SchemaError(
            f'{where}, less: name columns from the least on, such as ["start", "end"]; or_equal is true or false'
        )
    _measures(names, kinds, f"{where}, less")
    limits = tuple(
        _limit({low: 1, high: -1}, 0 if or_equal else -1, kinds, where) for low, high in combinations(names, 2)
    )
    return Rule(names, {"less": list(names), "or_equal": or_equal}, limits=limits)


def _sum(entry: Entry, kinds: Kinds, where: str) -> Rule:
    parts, total = reading.texts(entry, "sum", where), reading.text(entry, "equals", where)
    if len(parts) < 2 or len({*parts, total}) != len(parts) + 1:
        raise SchemaError(f"{where}, sum: name two or more columns, each once, and another one with equals")
    _measures((*parts, total), kinds, f"{where}, sum")
    domains = {name: Domain.of(kinds[name]) for name in (*parts, total)}
    if isinstance(kinds[total], Date):
        raise SchemaError(f"{where}, sum: dates do not add up; name numbers")
    if any(domains[name].places > domains[total].places for name in parts):
        raise SchemaError(f"{where}, equals: {total} has fewer places after the point than a part; give it as many")
    _refuse_never_missing(total, parts, domains, where)
    up, down = dict.fromkeys(parts, 1) | {total: -1}, dict.fromkeys(parts, -1) | {total: 1}
    limits = (_limit(up, 0, kinds, where), _limit(down, 0, kinds, where))
    terms = tuple((name, 10 ** (domains[total].places - domains[name].places)) for name in parts)
    return Rule((*parts, total), {"sum": list(parts), "equals": total}, limits=limits, derived=Total(total, terms))


def _computes(entry: Entry, kinds: Kinds, where: str) -> Rule:
    column = reading.text(entry, "computes", where)
    formula = Formula.of(column, reading.text(entry, "as", where), where)
    names = (*formula.sources, column)
    _measures(names, kinds, f"{where}, as")
    if isinstance(kinds[column], Date):
        raise SchemaError(f"{where}, as: is for numbers; dates are compared with less")
    _refuse_never_missing(column, formula.sources, {name: Domain.of(kinds[name]) for name in names}, where)
    return Rule(names, {"computes": column, "as": formula.text}, derived=formula)


def _refuse_never_missing(column: str, sources: Sequence[str], domains: Mapping[str, Domain], where: str) -> None:
    if any(domains[name].missing for name in sources) and not domains[column].missing:
        raise SchemaError(
            f"{where}: what {column} follows from may be missing, and then it is; declare missing = "
            f'"own state" for {column}'
        )


def _measures(names: Sequence[str], kinds: Kinds, where: str) -> None:
    """Refuse what is no number, and numbers beside dates."""
    dates = [isinstance(_kind(name, kinds, where), Date) for name in names]
    for name in names:
        if isinstance(kinds[name], Categorical):
            raise SchemaError(f"{where}: {name} is categorical; name numbers or dates")
    if any(dates) and not all(dates):
        raise SchemaError(f"{where}: compare numbers with numbers and dates with dates")


def _limit(factors: Mapping[str, int], most: int, kinds: Kinds, where: str) -> Limit:
    domains = {name: Domain.of(kinds[name]) for name in factors}
    finest = max(one.places for one in domains.values())
    terms = tuple((name, factor * 10 ** (finest - domains[name].places)) for name, factor in factors.items())
    if sum(abs(factor) * max(abs(domains[n].first - 1), abs(domains[n].last)) for n, factor in terms) > _LARGEST:
        raise SchemaError(f"{where}: bounds are too wide for so many places after the point; narrow them")
    return Limit(terms, most)


def _determines(entry: Entry, kinds: Kinds, where: str, folder: Path | None) -> Rule:
    column, source = reading.text(entry, "determines", where), reading.text(entry, "from", where)
    kind, source_kind = _kind(column, kinds, where), _kind(source, kinds, where)
    given = [key for key in ("map", "bins", "file") if key in entry]
    listed = isinstance(source_kind, Categorical)
    if len(given) != 1 or listed == ("bins" in entry) or column == source:
        form = "map or file" if listed else "bins"
        raise SchemaError(f"{where}: say what {source} determines of {column} with {form}")
    if isinstance(source_kind, Categorical):
        pieces = _mapped(entry, column, kind, source, source_kind, where, folder)
    else:
        pieces = _binned(entry["bins"], kind, source_kind, where)
    domain = Domain.of(source_kind)
    if domain.missing:
        absent = entry.get("when_missing", kind.missing if isinstance(kind, Categorical) else "missing")
        if absent is None:
            raise SchemaError(f"{where}, when_missing: {source} may be missing; say what {column} is then")
        pieces.append(((domain.first - 1, domain.first - 1), unit_of(absent, kind, f"{where}, when_missing")))
    pieces.sort()
    reached = Values.of(span for span, _ in pieces)
    if not reached.spans or reached.others(domain).spans:
        raise SchemaError(f"{where}: some values of {source} have no {column}; every one that is declared needs one")
    if any(one[1] >= other[0] for (one, _), (other, _) in pairwise(pieces)):
        raise SchemaError(f"{where}: a value of {source} has two values of {column}; keep one")
    derived = Derived(column, source, tuple(span[0] for span, _ in pieces), tuple(target for _, target in pieces))
    own = Domain.of(kind)
    barred = []
    for target in dict.fromkeys(derived.targets):
        others = Values.of([(target, target)]).others(own)
        if others.spans:
            here = Values.of([(target, target)])
            barred.append(((source, derived.pulled(here, domain)), (column, others)))
    return Rule((column, source), _as_written(derived, kind, source_kind), tuple(barred), derived=derived)


def _mapped(
    entry: Entry, column: str, kind: Kind, source: str, source_kind: Categorical, where: str, folder: Path | None
) -> list[tuple[Span, int]]:
    table = entry.get("map")
    if "file" in entry:
        name = reading.text(entry, "file", where)
        fields, rows = reading.csv_rows(name, f"{where}, file", folder)
        if source not in fields or column not in fields:
            raise SchemaError(f'{where}, file: {name} needs a header line with the columns "{source}" and "{column}"')
        table = {row[source]: row[column] for row in rows}
        if not isinstance(kind, Categorical | Date):
            table = {code: _number(value, where) for code, value in table.items()}
    if not isinstance(table, Mapping):
        raise SchemaError(f'{where}, map: must be a table, such as {{ "1" = "a", "2" = "b" }}')
    pieces = []
    for code, value in table.items():
        at = unit_of(code, source_kind, f"{where}, {source}")
        pieces.append(((at, at), unit_of(value, kind, f"{where}, {column}")))
    return pieces


def _number(value: str | None, where: str) -> float:
    try:
        return float(value or "")
    except ValueError:
        raise SchemaError(f"{where}, file: holds text where a number is needed") from None


def _binned(bins: Any, kind: Kind, source_kind: Kind, where: str) -> list[tuple[Span, int]]:
    if not isinstance(kind, Categorical) or not isinstance(bins, Mapping) or not bins:
        raise SchemaError(f'{where}, bins: must give levels from first to last value, such as {{ "0-14" = [0, 14] }}')
    pieces = []
    for level, ends in bins.items():
        at = unit_of(level, kind, f"{where}, bins")
        for span in ends if isinstance(ends, list) and ends and isinstance(ends[0], list) else [ends]:
            if not isinstance(span, list) or len(span) != 2:
                raise SchemaError(f"{where}, bins.{level}: must be the first and the last value, such as [0, 14]")
            first, last = (unit_of(one, source_kind, f"{where}, bins.{level}") for one in span)
            domain = Domain.of(source_kind)
            first, last = max(first, domain.first), min(last, domain.last)
            if first <= last:
                pieces.append(((first, last), at))
    return pieces


def _as_written(derived: Derived, kind: Kind, source_kind: Kind) -> dict[str, Any]:
    domain = Domain.of(source_kind)
    entry: dict[str, Any] = {"determines": derived.column, "from": derived.source}
    if isinstance(source_kind, Categorical):
        pairs = zip(derived.starts, derived.targets, strict=True)
        return entry | {"map": {source_kind.levels[at]: value_of(target, kind) for at, target in pairs}}
    bins: dict[str, list[list[Any]]] = {}
    for (first, last), target in derived.pieces(domain):
        level = value_of(target, kind)
        if first < domain.first:
            entry["when_missing"] = level
        else:
            bins.setdefault(level, []).append([value_of(first, source_kind), value_of(last, source_kind)])
    return entry | {"bins": bins}
