"""Canaries and replay: the plan as it really runs, with fresh noise, or with the same random words on two files."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacita.audit.examples import Example
from tacita.audit.forced import Finding, opened
from tacita.data.confidential import Confidential
from tacita.errors import TacitaError
from tacita.evaluation.risk.canary import canary_bound
from tacita.noise.entropy import SeededEntropy
from tacita.noise.forcing import Tape
from tacita.noise.replay import Recording, Replaying, ReplayMismatch, compare

_NUMBERS = 64  # of an output that an event may be about
_CONFIDENCE = 0.9999
_TRIES = 20


def pair_of(example: Example, seed: int) -> tuple[Confidential, Confidential] | None:
    """Two neighbouring files that pass all checks."""
    random = np.random.default_rng(seed)
    for _ in range(_TRIES):
        family = example.files.family(random, 2)
        pair = [opened(example.plan, one, example.files) for one in (family.base, family.near[1])]
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


def _numbers_of(plan: Any, data: Confidential, seed: int) -> NDArray[np.float64]:
    tape = Tape(SeededEntropy(seed))
    result = plan.run(data, tape)
    outputs = [one.output for one in tape.draws] or getattr(result, "measured", {})
    numbers = np.array(_flat(outputs)[:_NUMBERS], dtype=np.float64)
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
