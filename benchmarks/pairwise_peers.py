"""All pairs against a tree of pairs (MST), on public person files: distance, SPECKS and seconds at the same guarantee.

The peer is what a user would pick instead: McKenna, Miklau and Sheldon's MST, its graphical-model estimation by the
package `mbi` (2.x), which is not a dependency: install it where this is run. Selection and noise are written here as
the paper describes them, for the guarantee that ours has: one record replaced, the same ρ for the same (ε, δ), a third
each for one-way tables, for choosing the tree and for its pairs. Its noise is in floating point, ours is exact.

    python benchmarks/pairwise_peers.py [DATA] [--repetitions 3] [--reduced]

DATA is the folder that holds cps2016_categorical and nist_diverse_communities; by default the one beside the project.
"""

from __future__ import annotations

import argparse
import sys
import time
from fractions import Fraction
from itertools import combinations
from pathlib import Path

import numpy as np
import pandas as pd

from tacita.noise.concentrated import rho_for
from tacita.studies.bowen2018.methods import EPSILONS, pairwise
from tacita.studies.bowen2018.person_file import PersonFile
from tacita.studies.bowen2018.printed import ALONE, SPECKS, TV2
from tacita.studies.bowen2018.real import CPS_2016, NATIONAL
from tacita.studies.bowen2018.scores import general
from tacita.studies.bowen2018.simulation import simulate, voters

DELTA = Fraction("1e-9")


def tree_of_pairs(frame: pd.DataFrame, about: PersonFile, epsilon: str, seed: int) -> pd.DataFrame:
    """MST with mbi's estimation."""
    from mbi import Dataset, Domain, LinearMeasurement, estimation

    random, names = np.random.default_rng(seed), list(about.names)
    codes = {name: pd.Categorical(frame[name], categories=list(about.levels[name])).codes for name in names}
    domain = Domain(names, [len(about.levels[name]) for name in names])
    data = Dataset({name: np.asarray(values, dtype=np.int64) for name, values in codes.items()}, domain)
    share = float(rho_for(Fraction(epsilon), DELTA)) / 3

    def measured(cliques: list[tuple[str, ...]]) -> list[LinearMeasurement]:
        # A replaced record changes two counts of a table by one: its ρ is 1/variance.
        spread = (len(cliques) / share) ** 0.5
        found = []
        for clique in cliques:
            exact = np.asarray(data.project(clique).datavector(), dtype=np.float64)
            found.append(LinearMeasurement(exact + random.normal(0, spread, exact.size), clique, spread))
        return found

    def fitted(measurements: list[LinearMeasurement]) -> object:
        return estimation.MirrorDescent().estimate(domain, measurements, known_total=len(frame))

    ones = measured([(name,) for name in names])
    model = fitted(ones)
    # The distance from the one-way model moves by at most 2 when a record is replaced.
    worth = {
        pair: float(
            np.abs(
                np.asarray(data.project(pair).datavector()) - np.asarray(model.project(pair).datavector())  # type: ignore[attr-defined]
            ).sum()
        )
        for pair in combinations(names, 2)
    }
    tree = _tree(names, worth, (8 * share / (len(names) - 1)) ** 0.5 / (2 * 2), random)
    made = fitted(ones + measured(tree)).synthetic_data(rows=len(frame))  # type: ignore[attr-defined]
    return pd.DataFrame({name: np.array(about.levels[name])[np.asarray(made.data[name])] for name in names})


def _tree(
    names: list[str], worth: dict[tuple[str, str], float], factor: float, random: np.random.Generator
) -> list[tuple[str, ...]]:
    """A spanning tree grown by the exponential mechanism: each step joins two parts by a pair drawn by its worth."""
    part = {name: name for name in names}
    tree: list[tuple[str, ...]] = []
    while len(tree) < len(names) - 1:
        open_pairs = [pair for pair in worth if part[pair[0]] != part[pair[1]]]
        noise = random.gumbel(size=len(open_pairs))
        a, b = open_pairs[int(np.argmax([factor * worth[pair] for pair in open_pairs] + noise))]
        old, new = part[b], part[a]
        part = {name: new if here == old else here for name, here in part.items()}
        tree.append((a, b))
    return tree


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path, nargs="?", default=Path(__file__).resolve().parents[2] / "shared" / "data")
    parser.add_argument("--repetitions", type=int, default=3)
    parser.add_argument("--reduced", action="store_true", help="the simulated file only, once")
    arguments = parser.parse_args()
    try:
        import mbi  # noqa: F401
    except ImportError:
        sys.stdout.write("not run: mbi is not installed here; the peer needs it: pip install 'mbi>=2'\n")
        return 0
    files = [("simulated file", simulate(), voters())]
    if arguments.reduced:
        arguments.repetitions = 1
    else:
        files += [(one.name, one.read(arguments.data), one.about) for one in (CPS_2016, NATIONAL)]
    ours = pairwise(1)
    sys.stdout.write(f"{'file':28} {'ε':6} {'method':14} {'TV pairs':>9} {'SPECKS':>8} {'tests':>6} {'seconds':>8}\n")
    for title, frame, about in files:
        for power in (-1, 1):
            for method in ("all pairs", "MST (mbi)"):
                found, seconds = [], []
                for seed in range(arguments.repetitions):
                    begun = time.perf_counter()
                    if method == "all pairs":
                        (made,) = ours.make(frame, about, EPSILONS[power], seed)
                    else:
                        made = tree_of_pairs(frame, about, EPSILONS[power], seed)
                    seconds.append(time.perf_counter() - begun)
                    found.append(general(frame, [made], about.schema))
                mean = {key: float(np.mean([one[key] for one in found])) for key in found[0]}
                # The fastest: the first call compiles.
                sys.stdout.write(
                    f"{title[:28]:28} e^{power:<4} {method:14} {mean[TV2, None]:9.4f} {mean[SPECKS, None]:8.4f} "
                    f"{mean[ALONE, 0.05]:6.0%} {min(seconds):8.1f}\n"
                )
                sys.stdout.flush()
    return 0


if __name__ == "__main__":
    sys.exit(main())
