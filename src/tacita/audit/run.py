"""The audit: every claim of every plan on hostile neighbours, its laws, a canary, and twins that must be caught.

Work is shared between processes by claim; each process builds the examples itself, so nothing confidential or large is
sent. All randomness is seeded: the same version gives the same figures.

Canaries and replay run a plan as it really runs, with fresh noise, or with the same random words on two files.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from dataclasses import dataclass, field, fields, is_dataclass, replace
from math import ceil
from multiprocessing import get_context
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacita.audit.drawn import law_findings
from tacita.audit.examples import Example, examples
from tacita.audit.forced import Finding, Outcome, force, opened
from tacita.audit.twins import caught_by, twins
from tacita.data.confidential import Confidential
from tacita.errors import TacitaError, UsageError
from tacita.evaluation.risk.canary import canary_bound
from tacita.noise.entropy import SeededEntropy
from tacita.noise.forcing import Draw, Tape
from tacita.noise.replay import Recording, Replaying, ReplayMismatch, compare

_NUMBERS = 64  # of an output that an event may be about
_CONFIDENCE = 0.9999
_TRIES = 20


def pair_of(example: Example, seed: int) -> tuple[Confidential, Confidential] | None:
    """Two neighbouring files that pass all checks."""
    random = np.random.default_rng(seed)
    for _ in range(_TRIES):
        family = example.files.family(random, 2)
        pair = [opened(example.plan, one, example.files, at) for at, one in enumerate((family.base, family.near[1]))]
        if pair[0] is not None and pair[1] is not None:
            return pair[0], pair[1]
    return None


def canary_lower_bound(example: Example, *, trials: int, seed: int = 7) -> float | None:
    """ε is at least this, with confidence 0.9999, by counting one event on two neighbouring files."""
    pair = pair_of(example, seed)
    if pair is None:
        return None
    runs = iter(range(10**9))

    def draw(canary_in: bool, count: int, generator: np.random.Generator) -> NDArray[np.float64]:
        data = pair[1] if canary_in else pair[0]
        return np.array([_numbers_of(example.plan, data, seed * 10**6 + next(runs)) for _ in range(count)])

    delta = float(example.plan.guarantee.loss.delta)
    try:
        bound = canary_bound(draw, trials=trials, confidence=_CONFIDENCE, delta=delta, seed=seed)
    except TacitaError:
        return None  # the plan breaks off on such files; forcing tells whether that depends on the rows
    return bound.epsilon


class _EnoughError(Exception):
    """As many numbers are out as are looked at: what the run does with them is not."""


class _Short(Tape):
    """A tape that ends the run there."""

    def settle(self, draw: Draw, make: Callable[[], Any]) -> Any:
        output = super().settle(draw, make)
        self.numbers.extend(_flat([output]))
        if len(self.numbers) >= _NUMBERS:
            raise _EnoughError
        return output

    def __init__(self, source: SeededEntropy) -> None:
        super().__init__(source)
        self.numbers: list[float] = []


def _numbers_of(plan: Any, data: Confidential, seed: int) -> NDArray[np.float64]:
    tape = _Short(SeededEntropy(seed))
    try:
        result = plan.run(data, tape)
    except _EnoughError:
        result = None
    found = tape.numbers if tape.draws else _flat(getattr(result, "measured", {}))
    numbers = np.array(found[:_NUMBERS], dtype=np.float64)
    return np.concatenate([numbers, np.zeros(_NUMBERS - numbers.size)])


def _flat(value: Any) -> list[float]:
    """The numbers in an output, in order, as many as are looked at."""
    if isinstance(value, np.ndarray):
        return [float(one) for one in value.ravel()[:_NUMBERS]]
    if isinstance(value, int | float):
        return [float(value)]
    if isinstance(value, dict):
        value = [value[key] for key in sorted(value)]
    if is_dataclass(value) and not isinstance(value, type):
        value = [getattr(value, one.name) for one in fields(value)]
    numbers: list[float] = []
    for one in value if isinstance(value, list | tuple) else ():
        numbers += _flat(one)
        if len(numbers) >= _NUMBERS:
            break
    return numbers


def replay_findings(example: Example, *, seed: int = 3) -> tuple[Finding, ...]:
    """The same words on two files: the same requests, in number, order, law, shape and words used."""
    pair = None if example.adaptive else pair_of(example, seed)
    if pair is None:
        return ()
    recording = Recording(SeededEntropy(seed))
    example.plan.run(pair[0], recording)
    replaying = Replaying(recording)
    try:
        example.plan.run(pair[1], replaying)
        compare(recording, replaying)
    except ReplayMismatch as mismatch:
        return (Finding("replay", str(mismatch)),)
    return ()


NEIGHBOURS = 500  # of each plan, shared by its claims
_NEAR = 8  # in a family
_LEAST_TRIALS = 20  # below which a canary bounds nothing
Progress = Callable[[str, int, int], None]


@dataclass(frozen=True)
class Size:
    """How much is tried."""

    neighbours: int = NEIGHBOURS
    law_draws: int = 2000
    canary_trials: int = 60

    @classmethod
    def full(cls) -> Size:
        return cls(neighbours=10 * NEIGHBOURS, law_draws=20_000, canary_trials=2000)

    def with_neighbours(self, neighbours: int) -> Size:
        """So many; with fewer, canaries are shorter in proportion: a run for each trial is what takes the time.

        >>> Size().with_neighbours(100).canary_trials, Size().with_neighbours(1000).canary_trials
        (20, 60)
        """
        shorter = max(_LEAST_TRIALS, self.canary_trials * neighbours // self.neighbours)
        return replace(self, neighbours=neighbours, canary_trials=min(self.canary_trials, shorter))


@dataclass(frozen=True)
class PlanReport:
    """What was tried on one plan, and what was found. `worst` is None where no claim of it always holds."""

    plan: str
    claims: int
    outcome: Outcome
    canary: float | None
    seconds: float
    twins: tuple[tuple[str, str | None], ...] = ()

    @property
    def worst(self) -> float | None:
        return self.outcome.worst if self.outcome.neighbours else None

    @property
    def passed(self) -> bool:
        return not self.outcome.findings and all(check is not None for _, check in self.twins)


@dataclass
class _Gathered:
    claims: int = 0
    outcome: Outcome = field(default_factory=Outcome)
    canary: float | None = None
    seconds: float = 0.0
    twins: list[tuple[str, str | None]] = field(default_factory=list)


def known_plans() -> tuple[str, ...]:
    """The plans that have examples, in their order."""
    return tuple(dict.fromkeys(one.name for one in examples()))


def audit(
    plans: tuple[str, ...] = (),
    *,
    size: Size | None = None,
    workers: int | None = None,
    progress: Progress | None = None,
) -> tuple[PlanReport, ...]:
    """Audit the named plans, or all."""
    size = size or Size()
    if unknown := sorted(set(plans) - set(known_plans())):
        raise UsageError(f"there is no plan {unknown[0]} to audit; the plans are {', '.join(known_plans())}")
    chosen = [one for one in known_plans() if not plans or one in plans]
    gathered = {name: _Gathered() for name in chosen}
    for done, of, total in _results(_tasks(chosen, size), workers or os.cpu_count() or 1):
        if progress is not None:
            progress(f"{done.plan}: {done.what}", of, total)
        _gather(gathered[done.plan], done)
    return tuple(
        PlanReport(name, one.claims, one.outcome, one.canary, one.seconds, tuple(sorted(one.twins)))
        for name, one in gathered.items()
    )


def _gather(into: _Gathered, done: _Done) -> None:
    into.seconds += done.seconds
    if done.twin is not None:
        into.twins.append(done.twin)
        return
    into.claims += 1
    into.outcome = into.outcome + done.outcome
    if done.canary is not None:
        into.canary = max(done.canary, into.canary or 0.0)


# ---------------------------------------------------------------- tasks, as they go to another process


@dataclass(frozen=True)
class _Task:
    """A claim to try, or a twin to catch, by its place in the list that every process makes for itself."""

    plan: str
    place: int
    neighbours: int = 0
    law_draws: int = 0
    canary_trials: int = 0
    is_twin: bool = False


@dataclass(frozen=True)
class _Done:
    plan: str
    what: str
    seconds: float
    outcome: Outcome = field(default_factory=Outcome)
    canary: float | None = None
    twin: tuple[str, str | None] | None = None


def _tasks(chosen: list[str], size: Size) -> list[_Task]:
    """The longest first, so that processes end at about the same time: those with a canary, then by neighbours."""
    tasks = []
    for name in chosen:
        claims = [at for at, one in enumerate(examples()) if one.name == name]
        for number, at in enumerate(claims):
            share = ceil(size.neighbours / len(claims))
            tasks.append(_Task(name, at, share, size.law_draws, 0 if number else size.canary_trials))
    tasks += [_Task(twin.of, at, is_twin=True) for at, twin in enumerate(twins()) if twin.of in chosen]
    return sorted(tasks, key=lambda one: (one.canary_trials, one.neighbours), reverse=True)


def _results(tasks: list[_Task], workers: int) -> Iterator[tuple[_Done, int, int]]:
    if workers == 1:
        for of, task in enumerate(tasks, start=1):
            yield _perform(task), of, len(tasks)
        return
    # A fresh process each: one that was forked could inherit a connection of the engine.
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
        waiting: list[Future[_Done]] = [pool.submit(_perform, task) for task in tasks]
        for of, one in enumerate(as_completed(waiting), start=1):
            yield one.result(), of, len(tasks)


def _perform(task: _Task) -> _Done:
    start = time.process_time()  # of the processor: what else a machine does is no property of a plan
    if task.is_twin:
        twin = twins()[task.place]
        caught = (twin.name, caught_by(twin))
        return _Done(task.plan, f"twin, {twin.name}", time.process_time() - start, twin=caught)
    example = examples()[task.place]
    outcome, canary = try_claim(
        example,
        neighbours=task.neighbours,
        law_draws=task.law_draws,
        canary_trials=task.canary_trials,
        seed=task.place + 1,
    )
    return _Done(task.plan, example.setting, time.process_time() - start, outcome, canary)


def try_claim(
    example: Example, *, neighbours: int, law_draws: int = 0, canary_trials: int = 0, seed: int = 1
) -> tuple[Outcome, float | None]:
    """Everything that is tried on one claim."""
    outcome = Outcome()
    promise = example.plan.guarantee
    if promise.holds == "always":
        outcome = _forced(example, neighbours, seed)
        outcome += Outcome(findings=replay_findings(example) + _laws(example, law_draws, seed))
    canary = canary_lower_bound(example, trials=canary_trials) if canary_trials else None
    if canary is not None and promise.holds == "always" and not promise.loss.rho and canary > promise.loss.epsilon:
        outcome += Outcome(findings=(Finding("canary", f"ε is at least {canary:.3g}"),))
    return outcome, canary


def _forced(example: Example, neighbours: int, seed: int) -> Outcome:
    total, random = Outcome(), np.random.default_rng(seed)
    most = 4 * ceil(neighbours / _NEAR)  # families, since some files are refused
    for outcome in force(example.plan, example.files, random, families=most, near=min(_NEAR, neighbours)):
        total += outcome
        if total.neighbours >= neighbours or total.findings:
            return total
    if not total.neighbours:
        total += Outcome(findings=(Finding("nothing tried", f"{example.setting}: every file was refused"),))
    return total


def _laws(example: Example, times: int, seed: int) -> tuple[Finding, ...]:
    random = np.random.default_rng(seed)
    for _ in range(20 if times else 0):
        data = opened(example.plan, example.files.family(random, 0).base, example.files)
        if data is None:
            continue
        tape = Tape(SeededEntropy(seed))
        try:
            example.plan.run(data, tape)
        except TacitaError:
            continue
        return law_findings(tape.draws, times=times)
    return ()
