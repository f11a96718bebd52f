"""Who makes the files: the paper's sequence of models, and noisy tables at several ε."""

from __future__ import annotations

from dataclasses import dataclass

from tacita.implicates import Implicates
from tacita.synthesis.panel import PanelSynthesis, PlainPanelSynthesis
from tacita_studies.harness.experiment import Method
from tacita_studies.harness.results import in_words
from tacita_studies.kinney2007.simulation import Industry, formal_plan, plan, schema

FILES = 5
EPSILONS = ("1", "2", "4", "8")
MAIN = "4"  # the ε for which the study has bars


@dataclass(frozen=True)
class BusinessMethod(Method):
    """Without ε it is the plain version, which has no guarantee."""

    def plan(self, sets: int = FILES) -> PanelSynthesis | PlainPanelSynthesis:
        return plan(sets) if self.epsilon is None else formal_plan(self.epsilon, sets)

    @property
    def guarantee(self) -> str:
        return in_words(self.plan().guarantee)

    def make(self, panel: object, industry: Industry, seed: int, sets: int = FILES) -> Implicates:
        return self.plan(sets).rehearse(panel, schema((industry,)), seed=seed).implicates


def formal(epsilon: str) -> BusinessMethod:
    """>>> formal("4").name
    'formal, ε = 4'
    """
    return BusinessMethod(f"formal, ε = {epsilon}", f"formal-{epsilon}", "proved", epsilon)


PLAIN = BusinessMethod("plain", "plain", "none")
METHODS = (PLAIN, *map(formal, EPSILONS))
