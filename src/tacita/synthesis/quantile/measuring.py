"""The run itself: every statistic that is read from confidential rows, group by group and variable by variable."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from math import ceil, prod

import numpy as np
from numpy.typing import NDArray

from tacita.data.schema import Integer, Numeric
from tacita.noise.discrete import add_discrete_laplace
from tacita.noise.entropy import Entropy
from tacita.synthesis.quantile.budget import (
    ABUNDANT,
    CELLS,
    CONNECTED,
    COUNTED,
    ENOUGH,
    LOOK,
    MASSES,
    OWN,
    SCALED,
    SPIKES,
    Levels,
    conditional_levels,
    marginal_levels,
)
from tacita.synthesis.quantile.design import Design
from tacita.synthesis.quantile.fitting import fit_conditional, fit_marginal
from tacita.synthesis.quantile.model import (
    Columns,
    Fitted,
    Group,
    Part,
    cell_numbers,
    draw,
    even_draws,
    in_groups,
    predictors_of,
)
from tacita.synthesis.quantile.numeric import Marginal, Noise, NumericModel
from tacita.synthesis.quantile.own import Own
from tacita.synthesis.quantile.owning import held_to_one, look, masses_of, measure_ranks, quantiles
from tacita.synthesis.quantile.sharing import Shares, cells_for
from tacita.synthesis.quantile.ties import spread_within_step
from tacita.synthesis.quantile.variables import Column, Range, Variable

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

_SMALL = 20  # groups with fewer than this many records per 1/ε share a model
_MINOR = 0.25  # of the records at point masses: with more, the rest is no reason to leave scores
_DRAFT = (2_000, 20_000)


@dataclass(frozen=True)
class Costs:
    """What each step may spend, calibrated for one record added or removed."""

    counts: Fraction
    variables: Mapping[str, Fraction]


def measure(
    columns: Columns,
    variables: tuple[Variable, ...],
    groups: tuple[Column, ...],
    costs: Costs,
    records: int | None,
    kept: Columns | None,
    entropy: Entropy,
) -> tuple[Group, ...]:
    """The released groups. `records` is the number of records where it is public; `kept` the public columns."""
    names = tuple(one.name for one in groups)
    levels = tuple(len(one.kind.levels) for one in groups)  # type: ignore[union-attr]
    counts = _group_counts(columns, names, levels, costs.counts, records, kept, entropy)
    pooled = _pooled(counts, min(costs.variables.values()), len(names) > 0)
    found: list[Group] = []
    for codes in pooled:
        members = tuple(tuple(int(one) for one in np.unravel_index(code, levels)) if levels else () for code in codes)
        inside = in_groups(columns, names, members)
        here = {name: values[inside] for name, values in columns.items()}
        public = None if kept is None else _restricted(kept, names, members)
        sizes = tuple(int(counts[code]) for code in codes)
        label = "" if not names else f"group {len(found) + 1}: "
        found.append(Group(members, sizes, _group(here, variables, costs, sum(sizes), public, entropy, label)))
    return tuple(found)


def _restricted(kept: Columns, names: tuple[str, ...], members: tuple[tuple[int, ...], ...]) -> Columns:
    inside = in_groups(kept, names, members)
    return {name: values[inside] for name, values in kept.items()}


def _group_counts(
    columns: Columns,
    names: tuple[str, ...],
    levels: tuple[int, ...],
    epsilon: Fraction,
    records: int | None,
    kept: Columns | None,
    entropy: Entropy,
) -> NDArray[np.int64]:
    """Records per group: public ones as they are, others with discrete Laplace noise."""
    source = columns if kept is None else kept
    if not names:
        exact = np.array([len(next(iter(source.values())))], dtype=np.int64)
    else:
        joined = np.ravel_multi_index([source[name].astype(np.int64) for name in names], levels)
        exact = np.bincount(joined, minlength=prod(levels)).astype(np.int64)
    if kept is not None:
        return exact
    if epsilon:
        noisy = add_discrete_laplace(exact, 1 / epsilon, entropy, "records per group")
        return np.asarray(np.maximum(noisy, 0))
    assert records is not None
    return np.array([records], dtype=np.int64)


def _pooled(counts: NDArray[np.int64], epsilon: Fraction, several: bool) -> list[list[int]]:
    """Groups that can carry a model of their own, and the small ones together. Only released counts are looked at."""
    if not several:
        return [[0]]
    enough = ceil(_SMALL / epsilon)
    found = [[code] for code in np.flatnonzero(counts >= enough).tolist()]
    small = np.flatnonzero((counts > 0) & (counts < enough)).tolist()
    if small:
        found.append(small)
    return found or [list(range(counts.size))]


def _group(
    columns: Columns,
    variables: tuple[Variable, ...],
    costs: Costs,
    records: int,
    public: Columns | None,
    entropy: Entropy,
    label: str,
) -> dict[str, Fitted]:
    """Each variable in turn, and a released draft of the file so far, by which the next one's cells are chosen."""
    rows = min(max(records, _DRAFT[0]), _DRAFT[1])
    random = np.random.default_rng(0)
    draft: Columns = {}
    if public is not None and len(next(iter(public.values()))):
        chosen = np.arange(rows) % len(next(iter(public.values())))
        draft = {name: values[chosen] for name, values in public.items()}
    draws = even_draws(rows, 2 * len(variables), random)
    # Everything that any step looks at: records that differ in a kept column must not trade their parts of a step.
    record = np.column_stack(list(columns.values()))
    found: dict[str, Fitted] = {}
    for place, variable in enumerate(variables):
        fitted = _variable(
            columns,
            draft,
            found,
            variable,
            costs.variables[variable.name],
            records,
            record,
            entropy,
            label + variable.name,
        )
        found[variable.name] = fitted
        pair = draws[:, [place, len(variables) + place]]
        draft[variable.name] = draw(variable, found, draft, pair, None)
    return found


