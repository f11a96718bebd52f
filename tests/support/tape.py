"""Two runs on neighbouring files, the second given what the first released."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np

from tacita.noise.cube import add_cube
from tacita.noise.discrete import add_discrete_laplace
from tacita.noise.gaussian import add_discrete_gaussian


class Tape:
    """Released values in order; a second run gets those of the first, and `lost` adds up what tells the two apart."""

    def __init__(self, first: Tape | None = None) -> None:
        self.first, self.lost = first, 0.0
        self.steps: list[tuple[Any, Any, Any]] = []

    def step(self, asked: Any, true: Any, released: Any, loss: Callable[[Any], float]) -> Any:
        if self.first is not None:
            known, before, released = self.first.steps[len(self.steps)]
            assert asked == known, "another question than in the first run"
            self.lost += loss(before)
        self.steps.append((asked, true, released))
        return released

    def laplace(self, true: Any, scale: Fraction, entropy: Any, label: str) -> Any:
        drawn = add_discrete_laplace(true, scale, entropy, label)
        asked = (label, scale, np.shape(true))
        return self.step(asked, np.array(true), drawn, lambda before: float(abs(true - before).sum() / scale))

    def cube(self, true: Any, scale: Fraction, entropy: Any, label: str) -> Any:
        drawn = add_cube(true, scale, entropy, label)
        asked = (label, scale, np.shape(true), "cube")
        return self.step(asked, np.array(true), drawn, lambda before: float(self.told(asked, before, true)))

    @staticmethod
    def told(asked: Any, before: Any, now: Any) -> Fraction:
        """What a question with Laplace noise, or with noise on a cube, tells of two files apart."""
        moved = abs(np.asarray(now) - np.asarray(before))
        return int(moved.max() if asked[-1] == "cube" else moved.sum()) / Fraction(asked[1])

    def gaussian(self, true: Any, variance: Fraction, entropy: Any, label: str) -> Any:
        drawn = add_discrete_gaussian(true, variance, entropy, label)
        asked = (label, variance, np.shape(true))
        return self.step(
            asked, np.array(true), drawn, lambda before: float(((true - before) ** 2).sum() / (2 * variance))
        )
