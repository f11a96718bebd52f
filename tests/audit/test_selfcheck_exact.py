"""A self-check on hostile neighbours: all that it promised is nearly used, and a fifth less noise is caught."""

from fractions import Fraction
from typing import Any

import pytest

from tacita.audit.examples import Example
from tacita.audit.mixed import MIXED
from tacita.audit.records import record_files
from tacita.audit.run import try_claim
from tacita.mechanisms.table.noise import Budget
from tacita.privacy import AddRemoveOne, ReplaceOne
from tacita.synthesis import FileSynthesis
from tacita.synthesis.selfcheck import SelfCheck

ADDED, REPLACED = AddRemoveOne("person"), ReplaceOne("person")


def worst(neighbours: Any, delta: str) -> float:
    plan = SelfCheck(FileSynthesis(["sex"], "2", delta=delta, neighbours=neighbours), share="9/10")
    claim = Example("exact", plan, record_files(MIXED, neighbours), adaptive=True)
    outcome, _ = try_claim(claim, neighbours=24, law_draws=500, seed=11)
    return float(outcome.worst)


@pytest.mark.parametrize(
    ("neighbours", "delta"),
    [
        pytest.param(ADDED, "1e-9", id="added, with a delta"),
        pytest.param(REPLACED, "0", id="replaced"),
        pytest.param(ADDED, "0", id="added", marks=pytest.mark.slow),
        pytest.param(REPLACED, "1e-9", id="replaced, with a delta", marks=pytest.mark.slow),
    ],
)
def test_a_check_uses_nearly_all_that_was_promised(
    neighbours: Any, delta: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert 0.85 < worst(neighbours, delta) <= 1
    sound = SelfCheck.budget.fget  # type: ignore[attr-defined]

    def too_much(plan: SelfCheck) -> Budget:
        found: Budget = sound(plan)
        return found.share(Fraction(25, 16) if found.gaussian else Fraction(5, 4))

    monkeypatch.setattr(SelfCheck, "budget", property(too_much))
    assert worst(neighbours, delta) > 1
