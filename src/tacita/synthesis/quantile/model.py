"""The released model and the synthetic files drawn from it. Post-processing only: no confidential row comes here."""

from __future__ import annotations

import io
import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from scipy.stats import qmc

from tacita.data.schema import Categorical, Schema
from tacita.errors import UsageError, VerificationError
from tacita.implicates import Implicates
from tacita.synthesis.quantile import numeric
from tacita.synthesis.quantile.numeric import Noise, NumericModel
from tacita.synthesis.quantile.sharing import Shares
from tacita.synthesis.quantile.variables import Variable

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Columns = dict[str, Floats]

_FORM = "quantile-model-1"
_META = b"tacita"


@dataclass(frozen=True, eq=False)
class Part:
    """The numeric model of the records with certain levels of the categorical predictors (all where empty)."""

    cells: tuple[int, ...]
    model: NumericModel
    noise: Noise


@dataclass(frozen=True, eq=False)
class Fitted:
    """The released model of one variable within one group."""

    shares: Shares | None = None
    parts: tuple[Part, ...] = ()


@dataclass(frozen=True, eq=False)
class Group:
    """Groups with one model (one group, or small ones together), and how many records each noisily has."""

    codes: tuple[tuple[int, ...], ...]
    records: tuple[int, ...]
    fitted: dict[str, Fitted]


def cell_numbers(variable: Variable, columns: Columns, rows: int) -> Integers:
    """Which combination of levels of the categorical predictors each row has."""
    found = np.zeros(rows, dtype=np.int64)
    for one, size in zip(variable.codes, variable.levels, strict=True):
        found = found * size + columns[one.name].astype(np.int64)
    return found


def predictors_of(variable: Variable, columns: Columns, rows: int) -> tuple[Floats, Integers]:
    """Numeric predictors on their modelling scale, and codes."""
    numbers = [one.modelled(columns[one.name]) for one in variable.numbers]
    codes = [columns[one.name].astype(np.int64) for one in variable.codes]
    return (
        np.column_stack(numbers) if numbers else np.zeros((rows, 0)),
        np.column_stack(codes) if codes else np.zeros((rows, 0), dtype=np.int64),
    )


def draw(variable: Variable, fitted: Fitted, columns: Columns, u: Floats, random: np.random.Generator | None) -> Floats:
    """Values of one variable given those before it. With a generator, the noise of the model is drawn as well."""
    rows = len(u)
    numbers, codes = predictors_of(variable, columns, rows)
    outcome = np.full(rows, len(variable.spikes), dtype=np.int64)
    if fitted.shares is not None:
        outcome = fitted.shares.draw(u[:, 1], numbers, codes, fitted.shares.table(random))
        if not variable.column.is_number:
            return outcome.astype(np.float64)
    found = np.zeros(rows)
    for place, spike in enumerate(variable.spikes):
        found[outcome == place] = spike
    free = outcome == len(variable.spikes)
    cell = cell_numbers(variable, columns, rows)
    for part in fitted.parts:
        here = free & (np.isin(cell, part.cells) if part.cells else True)
        if not here.any():
            continue
        model = part.model if random is None else part.model.redrawn(part.noise, numbers[here], random)
        found[here] = variable.column.published(model.draw(u[here, 0], numbers[here]))
    return found


def even_draws(rows: int, width: int, random: np.random.Generator) -> Floats:
    """Numbers in (0, 1) spread evenly over all their dimensions: the file adds little sampling error of its own."""
    power = max(rows - 1, 1).bit_length()
    spread = qmc.Sobol(width, scramble=True, rng=random).random_base2(power)
    return np.asarray(np.clip(spread[:rows], 1e-9, 1 - 1e-9))


def loose_draws(rows: int, width: int, random: np.random.Generator) -> Floats:
    """Numbers in (0, 1), even in each dimension and at random between them (a Latin hypercube).

    Released quantiles say how each variable is spread, so that much is the same in every file. How variables go
    together beyond the plane is left open by the release, and files that are combined must show it.
    """
    order = random.permuted(np.tile(np.arange(rows, dtype=np.float64), (width, 1)), axis=1).T
    return np.asarray(np.clip((order + random.random((rows, width))) / rows, 1e-9, 1 - 1e-9))


