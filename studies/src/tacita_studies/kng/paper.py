"""tran2023 as it was run: Metropolis-Hastings, short, tuned by hand and started from the confidential answer.

Kept to reproduce Table 1 and to show what its numbers are made of. Nothing here is private: `paper_guarantee` says so.
What is taken from the authors' public scripts (repository tranntran/privatequantile) and not from the text:

- a chain of 1,000 states, of which the last is released. It starts from the non-private median regression; each later
  quantile starts from its neighbour, plain KNG from zero;
- the ∞-norm and the exponent (ε_q/2)·‖G‖/(2(1 − τ)·C_X), with C_X = 1, 46, 106 and the intercept left at 1;
- seven main quantiles, and for fixed slopes 0.6 of the budget for the median (the text: six, and 0.8);
- the first plane keeps the bounds on the confidential rows, later ones keep them, and their order, on synthetic rows;
- plain KNG divides the response by its own maximum, and has no bounds;
- step sizes s, set by hand for each variable and layout. All coefficients move at once with covariance s·I; after
  every ten acceptances it becomes s times the correlation matrix of the whole chain, whose states to come count as
  zeros. With a fixed slope, or no predictor, the intercept moves alone with standard deviation s.

The scripts exist in several versions with different step sizes and lengths. The one followed here was picked because
its scores agree with the rows of Table 1. The base measure is the text's, exp(−0.00001·‖θ‖²); a stored copy of the
scripts has exp(−½‖θ‖²), whose scores do not agree.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numba
import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.optimize import linprog

from tacita.errors import UsageError
from tacita.noise.entropy import Entropy, Words
from tacita.privacy import Guarantee, Loss, Neighbours, Number, ReplaceOne, exact, text
from tacita_studies.kng.budget import HALF, MAIN_IN_CODE, QUANTILES, Kind, Layout, Slope, Step, intervals
from tacita_studies.kng.chain import normal, start_stream, uniform
from tacita_studies.kng.sensitivity import printed_rate, true_epsilon

Numbers = NDArray[np.float64]
Start = Callable[[Numbers, Numbers], Numbers]

BASE_MEASURE = 0.00001
ONE_RECORD = ReplaceOne("record")  # the paper's definition 1
ORDER = ("x1", "x2", "x3")
LAYOUTS: tuple[tuple[Kind, Slope], ...] = (
    ("stepwise", "fixed"),
    ("stepwise", "varying"),
    ("sandwich", "fixed"),
    ("sandwich", "varying"),
    ("plain", "varying"),
)


@dataclass(frozen=True)
class Setting:
    """Everything that was chosen by hand for one variable."""

    layout: Layout
    epsilon: Fraction
    bound: Fraction
    upper: float
    walk: float
    between: float = 0.0
    steps: int = 1000
    base: float = BASE_MEASURE


def settings(kind: Kind, slope: Slope = "fixed", epsilon: Number = 1) -> tuple[Setting, Setting, Setting]:
    """The settings of X1, X2 and X3 in the simulation of section 4.1.

    >>> [str(one.epsilon) for one in settings("stepwise", "fixed")]
    ['1/2', '1/4', '1/4']
    """
    total = exact(epsilon, "epsilon")
    unconditional = Layout(kind, slope, "0.25", "0.6", MAIN_IN_CODE)
    median, main = ("0.6", "0.7") if slope == "fixed" else ("0.8", "0.8")
    conditional = Layout(kind, slope, median, main, MAIN_IN_CODE)
    first = {"plain": (0.01, 0.0), "stepwise": (0.025, 0.0), "sandwich": (0.1, 0.03)}[kind]
    later = {
        ("stepwise", "fixed"): (0.01, 0.0),
        ("stepwise", "varying"): (6e-6, 0.0),
        ("sandwich", "fixed"): (0.05, 0.01),
        ("sandwich", "varying"): (3e-5, 9e-6),
    }.get((kind, slope), (1e-5, 0.0))
    return (
        Setting(unconditional, total / 2, Fraction(1), 1000.0, *first),
        Setting(conditional, total / 4, Fraction(46), 1000.0, *later),
        Setting(conditional, total / 4, Fraction(106), 2000.0, *later),
    )


def printed_cost(
    kind: Kind, slope: Slope = "fixed", epsilon: Number = 1, neighbours: Neighbours = ONE_RECORD
) -> Fraction:
    """The ε of all three variables had every draw been an exact one from the printed density.

    >>> [round(float(printed_cost(kind, slope)), 2) for kind, slope in LAYOUTS]
    [2.16, 1.96, 4.84, 4.21, 2.98]
    """
    cost = Fraction(0)
    for place, one in enumerate(settings(kind, slope, epsilon)):
        shares = {tau: share * one.epsilon for tau, share in one.layout.shares(QUANTILES).items()}
        cost += true_epsilon(shares, neighbours, 1 if place else 0)
    return cost


def paper_guarantee(kind: Kind, slope: Slope = "fixed", epsilon: Number = 1, unit: str = "record") -> Guarantee:
    """No guarantee, and why.

    >>> print(paper_guarantee("sandwich", "fixed"))
    no guarantee
    """
    cost = printed_cost(kind, slope, epsilon, ReplaceOne(unit))
    return Guarantee(
        ReplaceOne(unit),
        Loss(cost),
        holds="never",
        assumes=(
            "no guarantee: chain not converged, starts not private; the printed calibration would be "
            f"ε = {float(cost):.3g} (claimed: {text(exact(epsilon))}) even if converged",
        ),
    )


def paper_synthesis(
    training: pd.DataFrame,
    kind: Kind,
    slope: Slope = "fixed",
    *,
    entropy: Entropy,
    epsilon: Number = 1,
    order: Sequence[str] = ORDER,
    chosen: Sequence[Setting] | None = None,
    start: Start | None = None,
) -> pd.DataFrame:
    """One synthetic file of as many rows as the training file, variable by variable. Not private.

    A quantile stands for the interval that it closes, and the last one also for what is above it. `start` finds
    the non-private median plane (intercept first) of predictors and response; by default a linear programme does.
    """
    per_variable = settings(kind, slope, epsilon) if chosen is None else tuple(chosen)
    if len(per_variable) != len(order):
        raise UsageError("order: one setting per variable")
    stream, rows = start_stream(entropy), len(training)
    chances = np.cumsum([float(right - left) for left, right in intervals(QUANTILES)])
    made = np.ones((rows, 1))
    for place, (name, one) in enumerate(zip(order, per_variable, strict=True)):
        before = training[list(order[:place])].to_numpy(dtype=np.float64)
        response = training[name].to_numpy(dtype=np.float64)
        planes = paper_planes(before, response, one, stream, made if place else None, start or median_plane)
        which = np.searchsorted(chances, _uniforms(stream, rows), side="right").clip(max=len(planes) - 1)
        made = np.column_stack([made, np.einsum("rc,rc->r", made, planes[which])])
    return pd.DataFrame(made[:, 1:], columns=list(order))


def paper_planes(
    predictors: Numbers,
    response: Numbers,
    setting: Setting,
    stream: Words,
    check: Numbers | None = None,
    start: Start | None = None,
) -> Numbers:
    """One plane per quantile, intercept first. On the rows `check`, (1, synthetic values), planes must not cross."""
    limit = float(setting.bound)
    design = np.column_stack([np.ones(len(response)), np.minimum(predictors, limit)])
    columns = np.ascontiguousarray(design.T)
    at = columns if check is None else np.ascontiguousarray(check.T)
    plain = setting.layout.kind == "plain"
    unit = float(np.abs(response).max()) if plain else 1.0
    begin = np.zeros(len(columns)) if plain else (start or median_plane)(predictors, response)
    drawn: dict[Fraction, Numbers] = {}
    for number, step in enumerate(setting.layout.steps(QUANTILES)):
        walking = plain or number <= _walked(setting.layout)
        size = (setting.walk if walking else setting.between) / unit
        rate = float(printed_rate(step.tau, step.share * setting.epsilon, setting.bound))
        first = plain or number == 0
        alone = not first and (setting.layout.slope == "fixed" or len(columns) == 1)
        states = _metropolis(
            columns,
            response / unit,
            float(step.tau),
            rate,
            setting.base,
            begin if first else _neighbour(drawn, step),
            setting.steps,
            size,
            alone,
            columns if first else at,  # the first plane is checked on the confidential rows themselves
            -math.inf if plain else 0.0,
            math.inf if plain else setting.upper,
            drawn[step.floor] if step.floor in drawn else np.zeros(0),
            drawn[step.cap] if step.cap in drawn else np.zeros(0),
            stream,
        )
        drawn[step.tau] = states[-1] * unit
    return np.array([drawn[tau] for tau in QUANTILES])


def median_chain(predictors: Numbers, response: Numbers, setting: Setting, stream: Words) -> Numbers:
    """All states of the chain that draws the first plane: to measure how many independent draws it is worth."""
    columns = np.ascontiguousarray(
        np.column_stack([np.ones(len(response)), np.minimum(predictors, float(setting.bound))]).T
    )
    rate = float(printed_rate(HALF, setting.layout.shares(QUANTILES)[HALF] * setting.epsilon, setting.bound))
    nothing, start = np.zeros(0), median_plane(predictors, response)
    moves = (setting.base, start, setting.steps, setting.walk, False)
    return np.asarray(
        _metropolis(columns, response, 0.5, rate, *moves, columns, 0.0, setting.upper, nothing, nothing, stream)
    )


def median_plane(predictors: Numbers, response: Numbers) -> Numbers:
    """The non-private median regression, by its linear programme.

    >>> x = np.arange(9.0)
    >>> median_plane(x[:, None], 2 * x + np.tile([-1.0, 0.0, 5.0], 3)).round(6).tolist()
    [0.0, 2.0]
    """
    design = np.column_stack([np.ones(len(response)), predictors])
    best = linprog(-response, A_eq=design.T, b_eq=design.sum(axis=0) / 2, bounds=(0, 1), method="highs")
    return np.asarray(-best.eqlin.marginals, dtype=np.float64)


def public_start(level: float) -> Start:
    """A flat plane for every variable: where chains would have to start if the start were to reveal nothing.

    >>> public_start(100.0)(np.zeros((5, 2)), np.zeros(5)).tolist()
    [100.0, 0.0, 0.0]
    """
    return lambda predictors, response: np.array([level, *np.zeros(predictors.shape[1])])


def with_steps(chosen: Sequence[Setting], steps: int) -> tuple[Setting, ...]:
    """The same settings with chains of another length."""
    return tuple(replace(one, steps=steps) for one in chosen)


def _walked(layout: Layout) -> int:
    """The place of the last draw that is walked to rather than sandwiched."""
    return len(QUANTILES) if layout.kind == "stepwise" else sum(tau in layout.main for tau in QUANTILES) - 1


def _neighbour(drawn: dict[Fraction, Numbers], step: Step) -> Numbers:
    """Chains below the median start from the quantile above, chains above it from the one below."""
    nearer = step.cap if step.tau < HALF else step.floor
    if nearer is None:
        raise UsageError("quantiles: every quantile but the median needs one already drawn towards the median")
    return drawn[nearer]


def _uniforms(stream: Words, count: int) -> Numbers:
    return np.array([uniform(stream) for _ in range(count)])


# Loops run along the rows so that they compile to vector instructions; sums may be reordered.
@numba.njit(cache=True, nogil=True, fastmath={"reassoc", "nsz", "contract"})
def _log_density(columns, response, tau, rate, base, theta, room):  # type: ignore[no-untyped-def]
    p, n = columns.shape
    _values(columns, theta, room)
    for i in range(n):
        room[i] = (1.0 if response[i] <= room[i] else 0.0) - tau
    most = 0.0
    square = 0.0
    for k in range(p):
        gradient = 0.0
        for i in range(n):
            gradient += columns[k, i] * room[i]
        most = max(most, abs(gradient))
        square += theta[k] * theta[k]
    return -rate * most - base * square


@numba.njit(cache=True, nogil=True)
def _values(at, theta, room):  # type: ignore[no-untyped-def]
    for i in range(at.shape[1]):
        room[i] = at[0, i] * theta[0]
    for k in range(1, at.shape[0]):
        for i in range(at.shape[1]):
            room[i] += at[k, i] * theta[k]


@numba.njit(cache=True, nogil=True)
def _allowed(at, theta, low, high, floor, cap, alone, room):  # type: ignore[no-untyped-def]
    """Whether a plane keeps the bounds and does not cross its neighbours on the rows where that is checked."""
    if alone and ((floor.size and theta[0] <= floor[0]) or (cap.size and theta[0] >= cap[0])):
        return False
    _values(at, theta, room)
    if room.min() < low or room.max() > high:
        return False
    if not alone and floor.size:
        _values(at, theta - floor, room)
        if room.min() <= 0.0:
            return False
    if not alone and cap.size:
        _values(at, cap - theta, room)
        if room.min() <= 0.0:
            return False
    return True


@numba.njit(cache=True, nogil=True)
def _metropolis(  # type: ignore[no-untyped-def]
    columns, response, tau, rate, base, start, steps, size, alone, at, low, high, floor, cap, stream
):
    """All states of a random walk, the start first."""
    p = columns.shape[0]
    state, proposal, noise = start.copy(), start.copy(), np.zeros(p)
    room, room_at = np.empty(columns.shape[1]), np.empty(at.shape[1])
    here = _log_density(columns, response, tau, rate, base, state, room)
    lower = np.eye(p) * math.sqrt(size)
    total, product = state.copy(), np.outer(state, state)
    accepted = 0
    states = np.empty((steps, p))
    states[0] = state
    for step in range(1, steps):
        if alone:
            proposal[:] = state
            proposal[0] += size * normal(stream)
        else:
            for k in range(p):
                noise[k] = normal(stream)
            for k in range(p):
                proposal[k] = state[k]
                for j in range(k + 1):
                    proposal[k] += lower[k, j] * noise[j]
        chance = uniform(stream)
        if _allowed(at, proposal, low, high, floor, cap, alone, room_at):
            there = _log_density(columns, response, tau, rate, base, proposal, room)
            if math.log(max(chance, 1e-300)) < there - here:
                state[:] = proposal
                here = there
                accepted += 1
        states[step] = state
        total += state
        product += np.outer(state, state)
        if accepted == 10 and not alone:
            # The states to come count as zeros: the chain divides by its full length from the start.
            spread = np.outer(total, total)
            covariance = product / steps - spread / (steps * steps)
            wanted = np.empty((p, p))
            for k in range(p):
                for j in range(p):
                    wanted[k, j] = size * covariance[k, j] / math.sqrt(covariance[k, k] * covariance[j, j])
                wanted[k, k] = size * (1.0 + 0.00002)
            lower = np.linalg.cholesky(wanted)
            accepted = 0
        elif accepted == 10:
            accepted = 0
    return states
