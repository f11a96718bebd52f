"""Membership inference with shadow models: can an attacker tell whether a record was in the synthesized file?

The attacker knows the method and a pool of records like the confidential ones. Each run puts a random half of the pool
through the synthesizer and measures, for some target records, how close the synthetic file comes to them. On the shadow
runs, where membership is known, the attacker learns what closeness each target has when it is in and when it is out;
on the test runs the guess is counted. The advantage is the rate of right accusations minus the rate of false ones:
0 is guessing and 1 is certainty.

How the half is drawn decides what ε-differential privacy says of it. For one record added or removed, every record is
in by a coin of its own: files with and without a target then differ in that record alone. For one record replaced, the
half has a fixed size, and the target's place is taken by another. Either way the advantage is at most tanh(ε/2).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from scipy import stats

from tacita.compiled import njit
from tacita.data.schema import Schema
from tacita.errors import UsageError
from tacita.evaluation.encoding import Frame, compare
from tacita.evaluation.metric import Metric, Outcome
from tacita.evaluation.risk.linkage import Distance, nearest_distances

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
Synthesize = Callable[[Any, int], Frame]
"""synthesize(frame, seed) -> one synthetic file from these rows, drawn with this seed."""

_STATISTICS = ("nearest distance", "local density", "exact matches")


@dataclass(frozen=True)
class MembershipAdvantage:
    """Mean advantage over the test runs with a t interval over runs, and the attack that did best on shadow runs."""

    advantage: float
    interval: tuple[float, float]
    confidence: float
    by_run: tuple[float, ...]
    attack: str
    targets: int
    shadow_runs: int

    @property
    def epsilon_needed(self) -> float:
        """The smallest ε that allows the lower end of the interval: less would cap the advantage below it."""
        return 2 * math.atanh(min(max(self.interval[0], 0.0), 1 - 1e-12))

    @property
    def metric(self) -> Metric:
        """The experiment as a metric for reports; it was run once, so its value does not depend on the files."""
        details = {
            "interval": self.interval,
            "attack": self.attack,
            "targets": self.targets,
            "runs": (self.shadow_runs, len(self.by_run)),
            "ε needed": self.epsilon_needed,
        }
        return Metric(
            "membership-inference advantage",
            "lower",
            (-1.0, 1.0),
            0.0,
            "right accusations minus false ones of a shadow-model attacker; 0 is guessing, 1 is certainty",
            lambda comparison: Outcome(self.advantage, details),
        )


def membership_inference(
    pool: Frame,
    synthesize: Synthesize,
    *,
    schema: Schema | None = None,
    columns: Sequence[str] | None = None,
    categorical: Sequence[str] = (),
    shadow_runs: int = 16,
    test_runs: int = 8,
    targets: int = 200,
    choose: Literal["outlying", "random"] = "outlying",
    neighbours: Literal["add-remove", "replace"] = "add-remove",
    confidence: float = 0.95,
    seed: int = 0,
) -> MembershipAdvantage:
    """Attack `synthesize` with shadow models on a pool of rows: the original, with its hold-out if there is one.

    `choose` aims at the records farthest from all others, who have most to lose, or at random ones. `neighbours` is
    the relation of the promise that the attack is held against. The interval
    treats test runs as independent given the trained attack; it says how sure this attack's number is, not how well a
    better attack would do.
    """
    rows = pool.num_rows if isinstance(pool, pa.Table) else len(pool)
    if shadow_runs < 4 or test_runs < 2:
        raise UsageError("membership: use at least 4 shadow runs and 2 test runs")
    if rows < 4 or targets < 1:
        raise UsageError("membership: the pool needs at least 4 rows and 1 target")
    if choose not in ("outlying", "random") or not 0 < confidence < 1:
        raise UsageError('membership: choose must be "outlying" or "random", and confidence lie between 0 and 1')
    if neighbours not in ("add-remove", "replace"):
        raise UsageError('membership: neighbours must be "add-remove" or "replace"')
    generator = np.random.default_rng(seed)
    options: dict[str, Any] = {"schema": schema, "columns": columns, "categorical": categorical}
    aimed, width = aim(pool, options, min(targets, rows), choose, generator)
    runs = shadow_runs + test_runs
    inside = np.zeros((runs, len(aimed)), dtype=bool)
    seen = np.empty((len(_STATISTICS), runs, len(aimed)))
    for run in range(runs):
        members = _half(rows, neighbours, generator)
        inside[run] = np.isin(aimed, members)
        part = pool.take(members) if isinstance(pool, pa.Table) else pool.iloc[members]
        seen[:, run] = closeness(pool, synthesize(part, int(generator.integers(2**31))), aimed, width, options)
    return _attack(seen, inside, shadow_runs, confidence)


def _half(rows: int, neighbours: str, generator: np.random.Generator) -> NDArray[np.intp]:
    if neighbours == "replace":
        return np.sort(generator.permutation(rows)[: rows // 2])
    while True:  # a synthesizer cannot work on nothing; with more than a few rows that never happens
        members = np.flatnonzero(generator.random(rows) < 0.5)
        if len(members) > 1:
            return members


def aim(
    pool: Frame, options: dict[str, Any], count: int, choose: str, generator: np.random.Generator
) -> tuple[NDArray[np.intp], float]:
    """Rows to aim at, and the kernel width of the density: a typical distance between neighbours."""
    encoded = compare(pool, pool, **options).original
    points = Distance.on(encoded).points(encoded)
    some = np.sort(generator.choice(encoded.rows, min(encoded.rows, 5000), replace=False))
    # Candidates are measured against the same sample, so that a large pool costs no more than a small one.
    apart = nearest_distances(points.take(some), points.take(some), other_than_itself=True)
    width = float(np.median(apart[apart > 0])) if (apart > 0).any() else 0.25
    if choose == "random":
        return np.sort(generator.choice(encoded.rows, count, replace=False)), width
    order = np.argsort(-apart + generator.random(len(apart)) * 1e-12)
    return np.sort(some[order[:count]]), width


def closeness(pool: Frame, synthetic: Frame, aimed: NDArray[np.intp], width: float, options: dict[str, Any]) -> Floats:
    """How close a synthetic file comes to some rows of the pool: one row for each statistic, one column per target."""
    comparison = compare(pool, synthetic, **options)
    distance = Distance.on(comparison.original)
    people, made = distance.points(comparison.original, aimed), distance.points(comparison.synthetic[0])
    nearest = nearest_distances(people, made)
    density, exact = _density(people.codes, people.numbers, made.codes, made.numbers, width)
    return np.stack([-nearest, np.log(density + 1e-12), exact])


@njit(nogil=True, cache=True)
def _density(codes, numbers, to_codes, to_numbers, width):  # type: ignore[no-untyped-def]
    count = codes.shape[1] + numbers.shape[1]
    density = np.zeros(codes.shape[0])
    exact = np.zeros(codes.shape[0])
    for i in range(codes.shape[0]):
        for j in range(to_codes.shape[0]):
            total = 0.0
            for c in range(codes.shape[1]):
                if codes[i, c] != to_codes[j, c]:
                    total += 1.0
            for c in range(numbers.shape[1]):
                gap = abs(numbers[i, c] - to_numbers[j, c])
                if gap == gap:
                    total += min(gap, 1.0)
                elif not (np.isnan(numbers[i, c]) and np.isnan(to_numbers[j, c])):
                    total += 1.0
            if total == 0.0:
                exact[i] += 1.0
            density[i] += np.exp(-total / count / width)
    return density / to_codes.shape[0], exact / to_codes.shape[0]


Guess = Callable[[Floats], Bools]


def _common_threshold(seen: Floats, inside: Bools) -> Guess:
    """One threshold for all targets, on closeness relative to each target's own mean."""
    usual = seen.mean(axis=0)
    relative = (seen - usual).ravel()
    order = np.argsort(-relative, kind="stable")
    member = inside.ravel()[order]
    gain = np.cumsum(member) / max(member.sum(), 1) - np.cumsum(~member) / max((~member).sum(), 1)
    # A threshold must separate different values: accusing only some of equally close records is not possible.
    ordered = relative[order]
    gain[:-1][ordered[1:] == ordered[:-1]] = -1.0
    threshold = float(ordered[int(np.argmax(gain))])
    return lambda closeness: np.asarray(closeness - usual >= threshold)


