"""What the paper prints: Table 2, for one four-digit industry, confidential and in one synthetic file."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Printed:
    """A share of establishments, as observed and as synthesized."""

    observed: float
    synthetic: float


TABLE_2 = {
    "1": Printed(0.8408, 0.8386),
    "2-4": Printed(0.0096, 0.0090),
    "5": Printed(0.1497, 0.1525),
}
MEANING = {
    "1": "never part of a larger firm",
    "2-4": "changed",
    "5": "always part of a larger firm",
}
