"""Ordinary differential privacy for establishments and for workers, the two ends that ER-EE privacy lies between.

Both add exact discrete Laplace noise of one public scale. Proofs: `truncated_laplace.md`, `edge_laplace.md`.
"""

from __future__ import annotations

from abc import abstractmethod
from fractions import Fraction
from typing import Any

import numpy as np
from attrs import Attribute, field, frozen
from numpy.typing import NDArray

from tacita.data.schema import Schema
from tacita.data.workforce import Workforce
from tacita.errors import UsageError
from tacita.mechanisms.eree.base import PUBLIC_FRAME, CountPlan
from tacita.noise.discrete import DiscreteLaplace, add_discrete_laplace
from tacita.noise.entropy import Entropy
from tacita.noise.error import FixedError
from tacita.plan import ONE_JOB
from tacita.plan.fields import as_epsilon
from tacita.plan.how import How
from tacita.privacy import AddRemoveOne, Guarantee, Loss, text


def _some_workers(plan: Any, setting: Attribute[Any], theta: Any) -> None:
    if isinstance(theta, bool) or not isinstance(theta, int) or theta < 1:
        raise UsageError("theta: must be a whole number of workers of at least 1, such as 100")


@frozen
class _FixedNoise(CountPlan):
    @property
    def law(self) -> DiscreteLaplace:
        return DiscreteLaplace(self.scale())

    @abstractmethod
    def scale(self, S: Fraction | int = 1) -> Fraction: ...

    def expected_error(self, S: float = 1) -> float:
        """Mean absolute noise of a cell; it does not depend on the establishments in it."""
        return self.law.mean_abs()

    @property
    def feasible(self) -> bool:
        return True

    @property
    def _noise(self) -> str:
        return ", of one known size"

    def error_law(self, cells: int) -> FixedError:
        return FixedError(self.law)

    def measure(self, exact_counts: Workforce, entropy: Entropy) -> NDArray[np.int64]:
        label = "jobs by " + " × ".join((*self.by, *self.worker))
        flat = add_discrete_laplace(exact_counts.counts.ravel(), self.scale(), entropy, label)
        return flat.reshape(exact_counts.counts.shape)

    def accuracy(self, cells: int) -> tuple[tuple[str, ...], dict[str, float]]:
        law = self.law
        return (
            f"typical noise {law.mean_abs():.3g} jobs in every cell, large or small",
            f"nine in ten errors are at most {law.margin(0.9)} jobs",
        ), {"typical_error": law.mean_abs(), "margin_90": float(law.margin(0.9))}


@frozen
class EdgeLaplace(_FixedNoise):
    """Worker-level privacy: one worker more or less. It does not protect establishments.

    >>> EdgeLaplace("1", by=["place"]).guarantee.neighbours
    AddRemoveOne(unit='worker')
    """

    proof = "mechanisms/eree/edge_laplace.md"

    epsilon: Fraction = field(converter=as_epsilon)

    @property
    def guarantee(self) -> Guarantee:
        return Guarantee(AddRemoveOne("worker"), Loss(self.epsilon), assumes=(PUBLIC_FRAME, ONE_JOB))

    def scale(self, S: Fraction | int = 1) -> Fraction:
        return 1 / self.epsilon


@frozen
class TruncatedLaplace(_FixedNoise):
    """Establishment-level privacy by projection: establishments with more than θ workers are left out.

    That an establishment exists is protected too, so every declared cell is published, also those without any.

    >>> TruncatedLaplace(100, "1", by=["place"]).scale()
    Fraction(100, 1)
    """

    proof = "mechanisms/eree/truncated_laplace.md"

    theta: int = field(validator=_some_workers)
    epsilon: Fraction = field(converter=as_epsilon)

    @property
    def guarantee(self) -> Guarantee:
        return Guarantee(AddRemoveOne("establishment"), Loss(self.epsilon))

    def contribution(self, schema: Schema) -> None:
        """All jobs of an establishment are taken together, by its id, whoever holds them."""

    @property
    def drops_above(self) -> int | None:
        return self.theta

    @property
    def how(self) -> How:
        return How(
            f"The workers of establishments with more than {self.theta:,} of them were left out altogether. The others "
            f"were counted in every cell that the codes allow, and random noise was added to each count{self._noise}."
        )

    @property
    def every_cell(self) -> bool:
        return True  # cells that occur would tell which establishments there are

    def scale(self, S: Fraction | int = 1) -> Fraction:
        return self.theta / self.epsilon

    def error_law(self, cells: int) -> FixedError:
        return FixedError(self.law, left_out=True)

    def accuracy(self, cells: int) -> tuple[tuple[str, ...], dict[str, float]]:
        sentences, figures = super().accuracy(cells)
        missing = (
            f"on top of that, establishments with more than {text(Fraction(self.theta))} workers are missing entirely"
        )
        return (*sentences, missing), figures
