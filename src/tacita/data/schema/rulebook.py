"""The rules among some columns of a file: which columns follow from others, and what no record of the rest can be.

Public arithmetic. Rules about columns that follow from others are turned into rules about those.

What cannot occur, in one form for every rule: scores of a record's states that add up to too much.

Public arithmetic. An impossible combination scores 1 for each of its states and has a limit of one less than their
number; of a sum that must not exceed a limit, each state scores the least it can add.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from operator import and_, or_
from typing import TYPE_CHECKING, Any

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from tacita.data.schema.derived import Derived, Follows, Formula, Total, in_order
from tacita.data.schema.rules import Combination, Limit, Rule
from tacita.data.schema.units import Domain, Span, Values
from tacita.errors import SchemaError

if TYPE_CHECKING:
    from tacita.data.schema.model import Schema

Integers = NDArray[np.int64]
Bools = NDArray[np.bool_]


@frozen(eq=False)
class Rulebook:
    """All rules whose columns are among `names`. `drawn` are those that follow from no other."""

    names: tuple[str, ...]
    rules: tuple[Rule, ...]
    domains: Mapping[str, Domain]

    @classmethod
    def of(cls, schema: Schema, names: Sequence[str]) -> Rulebook:
        """The schema's rules, and its impossible combinations beside them."""
        kept = [rule for rule in (*schema.rules, *zeros_as_rules(schema)) if set(rule.columns) <= set(names)]
        return cls(tuple(names), tuple(kept), {name: Domain.of(schema[name].kind) for name in names})

    @cached_property
    def derived(self) -> list[Follows]:
        """In the order in which they can be computed."""
        return in_order([rule.derived for rule in self.rules if rule.derived is not None])

    @cached_property
    def drawn(self) -> tuple[str, ...]:
        follow = {one.column for one in self.derived}
        return tuple(name for name in self.names if name not in follow)

    @cached_property
    def combinations(self) -> tuple[Combination, ...]:
        """About drawn columns, and about sums of them where a rule names the sum."""
        resolved = []
        for rule in self.rules:
            for combination in rule.combinations:
                tests: dict[str, Values] = {}
                for name, values in combination:
                    source, pulled = self._pulled(name, values)
                    tests[source] = tests[source].both(pulled) if source in tests else pulled
                if all(values.spans for values in tests.values()):
                    resolved.append(tuple(tests.items()))
        return tuple(resolved)

    def _pulled(self, name: str, values: Values) -> tuple[str, Values]:
        for one in reversed(self.derived):
            if one.column == name and isinstance(one, Derived):
                name, values = one.source, one.pulled(values, self.domains[one.source])
        return name, values

    @cached_property
    def limits(self) -> tuple[Limit, ...]:
        """About columns that are drawn or follow from one other; every sum also keeps to its own bounds."""
        resolved = [self._resolved(limit) for rule in self.rules for limit in rule.limits]
        for one in self.derived:
            if isinstance(one, Total):
                bounds = self.domains[one.column]
                resolved.append(self._resolved(Limit(one.terms, bounds.last)))
                resolved.append(self._resolved(Limit(tuple((n, -f) for n, f in one.terms), -bounds.first)))
        return tuple(limit for limit in dict.fromkeys([*resolved, *_chained(resolved, self.domains)]) if limit.terms)

    def _resolved(self, limit: Limit) -> Limit:
        """Sums written out."""
        factors = dict(limit.terms)
        for one in reversed(self.derived):
            if isinstance(one, Total) and one.column in factors:
                times = factors.pop(one.column)
                for name, factor in one.terms:
                    factors[name] = factors.get(name, 0) + times * factor
        return Limit(tuple(sorted((name, factor) for name, factor in factors.items() if factor)), limit.most)

    def sources(self, rule: Rule) -> list[str]:
        """The drawn columns that a rule is about, directly or through what follows from them."""
        names = set(rule.columns)
        for one in reversed(self.derived):
            if one.column in names:
                names = (names - {one.column}) | set(one.sources)
        return sorted(names)

    def borders(self, name: str) -> tuple[int, ...]:
        """First units of parts of a drawn column that rules tell apart."""
        domain = self.domains[name]
        starts: set[int] = set()
        for combination in self.combinations:
            for column, values in combination:
                if column == name:
                    starts.update(at for first, last in values.spans for at in (first, last + 1))
        for one in self.derived:
            if isinstance(one, Derived) and one.source == name:
                starts.update(one.starts)
        return tuple(sorted(at for at in starts if domain.first < at <= domain.last))

    def bars(self, states: Mapping[str, Sequence[Span]]) -> tuple[Bar, ...]:
        """What no record can be, by the states of the drawn columns: each is a span of units."""
        places = {name: k for k, name in enumerate(states)}
        bars = []
        for combination in self.combinations:
            if all(name in places for name, _ in combination):
                parts = {
                    places[name]: [k for k, span in enumerate(states[name]) if values.covers(span)]
                    for name, values in combination
                }
                if all(parts.values()):
                    bars.append(Bar.of([len(one) for one in states.values()], parts))
        return (*bars, *self._sums(states, places))

    def _sums(self, states: Mapping[str, Sequence[Span]], places: Mapping[str, int]) -> list[Bar]:
        bars = []
        for limit in self.limits:
            scores: dict[int, Any] = {}
            sources = {name: self._spans(name, states) for name, _ in limit.terms}
            if any(source not in places for source, _ in sources.values()):
                continue  # of a sum or a formula: looked at when values are drawn
            for name, factor in limit.terms:
                source, spans = sources[name]
                first = self.domains[name].first
                ends = [-np.inf if low < first else factor * (low if factor > 0 else high) for low, high in spans]
                least = np.array(ends, dtype=np.float64)  # −∞ where it is missing, and no rule applies
                scores[places[source]] = scores.get(places[source], 0.0) + least
            bar = Bar(tuple(scores), tuple(scores.values()), float(limit.most))
            if sum(float(score.max()) for score in bar.scores) > bar.limit:
                bars.append(bar)
        return bars

    def _spans(self, name: str, states: Mapping[str, Sequence[Span]]) -> tuple[str, list[Span]]:
        """The drawn column that a column is or follows from, and for each of its states the column's least and most."""
        for one in self.derived:
            if one.column == name and isinstance(one, Derived):
                source, spans = self._spans(one.source, states)
                return source, [one.image(span, self.domains[one.source]) for span in spans]
        return name, list(states.get(name, ()))

    def completed(self, units: Mapping[str, Integers]) -> dict[str, Integers]:
        """Drawn columns with those that follow from them."""
        whole = dict(units)
        for one in self.derived:
            whole[one.column] = one.computed(whole, self.domains)
        return whole

    def broken(self, units: Mapping[str, Integers]) -> Bools:
        """Which records break a rule or leave the bounds of a sum; of all columns."""
        wrong = np.zeros(len(units[self.names[0]]), dtype=np.bool_)
        for rule in self.rules:
            wrong |= self.breaks(rule, units)
        return wrong

    def breaks(self, rule: Rule, units: Mapping[str, Any]) -> Any:
        """Of arrays of units, or of an engine's expressions for them: where a rule is broken."""
        wrong = [_all(values.holds(units[name]) for name, values in one) for one in rule.combinations]
        for limit in rule.limits:
            present = _all(units[name] >= self.domains[name].first for name, _ in limit.terms)
            wrong.append(present & (sum(units[name] * factor for name, factor in limit.terms) > limit.most))
        if isinstance(rule.derived, Formula):
            wrong.append(self._differs(rule.derived, units))
        if isinstance(rule.derived, Total | Formula):
            here, domain = units[rule.derived.column], self.domains[rule.derived.column]
            wrong.append((here > domain.last) | (here < domain.first - domain.missing))
        return reduce(or_, wrong) if wrong else False

    def _differs(self, formula: Formula, units: Mapping[str, Any]) -> Any:
        """Where none is missing and the column is more than a unit of its last place away from the formula."""
        present = _all(units[name] >= self.domains[name].first for name in (*formula.sources, formula.column))
        values = {name: units[name] / 10.0 ** self.domains[name].places for name in formula.sources}
        with np.errstate(all="ignore"):
            off = formula.value(values) * 10.0 ** self.domains[formula.column].places - units[formula.column]
        return present & ((off > 1.0) | (off < -1.0))


