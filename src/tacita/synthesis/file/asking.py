"""Noisy tables of the coded records. Proof: file.md."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from tacita.noise.entropy import Entropy
from tacita.synthesis.file.budget import Question
from tacita.synthesis.file.numbers import noisy
from tacita.synthesis.file.targets import Answer
from tacita.synthesis.pairwise.measuring import counts

Integers = NDArray[np.int64]


def asked(
    codes: Integers, levels: tuple[int, ...], questions: Sequence[Question], entropy: Entropy
) -> tuple[Answer, ...]:
    answers = []
    for one in questions:
        label = ("contrast of " if one.contrast else "table of ") + " × ".join(
            f"column {a + 1}" for a in one.attributes
        )
        answers.append(Answer(one, noisy(counts(codes, levels, one.attributes, one.contrast), one, entropy, label)))
    return tuple(answers)
