"""Who takes part: noisy sufficient statistics, FBS and FBP by the pseudo posterior, Laplace tables, and the sample."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
from attrs import evolve

from tacita.inference.estimate import Estimate
from tacita.mechanisms.survey import SurveyLaplace
from tacita.mechanisms.survey.laplace import Calibration
from tacita.privacy import ReplaceOne, text
from tacita.synthesis.comparison.pseudo import Bounds, PseudoPosterior, bounds_before_after
from tacita.synthesis.comparison.pseudo.model import Weights
from tacita.synthesis.survey import SurveySynthesis
from tacita_studies.harness.experiment import Method
from tacita_studies.harness.results import in_words
from tacita_studies.hu2024.answers import Answer, Answers, from_files, from_sample
from tacita_studies.hu2024.printed import ARMS, BOUNDS, SETS, STATISTICS, Arm
from tacita_studies.hu2024.survey_file import SurveyFile

EPSILONS = ("3.6", "10.8")
DEFAULT = "SurveySynthesis"
PERSON = ReplaceOne("person")
LOCAL, BOUNDED = "Laplace, local sensitivity", "Laplace, public bounds"


@dataclass(frozen=True)
class Entry:
    """One line of the results: a method at its ε with its number of files."""

    method: str
    mode: str
    epsilon: str | None = None
    sets: int | None = None
    bound: float | None = None

    @property
    def arm(self) -> Arm | None:
        """The paper's name, where it is one of the paper's two synthesizers."""
        return next((one for one in ARMS if one == self.method), None)

    @property
    def where(self) -> dict[str, Any]:
        return {"mode": self.mode, "epsilon": self.epsilon, "sets": self.sets, "bound": self.bound}

    @property
    def words(self) -> str:
        """>>> Entry("FBS", "asymptotic", "10.8", 3, 1.8).words, Entry("Sample", "sample").words
        ('FBS, Δ = 1.8, m = 3', 'Sample')
        """
        if self.bound is not None:
            return f"{self.method}, Δ = {self.bound:g}, m = {self.sets}"
        return self.method if self.epsilon is None else f"{self.method}, ε = {self.epsilon}"


@dataclass(frozen=True)
class Answered:
    """What a method gave on one sample: answers by entry, and its synthetic files, if it makes any."""

    answers: Mapping[Entry, Answers]
    files: Sequence[pd.DataFrame] = ()


class SurveyMethod(Method, ABC):
    """`make` answers from one sample; `entries` are the keys of what it will answer."""

    @abstractmethod
    def entries(self, about: SurveyFile) -> tuple[Entry, ...]: ...

    @abstractmethod
    def make(self, frame: pd.DataFrame, about: SurveyFile, seed: int) -> Answered: ...

    @abstractmethod
    def guarantee(self, entry: Entry, about: SurveyFile) -> str: ...


SAMPLE = Entry("Confidential sample", "sample")


@dataclass(frozen=True)
class Sample(SurveyMethod):
    """The confidential sample with its own intervals: what every method is measured by."""

    name: str = SAMPLE.method
    file: str = "sample"

    def entries(self, about: SurveyFile) -> tuple[Entry, ...]:
        return (SAMPLE,)

    def make(self, frame: pd.DataFrame, about: SurveyFile, seed: int) -> Answered:
        return Answered({SAMPLE: from_sample(frame, about)})

    def guarantee(self, entry: Entry, about: SurveyFile) -> str:
        return "none: the confidential sample itself"


@dataclass(frozen=True)
class Noisy(SurveyMethod):
    """`SurveySynthesis`, twenty files."""

    @classmethod
    def at(cls, epsilon: str) -> Noisy:
        return cls(DEFAULT, f"survey-{epsilon}", "always", epsilon)

    def plan(self, about: SurveyFile) -> SurveySynthesis:
        return SurveySynthesis(
            [about.outcome], str(self.epsilon), weight=about.weight, by=about.by, sets=20, neighbours=PERSON
        )

    def entries(self, about: SurveyFile) -> tuple[Entry, ...]:
        return (Entry(DEFAULT, "always", self.epsilon, self.plan(about).sets),)

    def make(self, frame: pd.DataFrame, about: SurveyFile, seed: int) -> Answered:
        (entry,) = self.entries(about)
        files = self.plan(about).rehearse(frame, about.schema, seed=seed).implicates
        return Answered({entry: from_files(files, about, files.m)}, tuple(files))

    def guarantee(self, entry: Entry, about: SurveyFile) -> str:
        return in_words(self.plan(about).guarantee)


@dataclass(frozen=True)
class NoisyTables(SurveyMethod):
    """Laplace noise on each number of the tables (section 2.4), or, with public bounds, on the sums of each cell."""

    calibration: Calibration = "proved"

    @classmethod
    def at(cls, epsilon: str, calibration: Calibration) -> NoisyTables:
        name, mode = (LOCAL, "none") if calibration == "paper" else (BOUNDED, "always")
        return cls(name, f"laplace-{calibration}-{epsilon}", mode, epsilon, calibration=calibration)

    def plan(self, about: SurveyFile) -> SurveyLaplace:
        return SurveyLaplace(
            about.by, str(self.epsilon), means=[about.outcome], calibration=self.calibration, neighbours=PERSON
        )

    def entries(self, about: SurveyFile) -> tuple[Entry, ...]:
        return (Entry(self.name, self.mode, self.epsilon),)

    def make(self, frame: pd.DataFrame, about: SurveyFile, seed: int) -> Answered:
        result = self.plan(about).rehearse(frame, about.schema, seed=seed)
        # Tables have their margins last, the paper's first.
        order = np.ix_(*(np.r_[len(levels), : len(levels)] for levels in result.levels))
        return Answered(
            {
                self.entries(about)[0]: {
                    statistic: Answer.of(
                        Estimate(result.value[at][order].ravel(), result.variance[at][order].ravel(), result.replicates)
                    )
                    for at, statistic in enumerate(STATISTICS)
                }
            }
        )

    def guarantee(self, entry: Entry, about: SurveyFile) -> str:
        return in_words(self.plan(about).guarantee)


@dataclass(frozen=True)
class Pseudo(SurveyMethod):
    """FBS or FBP by the pseudo posterior; five files, of which the first m are the release with m files.

    Entries are named by the paper's ε = 2Δm. The number of records in each cell is published, so what the draws promise
    is about a replaced record, and costs 4Δm: `guarantee` says so. Weights are brought to the public number of persons.
    FBP has two readings. `paper` is the one that comes near Table 4: counts from weights in which only κ_y·y is left,
    with variances as if the sample had no strata; means from weights that are equal within a cell. Otherwise both
    tables come from the latter weights, and the design is as it was.
    """

    arm: Arm = "FBS"
    bound: str = "1.8"
    paper: bool = True

    @classmethod
    def at(cls, arm: Arm, bound: str, *, paper: bool = True) -> Pseudo:
        name, file = (arm, "") if paper else (f"{arm}, cell weights", "-cell-weights")
        return cls(name, f"{arm.lower()}-{bound}{file}", "asymptotic", arm=arm, bound=bound, paper=paper)

    def plan(self, about: SurveyFile, sets: int = max(SETS), weights: Weights = "smoothed") -> PseudoPosterior:
        return PseudoPosterior(
            [about.outcome],
            4 * Fraction(self.bound) * sets,
            weight=about.weight,
            by=about.by,
            likelihood=self.arm,
            sets=sets,
            weights=weights,
            unit_weight=about.usual_weight if self.arm == "FBP" else None,
            total=about.persons,
            neighbours=PERSON,
        )

    def entries(self, about: SurveyFile) -> tuple[Entry, ...]:
        return tuple(
            Entry(self.name, "asymptotic", text(2 * Fraction(self.bound) * m), m, float(self.bound)) for m in SETS
        )

    def make(self, frame: pd.DataFrame, about: SurveyFile, seed: int) -> Answered:
        model = self.plan(about).rehearse(frame, about.schema, seed=seed)
        files, counted = model.implicates, None
        if self.arm == "FBP" and self.paper:
            counted = evolve(model, plan=evolve(model.plan, weights="printed")).implicates
        answers: dict[Entry, Answers] = {}
        for entry in self.entries(about):
            m = entry.sets or 1
            answers[entry] = from_files(files, about, m)
            if counted is not None:
                counts = from_files(counted, about.without_strata, m)["count"]
                answers[entry] = {"count": counts, "mean": answers[entry]["mean"]}
        return Answered(answers, tuple(files))

    def guarantee(self, entry: Entry, about: SurveyFile) -> str:
        return in_words(self.plan(about, entry.sets or 1).guarantee)

    def record_bounds(self, frame: pd.DataFrame, about: SurveyFile, seed: int) -> Bounds:
        return bounds_before_after(self.plan(about), frame, about.schema, seed=seed)


def everybody(only: Sequence[str] = ()) -> tuple[SurveyMethod, ...]:
    """All methods at all their settings."""
    pseudo = [Pseudo.at(arm, f"{bound:g}") for bound in BOUNDS for arm in ARMS]
    laplace = (NoisyTables.at("10.8", "paper"), *(NoisyTables.at(epsilon, "proved") for epsilon in EPSILONS))
    own = Pseudo.at("FBP", "1.8", paper=False)
    return _chosen((Sample(), *(Noisy.at(epsilon) for epsilon in EPSILONS), *pseudo, own, *laplace), only)


def in_short(only: Sequence[str] = ()) -> tuple[SurveyMethod, ...]:
    """One setting of each method, at ε = 10.8, and the default also at 3.6."""
    wanted = {*(f"{arm.lower()}-1.8" for arm in ARMS), "fbp-1.8-cell-weights"}
    wanted |= {f"laplace-{calibration}-10.8" for calibration in ("paper", "proved")}
    return tuple(one for one in everybody(only) if isinstance(one, Sample | Noisy) or one.file in wanted)


def _chosen(methods: tuple[SurveyMethod, ...], only: Sequence[str]) -> tuple[SurveyMethod, ...]:
    return tuple(one for one in methods if not only or one.file in only or isinstance(one, Sample))
