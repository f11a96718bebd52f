"""`QuantileSynthesis`: the plan, known in full before any data."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from fractions import Fraction
from typing import Any, get_args

import numpy as np

from tacita.data.confidential import Confidential
from tacita.data.reading import read
from tacita.data.schema import Categorical, Schema
from tacita.errors import UsageError
from tacita.noise.entropy import Entropy, Request
from tacita.plan import ONE_ROW, Forecast, Rehearsable
from tacita.plan.how import FREE, SIZE, How, as_collected
from tacita.privacy import AddRemoveOne, Guarantee, Loss, Number, ReplaceOne, exact, text
from tacita.privacy.json_form import neighbours_to_json
from tacita.synthesis.quantile.budget import COUNTS, conditional_levels, marginal_levels
from tacita.synthesis.quantile.curve import Tail
from tacita.synthesis.quantile.measuring import Costs, measure
from tacita.synthesis.quantile.model import Columns, QuantileModel, groups_from, unpacked
from tacita.synthesis.quantile.variables import Column, Scale, Variable, column_of

# Relative budgets: a conditional model has a plane to find as well, a table of shares has less to say.
_NUMBER, _CONDITIONAL, _CATEGORY = 6, 7, 3
_MOST_CELLS = 200_000
_WIDEST_COUNT = 1_000_000


@dataclass(frozen=True, init=False)
class QuantileSynthesis(Rehearsable):
    """Synthetic microdata for skewed numbers, by exact private quantile regression, one variable after another.

    Each variable of `order` is modelled given those before it (or given its entry in `predictors`): a median plane, how
    the spread around it varies, and the shape of the rest, all drawn exactly from the K-norm gradient mechanism by
    bisection. Categorical variables and declared point masses (`spikes`) are modelled by noisy shares.

    `groups` are categorical columns; each combination of their levels gets its own models, at no further cost. `keep`
    names public columns that are published as they are (partial synthesis; the rows are then public, so it needs
    `ReplaceOne`). `scales` gives a variable a public "log" or "arcsinh" scale, `tails` a public family for what
    lies beyond the last quantile, `shares` relative budgets. `rows` is the public number of rows to draw.

    >>> plan = QuantileSynthesis(order=["size", "pay"], epsilon="1", rows=5000)
    >>> print(plan.guarantee)
    ε = 1 under one record added or removed
    """

    order: tuple[str, ...]
    epsilon: Fraction
    predictors: tuple[tuple[str, tuple[str, ...]], ...]
    groups: tuple[str, ...]
    keep: tuple[str, ...]
    rows: int | None
    sets: int
    scales: tuple[tuple[str, Scale], ...]
    spikes: tuple[tuple[str, tuple[float, ...]], ...]
    tails: tuple[tuple[str, Tail], ...]
    shares: tuple[tuple[str, Fraction], ...]
    neighbours: AddRemoveOne | ReplaceOne

    def __init__(
        self,
        order: Sequence[str],
        epsilon: Number,
        *,
        predictors: Mapping[str, Sequence[str]] | Sequence[Any] = (),
        groups: Sequence[str] = (),
        keep: Sequence[str] = (),
        rows: int | None = None,
        sets: int = 1,
        scales: Mapping[str, Scale] | Sequence[Any] = (),
        spikes: Mapping[str, Sequence[float]] | Sequence[Any] = (),
        tails: Mapping[str, Tail] | Sequence[Any] = (),
        shares: Mapping[str, Number] | Sequence[Any] = (),
        neighbours: AddRemoveOne | ReplaceOne = AddRemoveOne("record"),  # noqa: B008 -- frozen
    ) -> None:
        given = {
            "order": _names(order, "order"),
            "epsilon": exact(epsilon, "epsilon"),
            "predictors": tuple((name, _names(each, "predictors")) for name, each in _pairs(predictors, "predictors")),
            "groups": _names(groups, "groups"),
            "keep": _names(keep, "keep"),
            "rows": rows,
            "sets": sets,
            "scales": _pairs(scales, "scales"),
            "spikes": tuple((name, _masses(name, each)) for name, each in _pairs(spikes, "spikes")),
            "tails": _pairs(tails, "tails"),
            "shares": tuple((name, exact(one, f"shares.{name}")) for name, one in _pairs(shares, "shares")),
            "neighbours": neighbours,
        }
        for name, value in given.items():
            object.__setattr__(self, name, value)
        self._check()

    def _check(self) -> None:
        if not self.order:
            raise UsageError('order: name the variables to synthesize, first to last, such as ["size", "pay"]')
        if self.epsilon <= 0:
            raise UsageError('epsilon: must be above 0, such as "1" or "0.5"')
        if not isinstance(self.neighbours, AddRemoveOne | ReplaceOne):
            raise UsageError("neighbours: must be AddRemoveOne(unit) or ReplaceOne(unit)")
        for key, value in (("rows", self.rows), ("sets", self.sets)):
            if value is not None and (isinstance(value, bool) or not isinstance(value, int) or value < 1):
                raise UsageError(f"{key}: must be a whole number of at least 1")
        if (self.rows or 0) > 10**9 or self.sets > 1000:
            raise UsageError("rows, sets: at most 10^9 rows and 1000 sets")
        twice = [name for name in (*self.groups, *self.keep) if name in self.order]
        if twice:
            raise UsageError(f"order: {twice[0]} is also named in groups or keep; name it in one of them")
        for key in ("predictors", "scales", "spikes", "tails", "shares"):
            for name, _ in getattr(self, key):
                allowed = (*self.order, *self.keep) if key == "scales" else self.order
                if name not in allowed:
                    raise UsageError(f"{key}: {name} is not in order; it holds {', '.join(self.order)}")
        for name, scale in self.scales:
            if scale not in get_args(Scale):
                raise UsageError(f"scales.{name}: must be one of {', '.join(get_args(Scale))}")
        for name, tail in self.tails:
            if tail not in get_args(Tail):
                raise UsageError(f"tails.{name}: must be one of {', '.join(get_args(Tail))}")
        for name, share in self.shares:
            if share <= 0:
                raise UsageError(f"shares.{name}: must be above 0; it is a relative weight")
        for name, before in self.predictors:
            known = (*self.keep, *self.groups, *self.order[: self.order.index(name)])
            if late := [one for one in before if one not in known]:
                raise UsageError(
                    f"predictors.{name}: {late[0]} does not come before {name}; predictors are earlier in order, "
                    "or in keep"
                )
        if self.keep and not isinstance(self.neighbours, ReplaceOne):
            raise UsageError(
                "keep: publishing rows with public columns shows which units are in the file, so the promise must be "
                "about their values: use neighbours = ReplaceOne(unit)"
            )
        if self.keep and [name for name in self.groups if name not in self.keep]:
            raise UsageError("groups: with keep, groups must be public columns that are kept; add them to keep")
        if self.keep and self.rows is not None:
            raise UsageError("rows: with keep, the rows are those of the file; leave rows out")

    # ------------------------------------------------------------ the promise

    @property
    def takes_any_rows(self) -> bool:  # type: ignore[override]
        return not self.keep

    @property
    def guarantee(self) -> Guarantee:
        assumes = (ONE_ROW,) + (("the kept columns are public",) if self.keep else ())
        return Guarantee(self.neighbours, Loss(self.epsilon), assumes=assumes)

    @property
    def proof(self) -> str:
        return "synthesis/quantile/quantile.md"

    @property
    def how(self) -> How:
        size = SIZE if isinstance(self.neighbours, ReplaceOne) and self.rows is None and not self.groups else ""
        return How(
            "Categories were counted with random noise, and the quantiles of numbers were drawn at random near the "
            "file's own, by laws under which no single record tells. The files are drawn from these alone.",
            as_collected(self.keep) if self.keep else size,
            FREE,
        )

    def describe(self) -> dict[str, Any]:
        found: dict[str, Any] = {"mechanism": type(self).__name__}
        for one in fields(self):
            found[one.name] = _plain(getattr(self, one.name))
        return found | {
            "neighbours": neighbours_to_json(self.neighbours),
            "shares": {name: text(share) for name, share in self.shares},
            **{key: dict(_plain(getattr(self, key))) for key in ("predictors", "scales", "spikes", "tails")},
        }

    # ------------------------------------------------------------ what it will do

    @property
    def _counts_are_public(self) -> bool:
        """A replaced record leaves their number as it is; a total that was given needs no measuring either."""
        if self.keep:
            return True
        return not self.groups and (self.rows is not None or isinstance(self.neighbours, ReplaceOne))

    def _costs(self, variables: tuple[Variable, ...]) -> Costs:
        """Budgets per step, calibrated for one record added or removed: a replaced one is one of each."""
        whole = self.epsilon if isinstance(self.neighbours, AddRemoveOne) else self.epsilon / 2
        counts = Fraction(0) if self._counts_are_public else whole * COUNTS
        weights = {one.name: dict(self.shares).get(one.name, Fraction(one.weight)) for one in variables}
        total = sum(weights.values(), Fraction(0))
        return Costs(counts, {name: (whole - counts) * weight / total for name, weight in weights.items()})

    def _variables(self, schema: Schema) -> tuple[Variable, ...]:
        scales, spikes, tails = dict(self.scales), dict(self.spikes), dict(self.tails)
        predictors = dict(self.predictors)
        found: list[Variable] = []
        for place, name in enumerate(self.order):
            before = predictors.get(name, (*self.keep, *self.order[:place]))
            known = [column_of(schema, one, scales.get(one, "identity")) for one in before if one not in self.groups]
            column = column_of(schema, name, scales.get(name, "identity"))
            if name in spikes and not column.is_number:
                raise UsageError(f"spikes: {name} is categorical; point masses are for numbers")
            for spike in spikes.get(name, ()):
                kind = column.kind
                if not isinstance(kind, Categorical) and not kind.lower <= spike <= kind.upper:
                    raise UsageError(f"spikes.{name}: a point mass lies outside the bounds of the schema")
                if abs(round(spike / column.step) * column.step - spike) > 1e-9 * max(1.0, abs(spike)):
                    raise UsageError(
                        f"spikes.{name}: {spike:g} is not a value that the schema allows, which are multiples of "
                        f"{column.step:g}"
                    )
            numbers = tuple(one for one in known if one.is_number)
            weight = _CATEGORY if not column.is_number else _CONDITIONAL if numbers else _NUMBER
            found.append(
                Variable(
                    column,
                    numbers,
                    tuple(one for one in known if not one.is_number),
                    spikes.get(name, ()),
                    tails.get(name, "fitted"),
                    weight,
                )
            )
        return tuple(found)

    def _groups(self, schema: Schema) -> tuple[Column, ...]:
        for name in self.groups:
            schema.categorical(name)
        return tuple(column_of(schema, name) for name in self.groups)

    def columns(self, schema: Schema) -> tuple[str, ...]:
        """The columns it reads; raises where the schema cannot carry the plan."""
        variables, groups = self._variables(schema), self._groups(schema)
        for name in self.keep:
            if schema[name].role != "public":
                raise UsageError(
                    f"keep: {name} has role {schema[name].role} in the schema; only public columns may be published as "
                    "they are"
                )
            column_of(schema, name)
        counts = self._costs(variables).counts
        if counts and self.rows is None and 1 / counts > _WIDEST_COUNT:
            raise UsageError(
                f"rows: with this epsilon the number of records is measured to about ±{float(1 / counts):.0e}, so the "
                "files could have any size; give rows, or a larger epsilon"
            )
        cells = schema.domain_size(self.groups) if groups else 1
        for one in variables:
            size = cells * int(np.prod([*one.levels, 1]))
            if not one.column.is_number:
                size *= len(schema.levels(one.name))
            if size > _MOST_CELLS:
                raise UsageError(
                    f"{one.name}: its categorical predictors and groups make {size:,} cells, more than "
                    f"{_MOST_CELLS:,}; give predictors.{one.name} with fewer of them"
                )
        return tuple(dict.fromkeys((*self.keep, *self.groups, *self.order)))

    def forecast(self, schema: Schema) -> Forecast:
        self.columns(schema)
        variables, groups = self._variables(schema), self._groups(schema)
        costs = self._costs(variables)
        models = schema.domain_size(self.groups) if groups else 1
        records = max(1, (self.rows or 10_000) // models)
        per = f"{records:,} records" + (f" in each of {models} groups" if groups else "")
        sentences, figures = [f"If there are {per}:"], {}
        for one in variables:
            epsilon = costs.variables[one.name]
            if not one.column.is_number:
                figures[f"{one.name}: count error"] = float(1 / epsilon)
                sentences.append(f"{one.name}: counts by level are off by about {float(1 / epsilon):.3g}")
                continue
            levels = (conditional_levels if one.numbers else marginal_levels)(epsilon, records)
            error = float(
                np.sqrt(sum(2 / float(e) ** 2 for e in levels.halvings) / 3 + 2 / float(levels.halvings[-1]) ** 2)
            )
            figures[f"{one.name}: rank error"] = error
            figures[f"{one.name}: quantiles"] = 2.0**levels.depth - 1
            sentences.append(
                f"{one.name}: {2**levels.depth - 1} quantiles, each off by about {error:.3g} ranks "
                f"({100 * error / records:.2g}% of the records)"
            )
        if costs.counts:
            figures["records: count error"] = float(1 / costs.counts)
            sentences.append(f"the number of records (per group) is measured to about ±{float(1 / costs.counts):.3g}")
        return Forecast(
            f"Synthetic microdata: {', '.join(self.order)}", len(variables) * models, tuple(sentences), figures
        )

    # ------------------------------------------------------------ acting

    def run(self, data: Confidential, entropy: Entropy) -> QuantileModel:
        schema = data.schema
        names = self.columns(schema)
        variables, groups = self._variables(schema), self._groups(schema)
        columns = read(data, names)
        kept = None
        if self.keep:
            # In the order of their values: the order of the confidential file says nothing then.
            order = np.lexsort([columns[name] for name in reversed(self.keep)])
            kept = {name: columns[name][order] for name in self.keep}
        records = self.rows
        if records is None and self._counts_are_public:
            records = len(columns[self.order[0]])
        found = measure(columns, variables, groups, self._costs(variables), records, kept, entropy)
        entropy.announce(Request("seed of the synthetic files", "uniform words", np.zeros(0), np.zeros(0)))
        seed = int(entropy.words(1)[0])
        return self._model(schema, found, kept, seed, entropy.rehearsal)

    def restore(self, stored: bytes) -> QuantileModel:
        content, kept = unpacked(stored)
        schema = Schema.from_dict(content["schema"])
        return self._model(schema, groups_from(content), kept, content["seed"], content["rehearsal"])

    def _model(self, schema: Schema, groups: Any, kept: Columns | None, seed: int, rehearsal: bool) -> QuantileModel:
        return QuantileModel(
            schema,
            self._variables(schema),
            self.groups,
            groups,
            kept,
            self.rows,
            self.sets,
            seed,
            self.describe(),
            rehearsal,
        )


def _names(given: Sequence[str], key: str) -> tuple[str, ...]:
    if isinstance(given, str):
        raise UsageError(f'{key}: give a list of names, such as ["{given}"], not a single string')
    names = tuple(given)
    if len(set(names)) != len(names):
        raise UsageError(f"{key}: a name is listed twice; each is used once")
    return names


def _pairs(given: Mapping[str, Any] | Sequence[Any], key: str) -> tuple[tuple[str, Any], ...]:
    """A mapping in the order of its names, so that two spellings of one plan are equal."""
    pairs = list(given.items() if isinstance(given, Mapping) else given)
    if not all(isinstance(pair, Sequence) and not isinstance(pair, str) and len(pair) == 2 for pair in pairs):
        raise UsageError(f"{key}: give one entry for each variable, such as {{pay = …}}")
    return tuple(sorted(((str(name), value) for name, value in pairs), key=lambda pair: pair[0]))


def _masses(name: str, given: Any) -> tuple[float, ...]:
    if not isinstance(given, Sequence) or isinstance(given, str) or not given:
        raise UsageError(f"spikes.{name}: give a list of values, such as [0]")
    if not all(isinstance(one, int | float) and math.isfinite(one) for one in given) or len(set(given)) != len(given):
        raise UsageError(f"spikes.{name}: must be numbers, each of them once, such as [0]")
    return tuple(float(one) for one in given)


def _plain(value: Any) -> Any:
    if isinstance(value, Fraction):
        return text(value)
    if isinstance(value, tuple):
        return [_plain(one) for one in value]
    return value
