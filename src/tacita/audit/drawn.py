"""The law check: what a sampler draws is held against the density that the loss was computed from.

Forcing hands outputs over and so never looks at how they are drawn. Here each kind of draw of a plan is made a few
thousand times at one place, by the plan's own sampler, and counted in a dozen bins. The source is seeded, so the check
gives the same answer every time; it finds a scale that is a tenth off, an atom at a clip, or values off the grid.
"""

from __future__ import annotations

from collections.abc import Callable
from math import ceil, sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import chi2

from tacita.audit.forced import Finding
from tacita.audit.laws import log_density
from tacita.noise.entropy import SeededEntropy
from tacita.noise.forcing import Draw

Floats = NDArray[np.float64]
# A law as its distribution function at whole numbers.
Cdf = Callable[[NDArray[np.int64]], Floats]

_BINS = 12
_CERTAIN = 1e-9  # the chance of a finding that is none, had the source not been seeded


def law_findings(draws: list[Draw], *, times: int, seed: int = 20_26) -> tuple[Finding, ...]:
    """Every kind of draw of one run, once."""
    kinds = {(one.sampler, str(one.public.get("scale", one.public.get("variance")))): one for one in draws}
    findings = []
    for at, one in enumerate(kinds.values()):
        problem = _problem(one, times, SeededEntropy(seed + at))
        if problem:
            findings.append(Finding("law", f"{one.sampler}: {problem}"))
    return tuple(findings)


def _problem(draw: Draw, times: int, entropy: SeededEntropy) -> str | None:
    made = _SAMPLED.get(draw.sampler)
    if made is None:
        return None
    sample, cdf, spread = made(draw, times, entropy)
    values = np.asarray(sample)
    if not np.array_equal(values, np.floor(values)):
        return "draws values that are not on the grid"
    whole = values.astype(np.int64)
    middle = int(np.median(whole))
    cuts = np.unique(middle + np.round(spread * np.linspace(-2.5, 2.5, _BINS)).astype(np.int64))
    edges = np.concatenate(([0.0], cdf(cuts), [1.0]))
    share = np.diff(edges)
    counts = np.bincount(np.searchsorted(cuts, whole, side="left"), minlength=cuts.size + 1)
    return None if _fits(counts, share * whole.size) else "draws another law than its losses are computed from"


def _fits(counts: NDArray[np.int64], expected: Floats) -> bool:
    """Pearson's test on bins of at least 25 expected draws; smaller ones are joined to their neighbour."""
    groups: list[list[float]] = [[0.0, 0.0]]
    for seen, wanted in zip(counts.tolist(), expected.tolist(), strict=True):
        groups[-1][0] += seen
        groups[-1][1] += wanted
        if groups[-1][1] >= 25:
            groups.append([0.0, 0.0])
    left = groups.pop()
    if not groups:
        return True
    groups[-1][0] += left[0]
    groups[-1][1] += left[1]
    if len(groups) == 1:
        return True
    statistic = sum((seen - wanted) ** 2 / wanted for seen, wanted in groups)
    return float(chi2.sf(statistic, len(groups) - 1)) >= _CERTAIN


# ---------------------------------------------------------------- the laws, at one place each


def _laplace(draw: Draw, times: int, entropy: SeededEntropy) -> tuple[Any, Cdf, float]:
    scale = float(draw.public["scale"])

    def cdf(k: NDArray[np.int64]) -> Floats:
        q = np.exp(-1 / scale)
        above = 1 - np.exp(-(np.maximum(k, 0) + 1) / scale) / (1 + q)
        return np.asarray(np.where(k < 0, np.exp(np.minimum(k, 0) / scale) / (1 + q), above))

    return draw.again(entropy, values=np.zeros(times, dtype=np.int64)), cdf, scale


