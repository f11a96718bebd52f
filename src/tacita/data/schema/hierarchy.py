"""Coarser levels of one categorical column, as a person declares them in `[hierarchy.NAME]`: tract, county, state."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tacita.data.schema import reading
from tacita.data.schema.kinds import some_of
from tacita.errors import SchemaError

if TYPE_CHECKING:
    from tacita.data.schema.model import Schema

WHOLE = "Total"
"""The one code of a last level that nothing is said of: everything together."""

HIERARCHY_KEYS = ("column", "levels", "file", "prefix", "shapes")


@dataclass(frozen=True)
class Hierarchy:
    """A tree over the codes of a column. `levels` names its coarser levels, the finest of them first.

    `codes[l]` are the codes of level l and `parents[l]` says where in them each code of the column belongs. The column
    itself is the finest level, under its own name.

    >>> tree = Hierarchy.from_dict(
    ...     "geography", {"column": "place", "levels": ["state", "nation"], "prefix": {"state": 1}}, ("A1", "A2", "B1")
    ... )
    >>> tree.names("state"), tree.parent_codes("state").tolist(), tree.names("nation")
    (('A', 'B'), [0, 0, 1], ('Total',))
    """

    name: str
    column: str
    levels: tuple[str, ...]
    finest: tuple[str, ...]
    codes: tuple[tuple[str, ...], ...]
    parents: tuple[tuple[int, ...], ...]

    def names(self, level: str) -> tuple[str, ...]:
        """The codes of a level, in the order in which the column's levels meet them."""
        return self.finest if level == self.column else self.codes[self._place(level)]

    def parent_codes(self, level: str) -> NDArray[np.int64]:
        """For each code of the column, the position of its ancestor among `names(level)`."""
        if level == self.column:
            return np.arange(len(self.finest))
        return np.array(self.parents[self._place(level)], dtype=np.int64)

    def _place(self, level: str) -> int:
        if level not in self.levels:
            known = ", ".join((self.column, *self.levels))
            raise SchemaError(f"hierarchy.{self.name}: has no level {level}; its levels are {known}")
        return self.levels.index(level)

    @classmethod
    def from_dict(cls, name: str, entry: Any, finest: tuple[str, ...], folder: Path | None = None) -> Hierarchy:
        """Read `[hierarchy.name]` as TOML or JSON gives it, for a column with the levels `finest`."""
        where = f"hierarchy.{name}"
        column, levels = _head(entry, where)
        given = [key for key in ("file", "prefix") if key in entry]
        if len(given) > 1 or (given and any(level in entry for level in levels)):
            raise SchemaError(f"{where}: the tree is given in two ways; keep one of file, prefix and a table per level")
        if "file" in entry:
            above = _from_file(reading.text(entry, "file", where), column, levels, finest, where, folder)
        elif "prefix" in entry:
            above = _from_prefix(entry["prefix"], levels, finest, where)
        else:
            above = _from_tables(entry, levels, finest, where)
        _check_nested(above, column, levels, finest, where)
        codes = tuple(tuple(dict.fromkeys(one)) for one in above)
        places = [{code: at for at, code in enumerate(one)} for one in codes]
        parents = tuple(tuple(place[code] for code in one) for place, one in zip(places, above, strict=True))
        return cls(name, column, levels, finest, codes, parents)

    def to_dict(self) -> dict[str, Any]:
        """The same, with a table per level from the codes of the level below it, however it was given."""
        steps = zip((self.finest, *self.codes), self._steps(), self.levels, self.codes, strict=False)
        tables = {
            level: {code: codes[at] for code, at in zip(below, step, strict=True)}
            for below, step, level, codes in steps
        }
        return {"column": self.column, "levels": list(self.levels), **tables}

    def _steps(self) -> list[list[int]]:
        """For each level, the parents of the codes of the level below it."""
        below = (tuple(range(len(self.finest))), *self.parents)
        return [list(dict(zip(fine, coarse, strict=True)).values()) for fine, coarse in pairwise(below)]


def hierarchies(entries: Any, levels_of: Mapping[str, tuple[str, ...]], folder: Path | None) -> tuple[Hierarchy, ...]:
    """Every `[hierarchy.NAME]`; `levels_of` has the levels of each categorical column."""
    if not isinstance(entries, Mapping):
        raise SchemaError("hierarchy: must be tables, each written as [hierarchy.NAME]")
    trees = []
    for name, entry in entries.items():
        column = entry.get("column") if isinstance(entry, Mapping) else None
        if isinstance(column, str) and column not in levels_of:
            raise SchemaError(
                f'hierarchy.{name}.column: {column} is no column with type = "categorical"; declare it as such, or '
                "correct the name"
            )
        trees.append(Hierarchy.from_dict(str(name), entry, levels_of.get(str(column), ()), folder))
    return tuple(trees)


