"""The run itself: every statistic that is read from confidential rows, group by group and variable by variable."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from math import prod

import numpy as np
from numpy.typing import NDArray

from tacita.data.gathered import Here
from tacita.noise.discrete import add_discrete_laplace
from tacita.noise.entropy import Entropy
from tacita.synthesis.pinned.measuring import Pinning
from tacita.synthesis.quantile.budget import enough_for_a_group
from tacita.synthesis.quantile.counting import Inside, measure_shares, pooled
from tacita.synthesis.quantile.model import Columns, Fitted, Group, ReleasedGroups, draw, even_draws, in_groups
from tacita.synthesis.quantile.number import measure_number
from tacita.synthesis.quantile.variables import Column, Variable
from tacita.synthesis.quantile.weighted import Weighing

_DRAFT = (2_000, 20_000)


@dataclass(frozen=True)
class Costs:
    """What each step may spend, calibrated for one record added or removed."""

    counts: Fraction
    variables: Mapping[str, Fraction]
    stays: bool = False
    """Whether a record is replaced, and stays in its group."""

    @property
    def all_variables(self) -> Fraction:
        return sum(self.variables.values(), Fraction(0))

    def less(self, amount: Fraction) -> Costs:
        """The same with so much less for variables, each in proportion."""
        left = 1 - amount / self.all_variables
        return replace(self, variables={name: one * left for name, one in self.variables.items()})


def measure(
    columns: Columns,
    variables: tuple[Variable, ...],
    groups: tuple[Column, ...],
    costs: Costs,
    records: int | None,
    kept: Columns | None,
    weighing: Weighing | None,
    entropy: Entropy,
) -> ReleasedGroups:
    """What is released. `records` is the number of records where it is public; `kept` the public columns."""
    names = tuple(one.name for one in groups)
    levels = tuple(len(one.kind.levels) for one in groups)  # type: ignore[union-attr]
    counts = _group_counts(columns, names, levels, costs.counts, records, kept, entropy)
    each = Fraction(0) if weighing is None else weighing.each(costs.all_variables, int(counts.sum(dtype=np.int64)))
    pins = {}
    if weighing is not None and each:
        pinning = Pinning(1, weighing.replaced, weighing.schema)
        pins = pinning.measure_all(Here(columns), weighing.amounts, weighing.budget(each), entropy)
        costs = costs.less(weighing.all(each))
    together = pooled(counts, enough_for_a_group(min(costs.variables.values())), len(names) > 0)
    found: list[Group] = []
    for codes in together:
        members = tuple(tuple(int(one) for one in np.unravel_index(code, levels)) if levels else () for code in codes)
        inside = in_groups(columns, names, members)
        here = {name: values[inside] for name, values in columns.items()}
        public = None if kept is None else _restricted(kept, names, members)
        sizes = tuple(int(counts[code]) for code in codes)
        label = "" if not names else f"group {len(found) + 1}: "
        found.append(Group(members, sizes, _group(here, variables, costs, sum(sizes), public, entropy, label)))
    return ReleasedGroups(tuple(found), kept, pins)


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
        inside = Inside(columns, draft, found, variable, records, record, entropy, label + variable.name, costs.stays)
        found[variable.name] = _variable(inside, costs.variables[variable.name])
        pair = draws[:, [place, len(variables) + place]]
        draft[variable.name] = draw(variable, found, draft, pair, None)
    return found


def _variable(inside: Inside, epsilon: Fraction) -> Fitted:
    kind = inside.variable.column.kind
    if inside.variable.column.is_number:
        return measure_number(inside, epsilon)
    values = inside.columns[inside.variable.name]
    return Fitted(measure_shares(inside, values, len(kind.levels), epsilon, inside.label))  # type: ignore[union-attr]
