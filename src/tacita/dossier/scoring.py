"""Runs the questions one by one: values, how long each took, and the questions that had no answer."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from tacita.dossier.questions import Group, Question, Skipped
from tacita.errors import TacitaError
from tacita.evaluation import Comparison, Score

Progress = Callable[[str, int, int], None]


@dataclass(frozen=True)
class Answer:
    """A score with its place in the dossier; `holdout` is the same score against rows kept out of the synthesis."""

    group: Group
    score: Score
    holdout: Score | None
    seconds: float

    @property
    def name(self) -> str:
        return self.score.metric.name


def answer(
    comparison: Comparison, asked: Sequence[Question], progress: Progress, done: int, total: int
) -> tuple[list[Answer], list[Skipped]]:
    """Ask every question of one comparison; a question without a defined answer is named, not dropped."""
    found: list[Answer] = []
    skipped: list[Skipped] = []
    for number, question in enumerate(asked):
        progress(question.metric.name, done + number, total)
        start = time.perf_counter()
        try:
            score = question.metric(comparison)
            holdout = question.metric.on_holdout(comparison) if question.on_holdout else None
        except TacitaError as error:
            skipped.append(Skipped(question.metric.name, str(error)))
        except (ArithmeticError, MemoryError, np.linalg.LinAlgError) as error:
            # One fit that fails must not cost the other answers; its message may quote values, its kind does not.
            skipped.append(Skipped(question.metric.name, f"the computation failed ({type(error).__name__})"))
        else:
            found.append(Answer(question.group, score, holdout, time.perf_counter() - start))
    return found, skipped