def synthesize(
    variables: tuple[Variable, ...],
    fitted: Mapping[str, Fitted],
    start: Columns,
    rows: int,
    random: np.random.Generator,
    noisy: bool,
) -> Columns:
    """Rows of one group: `start` holds what is known of them, each variable is drawn in turn."""
    columns = dict(start)
    u = (loose_draws if noisy else even_draws)(rows, 2 * len(variables), random)
    for place, variable in enumerate(variables):
        pair = u[:, [place, len(variables) + place]]
        columns[variable.name] = draw(variable, fitted[variable.name], columns, pair, random if noisy else None)
    return columns


def in_groups(columns: Columns, names: tuple[str, ...], codes: tuple[tuple[int, ...], ...]) -> NDArray[np.bool_]:
    """Which rows have one of these combinations of group codes."""
    rows = len(next(iter(columns.values())))
    if not names:
        return np.ones(rows, dtype=np.bool_)
    sizes = [1 + max(int(columns[name].max(initial=0)), max(one[k] for one in codes)) for k, name in enumerate(names)]
    return np.isin(_joined([columns[name] for name in names], sizes), _joined(np.array(codes).T, sizes))


def _joined(codes: Any, sizes: list[int]) -> Integers:
    found = np.zeros(len(codes[0]), dtype=np.int64)
    for one, size in zip(codes, sizes, strict=True):
        found = found * size + np.asarray(one, dtype=np.int64)
    return found


@dataclass(frozen=True, eq=False)
class QuantileModel:
    """What the ledger keeps and a bundle publishes: released numbers, from which any number of files can be drawn.

    `implicates` are the files of the release, the same ones each time. `sample` draws others; both are free.
    """

    schema: Schema
    variables: tuple[Variable, ...]
    group_columns: tuple[str, ...]
    groups: tuple[Group, ...]
    kept: Columns | None
    rows: int | None
    sets: int
    seed: int
    plan: Mapping[str, Any]
    rehearsal: bool

    @cached_property
    def implicates(self) -> Implicates:
        return self.sample(self.sets, seed=self.seed)

    def sample(self, m: int = 1, *, seed: int | None = None, rows: int | None = None) -> Implicates:
        """m synthetic files.

        A single file follows the released numbers as they stand. With m > 1 each file also draws how the numbers
        may have been without the noise, so that the files differ by what the noise leaves open and
        `combine(files, analysis)` gives honest intervals.
        """
        if isinstance(m, bool) or not isinstance(m, int) or m < 1:
            raise UsageError("m: give the number of files, at least 1")
        if rows is not None and (isinstance(rows, bool) or not isinstance(rows, int) or rows < 1):
            raise UsageError("rows: must be a whole number of at least 1")
        if rows is not None and self.kept is not None:
            raise UsageError("rows: the files keep the public columns of the collected rows; leave rows out")
        source = np.random.default_rng(self.seed if seed is None else seed)
        frames = tuple(self._file(one, rows or self.rows, noisy=m > 1) for one in source.spawn(m))
        drawn = (*(() if self.kept is not None else self.group_columns), *(one.name for one in self.variables))
        return Implicates(frames, self.schema, drawn, "one-measurement")

    def _file(self, random: np.random.Generator, rows: int | None, *, noisy: bool) -> pa.Table:
        if self.kept is not None:
            starts = [self._kept_rows(group) for group in self.groups]
        else:
            starts = [self._group_rows(*one) for one in zip(self.groups, self._sizes(rows), strict=True)]
        pieces = [
            synthesize(self.variables, group.fitted, start, count, random, noisy)
            for group, (start, count) in zip(self.groups, starts, strict=True)
            if count
        ]
        columns = {name: np.concatenate([piece[name] for piece in pieces]) for name in pieces[0]}
        order = random.permutation(len(columns[self.variables[0].name]))
        return pa.table({name: self._stored(name, values[order]) for name, values in columns.items()})

    def _stored(self, name: str, values: Floats) -> pa.Array:
        kind = self.schema[name].kind
        if isinstance(kind, Categorical):
            return pa.array(np.array(kind.levels, dtype=object)[values.astype(np.int64)], type=pa.string())
        return pa.array(values.astype(np.int64) if type(kind).__name__ == "Integer" else values)

    def _sizes(self, rows: int | None) -> list[Integers]:
        """Rows of each group: as measured, or the public total shared out in proportion."""
        measured = [np.array(group.records, dtype=np.float64) for group in self.groups]
        flat = np.concatenate(measured)
        if rows is None and flat.sum() > 0:
            return [one.astype(np.int64) for one in measured]
        # The noise may say that nobody is there. A file has at least one row, so that what was paid for can be used.
        rows = rows or 1
        if flat.sum() <= 0:
            flat = np.ones(flat.size)
        exact = flat / flat.sum() * rows
        whole = np.floor(exact).astype(np.int64)
        short = rows - int(whole.sum())
        whole[np.argsort(whole - exact, kind="stable")[:short]] += 1
        return np.split(whole, np.cumsum([one.size for one in measured])[:-1])

    def _group_rows(self, group: Group, count: Integers) -> tuple[Columns, int]:
        codes = np.repeat(np.array(group.codes, dtype=np.int64).reshape(len(group.codes), -1), count, axis=0)
        return {name: codes[:, k].astype(np.float64) for k, name in enumerate(self.group_columns)}, int(count.sum())

    def _kept_rows(self, group: Group) -> tuple[Columns, int]:
        """The public part of the rows of a group, as collected."""
        assert self.kept is not None
        inside = in_groups(self.kept, self.group_columns, group.codes)
        return {name: values[inside] for name, values in self.kept.items()}, int(inside.sum())

    # ------------------------------------------------------------ stored as plain JSON

    @property
    def measured(self) -> dict[str, Any]:
        """The released numbers."""
        return {
            "groups": [
                {
                    "codes": [list(one) for one in group.codes],
                    "records": list(group.records),
                    "variables": {name: _fitted_to_dict(one) for name, one in group.fitted.items()},
                }
                for group in self.groups
            ]
        }

    def to_bytes(self) -> bytes:
        """Arrow: the public rows that were kept, if any, with the model as JSON in the metadata. Never a pickle."""
        stored = {"form": _FORM, "plan": dict(self.plan), "schema": self.schema.to_dict(), "seed": self.seed}
        stored |= {"rehearsal": self.rehearsal, "kept": self.kept is not None, **self.measured}
        meta = {_META: json.dumps(stored, sort_keys=True, separators=(",", ":")).encode()}
        table = pa.table({name: pa.array(values) for name, values in (self.kept or {}).items()})
        sink = io.BytesIO()
        with pa.ipc.new_stream(sink, table.replace_schema_metadata(meta).schema) as writer:
            writer.write_table(table.replace_schema_metadata(meta))
        return sink.getvalue()


