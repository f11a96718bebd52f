"""An empirical lower bound on ε: run the mechanism with and without one planted record and count an event.

(ε, δ) caps every event: P(event | canary in) ≤ e^ε · P(event | canary out) + δ, and the other way round. Counting one
event on both sides therefore proves a lower bound on ε with a stated confidence. A bound above the claim shows that
the claim is wrong. A bound below it shows nothing: it is an attack that failed, never evidence of a guarantee.

How much it can find, for a mechanism whose true ε is 25% above its claim (a fifth of the noise missing), at 95%
confidence and with the best event known (`detection_power`):

| claimed ε | runs per side | chance of refuting the claim |
| --- | --- | --- |
| 0.1 | 20,000 / 100,000 | 33% / 99% |
| 1 | 500 / 2,000 | 31% / 96% |
| 4 | 1,000 / 3,000 | 41% / 97% |

A correct mechanism is refuted in less than 1% of experiments rather than 5%, because both rates are bounded apart.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats

from tacita.errors import UsageError
from tacita.evaluation.metric import Metric, Outcome

Floats = NDArray[np.float64]
Draw = Callable[[bool, int, np.random.Generator], ArrayLike]
"""draw(canary_in, count, generator) -> `count` independent outputs, each reduced to one number or to a row of a few."""

_MOST_THRESHOLDS = 400


@dataclass(frozen=True)
class CanaryBound:
    """ε is at least `epsilon` with at least `confidence`; `ceiling` is the most this many trials could ever show."""

    epsilon: float
    confidence: float
    delta: float
    trials: int
    event: str
    rate_likelier: float
    rate_other: float
    ceiling: float

    def refutes(self, claimed: float) -> bool:
        """Whether the experiment shows, at its confidence, that the claimed ε is too small."""
        return self.epsilon > claimed

    @property
    def metric(self) -> Metric:
        """The experiment as a metric for reports; it was run once, so its value does not depend on the files."""
        details = {
            "event": self.event,
            "rates": (self.rate_likelier, self.rate_other),
            "trials": self.trials,
            "most that could be shown": self.ceiling,
        }
        return Metric(
            "lower bound on ε",
            "lower",
            (0.0, math.inf),
            None,
            f"ε is at least this with {self.confidence:.0%} confidence; below the claim it shows nothing",
            lambda comparison: Outcome(self.epsilon, details),
        )


def canary_bound(
    draw: Draw,
    *,
    trials: int = 20_000,
    scouts: int | None = None,
    confidence: float = 0.95,
    delta: float = 0.0,
    seed: int = 0,
) -> CanaryBound:
    """Lower bound on ε from `trials` counted runs on each side, plus `scouts` (a quarter as many) to choose the event.

    The event (a threshold, a tail, a direction, and of several numbers which) is chosen on separate runs, so that the
    counted runs test one event only. The two rates are bounded by Clopper-Pearson at (1 - confidence)/2 each, so for a
    correct mechanism the bound exceeds the true ε with probability at most 1 - confidence, at any number of trials.

    >>> def laplace(canary_in, count, rng):
    ...     return rng.laplace(1.0 if canary_in else 0.0, 1.0, count)
    >>> bound = canary_bound(laplace, trials=5000, seed=1)
    >>> 0.8 < bound.epsilon < 1.0, bound.refutes(1.0)
    (True, False)
    """
    if trials < 20:
        raise UsageError(f"canary trials: {trials} is too few to bound anything; use at least 20, better 10000")
    if not 0.5 < confidence < 1 or not 0 <= delta < 1:
        raise UsageError("canary confidence must lie in (0.5, 1) and delta in [0, 1)")
    generator = np.random.default_rng(seed)
    scouts = max(20, trials // 4 if scouts is None else scouts)
    scouted = [_outputs(draw, side, scouts, generator) for side in (True, False)]
    if scouted[0].shape != scouted[1].shape:
        raise UsageError("canary draw: must return as many numbers per run with the canary as without it")
    events = [
        _best_event(inside, outside, confidence, delta)
        for inside, outside in zip(scouted[0].T, scouted[1].T, strict=True)
    ]
    which = int(np.argmax([event[0] for event in events]))
    _, threshold, upper_tail, canary_likelier = events[which]
    counted = [_outputs(draw, side, trials, generator)[:, which] for side in (True, False)]
    hits = [int(np.sum(one >= threshold if upper_tail else one <= threshold)) for one in counted]
    likelier, other = hits if canary_likelier else hits[::-1]
    epsilon = float(_bounds(np.array([likelier]), np.array([other]), trials, confidence, delta)[0])
    side = "with" if canary_likelier else "without"
    name = "output" if len(events) == 1 else f"output {which + 1}"
    return CanaryBound(
        epsilon=max(0.0, epsilon),
        confidence=confidence,
        delta=delta,
        trials=trials,
        event=f"{name} {'≥' if upper_tail else '≤'} {threshold:.6g}, likelier {side} the canary",
        rate_likelier=likelier / trials,
        rate_other=other / trials,
        ceiling=float(_bounds(np.array([trials]), np.array([0]), trials, confidence, delta)[0]),
    )


def detection_power(
    claimed: float, actual: float, *, trials: int, event_rate: float = 0.5, confidence: float = 0.95, delta: float = 0.0
) -> float:
    """Probability that the bound exceeds `claimed` when an event has rates `event_rate` and event_rate·e^-actual.

    Exact, by summing over both binomial counts; it takes the best event as known. Use it to choose the number of
    trials, and to say how little an experiment that found nothing has shown.

    >>> round(detection_power(1.0, 1.25, trials=2000), 3)
    0.963
    >>> detection_power(1.0, 1.0, trials=5000) <= 0.05
    True
    """
    if not (0 < event_rate <= 1 and actual >= 0 and trials >= 1):
        raise UsageError("detection power: event_rate must lie in (0, 1], actual ε be ≥ 0 and trials ≥ 1")
    tail = (1 - confidence) / 2
    low, high = stats.binom.ppf([1e-12, 1 - 1e-12], trials, event_rate)
    hits = np.arange(int(low), int(high) + 1)
    needed = (_lower_rate(hits, trials, tail) - delta) * np.exp(-claimed)
    # The upper Clopper-Pearson end of k is below r exactly when P(X ≤ k | r) < tail.
    most_other = np.where(needed > 0, stats.binom.ppf(tail, trials, np.clip(needed, 1e-300, 1)) - 1, -1)
    seen = stats.binom.pmf(hits, trials, event_rate)
    return float(np.sum(seen * stats.binom.cdf(most_other, trials, event_rate * np.exp(-actual))))


def _outputs(draw: Draw, canary_in: bool, count: int, generator: np.random.Generator) -> Floats:
    outputs = np.asarray(draw(canary_in, count, generator), dtype=np.float64)
    if outputs.ndim not in (1, 2) or len(outputs) != count or not outputs.size:
        raise UsageError(
            f"canary draw: must return {count} numbers, one per run, or rows of them; it returned shape {outputs.shape}"
        )
    if np.isnan(outputs).any():
        raise UsageError("canary draw: an output is not a number; reduce every output to a number before counting")
    return outputs.reshape(count, -1)


def _best_event(inside: Floats, outside: Floats, confidence: float, delta: float) -> tuple[float, float, bool, bool]:
    """The highest bound on the scouting runs, and the threshold, tail and direction that give it."""
    seen = np.unique(np.concatenate([inside, outside]))
    if len(seen) > _MOST_THRESHOLDS:
        seen = seen[np.linspace(0, len(seen) - 1, _MOST_THRESHOLDS).astype(np.intp)]
    n = len(inside)
    sorted_in, sorted_out = np.sort(inside), np.sort(outside)
    best: tuple[float, float, bool, bool] = (-np.inf, float(seen[0]), True, True)
    for upper_tail in (True, False):
        count_in, count_out = (
            (n - np.searchsorted(one, seen, side="left")) if upper_tail else np.searchsorted(one, seen, side="right")
            for one in (sorted_in, sorted_out)
        )
        for canary_likelier in (True, False):
            pair = (count_in, count_out) if canary_likelier else (count_out, count_in)
            bounds = _bounds(pair[0], pair[1], n, confidence, delta)
            top = int(np.argmax(bounds))
            if bounds[top] > best[0]:
                best = (float(bounds[top]), float(seen[top]), upper_tail, canary_likelier)
    return best


def _bounds(likelier: ArrayLike, other: ArrayLike, trials: int, confidence: float, delta: float) -> Floats:
    tail = (1 - confidence) / 2
    surely = _lower_rate(np.asarray(likelier), trials, tail) - delta
    k = np.asarray(other, dtype=np.float64)
    at_most = np.where(k < trials, stats.beta.ppf(1 - tail, k + 1, np.maximum(trials - k, 1)), 1.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(surely > 0, np.log(np.maximum(surely, 1e-300) / at_most), -np.inf)


def _lower_rate(hits: NDArray[np.int64], trials: int, tail: float) -> Floats:
    k = hits.astype(np.float64)
    return np.where(k > 0, stats.beta.ppf(tail, np.maximum(k, 1), trials - k + 1), 0.0)