def _chained(limits: Sequence[Limit], domains: Mapping[str, Domain]) -> list[Limit]:
    """What inequalities between two columns say together: a below b and b below c, where b is never missing."""
    pairs = [dict(one.terms) for one in limits]
    finest = max((domains[name].places for one in pairs for name in one), default=0)

    def size(name: str) -> int:
        return int(10 ** (finest - domains[name].places))

    gaps: dict[tuple[str, str], int] = {}  # what the first may be above the second at most, in the finest unit
    for one, factors in zip(limits, pairs, strict=True):
        low = [name for name, factor in factors.items() if factor > 0]
        high = [name for name, factor in factors.items() if factor < 0]
        if len(low) == len(high) == 1 and factors[low[0]] * size(high[0]) == -factors[high[0]] * size(low[0]):
            gap = one.most * size(low[0]) // factors[low[0]]
            gaps[low[0], high[0]] = min(gap, gaps.get((low[0], high[0]), gap))
    known = set(gaps)
    for by in sorted({name for pair in gaps for name in pair if not domains[name].missing}):
        for (a, to), first in list(gaps.items()):
            for (start, c), second in list(gaps.items()):
                if to == start == by:
                    gaps[a, c] = min(first + second, gaps.get((a, c), first + second))
    chained = []
    for a, c in sorted(gaps.keys() - known):
        if a != c:
            chained.append(Limit(tuple(sorted([(a, size(a)), (c, -size(c))])), gaps[a, c]))
        elif gaps[a, c] < 0:  # below itself: nobody has it
            chained.append(Limit(((a, 1),), domains[a].first - 1))
    return chained


