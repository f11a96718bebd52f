"""Draws of a whole plane by the exact line sampler: a Markov chain without a step size, and a gate before its result.

Along any line θ + t·d through the space of planes a record changes sides once, at t = (y − xθ)/(x·d). Between those
points the summed gradient is constant, so the law along the line is drawn from exactly, in one sort. The chain moves
along the intercept, along slopes turned about either end of the box, and along directions that are learnt while it
warms up. Four chains start from planes that are spread over the public region without looking at the data.

The law of a chain's last state is close to the mechanism's, not equal to it. A draw is handed on only if the
rank-normalised split R-hat and the bulk effective sample size of all coefficients pass the gate. The proof is `kng.md`.

A chain asks for millions of numbers, and its law is not exact in any case, so they come from a fast stream in compiled
code: xoshiro256++ of Blackman and Vigna, started from 256 fresh bits. `paper` uses it too; exact mechanisms take
every bit from `tacita.noise.entropy` itself.
"""

from __future__ import annotations

import itertools
import math
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial

import numba
import numpy as np
from numpy.typing import NDArray

from tacita.errors import TacitaError, UsageError
from tacita.mechanisms.kng.convergence import bulk_ess, split_rhat
from tacita.noise.entropy import Entropy, Request, Words

Numbers = NDArray[np.float64]

ASSUMES = (
    "the chains that draw each plane have reached their law: several chains from dispersed public starts must agree "
    "(R-hat, effective sample size), else nothing is released; this is evidence, not proof",
    "that a release was refused by this check, and how long it took, is not counted as an output",
    "a chain's random numbers come from xoshiro256++ started from 256 fresh bits, and it computes with 64-bit floats",
)


class NotConvergedError(TacitaError):
    """The chains did not pass the gate: nothing is released, and the budget of the draw is spent."""

    exit_code = 3


@dataclass(frozen=True)
class Gate:
    """What chains must show, and how long they may try: blocks of `steps`, 2·`steps`, 4·`steps`, …"""

    rhat: float = 1.01
    ess: float = 400.0
    chains: int = 4
    steps: int = 500
    blocks: int = 6

    def __post_init__(self) -> None:
        if self.chains < 2 or self.steps < 50 or self.blocks < 1:
            raise UsageError("gate: needs at least 2 chains, 50 steps and 1 block")


@dataclass(frozen=True)
class Drawn:
    """A plane that passed the gate. `rhat`, `ess` and `steps` come from confidential rows: keep them inside."""

    plane: Numbers
    rhat: float
    ess: float
    steps: int


def corners(predictors: int) -> Numbers:
    """The rows (1, x) at the corners of the unit box.

    >>> corners(1).tolist()
    [[1.0, 0.0], [1.0, 1.0]]
    """
    return np.array([[1.0, *corner] for corner in itertools.product((0.0, 1.0), repeat=predictors)])


