"""Synthetic records of a survey: as many as were collected in each public cell, with numbers on the modelled scale."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tacita.data.schema import Schema
from tacita.synthesis.survey.columns import Columns, Floats, Frame
from tacita.synthesis.survey.shape import shaped

Square = NDArray[np.float64]


def cells_of(frame: Frame) -> NDArray[np.int64]:
    """The cell of every record, in the order of the frame."""
    return np.repeat(frame.cell, frame.counts)


def exact_records(frame: Frame, sums: Floats, within: Square, quantiles: Floats, random: np.random.Generator) -> Floats:
    """Records with exactly these sums in every cell and exactly these cross-products about the cells' means.

    They are normal, or have the shape that quantiles tell.
    """
    cell = cells_of(frame)
    scale = np.sqrt(within.diagonal())
    root = np.linalg.cholesky(within / np.outer(scale, scale))
    drawn = shaped(random.standard_normal((cell.size, sums.shape[1])) @ root.T, quantiles)
    totals = np.stack([np.bincount(cell, weights=one) for one in drawn.T], axis=1)
    left = drawn - (totals / frame.sizes[:, None])[cell]
    turn = np.linalg.solve(np.linalg.cholesky(left.T @ left).T, np.linalg.cholesky(within).T)
    return np.asarray((sums / frame.sizes[:, None])[cell] + left @ turn)


def normal_records(frame: Frame, means: Floats, covariance: Square, random: np.random.Generator) -> Floats:
    """Independent normal records with these means in the cells."""
    cell = cells_of(frame)
    drawn = random.standard_normal((cell.size, means.shape[1]))
    return np.asarray(means[cell] + drawn @ np.linalg.cholesky(covariance).T)


def smoothed(z: Floats, means: Floats, covariance: Square) -> Floats:
    """z with the log weight (the last column) replaced by the logarithm of its mean given the outcomes.

    `means` has one row per record. What the weights vary beyond the outcomes is noise to every estimate made with them.
    """
    slope = np.linalg.solve(covariance[:-1, :-1], covariance[:-1, -1])
    left = covariance[-1, -1] - covariance[-1, :-1] @ slope
    expected = means[:, -1] + (z[:, :-1] - means[:, :-1]) @ slope
    return np.column_stack([z[:, :-1], expected + left / 2])


def as_table(values: Floats, frame: Frame, columns: Columns, schema: Schema) -> pa.Table:
    """Records as published: design variables as collected, numbers within their bounds."""
    found: dict[str, pa.Array] = {}
    for at, name in enumerate(columns.design):
        levels = pa.array(schema.levels(name), type=pa.string())
        found[name] = levels.take(pa.array(np.repeat(frame.levels[:, at], frame.counts)))
    for at, one in enumerate(columns.measures):
        found[one.name] = one.column(values[:, at])
    return pa.table(found)
