"""One suite for every plan of employer-employee tables: a plan is tested by being listed in eree.__all__."""

from collections.abc import Iterator
from typing import Any

import pytest

from support.example_files import FILE, opened, schema, with_row
from support.plan_checks import (
    asked_once,  # noqa: F401 -- a fixture that every test here uses
    check_claims,
    check_distance,
    check_identity,
    check_neighbours,
    check_stored,
)
from support.table_plans import PLANS, SETTINGS, given_to
from tacita.errors import SchemaError, UsageError
from tacita.mechanisms.eree import SmoothStaircase
from tacita.noise.entropy import SeededEntropy
from tacita.noise.replay import Recording, Replaying, compare

# What a plan says no to, and must say no to.
_PAPER = {name for name in SETTINGS if name.startswith("paper")}
_WEAK = {name for name in SETTINGS if "weak" in name}
_PAID = {name for name in SETTINGS if "margin" in name}
_STRONG_WORKER = {
    name for name, given in SETTINGS.items() if ("worker" in given or "where" in given) and name not in _WEAK
}
REFUSED: dict[str, set[str]] = {
    "LogLaplace": _STRONG_WORKER | _PAID,
    "SmoothStaircase": _PAPER,
    "SmoothStudent": _PAPER,
    "SmoothVector": _PAPER | _WEAK,
    "SmoothGamma": {"paper, worker"},
    "SmoothLaplace": {"paper, worker"},
}


def _cases(*, refused: bool) -> Iterator[Any]:
    for plan in PLANS:
        for name in SETTINGS:
            given = given_to(plan, name)
            if given is not None and (name in REFUSED.get(plan.__name__, ())) is refused:
                yield pytest.param(plan, given, id=f"{plan.__name__}: {name}")


every_case = pytest.mark.parametrize(("plan", "given"), list(_cases(refused=False)))


def test_the_list_is_not_shorter_than_it_was() -> None:
    assert len(PLANS) >= 8
    assert len(list(_cases(refused=False))) >= 80


@every_case
def test_claims_come_before_data(plan: Any, given: dict[str, Any]) -> None:
    check_claims(plan(**given), schema("flat"))


@every_case
def test_a_plan_is_what_it_describes(plan: Any, given: dict[str, Any]) -> None:
    check_identity(plan(**given))


@every_case
def test_neighbours_linked_tables(plan: Any, given: dict[str, Any]) -> None:
    check_neighbours(plan(**given), "linked")


@every_case
def test_neighbours_flat_file(plan: Any, given: dict[str, Any]) -> None:
    check_neighbours(plan(**given), "flat")


@every_case
def test_what_is_stored_comes_back(plan: Any, given: dict[str, Any]) -> None:
    check_stored(plan(**given), "linked")


@pytest.mark.parametrize(("plan", "given"), list(_cases(refused=True)))
def test_what_has_no_proof_is_refused(plan: Any, given: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match=r"definition|calibration|margin_share|SmoothVector"):
        plan(**given)


@pytest.mark.parametrize("stored", ["A", None, "?"])
def test_a_new_row_does_not_move_its_establishment(stored: str | None) -> None:
    """In a flat file the place stands in every row. One row with a strange one must be refused or change little."""
    data = [opened(FILE, "flat"), with_row(FILE, place=stored)]
    plan = SmoothStaircase("0.1", "2", by=["place"])
    try:
        data[1].check(plan.reads(data[1].schema))
    except SchemaError:
        return
    recording = Recording(SeededEntropy(1))
    plan.run(data[0], recording)
    replaying = Replaying(recording)
    plan.run(data[1], replaying)
    for one in compare(recording, replaying):
        check_distance(plan, one)
