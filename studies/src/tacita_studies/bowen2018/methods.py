"""Who takes part: all pairs at once, STEPS with paid elections, simple baselines, and the paper's own runs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import pandas as pd

from tacita.comparison import DirichletSynthesis, HistogramSynthesis, IndependentSynthesis
from tacita.implicates import Implicates
from tacita.privacy import ReplaceOne
from tacita.synthesis.comparison.steps import StepsSynthesis
from tacita.synthesis.pairwise import PairwiseSynthesis
from tacita_studies.bowen2018.printed import Arm
from tacita_studies.bowen2018.simulation import PersonFile
from tacita_studies.harness.experiment import Method
from tacita_studies.harness.results import in_words

SETS = 5
EPSILONS = {-2: "0.1353352832", -1: "0.3678794411", 0: "1", 1: "2.7182818284", 2: "7.3890560989"}  # rounded down
PERSON = ReplaceOne("person")
AS_PRINTED = ", as printed"


@dataclass(frozen=True, kw_only=True)
class PersonMethod(Method):
    """`plan` makes the plan for a file and ε.

    A method that is not a `favourite` runs once unless the study is run in full, and without the regression, which
    takes longest, unless the paper prints its result.
    """

    plan: Callable[[PersonFile, str], Any]
    favourite: bool = False

    def runs_in(self, repetition: int, full: bool) -> bool:
        return full or self.favourite or repetition == 0

    def regressed(self, full: bool) -> bool:
        return full or self.favourite or self.printed is not None

    def make(self, frame: pd.DataFrame, about: PersonFile, epsilon: str, seed: int) -> Implicates:
        files = self.plan(about, epsilon).rehearse(frame, about.schema, seed=seed).implicates
        assert isinstance(files, Implicates)
        return files

    def guarantee(self, about: PersonFile, epsilon: str) -> str:
        promise = self.plan(about, epsilon).guarantee
        said = in_words(promise)
        if self.mode == "paper":
            return f"{said}; claimed: ε = {epsilon}. " + "; ".join(promise.assumes)
        return f"{said}; assumes: {'; '.join(promise.assumes)}; the number of records is public"


def pairwise(sets: int = SETS) -> PersonMethod:
    """One file follows the measured tables; several also differ by what the noise leaves open."""

    def plan(about: PersonFile, epsilon: str) -> PairwiseSynthesis:
        return PairwiseSynthesis(about.names, epsilon, delta="1e-9", cuts=about.cuts, sets=sets, neighbours=PERSON)

    files = "one file" if sets == 1 else f"{sets} files"
    return PersonMethod(f"All pairs, {files}", f"pairwise-{sets}", plan=plan, favourite=True)


def steps(layers: int | None, rule: Literal["most", "least", "random"] = "most", sets: int = SETS) -> PersonMethod:
    """STEPS with elections paid for; no number of layers means as many as there are attributes."""

    def plan(about: PersonFile, epsilon: str) -> StepsSynthesis:
        return StepsSynthesis(
            about.names,
            epsilon,
            layers=len(about.names) if layers is None else layers,
            rule=rule,
            sets=sets,
            cuts=about.cuts,
            zeros=about.zeros,
            neighbours=PERSON,
        )

    name = f"STEPS-{'deep' if layers is None else layers}"
    kind = {"most": "", "least": " (LeSDA)", "random": ""}[rule]
    called = f"Random partition-{layers}" if rule == "random" else name + kind
    file = called.lower().replace(" ", "-").replace("(", "").replace(")", "")
    return PersonMethod(called, file, plan=plan, favourite=rule == "most")


def laplace(sets: int = SETS) -> PersonMethod:
    return _baseline(HistogramSynthesis, "One-step Laplace", "laplace", sets, favourite=True)


def dirichlet(sets: int = SETS) -> PersonMethod:
    return _baseline(DirichletSynthesis, "Multinomial-Dirichlet", "dirichlet", sets)


def independent(sets: int = SETS) -> PersonMethod:
    return _baseline(IndependentSynthesis, "Independent margins", "independent", sets)


def _baseline(kind: Callable[..., Any], name: str, file: str, sets: int, *, favourite: bool = False) -> PersonMethod:
    def plan(about: PersonFile, epsilon: str) -> Any:
        return kind(about.names, epsilon, sets=sets, cuts=about.cuts, zeros=about.zeros, neighbours=PERSON)

    return PersonMethod(name, file, plan=plan, favourite=favourite)


def as_printed(layers: int, rule: Literal["most", "least", "random"] = "most") -> PersonMethod:
    """Free elections on raw counts, ε/5 for each file, phantom categories; no layers is the one-step sanitizer."""

    def plan(about: PersonFile, epsilon: str) -> StepsSynthesis:
        return StepsSynthesis(
            about.names,
            epsilon,
            layers=layers,
            rule=rule,
            election="paper",
            budget="equal",
            stop="never",
            sets=SETS,
            cuts=about.cuts,
            zeros=about.zeros,
            neighbours=PERSON,
        )

    arm: Arm | None = "Laplace" if layers == 0 else "STEPS-2" if (layers, rule) == (2, "most") else None
    like = laplace() if layers == 0 else steps(layers, rule)
    return PersonMethod(like.name + AS_PRINTED, like.file + "-paper", "paper", printed=arm, plan=plan)


def everybody() -> tuple[PersonMethod, ...]:
    return (
        pairwise(1),
        pairwise(),
        steps(2),
        steps(3),
        steps(None),
        steps(2, "least"),
        steps(2, "random"),
        laplace(),
        dirichlet(),
        independent(),
        as_printed(2),
        as_printed(3),
        as_printed(2, "least"),
        as_printed(2, "random"),
        as_printed(0),
    )
