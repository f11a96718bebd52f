"""The file as the models see it: numbers, and cells of the public design with the categorical outcomes among them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import prod

import numpy as np
import pyarrow as pa

from tacita.data import rowwise
from tacita.data.confidential import Confidential
from tacita.data.reading import refuse_linked
from tacita.data.schema import Categorical, Schema
from tacita.errors import UsageError
from tacita.synthesis.comparison.pseudo.kernel import Floats, Integers
from tacita.synthesis.survey.columns import Columns, Frame, Transform, columns_of, frame_of, read_survey

_MOST_CELLS = 5_000


@dataclass(frozen=True)
class Layout:
    """Numbers (weight last) and public columns, and the categorical outcomes with their levels."""

    columns: Columns
    categories: tuple[Categorical, ...]
    category_names: tuple[str, ...]

    @property
    def names(self) -> tuple[str, ...]:
        return (*self.category_names, *self.columns.names)

    @property
    def synthesized(self) -> tuple[str, ...]:
        return (*self.category_names, *(one.name for one in self.columns.measures))

    @property
    def combinations(self) -> int:
        """Of levels of the categorical outcomes; 1 where there are none."""
        return prod(len(kind.levels) for kind in self.categories)

    @property
    def limits(self) -> tuple[Floats, Floats]:
        """Public bounds of the numbers on the modelled scale."""
        measures = self.columns.measures
        return np.array([one.low for one in measures]), np.array([one.high for one in measures])

    def effects(self, frame: Frame, crossed: bool) -> Floats:
        """One row per cell of the model: a constant and indicators of all levels but the first of each variable."""
        by = len(self.columns.by)
        _, first = np.unique(frame.cell, return_index=True)
        rows = frame.levels[first, :by]
        combination = np.arange(self.combinations)
        if crossed:
            return np.eye(len(rows) * combination.size)
        parts = [np.ones((len(rows) * combination.size, 1))]
        for column in rows.T:
            present = np.unique(column)[1:]
            parts.append(np.repeat((column[:, None] == present).astype(np.float64), combination.size, axis=0))
        for code, kind in zip(self.category_codes(combination), self.categories, strict=True):
            marks = (code[:, None] == np.arange(1, len(kind.levels))).astype(np.float64)
            parts.append(np.tile(marks, (len(rows), 1)))
        return np.hstack(parts)

    def category_codes(self, combination: Integers) -> list[Integers]:
        """The level of each categorical outcome."""
        coded: list[Integers] = []
        for kind in reversed(self.categories):
            combination, code = np.divmod(combination, len(kind.levels))
            coded.insert(0, code)
        return coded

    def category_columns(self, combination: Integers) -> dict[str, pa.Array]:
        codes = self.category_codes(combination)
        return {
            name: pa.array(kind.levels, type=pa.string()).take(pa.array(code))
            for name, kind, code in zip(self.category_names, self.categories, codes, strict=True)
        }


def layout_of(
    schema: Schema,
    outcomes: tuple[str, ...],
    weight: str,
    by: tuple[str, ...],
    keep: tuple[str, ...],
    transforms: Mapping[str, Transform],
) -> Layout:
    """Raises where the schema cannot carry the plan."""
    names = tuple(name for name in outcomes if isinstance(schema[name].kind, Categorical))
    for name in names:
        refuse_linked(schema, name)
        if name in (*by, *keep):
            raise UsageError(f"{name}: is named twice; a column is an outcome, the weight or a design variable")
    numbers = tuple(name for name in outcomes if name not in names)
    columns = columns_of(schema, numbers, weight, by, keep, transforms)
    layout = Layout(columns, tuple(schema.categorical(name) for name in names), names)
    if (cells := schema.domain_size(by) * layout.combinations) > _MOST_CELLS:
        raise UsageError(
            f"by: its levels, with those of the categorical outcomes, make {cells:,} cells, more than {_MOST_CELLS:,}; "
            "move a variable to keep, or give it fewer levels"
        )
    return layout


@dataclass(frozen=True, eq=False)
class SurveySample:
    """Numbers and cell of the model of every record; `frame` is the public part."""

    z: Floats
    cell: Integers
    cells: int
    frame: Frame


def read_sample(data: Confidential, layout: Layout) -> SurveySample:
    """One pass over the file."""
    columns = layout.columns
    if not layout.categories:
        rows = read_survey(data, columns)
        return SurveySample(rows.z, rows.cell, rows.frame.cells, rows.frame)
    by = len(columns.by)
    private = len(layout.categories)
    wide = Columns(columns.measures, (*columns.by, *layout.category_names), columns.keep, columns.schema)
    rows = read_survey(data, wide)
    levels = np.delete(rows.frame.levels, np.s_[by : by + private], axis=1)
    public, place = np.unique(levels, axis=0, return_inverse=True)
    counts = rowwise.sums(place.reshape(-1), rows.frame.counts, len(public))
    frame = frame_of(public, counts, by)
    combination = np.zeros(len(levels), dtype=np.int64)
    for at, kind in enumerate(layout.categories):
        combination = combination * len(kind.levels) + rows.frame.levels[:, by + at]
    own = frame.cell[place.reshape(-1)] * layout.combinations + combination
    # Rows of the wide frame with the same cell of `by` and categories have the same cell of the model.
    cell_of = np.zeros(rows.frame.cells, dtype=np.int64)
    cell_of[rows.frame.cell] = own
    return SurveySample(rows.z, cell_of[rows.cell], frame.cells * layout.combinations, frame)
