"""A million records with 20 attributes, a domain above 10⁹ cells: time and peak memory of `PairwiseSynthesis`.

Each size runs in a process of its own, so that its peak memory is its own; compiled loops are loaded before the clock
starts. The last column shows whether cost grows linearly with the records; fewer attributes show how it grows with the
pairs.

    python benchmarks/pairwise.py [--reduced] [--plot growth.svg]
"""

from __future__ import annotations

import argparse
import multiprocessing
import resource
import sys
import time
from math import comb, prod
from pathlib import Path

import numpy as np
import pandas as pd
from steps import growth

import tacita
from tacita.synthesis.pairwise import PairwiseSynthesis

LEVELS = (2, 2, 5, 2, 2, 14, 2, 2, 2, 2, 2, 6, 2, 2, 2, 4, 3, 8, 5, 10)
NAMES = tuple(f"a{place:02d}" for place in range(len(LEVELS)))
CLASSES = 12
SIZES = (125_000, 250_000, 500_000, 1_000_000)
WIDTHS = (5, 10, 15)  # attributes, at the second size
BAR_SECONDS, BAR_BYTES = 120.0, 6 * 2**30


def people(rows: int) -> pd.DataFrame:
    """Records of latent classes, stored as categories, as a file of this size would be."""
    random = np.random.default_rng(2018)
    member = random.integers(0, CLASSES, rows)
    columns = {}
    for name, levels in zip(NAMES, LEVELS, strict=True):
        reached = np.cumsum(random.dirichlet(np.ones(levels), size=CLASSES), axis=1)
        codes = np.minimum((random.random(rows)[:, None] > reached[member]).sum(axis=1), levels - 1)
        columns[name] = pd.Categorical.from_codes(codes, [str(one) for one in range(levels)])
    return pd.DataFrame(columns)


def schema() -> tacita.Schema:
    return tacita.Schema.from_dict(
        {
            "dataset": {"identity": "people", "unit": "person"},
            "variables": {
                name: {"type": "categorical", "role": "confidential", "levels": [str(one) for one in range(levels)]}
                for name, levels in zip(NAMES, LEVELS, strict=True)
            },
        }
    )


def timed(rows: int, width: int) -> tuple[float, float, float, int]:
    """Seconds to measure and to build one file, processor seconds for both, peak memory of the process in bytes."""
    plan, about = PairwiseSynthesis(NAMES[:width], "1"), schema()
    plan.rehearse(people(500), about, seed=0).sample(1)
    frame = people(rows)
    start, busy = time.perf_counter(), time.process_time()
    model = plan.rehearse(frame, about, seed=1)
    measured = time.perf_counter()
    model.sample(1)
    built, used = time.perf_counter(), time.process_time() - busy
    return measured - start, built - measured, used, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--reduced", action="store_true", help="a fiftieth of the records")
    parser.add_argument("--plot", type=Path, help="an SVG file: cost against records and against pairs")
    given = parser.parse_args()
    sizes = [size // 50 if given.reduced else size for size in SIZES]
    sys.stdout.write(f"{len(LEVELS)} attributes, {float(prod(LEVELS)):.3g} cells\n")
    sys.stdout.write(
        f"{'attributes':>10} {'records':>10} {'measure s':>10} {'build s':>9} {'peak GiB':>9} {'µs/record':>10}\n"
    )
    used: dict[tuple[int, int], float] = {}
    met = True
    for width, rows in [(width, sizes[1]) for width in WIDTHS] + [(len(LEVELS), size) for size in sizes]:
        with multiprocessing.get_context("spawn").Pool(1) as pool:
            measure, build, used[width, rows], peak = pool.apply(timed, (rows, width))
        met = measure + build <= BAR_SECONDS and peak <= BAR_BYTES
        each = 1e6 * (measure + build) / rows
        sys.stdout.write(f"{width:10} {rows:10,} {measure:10.2f} {build:9.2f} {peak / 2**30:9.2f} {each:10.1f}\n")
        sys.stdout.flush()
    if given.plot:
        by_records = [(size, used[len(LEVELS), size]) for size in sizes]
        by_pairs = [(comb(width, 2), seconds) for (width, rows), seconds in used.items() if rows == sizes[1]]
        left = (f"{len(LEVELS)} attributes, {prod(LEVELS):,} cells", ("records", by_records))
        right = (f"{sizes[1]:,} records", ("pairs of attributes", by_pairs))
        growth(dict((left, right)), given.plot)
    verdict = "met" if met else "missed"
    sys.stdout.write(f"bar for the largest: {BAR_SECONDS:.0f} s and {BAR_BYTES / 2**30:.0f} GiB: {verdict}\n")
    return 0 if met else 1


if __name__ == "__main__":
    sys.exit(main())
