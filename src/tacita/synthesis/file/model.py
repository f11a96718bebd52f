"""What FileSynthesis releases, and the synthetic files that are drawn from it. Post-processing only."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
from attrs import evolve, frozen
from numpy.typing import NDArray

from tacita.data.schema import Rulebook, Schema
from tacita.data.schema.rulebook import possible
from tacita.data.schema.rules import only
from tacita.data.schema.units import published
from tacita.errors import SchemaError, UsageError
from tacita.implicates import Implicates
from tacita.synthesis.base import Model
from tacita.synthesis.file.agreeing import answer_of, usable
from tacita.synthesis.file.bins import number_of, told_by
from tacita.synthesis.file.columns import Category, Column, Number, Shape, column_of, ordered_states
from tacita.synthesis.file.fitting import Fit, drawn, fitted, given, unsure
from tacita.synthesis.file.keeping import kept, kept_still
from tacita.synthesis.file.released import Tables, record_of, tables_from
from tacita.synthesis.file.targets import records_of
from tacita.synthesis.file.totals import held_units

Integers = NDArray[np.int64]


_FEWEST = 200  # records are drawn where rules must hold, however short the file: one that is wrong needs a right one


def columns_of(book: Rulebook, schema: Schema, shapes: Mapping[str, Shape], bins: int) -> tuple[Column, ...]:
    """The columns that are drawn, with their states."""
    columns: list[Column] = []
    for name in book.drawn:
        public = column_of(schema, name)
        if not isinstance(public, Category):
            columns.append(number_of(name, *public, shapes[name], bins, book.borders(name)))
        else:
            columns.append(public)
    return tuple(columns)


@frozen(eq=False, repr=False)
class FileModel(Model[Tables]):
    """Noisy tables of columns and pairs, from which any number of files can be drawn."""

    form = "file-model-2"
    any_length = True

    @cached_property
    def book(self) -> Rulebook:
        return Rulebook.of(self.schema, self.plan.columns)

    @cached_property
    def columns(self) -> tuple[Column, ...]:
        """Those that are drawn; the others follow from them."""
        return columns_of(self.book, self.schema, self.released.shapes, self.released.bins)

    @property
    def rows(self) -> int:
        """Of each synthetic file, unless it is drawn with another length."""
        rows: int | None = self.plan.rows
        return self.released.records if rows is None else rows

    @cached_property
    def fit(self) -> Fit:
        """The field of what was released; the same one each time."""
        levels = tuple(one.size for one in self.columns)
        bars = self.book.bars({one.name: one.spans for one in self.columns})
        ordered = ordered_states(self.columns)
        random = np.random.default_rng(self.seed)
        told = [told_by(one, k) for k, one in enumerate(self.columns) if isinstance(one, Number)]
        known = [one for one in told if one is not None]
        return fitted(self.released.answers, levels, bars, float(self.released.records), random, ordered, told=known)

    def usable(self, table: Any) -> bool:
        """Whether a published table counts the records that the files stand for, by columns that they have."""
        return usable(table, self.columns)

    def agreeing(self, tables: Sequence[Any]) -> FileModel:
        """The same model, knowing tables that were published beside it: its files agree with them as well.

        Post-processing: what was published of the same records is known to everybody, and costs nothing more.
        """
        if unfit := [one for one in tables if not self.usable(one)]:
            raise UsageError(
                f"tables: number {tables.index(unfit[0]) + 1} does not count the records of the files by up to three "
                "of their categories; leave it out"
            )
        known = tuple(answer_of(one, self.columns) for one in tables)
        released, records = self.released, self.released.records
        if not self.plan.size_is_public:
            _, doubt = records_of(released.answers, records, self.plan.variance_of_count)
            records, _ = records_of(known, records, doubt)
        return evolve(self, released=evolve(released, records=records, answers=(*released.answers, *known)))

    def files(self, m: int, random: np.random.Generator, rows: int | None) -> Implicates:
        length = self.rows if rows is None else rows
        frames = []
        for fit, one in self._fits(m, random):
            more = max(length, _FEWEST) if self.book.rules else length
            doubt = one if m > 1 else None
            units = _some(kept(self.book, self.columns, *drawn(fit, more, one), one, fit.margins, doubt), length)
            frames.append(self._written(self._held(units, length, doubt)))
        return Implicates(tuple(frames), self.schema, self.plan.columns, "one-measurement")

    def files_where(
        self, m: int, random: np.random.Generator, rows: int | None, where: Mapping[str, Any]
    ) -> Implicates:
        """Records of one kind, from the same law: what is asked for is a rule that only these files keep."""
        kinds = {name: self.schema[name].kind for name in self.plan.columns}
        try:
            book = evolve(self.book, rules=(*self.book.rules, *only(where, kinds)))
        except SchemaError as problem:
            raise UsageError(str(problem)) from None
        bars = book.bars({one.name: one.spans for one in self.columns})
        if possible([one.size for one in self.columns], bars) is None:
            raise UsageError("where: no record that the schema allows is of this kind; ask for another")
        frames = []
        for fit, one in self._fits(m, random):
            records, leaning, length = given(fit, bars, rows, self.rows, _FEWEST, one)
            doubt = one if m > 1 else None
            frames.append(
                self._written(_some(kept(book, self.columns, records, leaning, one, fit.margins, doubt), length))
            )
        return Implicates(tuple(frames), self.schema, self.plan.columns, "one-measurement")

    def _fits(self, m: int, random: np.random.Generator) -> Iterator[tuple[Fit, np.random.Generator]]:
        """For each file the field it is drawn from: where there are several, with what the noise leaves open."""
        for one in random.spawn(m):
            yield self.fit if m == 1 else unsure(self.fit, self.released.answers, one), one

    def _held(self, units: dict[str, Integers], rows: int, random: np.random.Generator | None) -> dict[str, Integers]:
        """Records that keep to the measured totals, as far as the rules let them."""
        if not self.released.pins:
            return units
        numbers = [one for one in self.columns if isinstance(one, Number)]
        weight, stands_for = self.plan.weighed_by(self.schema), self.released.records / rows
        return kept_still(self.book, units, held_units(numbers, units, self.released.pins, weight, stands_for, random))

    def _written(self, units: Mapping[str, Integers]) -> pa.Table:
        return pa.table({name: published(self.schema[name].kind, units[name]) for name in self.plan.columns})

    # ------------------------------------------------------------ stored

    @property
    def measured(self) -> dict[str, Any]:
        """The released numbers with their noise."""
        return {"rows": self.rows, **record_of(self.released, self.book.drawn)}

    @classmethod
    def released_from(cls, content: Mapping[str, Any], table: pa.Table, plan: Any, schema: Schema) -> Tables:
        return tables_from(content, Rulebook.of(schema, plan.columns).drawn)


def _some(units: dict[str, Integers], rows: int) -> dict[str, Integers]:
    return {name: values[:rows] for name, values in units.items()}
