"""The pMSE mechanism as it was run for the printed rows of tran2023: no guarantee.

From the public R script that grew out of the paper's: the density is exp(−n ε · mean pMSE / 2) times a wide normal
prior, the classifier is CART of depth 5, pMSE is averaged over fresh synthetic files at every evaluation, and 100 steps
of a random walk with normal steps of 0.4 start from the simulation's *true* intercepts and slopes and from rates of
0.0001. The last state is released, and a chain that never moved is run again. A few steps in a hundred are accepted:
the chain is far from its law, on which the guarantee rests. (The script prunes its tree a little; this one is not
pruned. It uses 25 synthetic files per evaluation; the default here is 3, for speed.)
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd

from tacita.evaluation.propensity import Binned, grow
from tacita_studies.tran2023.peers.inputs import Numbers
from tacita_studies.tran2023.peers.pmse import PARAMETERS
from tacita_studies.tran2023.simulation import ORDER

START: Mapping[str, float] = dict(zip(PARAMETERS, (1e-4, 4.0, 3.0, 1e-4, 3.0, 2.0, 1.0, 1e-4), strict=True))
_RATES = np.array([name.startswith("rate") for name in PARAMETERS])
_STEPS, _STEP, _PRIOR_VARIANCE, _DEPTH, _BINS = 100, 0.4, 1e5, 5, 255


@dataclass(frozen=True)
class PmseAsRun:
    """The last state of the chain, and the share of steps that were accepted."""

    parameters: Mapping[str, float]
    accepted: float

    guarantee = "no guarantee: 100 steps from a start that holds the true parameters, scored by a greedy tree"

    def synthesize(self, rows: int, rng: np.random.Generator) -> pd.DataFrame:
        state = np.array([self.parameters[name] for name in PARAMETERS])
        return pd.DataFrame(_made(state, rows, rng), columns=list(ORDER))


def pmse_as_run(training: pd.DataFrame, epsilon: float, rng: np.random.Generator, *, files: int = 3) -> PmseAsRun:
    """One chain as in the script; ε enters only through the steps that are refused."""
    original = training[list(ORDER)].to_numpy(dtype=np.float64)

    def log_density(state: Numbers) -> float:
        distance = np.mean([_tree_pmse(original, _made(state, len(original), rng)) for _ in range(files)])
        return float(-np.sum(state**2) / (2 * _PRIOR_VARIANCE) - len(original) * epsilon * distance / 2)

    accepted = 0
    while not accepted:
        state = np.array([START[name] for name in PARAMETERS])
        height = log_density(state)
        for _ in range(_STEPS):
            proposal = state + _STEP * rng.standard_normal(len(state))
            there = log_density(proposal)
            if np.log(1.0 - rng.random()) < there - height:
                state, height, accepted = proposal, there, accepted + 1
    state[_RATES] = np.abs(state[_RATES])
    return PmseAsRun(dict(zip(PARAMETERS, state.tolist(), strict=True)), accepted / _STEPS)


def _made(state: Numbers, rows: int, rng: np.random.Generator) -> Numbers:
    rate1, a2, b2, rate2, a3, c1, c2, rate3 = np.where(_RATES, np.abs(state), state)
    first, second, third = rng.exponential(1.0, (3, rows))
    x1 = first / rate1
    x2 = a2 + b2 * x1 + second / rate2
    return np.column_stack([x1, x2, a3 + c1 * x1 + c2 * x2 + third / rate3])


def _tree_pmse(original: Numbers, synthetic: Numbers) -> float:
    """pMSE of a tree grown on the stacked files, numbers cut at 255 places of equal share."""
    stacked = np.concatenate([original, synthetic]).T
    at = (np.arange(1, _BINS) * stacked.shape[1]) // _BINS
    bins = np.stack([np.searchsorted(np.sort(column)[at], column).astype(np.uint16) for column in stacked])
    data = Binned(bins, np.full(3, _BINS), np.ones(3, dtype=np.bool_))
    is_original = np.arange(stacked.shape[1]) < len(original)
    share = grow(data, is_original, depth=_DEPTH, leaf=1)
    return float(np.mean((share - is_original.mean()) ** 2))
