"""Laplace noise on the logarithm of a count (haney2017, algorithm 1), with the noise its own proof asks for.

Proof: `log_laplace.md`. The printed algorithm draws twice the noise that theorem 8.1 needs.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from tacita.data.workforce import Workforce
from tacita.errors import UsageError
from tacita.mechanisms.eree import calibration
from tacita.mechanisms.eree.base import AlphaPlan
from tacita.noise.entropy import Entropy
from tacita.noise.error import LogError
from tacita.noise.rounding import noisy_log
from tacita.privacy import Guarantee, text


@frozen
class LogLaplace(AlphaPlan):
    """(n + 1/α)·e^{λη} − 1/α with λ = ln(1+α)/ε, debiased by (1 − λ²) where that mean exists.

    >>> plan = LogLaplace("0.1", "1")
    >>> round(float(plan.scale()), 6)
    0.09531
    >>> print(LogLaplace("0.1", "1", calibration="paper").guarantee.loss)
    ε = 0.5
    """

    proof = "mechanisms/eree/log_laplace.md"

    def _check_combination(self) -> None:
        super()._check_combination()
        if self.definition == "strong" and (self.worker or self.where):
            raise UsageError(
                "definition: LogLaplace cannot answer worker attributes under the strong definition, where one cell "
                'may grow without bound relative to itself; use definition = "weak", or SmoothVector'
            )
        if self.margin_share:
            raise UsageError("margin_share: LogLaplace needs none; its margins of error are known without paying")

    @property
    def _noise(self) -> str:
        return ", in proportion to it"

    @property
    def guarantee(self) -> Guarantee:
        promise = super().guarantee
        if self.calibration == "proved":
            return promise
        # The printed noise is twice what ε needs: it is what ε/2 needs.
        return Guarantee(promise.neighbours, promise.loss * Fraction(1, 2), promise.holds, promise.assumes)

    def scale(self, S: Fraction | int = 1, cells: int = 1) -> Fraction:
        """λ, the scale of the noise on the log scale; it does not depend on S."""
        paper = self.calibration == "paper"
        return calibration.log_laplace_scale(self.alpha, self.epsilon_per_cell(cells), paper=paper)

    def error_law(self, cells: int) -> LogError:
        lam = self.scale(cells=cells)
        debiased = self.calibration == "proved" and lam < 1
        return LogError(lam, 1 / self.alpha, 1 - lam**2 if debiased else Fraction(1))

    def expected_error(self, S: float = 1) -> float:
        """Mean absolute error on a cell of one establishment whose smooth sensitivity is S, that is of size S/α."""
        return (float(S) + 1) / float(self.alpha) * self._relative(self.error_law(1))

    @staticmethod
    def _relative(error: LogError) -> float:
        """E|factor·e^{λη} − 1|, in closed form."""
        lam, factor = float(error.lam), float(error.factor)
        if lam >= 1:
            return math.inf
        above = 0.5 * factor ** (1 / lam) * lam / (1 - lam)
        return float(2 * above - (factor / (1 - lam**2) - 1))

    def measure(self, exact_counts: Workforce, entropy: Entropy) -> NDArray[np.int64]:
        law = self.error_law(exact_counts.counts.shape[1])
        label = "jobs by " + " × ".join((*self.by, *self.worker))
        return noisy_log(exact_counts.counts, law.gamma, law.lam, law.factor, entropy, label)

    def accuracy(self, cells: int) -> tuple[tuple[str, ...], dict[str, float]]:
        law = self.error_law(cells)
        relative = self._relative(law)
        if math.isinf(relative):
            return ("the expected error is unbounded at these parameters; raise epsilon or lower alpha",), {}
        by_size = [f"{relative * (size + float(law.gamma)):.3g} at {size:,}" for size in (10, 100, 1000, 10000)]
        return (
            f"typical error {100 * relative:.3g} percent of (the cell's count + {text(law.gamma)})",
            f"that is, by count of the cell: {', '.join(by_size)} jobs",
        ), {"typical_relative_error": relative}
