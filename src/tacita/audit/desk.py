"""Where an audit opens its files: thousands of small ones of a few forms, one after the other.

A file takes the name of the last one of its form on the same connection, so that what was asked of that one is, word
for word, what is asked of this one: expressions and their SQL are written once. What comes back is this file's own.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, TypeVar

import pyarrow as pa

from tacita.data.engine.backends import DuckEngine
from tacita.data.engine.compiling import sql_of
from tacita.lazy import later

ibis = later("ibis")

_T = TypeVar("_T")
_MOST = 4_000  # expressions that are kept


class Desk:
    """A connection, the name and the Ibis table of each form of frames on it, and what was written about them."""

    def __init__(self) -> None:
        self.backend = ibis.duckdb.connect(threads=1)  # the other processor has a process of its own
        self.forms: dict[Any, Any] = {}
        self.expressions: dict[Any, Any] = {}
        self.texts: dict[int, str | None] = {}  # by the identity of an expression that is kept

    def engine(self) -> DeskEngine:
        """For the next file; whoever still has the last one must not ask it anything more."""
        return DeskEngine(self)


class DeskEngine(DuckEngine):
    """One file, or its linked tables, on a desk."""

    def __init__(self, desk: Desk) -> None:
        if not desk.forms:
            super().__init__(desk.backend)
        self.backend = desk.backend
        self._desk = desk
        self._frames = 0

    def table(self, frame: pa.Table) -> Any:
        form = (self._frames, frame.schema)
        self._frames += 1
        known = self._desk.forms.get(form)
        if known is None:
            known = self._desk.forms[form] = super().table(frame)
        else:
            self.backend.con.register(known.get_name(), frame)
        return known

    def written(self, key: tuple[Any, ...], write: Callable[[], _T]) -> _T:
        kept = self._desk.expressions
        if key not in kept:
            if len(kept) >= _MOST:
                kept.clear()
                self._desk.texts.clear()
            kept[key] = write()
            self._desk.texts[id(kept[key])] = None
        found: _T = kept[key]
        return found

    def _run(self, expression: Any) -> pa.Table:
        texts, at = self._desk.texts, id(expression)
        if at not in texts:
            return super()._run(expression)
        if (text := texts[at]) is None:
            text = texts[at] = sql_of(self.backend, expression)
        return self._collect(text)


@cache
def desk(number: int = 0) -> Desk:
    """One of this process; two files that are open at once lie on two of them."""
    return Desk()
