"""Columns of a survey synthesis: private outcomes and a weight on a public scale, and public design variables."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, get_args

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tacita.data import gathered, rowwise
from tacita.data.coding import Cross
from tacita.data.confidential import Confidential
from tacita.data.reading import read, refuse_linked
from tacita.data.schema import Categorical, Integer, Numeric, Schema
from tacita.data.schema.design import SurveyDesign
from tacita.errors import UsageError

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Transform = Literal["log", "log1p", "identity"]


@dataclass(frozen=True)
class Measure:
    """A number on the scale on which it is modelled, between public bounds."""

    name: str
    kind: Integer | Numeric
    transform: Transform

    @property
    def low(self) -> float:
        return float(self.forward(np.array([self.kind.lower], dtype=np.float64))[0])

    @property
    def high(self) -> float:
        return float(self.forward(np.array([self.kind.upper], dtype=np.float64))[0])

    def forward(self, values: Floats) -> Floats:
        match self.transform:
            case "log":
                return rowwise.log(values)
            case "log1p":
                return rowwise.log1p(values)
            case "identity":
                return values

    def back(self, scaled: Floats) -> Floats:
        """The value as it is written."""
        return self.written(self.value(scaled))

    def value(self, scaled: Floats) -> Floats:
        """The value within the bounds."""
        held = np.clip(scaled, self.low, self.high)
        return held if self.transform == "identity" else np.expm1(held) if self.transform == "log1p" else np.exp(held)

    def written(self, raw: Floats) -> Floats:
        """Within the bounds, to the declared places."""
        places = self.kind.scale if isinstance(self.kind, Numeric) else 0
        return np.asarray(np.clip(np.round(raw, places), self.kind.lower, self.kind.upper))

    def column(self, raw: Floats) -> pa.Array:
        values = self.written(raw)
        return pa.array(values.astype(np.int64) if isinstance(self.kind, Integer) else values)


def measure_of(schema: Schema, name: str, transform: Transform | None) -> Measure:
    """Logarithms unless told otherwise: incomes and weights are skewed, and their ratios are what a model can hold."""
    kind = schema[name].kind
    refuse_linked(schema, name)
    if not isinstance(kind, Integer | Numeric):
        raise UsageError(f"{name}: must be a number to be modelled; put categories into by, or leave it out")
    chosen = transform or "log"
    if chosen not in get_args(Transform):
        raise UsageError(f"transforms.{name}: must be one of {', '.join(get_args(Transform))}")
    if not kind.lower < kind.upper:
        raise UsageError(f"{name}: lower equals upper in the schema, so there is nothing to synthesize; leave it out")
    if chosen == "log" and kind.lower <= 0:
        raise UsageError(
            f"{name}: is modelled by its logarithm, and variables.{name}.lower is not above 0; raise lower, or set "
            f'transforms.{name} = "log1p" (zeros occur) or "identity"'
        )
    if chosen == "log1p" and kind.lower < 0:
        raise UsageError(f'transforms.{name}: "log1p" needs variables.{name}.lower of at least 0; use "identity"')
    return Measure(name, kind, chosen)


@dataclass(frozen=True)
class Columns:
    """`measures` are synthesized, the weight last; `by` make the cells of the model; `keep` go along as collected."""

    measures: tuple[Measure, ...]
    by: tuple[str, ...]
    keep: tuple[str, ...]
    schema: Schema

    def values(self, z: Floats) -> Floats:
        """Numbers within their bounds, from their scales."""
        return np.column_stack([one.value(z[:, at]) for at, one in enumerate(self.measures)])

    @property
    def names(self) -> tuple[str, ...]:
        return (*(one.name for one in self.measures), *self.by, *self.keep)

    @property
    def design(self) -> tuple[str, ...]:
        return (*self.by, *self.keep)


def columns_of(
    schema: Schema,
    outcomes: tuple[str, ...],
    weight: str,
    by: tuple[str, ...],
    keep: tuple[str, ...],
    transforms: Mapping[str, Transform],
) -> Columns:
    names = (*outcomes, weight, *by, *keep)
    if len(set(names)) != len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise UsageError(f"{twice}: is named twice; a column is an outcome, the weight or a design variable")
    for name in (*by, *keep):
        refuse_linked(schema, name)
        if not isinstance(schema[name].kind, Categorical):
            raise UsageError(
                f"{name}: design variables are categories; declare its levels, or its public bins as levels"
            )
        if schema[name].role not in ("public", "design"):
            raise UsageError(
                f"{name}: goes into the synthetic files as collected, and the schema does not call it public; set "
                f'variables.{name}.role = "public" if everyone may know it, or take it out of by and keep'
            )
    if schema.design is not None:
        _agree_with(schema.design, weight, (*by, *keep))
    for name in transforms:
        if name not in outcomes:
            raise UsageError(f"transforms: {name} is not among the outcomes (the weight is always on the log scale)")
    measures = tuple(measure_of(schema, name, transforms.get(name)) for name in outcomes)
    return Columns((*measures, measure_of(schema, weight, "log")), by, keep, schema)


def _agree_with(design: SurveyDesign, weight: str, named: tuple[str, ...]) -> None:
    """The synthetic files must carry what a standard error needs, and nothing that the design does not call public."""
    if weight != design.weight:
        raise UsageError(f"weight: the schema's [design] says {design.weight}; use it here, or correct the schema")
    for name in (*design.strata, *design.psu):
        if name not in named:
            raise UsageError(
                f"keep: {name} is missing, a part of [design] without which nobody can compute a standard error from "
                f'the files; add it to by or keep, such as keep = ["{name}"]'
            )
    for name in named:
        if name not in design.public:
            raise UsageError(
                f"{name}: goes into the synthetic files as collected, and [design] does not list it as public; add it "
                "to design.public if everyone may know it, or take it out of by and keep"
            )


@dataclass(frozen=True, eq=False)
class Frame:
    """The public part of a survey file: each combination of design variables that occurs, and how often.

    `levels` has one row per combination and one column per design variable; `cell` says to which cell of the model,
    a combination of `by`, it belongs.
    """

    levels: Integers
    counts: Integers
    cell: Integers

    @cached_property
    def cells(self) -> int:
        return int(self.cell.max()) + 1

    @cached_property
    def sizes(self) -> Integers:
        """Records in each cell of the model; never zero."""
        return rowwise.sums(self.cell, self.counts, self.cells)

    @property
    def records(self) -> int:
        return int(self.counts.sum(dtype=np.int64))

    def effects(self, by: int) -> tuple[Floats, Integers]:
        """One row per cell: a constant and indicators of every level of `by` that occurs; and whose level each is.

        The constant belongs to nobody, −1.
        """
        _, first = np.unique(self.cell, return_index=True)
        found, owner = [np.ones((self.cells, 1))], [-1]
        for at, column in enumerate(self.levels[first, :by].T):
            present = np.unique(column)
            found.append((column[:, None] == present).astype(np.float64))
            owner += [at] * present.size
        return np.hstack(found), np.array(owner)


@dataclass(frozen=True, eq=False)
class SurveyRows:
    """A confidential survey as arrays: numbers on their scales (the weight last), cell of the model, public frame."""

    z: Floats
    cell: Integers
    frame: Frame


def read_survey(data: Confidential, columns: Columns) -> SurveyRows:
    """One pass over the file."""
    found = read(data, columns.names)
    z = np.column_stack([one.forward(found[one.name]) for one in columns.measures])
    frame, place = _framed(found, columns)
    return SurveyRows(z, frame.cell[place], frame)


def gathered_by(data: Confidential, columns: Columns) -> tuple[gathered.Columns, Frame]:
    """The columns where they are, with the cells of the model, and the public frame."""
    found = gathered.columns_of(data, columns.names)
    frame = _frame_in(found, columns)
    if not columns.by:
        return found, frame
    sizes = tuple(len(columns.schema.levels(name)) for name in columns.by)
    cells = np.unique(frame.levels[:, : len(columns.by)], axis=0)
    return found.by(Cross(columns.by, sizes, cells)), frame


def read_frame(data: Confidential, columns: Columns) -> Frame:
    """The public columns only."""
    return _frame_in(gathered.columns_of(data, columns.design or columns.names), columns)


def _frame_in(found: gathered.Columns, columns: Columns) -> Frame:
    sizes = [len(columns.schema.levels(name)) for name in columns.design]
    return frame_of(*found.combinations(columns.design, sizes), len(columns.by))


def _framed(found: Mapping[str, Floats], columns: Columns) -> tuple[Frame, Integers]:
    sizes = [len(columns.schema.levels(name)) for name in columns.design]
    joined = np.zeros(len(next(iter(found.values()))), dtype=np.int64)
    for name, size in zip(columns.design, sizes, strict=True):
        joined = joined * size + found[name].astype(np.int64)
    codes, place = np.unique(joined, return_inverse=True)
    place = place.reshape(-1)
    levels = np.zeros((codes.size, len(sizes)), dtype=np.int64)
    for at in range(len(sizes) - 1, -1, -1):
        codes, levels[:, at] = np.divmod(codes, sizes[at])
    return frame_of(levels, np.bincount(place), len(columns.by)), place


def frame_of(levels: Integers, counts: Integers, by: int) -> Frame:
    if by == 0:
        return Frame(levels, counts, np.zeros(len(levels), dtype=np.int64))
    _, cell = np.unique(levels[:, :by], axis=0, return_inverse=True)
    return Frame(levels, counts, cell.reshape(-1).astype(np.int64))


def frame_record(frame: Frame) -> dict[str, Any]:
    """A frame as JSON values."""
    return {"levels": frame.levels.tolist(), "records": frame.counts.tolist()}


def frame_from(record: Mapping[str, Any], by: int) -> Frame:
    counts = np.array(record["records"], dtype=np.int64)
    return frame_of(np.array(record["levels"], dtype=np.int64).reshape(len(counts), -1), counts, by)
