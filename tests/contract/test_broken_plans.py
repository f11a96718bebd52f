"""Plans with the mistakes people make. Each must fail the suite: a suite that lets one pass shows nothing.

Most are the broken twins of `tacita audit`; two more are written here.
"""

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from support.example_files import FILE, Kind, opened, schema, weak_neighbours
from support.plan_checks import (
    asked_once,  # noqa: F401 -- a fixture that every test here uses
    check_claims,
    check_identity,
    check_neighbours,
    hostile,
    worst_loss,
)
from support.table_plans import BASE, PLANS, SETTINGS, given_to
from tacita.audit.twins import (
    BudgetNotShared,
    FailsTooOften,
    HalfOfTheNoise,
    LocalSensitivity,
    LogBudgetNotShared,
    MarginNotPaid,
    NoFloor,
    NothingDropped,
    SizeOfOneClass,
    TooLittleNoise,
)
from tacita.data.workforce import Workforce
from tacita.measured import Measured
from tacita.mechanisms.eree import EdgeLaplace, SmoothLaplace, SmoothStaircase
from tacita.noise.entropy import SeededEntropy
from tacita.noise.replay import Recording, Replaying, ReplayMismatch, compare

FAILS = (AssertionError, ReplayMismatch)


class OccupiedCells(SmoothStaircase):
    """Publishes only the cells in which somebody works."""

    def run(self, data: Any, entropy: Any) -> Measured:
        found = super().run(data, SeededEntropy(1))
        counted = base_counts(self, data)
        kept = counted.counts.sum(axis=1) > 0
        fewer = Workforce(
            {name: code[kept] for name, code in counted.keys.items()},
            counted.counts[kept],
            counted.largest[kept],
            counted.largest_total[kept],
            counted.establishments[kept],
        )
        values = self.measure(fewer, entropy)
        return Measured(fewer.keys, found.worker, values, found.error, found.plan, found.guarantee, True)


class ZeroStaysZero(EdgeLaplace):
    """Draws no noise for empty cells, so that they show."""

    def measure(self, exact_counts: Workforce, entropy: Any) -> Any:
        values = exact_counts.counts.copy()
        some = values > 0
        shown = Workforce(exact_counts.keys, values[some][:, None], values[some][:, None], values, values)
        values[some] = super().measure(shown, entropy)[:, 0]
        return values


def base_counts(plan: Any, data: Any) -> Workforce:
    from tacita.data.workforce import workforce

    return workforce(data, plan.by, worker=plan.worker)


BROKEN = [
    (NoFloor, "workplace"),
    (LocalSensitivity, "worker"),
    (LocalSensitivity, "where"),
    (OccupiedCells, "workplace"),
    (ZeroStaysZero, "workplace"),
    (BudgetNotShared, "two worker attributes"),
    (BudgetNotShared, "weak, two worker attributes"),
    (LogBudgetNotShared, "weak, two worker attributes"),
    (MarginNotPaid, "margin paid"),
    (SizeOfOneClass, "worker"),
    (TooLittleNoise, "workplace"),
    (FailsTooOften, "two worker attributes"),
    (NothingDropped, "workplace"),
    (HalfOfTheNoise, "workplace"),
]


@pytest.mark.parametrize(("plan", "setting"), BROKEN, ids=lambda x: x if isinstance(x, str) else x.__name__)
def test_a_broken_plan_fails(plan: Any, setting: str) -> None:
    given = given_to(plan, setting)
    assert given is not None
    # The sound plan it was made from passes the same check.
    check_neighbours(plan.__mro__[1](**given), "flat")
    with pytest.raises(FAILS):
        check_neighbours(plan(**given), "flat")


def test_cells_of_a_flat_file_taken_from_its_rows_fail() -> None:
    """The mistake that only a flat file can show: a cell appears with its first worker."""
    with pytest.raises(ReplayMismatch):
        check_neighbours(OccupiedCells(**(given_to(OccupiedCells, "workplace") or {})), "flat")


def test_a_plan_without_proof_or_with_a_hidden_setting_fails() -> None:
    class NoProof(EdgeLaplace):
        @property
        def proof(self) -> str:
            return "mechanisms/eree/nowhere.md"

    class ForgetsItsFilter(EdgeLaplace):
        def describe(self) -> dict[str, Any]:
            return {key: value for key, value in super().describe().items() if key != "where"}

    with pytest.raises(AssertionError, match="is missing"):
        check_claims(NoProof("1", by=["place"]), schema("flat"))
    with pytest.raises(AssertionError):
        check_identity(ForgetsItsFilter("1", by=["place"], where={"sex": ["F"]}))


@pytest.mark.parametrize("plan", [one for one in PLANS if one is not SmoothLaplace], ids=lambda one: one.__name__)
def test_the_neighbours_come_close_to_epsilon(plan: Any) -> None:
    """The suite is not passed by being weak: some neighbour uses most of what the plan promises."""
    given = {key: value for key, value in BASE.items() if key in given_to(plan, "workplace")} | SETTINGS["workplace"]  # type: ignore[operator]
    made = plan(**given)
    recording = Recording(SeededEntropy(5))
    made.run(opened(FILE, "linked"), recording)
    spent = []
    for neighbour in hostile(made).values():
        replaying = Replaying(recording)
        made.run(opened(neighbour, "linked"), replaying)
        spent.append(sum(worst_loss(made, one) for one in compare(recording, replaying)))
    assert max(spent) > 0.75 * float(made.epsilon)


@pytest.mark.parametrize("alpha", [Fraction(1, 10), Fraction(1, 4)])
def test_the_weak_neighbours_are_weak_neighbours(alpha: Fraction) -> None:
    """Every class of declared kinds, all 2^6 of them, grows by at most max(α·class, 1)."""
    kinds = [(sex, age) for sex in ("F", "M", "U") for age in ("young", "old")]

    def declared(kind: Kind) -> Kind:
        sex, age = kind
        return (sex if sex in ("F", "M") else "U", age if age == "young" else "old")

    def crew(file: Any, at: int) -> np.ndarray:
        return np.array([[declared(one) for one in file[at].workers].count(kind) for kind in kinds])

    for name, file in weak_neighbours(alpha).items():
        (at,) = [at for at in range(len(FILE)) if file[at] != FILE[at]]
        before, after = crew(FILE, at), crew(file, at)
        for chosen in range(1, 64):
            members = [(chosen >> bit) & 1 == 1 for bit in range(6)]
            grown = (after - before)[members].sum()
            assert 0 <= grown <= max(alpha * int(before[members].sum()), 1), name