def sample_plane(
    design: Numbers,
    response: Numbers,
    tau: float,
    rate: float,
    floor: Numbers,
    cap: Numbers,
    entropy: Entropy,
    *,
    gate: Gate | None = None,
    label: str = "plane",
) -> Drawn:
    """A plane between `floor` and `cap` on the whole unit box, of density ∝ exp(−rate·‖Σ x(1{y ≤ xθ} − τ)‖∞).

    `design` has rows (1, x) with x in the unit box. `floor` and `cap` are planes: two constants for public bounds, or
    quantiles drawn before, which the new one must not cross.

    >>> from tacita.noise.entropy import SeededEntropy
    >>> x = np.linspace(0, 1, 2001)
    >>> y = 2 + 3 * x + np.tile([-0.5, 0.0, 0.5], 667)
    >>> drawn = sample_plane(np.column_stack([np.ones(2001), x]), y, 0.5, 1.0, np.array([0.0, 0]),
    ...                      np.array([100.0, 0]), SeededEntropy(1))
    >>> bool(abs(drawn.plane - [2, 3]).max() < 2)
    True
    """
    gate = gate or Gate()
    at = corners(design.shape[1] - 1)
    low, high = at @ floor, at @ cap
    if not (low < high).all():
        raise UsageError("floor, cap: there must be room between the two planes at every corner of the predictors' box")
    law = f"plane tau={tau} rate={rate} chains={gate.chains}"
    entropy.announce(Request(label, law, np.array([len(response)]), np.array([1 / rate])))
    inside, settled = _undecided(design, response, tau, floor, cap)
    columns, wanted = np.ascontiguousarray(design[inside].T), np.ascontiguousarray(response[inside])
    settled = settled - tau * design[inside].sum(axis=0)
    streams = [start_stream(entropy) for _ in range(gate.chains)]
    nothing, size = np.zeros((design.shape[1], 0)), design.shape[1]
    middle, unlearnt = (floor + cap) / 2, np.zeros((0, size))
    # Public starts: the same walk without any data.
    states = [
        _walk(nothing, np.zeros(0), np.zeros(size), 0.0, at, low, high, middle, unlearnt, 40 * size, stream)[-1]
        for stream in streams
    ]
    learnt = [unlearnt for _ in streams]
    taken = 0
    for block in range(gate.blocks + 1):
        steps = gate.steps * 2 ** max(block - 1, 0)
        with ThreadPoolExecutor(2) as pool:  # each chain has its own stream, so the order of threads changes nothing
            walk = partial(_walk, columns, wanted, settled, rate, at, low, high)
            runs = list(pool.map(walk, states, learnt, itertools.repeat(steps), streams))
        taken += steps
        states = [run[-1] for run in runs]
        learnt = [run[steps // 2 :] for run in runs]
        if block == 0:
            continue  # the warm-up, which only teaches directions
        draws = np.array(runs)
        rhat = max(split_rhat(draws[:, :, k]) for k in range(size))
        ess = min(bulk_ess(draws[:, :, k]) for k in range(size))
        if rhat <= gate.rhat and ess >= gate.ess:
            return Drawn(states[0], rhat, ess, taken)
    raise NotConvergedError(
        f"{label}: the chains did not agree within the steps they were given, so nothing is released. The budget of "
        "this draw is spent. Rehearse on public rows with more steps (gate), fewer predictors or a narrower public box"
    )


def _undecided(
    design: Numbers, response: Numbers, tau: float, floor: Numbers, cap: Numbers
) -> tuple[NDArray[np.bool_], Numbers]:
    """Records between the two planes, and the summed gradient of the others, which no allowed plane changes."""
    under, over = design @ floor, design @ cap
    slack = 1e-9 * (np.abs(under) + np.abs(over))
    below, above = response <= under - slack, response > over + slack
    settled = design[below].sum(axis=0) * (1 - tau) - design[above].sum(axis=0) * tau
    return ~(below | above), settled


@numba.njit(cache=True, nogil=True)
def _walk(columns, response, settled, rate, at, low, high, start, learnt, steps, stream):  # type: ignore[no-untyped-def]
    """`steps` states of a chain. `settled` is the summed gradient with every record in `columns` above the plane."""
    p, n = columns.shape
    draws = np.empty((steps, p))
    theta, way = start.copy(), np.zeros(p)
    gap, slope = np.empty(n), np.empty(n)
    when, row, place = np.empty(n), np.empty(n, np.int64), np.empty(n, np.int64)
    cost, edge = np.empty(n + 1), np.empty(n + 2)
    gradient = np.empty(p)
    for step in range(steps):
        power = _direction(way, theta, learnt, stream)
        first, last = _segment(at, low, high, theta, way)
        if 0.0 < last - first < math.inf:  # two equal states give no direction
            for i in range(n):
                gap[i] = response[i]
                slope[i] = 0.0
            for k in range(p):
                for i in range(n):
                    gap[i] -= columns[k, i] * theta[k]
                    slope[i] += columns[k, i] * way[k]
            gradient[:] = settled
            events = 0
            for i in range(n):
                rising = slope[i] > 0.0
                t = gap[i] / slope[i] if slope[i] != 0.0 else (math.inf if gap[i] > 0.0 else -math.inf)
                if slope[i] == 0.0:
                    rising = True
                if t <= first:
                    below = rising
                elif t >= last:
                    below = not rising
                else:
                    below = not rising
                    when[events] = t
                    row[events] = i
                    events += 1
                if below:
                    for k in range(p):
                        gradient[k] += columns[k, i]
            _order(when, row, place, events, first, last)
            t = _on_line(
                columns, slope, when, place, row, events, first, last, gradient, rate, power, cost, edge, stream
            )
            for k in range(p):
                theta[k] += t * way[k]
        draws[step] = theta
    return draws


@numba.njit(cache=True, nogil=True)
def _direction(way, theta, learnt, stream):  # type: ignore[no-untyped-def]
    """A line to draw along, and the power of the distance that its law carries.

    Mostly parallel to the line between two earlier states (power 1), or through the present and an earlier one (power
    p, see the proof); else the intercept, or a slope turned about an end of its range. The earlier states are those of
    the block before, which stay the same throughout a block.
    """
    p = way.size
    way[:] = 0.0
    kind = uniform(stream) if learnt.shape[0] > 0 else 1.0
    if p == 1:
        way[0] = 1.0
    elif kind < 0.8:
        one = learnt[int(uniform(stream) * learnt.shape[0])]
        two = learnt[int(uniform(stream) * learnt.shape[0])] if kind < 0.4 else theta
        for k in range(p):
            way[k] = two[k] - one[k]
        return 1 if kind < 0.4 else p
    else:
        pick = int(uniform(stream) * (2 * p - 1))
        if pick == 0:
            way[0] = 1.0
        elif pick < p:
            way[pick] = 1.0
        else:
            way[0] = 1.0
            way[pick - p + 1] = -1.0
    return 1


@numba.njit(cache=True, nogil=True)
def _segment(at, low, high, theta, way):  # type: ignore[no-untyped-def]
    """How far the line stays between the bounds at all corners; 0 is always inside but for rounding."""
    first, last = -math.inf, math.inf
    for c in range(at.shape[0]):
        value, slope = 0.0, 0.0
        for k in range(at.shape[1]):
            value += at[c, k] * theta[k]
            slope += at[c, k] * way[k]
        if slope != 0.0:
            one, two = (low[c] - value) / slope, (high[c] - value) / slope
            first, last = max(first, min(one, two)), min(last, max(one, two))
    return min(first, 0.0), max(last, 0.0)


@numba.njit(cache=True, nogil=True)
def _order(when, row, place, events, first, last):  # type: ignore[no-untyped-def]
    """Sort the events: `place` lists their positions by time. Buckets on a log scale about 0, then insertion."""
    if events < 64:
        place[:events] = np.argsort(when[:events])
        return
    width = (last - first) * 2.0**-24
    bucket = np.empty(events, np.int64)
    lowest, highest = 0, 0
    for e in range(events):
        size = math.frexp(abs(when[e]) / width + 1.0)
        key = int((size[1] - 1 + 2.0 * (size[0] - 0.5)) * 64.0)
        bucket[e] = key if when[e] >= 0.0 else -key
        lowest, highest = min(lowest, bucket[e]), max(highest, bucket[e])
    counts = np.zeros(highest - lowest + 2, np.int64)
    for e in range(events):
        counts[bucket[e] - lowest + 1] += 1
    if counts.max() > 8 + events // 16:
        place[:events] = np.argsort(when[:events])
        return
    for b in range(1, counts.size):
        counts[b] += counts[b - 1]
    for e in range(events):
        place[counts[bucket[e] - lowest]] = e
        counts[bucket[e] - lowest] += 1
    for e in range(1, events):
        moving = place[e]
        back = e - 1
        while back >= 0 and when[place[back]] > when[moving]:
            place[back + 1] = place[back]
            back -= 1
        place[back + 1] = moving


@numba.njit(cache=True, nogil=True)
def _mass(t, power):  # type: ignore[no-untyped-def]
    """The integral of the line's base measure up to t, but for factors that cancel."""
    if power == 1:
        return t
    return math.copysign(abs(1.0 + t) ** power, 1.0 + t)


@numba.njit(cache=True, nogil=True)
def _on_line(  # type: ignore[no-untyped-def]
    columns, slope, when, place, row, events, first, last, gradient, rate, power, cost, edge, stream
):
    """An exact draw of t on [first, last] from the piecewise constant law times |1 + t|^(power − 1)."""
    p = gradient.size
    edge[0] = _mass(first, power)
    least = math.inf
    for e in range(events + 1):
        if e > 0:
            i = row[place[e - 1]]
            sign = 1.0 if slope[i] > 0.0 else -1.0
            for k in range(p):
                gradient[k] += sign * columns[k, i]
        norm = 0.0
        for k in range(p):
            norm = max(norm, abs(gradient[k]))
        cost[e] = rate * norm
        edge[e + 1] = _mass(when[place[e]] if e < events else last, power)
        if edge[e + 1] > edge[e]:
            least = min(least, cost[e])
    total = 0.0
    for e in range(events + 1):
        length = edge[e + 1] - edge[e]
        cost[e] = math.exp(least - cost[e]) * length if length > 0.0 else 0.0
        total += cost[e]
    left = uniform(stream) * total
    for e in range(events + 1):
        if left < cost[e]:
            mass = edge[e] + (edge[e + 1] - edge[e]) * (left / cost[e])
            if power == 1:
                return mass
            return math.copysign(abs(mass) ** (1.0 / power), mass) - 1.0
        left -= cost[e]
    return 0.0


_TO_UNIT = 1.0 / (1 << 53)


def start_stream(entropy: Entropy) -> Words:
    """The state of a new stream; four words that are all zero would stay zero."""
    state = entropy.words(4)
    return np.asarray(state) if state.any() else start_stream(entropy)


@numba.njit(cache=True, nogil=True)
def _turn(word, by):  # type: ignore[no-untyped-def]
    return (word << np.uint64(by)) | (word >> np.uint64(64 - by))


@numba.njit(cache=True, nogil=True)
def uniform(state):  # type: ignore[no-untyped-def]
    """A number in [0, 1) with 53 random bits."""
    word = _turn(state[0] + state[3], 23) + state[0]
    kept = state[1] << np.uint64(17)
    state[2] ^= state[0]
    state[3] ^= state[1]
    state[1] ^= state[2]
    state[0] ^= state[3]
    state[2] ^= kept
    state[3] = _turn(state[3], 45)
    return float(word >> np.uint64(11)) * _TO_UNIT


@numba.njit(cache=True, nogil=True)
def normal(state):  # type: ignore[no-untyped-def]
    """A standard normal number."""
    return math.sqrt(-2.0 * math.log(1.0 - uniform(state))) * math.cos(2.0 * math.pi * uniform(state))
