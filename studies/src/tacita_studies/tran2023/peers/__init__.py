"""What a user would pick instead: methods from the literature that the study puts beside ours.

For quantiles of one variable, each with the signature (sorted values, quantiles, ε, bounds, generator) → estimates:

- `exponential`: `independent`, one exponential mechanism per quantile; `recursive`, approximate quantiles by bisection.
- `joint`: `joint`, JointExp, all quantiles in one exact draw.
- `histogram`: `histogram`, a log-scale histogram with Laplace noise; `tree`, a b-ary tree of counts made consistent.

For the simulation of section 4.1:

- `pmse`: `pmse_mechanism`, Snoke and Slavković's exponential mechanism over the parameters of a synthesis model.
- `pmse_as_run`: `pmse_as_run`, the short chain behind the printed rows, which has no guarantee.

They use NumPy's generator and floating-point numbers: fit for a study, not for a release.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from tacita_studies.tran2023.peers.exponential import independent, recursive
from tacita_studies.tran2023.peers.histogram import histogram, tree
from tacita_studies.tran2023.peers.inputs import Bounds, Numbers
from tacita_studies.tran2023.peers.joint import joint


class QuantileDraw(Protocol):
    """How every peer is called; `values` are sorted."""

    def __call__(
        self, values: Numbers, quantiles: Sequence[float], epsilon: float, bounds: Bounds, rng: np.random.Generator
    ) -> Numbers: ...


@dataclass(frozen=True)
class QuantilePeer:
    """A method for quantiles with its promise in one sentence. `log_scale`: it works on a log scale by itself."""

    name: str
    draw: QuantileDraw
    guarantee: str
    log_scale: bool = False


_PROMISE = (
    "ε-differentially private when one record is added or removed, for public bounds, with ideal arithmetic; {because}."
)

QUANTILE_PEERS: tuple[QuantilePeer, ...] = (
    QuantilePeer(
        "independent exponential mechanisms",
        independent,
        _PROMISE.format(because="ε is divided evenly over the quantiles and the shares add up"),
    ),
    QuantilePeer(
        "JointExp",
        joint,
        _PROMISE.format(because="one draw with score sensitivity 2 (1 − the smallest share between quantiles)"),
    ),
    QuantilePeer(
        "approximate quantiles (recursive)",
        recursive,
        _PROMISE.format(because="draws at one depth use disjoint records, so ε is divided over the depths"),
    ),
    QuantilePeer(
        "b-ary tree of counts",
        tree,
        _PROMISE.format(
            because="a record is in one node per level and the scale of the noise is the number of levels over ε"
        ),
        log_scale=True,
    ),
    QuantilePeer(
        "log-scale histogram",
        histogram,
        _PROMISE.format(because="a record is in one bin and every bin has noise of scale 1/ε"),
        log_scale=True,
    ),
)
