"""The pMSE mechanism (Snoke and Slavković 2018) with the simulation's own parametric form.

A synthesis model with parameters θ is drawn with density exp(−rate · S(data, θ)) on a public box, where S is the pMSE
of the data against what the model would make, times 4 (n + m): with a_k records and b_k synthetic records in cell k
of the classifier and equal weight for both files, pMSE is Σ_k (a_k − b_k)² / (a_k + b_k) over 4 (n + m), because the
propensity score in the cell is b_k / (a_k + b_k).

**Sensitivity.** Let r = (b − a) / (a + b), which is between −1 and 1. The derivative of (a − b)² / (a + b) with
respect to a is −2 r − r², between −3 and 1. So one record more changes S by between −3 and 1, whatever θ is, and the
density changes by a factor between e^(−rate) and e^(3 rate), as does its integral: the ratio of two normalised
densities is at most e^(4 rate). With rate = ε/4 this is ε-private under add/remove. (Replacing a record moves S by at
most 4 either way, which is 1/(2n) for pMSE of two files of n rows; the authors use 1/n, twice that.)

This needs a partition that is fixed before the data are seen, and b_k that depends on θ alone. The authors grow CART
greedily on the data; a greedy tree can change altogether with one record, so their bound, which is for the best tree,
does not cover it (they simulate how often it fails). Here the cells are a public grid and b_k is the expected number
under θ, by a fixed set of low-discrepancy points: the expectation is inside the square, which changes the score by an
amount that depends little on θ, and leaves no noise in it.

**Sampling.** Populations of chains (differential evolution, ter Braak 2006), each from starts spread over the public
box. The guarantee assumes that they have converged; a draw whose R-hat exceeds 1.05 says that it has none.

The printed rows of tran2023 do not come from a converged chain. By the public R script that grew out of the paper's,
the chain makes 100 Metropolis steps, starts from the simulation's true intercepts and slopes, and releases its last
state.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property

import numba
import numpy as np
import pandas as pd
from scipy.stats import qmc

from tacita.errors import UsageError
from tacita.privacy import AddRemoveOne, Guarantee, Loss, exact
from tacita_studies.tran2023.peers.inputs import Numbers
from tacita_studies.tran2023.simulation import ORDER

PARAMETERS = ("rate1", "intercept2", "slope21", "rate2", "intercept3", "slope31", "slope32", "rate3")
_RATES = tuple(name.startswith("rate") for name in PARAMETERS)
CONVERGED = 1.05


@dataclass(frozen=True, eq=False)
class PublicFrame:
    """Everything the mechanism takes as public: bounds, cells, the box of parameters and the nominal file size.

    A cell is a product of one bin per variable; bins have equal width on the log scale from `finest` to the bound, and
    the first reaches down to 0. Rates are given by the means 1/rate and have a log-uniform base measure.
    """

    rows: int = 5000
    upper: Mapping[str, float] = field(default_factory=lambda: {"x1": 1000.0, "x2": 1000.0, "x3": 2000.0})
    finest: float = 1.0
    bins: int = 16
    means: tuple[float, float] = (1.0, 1000.0)
    intercepts: tuple[float, float] = (0.0, 100.0)
    slopes: tuple[float, float] = (0.0, 10.0)
    points: int = 4096

    def __post_init__(self) -> None:
        if self.rows < 1 or self.points < 2 or self.bins < 2 or self.bins & (self.bins - 1):
            raise UsageError("rows, points and bins: at least 1, 2 and 2, and bins a power of two")
        if any(self.upper[name] <= self.finest or self.finest <= 0 for name in ORDER):
            raise UsageError("finest: above 0 and below every upper bound")

    @cached_property
    def edges(self) -> Numbers:
        """Inner edges of the bins, one row per variable."""
        return np.array([np.geomspace(self.finest, self.upper[name], self.bins)[:-1] for name in ORDER])

    @cached_property
    def unit_exponentials(self) -> Numbers:
        """Low-discrepancy points with three independent exponential coordinates; the same in every run."""
        power = int(np.ceil(np.log2(self.points)))
        uniform = qmc.Sobol(3, seed=2018).random_base2(power)
        return np.ascontiguousarray(-np.log1p(-uniform))

    @cached_property
    def box(self) -> Numbers:
        """Lower and upper ends per parameter, with rates as log means."""
        ends = {"rate": np.log(self.means), "intercept": self.intercepts, "slope": self.slopes}
        return np.array([ends[name.rstrip("123")] for name in PARAMETERS])

    def counts(self, data: pd.DataFrame) -> Numbers:
        """Records per cell."""
        rows = np.ascontiguousarray(data[list(ORDER)].to_numpy(dtype=np.float64))
        return np.asarray(_cells(rows, self.edges))

    def expected(self, inner: Numbers) -> Numbers:
        """Expected synthetic records per cell under parameters on the inner scale (log means for rates)."""
        made = _make(inner, self.unit_exponentials)
        return np.asarray(_cells(made, self.edges) * (self.rows / len(made)))


@dataclass(frozen=True)
class PmseDraw:
    """One draw of the synthesis model, with the evidence for the chain behind it."""

    parameters: Mapping[str, float]
    epsilon: Fraction
    r_hat: float
    evaluations: int

    @property
    def guarantee(self) -> Guarantee:
        return Guarantee(
            AddRemoveOne("record"),
            Loss(self.epsilon),
            "always" if self.r_hat <= CONVERGED else "never",
            (
                f"the chains have converged (R-hat {self.r_hat:.3f})",
                "bounds, cells, box of parameters and nominal file size are public",
                "ideal arithmetic",
            ),
        )

    def synthesize(self, rows: int, rng: np.random.Generator) -> pd.DataFrame:
        """Rows from the drawn model: post-processing."""
        return pd.DataFrame(_make(_inner(self.parameters), rng.exponential(1.0, (rows, 3))), columns=list(ORDER))


def pmse_mechanism(
    training: pd.DataFrame,
    epsilon: str | int | Fraction,
    rng: np.random.Generator,
    *,
    public: PublicFrame | None = None,
    populations: int = 2,
    chains: int = 40,
    generations: int = 200,
) -> PmseDraw:
    """Draw the parameters of the synthesis model at ε over all three variables together.

    The first half of the generations raises the rate from a thousandth to its full value and is thrown away. R-hat
    compares the chains of populations that have nothing in common but the data.
    """
    loss = exact(epsilon, "epsilon")
    if loss <= 0:
        raise UsageError("epsilon: must be above 0")
    if populations < 2 or chains < 4 or generations < 8:
        raise UsageError("populations, chains and generations: at least 2, 4 and 8")
    frame = public or PublicFrame()
    counts = frame.counts(training)
    rate = rate_for(loss)
    public_parts = (frame.unit_exponentials, frame.edges, frame.rows, frame.box)
    runs = [_population(counts, *public_parts, rate, chains, generations, rng) for _ in range(populations)]
    kept = np.concatenate(runs, axis=1)
    return PmseDraw(_outer(kept[-1, 0]), loss, _r_hat(kept, populations), populations * chains * generations)


def rate_for(epsilon: Fraction) -> float:
    """The rate at which a score that one record moves by −3 to 1 is ε-private: the proof is in the module's text."""
    return float(epsilon) / 4