def _own_threshold(seen: Floats, inside: Bools) -> Guess:
    """A likelihood ratio for each target between its closeness when in and when out (normal, equal variance)."""
    with_it, without = (
        np.where(side.any(axis=0), (seen * side).sum(axis=0) / np.maximum(side.sum(axis=0), 1), seen.mean(axis=0))
        for side in (inside, ~inside)
    )
    middle, direction = (with_it + without) / 2, with_it - without
    return lambda closeness: np.asarray((closeness - middle) * direction > 0)


_ATTACKS: tuple[tuple[str, Callable[[Floats, Bools], Guess]], ...] = (
    ("one threshold", _common_threshold),
    ("a threshold per target", _own_threshold),
)


def _attack(seen: Floats, inside: Bools, shadow_runs: int, confidence: float) -> MembershipAdvantage:
    """Choose the attack on the shadow runs (trained on one half, judged on the other), then count the test runs."""
    half = shadow_runs // 2
    best: tuple[float, int, int] = (-np.inf, 0, 0)
    for s in range(len(seen)):
        for a, (_, train) in enumerate(_ATTACKS):
            guess = train(seen[s, :half], inside[:half])
            judged = np.mean(_advantages(guess, seen[s, half:shadow_runs], inside[half:shadow_runs]))
            if judged > best[0]:
                best = (float(judged), s, a)
    _, s, a = best
    name, train = _ATTACKS[a]
    guess = train(seen[s, :shadow_runs], inside[:shadow_runs])
    advantages = _advantages(guess, seen[s, shadow_runs:], inside[shadow_runs:])
    margin = (
        stats.t.ppf(0.5 + confidence / 2, len(advantages) - 1) * advantages.std(ddof=1) / math.sqrt(len(advantages))
    )
    mean = float(advantages.mean())
    return MembershipAdvantage(
        advantage=mean,
        interval=(max(-1.0, mean - float(margin)), min(1.0, mean + float(margin))),
        confidence=confidence,
        by_run=tuple(advantages.tolist()),
        attack=f"{_STATISTICS[s]}, {name}",
        targets=seen.shape[2],
        shadow_runs=shadow_runs,
    )


def _advantages(guess: Guess, seen: Floats, inside: Bools) -> Floats:
    """Right minus false accusations of each run; a run with no target in, or none out, tells nothing and gives 0."""
    accused = np.stack([guess(one) for one in seen])
    ins, outs = inside.sum(axis=1), (~inside).sum(axis=1)
    right = (accused & inside).sum(axis=1) / np.maximum(ins, 1)
    false = (accused & ~inside).sum(axis=1) / np.maximum(outs, 1)
    return np.where((ins > 0) & (outs > 0), right - false, 0.0)
