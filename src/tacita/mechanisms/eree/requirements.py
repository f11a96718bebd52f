"""Which definition meets which legal requirement, and at what level (haney2017, table 1, with corrected levels).

The paper's table says yes or no. A board needs the level: what the printed proofs really give, see
`docs/guarantees.md`.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from tacita.privacy import AddRemoveOne, Guarantee, StrongAlpha, WeakAlpha, text

Requirement = Literal["individuals", "establishment size", "establishment shape"]
Method = Literal[
    "input noise infusion",
    "differential privacy for individuals",
    "differential privacy for establishments",
    "strong ER-EE privacy",
    "weak ER-EE privacy",
]


@dataclass(frozen=True)
class Answer:
    """Does a method meet a requirement, against whom, and at how many times ε."""

    met: bool
    steps: int | None = None
    note: str = ""

    def level(self, epsilon: Fraction) -> str:
        """The level in words.

        >>> Answer(True, 2).level(Fraction(1, 2))
        'ε = 1'
        """
        if not self.met or self.steps is None:
            return "not met"
        return f"ε = {text(epsilon * self.steps)}"


_SIZE_WEAK = "only against an attacker who knows nothing about which kinds of worker are where"
_TWO_STEPS = "the printed proof needs two neighbour steps"

TABLE_1: dict[Method, dict[Requirement, Answer]] = {
    "input noise infusion": {
        "individuals": Answer(False, note="zero cells stay zero and show what a lone worker is not"),
        "establishment size": Answer(False, note="one known cell reveals the factor, and with it all others"),
        "establishment shape": Answer(False, note="one factor for all cells leaves proportions exact"),
    },
    "differential privacy for individuals": {
        "individuals": Answer(True, 1, "a job present or absent; one record against another is two steps"),
        "establishment size": Answer(False, note="the loss grows with the establishment"),
        "establishment shape": Answer(False, note="the loss grows with the establishment"),
    },
    "differential privacy for establishments": {
        "individuals": Answer(True, 2, "the workforce with and without one worker are two steps apart"),
        "establishment size": Answer(True, 2, "remove the workforce, then add another of any size"),
        "establishment shape": Answer(True, 2, "remove the workforce, then add another of any shape"),
    },
    "strong ER-EE privacy": {
        "individuals": Answer(True, 1, "a job present or absent; one record against another is two steps"),
        "establishment size": Answer(True, 1, "sizes within a factor 1 + α"),
        "establishment shape": Answer(True, 2, _TWO_STEPS),
    },
    "weak ER-EE privacy": {
        "individuals": Answer(True, 1, "a job present or absent; one record against another is two steps"),
        "establishment size": Answer(True, 1, _SIZE_WEAK),
        "establishment shape": Answer(
            True, 2, f"{_TWO_STEPS}, more where the other kinds of worker are few; {_SIZE_WEAK}"
        ),
    },
}


def requirements(guarantee: Guarantee) -> dict[Requirement, Answer]:
    """What a guarantee means for the three requirements of the paper's section 4.

    >>> from tacita.privacy import Loss
    >>> requirements(Guarantee(StrongAlpha("0.1"), Loss("1")))["establishment shape"].level(Fraction(1))
    'ε = 2'
    """
    if guarantee.holds == "never":
        return TABLE_1["input noise infusion"]
    method: Method = "differential privacy for individuals"
    if isinstance(guarantee.neighbours, StrongAlpha):
        method = "strong ER-EE privacy"
    elif isinstance(guarantee.neighbours, WeakAlpha):
        method = "weak ER-EE privacy"
    elif isinstance(guarantee.neighbours, AddRemoveOne) and guarantee.neighbours.unit == "establishment":
        method = "differential privacy for establishments"
    return TABLE_1[method]
