"""Attacks that run a plan many times: a planted record or worker (canary), and shadow models (membership).

Every run is a rehearsal: seeded, stamped as such, never in a ledger. The files that are compared are neighbours in the
sense of the plan's own guarantee, because only there does its ε say anything:

- a table of jobs: one establishment of the size of the file's largest, and the same one grown as far as the guarantee
  hides (one worker, or a share α of its size), or with and without its whole workforce. The number that is looked at
  is the establishment's cell.
- a synthesizer: some rows of the file, with and without one record that has the rarest level of every category and the
  declared upper bound of every number (or with one record replaced by it). Looked at are how near, how dense and how
  often exactly there the synthetic records lie, the mean of every number and the share of every planted level:
  whichever tells most on runs that do not count.

A lower bound on ε that any pair of neighbours gives is a lower bound on the mechanism's ε.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from tacita.data.confidential import Confidential
from tacita.data.schema import Categorical, Identifier, Schema
from tacita.data.workforce import Workforce, workforce
from tacita.errors import UsageError
from tacita.evaluation.encoding import as_text
from tacita.evaluation.risk.canary import CanaryBound, canary_bound, detection_power
from tacita.evaluation.risk.membership import MembershipAdvantage, aim, closeness, membership_inference
from tacita.mechanisms.eree.base import CountPlan
from tacita.noise.entropy import SeededEntropy
from tacita.plan import Plan
from tacita.privacy import AddRemoveOne, Guarantee, NumbersWithin, PerRecord, ReplaceOne, StrongAlpha, WeakAlpha

LEAST_RUNS = 20
MOST_ROWS = 500
_TAIL = 1e-6  # the δ at which a concentrated guarantee is restated, since an event can only be held against (ε, δ)
_TARGETS = 100


@dataclass(frozen=True)
class PlanAttack:
    """What the attacks on one plan found, beside what the plan claims."""

    product: str
    guarantee: Guarantee
    planted: str
    canary: CanaryBound
    membership: MembershipAdvantage | None
    seconds: float

    @property
    def claimed(self) -> float | None:
        """The ε that the plan claims at the δ of the experiment; None for a plan without a guarantee."""
        return None if self.guarantee.holds == "never" else _claim(self.guarantee)[0]

    @property
    def is_refuted(self) -> bool:
        """Whether the canary shows, at its confidence, that the claimed ε is too small; its bound is exact."""
        return self.claimed is not None and self.canary.refutes(self.claimed)

    @property
    def is_doubtful(self) -> bool:
        """Whether the shadow models got more right than the claim allows; their interval is approximate."""
        # With a δ the cap on the advantage is another one than the attack's own figure assumes.
        if self.claimed is None or self.membership is None or self.canary.delta > 0:
            return False
        return self.membership.epsilon_needed > self.claimed

    @property
    def power(self) -> float | None:
        """The chance that the canary would have refuted the claim if the true ε were twice the claimed one."""
        if self.claimed is None:
            return None
        at = self.canary
        return detection_power(
            self.claimed, 2 * self.claimed, trials=at.trials, confidence=at.confidence, delta=at.delta
        )


def attack_plan(
    product: str,
    plan: Plan[Any],
    frame: pd.DataFrame,
    schema: Schema,
    *,
    runs: int,
    seed: int = 0,
    progress: Callable[[str], None] = lambda step: None,
) -> PlanAttack:
    """Run the attacks that make sense for the plan; `runs` is the number of shadow runs and of counted canary runs.

    A table is run 3 × `runs` times, a synthesizer 4.5 × `runs` times, on at most 500 rows.
    """
    if runs < LEAST_RUNS:
        raise UsageError(f"attacks: {runs} runs are too few to show anything; use at least {LEAST_RUNS}, better 1000")
    started = time.perf_counter()
    progress(f"Canary experiment on {product}")
    _, delta = _claim(plan.guarantee)
    membership = None
    if isinstance(plan, CountPlan):
        planted, draw = _table_canary(plan, frame, schema)
    else:
        pool = _some_rows(frame, schema, seed)
        planted, draw = _record_canary(plan, pool, schema)
    canary = canary_bound(draw, trials=runs, scouts=runs // 2, delta=delta, seed=seed)
    if not isinstance(plan, CountPlan):
        progress(f"Shadow models of {product}")
        membership = _shadow_attack(plan, pool, schema, runs, seed)
    return PlanAttack(product, plan.guarantee, planted, canary, membership, time.perf_counter() - started)


def _claim(guarantee: Guarantee) -> tuple[float, float]:
    """(ε, δ) of a guarantee; ρ is restated by ε = ρ + 2·√(ρ·ln(1/δ)) (Bun and Steinke 2016)."""
    loss = guarantee.loss
    if loss.rho is None:
        return float(loss.epsilon), float(loss.delta)
    rho = float(loss.rho)
    return rho + 2 * math.sqrt(rho * math.log(1 / _TAIL)), _TAIL


# ---------------------------------------------------------------- tables

Draw = Callable[[bool, int, np.random.Generator], list[list[float]]]
Kind = dict[Any, Any]
"""The values of one row."""


def _table_canary(plan: CountPlan, frame: pd.DataFrame, schema: Schema) -> tuple[str, Draw]:
    size = next(iter(schema.by_role("size")), None)
    rows = _counted(plan, frame[_declared(frame, schema)], schema)
    workplace = schema.id_of("workplace")
    kind, n = rows.iloc[0].to_dict(), 1
    if size is not None:
        sizes = pd.to_numeric(rows[size]).fillna(0).to_numpy(dtype=np.float64)
        kind, n = rows.iloc[int(sizes.argmax())].to_dict(), int(sizes.max())
    elif workplace is not None:
        largest = rows[workplace].value_counts()
        kind, n = rows[rows[workplace] == largest.index[0]].iloc[0].to_dict(), int(largest.iloc[0])
    n = max(1, n if plan.drops_above is None else min(n, plan.drops_above))
    without, with_it, words = _sizes(plan.guarantee, n)
    # Counting is the same every time, so it is done once; the noise is drawn anew in every run.
    counted = [_count(plan, _one_cell(kind, sizes, size, schema), schema) for sizes in (without, with_it)]

    def draw(canary_in: bool, count: int, generator: np.random.Generator) -> list[list[float]]:
        table = counted[canary_in]
        cell = _cell(table, plan.worker, kind, schema)
        seeds = generator.integers(2**62, size=count)
        return [[float(plan.measure(table, SeededEntropy(int(seed)))[cell])] for seed in seeds]

    return words, draw


def _count(plan: CountPlan, frame: pd.DataFrame, schema: Schema) -> Workforce:
    data = Confidential.from_frame(frame, schema)
    data.check(plan.reads(schema))
    where = plan.where or None
    return workforce(
        data, plan.by, worker=plan.worker, where=where, drop_above=plan.drops_above, every_cell=plan.every_cell
    )


def _declared(frame: pd.DataFrame, schema: Schema) -> list[str]:
    return [name for name in schema.names if name in frame.columns]


def _counted(plan: CountPlan, frame: pd.DataFrame, schema: Schema) -> pd.DataFrame:
    """The rows that the table counts somewhere."""
    keep = np.ones(len(frame), dtype=bool)
    only = {name: [schema.levels(name).index(level) for level in levels] for name, levels in plan.where.items()}
    for name in (*plan.by, *plan.worker, *only):
        wanted = only.get(name, range(len(schema.levels(name))))
        place, values = pd.factorize(frame[name], use_na_sentinel=False)
        keep &= np.array([_code(schema, name, value) in wanted for value in values])[place]
    if not keep.any():
        raise UsageError("attacks: no row of the file is counted by this table, so there is no establishment to attack")
    return frame[keep]


def _code(schema: Schema, name: str, value: Any) -> int | None:
    return schema.categorical(name).code_of(as_text(value))


def _sizes(guarantee: Guarantee, n: int) -> tuple[list[int], list[int], str]:
    """Sizes of the establishments of two neighbouring files, and what was planted."""
    relation = guarantee.neighbours
    if isinstance(relation, StrongAlpha | WeakAlpha):
        more = max(1, math.floor(relation.alpha * n))
        return [n], [n + more], f"{more:,} more worker{'s' * (more > 1)} at an establishment of {n:,}"
    if relation == AddRemoveOne("worker"):
        return [n], [n + 1], f"one more worker at an establishment of {n:,}"
    if relation == AddRemoveOne("establishment"):
        return [1], [1, n], f"the whole workforce of {n:,} of an establishment"
    raise UsageError(f"attacks: there is no canary for tables under {relation}; call canary_bound with one of your own")


def _one_cell(kind: Kind, sizes: list[int], size: str | None, schema: Schema) -> pd.DataFrame:
    """Establishments of these sizes whose workers are all of one kind."""
    place = np.arange(len(sizes)) if size is not None else np.repeat(np.arange(len(sizes)), sizes)
    made = pd.DataFrame([kind] * len(place))
    if size is not None:
        made[size] = sizes
    for entity, values in (("workplace", place), ("worker", np.arange(len(place)))):
        name = schema.id_of(entity)
        if name is not None and name in made.columns:
            made[name] = values
    return made


def _cell(table: Workforce, worker: Sequence[str], kind: Kind, schema: Schema) -> tuple[int, int]:
    """Row and column of the cell that holds this kind of worker."""
    inside = np.ones(len(table.counts), dtype=bool)
    for name, codes in table.keys.items():
        inside &= codes == (_code(schema, name, kind[name]) or 0)
    column = 0
    for name in worker:
        column = column * len(schema.levels(name)) + (_code(schema, name, kind[name]) or 0)
    return int(np.flatnonzero(inside)[0]), column


# ---------------------------------------------------------------- synthesizers


def _some_rows(frame: pd.DataFrame, schema: Schema, seed: int) -> pd.DataFrame:
    names = _declared(frame, schema)
    if len(frame) < 2 * LEAST_RUNS:
        raise UsageError(f"attacks: a file of fewer than {2 * LEAST_RUNS} rows is too small for shadow models")
    return frame[names].sample(min(len(frame), MOST_ROWS), random_state=seed).reset_index(drop=True)


def _record_canary(plan: Plan[Any], pool: pd.DataFrame, schema: Schema) -> tuple[str, Draw]:
    if isinstance(plan.guarantee.neighbours, NumbersWithin | PerRecord):
        raise UsageError(f"attacks: there is no canary for files under {plan.guarantee.neighbours}; use canary_bound")
    canary = _outlier(pool, schema)
    with_it = pd.concat([pool, canary], ignore_index=True)
    words = "one record with the rarest level of every category and the upper bound of every number"
    if isinstance(plan.guarantee.neighbours, ReplaceOne):
        changed = pd.concat([pool.iloc[1:], canary], ignore_index=True)
        files, words = (pool, changed), f"{words}, in place of another record"
    else:
        files, words = (pool, with_it), f"{words}, added to {len(pool):,} others"
    compared = _compared(plan, pool, schema)
    options: dict[str, Any] = {"schema": schema, "columns": compared, "categorical": ()}
    _, width = aim(with_it, options, 1, "random", np.random.default_rng(0))
    aimed = np.array([len(with_it) - 1])

    def draw(canary_in: bool, count: int, generator: np.random.Generator) -> list[list[float]]:
        made = (_rehearsed(plan, files[canary_in], schema, int(seed)) for seed in generator.integers(2**31, size=count))
        return [
            [*closeness(with_it, one, aimed, width, options)[:, 0].tolist(), *_leanings(one, canary, compared)]
            for one in made
        ]

    return words, draw


def _leanings(synthetic: pd.DataFrame, canary: pd.DataFrame, columns: Sequence[str]) -> list[float]:
    """What a planted record pulls along in a model, even where no synthetic record comes near it."""
    leanings = []
    for name in columns:
        planted = canary[name].iloc[0]
        if isinstance(planted, str):
            leanings.append(float((synthetic[name].astype(str) == planted).mean()))
        else:
            known = pd.to_numeric(synthetic[name]).dropna()
            leanings.append(float(known.mean()) if len(known) else 0.0)
    return leanings


def _outlier(pool: pd.DataFrame, schema: Schema) -> pd.DataFrame:
    """A record that the schema allows and that is as far from the others as can be."""
    made: dict[str, Any] = {}
    for name in pool.columns:
        kind = schema[name].kind
        if isinstance(kind, Identifier):
            known = pool[name]
            made[name] = known.max() + 1 if pd.api.types.is_numeric_dtype(known) else "canary"
        elif isinstance(kind, Categorical):
            counts = pool[name].astype("string").value_counts()
            made[name] = min(kind.levels, key=lambda level: int(counts.get(level, 0)))
        else:
            made[name] = kind.upper
    canary = pd.DataFrame([made])
    for name in pool.columns:  # a code stored as a number must not turn its whole column into text
        if pd.api.types.is_numeric_dtype(pool[name]) and not pd.api.types.is_numeric_dtype(canary[name]):
            canary[name] = pd.to_numeric(canary[name])
    return canary


def _compared(plan: Plan[Any], pool: pd.DataFrame, schema: Schema) -> list[str]:
    """The columns in which synthetic records can be held against real ones."""
    made = _rehearsed(plan, pool, schema, 0)
    names = [name for name in pool.columns if not isinstance(schema[name].kind, Identifier) and name in made.columns]
    if not names:
        raise UsageError("attacks: the synthetic file has no column of the original but identifiers")
    return names


def _rehearsed(plan: Plan[Any], frame: pd.DataFrame, schema: Schema, seed: int) -> pd.DataFrame:
    """All the synthetic records of one rehearsal, which is what an attacker would see."""
    rehearse = getattr(plan, "rehearse", None)
    if rehearse is None:
        raise UsageError(f"attacks: {type(plan).__name__} cannot be rehearsed, so it cannot be attacked")
    result = rehearse(frame, schema, seed=seed)
    held = getattr(result, "implicates", result)
    files = getattr(held, "frames", (held,))
    frames = [one.to_pandas() if isinstance(one, pa.Table) else one for one in files]
    if not all(isinstance(one, pd.DataFrame) for one in frames):
        raise UsageError(f"attacks: {type(plan).__name__} gives neither a table of counts nor synthetic files")
    made: pd.DataFrame = pd.concat(frames, ignore_index=True)
    return made


def _shadow_attack(plan: Plan[Any], pool: pd.DataFrame, schema: Schema, runs: int, seed: int) -> MembershipAdvantage:
    return membership_inference(
        pool,
        lambda frame, own: _rehearsed(plan, frame.reset_index(drop=True), schema, own),
        schema=schema,
        columns=_compared(plan, pool, schema),
        shadow_runs=runs,
        test_runs=max(2, runs // 2),
        targets=min(_TARGETS, len(pool) // 4),
        neighbours="replace" if isinstance(plan.guarantee.neighbours, ReplaceOne) else "add-remove",
        seed=seed,
    )
