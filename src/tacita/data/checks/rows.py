"""Does a confidential file keep to its schema? Asked before anything is spent.

Messages name table, column, rule and fix, never a value and never how many rows are concerned.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Protocol

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tacita.data.checks.design import design_problems, positive_rules
from tacita.data.checks.levels import as_declared, never_written, never_written_problem, none_matches, unmatched_problem
from tacita.data.checks.rules import rule_problems
from tacita.data.engine import Engine, bounds_of, code_text, is_missing, is_whole, number_of, text_of
from tacita.data.schema import Categorical, Date, Identifier, Integer, Numeric, Schema

_FEW_CELLS = 1 << 17  # of a scan that is kept
_RULE = "tacita_rule_"
_IN_MEMORY = 50_000_000  # ids that are looked at outside the engine: 400 MB


class Scan(Protocol):
    """A small aggregate of the main table by the stored values of `by`, with whether a row breaks one of some rules."""

    @property
    def by(self) -> tuple[str, ...]: ...

    def each(self, schema: Schema) -> int:
        """How many rows it has for each combination of these values, at most."""

    def over(self, table: Any, schema: Schema, rules: Mapping[str, Any]) -> Any: ...


@dataclass(frozen=True, eq=False)
class FileChecks:
    """The tables of one confidential file beside the schema they must keep to."""

    tables: Mapping[str, Any]
    schema: Schema
    engine: Engine
    form: str
    scan: pa.Table | None = None
    """What is known of a single file already: its rows by stored values of some columns, and which rules they break."""

    @property
    def main(self) -> str:
        return main_table(self.tables)

    def scanned(self, scan: Scan, todo: list[str], *, ids: bool) -> FileChecks:
        """The same with the scan, where it looks at unchecked columns of a single file and is small as the schema has
        it: all rules for single values are then checked by it."""
        if len(self.tables) > 1 or not set(scan.by) & set(todo):
            return self
        kinds = [self.schema.categorical(name) for name in scan.by]
        # Beside levels and codes for missing ones a column may have NULL, empty text and NaN.
        values = math.prod(len(kind.levels) + len(kind.missing_codes) + 3 for kind in kinds)
        enough = values * scan.each(self.schema) + 1
        if enough > _FEW_CELLS or any(kind.outside != "error" for kind in kinds):
            return self
        table = self.tables[self.main]
        rules = {f"{_RULE}{at}": rule for at, (rule, _) in enumerate(self._rules(self.main, todo, ids=ids))}
        asked = self._written("scan", (scan, *todo, ids), lambda: scan.over(table, self.schema, rules).limit(enough))
        part = self.engine.collect(asked)
        return replace(self, scan=part) if part.num_rows < enough else self

    def problems(self, todo: list[str], *, ids: bool) -> list[str]:
        """What is wrong with the columns `todo`, and with ids and links if asked; nothing else is looked at."""
        found: list[str] = []
        for name, table in self.tables.items():
            found += self._check_table(name, table, todo, ids=ids)
        if not found:
            found += self._check_links(todo, ids=ids) + self._check_rules(todo)
        design = self.schema.design
        if not found and design is not None and design.weight in todo:
            found += design_problems(self.tables[self.main], self.schema, self.engine)
        return found

    def _table_of(self, column: str) -> str:
        return table_of(column, self.schema, self.tables)

    def _keys(self, name: str) -> list[str]:
        return [one for one in self.tables[name].columns if isinstance(self.schema[one].kind, Identifier)]

    def _columns(self, name: str, todo: list[str]) -> list[str]:
        there, keys = self.tables[name].columns, self._keys(name)
        return [one for one in todo if self._table_of(one) == name and one in there and one not in keys]

    def _written(self, what: str, about: tuple[Any, ...], write: Callable[[], Any]) -> Any:
        return self.engine.written((what, *self.tables.items(), self.schema, self.form, *about), write)

    def _rules(self, name: str, todo: list[str], *, ids: bool) -> list[tuple[Any, str]]:
        """For each rule about single values what breaks it, and what to say then."""
        rules: list[tuple[Any, str]] = self._written(
            "rule", (name, *todo, ids), lambda: self._rules_now(name, todo, ids=ids)
        )
        return rules

    def _rules_now(self, name: str, todo: list[str], *, ids: bool) -> list[tuple[Any, str]]:
        table, rules = self.tables[name], []
        for column in self._keys(name) if ids else []:
            rules.append(
                (
                    is_missing(table[column]),
                    f"{name}.{column}: an id is missing; every row needs one, so repair the file",
                )
            )
        for column in self._columns(name, todo):
            kind, where = self.schema[column].kind, f"{name}.{column}"
            if isinstance(kind, Categorical) and kind.missing is None and kind.outside != "error":
                rules.append((is_missing(table[column]), _missing(where, column)))
            if isinstance(kind, Integer | Numeric | Date):
                if self.schema[column].role == "size":
                    rules.append(
                        (
                            (number_of(table[column]) % 1.0 != 0.0).fill_null(False),
                            f"{where}: a size is not a whole number of workers; round the sizes in the file",
                        )
                    )
                stored = table[column]
                # A rule for weights takes the place of that for numbers.
                rules += (
                    _number_rules(where, stored, kind) | positive_rules(where, column, stored, self.schema)
                ).values()
        return rules

    def _check_table(self, name: str, table: Any, todo: list[str], *, ids: bool) -> list[str]:
        rules = self._rules(name, todo, ids=ids)
        if self.scan is not None:
            there = self.scan.num_rows
            broken = [any(self.scan[f"{_RULE}{at}"].to_pylist()) for at in range(len(rules))]
        else:
            flags = [f"{_RULE}{at}" for at in range(len(rules))]
            asked = self._written(
                "rules",
                (name, *todo, ids),
                lambda: table.aggregate(
                    rows=table.count(), **{flag: rule.any() for flag, (rule, _) in zip(flags, rules, strict=True)}
                ),
            )
            (found,) = self.engine.collect(asked).to_pylist()
            there, broken = found["rows"], [found[flag] for flag in flags]
        if not there:
            return [f"{name}: the file has no rows; open the right file"]
        problems = [text for (_, text), is_broken in zip(rules, broken, strict=True) if is_broken]
        kinds = {column: self.schema[column].kind for column in self._columns(name, todo)}
        lists = {column: kind for column, kind in kinds.items() if isinstance(kind, Categorical)}
        seen = self.scan.column_names if self.scan is not None else ()
        plain = as_declared(table, {one: kind for one, kind in lists.items() if one not in seen}, self.engine)
        for column, kind in lists.items():
            problems += self._check_levels(f"{name}.{column}", table, column, kind, plain=column in plain)
        return problems

    def _check_levels(self, where: str, table: Any, column: str, kind: Categorical, *, plain: bool) -> list[str]:
        """Where values outside the list are refused. Of those inside there are no more than the list has, so one value
        more is enough to know: a column of free text must not fill memory."""
        if (level := never_written(table[column].type(), kind)) is not None:
            return [never_written_problem(where, level)]
        if plain:
            return []
        if kind.outside != "error":
            return [unmatched_problem(where, column)] if none_matches(table, column, kind, self.engine) else []
        enough = len(kind.levels) + len(kind.missing_codes) + 2
        if self.scan is not None and column in self.scan.column_names:
            values = set(self.scan[column].to_pylist())
        else:
            there = table.select(value=text_of(table[column])).distinct().limit(enough)
            values = set(self.engine.collect(there)["value"].to_pylist())
        codes = {code_text(value) for value in values}
        problems = [_missing(where, column)] if None in codes and kind.missing is None else []
        if any(kind.code_of(code) is None for code in codes - {None}):
            problems.append(
                f"{where}: a value is not among the declared levels; add the level to the schema as the file writes it "
                f'(text "1.0" is not "1"), declare variables.{column}.outside = "<level>", or repair the file'
            )
        return problems

    def _check_links(self, todo: list[str], *, ids: bool) -> list[str]:
        problems: list[str] = []
        workplace, worker = self.schema.id_of("workplace"), self.schema.id_of("worker")
        row = self.main
        job = self.tables[row]
        if ids:
            if worker and worker in job.columns and self._repeats(job, worker):
                problems.append(
                    f"{row}.{worker}: a worker holds more than one job; keep one job per worker (the main job), "
                    "because the guarantee protects a worker through one record"
                )
            if self.form == "size" and workplace and self._repeats(job, workplace):
                problems.append(f"{row}.{workplace}: an establishment has more than one row; keep one row for each")
            problems += self._check_entity("workplace", workplace)
        if any(self._table_of(column) == "worker" for column in todo):
            problems += self._check_entity("worker", worker)
        if self.form == "flat" and workplace:
            problems += self._check_constant(job, workplace, todo)
        return problems

    def _check_rules(self, todo: list[str]) -> list[str]:
        """What [[rules]] and [[zeros]] say must hold in every record of the table that has their columns."""
        problems: list[str] = []
        for table in self.tables.values():
            problems += rule_problems(table, todo, self.schema, self.engine)
        return problems

    def _check_constant(self, job: Any, workplace: str, todo: list[str]) -> list[str]:
        """Every row of a flat file says where its establishment is. If rows disagree, one worker could move it."""
        attributes = [column for column in todo if self.schema[column].role == "workplace"]
        if not attributes:
            return []
        pieces = self._written(
            "constant", (workplace, *attributes), lambda: job.select(workplace, *attributes).distinct()
        )
        if self._repeats(pieces, workplace):
            return [
                f"job.{', job.'.join(attributes)}: rows of one establishment disagree; these are public facts of the "
                "establishment, so give all its rows the same value, or link a workplace table"
            ]
        return []

    def repeated(self, column: str, unit: str) -> str | None:
        """What is wrong where a unit has more than one row in the table that plans read."""
        job = self.tables[self.main]
        if column not in job.columns:
            return no_id_among_rows(column, unit)
        if not self._repeats(job, column):
            return None
        return (
            f"{self.main}.{column}: one {unit} has more than one row, and the promise holds for one row each; "
            f"keep one row for each {unit}, promise something else, or state at_most = <rows> (Bounded in Python): "
            f"then at most so many rows of each {unit} are used, and the loss is that of all of them"
        )

    def misweighed(self, column: str) -> str | None:
        """What is wrong where a weight is not one; clamped to the declared bounds it would count all the same."""
        name = self._table_of(column)
        table, kind = self.tables[name], self.schema[column].kind
        assert isinstance(kind, Integer | Numeric)  # plans see to it

        def asked() -> Any:
            number = number_of(table[column])
            wrong = (number < 0) | (number == math.inf)
            if kind.missing_codes:
                wrong = wrong & ~number.isin(list(kind.missing_codes))
            return table.aggregate(wrong=wrong.any())

        (found,) = self.engine.collect(self._written("weight", (column,), asked)).to_pylist()
        if not found["wrong"]:
            return None
        return (
            f"{name}.{column}: a weight is negative or infinite, and would count as the nearest declared bound; repair "
            f"the file, or declare the value with variables.{column}.missing_codes and missing"
        )

    def _repeats(self, table: Any, key: str) -> bool:
        return any_repeated(self.engine, table, [key])

    def _check_entity(self, entity: str, key: str | None) -> list[str]:
        if entity not in self.tables or key is None:
            return []
        if self._repeats(self.tables[entity], key):
            return [f"{entity}.{key}: the id occurs more than once; keep one row for each {entity}"]
        job, listed = self.tables[self.main], self.tables[entity]
        if self.engine.collect(job.anti_join(listed, same_key(job, listed, key)).limit(1)).num_rows:
            return [
                f"job.{key}: a job refers to a {entity} that the {entity} table lacks; add it there or drop the job"
            ]
        return []


def any_repeated(engine: Engine, table: Any, keys: Sequence[str]) -> bool:
    """Whether two rows have the same keys. Rows in which one is missing do not count."""
    written = partial(_repetition, table, tuple(keys))
    if len(keys) > 1:
        return bool(engine.collect(engine.written((table, *keys, "twice"), lambda: written("twice"))).num_rows)
    (key,) = keys

    def ask(what: str) -> Any:
        return engine.collect(engine.written((table, key, what), lambda: written(what))).column(0)

    (rows,) = ask("rows").to_pylist()
    kind = table[key].type()
    if rows <= _IN_MEMORY and engine.name == "duckdb" and (kind.is_integer() or kind.is_string()):
        if not _any_number_repeated(ask("numbers").to_numpy()):
            return False
        if kind.is_integer():
            return True  # of text, two different ids may have one hash: count them
    (different,) = ask("different").to_pylist()
    return bool(rows != different)


def _repetition(table: Any, keys: tuple[str, ...], what: str) -> Any:
    for key in keys:
        table = table.filter(table[key].notnull())
    if what == "twice":
        counted = table.group_by(list(keys)).aggregate(tacita_rows=table.count())
        return counted.filter(counted.tacita_rows > 1).limit(1)
    (key,) = keys
    if what == "rows":
        return table.aggregate(rows=table.count())
    if what == "different":
        return table.aggregate(different=table[key].nunique())
    return table.select(number=table[key] if table[key].type().is_integer() else table[key].hash())


def _any_number_repeated(ids: NDArray[Any]) -> bool:
    """The same for whole numbers, in a third of the engine's time: ids are often consecutive, so that a mark for each
    number between the least and the largest takes no more room than the ids themselves."""
    if not len(ids):
        return False
    ids = ids.astype(np.int64, copy=False) if ids.itemsize < 8 else ids  # differences of small types would wrap
    lowest = ids.min()
    span = int(ids.max()) - int(lowest) + 1
    if span > ids.itemsize * len(ids):
        ids = np.sort(ids)
        return bool((ids[1:] == ids[:-1]).any())
    seen = np.zeros(span, dtype=bool)
    seen[ids - lowest] = True
    return int(np.count_nonzero(seen)) != len(ids)


def no_id_among_rows(column: str, unit: str) -> str:
    return f"{column}: the {unit} id must stand in the table whose rows are counted; add it there"


def main_table(tables: Mapping[str, Any]) -> str:
    """The table whose rows are counted."""
    return "job" if len(tables) > 1 else next(iter(tables))


def table_of(column: str, schema: Schema, tables: Mapping[str, Any]) -> str:
    """The table that holds a declared column; a single file holds them all."""
    return schema[column].table if len(tables) > 1 else main_table(tables)


def same_key(left: Any, right: Any, key: str) -> Any:
    """The condition that links two tables, also where one file stores the key as a number and the other as text."""
    ours, theirs = left[key], right[key]
    if ours.type().is_integer() and theirs.type().is_integer():
        return ours == theirs
    return text_of(ours) == text_of(theirs)


def _missing(where: str, column: str) -> str:
    return (
        f"{where}: a value is missing and the schema has no rule for it; "
        f'declare variables.{column}.missing = "<level>", or repair the file'
    )


def _number_rules(where: str, stored: Any, kind: Integer | Numeric | Date) -> dict[str, tuple[Any, str]]:
    number = number_of(stored)
    missing = number.isnull()
    if kind.missing_codes:
        missing = missing | number.isin(list(kind.missing_codes))
    rules: dict[str, tuple[Any, str]] = {}
    key = where.partition(".")[2]
    if kind.missing is None and not kind.own_missing:
        what, hint = ("NaN or not a number", "decimals have a point, not a comma")
        if isinstance(kind, Date):
            what, hint = ("or not a date", "dates are written as 2026-01-31")
        rules[f"{where} missing"] = (
            missing,
            f"{where}: a value is missing, {what}, and the schema has no rule for it; "
            f'declare variables.{key}.missing = <{"date" if isinstance(kind, Date) else "number"}> (or "own state"), '
            f"or repair the file ({hint})",
        )
    if kind.outside == "error":
        lower, upper = bounds_of(kind)
        outside = (number < lower) | (number > upper)
        if isinstance(kind, Integer) and not stored.type().is_integer():
            outside = outside | ~is_whole(number)
        rules[f"{where} outside"] = (
            ~missing & outside,
            f"{where}: a value lies outside {kind.lower} to {kind.upper} or is not a whole number where one is needed; "
            f'declare variables.{key}.outside = "clamp", widen the bounds, or repair the file',
        )
    return rules
