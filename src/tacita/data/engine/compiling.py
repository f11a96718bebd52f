"""SQL of questions that were asked before of another table: writing it takes longer than most small files to answer.

The audit asks the same of thousands of files, and so does a session of many releases. Ibis expressions that differ in
the names of registered frames and files, or in keys that were drawn, have SQL that does too, so it is kept once and the
names are put in: no key is kept. Sees expressions, never rows.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Mapping
from decimal import Decimal
from enum import Enum
from typing import Any

from tacita.lazy import later

ops = later("ibis.expr.operations")
datatypes = later("ibis.expr.datatypes")
schemas = later("ibis.expr.schema")

# Names that Ibis drew for frames and for files that it opened: no level and no other table is called so.
FRAME = re.compile(r"ibis_(rows|read_parquet|read_csv)_[0-9a-z]{16,}")
_KEY = re.compile(r"[0-9a-f]{64}")  # a key that was drawn, which is another one in every run
_MOST = 2_000  # kept
_SAME = (str, int, bool, type(None), Enum)
_WRITTEN = (float, Decimal, bytes, datetime.date, datetime.time, datetime.timedelta)  # 0.0 == -0.0
_known: dict[Any, str] = {}


class _UnusualError(Exception):
    """Something in an expression of which equality is not known to mean equal SQL."""


def sql_of(backend: Any, expression: Any) -> str:
    try:
        shape, names = _shape(expression.op())
    except _UnusualError:
        return str(backend.compile(expression))
    keys = [name for name in names if _KEY.fullmatch(name)]
    if len(keys) == len(names) or not all(FRAME.fullmatch(name) for name in names if name not in keys):
        return str(backend.compile(expression))
    shape = (backend.name, *shape)
    known = _known.get(shape)
    if known is None:
        known = str(backend.compile(expression))
        if any(known.count(key) != known.count(f"'{key}'") for key in keys):
            return known  # it also stands inside of another text
        for at, name in enumerate(names):
            known = known.replace(name, _place(at))
        if len(_known) >= _MOST:
            _known.clear()
        _known[shape] = known
    for at, name in enumerate(names):
        known = known.replace(_place(at), name)
    return known


def _place(at: int) -> str:
    return f"\0{at}\0"  # no text of a query holds this character


def _shape(whole: Any) -> tuple[tuple[Any, ...], list[str]]:
    """The nodes of an expression, each after those it is made of, with numbers for frames and keys; and their names."""
    nodes: list[Any] = []
    places: dict[int, int] = {}
    names: list[str] = []
    node, stored, same = ops.Node, ops.DatabaseTable, (*_SAME, datatypes.DataType, schemas.Schema)

    def of(value: Any) -> Any:
        if isinstance(value, node):
            if id(value) not in places:
                row = frame(value) if isinstance(value, stored) else tuple(map(of, value.__args__))
                places[id(value)] = len(nodes)
                nodes.append((type(value), row))
            return node, places[id(value)]
        if isinstance(value, tuple | list):
            return tuple(map(of, value))
        if isinstance(value, Mapping):
            return tuple((key, of(one)) for key, one in value.items())
        if isinstance(value, _WRITTEN):
            return type(value), repr(value)
        if isinstance(value, str) and _KEY.fullmatch(value):
            return _KEY, number(value)
        if isinstance(value, same):
            return type(value), value
        raise _UnusualError

    def number(name: str) -> int:
        if name not in names:
            names.append(name)
        return names.index(name)

    def frame(table: Any) -> Any:
        return number(table.name), table.schema, repr(table.namespace)

    of(whole)
    return tuple(nodes), names
