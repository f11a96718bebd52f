"""Replay of whole runs of the plans for categorical files: nothing depends on a record but through released values.

A first run keeps everything it releases, step by step; a second run on a neighbouring file is given the same. Both must
ask the same questions in the same order and end with the same model to the byte, however deep the tree and however its
attributes were elected, and what the steps lose together must not exceed ε. test_pairwise_exact.py tests
`PairwiseSynthesis` in this way, test_steps_exact.py how many random words each step takes.
"""

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from support.people import NAMES, ZEROS, emptied, one_more, one_other, persons, schema
from support.tape import Tape
from tacita.data.confidential import Confidential
from tacita.data.schema import Schema
from tacita.errors import SchemaError
from tacita.ledger import Ledger
from tacita.noise.entropy import Request, SeededEntropy, Words
from tacita.privacy import AddRemoveOne, Loss, ReplaceOne
from tacita.synthesis import (
    DirichletSynthesis,
    HistogramSynthesis,
    IndependentSynthesis,
    PairwiseSynthesis,
    StepsSynthesis,
)
from tacita.synthesis.comparison import independent
from tacita.synthesis.comparison.steps import cells, electing, measuring

REPLACE, ADD = ReplaceOne("person"), AddRemoveOne("person")
FILE = persons(60, seed=2)
EPSILON = 6


class Steady:
    """Random words that depend on the place of a request alone, not on how many words were used before it."""

    rehearsal = True

    def __init__(self) -> None:
        self.announced: list[tuple[str, str]] = []
        self.scales: dict[str, float] = {}

    def announce(self, request: Request) -> None:
        self.announced.append((request.label, request.law))
        self.scales[request.label] = float(request.scale.flat[0]) if request.scale.size else 0.0
        self._stream = SeededEntropy(5).child(str(len(self.announced)))

    def words(self, count: int) -> Words:
        return self._stream.words(count)


class Answers(Tape):
    """Every kind of question that these plans ask, with what it loses."""

    def election(self, domain: Any, scores: Any, useful: Any, cap: Any, ballot: Any, *rest: Any) -> Any:
        epsilon, entropy, label = rest
        runs = np.column_stack([useful, np.full(len(useful), ballot.threshold is not None)])
        winners = NOISY_BEST(domain, scores, useful, cap, ballot, *rest)

        def loss(before: Any) -> float:
            moved = scores - before
            return sum(
                float(np.ptp(row[allowed])) / entropy.scales[f"{label}, election at {most}"]
                for row, allowed, most in zip(moved, runs, cap, strict=True)
            )

        return self.step((label, epsilon, runs.tolist(), cap.tolist()), scores.copy(), winners, loss)

    def listing(self, way: Callable[..., Any]) -> Callable[..., Any]:
        """The listed cells of leaves. How many cells are occupied is no part of the question."""

        def listed(domain: Any, leaves: Any, starts: Any, place: Any, *public: Any) -> Any:
            possible, scale, threshold, _, label = public
            true = pd.Series(leaves.counts, index=starts[leaves.at] + place)
            drawn = way(domain, leaves, starts, place, *public)
            asked = (way.__name__, label, scale, possible, threshold, leaves.fixed.tolist())
            return self.step(
                asked, true, drawn, lambda before: float(true.sub(before, fill_value=0).abs().sum() / scale)
            )

        return listed


NOISY_BEST, DENSE, SPARSE = electing._noisy_best, cells._all, cells._reaching


def run(plan: Any, data: Confidential, tape: Answers, *, sparse: bool) -> tuple[Any, Steady]:
    entropy, measured = Steady(), cells.measure_cells
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(measuring, "add_discrete_laplace", tape.laplace)
        patch.setattr(independent, "add_discrete_laplace", tape.laplace)
        patch.setattr(electing, "_noisy_best", tape.election)
        patch.setattr(cells, "_all", tape.listing(DENSE))
        patch.setattr(cells, "_reaching", tape.listing(SPARSE))
        if sparse:
            patch.setattr(measuring, "measure_cells", lambda *given: measured(*given, dense=0))
        return plan.run(data, entropy), entropy


