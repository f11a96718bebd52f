"""Additive noise scaled to the largest establishment of each cell (smooth sensitivity).

Five laws: ours for single values (`SmoothStaircase`: the least noisy certified law) and for vectors (`SmoothVector`: a
power law in the L1 norm), Student's t with the best number of degrees of freedom, the paper's 1/(1+z⁴) ("Smooth
Gamma"), and Laplace, which needs δ > 0. All are calibrated exactly, with the supremum of the privacy loss certified;
see the proof files beside this module.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from fractions import Fraction
from typing import Any

import numpy as np
from attrs import field, frozen
from numpy.typing import NDArray

from tacita.data.workforce import LARGEST_ESTABLISHMENT, Workforce
from tacita.errors import UsageError
from tacita.mechanisms.eree import calibration, staircase_design, vector_design
from tacita.mechanisms.eree.base import AlphaPlan
from tacita.noise.entropy import Entropy
from tacita.noise.error import HiddenScaleError, margin_of
from tacita.noise.laws import Laplace, Law, QuarticCauchy, Student
from tacita.noise.rounding import noisy_log, noisy_on_grid
from tacita.plan.fields import as_delta
from tacita.privacy import Guarantee, Loss, text


@frozen
class SmoothPlan(AlphaPlan):
    """Noise k·S·Z with S = max(α·largest establishment, floor)."""

    @abstractmethod
    def unit(self, cells: int) -> tuple[Any, Fraction]:
        """The law of Z and the scale k at the budget each of `cells` worker cells gets."""

    @property
    def _noise(self) -> str:
        return ": the more, the larger the cell's largest establishment is"

    @property
    def floor(self) -> Fraction:
        return Fraction(1)

    def scale(self, S: Fraction | int = 1) -> Fraction:
        """The scale of the noise for smooth sensitivity S, one worker cell."""
        return self.unit(1)[1] * S

    def expected_error(self, S: float = 1) -> float:
        """Mean absolute error for smooth sensitivity S, one worker cell."""
        law, k = self.unit(1)
        return float(k) * float(law.mean_abs()) * float(S)

    def error_law(self, cells: int) -> HiddenScaleError:
        law, k = self.unit(cells)
        self._written(k)
        bounded_by = "value"
        if self.definition == "strong" and (self.worker or self.where):
            bounded_by = "nothing" if self.where else "row"
        return HiddenScaleError(law, k, self.alpha, self.floor, bounded_by, self._blur(cells))

    def _written(self, k: Fraction) -> tuple[int, int]:
        """k as numerator and denominator, rounded up where 64-bit scales need it: more noise, never less.

        Public numbers alone decide that. A rounding that came with the size of an establishment would be a
        difference between neighbouring files that no proof covers.
        """
        most = LARGEST_ESTABLISHMENT // self.alpha.numerator
        if k.numerator <= most:
            return k.numerator, k.denominator
        if k > most:
            raise UsageError(
                f"epsilon: at ε = {text(self.epsilon)} and α = {text(self.alpha)} the noise would exceed any count; "
                "raise epsilon, lower alpha, or write alpha with fewer digits"
            )
        over = int((most - 1) / k) or 1
        return math.ceil(k * over), over

    def _scales(self, largest: NDArray[np.int64], k: Fraction) -> tuple[NDArray[np.int64], int]:
        """k·max(α·x, floor) as exact integers over one denominator.

        Sizes stop at the largest establishment, in the counts and here, so that every scale is a ratio of 64-bit
        integers: held at a bound, sizes that differ by a factor of at most 1 + α still do.
        """
        parts, over = self._written(k)
        per_worker, at_least = parts * self.alpha.numerator, parts * int(self.floor * self.alpha.denominator)
        sizes = np.minimum(largest, LARGEST_ESTABLISHMENT)
        return np.maximum(sizes * per_worker, at_least), over * self.alpha.denominator

    def _noisy(self, counted: Workforce, entropy: Entropy, law: Any, k: Fraction) -> NDArray[np.int64]:
        numerator, denominator = self._scales(self.deciding_size(counted), k)
        return noisy_on_grid(counted.counts, numerator, denominator, law, entropy, self._label())

    def _label(self) -> str:
        return "jobs by " + " × ".join((*self.by, *self.worker)) if self.by or self.worker else "jobs"

    def measure(self, exact_counts: Workforce, entropy: Entropy) -> NDArray[np.int64]:
        law, k = self.unit(exact_counts.counts.shape[1])
        return self._noisy(exact_counts, entropy, law, k)

    def _blur(self, cells: int) -> Fraction | None:
        """Scale of the log noise on the paid-for size; under the strong definition one size serves a whole row."""
        if not self.margin_share:
            return None
        shares = 1 if self.definition == "strong" else cells
        return calibration.log_laplace_scale(self.alpha, self.epsilon * self.margin_share / shares)

    def measure_largest(self, exact_counts: Workforce, entropy: Entropy) -> NDArray[np.int64] | None:
        sizes = self.deciding_size(exact_counts)
        if self.definition == "strong":
            sizes = sizes[:, :1]  # one establishment sets the scale of the whole row: measured once
        blur = self._blur(sizes.shape[1])
        if blur is None:
            return None
        least = -(-1 // self.alpha) + 1
        above = np.maximum(sizes, int(least)) - 1
        return noisy_log(above, Fraction(1), blur, Fraction(1), entropy, f"largest establishment, {self._label()}") + 1

    def accuracy(self, cells: int) -> tuple[tuple[str, ...], dict[str, float]]:
        law, k = self.unit(cells)
        self._written(k)
        typical = float(k) * float(law.mean_abs())
        within = float(k) * margin_of(law, 0.9)
        share = float(self.alpha)
        by_size = [f"{max(size * share, float(self.floor)) * typical:.3g} at {size:,}" for size in (10, 100, 1000)]
        sentences: tuple[str, ...] = (
            f"typical error {typical:.3g} × {text(self.alpha)} of the largest establishment in a cell "
            f"(never less than {typical * float(self.floor):.3g} jobs)",
            f"that is, by size of the largest establishment: {', '.join(by_size)} workers",
            f"nine in ten errors are below {within / typical:.2g} times the typical one",
        )
        if cells > 1:
            sentences += (self._split_sentence(cells),)
        return sentences, {"typical_error_in_S": typical, "margin_90_in_S": within, "floor": float(self.floor)}

    def _split_sentence(self, cells: int) -> str:
        return (
            f"ε is shared by {cells} worker cells, because they do not compose in parallel; under the strong "
            "definition SmoothVector measures them together with far less noise"
        )


@frozen
class SmoothStaircase(SmoothPlan):
    """The least noise found for smooth sensitivity: a certified law with plateaus. Pure ε, the default.

    The law has mean zero. It is not symmetric, so rounding to whole jobs moves the mean of a cell a little: by less
    than 0.03 jobs.

    >>> plan = SmoothStaircase("0.1", "2", by=["place"])
    >>> plan.expected_error(1) < 0.44, str(plan.guarantee)
    (True, 'ε = 2 under strong α = 0.1 neighbours')
    """

    proof = "mechanisms/eree/staircase.md"

    def _check_combination(self) -> None:
        if self.calibration == "paper":
            raise UsageError('calibration: SmoothStaircase is not in the paper; use calibration = "proved"')

    @property
    def floor(self) -> Fraction:
        return 1 + self.alpha

    def unit(self, cells: int) -> tuple[Any, Fraction]:
        return staircase_design.least_noise(self.alpha, self.epsilon_per_cell(cells)), Fraction(1)

    def _noisy(self, counted: Workforce, entropy: Entropy, law: Any, k: Fraction) -> NDArray[np.int64]:
        numerator, denominator = self._scales(self.deciding_size(counted), k)
        flat = law.on_grid(counted.counts.ravel(), numerator.ravel(), denominator, entropy, self._label())
        noisy: NDArray[np.int64] = flat.reshape(counted.counts.shape)
        return noisy


@frozen
class SmoothVector(SmoothPlan):
    """All worker cells of a workplace cell measured as one vector: the strong definition, ε paid once.

    >>> SmoothVector("0.05", "4", by=["place"], worker=["sex", "education"]).guarantee.loss
    Loss(epsilon='4')
    """

    proof = "mechanisms/eree/vector.md"

    def _check_combination(self) -> None:
        if self.calibration == "paper" or self.definition != "strong":
            raise UsageError('SmoothVector: only definition = "strong" and calibration = "proved" exist')

    @property
    def floor(self) -> Fraction:
        return 1 + self.alpha

    def unit(self, cells: int) -> tuple[Any, Fraction]:
        budget = self.epsilon * (1 - self.margin_share)
        return vector_design.least_noise(self.alpha, budget, cells), Fraction(1)

    def _noisy(self, counted: Workforce, entropy: Entropy, law: Any, k: Fraction) -> NDArray[np.int64]:
        numerator, denominator = self._scales(counted.largest_total, k)
        noisy: NDArray[np.int64] = law.on_grid(counted.counts, numerator, denominator, entropy, self._label())
        return noisy

    def _split_sentence(self, cells: int) -> str:
        return f"all {cells} worker cells of a workplace cell are protected together, for the price of one"


@frozen
class SmoothStudent(SmoothPlan):
    """Student's t noise, with the degrees of freedom that give the least error.

    >>> round(SmoothStudent("0.1", "2").expected_error(1), 2)
    0.62
    """

    proof = "mechanisms/eree/student.md"

    def _check_combination(self) -> None:
        if self.calibration == "paper":
            raise UsageError('calibration: SmoothStudent is not in the paper; use calibration = "proved"')

    def unit(self, cells: int) -> tuple[Law, Fraction]:
        nu, k = calibration.best_student(self.alpha, self.epsilon_per_cell(cells))
        return Student(nu), k


@frozen
class SmoothGamma(SmoothPlan):
    """The paper's pure mechanism, density ∝ 1/(1+z⁴), calibrated exactly unless calibration = "paper"."""

    proof = "mechanisms/eree/quartic.md"

    def unit(self, cells: int) -> tuple[Law, Fraction]:
        budget = self.epsilon_per_cell(cells)
        scale = calibration.quartic_paper_scale if self.calibration == "paper" else calibration.quartic_scale
        return QuarticCauchy(), scale(self.alpha, budget)

    @property
    def guarantee(self) -> Guarantee:
        promise = super().guarantee
        if self.calibration == "proved" or self.worker or not self.feasible:
            return promise
        true = calibration.quartic_true_epsilon(self.alpha, self.unit(1)[1]) + self.epsilon * self.margin_share
        return Guarantee(promise.neighbours, Loss(true), promise.holds, promise.assumes)


