"""The settings that plans share, each with its one rule: what is accepted, what is kept, what is said if it is wrong.

A plan declares its settings as attrs fields with these converters and validators, so that a rule and its words stand
here once, whichever plan has the setting. Public values only: no data is seen here.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import pairwise
from numbers import Real
from typing import Any, TypeVar, cast, get_args

from attrs import Attribute

from tacita.errors import UsageError
from tacita.privacy import AddRemoveOne, Neighbours, Number, NumbersWithin, ReplaceOne, exact, text
from tacita.privacy.json_form import neighbours_from_json, neighbours_to_json

V = TypeVar("V", covariant=True)
Rule = Callable[[Any, "Attribute[Any]", Any], None]

OneUnit = AddRemoveOne | ReplaceOne
_LONGEST_ALPHA = 10**6
RECORD = ReplaceOne("record")  # what a synthesizer protects unless it is told otherwise


class Named(Mapping[str, V]):
    """A mapping that never changes, so that a plan can be compared and hashed; two orders of entries are one mapping.

    >>> Named({"b": 1, "a": 2}) == Named([("a", 2), ("b", 1)])
    True
    >>> Named({"b": 1, "a": 2})
    {'a': 2, 'b': 1}
    """

    __slots__ = ("_entries",)

    def __init__(self, given: Mapping[str, V] | Iterable[tuple[str, V]] = ()) -> None:
        self._entries = dict(sorted(dict(given).items()))

    def __getitem__(self, key: str) -> V:
        return self._entries[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._entries)

    def __len__(self) -> int:
        return len(self._entries)

    def __hash__(self) -> int:
        return hash(tuple(self._entries.items()))

    def __repr__(self) -> str:
        return repr(self._entries)


# ---------------------------------------------------------------- names of columns


def as_names(given: Sequence[str]) -> tuple[str, ...]:
    # `each_once` refuses in words what is no list of names: a text is a sequence of letters, a set has no order.
    listed = isinstance(given, Iterable) and not isinstance(given, str | set | frozenset)
    return tuple(given) if listed else cast("tuple[str, ...]", given)


def each_once(plan: Any, setting: Attribute[Any], given: Any) -> None:
    """A list of names, none of them twice."""
    if isinstance(given, str):
        raise UsageError(f'{setting.name}: give a list of names, such as ["{given}"], not a single string')
    if not isinstance(given, tuple) or not all(isinstance(name, str) for name in given):
        raise UsageError(f'{setting.name}: give a list of names in quotes, such as ["age", "sex"]')
    if len(set(given)) != len(given):
        raise UsageError(f"{setting.name}: a name is listed twice; each is used once")


def at_least_one(plan: Any, setting: Attribute[Any], given: Any) -> None:
    each_once(plan, setting, given)
    if not given:
        raise UsageError(f'{setting.name}: name the columns, at least one, such as ["age", "sex"]')


def among_columns(plan: Any, setting: Attribute[Any], given: Mapping[str, Any]) -> None:
    """Entries by column are about columns that the plan synthesizes."""
    for name in given:
        if name not in plan.columns:
            raise UsageError(
                f"{setting.name}: {name} is not in columns, which holds {', '.join(plan.columns)}; add it there, or "
                f"drop it here"
            )


def by_name(given: Mapping[str, Any] | Sequence[Any], key: str) -> list[tuple[str, Any]]:
    """The entries of a mapping, or of a list of pairs as a stored description has it, in their own order."""
    listed = given if isinstance(given, Iterable) else [given]
    entries = list(listed.items() if isinstance(listed, Mapping) else listed)
    if not all(isinstance(entry, Sequence) and not isinstance(entry, str) and len(entry) == 2 for entry in entries):
        raise UsageError(f"{key}: give one entry for each column, such as {{pay = …}}")
    names = [str(name) for name, _ in entries]
    if len(set(names)) != len(names):
        raise UsageError(f"{key}: a column is named twice; each has one entry")
    return [(str(name), value) for name, value in entries]


def as_where(given: Mapping[str, Sequence[str]] | Sequence[Any]) -> Named[tuple[str, ...]]:
    """Levels by column: which records are counted."""
    return Named((name, as_names(levels)) for name, levels in by_name(given, "where"))


# ---------------------------------------------------------------- numbers


def as_epsilon(given: Number) -> Fraction:
    epsilon = exact(given, "epsilon")
    if epsilon <= 0:
        raise UsageError('epsilon: must be above 0, such as "1" or "0.5"')
    return epsilon


def as_delta(given: Number) -> Fraction:
    return exact(given, "delta")


def short_alpha(plan: Any, setting: Attribute[Any], alpha: Fraction) -> None:
    """Scales of exact noise are ratios of 64-bit integers, and α is a factor of them."""
    if max(alpha.numerator, alpha.denominator) > _LONGEST_ALPHA:
        raise UsageError('alpha: has too many digits for exact noise; six are enough, such as "0.123456"')


def as_margin_share(given: Number) -> Fraction:
    return exact(given, "margin_share")


def part_of_budget(plan: Any, setting: Attribute[Any], share: Fraction) -> None:
    if not 0 <= share < 1:
        raise UsageError('margin_share: must be at least 0 and below 1, such as "1/10"')


def whole(low: int, high: int, *, optional: bool = False) -> Rule:
    """A whole number from low to high, or None where that is allowed."""

    def check(plan: Any, setting: Attribute[Any], given: Any) -> None:
        if optional and given is None:
            return
        if isinstance(given, bool) or not isinstance(given, int) or not low <= given <= high:
            raise UsageError(f"{setting.name}: must be a whole number from {low} to {high:,}")

    return check


def as_real(given: float | None) -> float | None:
    # What is no number stays as it is: the rule of the setting refuses it by its name.
    return float(given) if isinstance(given, Real) and not isinstance(given, bool) else given


def real_within(low: float, high: float) -> Rule:
    """A number from low to high, or None."""

    def check(plan: Any, setting: Attribute[Any], given: Any) -> None:
        if given is not None and not (isinstance(given, float) and low <= given <= high):
            raise UsageError(f"{setting.name}: must be a number from {low:g} to {high:g}, without quotes")

    return check


def above_zero(plan: Any, setting: Attribute[Any], given: Any) -> None:
    """A number above 0, or None."""
    if given is not None and not (isinstance(given, float) and 0 < given < math.inf):
        raise UsageError(f"{setting.name}: must be a number above 0, without quotes")


def as_cuts(given: Mapping[str, Sequence[float]] | Sequence[Any]) -> Named[tuple[float, ...]]:
    """Public borders of bins by column."""
    try:
        entries = [(name, tuple(borders)) for name, borders in by_name(given, "cuts")]
    except TypeError:
        raise UsageError("cuts: give a list of borders for each number, such as {age = [18, 65]}") from None
    for name, borders in entries:
        if not all(isinstance(one, int | float) and not isinstance(one, bool) for one in borders):
            raise UsageError(f"cuts.{name}: must be numbers without quotes, such as [18, 65]")
        if not all(math.isfinite(one) for one in borders):
            raise UsageError(f"cuts.{name}: borders must be finite and rising")
    return Named((name, tuple(float(one) for one in borders)) for name, borders in entries)


def rising(plan: Any, setting: Attribute[Any], given: Mapping[str, tuple[float, ...]]) -> None:
    """Borders of bins, from low to high, of columns that the plan synthesizes."""
    among_columns(plan, setting, given)
    for name, borders in given.items():
        if any(one >= two for one, two in pairwise(borders)):
            raise UsageError(f"{setting.name}.{name}: borders must be finite and rising")


# ---------------------------------------------------------------- choices


def one_of(choices: Any) -> Rule:
    """One of the words of a `Literal`."""
    words = get_args(choices)

    def check(plan: Any, setting: Attribute[Any], given: Any) -> None:
        if given not in words:
            raise UsageError(f"{setting.name}: must be one of {', '.join(words)}")

    return check


def words_by_name(choices: Any) -> Rule:
    """Entries by column, each of them one of the words of a `Literal`."""
    words = get_args(choices)

    def check(plan: Any, setting: Attribute[Any], given: Mapping[str, Any]) -> None:
        for name, word in given.items():
            if word not in words:
                raise UsageError(f"{setting.name}.{name}: must be one of {', '.join(words)}")

    return check


def as_relation(given: OneUnit | Mapping[str, Any]) -> OneUnit:
    """A relation, or one as a stored description has it."""
    return cast("OneUnit", neighbours_from_json(given) if isinstance(given, Mapping) else given)


def one_unit(plan: Any, setting: Attribute[Any], given: Any) -> None:
    if not isinstance(given, AddRemoveOne | ReplaceOne):
        raise UsageError(f"{setting.name}: must be AddRemoveOne(unit) or ReplaceOne(unit)")


def replaced(plan: Any, setting: Attribute[Any], given: Any) -> None:
    """For plans that publish part of every record, so that leaving one out would show."""
    if not isinstance(given, ReplaceOne):
        raise UsageError(
            f"{setting.name}: must be ReplaceOne(unit): the method publishes public columns of every record, so who is "
            'in the file is no secret, only what they answered. In a specification: neighbours = "replace" in [cap]'
        )


# ---------------------------------------------------------------- identity


def plain(value: Any) -> Any:
    """A setting as JSON values: exact numbers as text, so that nothing is lost on the way.

    >>> plain({"shares": (Fraction(1, 3), "a")})
    {'shares': ['1/3', 'a']}
    """
    if isinstance(value, Fraction):
        return text(value)
    if isinstance(value, AddRemoveOne | ReplaceOne | NumbersWithin):
        return neighbours_to_json(cast("Neighbours", value))
    if isinstance(value, Mapping):
        return {name: plain(one) for name, one in value.items()}
    if isinstance(value, tuple | list):
        return [plain(one) for one in value]
    return value