def forms(model: Any) -> list[Any]:
    return [table.schema for table in model.implicates.tables]


def replayed(plan: Any, first: Confidential, second: Confidential, *, sparse: bool = False) -> float:
    """What one record costs; raises where it changes more than the values that are noised."""
    one = Answers()
    two = Answers(one)
    (model, asked), (other, again) = run(plan, first, one, sparse=sparse), run(plan, second, two, sparse=sparse)
    assert len(one.steps) == len(two.steps)
    assert asked.announced == again.announced
    assert model.to_bytes() == other.to_bytes(), "what is released depends on more than the noisy values"
    assert forms(model) == forms(other)
    return two.lost


def opened(frame: pd.DataFrame) -> Confidential:
    data = Confidential.from_frame(frame, schema())
    data.check(NAMES)
    return data


@cache
def pairs(relation: Any) -> dict[str, tuple[Confidential, Confidential]]:
    """A changed record, missing values, new levels, an impossible cell; a level that is emptied, and one filled."""
    file = opened(FILE)
    others = one_more(FILE) if relation == ADD else one_other(FILE)
    found = {name: (file, opened(other)) for name, other in others.items()}
    lonely, without = emptied(FILE)
    with_level = opened(lonely)
    without_level = opened(without if relation == REPLACE else lonely.iloc[1:].reset_index(drop=True))
    return found | {"emptied level": (with_level, without_level), "filled level": (without_level, with_level)}


STEPS: dict[str, dict[str, Any]] = {
    "most by AIC": {"layers": 3},
    "most by AIC, all layers": {"layers": 5, "stop": "never", "budget": "equal"},
    "most by deviance": {"layers": 3, "criterion": "deviance", "stop": "never"},
    "least by AIC": {"layers": 3, "rule": "least", "stop": "never"},
    "least by deviance": {"layers": 2, "rule": "least", "criterion": "deviance", "stop": "never"},
    "may stop": {"layers": 4, "threshold": "1", "criterion": "deviance", "stop": "never"},
    "stops when small": {"layers": 4, "least": 12},
    "public order": {"layers": 3, "election": "public", "stop": "never"},
    "public order, stops when small": {"layers": 3, "election": "public"},
    "random": {"layers": 3, "election": "public", "rule": "random", "stop": "never"},
    "no layers": {"layers": 0},
}
RELATIONS = pytest.mark.parametrize("relation", [REPLACE, ADD], ids=["replaced", "added"])


@RELATIONS
@pytest.mark.parametrize("sparse", [False, True], ids=["all cells", "sparse"])
@pytest.mark.parametrize("name", STEPS)
def test_steps_depend_on_records_through_released_values_alone(name: str, sparse: bool, relation: Any) -> None:
    plan = StepsSynthesis(NAMES, EPSILON, zeros=ZEROS, neighbours=relation, **STEPS[name])
    lost = {who: replayed(plan, *pair, sparse=sparse) for who, pair in pairs(relation).items()}
    assert max(lost.values()) <= EPSILON + 1e-9
    assert max(lost.values()) > EPSILON / 2, "nothing was seen of the record: the audit is blind"


@RELATIONS
@pytest.mark.parametrize(
    ("plan", "sparse"),
    [
        (lambda **more: HistogramSynthesis(NAMES, EPSILON, **more), False),
        (lambda **more: HistogramSynthesis(NAMES, EPSILON, negative="project", sets=2, **more), True),
        (lambda **more: IndependentSynthesis(NAMES, EPSILON, **more), False),
    ],
    ids=["histogram", "histogram, sparse", "independent"],
)
def test_so_do_the_baselines(plan: Any, sparse: bool, relation: Any) -> None:
    given = plan(zeros=ZEROS, neighbours=relation)
    lost = {who: replayed(given, *pair, sparse=sparse) for who, pair in pairs(relation).items()}
    assert EPSILON / 2 < max(lost.values()) <= EPSILON + 1e-9