@frozen
class SmoothLaplace(SmoothPlan):
    """Laplace noise on smooth sensitivity: fails with probability δ.

    >>> SmoothLaplace("0.1", "2", delta="0.0005").guarantee.loss
    Loss(epsilon='2', delta='0.0005')
    """

    proof = "mechanisms/eree/laplace.md"

    delta: Fraction = field(default=Fraction(5, 10_000), converter=as_delta, kw_only=True)

    def _check_delta(self) -> None:
        if not 0 < self.delta < 1:
            raise UsageError('delta: must be above 0 and below 1, such as "0.0005"')

    def unit(self, cells: int) -> tuple[Law, Fraction]:
        budget, failure = self.epsilon_per_cell(cells), self.delta / cells
        scale = calibration.laplace_paper_scale if self.calibration == "paper" else calibration.laplace_scale
        return Laplace(), scale(self.alpha, budget, failure)

    @property
    def guarantee(self) -> Guarantee:
        promise = super().guarantee
        if self.calibration == "proved" or self.worker or not self.feasible:
            return promise
        true = calibration.laplace_delta(self.alpha, self.epsilon_per_cell(1), self.unit(1)[1])
        return Guarantee(promise.neighbours, Loss(self.epsilon, delta=true), promise.holds, promise.assumes)
