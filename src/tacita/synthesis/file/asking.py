"""Noisy tables of the coded records. Proof: file.md."""

from __future__ import annotations

from collections.abc import Sequence

from tacita.data.gathered import Coded
from tacita.noise.entropy import Entropy
from tacita.synthesis.file.budget import Question
from tacita.synthesis.file.numbers import noisy
from tacita.synthesis.file.targets import Answer
from tacita.synthesis.pairwise.measuring import counts


def asked(coded: Coded, questions: Sequence[Question], entropy: Entropy) -> tuple[Answer, ...]:
    answers = []
    for one, exact in zip(questions, counts(coded, questions), strict=True):
        label = ("contrast of " if one.contrast else "table of ") + " × ".join(
            f"column {a + 1}" for a in one.attributes
        )
        answers.append(Answer(one, noisy(exact, one, entropy, label)))
    return tuple(answers)