def _variable(
    columns: Columns,
    draft: Columns,
    models: dict[str, Fitted],
    variable: Variable,
    epsilon: Fraction,
    records: int,
    record: Floats,
    entropy: Entropy,
    label: str,
) -> Fitted:
    rows, draft_rows = len(record), len(next(iter(draft.values()))) if draft else 0
    numbers, codes = predictors_of(variable, models, columns, rows)
    released, _ = predictors_of(variable, models, draft, draft_rows)
    released = _without_grain(released, draft, variable.numbers)
    values = columns[variable.name]
    if not variable.column.is_number:
        outcomes = len(variable.column.kind.levels)  # type: ignore[union-attr]
        shares = _shares(values, outcomes, numbers, codes, released, variable, epsilon, records, entropy, label)
        return Fitted(shares)
    column, tail = variable.column, variable.tail
    masses: tuple[tuple[float, float], ...] = tuple((spike, 0.0) for spike in variable.spikes)
    if not masses:
        paid = min(epsilon * COUNTED, Fraction(ENOUGH, 1 << records.bit_length()))
        masses = masses_of(values, column, paid, records, entropy, f"{label}, values")
        epsilon -= paid
    worth = records * epsilon
    large = worth >= SCALED * prod(variable.levels)
    apart = bool(variable.spikes) or (large and variable.has_predictors and sum(share for _, share in masses) < _MINOR)
    at_mass, spikes, left = np.isin(values, [value for value, _ in masses]), None, records
    if masses and apart:
        outcome = np.full(rows, len(masses))
        for place, (value, _) in enumerate(masses):
            outcome[values == value] = place
        paid = epsilon * SPIKES
        spikes = _shares(
            outcome.astype(np.float64),
            len(masses) + 1,
            numbers,
            codes,
            released,
            variable,
            paid,
            records,
            entropy,
            f"{label}, point masses",
        )
        epsilon -= paid
        counts = np.maximum(spikes.counts.sum(axis=0, dtype=np.int64), 0)
        shares = counts / max(int(counts.sum(dtype=np.int64)), 1)
        masses = held_to_one(
            tuple((value, share) for (value, _), share in zip(masses, shares[:-1].tolist(), strict=True))
        )
        left = int(counts[-1])
    else:
        left = int(records * (1 - sum(share for _, share in masses)))
    free = ~at_mass if spikes is not None else np.ones(rows, dtype=np.bool_)
    spread = spread_within_step(values, column.step, record, entropy, label)
    own = None
    if large and variable.has_predictors and (apart or not masses) and worth < ABUNDANT:
        paid = epsilon * LOOK
        own = look(spread[~at_mass], column, tail, paid, left, entropy, f"{label}, look")
        epsilon -= paid
    if own is None or own.has_long_tail:
        paid = epsilon * OWN if worth >= CONNECTED and variable.has_predictors else epsilon
        epsilon -= paid
        if masses and not apart:
            # Noise may have made a point mass where none is; it does not do so twice.
            again = dict(masses_of(values, column, paid * MASSES, records, entropy, f"{label}, point masses"))
            masses = tuple((value, again[value]) for value, _ in masses if value in again)
            at_mass = np.isin(values, [value for value, _ in masses])
            left = int(records * (1 - sum(share for _, share in masses)))
            paid -= paid * MASSES
        curve, noise = quantiles(spread[~at_mass], column, tail, paid, left, entropy, f"{label}, own")
        many = sum(share for _, share in masses) >= _MINOR and not apart
        own = Own(column, curve, noise, ranked=True, scored=not large or many)
    own = replace(own, masses=masses, apart=spikes is not None)
    if own.ranked and not own.scored:
        own = replace(own, scored=own.has_long_tail)
    if not epsilon:
        return Fitted(spikes, (), own)
    varying = bool(variable.numbers) and bool(np.ptp(released, axis=0).any() if len(released) else False)
    for_cells = epsilon if not own.scored or not varying else epsilon * CELLS if variable.levels else Fraction(0)
    parts, middle = [], np.zeros(rows)
    response = own.response(spread)
    cell, draft_cell = cell_numbers(variable, columns, rows), cell_numbers(variable, draft, draft_rows)
    sizes = np.bincount(draft_cell, minlength=prod(variable.levels)) if variable.levels else np.array([draft_rows or 1])
    expected = np.rint(float(left) * sizes / max(sizes.sum(), 1)).astype(np.int64)
    for cells in _pooled(expected, for_cells, bool(variable.levels)) if for_cells else []:
        inside: Flags = free & np.isin(cell, cells) if variable.levels else free
        known = released[np.isin(draft_cell, cells)] if variable.levels else released
        if own.scored:
            known = known[:, :0]
        size = int(expected[cells].sum())
        model, noise = _number(response[inside], numbers[inside], known, own.range, for_cells, size, entropy, label)
        parts.append(Part(tuple(cells) if variable.levels else (), model, noise))
        if isinstance(model, Marginal):
            middle[inside] = model.middle
    if for_cells == epsilon:
        return Fitted(spikes, tuple(parts), own)
    # Within cells of categorical predictors, scores are counted from their middle.
    response = own.score(values)[free] - middle[free]
    numbers, _ = predictors_of(variable, models, columns, rows, scores=True)
    released, _ = predictors_of(variable, models, draft, draft_rows, scores=True)
    scored = [one.name in models for one in variable.numbers]
    labels = [f"{label}, ranks with {one.name}" for one in variable.numbers]
    ranks = measure_ranks(response, numbers[free], released, scored, epsilon - for_cells, int(left), entropy, labels)
    return Fitted(spikes, tuple(parts), own, ranks)