def score(a: Numbers, b: Numbers) -> float:
    """S = Σ_k (a_k − b_k)² / (a_k + b_k) over cells that hold anything.

    >>> score(np.array([1.0, 0.0]), np.array([3.0, 0.0]))
    1.0
    """
    both = a + b
    return float(np.sum((a - b)[both > 0] ** 2 / both[both > 0]))


def _outer(inner: Numbers) -> dict[str, float]:
    """Rates instead of log means."""
    return {
        name: float(np.exp(-value) if rate else value)
        for name, value, rate in zip(PARAMETERS, inner, _RATES, strict=True)
    }


def _inner(parameters: Mapping[str, float]) -> Numbers:
    return np.array(
        [-np.log(parameters[name]) if rate else parameters[name] for name, rate in zip(PARAMETERS, _RATES, strict=True)]
    )


def _r_hat(kept: Numbers, populations: int) -> float:
    """The largest R-hat over parameters between populations; `kept` is draws × all chains × parameters.

    Chains of one population share their differences, so a population counts as one sequence, cut into two halves.
    """
    half = len(kept) // 2
    parts = [
        part.reshape(-1, kept.shape[2])
        for run in np.split(kept, populations, axis=1)
        for part in (run[:half], run[half : 2 * half])
    ]
    within = np.mean([part.var(axis=0, ddof=1) for part in parts], axis=0)
    between = np.var([part.mean(axis=0) for part in parts], axis=0, ddof=1)
    if np.any(within == 0):
        return float("inf")
    return float(np.sqrt(1 + between / within).max())


@numba.njit(nogil=True, cache=True)
def _make(inner, units):  # type: ignore[no-untyped-def]
    m1, a2, b2, m2 = np.exp(inner[0]), inner[1], inner[2], np.exp(inner[3])
    a3, c1, c2, m3 = inner[4], inner[5], inner[6], np.exp(inner[7])
    made = np.empty_like(units)
    for row in range(len(units)):
        x1 = m1 * units[row, 0]
        x2 = a2 + b2 * x1 + m2 * units[row, 1]
        made[row, 0], made[row, 1] = x1, x2
        made[row, 2] = a3 + c1 * x1 + c2 * x2 + m3 * units[row, 2]
    return made


