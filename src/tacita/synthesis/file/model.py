"""What FileSynthesis releases, and the synthetic files that are drawn from it. Post-processing only."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
from attrs import evolve, frozen
from numpy.typing import NDArray

from tacita.data.schema import Rulebook, Schema
from tacita.data.schema.bars import possible
from tacita.data.schema.rules import only
from tacita.data.schema.units import published
from tacita.errors import SchemaError, UsageError
from tacita.implicates import Implicates
from tacita.privacy import text
from tacita.synthesis.base import Model
from tacita.synthesis.file.bins import number_of
from tacita.synthesis.file.budget import Question
from tacita.synthesis.file.columns import Category, Column, Number, Shape, column_of
from tacita.synthesis.file.fitting import Fit, drawn, fitted, given
from tacita.synthesis.file.keeping import kept, kept_still
from tacita.synthesis.file.targets import Answer
from tacita.synthesis.file.totals import held_units
from tacita.synthesis.pinned.measuring import Pin

Integers = NDArray[np.int64]


_FEWEST = 200  # records are drawn where rules must hold, however short the file: one that is wrong needs a right one


@frozen(eq=False)
class Tables:
    """The number of records, public or as measured; the shape of every number; bins; all noisy tables; totals."""

    records: int
    bins: int
    shapes: Mapping[str, Shape]
    answers: tuple[Answer, ...]
    pins: Mapping[str, Pin]
    """Totals that were measured directly, by column."""


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
        return self._fitted(self.released.answers, np.random.default_rng(self.seed), None)

    def _fitted(self, answers: tuple[Answer, ...], random: np.random.Generator, start: Fit | None) -> Fit:
        levels = tuple(one.size for one in self.columns)
        bars = self.book.bars({one.name: one.spans for one in self.columns})
        ordered = [len(one.cuts) + 1 if isinstance(one, Number) else 0 for one in self.columns]
        return fitted(answers, levels, bars, float(self.released.records), random, ordered, start)

    def files(self, m: int, random: np.random.Generator, rows: int | None) -> Implicates:
        length = self.rows if rows is None else rows
        frames = []
        for fit, one in self._fits(m, random):
            more = max(length, _FEWEST) if self.book.rules else length
            units = _some(kept(self.book, self.columns, drawn(fit, more, one), one), length)
            frames.append(self._written(self._held(units, length, one if m > 1 else None)))
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
            records, length = given(fit, bars, rows, self.rows, _FEWEST, one)
            frames.append(self._written(_some(kept(book, self.columns, records, one), length)))
        return Implicates(tuple(frames), self.schema, self.plan.columns, "one-measurement")

    def _fits(self, m: int, random: np.random.Generator) -> Iterator[tuple[Fit, np.random.Generator]]:
        """For each file the field it is drawn from: where there are several, with what the noise leaves open."""
        for one in random.spawn(m):
            if m == 1:
                yield self.fit, one
            else:
                again = tuple(_drawn_once_more(answer, one) for answer in self.released.answers)
                yield self._fitted(again, one, self.fit), one

    def _held(self, units: dict[str, Integers], rows: int, random: np.random.Generator | None) -> dict[str, Integers]:
        """Records that keep to the measured totals, as far as the rules let them."""
        if not self.released.pins:
            return units
        numbers = [one for one in self.columns if isinstance(one, Number)]
        weight, stands_for = self.plan.weighing(self.schema), self.released.records / rows
        return kept_still(self.book, units, held_units(numbers, units, self.released.pins, weight, stands_for, random))

    def _written(self, units: Mapping[str, Integers]) -> pa.Table:
        return pa.table({name: published(self.schema[name].kind, units[name]) for name in self.plan.columns})

    # ------------------------------------------------------------ stored

    @property
    def measured(self) -> dict[str, Any]:
        """The released numbers with their noise."""
        return {
            "records": self.released.records,
            "rows": self.rows,
            "bins": self.released.bins,
            "numbers": {
                name: {
                    "records": shape.records,
                    "values": list(shape.values),
                    "counts": list(shape.counts),
                    "shares": [text(one) for one in shape.shares],
                    "thresholds": list(shape.thresholds),
                    "between": list(shape.between),
                    "habits": [list(row) for row in shape.habits],
                    "noise": shape.noise,
                }
                for name, shape in self.released.shapes.items()
            },
            "tables": [
                {
                    "attributes": [self.book.drawn[at] for at in one.question.attributes],
                    "contrast": one.question.contrast,
                    "law": "discrete Laplace, scale" if one.question.pure else "discrete Gaussian, variance",
                    "noise": text(one.question.noise),
                    "cost": text(one.question.cost),
                    "values": one.values.tolist(),
                }
                for one in self.released.answers
            ],
            "totals": {name: asdict(pin) for name, pin in self.released.pins.items()},
        }

    @classmethod
    def released_from(cls, content: Mapping[str, Any], table: pa.Table, plan: Any, schema: Schema) -> Tables:
        places = {name: k for k, name in enumerate(Rulebook.of(schema, plan.columns).drawn)}
        shapes = {
            name: Shape(
                one["records"],
                tuple(one["values"]),
                tuple(one["counts"]),
                tuple(Fraction(share) for share in one["shares"]),
                tuple(one["thresholds"]),
                tuple(one["between"]),
                tuple(tuple(row) for row in one["habits"]),
                one["noise"],
            )
            for name, one in content["numbers"].items()
        }
        answers = tuple(
            Answer(
                Question(
                    tuple(places[name] for name in one["attributes"]),
                    one["contrast"],
                    Fraction(one["noise"]),
                    Fraction(one["cost"]),
                    "Laplace" in one["law"],
                ),
                np.array(one["values"], dtype=np.int64),
            )
            for one in content["tables"]
        )
        pins = {name: Pin(**{**one, "totals": tuple(one["totals"])}) for name, one in content["totals"].items()}
        return Tables(content["records"], content["bins"], shapes, answers, pins)


def _some(units: dict[str, Integers], rows: int) -> dict[str, Integers]:
    return {name: values[:rows] for name, values in units.items()}


def _drawn_once_more(answer: Answer, random: np.random.Generator) -> Answer:
    """The answer with as much noise again, so that files differ by what the noise leaves open."""
    question = answer.question
    shape = answer.values.shape
    if question.pure:
        more = random.laplace(0.0, float(question.noise), shape)
    else:
        more = random.normal(0.0, float(question.noise) ** 0.5, shape)
    twice = 2 if not question.pure else Fraction(2**0.5)
    louder = replace(question, noise=question.noise * twice)
    return evolve(answer, question=louder, values=np.rint(answer.values + more).astype(np.int64))