@RELATIONS
def test_dirichlet_files_have_one_form(relation: Any) -> None:
    """The files are themselves what is drawn: same requests with the same prior, same number of rows, same schema."""
    plan = DirichletSynthesis(NAMES, EPSILON, rows=50, sets=2, zeros=ZEROS, neighbours=relation)
    for one, two in pairs(relation).values():
        (model, asked), (other, again) = (run(plan, data, Answers(), sparse=False) for data in (one, two))
        assert asked.announced == again.announced
        assert [table.schema for table in model.implicates.tables] == [
            table.schema for table in other.implicates.tables
        ]
        assert model.implicates.rows == other.implicates.rows == (50, 50)
        assert model.measured == other.measured


def test_the_sparse_list_does_not_show_which_cells_were_occupied() -> None:
    plan = StepsSynthesis(NAMES, EPSILON, layers=1, zeros=ZEROS)
    model, _ = run(plan, opened(FILE), Answers(), sparse=True)
    for one in model.released[0].cells:
        assert one.sums is None
        assert (one.noisy >= one.threshold).all()
        assert (np.diff(one.node) >= 0).all()
        assert all((np.diff(one.place[one.node == node]) > 0).all() for node in range(len(one.nodes)))


def test_elections_that_are_not_paid_are_found() -> None:
    """The method as printed: one record decides which attribute the whole tree begins with."""
    # 21 of 60 voted and 20 are women; the 21st record decides which of the two attributes tells more.
    near = FILE.assign(voted=["1"] * 21 + ["0"] * 39, sex=["1"] * 20 + ["0"] * 40)
    other = near.copy()
    other.loc[20, ["voted", "sex"]] = ["0", "1"]
    one, two = opened(near), opened(other)
    public: dict[str, Any] = {"columns": ["voted", "sex"], "epsilon": EPSILON, "layers": 1, "stop": "never"}
    assert replayed(StepsSynthesis(**public), one, two) <= EPSILON
    with pytest.raises(AssertionError, match="another question"):
        replayed(StepsSynthesis(**public, election="paper"), one, two)


# ---------------------------------------------------------------- where the schema has no rule

PLANS: dict[str, Callable[[str], Any]] = {
    "steps": lambda epsilon: StepsSynthesis(NAMES, epsilon, zeros=ZEROS),
    "steps, public order": lambda epsilon: StepsSynthesis(NAMES, epsilon, zeros=ZEROS, election="public"),
    "pairs": lambda epsilon: PairwiseSynthesis(NAMES, epsilon, neighbours=REPLACE),
    "histogram": lambda epsilon: HistogramSynthesis(NAMES, epsilon, zeros=ZEROS),
    "independent": lambda epsilon: IndependentSynthesis(NAMES, epsilon, zeros=ZEROS),
    "dirichlet": lambda epsilon: DirichletSynthesis(NAMES, epsilon, zeros=ZEROS),
}
BAD: dict[str, tuple[Any, str]] = {
    "missing": (None, "region: a value is missing"),
    "not a number": (float("nan"), "region: a value is missing"),
    "new level": ("Atlantis", "region: a value is not among"),
}


def strict() -> Schema:
    content = schema().to_dict()
    for entry in content["variables"].values():
        entry.pop("missing", None)
        entry["outside"] = "error"
    return Schema.from_dict(content)


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize("name", PLANS)
def test_without_a_rule_the_file_is_refused_and_nothing_changes(name: str, tmp_path: Path) -> None:
    """Neither the ledger nor any other file, to the byte; what was released before comes back as it was."""
    ledger = Ledger.open(tmp_path / "persons.ledger", cap=Loss(10, delta="1e-6"), neighbours=REPLACE)
    good = Confidential.from_frame(FILE, strict())
    first = ledger.release(PLANS[name]("1"), good, label="first")
    spent, before = ledger.spent(REPLACE, good), contents(tmp_path)
    for value, words in BAD.values():
        frame = FILE.astype(object)
        frame.loc[7, "region"] = value
        with pytest.raises(SchemaError, match=words) as refusal:
            ledger.release(PLANS[name]("2"), Confidential.from_frame(frame, strict()), label="second")
        assert "Atlantis" not in str(refusal.value)
        assert contents(tmp_path) == before
        assert ledger.spent(REPLACE, good) == spent
    assert ledger.release(PLANS[name]("1"), good, label="again").to_bytes() == first.to_bytes()