@numba.njit(nogil=True, cache=True)
def _bin(value, edges):  # type: ignore[no-untyped-def]
    """How many edges lie below; their number is one less than a power of two, so no branch is needed."""
    place, step = 0, (len(edges) + 1) // 2
    while step > 0:
        place += step * (value > edges[place + step - 1])
        step //= 2
    return place


@numba.njit(nogil=True, cache=True)
def _cells(rows, edges):  # type: ignore[no-untyped-def]
    bins = edges.shape[1] + 1
    counts = np.zeros(bins**3)
    for row in range(len(rows)):
        cell = _bin(rows[row, 0], edges[0])
        cell = cell * bins + _bin(rows[row, 1], edges[1])
        cell = cell * bins + _bin(rows[row, 2], edges[2])
        counts[cell] += 1.0
    return counts


@numba.njit(nogil=True, cache=True)
def _score(counts, inner, units, edges, rows):  # type: ignore[no-untyped-def]
    made = _cells(_make(inner, units), edges)
    weight = rows / len(units)
    total = 0.0
    for cell in range(len(counts)):
        if counts[cell] + made[cell] > 0.0:
            apart = counts[cell] - made[cell] * weight
            total += apart * apart / (counts[cell] + made[cell] * weight)
    return total


@numba.njit(nogil=True, cache=True)
def _rise(scores, most):  # type: ignore[no-untyped-def]
    """The largest step up to `most` in the rate that leaves the chains' weights an effective number of 80%."""
    low, high = 0.0, most
    best = scores.min()
    for attempt in range(40):
        step = high if attempt == 0 else 0.5 * (low + high)
        weights = np.exp(-step * (scores - best))
        if weights.sum() ** 2 >= 0.8 * len(scores) * (weights**2).sum():
            low = step
            if attempt == 0:
                break
        else:
            high = step
    return low


@numba.njit(nogil=True, cache=True)
def _resample(now, scores, by, where):  # type: ignore[no-untyped-def]
    """Systematic resampling with weights exp(−by · score)."""
    chains = len(scores)
    weights = np.exp(-by * (scores - scores.min()))
    weights *= chains / weights.sum()
    old, old_scores = now.copy(), scores.copy()
    source, passed = 0, weights[0]
    for chain in range(chains):
        while passed < chain + where and source < chains - 1:
            source += 1
            passed += weights[source]
        now[chain] = old[source]
        scores[chain] = old_scores[source]


@numba.njit(nogil=True, cache=True)
def _generation(counts, units, edges, rows, box, rate, now, scores, jump, rng):  # type: ignore[no-untyped-def]
    """Differential evolution: a chain moves along the difference of two others, so no step size is chosen."""
    chains, size = now.shape
    proposal = np.empty(size)
    # A full step now and then lets a chain jump between modes.
    step = 1.0 if jump else 2.38 / np.sqrt(2.0 * size)
    for chain in range(chains):
        first = int(rng.random() * (chains - 1))
        first += first >= chain
        second = int(rng.random() * (chains - 1))
        second += second >= chain
        inside = True
        for k in range(size):
            # A jitter of a hundred-thousandth of the box keeps every point of it within reach.
            jitter = 1e-5 * (box[k, 1] - box[k, 0]) * rng.standard_normal()
            proposal[k] = now[chain, k] + step * (now[first, k] - now[second, k]) + jitter
            inside = inside and box[k, 0] <= proposal[k] <= box[k, 1]
        if not inside:
            continue
        new = _score(counts, proposal, units, edges, rows)
        if np.log(1.0 - rng.random()) < rate * (scores[chain] - new):
            now[chain] = proposal
            scores[chain] = new


@numba.njit(nogil=True, cache=True)
def _population(counts, units, edges, rows, box, rate, chains, generations, rng):  # type: ignore[no-untyped-def]
    """Draws × chains × parameters, after a warm-up in which the rate rises from 0 and chains left behind start anew."""
    size = len(box)
    now = np.empty((chains, size))
    scores = np.empty(chains)
    for chain in range(chains):
        for k in range(size):
            now[chain, k] = box[k, 0] + rng.random() * (box[k, 1] - box[k, 0])
        scores[chain] = _score(counts, now[chain], units, edges, rows)
    reached, rungs = 0.0, 0
    while reached < rate:
        step = max(_rise(scores, rate - reached), 1e-4 * rate)
        _resample(now, scores, step, rng.random())
        reached = min(rate, reached + step)
        rungs += 1
        for move in range(10):
            _generation(counts, units, edges, rows, box, reached, now, scores, move == 0, rng)
    kept = np.empty((generations, chains, size))
    for generation in range(2 * generations):  # the first half is thrown away
        _generation(counts, units, edges, rows, box, rate, now, scores, generation % 10 == 9, rng)
        if generation >= generations:
            kept[generation - generations] = now
    return kept
