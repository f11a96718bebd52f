"""Survey samples of any distribution: tables of cells and numbers, and weighted totals, instead of a law.

`measure` is the only function that sees records; the rest works on what was released. Proof: survey.md.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from functools import cached_property
from itertools import combinations
from typing import Any, Literal

import numpy as np
import pyarrow as pa
from attrs import frozen

from tacita.data.coding import Coding, InCell, InList
from tacita.data.gathered import Columns as Gathered
from tacita.data.schema import Schema
from tacita.data.schema.units import published
from tacita.implicates import Implicates
from tacita.noise.entropy import Entropy
from tacita.synthesis.base import Model
from tacita.synthesis.file.asking import asked
from tacita.synthesis.file.bins import bins_for, number_of
from tacita.synthesis.file.budget import Budget
from tacita.synthesis.file.columns import FEW, Grid, Number, Shape
from tacita.synthesis.file.fitting import Fit, drawn, fitted, unsure
from tacita.synthesis.file.numbers import measure_number
from tacita.synthesis.file.released import Tables, record_of, tables_from
from tacita.synthesis.file.targets import Answer, public_answers
from tacita.synthesis.file.totals import Drawn
from tacita.synthesis.file.values import Bins
from tacita.synthesis.survey.columns import Columns, Frame, Integers, frame_from, frame_record
from tacita.synthesis.survey.holding import held
from tacita.synthesis.survey.records import cells_of
from tacita.synthesis.survey.totals import (
    CENTRED,
    FAR,
    NONE,
    SEEN,
    Totals,
    measure_totals,
    whole_noise,
    worth_totals,
)

Law = Literal["any", "normal"]

_SHAPES = Fraction(1, 4)  # of the budget, for where each number lies
_TOTALS = Fraction(1, 2)  # for weighted totals
_FEW_IN_CELLS = 200  # records on average: in smaller cells, design variables stand one by one


def total_noise(budget: Budget, numbers: int) -> float:
    """Standard deviation of the noise on a weighted total of non-negative amounts, in clamps."""
    return whole_noise(budget, budget.total * _TOTALS, numbers)


def records_needed(budget: Budget, numbers: int) -> int:
    """With fewer, what the largest records add is not seen, and no margin knows of it."""
    return round(SEEN * worth_totals(budget, budget.total * _TOTALS, numbers))


def table_noise(budget: Budget, tables: int) -> float:
    """About the standard deviation of the noise on a count of a table, in records."""
    return budget.typical(budget.total * (1 - _SHAPES - _TOTALS), tables)


@frozen(eq=False)
class Distribution:
    """Released, beside the public frame: tables of cells and numbers, shapes, and totals of all and of each cell."""

    frame: Frame
    tables: Tables
    totals: Totals


def in_cells(frame: Frame, by: int) -> bool:
    """Without design variables all are one cell."""
    return not by or frame.cells * _FEW_IN_CELLS <= frame.records


def public_codes(frame: Frame, by: int) -> Integers:
    """What the model knows of every record: its cell, or its design variables where cells are too many for that."""
    columns = frame.cell[:, None] if in_cells(frame, by) else frame.levels[:, :by]
    return np.ascontiguousarray(np.repeat(columns, frame.counts, axis=0), dtype=np.int64)


def measure(gathered: Gathered, frame: Frame, columns: Columns, budget: Budget, entropy: Entropy) -> Distribution:
    """Shapes of all numbers, tables, and totals of weight × value."""
    names, records = [one.name for one in columns.measures], frame.records
    grids = {name: Grid.of(one.kind) for name, one in zip(names, columns.measures, strict=True)}
    cut = [name for name in names if grids[name].size > FEW]
    each = budget.total * _SHAPES / len(names)
    shapes = {
        name: measure_number(gathered.values(name), grids[name], records, budget, each, entropy, name)
        if name in cut
        else Shape(records)
        for name in names
    }
    bins = bins_for(records, len(names), budget)
    numbers = numbers_of(columns, shapes, bins)
    known = public_levels(public_codes(frame, len(columns.by)))
    design: list[Coding] = [InCell(known[0])]
    if not in_cells(frame, len(columns.by)):
        design = [InList(name, size) for name, size in zip(columns.by, known, strict=True)]
    coded = [*design, *numbers]
    levels = tuple(one.size for one in coded)
    amount = budget.total * _TOTALS
    least = worth_totals(budget, amount, len(names))
    if records < least:
        amount = Fraction(0)
    rest = budget.total - each * len(cut) - amount
    first = len(known)
    sets: list[tuple[int, ...]] = [(a,) for a in range(first, len(levels))]
    sets += [(a, b) for a, b in combinations(range(len(levels)), 2) if b >= first]
    answers = asked(gathered.coded(coded), budget.tables(sets, levels, rest), entropy)
    # A centre parts the records in two; where they are few, neither part can be told from the noise.
    many = records >= CENTRED * least
    centres = {name: _middle(shapes[name] if many else Shape(), grids[name]) for name in names[:-1]}
    totals = measure_totals(gathered, frame, columns, budget, amount, centres, entropy) if amount else NONE
    return Distribution(frame, Tables(records, bins, shapes, answers, {}), totals)


def _middle(shape: Shape, grid: Grid) -> float:
    """Of the released thresholds of a number the middle one, where its values vary little beside it; else 0, or the
    bound next to 0."""
    shares = [float(one) for one in shape.shares] or [0.0]
    low, middle, high = np.interp([0.25, 0.5, 0.75], shares, shape.thresholds or [0.0])
    units = round(middle) if abs(middle) > FAR * (high - low) else 0
    return min(max(units, grid.first), grid.last) / grid.parts


def attribute_names(plan: Any, frame: Frame) -> tuple[str, ...]:
    """What tables are of."""
    known = public_codes(frame, len(plan.by)).shape[1]
    design = plan.by if known == len(plan.by) else (" × ".join(plan.by) or "all",)
    return (*design, *plan.columns, plan.weight)


def public_levels(known: Integers) -> tuple[int, ...]:
    return tuple(int(one.max()) + 1 for one in known.T)


def numbers_of(columns: Columns, shapes: Mapping[str, Shape], bins: int) -> tuple[Number, ...]:
    """The outcomes and the weight, with their states."""
    return tuple(number_of(one.name, Grid.of(one.kind), False, shapes[one.name], bins) for one in columns.measures)


@frozen(eq=False, repr=False)
class DistributionModel(Model[Distribution]):
    """As many records in each public cell as were collected, drawn from what was released, and held to the totals."""

    form = "survey-distribution-2"

    @property
    def frame(self) -> Frame:
        return self.released.frame

    @cached_property
    def columns(self) -> Columns:
        columns: Columns = self.plan.layout(self.schema)
        return columns

    @cached_property
    def numbers(self) -> tuple[Number, ...]:
        return numbers_of(self.columns, self.released.tables.shapes, self.released.tables.bins)

    @cached_property
    def public(self) -> Integers:
        return public_codes(self.frame, len(self.columns.by))

    @property
    def answers(self) -> tuple[Answer, ...]:
        """What everybody knows, and what was released."""
        return public_answers(self.public, public_levels(self.public)) + self.released.tables.answers

    @cached_property
    def fit(self) -> Fit:
        """The field of what was released; the same one each time."""
        known = public_levels(self.public)
        levels = (*known, *(one.size for one in self.numbers))
        ordered = [0] * len(known) + [len(one.cuts) + 1 for one in self.numbers]
        random = np.random.default_rng(self.seed)
        return fitted(self.answers, levels, (), float(self.frame.records), random, ordered, self.public)

    def files(self, m: int, random: np.random.Generator, rows: int | None) -> Implicates:
        files = []
        for one in random.spawn(m):
            fit = self.fit if m == 1 else unsure(self.fit, self.answers, one)
            files.append(self._file(fit, one, noisy=m > 1))
        return Implicates(tuple(files), self.schema, (*self.plan.columns, self.plan.weight), "one-measurement")

    def _file(self, fit: Fit, random: np.random.Generator, *, noisy: bool) -> pa.Table:
        known, doubt = self.public.shape[1], random if noisy else None
        records, leaning = drawn(fit, self.frame.records, random)
        made = {
            one.name: Drawn(one, Bins(one, doubt, fit.margins[k]).units(records[:, k], random, leaning[:, k]))
            for k, one in enumerate(self.numbers, start=known)
        }
        units = self._held(made, doubt)
        found: dict[str, pa.Array] = {}
        for at, name in enumerate(self.columns.design):
            levels = pa.array(self.columns.schema.levels(name), type=pa.string())
            found[name] = levels.take(pa.array(np.repeat(self.frame.levels[:, at], self.frame.counts)))
        return pa.table(found | {name: published(self.columns.schema[name].kind, units[name]) for name in made})

    def _held(self, made: Mapping[str, Drawn], random: np.random.Generator | None) -> dict[str, Integers]:
        """Units that add up as measured, in all and in each cell."""
        weight = self.columns.measures[-1].name
        totals = self.released.totals.for_population(weight, self.plan.population)
        if not totals.whole:
            return {name: one.units for name, one in made.items()}
        values = {name: one.values for name, one in made.items()}
        changed = held(weight, values, cells_of(self.frame), totals, random)
        return {
            name: one.moved(changed[name], round_as_before=name != weight) if name in changed else one.units
            for name, one in made.items()
        }

    # ------------------------------------------------------------ stored

    @property
    def measured(self) -> dict[str, Any]:
        """The released numbers with their noise, and the public design."""
        return {
            **record_of(self.released.tables, attribute_names(self.plan, self.frame)),
            **self.released.totals.record(),
            "design": frame_record(self.frame),
        }

    @classmethod
    def released_from(cls, content: Mapping[str, Any], table: pa.Table, plan: Any, schema: Schema) -> Distribution:
        frame = frame_from(content["design"], len(plan.by))
        tables = tables_from({**content, "totals": {}}, attribute_names(plan, frame))
        return Distribution(frame, tables, Totals.of_record(content))
