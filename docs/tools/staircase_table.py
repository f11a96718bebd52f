"""Makes `mechanisms/eree/staircase_table.json`: how large the noise of `SmoothStaircase` is over a grid of ε and α.

The law is found by a linear programme that takes seconds, so `tacita explore` looks the figures up. Run this again, for
some twenty minutes, when `staircase_design` changes:  python docs/tools/staircase_table.py
"""

from __future__ import annotations

import json
from concurrent.futures import ProcessPoolExecutor
from fractions import Fraction
from pathlib import Path

import tacita.mechanisms.eree as eree
from tacita.errors import UsageError
from tacita.mechanisms.eree.staircase_design import least_noise, smallest_epsilon
from tacita.noise.error import margin_of
from tacita.privacy import text

ALPHAS = ("0.01", "0.02", "0.05", "0.1", "0.15", "0.2", "0.3")
OCTAVES = ((-4, 1, 4), (1, 3, 8), (3, 5, 4))  # from 2^a to 2^b, so many points in each octave
TABLE = Path(eree.__file__).parent / "staircase_table.json"


def epsilons() -> list[str]:
    exponents = [low + at / many for low, high, many in OCTAVES for at in range((high - low) * many)]
    return [f"{2**one:.3g}" for one in [*exponents, OCTAVES[-1][1]]]


def figures(alpha: str, epsilon: str) -> list[float] | None:
    """Mean size, and what nine in ten and nineteen in twenty stay below, in units of the scale; None where none is."""
    try:
        law = least_noise(Fraction(alpha), Fraction(epsilon))
    except UsageError:
        return None
    return [float(law.mean_abs()), margin_of(law, 0.9), margin_of(law, 0.95)]


def main() -> None:
    grid = epsilons()
    with ProcessPoolExecutor() as pool:
        rows = {alpha: list(pool.map(figures, [alpha] * len(grid), grid)) for alpha in ALPHAS}
    least = {alpha: text(smallest_epsilon(Fraction(alpha))) for alpha in ALPHAS}
    TABLE.write_text(json.dumps({"epsilon": grid, "least": least, "figures": rows}) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
