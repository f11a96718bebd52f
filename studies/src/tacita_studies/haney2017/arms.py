"""Which mechanisms the haney2017 study runs, and at which settings each of them exists."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from tacita.errors import RefusedError, UsageError
from tacita.mechanisms import eree
from tacita.noise.error import LogError
from tacita.simulated.frame import FEMALE_COLLEGE, WORKER_CELLS
from tacita_studies.haney2017.tables import BY

EPSILONS = ("0.25", "0.5", "0.67", "1", "2", "4")
ALPHAS = ("0.01", "0.05", "0.1", "0.15", "0.2")
THETAS = (2, 20, 50, 100, 200, 500)
PAPER_DELTA = "0.05"  # "possible for a high failure probability of δ = 0.05" (section 10)
PROVED_DELTA = "0.0005"  # the smaller of the two in the paper's table 2

_SEX, _EDUCATION = WORKER_CELLS[FEMALE_COLLEGE]


@dataclass(frozen=True)
class Workload:
    """A set of counts, and the definition of privacy it is released under."""

    name: str
    definition: Literal["strong", "weak"]
    columns: int = 1  # worker cells that share one release
    arguments: Mapping[str, Any] = field(default_factory=dict)


WORKLOAD_1 = Workload("Workload 1", "strong")
# One query at a time: the calibration is the same for each of the eight worker groups.
WORKLOAD_2 = Workload("Workload 2", "weak", 1, {"where": {"sex": (_SEX,), "education": (_EDUCATION,)}})
WORKLOAD_3 = Workload("Workload 3", "weak", len(WORKER_CELLS), {"worker": ("sex", "education")})
WORKLOAD_3_STRONG = Workload("Workload 3, strong", "strong", len(WORKER_CELLS), {"worker": ("sex", "education")})


@dataclass(frozen=True)
class Arm:
    """A mechanism with a calibration; `build` gives None where the mechanism does not exist."""

    method: str
    calibration: Literal["proved", "paper"] = "proved"
    extra: Mapping[str, Any] = field(default_factory=dict)
    uses_alpha: bool = True

    @property
    def label(self) -> str:
        shown = self.method
        if "theta" in self.extra:
            shown += f" θ={self.extra['theta']}"
        return f"{shown} (as printed)" if self.calibration == "paper" else shown

    @property
    def file(self) -> str:
        size = f"-{self.extra['theta']}" if "theta" in self.extra else ""
        return f"{self.method}{size}{'-paper' if self.calibration == 'paper' else ''}"

    def build(self, workload: Workload, alpha: str | None, epsilon: str) -> Any | None:
        arguments: dict[str, Any] = {"epsilon": epsilon, "by": BY, **workload.arguments, **self.extra}
        if self.uses_alpha:
            arguments |= {"alpha": alpha, "definition": workload.definition, "calibration": self.calibration}
        try:
            mechanism = getattr(eree, self.method)(**arguments)
            law = mechanism.error_law(workload.columns)
        except (UsageError, RefusedError):
            return None  # outside the region where the mechanism exists
        if isinstance(law, LogError) and law.lam >= 1:
            return None  # lemma 8.2: the noisy count has no expectation; the paper does not show these either
        return mechanism


PAPER_ARMS = (
    Arm("LogLaplace", "paper"),
    Arm("SmoothGamma", "paper"),
    Arm("SmoothLaplace", "paper", {"delta": PAPER_DELTA}),
)
PROVED_ARMS = (
    Arm("LogLaplace"),
    Arm("SmoothGamma"),
    Arm("SmoothStudent"),
    Arm("SmoothStaircase"),
    Arm("SmoothLaplace", "proved", {"delta": PROVED_DELTA}),
)
ARMS = (*PAPER_ARMS, *PROVED_ARMS)
# The paper has no valid route for worker groups under the strong definition: its theorem 7.5 does not hold.
STRONG_WORKER_ARMS = (Arm("SmoothVector"), Arm("SmoothStaircase"))
EDGE_ARM = Arm("EdgeLaplace", uses_alpha=False)


def truncated_arms(thetas: tuple[int, ...]) -> tuple[Arm, ...]:
    """Establishment-level privacy, once for each bound on the size of an establishment."""
    return tuple(Arm("TruncatedLaplace", extra={"theta": theta}, uses_alpha=False) for theta in thetas)


@dataclass(frozen=True)
class Task:
    """One mechanism at one setting on one workload."""

    workload: Workload
    arm: Arm
    alpha: str | None
    epsilon: str
    mechanism: Any

    @property
    def where(self) -> dict[str, Any]:
        return {"alpha": self.alpha, "epsilon": self.epsilon, "calibration": self.arm.calibration}


@dataclass(frozen=True)
class Grid:
    """The settings to run; the paper's unless a quick look asks for fewer."""

    alphas: tuple[str, ...] = ALPHAS
    epsilons: tuple[str, ...] = EPSILONS
    thetas: tuple[int, ...] = THETAS


def tasks(grid: Grid) -> Iterator[Task]:
    """Every combination of the grid at which the mechanism exists."""
    for workload in (WORKLOAD_1, WORKLOAD_2, WORKLOAD_3, WORKLOAD_3_STRONG):
        for arm in STRONG_WORKER_ARMS if workload is WORKLOAD_3_STRONG else ARMS:
            for alpha in grid.alphas:
                yield from _existing(workload, arm, alpha, grid)
    for arm in (*truncated_arms(grid.thetas), EDGE_ARM):
        yield from _existing(WORKLOAD_1, arm, None, grid)


def _existing(workload: Workload, arm: Arm, alpha: str | None, grid: Grid) -> Iterator[Task]:
    for epsilon in grid.epsilons:
        mechanism = arm.build(workload, alpha, epsilon)
        if mechanism is not None:
            yield Task(workload, arm, alpha, epsilon, mechanism)
