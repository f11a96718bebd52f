"""Error at every level of nation → state → county → tract by sector: levels that agree against levels released apart.

Both sides spend the same ε in all. Apart, every level gets an equal share and negative cells are set to zero.
Together, levels agree, are whole and not negative. Two kinds of protection:

- *jobs* (one job added or removed, discrete Laplace noise): levels are measured each with a share. Two of four levels
  cannot have half the error here: with noise in proportion to 1 / share, they would take all of the budget.
- *establishments* (sizes within a factor 1 + α): the noise of a cell follows its largest establishment, which is in a
  cell of every level. Measured once in the finest cells with all of ε, sums are far better than shares.

Simulated; nothing here is confidential.

    python benchmarks/hierarchy.py [--epsilon 1] [--alpha 0.1] [--tracts 20000] [--draws 3] [--totals]
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import pairwise, product

import numpy as np
from numpy.typing import NDArray

from tacita.agreement.crossed import Axis, CrossedTable, Layout, agree_crossed, noisy_tables
from tacita.agreement.division import best_shares, equal_shares, shares_for
from tacita.agreement.overlapping import NoisyTable
from tacita.agreement.whole import whole_tables
from tacita.data.workforce import Workforce
from tacita.mechanisms.eree import SmoothStaircase
from tacita.noise.entropy import SeededEntropy
from tacita.simulated.frame import SECTORS

Floats = NDArray[np.float64]
NAMES = ("tract", "county", "state", "nation")
TOP_FIRST = (1.4, 1.0, 0.8, 0.8)  # wanted deviations by level, tracts first: empty cells make up for the noise there
PER_CELL = 27.0  # jobs, on average: 10.9 million in 20,000 tracts × 20 sectors
PER_ESTABLISHMENT, LOG_SPREAD = 20.7, 1.915  # as in the simulated frame


class Simulated:
    """Places of very different size in an uneven tree, and jobs by tract and sector in establishments of any size."""

    def __init__(self, tracts: int, rng: np.random.Generator, *, totals: bool) -> None:
        counties = max(51, tracts * 3 // 20)
        sizes = [tracts, counties, 51 if tracts > 2_000 else 9, 1]
        levels = [np.arange(tracts)]
        for below, above in pairwise(sizes):
            weights = rng.pareto(2.0, size=above) + 0.3
            rest = rng.choice(above, size=below - above, p=weights / weights.sum())
            levels.append(np.sort(np.concatenate((np.arange(above), rest)))[levels[-1]])
        self.axes = [Axis(tuple(levels)), Axis.flat(len(SECTORS))]
        places = rng.lognormal(0.0, 1.0, size=tracts) * np.exp(rng.normal(0, 0.5, size=counties))[levels[1]]
        mix = np.array([one.establishments * np.exp(one.size) for one in SECTORS])
        local = rng.gamma(0.5, size=(tracts, len(SECTORS)))  # uneven from place to place, many sectors absent
        mean = (places[:, None] * mix * local).ravel()
        cell = np.repeat(
            np.arange(mean.size), rng.poisson(mean * (PER_CELL / PER_ESTABLISHMENT * mean.size / mean.sum()))
        )
        size = np.ceil(rng.lognormal(np.log(PER_ESTABLISHMENT) - LOG_SPREAD**2 / 2, LOG_SPREAD, size=cell.size))
        self.jobs = np.bincount(cell, weights=size, minlength=mean.size)
        self.largest = np.zeros(mean.size)
        np.maximum.at(self.largest, cell, size)
        self.levels = list(product((3, 2, 1, 0), (1, 0) if totals else (0,)))
        self.tables = self.measured([np.inf] * len(self.levels))
        self.truth = [one.sums(self.jobs) for one in self.tables]

    def layout(self, variances: Sequence[float]) -> Layout:
        return Layout.of(self.axes, self.levels, variances)

    def measured(self, variances: Sequence[float], values: Sequence[Floats] | None = None) -> list[NoisyTable]:
        layout = self.layout(variances)
        return noisy_tables(layout, values or [np.zeros(layout.shape(one)) for one in self.levels])

    def together(self, values: Sequence[Floats], variances: Sequence[float]) -> list[Floats]:
        layout = self.layout(variances)
        shaped = [one.reshape(layout.shape(at)) for one, at in zip(values, self.levels, strict=True)]
        agreed = agree_crossed(
            self.axes, [CrossedTable(*one) for one in zip(self.levels, shaped, variances, strict=True)]
        )
        return [one.astype(np.float64) for one in whole_tables(self.measured(variances, shaped), agreed)[1]]

    def name(self, at: int) -> str:
        place, sector = self.levels[at]
        return NAMES[place] + (" × sector" if sector == 0 else "")


def laplace(values: Floats, epsilon: float, rng: np.random.Generator) -> Floats:
    """Discrete Laplace noise: the difference of two geometric draws."""
    stop = -np.expm1(-epsilon)
    return np.asarray(values + rng.geometric(stop, size=values.shape) - rng.geometric(stop, size=values.shape))


def smooth(values: Floats, largest: Floats, alpha: str, epsilon: Fraction, seed: int) -> Floats:
    """The mechanism for tables of establishments itself."""
    counts, sizes = (one.astype(np.int64)[:, None] for one in (values, largest))
    counted = Workforce({}, counts, sizes, sizes[:, 0], np.full(values.size, -1))
    plan = SmoothStaircase(alpha, str(epsilon), by=["place"])
    return plan.measure(counted, SeededEntropy(seed))[:, 0].astype(np.float64)


def mean_errors(file: Simulated, draws: int, draw: Callable[[], Sequence[Floats]]) -> Floats:
    errors = np.zeros(len(file.truth))
    for _ in range(draws):
        errors += [np.abs(one - exact).mean() for one, exact in zip(draw(), file.truth, strict=True)]
    return errors / draws


def show(
    file: Simulated,
    title: str,
    shares: Sequence[float],
    apart: Floats,
    draws: int,
    draw: Callable[[], Sequence[Floats]],
) -> None:
    start = time.perf_counter()
    errors = mean_errors(file, draws, draw)
    sys.stdout.write(f"\n{title} ({(time.perf_counter() - start) / draws:.1f} s each)\n")
    sys.stdout.write(f"{'level':<18}{'cells':>9}{'share':>8}{'apart':>10}{'together':>10}{'ratio':>8}\n")
    for at, (share, one, other) in enumerate(zip(shares, apart, errors, strict=True)):
        sys.stdout.write(
            f"{file.name(at):<18}{file.truth[at].size:>9,}{share:>8.0%}{one:>10.2f}{other:>10.2f}{other / one:>8.2f}"
            + "\n"
        )


def jobs(file: Simulated, epsilon: float, draws: int, rng: np.random.Generator) -> None:
    count = len(file.levels)
    equal = equal_shares(count)

    def noisy(shares: Sequence[Fraction]) -> list[Floats]:
        return [laplace(one, epsilon * float(share), rng) for one, share in zip(file.truth, shares, strict=True)]

    def agreed(shares: Sequence[Fraction]) -> list[Floats]:
        return file.together(noisy(shares), [2 / (epsilon * float(share)) ** 2 for share in shares])

    apart = mean_errors(file, draws, lambda: [np.maximum(one, 0) for one in noisy(equal)])
    rules = {
        "equal shares": equal,
        "least variance": best_shares(file.axes, file.levels),
        "every level alike": shares_for(file.axes, file.levels, [1.0] * count)[0],
        "top first": shares_for(file.axes, file.levels, [TOP_FIRST[place] for place, _ in file.levels])[0],
    }
    for rule, shares in rules.items():
        show(file, f"jobs, {rule}", [float(one) for one in shares], apart, draws, lambda shares=shares: agreed(shares))


def establishments(file: Simulated, alpha: str, epsilon: str, draws: int) -> None:
    largest = []
    for one in file.tables:
        largest.append(np.zeros(one.values.size))
        np.maximum.at(largest[-1], one.group, file.largest)
    share = Fraction(epsilon) / len(file.levels)
    seeds = iter(range(10**6))

    def alone() -> list[Floats]:
        return [
            np.maximum(smooth(one, sizes, alpha, share, next(seeds)), 0)
            for one, sizes in zip(file.truth, largest, strict=True)
        ]

    def finest() -> list[Floats]:
        values = [np.zeros(one.size) for one in file.truth[:-1]]
        values.append(smooth(file.truth[-1], largest[-1], alpha, Fraction(epsilon), next(seeds)))
        return file.together(values, [np.inf] * len(values[:-1]) + [1.0])

    apart = mean_errors(file, draws, alone)
    shares = [0.0] * (len(file.levels) - 1) + [1.0]
    show(file, f"establishments, α = {alpha}, finest cells alone", shares, apart, draws, finest)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--epsilon", default="1")
    parser.add_argument("--alpha", default="0.1")
    parser.add_argument("--tracts", type=int, default=20_000)
    parser.add_argument("--draws", type=int, default=3)
    parser.add_argument("--totals", action="store_true", help="the levels without sector too")
    parser.add_argument("--reduced", action="store_true", help="2,000 tracts, one draw")
    asked = parser.parse_args()
    if asked.reduced:
        asked.tracts, asked.draws = 2_000, 1
    rng = np.random.default_rng(14)
    file = Simulated(asked.tracts, rng, totals=asked.totals)
    empty = (file.jobs == 0).mean()
    sys.stdout.write(
        f"ε = {asked.epsilon}: {file.jobs.size:,} finest cells, {empty:.0%} empty, {file.jobs.sum():,.0f} jobs" + "\n"
    )
    jobs(file, float(asked.epsilon), asked.draws, rng)
    establishments(file, asked.alpha, asked.epsilon, asked.draws)


if __name__ == "__main__":
    main()
