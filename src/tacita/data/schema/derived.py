"""Columns that follow from others by a rule: piece by piece, as a sum, or by a formula.

Public arithmetic. A formula holds names of columns, numbers, + - * /, whole powers and brackets, and nothing else; the
same tree is evaluated on arrays and on an engine's expressions.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacita.data.schema.units import Domain, Span, Values
from tacita.errors import SchemaError

Integers = NDArray[np.int64]
_LONGEST = 500  # characters
_LARGEST = 1e300  # of a number in a formula; more has no double
_HIGHEST = 6  # power


@dataclass(frozen=True)
class Derived:
    """A column that follows from one other, piece by piece: `targets[k]` from `starts[k]` on."""

    column: str
    source: str
    starts: tuple[int, ...]
    targets: tuple[int, ...]

    @property
    def sources(self) -> tuple[str, ...]:
        return (self.source,)

    def computed(self, units: Mapping[str, Integers], domains: Mapping[str, Domain]) -> Integers:
        at = np.searchsorted(np.array(self.starts), units[self.source], side="right") - 1
        return np.array(self.targets, dtype=np.int64)[at]

    def pieces(self, domain: Domain) -> list[tuple[Span, int]]:
        """Parts of the source, within its domain, each with what follows from it."""
        ends = [*self.starts[1:], domain.last + 1]
        return [((first, end - 1), to) for first, end, to in zip(self.starts, ends, self.targets, strict=True)]

    def pulled(self, values: Values, domain: Domain) -> Values:
        """The values of the source that have one of these."""
        return Values.of(span for span, target in self.pieces(domain) if values.covers((target, target)))

    def image(self, span: Span, domain: Domain) -> Span:
        """The least and the most that follow from a part of the source."""
        reached = [to for (first, last), to in self.pieces(domain) if first <= span[1] and span[0] <= last]
        return min(reached), max(reached)


@dataclass(frozen=True)
class Total:
    """A column that is the sum of others, each times a whole number; missing where one of them is."""

    column: str
    terms: tuple[tuple[str, int], ...]

    @property
    def sources(self) -> tuple[str, ...]:
        return tuple(name for name, _ in self.terms)

    def computed(self, units: Mapping[str, Integers], domains: Mapping[str, Domain]) -> Integers:
        absent = np.any([units[name] < domains[name].first for name, _ in self.terms], axis=0)
        total = sum(units[name] * factor for name, factor in self.terms)
        return np.where(absent, domains[self.column].first - 1, total)


@dataclass(frozen=True)
class Formula:
    """A column that is computed from others and rounded to its own places; missing where one of them is, or where
    there is no result."""

    column: str
    text: str
    sources: tuple[str, ...]

    @classmethod
    def of(cls, column: str, text: str, where: str) -> Formula:
        """
        >>> Formula.of("bmi", "weight / (height / 100) ** 2", "rules, number 1").sources
        ('height', 'weight')
        """
        try:
            tree = ast.parse(text, mode="eval") if len(text) <= _LONGEST else None
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            tree = None
        if tree is None or not _is_plain(tree.body):
            raise SchemaError(f"{where}, as: must be a formula of columns and numbers with + - * / ** and brackets")
        names = sorted({node.id for node in ast.walk(tree) if isinstance(node, ast.Name)})
        if not names or column in names:
            raise SchemaError(f"{where}, as: must name other columns than {column}")
        return cls(column, ast.unparse(tree), tuple(names))

    def value(self, values: Mapping[str, Any]) -> Any:
        """Of arrays, or of an engine's expressions, of numbers that are not missing."""
        return _value(ast.parse(self.text, mode="eval").body, values)

    def computed(self, units: Mapping[str, Integers], domains: Mapping[str, Domain]) -> Integers:
        own = domains[self.column]
        values = {name: units[name] / 10.0 ** domains[name].places for name in self.sources}
        absent = np.any([units[name] < domains[name].first for name in self.sources], axis=0)
        with np.errstate(all="ignore"):
            result = np.floor(self.value(values) * 10.0**own.places + 0.5)
        absent |= ~np.isfinite(result)
        inside = np.clip(np.where(absent, 0.0, result), -(2.0**60), 2.0**60).astype(np.int64)
        return np.where(absent, own.first - 1, np.where(inside < own.first, own.last + 1, inside))


Follows = Derived | Total | Formula


def in_order(derived: Sequence[Follows]) -> list[Follows]:
    """Derived columns, each after those that it follows from."""
    waiting, ordered = list(derived), list[Follows]()
    while waiting:
        open_ones = {one.column for one in waiting}
        ready = [one for one in waiting if not open_ones & set(one.sources)]
        if not ready:
            names = ", ".join(sorted(open_ones))
            raise SchemaError(f"rules: {names} follow from each other in a circle; take one of these rules out")
        ordered += ready
        waiting = [one for one in waiting if one not in ready]
    return ordered


def _is_plain(node: ast.expr) -> bool:
    if isinstance(node, ast.Name):
        return True
    if isinstance(node, ast.Constant):
        number = isinstance(node.value, int | float) and not isinstance(node.value, bool)
        return number and abs(node.value) <= _LARGEST  # type: ignore[arg-type]
    if isinstance(node, ast.UnaryOp):
        return isinstance(node.op, ast.USub) and _is_plain(node.operand)
    if not isinstance(node, ast.BinOp) or not isinstance(node.op, ast.Add | ast.Sub | ast.Mult | ast.Div | ast.Pow):
        return False
    if isinstance(node.op, ast.Pow):
        power = node.right
        return isinstance(power, ast.Constant) and power.value in range(1, _HIGHEST + 1) and _is_plain(node.left)
    return _is_plain(node.left) and _is_plain(node.right)


def _value(node: ast.expr, values: Mapping[str, Any]) -> Any:
    if isinstance(node, ast.Name):
        return values[node.id]
    if isinstance(node, ast.Constant):
        return float(node.value)  # type: ignore[arg-type]
    if isinstance(node, ast.UnaryOp):
        return -_value(node.operand, values)
    assert isinstance(node, ast.BinOp)  # `_is_plain` lets nothing else through
    left = _value(node.left, values)
    if isinstance(node.op, ast.Pow):
        power = left  # by multiplication, which every engine rounds alike
        for _ in range(int(node.right.value) - 1):  # type: ignore[attr-defined]
            power = power * left
        return power
    right = _value(node.right, values)
    if isinstance(node.op, ast.Div) and hasattr(right, "nullif"):
        right = right.nullif(0.0)  # an engine may stop where it divides by zero
    if isinstance(node.op, ast.Add):
        return left + right
    if isinstance(node.op, ast.Sub):
        return left - right
    return left * right if isinstance(node.op, ast.Mult) else left / right
