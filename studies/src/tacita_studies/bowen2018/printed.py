"""The numbers that bowen2018 prints: Table 2, the L1 distances of section 3.3, and Tables 4 to 6.

Two of the confusion matrices of Table 4 (ε = 1/e, level 0.05) sum to 95 tests and one (STEPS-2, ε = e, level 0.05) to
104, though 105 are said; the consistency rates are kept as printed, over 105. The SPECKS curves are only a figure.
"""

from __future__ import annotations

from typing import Literal

Arm = Literal["Laplace", "STEPS-2"]

E, ONE_OVER_E = 1, -1  # powers of e at which the paper prints numbers

SPECKS = "SPECKS"
TV2 = "total variation of pairs, mean"
L1 = "L1 over the full cross-tabulation"
AGREEMENT = "chi-square conclusions agree, files combined"
ALONE = "chi-square conclusions agree, single files"
SIGNS = "coefficients with the original's sign, of 32"
COVERED = "original coefficients in the 95% interval, of 32"
SECONDS = "seconds"

LEVELS = (0.01, 0.05, 0.10)

TABLE_2 = {"0": 1_268_911, "1": 14_061, "2": 3_545, "3": 1_508, "4": 740, "5": 425, "> 5": 1_050}
SIGNIFICANT = 89  # of 105 pairs at level 0.05, from the matrices of Table 4 at ε = e

_L1 = {
    (ONE_OVER_E, "Laplace"): 43_908.4,
    (ONE_OVER_E, "STEPS-2"): 43_065.6,
    (E, "Laplace"): 42_068.2,
    (E, "STEPS-2"): 42_072.7,
}
_TABLE_4 = {  # consistent conclusions of 105, at the three levels
    (ONE_OVER_E, "Laplace"): (53, 59, 66),
    (ONE_OVER_E, "STEPS-2"): (62, 64, 68),
    (E, "Laplace"): (90, 93, 94),
    (E, "STEPS-2"): (89, 92, 97),
}
_TABLE_5 = {(ONE_OVER_E, "Laplace"): 7, (ONE_OVER_E, "STEPS-2"): 17, (E, "Laplace"): 15, (E, "STEPS-2"): 23}
_TABLE_6 = {(ONE_OVER_E, "Laplace"): 21, (ONE_OVER_E, "STEPS-2"): 24, (E, "Laplace"): 25, (E, "STEPS-2"): 21}


def printed(arm: str | None, power: int, metric: str, level: float = 0.05) -> float | None:
    """The printed number of an arm at ε = e^power; None where there is none.

    >>> printed("STEPS-2", E, AGREEMENT, 0.01), printed("Laplace", ONE_OVER_E, L1), printed("STEPS-2", 0, L1)
    (0.847..., 43908.4, None)
    """
    if arm not in ("Laplace", "STEPS-2"):
        return None
    key = (power, arm)
    if metric == AGREEMENT and key in _TABLE_4 and level in LEVELS:
        return _TABLE_4[key][LEVELS.index(level)] / 105
    for name, numbers in ((L1, _L1), (SIGNS, _TABLE_5), (COVERED, _TABLE_6)):
        if metric == name and key in numbers:
            return float(numbers[key])
    return None