def _all(conditions: Iterable[Any]) -> Any:
    return reduce(and_, conditions)


def zeros_as_rules(schema: Schema) -> list[Rule]:
    """`[[zeros]]` in the same form."""
    return [
        Rule(
            tuple(name for name, _ in zero),
            {},
            (tuple((name, Values.of([(schema.levels(name).index(level),) * 2])) for name, level in zero),),
        )
        for zero in schema.zeros
    ]


def refuse_contradiction(schema: Schema) -> None:
    """Refuse rules that nobody can keep."""
    names = tuple(dict.fromkeys(name for rule in schema.rules for name in rule.columns))
    book = Rulebook.of(schema, names)
    if not any_possible(book):
        raise SchemaError("rules: no record can keep them all; take out or correct one of those that contradict")


def any_possible(book: Rulebook) -> bool:
    """Whether the rules leave a record, as far as public parts of the columns tell."""
    states = {name: parts(book, name) for name in book.drawn}
    return possible([len(one) for one in states.values()], book.bars(states)) is not None


def parts(book: Rulebook, name: str) -> list[Span]:
    """A drawn column as the parts that rules tell apart."""
    domain = book.domains[name]
    starts = [domain.first, *book.borders(name)]
    ends = [*starts[1:], domain.last + 1]
    whole = [(first, end - 1) for first, end in zip(starts, ends, strict=True)]
    return [*whole, (domain.first - 1, domain.first - 1)] if domain.missing else whole


Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Bar:
    """Attributes with a score for each of their states: no record's scores add up to more than the limit."""

    attributes: tuple[int, ...]
    scores: tuple[Floats, ...]
    limit: float

    @classmethod
    def of(cls, sizes: Sequence[int], states: Mapping[int, Sequence[int]]) -> Bar:
        """The combination of any of these states of each attribute.

        >>> impossible(np.array([[0, 0], [0, 1], [1, 1]]), [Bar.of((2, 2), {0: [0], 1: [1]})]).tolist()
        [False, True, False]
        """
        scores = []
        for attribute, some in states.items():
            score = np.zeros(sizes[attribute])
            score[list(some)] = 1.0
            scores.append(score)
        return cls(tuple(states), tuple(scores), len(states) - 1.0)


def impossible(records: Integers, bars: Sequence[Bar]) -> NDArray[np.bool_]:
    """Which records cannot occur."""
    broken = np.zeros(len(records), dtype=np.bool_)
    for bar in bars:
        total = sum(score[records[:, a]] for a, score in zip(bar.attributes, bar.scores, strict=True))
        broken |= np.asarray(total > bar.limit)
    return broken


def possible(sizes: Sequence[int], bars: Sequence[Bar]) -> list[int] | None:
    """Some record that can occur; None where there is none.

    >>> possible([2, 2], [Bar.of((2, 2), {0: [0], 1: [level]}) for level in (0, 1)])
    [1, 0]
    """
    record = [0] * len(sizes)
    least = [[float(score.min()) for score in bar.scores] for bar in bars]

    def fits(bar: int, known: set[int]) -> bool:
        one = bars[bar]
        parts = zip(one.attributes, one.scores, least[bar], strict=True)
        return sum(float(score[record[a]]) if a in known else low for a, score, low in parts) <= one.limit

    def complete(open_ones: list[int], known: set[int]) -> bool:
        if not open_ones:
            return True
        attribute, *later = open_ones
        concerned = [k for k, bar in enumerate(bars) if attribute in bar.attributes]
        for state in range(sizes[attribute]):
            record[attribute] = state
            if all(fits(k, known | {attribute}) for k in concerned) and complete(later, known | {attribute}):
                return True
        return False

    return record if all(complete(linked, set()) for linked in linked_by(bars)) else None


def linked_by(bars: Sequence[Bar]) -> list[list[int]]:
    """Attributes that stand in bars, those together that bars link, directly or through others.

    >>> linked_by([Bar.of((2,) * 5, {0: [0], 3: [1]}), Bar.of((2,) * 5, {3: [0], 4: [1]}), Bar.of((2,) * 5, {1: [0]})])
    [[0, 3, 4], [1]]
    """
    groups: list[set[int]] = []
    for bar in bars:
        touched = [group for group in groups if group & set(bar.attributes)]
        groups = [group for group in groups if group not in touched] + [set(bar.attributes).union(*touched)]
    return sorted(sorted(group) for group in groups)
