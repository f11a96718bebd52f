"""The privacy loss of whole runs of `PairwiseSynthesis`, added up exactly, and their control flow.

Discrete Gaussian noise of variance v on numbers that a neighbour changes by Δ loses Δ²/(2v) of zero-concentrated
privacy (gaussian.md, whose law test_gaussian.py checks). A first run keeps every released number; a second run on a
neighbouring file is given the same numbers. Both must ask the same questions in the same order and release the same
model to the byte, and the Δ²/(2v) of all questions together must not exceed the ρ that the promise allows.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
import pytest

from support.pairwise import NAMES, plan, schema, voters
from support.tape import Tape
from tacita.data.confidential import Confidential
from tacita.data.schema import Schema
from tacita.errors import SchemaError
from tacita.noise.choice import choose
from tacita.noise.concentrated import rho_for
from tacita.noise.entropy import SeededEntropy
from tacita.noise.replay import Recording, Replaying, compare
from tacita.privacy import AddRemoveOne, ReplaceOne
from tacita.synthesis import PairwiseSynthesis
from tacita.synthesis.pairwise import choosing, measuring
from tacita.synthesis.pairwise import plan as planning

REPLACE, ADD = ReplaceOne("person"), AddRemoveOne("person")
PLANS: dict[str, dict[str, Any]] = {
    "all pairs": {"select": "all"},
    "all pairs, files given": {"select": "all", "rows": 40, "sets": 2},
    "chosen pairs": {"select": "private"},
    "chosen pairs, some given": {"select": "private", "pairs": [["age", "voted"], ["region", "sex"]]},
    "chosen by itself": {"epsilon": "0.1"},
    "all pairs, added": {"select": "all", "neighbours": ADD},
    "chosen pairs, added": {"select": "private", "neighbours": ADD},
    "chosen pairs, added, rows": {"epsilon": "0.1", "neighbours": ADD, "rows": 60},
    "one attribute": {"columns": ["region"], "cuts": {}},
}


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


def run(given: PairwiseSynthesis, frame: pd.DataFrame, tape: Answers, public: Schema) -> Any:
    data = Confidential.from_frame(frame, public)
    data.check(given.reads(public))
    with answered_by(tape):
        return given.run(data, SeededEntropy(1))


def lost(given: PairwiseSynthesis, frame: pd.DataFrame, other: pd.DataFrame, public: Schema) -> float:
    one = Answers()
    first = run(given, frame, one, public)
    two = Answers(one)
    second = run(given, other, two, public)
    assert len(one.steps) == len(two.steps)
    assert first.to_bytes() == second.to_bytes(), "what is released depends on more than the noisy numbers"
    return two.lost


STRANGE: dict[str, dict[str, Any]] = {
    "everything else": {"sex": "M", "registered": "no", "voted": "no", "region": "W", "age": 99, "pay": 5000.0},
    "everything missing": dict.fromkeys(NAMES),
    "nothing declared": {"sex": "?", "registered": "?", "voted": "?", "region": "Atlantis", "age": -7, "pay": 1e9},
    "not a number": {"pay": float("nan"), "age": None},
    "infinite": {"pay": float("inf")},
    "a level that nobody has": {"region": "?"},
    "at the borders": {"age": 18, "pay": 1000.5},
}


def neighbours(given: PairwiseSynthesis, frame: pd.DataFrame) -> dict[str, pd.DataFrame]:
    found = {}
    for name, new in STRANGE.items():
        other = frame.copy().astype(object)
        if given.neighbours == ADD:
            row = {column: frame.iloc[3][column] for column in frame} | new
            found[name] = pd.concat([other, pd.DataFrame([row], dtype=object)], ignore_index=True)
        else:
            for column, value in new.items():
                other.at[3, column] = value
            found[name] = other[::-1].reset_index(drop=True)
    return {name: typed(other) for name, other in found.items()}


def typed(frame: pd.DataFrame) -> pd.DataFrame:
    return frame.assign(age=frame["age"].astype(float), pay=frame["pay"].astype(float))


@pytest.mark.parametrize("name", PLANS)
def test_no_neighbour_costs_more_than_was_promised(name: str) -> None:
    given, frame, public = plan(**PLANS[name]), typed(voters(60)), schema()
    rho = rho_for(given.epsilon, given.delta)
    losses = {who: lost(given, frame, other, public) for who, other in neighbours(given, frame).items()}
    assert max(losses.values()) <= rho
    assert max(losses.values()) > rho / 4, "nothing was seen of the record: the audit is blind"


@pytest.mark.parametrize("name", ["all pairs", "chosen pairs", "all pairs, added"])
def test_a_level_that_is_emptied_or_filled_changes_nothing_else(name: str) -> None:
    """Both ways round: the only person of a region moves, and the schema of the files stays."""
    given, public = plan(**PLANS[name]), schema()
    frame = typed(voters(60)).assign(region="N", sex="F")
    lonely = frame.copy()
    lonely.loc[5, ["region", "sex"]] = ["W", "M"]
    pairs = [(lonely, frame), (frame, lonely)]
    if given.neighbours == ADD:
        gone = lonely.drop(index=5).reset_index(drop=True)
        pairs = [(lonely, gone), (gone, lonely)]
    for one, two in pairs:
        assert lost(given, one, two, public) <= rho_for(given.epsilon, given.delta)
        schemas = [run(given, each, Answers(), public).implicates.frames[0].schema for each in (one, two)]
        assert schemas[0] == schemas[1]


@pytest.mark.parametrize("name", ["all pairs", "all pairs, files given", "all pairs, added", "one attribute"])
def test_the_same_words_are_asked_for(name: str) -> None:
    """Replay: requests agree in number, order, label, law, shape and words."""
    given, public = plan(**PLANS[name]), schema()
    frame = typed(voters(60))
    others = neighbours(given, frame)
    for who in ("everything missing", "nothing declared", "a level that nobody has"):
        recording = Recording(SeededEntropy(2))
        first = given.run(Confidential.from_frame(frame, public), recording)
        replaying = Replaying(recording)
        second = given.run(Confidential.from_frame(others[who], public), replaying)
        differences = compare(recording, replaying)
        assert len(differences) == len(first.released.answers) + 1
        for answer, again, difference in zip(
            first.released.answers, second.released.answers, differences, strict=False
        ):
            assert np.array_equal(again.values - answer.values, difference.true_d2 - difference.true_d)
        assert first.implicates.frames[0].schema == second.implicates.frames[0].schema


# ---------------------------------------------------------------- every neighbour of a small file


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
        given._measured(codes, levels, len(codes) if given.neighbours == REPLACE else None, SeededEntropy(1))
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
    frame = typed(voters(60))
    frame.loc[3, ["registered", "voted"]] = ["no", "yes"]
    with pytest.raises(SchemaError, match="calls impossible"):
        run(plan(), frame, Answers(), schema())