def check(trees: tuple[Hierarchy, ...], schema: Schema) -> None:
    """Refuse trees whose levels could be taken for something else."""
    taken = dict.fromkeys(schema.names, "a column")
    columns: dict[str, str] = {}
    for tree in trees:
        if tree.column in columns:
            raise SchemaError(
                f"hierarchy.{tree.name}.column: {tree.column} already has the tree {columns[tree.column]}; keep one"
            )
        columns[tree.column] = tree.name
        for level in tree.levels:
            if level in taken:
                raise SchemaError(f"hierarchy.{tree.name}.levels: {level} is also {taken[level]}; rename the level")
            taken[level] = f"a level of {tree.name}"


def _head(entry: Any, where: str) -> tuple[str, tuple[str, ...]]:
    if not isinstance(entry, Mapping):
        raise SchemaError(f'{where}: must be a table, written as [{where}] with column = "…" and levels = ["…"]')
    reading.refuse_placeholders(entry, where)
    column = reading.text(entry, "column", where)
    levels = reading.texts(entry, "levels", where)
    if not levels or len({*levels, column, *HIERARCHY_KEYS}) != len(levels) + 1 + len(HIERARCHY_KEYS):
        raise SchemaError(
            f"{where}.levels: must name each coarser level once, the finest first; {column} itself and the words "
            f"{', '.join(HIERARCHY_KEYS)} cannot be among them"
        )
    reading.refuse_unknown(entry, (*HIERARCHY_KEYS, *levels), where)
    return column, levels


def _from_tables(
    entry: Mapping[str, Any], levels: tuple[str, ...], finest: tuple[str, ...], where: str
) -> list[tuple[str, ...]]:
    above: list[tuple[str, ...]] = []
    below = finest
    for level in levels:
        if level not in entry and level == levels[-1]:
            above.append((WHOLE,) * len(finest))
            break
        table = entry.get(level)
        if not isinstance(table, Mapping) or not all(isinstance(code, str) and code for code in table.values()):
            raise SchemaError(
                f'{where}.{level}: must be a table from the codes of the level below, such as {{ "01" = "A" }}; '
                "or give file or prefix for the whole tree"
            )
        if missing := [code for code in dict.fromkeys(below) if code not in table]:
            raise SchemaError(f"{where}.{level}: {some_of(missing)} without a parent; add each to the table")
        if strangers := sorted(set(table).difference(below)):
            raise SchemaError(
                f"{where}.{level}: {some_of(strangers)} not a code of the level below; correct or drop it"
            )
        below = tuple(table[code] for code in below)
        above.append(below)
    return above


def _from_prefix(lengths: Any, levels: tuple[str, ...], finest: tuple[str, ...], where: str) -> list[tuple[str, ...]]:
    where = f"{where}.prefix"
    if not isinstance(lengths, Mapping):
        raise SchemaError(f"{where}: must say how many characters of the code name each level, such as {{ state = 2 }}")
    reading.refuse_unknown(lengths, levels, where)
    above: list[tuple[str, ...]] = []
    longer = max(map(len, finest), default=0) + 1
    for level in levels:
        if level not in lengths and level == levels[-1]:
            above.append((WHOLE,) * len(finest))
            break
        length = lengths.get(level)
        if not isinstance(length, int) or isinstance(length, bool) or not 0 < length < longer:
            raise SchemaError(f"{where}.{level}: must be a whole number of characters, fewer than the level below has")
        if short := [code for code in finest if len(code) < length]:
            raise SchemaError(f"{where}.{level}: {some_of(short)} shorter than that; give the tree in a file instead")
        above.append(tuple(code[:length] for code in finest))
        longer = length
    return above


def _from_file(
    name: str, column: str, levels: tuple[str, ...], finest: tuple[str, ...], where: str, folder: Path | None
) -> list[tuple[str, ...]]:
    where = f"{where}.file"
    fields, rows = reading.csv_rows(name, where, folder)
    needed = (column, *(levels if levels[-1] in fields else levels[:-1]))
    if absent := [field for field in needed if field not in fields]:
        raise SchemaError(f"{where}: {name} needs a header line with the column {absent[0]}")
    by_code: dict[str, tuple[str, ...]] = {}
    for row in rows:
        listed = tuple(row[field] or "" for field in needed[1:])
        if by_code.setdefault(row[column] or "", listed) != listed:
            raise SchemaError(f'{where}: {name} has two parents for {column} "{row[column]}"; keep one')
    if missing := [code for code in finest if "" in by_code.get(code, ("",))]:
        raise SchemaError(f"{where}: {some_of(missing)} without a parent in {name}; add each with all its levels")
    above = [tuple(by_code[code][at] for code in finest) for at in range(len(needed) - 1)]
    return above + [(WHOLE,) * len(finest)] * (len(levels) - len(above))


def _check_nested(
    above: list[tuple[str, ...]], column: str, levels: tuple[str, ...], finest: tuple[str, ...], where: str
) -> None:
    for (below, coarse), (low, high) in zip(pairwise((finest, *above)), pairwise((column, *levels)), strict=True):
        parent: dict[str, str] = {}
        for code, one in zip(below, coarse, strict=True):
            if parent.setdefault(code, one) != one:
                raise SchemaError(
                    f'{where}: {low} "{code}" lies in two codes of {high}, "{parent[code]}" and "{one}"; each code has '
                    "one parent"
                )
