"""The law of a private bisection, written down from its definition, and every run of `bisect` followed through it."""

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tacita.mechanisms.kng import line
from tacita.mechanisms.kng.line import Lattice, bisect
from tacita.noise.entropy import SeededEntropy

Floats = NDArray[np.float64]


def log_law(places: Any, end: int, share: Fraction, epsilon: Fraction) -> Floats:
    """log P(t), t = 0 … end, from the definition: the rank of t against share·n, in units of its sensitivity."""
    ranks = np.array([sum(1 for one in places if one < t) for t in range(end + 1)], dtype=float)
    score = np.abs(ranks - float(share) * len(places)) / float(max(share, 1 - share))
    weights = -float(epsilon) / 2 * score
    most = weights.max()
    return np.asarray(weights - most - np.log(np.exp(weights - most).sum()))


class _Script:
    """Stands in for `draw_threshold`: follows given choices, then the first one, and adds up log probabilities."""

    def __init__(self, choices: tuple[int, ...] = ()) -> None:
        self.choices, self.taken, self.ends, self.log = choices, [], [], 0.0  # type: ignore[var-annotated]

    def __call__(self, places: Any, end: int, share: Fraction, epsilon: Fraction, spare: Any) -> int:
        assert (np.diff(places) >= 0).all()
        assert places.size == 0 or (places[0] >= 0 and places[-1] <= max(end - 1, 0))
        at = self.choices[len(self.taken)] if len(self.taken) < len(self.choices) else 0
        self.log += float(log_law(places.tolist(), end, share, epsilon)[at])
        self.taken.append(at)
        self.ends.append(end)
        return at


def followed(values: Floats, lattice: Lattice, targets: Any, epsilons: Any, choices: tuple[int, ...]) -> Any:
    script = _Script(choices)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(line, "draw_threshold", script)
        found = bisect(np.sort(values), lattice, targets, epsilons, SeededEntropy(1), "y")
    return tuple(found.tolist()), script


def whole_law(values: Floats, lattice: Lattice, targets: Any, epsilons: Any) -> dict[tuple[float, ...], float]:
    """The probability of every released list of thresholds, by walking through all runs."""
    law: dict[tuple[float, ...], float] = {}
    waiting: list[tuple[int, ...]] = [()]
    while waiting:
        choices = waiting.pop()
        found, script = followed(values, lattice, targets, epsilons, choices)
        law[found] = law.get(found, 0.0) + np.exp(script.log)
        for depth in range(len(choices), len(script.taken)):
            waiting += [(*script.taken[:depth], other) for other in range(1, script.ends[depth] + 1)]
    assert sum(law.values()) == pytest.approx(1, abs=1e-9)
    return law


TARGETS = {
    "quarters": (Fraction(1, 4), Fraction(1, 2), Fraction(3, 4)),
    "far out": (Fraction(1, 100), Fraction(1, 2), Fraction(99, 100)),
    "upper tail": (Fraction(97, 100), Fraction(98, 100), Fraction(99, 100)),
    "two": (Fraction(1, 10), Fraction(9, 10)),
}
LATTICE = Lattice(0.0, 8.0, unit=2.0, centre=0.0, bits=2)