def _cube(draw: Draw, times: int, entropy: SeededEntropy) -> tuple[Any, Cdf, float]:
    """The largest value of each of as many cubes as have so many values: its law shows a wrong scale at once."""
    scale, cells = float(draw.public["scale"]), np.size(draw.confidential["values"])
    sides = np.unique(np.rint(np.linspace(0, (cells + 12 * sqrt(cells) + 40) * scale, 20_000)))
    logs = cells * np.log1p(2 * sides) - sides / scale
    chances = np.exp(logs - logs.max()) * np.gradient(sides)
    chances /= chances.sum()

    def cdf(k: NDArray[np.int64]) -> Floats:
        return np.array([chances @ np.clip((2 * one + 1) / (2 * sides + 1), 0, 1) ** cells for one in k.tolist()])

    zeros = np.zeros(cells, dtype=np.int64)
    sample = [np.abs(draw.again(entropy, values=zeros)).max() for _ in range(times // cells)]
    return np.array(sample), cdf, scale * sqrt(cells)


def _gaussian(draw: Draw, times: int, entropy: SeededEntropy) -> tuple[Any, Cdf, float]:
    variance = float(draw.public["variance"])
    spread = sqrt(variance)
    reach = ceil(12 * spread) + 2
    stride = max(1, reach // 20_000)
    terms = np.arange(-reach, reach + 1, stride, dtype=np.float64)
    mass = np.cumsum(np.exp(-(terms**2) / (2 * variance)))

    def cdf(k: NDArray[np.int64]) -> Floats:
        return np.asarray(np.interp(k + (0.0 if stride == 1 else 0.5), terms, mass / mass[-1]))

    return draw.again(entropy, values=np.zeros(times, dtype=np.int64)), cdf, spread


def _scaled(draw: Draw, times: int, entropy: SeededEntropy) -> tuple[Any, Cdf, float]:
    """The largest of the scales, rounded to whole numbers (or to the grid, counted in its steps)."""
    law, grid = draw.public.get("law", draw.public.get("self")), float(draw.public.get("grid", 1))
    top = np.asarray(draw.confidential["scale_num"]).max()
    scale = float(top) / draw.public["scale_den"] / grid
    points = np.concatenate([-np.geomspace(1e6, 40, 4000), np.linspace(-40, 40, 80_001), np.geomspace(40, 1e6, 4000)])
    points = np.unique(points)
    with np.errstate(divide="ignore"):
        height = np.exp(log_density(law, points))
    mass = np.concatenate(([0.0], np.cumsum((height[1:] + height[:-1]) / 2 * np.diff(points))))

    def cdf(k: NDArray[np.int64]) -> Floats:
        return np.asarray(np.interp((k + 0.5) / scale, points, mass / mass[-1]))

    same = {"centre": np.zeros(times, dtype=np.int64), "scale_num": np.full(times, top, dtype=np.int64)}
    return draw.again(entropy, **same), cdf, scale


def _log_laplace(draw: Draw, times: int, entropy: SeededEntropy) -> tuple[Any, Cdf, float]:
    gamma, lam, factor = (float(draw.public[name]) for name in ("gamma", "lam", "factor"))
    grid = float(draw.public.get("grid", 1))
    count = int(np.asarray(draw.confidential["count"]).max()) + 20

    def cdf(k: NDArray[np.int64]) -> Floats:
        ratio = ((k + 0.5) * grid + gamma) / ((count + gamma) * factor)
        with np.errstate(divide="ignore", invalid="ignore"):
            z = np.log(np.maximum(ratio, 0)) / lam
        return np.asarray(np.where(z < 0, np.exp(np.minimum(z, 0)) / 2, 1 - np.exp(-np.maximum(z, 0)) / 2))

    sample = draw.again(entropy, count=np.full(times, count, dtype=np.int64))
    return sample, cdf, max((count + gamma) * min(lam, 1.0) / grid, 1.0)


_SAMPLED: dict[str, Callable[[Draw, int, SeededEntropy], tuple[Any, Cdf, float]]] = {
    "add_discrete_laplace": _laplace,
    "add_cube": _cube,
    "add_discrete_gaussian": _gaussian,
    "noisy_on_grid": _scaled,
    "PlateauLaw.on_grid": _scaled,
    "noisy_log": _log_laplace,
}
