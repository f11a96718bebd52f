"""The plans for categorical files on hostile neighbours, with settings that `tacita audit` has no claim of.

Each neighbour is handed what the first file released: it must ask the same questions, end with the same bytes, and lose
no more than ε, however deep the tree, however its attributes were elected, and whether all cells are drawn or only
those that reach a threshold. test_steps_exact.py tests how many random words each step takes.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from support.people import NAMES, ZEROS, persons, schema
from tacita.audit.families import Family, Files
from tacita.audit.forced import Outcome, force
from tacita.audit.records import record_files
from tacita.data.confidential import Confidential
from tacita.data.schema import Schema
from tacita.errors import SchemaError
from tacita.ledger import Ledger
from tacita.noise.entropy import SeededEntropy
from tacita.privacy import AddRemoveOne, Loss, ReplaceOne
from tacita.synthesis import (
    DirichletSynthesis,
    HistogramSynthesis,
    IndependentSynthesis,
    PairwiseSynthesis,
    StepsSynthesis,
)
from tacita.synthesis.comparison.steps import cells, measuring

REPLACE, ADD = ReplaceOne("person"), AddRemoveOne("person")
FILE = persons(60, seed=2)
EPSILON = 6
MEASURED = cells.measure_cells


@pytest.fixture
def sparse(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only cells that reach a threshold are drawn, as in a domain too large for all of them."""
    monkeypatch.setattr(measuring, "measure_cells", lambda *given: MEASURED(*given, dense=0))


def forced(plan: Any, files: Files, near: int = 8) -> Outcome:
    (outcome,) = force(plan, files, np.random.default_rng(1), families=1, near=near)
    return outcome


def check_promise(plan: Any) -> None:
    outcome = forced(plan, record_files(schema(), plan.neighbours, sizes=(60,)))
    assert outcome.findings == ()
    assert outcome.neighbours == 8
    assert 1 / 2 < outcome.worst <= 1 + 1e-9, "nothing was seen of the record: the audit is blind"


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
@pytest.mark.parametrize("name", STEPS)
def test_steps_depend_on_records_through_released_values_alone(name: str, relation: Any) -> None:
    check_promise(StepsSynthesis(NAMES, EPSILON, zeros=ZEROS, neighbours=relation, **STEPS[name]))


@RELATIONS
@pytest.mark.usefixtures("sparse")
@pytest.mark.parametrize(
    "plan",
    [
        lambda **more: StepsSynthesis(NAMES, EPSILON, zeros=ZEROS, layers=3, **more),
        lambda **more: StepsSynthesis(NAMES, EPSILON, zeros=ZEROS, layers=0, **more),
        lambda **more: HistogramSynthesis(NAMES, EPSILON, zeros=ZEROS, negative="project", sets=2, **more),
    ],
    ids=["three layers", "no layers", "histogram"],
)
def test_so_does_a_sparse_list(plan: Any, relation: Any) -> None:
    check_promise(plan(neighbours=relation))


@pytest.mark.usefixtures("sparse")
def test_the_sparse_list_does_not_show_which_cells_were_occupied() -> None:
    plan = StepsSynthesis(NAMES, EPSILON, layers=1, zeros=ZEROS)
    model = plan.run(Confidential.from_frame(FILE, schema()), SeededEntropy(5))
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
    pair = Files(schema(), lambda random, count: Family(near, (other,)))
    public: dict[str, Any] = {"columns": ["voted", "sex"], "epsilon": EPSILON, "layers": 1, "stop": "never"}
    assert forced(StepsSynthesis(**public), pair).findings == ()
    printed = forced(StepsSynthesis(**public, election="paper"), pair)
    assert {finding.check for finding in printed.findings} & {"requests", "bytes"}


# ---------------------------------------------------------------- where the schema has no rule

PLANS: dict[str, Callable[[str], Any]] = {
    "steps": lambda epsilon: StepsSynthesis(NAMES, epsilon, zeros=ZEROS, neighbours=REPLACE),
    "steps, public order": lambda epsilon: StepsSynthesis(
        NAMES, epsilon, zeros=ZEROS, election="public", neighbours=REPLACE
    ),
    "pairs": lambda epsilon: PairwiseSynthesis(NAMES, epsilon, neighbours=REPLACE),
    "histogram": lambda epsilon: HistogramSynthesis(NAMES, epsilon, zeros=ZEROS, neighbours=REPLACE),
    "independent": lambda epsilon: IndependentSynthesis(NAMES, epsilon, zeros=ZEROS, neighbours=REPLACE),
    "dirichlet": lambda epsilon: DirichletSynthesis(NAMES, epsilon, zeros=ZEROS, neighbours=REPLACE),
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
