"""The unconditional step alone: 49 quantiles of X1 at the paper's ε = 0.5, by bisection and by what others offer.

The error is in ranks: how many records a released quantile is away from where it should be, averaged over the
quantiles. Every method has the public bounds 0 and 1000; those that work on the scale of the values are given
logarithms, which suits them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import partial

import numpy as np
from numpy.typing import NDArray

from tacita.mechanisms.kng.line import Lattice, bisect, levels_for
from tacita.noise.entropy import SeededEntropy
from tacita_studies.harness.experiment import timed
from tacita_studies.harness.replicates import Progress
from tacita_studies.harness.results import Row, mean_and_se
from tacita_studies.kng.budget import QUANTILES
from tacita_studies.tran2023.peers import QUANTILE_PEERS, QuantilePeer
from tacita_studies.tran2023.simulation import simulate

Numbers = NDArray[np.float64]

TABLE = "Quantiles of X1"
RANK_ERROR = "mean rank error"
SECONDS = "seconds"
EPSILON = Fraction(1, 2)
UPPER = 1000.0
OURS = "Bisection"
_SMALLEST = 0.01  # below it the logarithm is cut


@dataclass(frozen=True)
class Drawer:
    """A method for many quantiles of one variable: sorted values and a seed in, estimates out."""

    name: str
    guarantee: str
    draw: Callable[[Numbers, int], Numbers]


def drawers() -> tuple[Drawer, ...]:
    ours = Drawer(OURS, "ε = 0.5 under one record added or removed; every draw is exact; bounds are public", _bisected)
    return (ours, *(Drawer(peer.name, f"ε = 0.5: {peer.guarantee}", _of(peer)) for peer in QUANTILE_PEERS))


def _bisected(values: Numbers, seed: int) -> Numbers:
    levels = levels_for(len(QUANTILES))
    lattice = Lattice.spread(0.0, UPPER)
    return bisect(values, lattice, QUANTILES, [EPSILON / levels] * levels, SeededEntropy(seed), "x1")


def _of(peer: QuantilePeer) -> Callable[[Numbers, int], Numbers]:
    taus = [float(tau) for tau in QUANTILES]
    bounds = (_SMALLEST, UPPER)

    def draw(values: Numbers, seed: int) -> Numbers:
        random = np.random.default_rng(seed)
        held = np.clip(values, *bounds)
        if peer.log_scale:
            return peer.draw(held, taus, float(EPSILON), bounds, random)
        logs = (float(np.log(bounds[0])), float(np.log(bounds[1])))
        return np.exp(peer.draw(np.log(held), taus, float(EPSILON), logs, random))

    return draw


def quantile_rows(replicates: int, rows: int, seed: int, say: Progress) -> Iterator[Row]:
    """Rank error and time of every method, on the X1 of the same training files as section 4."""
    methods = drawers()
    errors: dict[str, list[float]] = {one.name: [] for one in methods}
    times: dict[str, list[float]] = {one.name: [] for one in methods}
    wanted = np.array([float(tau) for tau in QUANTILES]) * rows
    for number in range(replicates):
        say("quantiles of one variable", number, replicates)
        values = np.sort(simulate(rows, seed=seed + number)[0]["x1"].to_numpy(dtype=np.float64))
        for one in methods:
            drawn, seconds = timed(partial(one.draw, values, seed + number))
            times[one.name].append(seconds)
            errors[one.name].append(float(np.abs(np.searchsorted(values, drawn, side="right") - wanted).mean()))
    for one in methods:
        mean, se = mean_and_se(errors[one.name])
        where = {"mode": "proved" if one.name == OURS else "peer", "epsilon": "0.5"}
        row = partial(Row, TABLE, one.name, replicates=replicates, guarantee=one.guarantee, where=where)
        yield row(RANK_ERROR, mean, se, reference=0.0)
        yield row(SECONDS, float(np.median(times[one.name])))