def _number(
    y: Floats,
    numbers: Floats,
    released: Floats,
    bounds: Range,
    epsilon: Fraction,
    records: int,
    entropy: Entropy,
    label: str,
) -> tuple[NumericModel, Noise]:
    design = Design.of(released) if released.shape[1] and len(released) else None
    if design is None or design.directions == 0:
        levels = marginal_levels(epsilon, records)
        model: NumericModel = fit_marginal(y, bounds, levels.halvings, entropy, label)
    else:
        levels = conditional_levels(epsilon, records)
        model = fit_conditional(
            y, numbers, design, bounds, levels.plane, levels.scale, levels.halvings, entropy, label, records=records
        )
    return model, _noise(levels, records)


def _without_grain(released: Floats, draft: Columns, columns: tuple[Column, ...]) -> Floats:
    """Released predictors, made constant where they differ by one step of a long scale only: that is the rounding of
    a predictor that does not vary, and no direction to fit a plane along.
    """
    without = released.copy()
    for k, one in enumerate(columns):
        assert isinstance(one.kind, Integer | Numeric)
        if len(without) and one.kind.upper - one.kind.lower > 100 * one.step:
            low, high = np.quantile(draft[one.name], (0.01, 0.99))
            if high - low < 1.5 * one.step:
                without[:, k] = np.median(without[:, k])
    return without


def _noise(levels: Levels, records: int) -> Noise:
    return Noise(float(records), float(levels.plane), float(levels.scale), tuple(float(e) for e in levels.halvings))


def _shares(
    values: Floats,
    outcomes: int,
    numbers: Floats,
    codes: NDArray[np.int64],
    released: Floats,
    variable: Variable,
    epsilon: Fraction,
    records: int,
    entropy: Entropy,
    label: str,
) -> Shares:
    cells = cells_for(released, variable.levels, outcomes, records, float(epsilon))
    at = cells.of(numbers, codes) * outcomes + values.astype(np.int64)
    counts = np.bincount(at, minlength=cells.size * outcomes).reshape(cells.size, outcomes).astype(np.int64)
    return Shares(cells, add_discrete_laplace(counts, 1 / epsilon, entropy, label), float(epsilon))
