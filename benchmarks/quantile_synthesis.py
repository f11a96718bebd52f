"""One synthetic file of tran2023's simulation: our exact draws against the paper's Metropolis-Hastings route, compiled.

Both are timed on one core in the same run. Chains are worth their effective draws: how many of the 1,000 states of a
chain count as independent is measured on long chains of each variable's median draw, and chains worth less than
one draw are taken to be as much longer, so that both sides deliver one independent draw of each quantile. The chains
start where the authors' do, from the non-private answer, which spares them the burn-in that a public start would need.
Also: a file of a million rows.

    python benchmarks/quantile_synthesis.py [--reduced]
"""

from __future__ import annotations

import argparse
import os
import sys
import time

os.environ["NUMBA_NUM_THREADS"] = os.environ["OPENBLAS_NUM_THREADS"] = os.environ["OMP_NUM_THREADS"] = "1"

import numpy as np

import tacita
from tacita.mechanisms.kng.convergence import bulk_ess
from tacita.noise.entropy import SeededEntropy
from tacita_studies.kng import paper
from tacita_studies.kng.chain import start_stream
from tacita_studies.tran2023.simulation import simulate

UPPER = {"x1": 1000.0, "x2": 1000.0, "x3": 2000.0}
LAYOUT = ("sandwich", "fixed")  # the paper's best by k-marginal
BAR_SECONDS, BAR_RATIO, BAR_MILLION = 2.0, 20.0, 60.0


def schema() -> tacita.Schema:
    number = {"type": "numeric", "role": "confidential", "lower": 0, "scale": 2}
    variables = {name: {**number, "upper": upper} for name, upper in UPPER.items()}
    return tacita.Schema.from_dict({"dataset": {"identity": "simulation", "unit": "record"}, "variables": variables})


def ours(rows: int, repetitions: int) -> float:
    training, _ = simulate(rows, seed=1)
    plan = tacita.QuantileSynthesis(list(UPPER), "1", rows=rows, neighbours=tacita.AddRemoveOne("record"))
    times = []
    for seed in range(repetitions):
        start = time.perf_counter()
        plan.rehearse(training, schema(), seed=seed).sample(1)
        times.append(time.perf_counter() - start)
    return float(np.median(times))


def chain_route(repetitions: int) -> float:
    """Seconds for one file by chains of 1,000 states."""
    training, _ = simulate(5000, seed=1)
    times = []
    for seed in range(repetitions):
        start = time.perf_counter()
        paper.paper_synthesis(training, *LAYOUT, entropy=SeededEntropy(seed))
        times.append(time.perf_counter() - start)
    return float(np.median(times))


def longer(steps: int) -> float:
    """How much longer chains must be than 1,000 states to be worth one draw, on average over the three variables."""
    training, _ = simulate(5000, seed=1)
    values = training[list(UPPER)].to_numpy()
    factors = []
    for place, setting in enumerate(paper.with_steps(paper.settings(*LAYOUT), steps)):
        chains = np.array(
            [
                paper.median_chain(values[:, :place], values[:, place], setting, start_stream(SeededEntropy(seed)))
                for seed in range(4)
            ]
        )
        least = min(bulk_ess(chains[:, :, k]) for k in range(chains.shape[2]))
        worth = 1000 * least / (4 * steps)
        factors.append(max(1.0, 1 / worth))
        sys.stdout.write(f"  x{place + 1}: 1,000 states of the median chain are worth {worth:.2f} draws\n")
    return float(np.mean(factors))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--reduced", action="store_true", help="shorter chains, a fiftieth of the rows; no bars")
    reduced = parser.parse_args().reduced
    ours(500, 1), chain_route(1)  # compiled once, not part of the run
    own, route = (ours(5000, 1), chain_route(1)) if reduced else (ours(5000, 5), chain_route(3))
    factor = longer(500 if reduced else 20_000)
    ratio = route * factor / own
    sys.stdout.write(f"one file of 5,000 rows: {own:.2f} s (bar {BAR_SECONDS:.0f} s)\n")
    sys.stdout.write(f"by chains of 1,000 states: {route:.1f} s; for one draw of each quantile {factor:.1f} × that\n")
    sys.stdout.write(f"ratio at equal effective draws: {ratio:.0f} (bar {BAR_RATIO:.0f})\n")
    rows = 20_000 if reduced else 1_000_000
    million = ours(rows, 1)
    sys.stdout.write(f"one file of {rows:,} rows: {million:.1f} s (bar {BAR_MILLION:.0f} s for a million)\n")
    return 0 if reduced or (own <= BAR_SECONDS and ratio >= BAR_RATIO and million <= BAR_MILLION) else 1


if __name__ == "__main__":
    sys.exit(main())
