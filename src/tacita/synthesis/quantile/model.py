"""The released model and the synthetic files drawn from it. Post-processing only: no confidential row comes here."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
from attrs import field, frozen
from numpy.typing import NDArray

from tacita.data import rowwise
from tacita.data.schema import Categorical, Integer, Schema
from tacita.implicates import Implicates
from tacita.synthesis.base import Model
from tacita.synthesis.pinned.measuring import Pin
from tacita.synthesis.quantile import numeric
from tacita.synthesis.quantile.numeric import Noise, NumericModel
from tacita.synthesis.quantile.own import Own, pin_from
from tacita.synthesis.quantile.ranks import Ranks
from tacita.synthesis.quantile.sharing import Shares
from tacita.synthesis.quantile.variables import Column, Variable
from tacita.synthesis.quantile.weighted import Weighing

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Columns = dict[str, Floats]


@frozen(eq=False)
class Part:
    """The numeric model of the records with certain levels of the categorical predictors (all where empty)."""

    cells: tuple[int, ...]
    model: NumericModel
    noise: Noise


@frozen(eq=False)
class Fitted:
    """The released model of one variable within one group."""

    shares: Shares | None = None
    parts: tuple[Part, ...] = ()
    own: Own | None = None
    ranks: Ranks | None = None

    def spikes(self, variable: Variable) -> tuple[float, ...]:
        """The point masses that are drawn apart: declared ones, or those that were found."""
        return variable.spikes if self.own is None else self.own.spikes

    def masses(self, variable: Variable) -> tuple[float, ...]:
        """All point masses, also those that are drawn with the other values."""
        return variable.spikes if self.own is None else tuple(value for value, _ in self.own.masses)


@frozen(eq=False)
class Group:
    """Groups with one model (one group, or small ones together), and how many records each noisily has."""

    codes: tuple[tuple[int, ...], ...]
    records: tuple[int, ...]
    fitted: dict[str, Fitted]


@frozen(eq=False)
class ReleasedGroups:
    """The groups, the public columns of the collected rows where they are published as they are, and weighted totals by
    column where there is a weight."""

    groups: tuple[Group, ...]
    kept: Columns | None
    pins: Mapping[str, Pin] = field(factory=dict)


def cell_numbers(variable: Variable, columns: Columns, rows: int) -> Integers:
    """Which combination of levels of the categorical predictors each row has."""
    return rowwise.cells(rows, (columns[one.name] for one in variable.codes), variable.levels)


def predictors_of(
    variable: Variable, fitted: Mapping[str, Fitted], columns: Columns, rows: int, *, scores: bool = False
) -> tuple[Floats, Integers]:
    """Numeric predictors on the scale on which they enter regressions, or by their scores, and codes."""
    numbers = [_predictor(one, fitted.get(one.name), columns[one.name], scores) for one in variable.numbers]
    codes = [columns[one.name].astype(np.int64) for one in variable.codes]
    return (
        np.column_stack(numbers) if numbers else np.zeros((rows, 0)),
        np.column_stack(codes) if codes else np.zeros((rows, 0), dtype=np.int64),
    )


def _predictor(column: Column, fitted: Fitted | None, values: Floats, scores: bool) -> Floats:
    """Public columns that are kept, and models of earlier versions, have no distribution of their own."""
    if fitted is None or fitted.own is None:
        return column.modelled(values)
    return fitted.own.score(values) if scores else fitted.own.predictor(values)


def draw(
    variable: Variable,
    models: Mapping[str, Fitted],
    columns: Columns,
    u: Floats,
    random: np.random.Generator | None,
) -> Floats:
    """Values of one variable given those before it. With a generator, the noise of the model is drawn as well."""
    fitted = models[variable.name]
    if not variable.column.is_number:
        return _outcomes(variable, fitted, models, columns, u, random).astype(np.float64)
    free, latent = latent_draws(variable, models, columns, u, random)
    if fitted.own is not None:
        own = fitted.own if random is None else fitted.own.redrawn(random)
        latent[free] = own.values(latent[free], u[free, 0])
        latent = fitted.own.held(latent, random)
    else:
        latent[free] = variable.column.published(latent[free])
    return latent


def _outcomes(
    variable: Variable,
    fitted: Fitted,
    models: Mapping[str, Fitted],
    columns: Columns,
    u: Floats,
    random: np.random.Generator | None,
) -> Integers:
    """Levels of a category; of a number, which point mass, or one more where it has none."""
    if fitted.shares is None:
        return np.full(len(u), len(fitted.spikes(variable)), dtype=np.int64)
    numbers, codes = predictors_of(variable, models, columns, len(u))
    return fitted.shares.draw(u[:, 1], numbers, codes, fitted.shares.table(random))


def latent_draws(
    variable: Variable,
    models: Mapping[str, Fitted],
    columns: Columns,
    u: Floats,
    random: np.random.Generator | None,
) -> tuple[NDArray[np.bool_], Floats]:
    """Which rows have no point mass, and what regressions draw for them; elsewhere the point mass itself."""
    rows, fitted = len(u), models[variable.name]
    outcome = _outcomes(variable, fitted, models, columns, u, random)
    latent = u[:, 0].copy()
    spikes = fitted.spikes(variable)
    for place, spike in enumerate(spikes):
        latent[outcome == place] = spike
    free = outcome == len(spikes)
    numbers, _ = predictors_of(variable, models, columns, rows)
    share: Floats | None = u[:, 0]
    if fitted.ranks is not None:
        scores, _ = predictors_of(variable, models, columns, rows, scores=True)
        latent[free] = fitted.ranks.scores(u[free, 0], scores[free], random)
        share = None
    cell = cell_numbers(variable, columns, rows)
    for part in fitted.parts:
        here = free & (np.isin(cell, part.cells) if part.cells else True)
        if here.any():
            model = part.model if random is None else part.model.redrawn(part.noise, numbers[here], random)
            # Quantiles of a cell are those of its own records: by ranks within it, whatever their other numbers are.
            latent[here] = model.draw(_ranks_of(latent[here]) if share is None else share[here], numbers[here])
    return free, latent


def _ranks_of(scores: Floats) -> Floats:
    """The share of the scores below each."""
    ranks = np.empty(scores.size)
    ranks[np.argsort(scores, kind="stable")] = (np.arange(scores.size) + 0.5) / max(scores.size, 1)
    return ranks


def even_draws(rows: int, width: int, random: np.random.Generator) -> Floats:
    """Numbers in (0, 1) spread evenly over all their dimensions: the file adds little sampling error of its own."""
    power = max(rows - 1, 1).bit_length()
    from scipy.stats import qmc  # slow to load, and only files need it, not plans

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
        columns[variable.name] = draw(variable, fitted, columns, pair, random if noisy else None)
    return columns


def in_groups(columns: Columns, names: tuple[str, ...], codes: tuple[tuple[int, ...], ...]) -> NDArray[np.bool_]:
    """Which rows have one of these combinations of group codes."""
    rows = len(next(iter(columns.values())))
    if not names:
        return np.ones(rows, dtype=np.bool_)
    sizes = [1 + max(int(columns[name].max(initial=0)), max(one[k] for one in codes)) for k, name in enumerate(names)]
    here = rowwise.cells(rows, (columns[name] for name in names), sizes)
    return np.isin(here, rowwise.cells(len(codes), np.array(codes).T, sizes))


@frozen(eq=False, repr=False)
class QuantileModel(Model[ReleasedGroups]):
    """Released quantiles and shares, from which any number of files can be drawn."""

    form = "quantile-model-1"

    @cached_property
    def variables(self) -> tuple[Variable, ...]:
        variables: tuple[Variable, ...] = self.plan.variables(self.schema)
        return variables

    @property
    def any_length(self) -> bool:
        """Kept columns are those of the collected rows."""
        return self.released.kept is None

    def files(self, m: int, random: np.random.Generator, rows: int | None) -> Implicates:
        frames = tuple(self._file(one, rows or self.plan.rows, noisy=m > 1) for one in random.spawn(m))
        drawn = self.plan.columns if self.plan.keep else (*self.plan.groups, *self.plan.columns)
        return Implicates(frames, self.schema, drawn, "one-measurement")

    def _file(self, random: np.random.Generator, rows: int | None, *, noisy: bool) -> pa.Table:
        if self.released.kept is not None:
            starts = [self._kept_rows(group) for group in self.released.groups]
        else:
            starts = [self._group_rows(*one) for one in zip(self.released.groups, self._sizes(rows), strict=True)]
        pieces = [
            synthesize(self.variables, group.fitted, start, count, random, noisy)
            for group, (start, count) in zip(self.released.groups, starts, strict=True)
            if count
        ]
        columns = self._held(
            {name: np.concatenate([piece[name] for piece in pieces]) for name in pieces[0]}, random if noisy else None
        )
        order = random.permutation(len(columns[self.variables[0].name]))
        return pa.table({name: self._published(name, values[order]) for name, values in columns.items()})

    def _held(self, columns: Columns, random: np.random.Generator | None) -> Columns:
        """Columns that add up as measured, each value times its weight."""
        weighing: Weighing | None = self.plan.weighing(self.schema)
        if not self.released.pins or weighing is None:
            return columns
        groups = self.released.groups
        masses = {
            one.name: {mass for group in groups for mass in group.fitted[one.name].masses(one)}
            for one in self.variables
        }
        records = sum(sum(group.records) for group in groups)
        return columns | weighing.held(columns, masses, self.released.pins, records, random)

    def _published(self, name: str, values: Floats) -> pa.Array:
        kind = self.schema[name].kind
        if isinstance(kind, Categorical):
            return pa.array(np.array(kind.levels, dtype=object)[values.astype(np.int64)], type=pa.string())
        return pa.array(values.astype(np.int64) if isinstance(kind, Integer) else values)

    def _sizes(self, rows: int | None) -> list[Integers]:
        """Rows of each group: as measured, or the public total shared out in proportion."""
        measured = [np.array(group.records, dtype=np.float64) for group in self.released.groups]
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
        return {name: codes[:, k].astype(np.float64) for k, name in enumerate(self.plan.groups)}, int(count.sum())

    def _kept_rows(self, group: Group) -> tuple[Columns, int]:
        """The public part of the rows of a group, as collected."""
        assert self.released.kept is not None
        inside = in_groups(self.released.kept, self.plan.groups, group.codes)
        return {name: values[inside] for name, values in self.released.kept.items()}, int(inside.sum())

    # ------------------------------------------------------------ stored

    @property
    def measured(self) -> dict[str, Any]:
        """The released numbers."""
        totals = {name: asdict(pin) for name, pin in self.released.pins.items()}
        return {
            "groups": [
                {
                    "codes": [list(one) for one in group.codes],
                    "records": list(group.records),
                    "variables": {name: _fitted_to_dict(one) for name, one in group.fitted.items()},
                }
                for group in self.released.groups
            ],
            **({"weighted totals": totals} if totals else {}),
        }

    def stored(self) -> tuple[Mapping[str, Any], pa.Table]:
        """The public rows that were kept, if any, as a table."""
        kept = self.released.kept
        table = pa.table({name: pa.array(values) for name, values in (kept or {}).items()})
        return {"kept": kept is not None, **self.measured}, table

    @classmethod
    def released_from(cls, content: Mapping[str, Any], table: pa.Table, plan: Any, schema: Schema) -> ReleasedGroups:
        variables: tuple[Variable, ...] = plan.variables(schema)
        groups = tuple(
            Group(
                tuple(tuple(one) for one in group["codes"]),
                tuple(group["records"]),
                {one.name: _fitted_from_dict(one.column, group["variables"][one.name]) for one in variables},
            )
            for group in content["groups"]
        )
        kept = {name: table[name].to_numpy() for name in table.column_names} if content["kept"] else None
        stored = content.get("weighted totals", {})
        return ReleasedGroups(groups, kept, {name: pin_from(one) for name, one in stored.items()})


def _fitted_to_dict(fitted: Fitted) -> dict[str, Any]:
    return {
        "shares": None if fitted.shares is None else fitted.shares.to_dict(),
        **({} if fitted.own is None else {"own": fitted.own.to_dict()}),
        **({} if fitted.ranks is None else {"ranks": fitted.ranks.to_dict()}),
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


def _fitted_from_dict(column: Column, stored: Mapping[str, Any]) -> Fitted:
    parts = tuple(
        Part(
            tuple(part["cells"]),
            numeric.from_dict(part["model"]),
            Noise(**{**part["noise"], "halvings": tuple(part["noise"]["halvings"])}),
        )
        for part in stored["parts"]
    )
    shares = None if stored["shares"] is None else Shares.from_dict(stored["shares"])
    own = Own.from_dict(column, stored["own"]) if "own" in stored else None
    ranks = Ranks.from_dict(stored["ranks"]) if "ranks" in stored else None
    return Fitted(shares, parts, own, ranks)