def unpacked(stored: bytes) -> tuple[dict[str, Any], Columns | None]:
    """What `to_bytes` stored: the JSON part and the kept columns."""
    table = pa.ipc.open_stream(io.BytesIO(stored)).read_all()
    raw = (table.schema.metadata or {}).get(_META)
    content = {} if raw is None else json.loads(raw)
    if content.get("form") != _FORM:
        raise VerificationError("a stored result is not one that Tacita wrote; restore the ledger from its backup")
    kept = {name: table[name].to_numpy() for name in table.column_names} if content["kept"] else None
    return content, kept


def groups_from(stored: Mapping[str, Any]) -> tuple[Group, ...]:
    return tuple(
        Group(
            tuple(tuple(one) for one in group["codes"]),
            tuple(group["records"]),
            {name: _fitted_from_dict(one) for name, one in group["variables"].items()},
        )
        for group in stored["groups"]
    )


def _fitted_to_dict(fitted: Fitted) -> dict[str, Any]:
    return {
        "shares": None if fitted.shares is None else fitted.shares.to_dict(),
        "parts": [
            {
                "cells": list(part.cells),
                "noise": {
                    "records": part.noise.records,
                    "plane": part.noise.plane,
                    "scale": part.noise.scale,
                    "halvings": list(part.noise.halvings),
                },
                "model": numeric.to_dict(part.model),
            }
            for part in fitted.parts
        ],
    }


def _fitted_from_dict(stored: Mapping[str, Any]) -> Fitted:
    parts = tuple(
        Part(
            tuple(part["cells"]),
            numeric.from_dict(part["model"]),
            Noise(**{**part["noise"], "halvings": tuple(part["noise"]["halvings"])}),
        )
        for part in stored["parts"]
    )
    return Fitted(None if stored["shares"] is None else Shares.from_dict(stored["shares"]), parts)
