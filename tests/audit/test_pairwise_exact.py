"""The privacy loss of all questions of `PairwiseSynthesis` to small files, for every neighbour, added up exactly.

Discrete Gaussian noise of variance v on numbers that a neighbour changes by Δ loses Δ²/(2v) of zero-concentrated
privacy (gaussian.md, whose law test_gaussian.py checks). A first run keeps every released number; a second run on a
neighbouring file is given the same numbers, and must ask the same questions in the same order. `tacita audit` does so
with whole runs on hostile files.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest

from support.pairwise import plan, schema, voters
from support.tape import Tape
from tacita.data.confidential import Confidential
from tacita.data.gathered import CodedRows
from tacita.data.schema import Schema
from tacita.errors import SchemaError
from tacita.noise.choice import choose
from tacita.noise.concentrated import rho_for
from tacita.noise.entropy import SeededEntropy
from tacita.plan import check
from tacita.privacy import AddRemoveOne, ReplaceOne
from tacita.synthesis import PairwiseSynthesis
from tacita.synthesis.pairwise import choosing, measuring
from tacita.synthesis.pairwise import plan as planning

REPLACE, ADD = ReplaceOne("person"), AddRemoveOne("person")


class Answers(Tape):
    """Noisy tables, and choices: one whose logarithm of the ratio of laws spans r loses r²/8."""

    def choice(self, widths: Any, scores: Any, rate: Fraction, spare: Any) -> Any:
        chosen = choose(widths, scores, rate, spare)

        def loss(before: Any) -> float:
            return float((rate * int(np.ptp((scores - before)[widths > 0]))) ** 2 / 8)

        return self.step(("choice", rate, widths.tolist()), scores.copy(), chosen, loss)


@contextmanager
def answered_by(tape: Answers) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(measuring, "add_discrete_gaussian", tape.gaussian)
        patch.setattr(choosing, "choose", tape.choice)
        yield


def small_schema(levels: tuple[int, ...]) -> Schema:
    entries = {
        f"v{k}": {"role": "confidential", "type": "categorical", "levels": [str(one) for one in range(size)]}
        for k, size in enumerate(levels)
    }
    return Schema.from_dict({"dataset": {"identity": "small", "unit": "person"}, "variables": entries})


@pytest.mark.parametrize("relation", [REPLACE, ADD], ids=["replaced", "added"])
@pytest.mark.parametrize("select", ["all", "private"])
@pytest.mark.parametrize("levels", [(2, 2, 2), (3, 3, 4), (2, 3), (2, 2, 3), (2, 2, 2, 2, 2), (1, 2, 3)])
def test_the_worst_neighbour_spends_all_and_no_more(relation: Any, select: Any, levels: tuple[int, ...]) -> None:
    names = [f"v{k}" for k in range(len(levels))]
    given = PairwiseSynthesis(names, "1", select=select, neighbours=relation)
    kinds = np.array(list(product(*map(range, levels))))
    codes = kinds[np.random.default_rng(1).integers(0, len(kinds), 6)]
    tape = asked(given, codes, levels)
    rho, losses = rho_for(given.epsilon, given.delta), []
    for kind in kinds:
        for i in range(len(codes) if relation == REPLACE else 1):
            other = np.vstack([codes, kind]) if relation == ADD else np.where(np.arange(6)[:, None] == i, kind, codes)
            losses.append(asked(given, other, levels, tape).lost)
    assert max(losses) <= rho
    reached = max(losses) / float(rho)
    assert reached > (0.999 if select == "all" else 0.5), "much less noise would go unnoticed"


def asked(given: PairwiseSynthesis, codes: Any, levels: tuple[int, ...], first: Answers | None = None) -> Answers:
    """All questions to these records, without the way through a file; answered as in the first run."""
    tape = Answers(first)
    with answered_by(tape):
        given._measured(
            CodedRows(codes, levels), levels, len(codes) if given.neighbours == REPLACE else None, SeededEntropy(1)
        )
    return tape


@pytest.mark.parametrize("select", ["all", "private"])
def test_a_fifth_less_noise_is_caught(select: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The audit itself: with a fifth less noise the same neighbour costs more than was promised."""
    given, levels = PairwiseSynthesis(["v0", "v1", "v2"], "1", select=select), (3, 3, 4)
    codes = np.zeros((60, 3), dtype=int)
    other = codes.copy()
    other[2] = [2, 2, 3]
    rho = rho_for(given.epsilon, given.delta)
    assert asked(given, other, levels, asked(given, codes, levels)).lost <= rho
    monkeypatch.setattr(planning, "rho_for", lambda epsilon, delta: rho * Fraction(25, 16))
    assert asked(given, other, levels, asked(given, codes, levels)).lost > rho


def test_an_impossible_record_is_refused_and_says_nothing() -> None:
    """Zeros are declared as facts: a file that breaks them is no file of this schema, and is refused unread."""
    frame = voters(60)
    frame.loc[3, ["registered", "voted"]] = ["no", "yes"]
    with pytest.raises(SchemaError, match="calls impossible"):
        check(plan(), Confidential.from_frame(frame, schema()))
