"""The privacy loss of whole runs of `PanelSynthesis` with epsilon, added up exactly, and their control flow.

A first run keeps every released number; a second run on a file in which one firm has another history is given the
same. Both must ask the same questions in the same order and release the same model to the byte, and |Δ|/scale over all
questions, max|Δ|/scale where noise is on a cube, must not exceed ε.
"""

from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest

from support.panels import YEARS, plan, wide, wide_schema
from support.tape import Tape
from tacita.data.confidential import Confidential
from tacita.noise.entropy import SeededEntropy
from tacita.synthesis.panel.formal import measuring
from tacita.synthesis.panel.formal.budget import Budget
from tacita.synthesis.panel.formal.model import PanelModel

EPSILON = 4
FILE = wide(60, seed=3).astype({"born": float, "gone": float})
FIRM = 7  # the row whose history is replaced
PLANS: dict[str, dict[str, Any]] = {
    "whole": {},
    "grouped": {"group": "sector"},
    "jobs only, no status": {"columns": {"jobs": "jobs{year}"}, "static": [], "change": {}},
    "lives from rows": {"first": None, "last": None, "static": [], "change": {}},
    "two years": {"years": (2005, 2006), "static": [], "change": {}},
}
Jobs = dict[int, float]
RISING = [800.0 * at for at in range(len(YEARS))]  # by more than any clamp of steps


def _with(born: float, gone: float, jobs: Jobs, pay: Jobs, kind: str = "multi", switched: float = np.nan) -> Any:
    """The file with another history of one firm; its county and industry stay."""
    other = FILE.copy()
    other.loc[FIRM, ["born", "gone", "switched"]] = [born, gone, switched]
    other.loc[FIRM, "kind"] = kind
    for year in YEARS:
        other.loc[FIRM, [f"jobs{year}", f"pay{year}"]] = [jobs.get(year, np.nan), pay.get(year, np.nan)]
    return other


def _run(frame: pd.DataFrame, tape: Tape, monkeypatch: pytest.MonkeyPatch, **changes: Any) -> PanelModel:
    monkeypatch.setattr(measuring, "add_discrete_laplace", tape.laplace)
    monkeypatch.setattr(measuring, "add_cube", tape.cube)
    one = plan(epsilon=str(EPSILON), **{"ratios": {}, **changes})
    model = one.run(Confidential.from_frame(frame, wide_schema()), SeededEntropy(11))
    assert isinstance(model, PanelModel)
    return model


def _histories() -> list[pd.DataFrame]:
    """One firm that is there always, never again after a year, late, with gaps, or nobody knows when."""
    even, odd = [year for year in YEARS if year % 2 == 0], [year for year in YEARS if year % 2]
    always = dict.fromkeys(YEARS, 0.0)
    return [
        _with(1999, 2006, dict.fromkeys(even, 5000.0) | dict.fromkeys(odd, 2500.0), always, "switched", 2003),
        _with(2000, 2006, dict.fromkeys(even, 0.0) | dict.fromkeys(odd, 40.0), dict.fromkeys(YEARS, 900_000.0)),
        _with(2006, 2006, {2006: 5000.0}, {2006: 900_000.0}, "single"),
        _with(1999, 2000, {2000: 1.0}, {2000: 0.0}),
        _with(2000, 2003, {2000: 9.0, 2003: 700.0}, {2001: 3.0}, "switched", 2002),
        _with(np.nan, 2003, {2000: 9.0, 2003: 700.0}, {2001: 3.0}),
        _with(2005, 2001, {}, {}, "single"),
    ]


@pytest.mark.parametrize("name", PLANS)
def test_neighbours_follow_the_same_path_within_the_promise(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    files, worst = [FILE, *_histories()], 0.0
    for one in files[:2]:
        first = Tape()
        released = _run(one, first, monkeypatch, **PLANS[name]).to_bytes()
        for two in files:
            second = Tape(first)
            assert _run(two, second, monkeypatch, **PLANS[name]).to_bytes() == released
            assert len(second.steps) == len(first.steps)
            assert second.lost <= EPSILON * (1 + 1e-9)
            worst = max(worst, second.lost)
    assert worst > 0.5 * EPSILON


def test_the_worst_history_takes_nearly_all_of_epsilon(monkeypatch: pytest.MonkeyPatch) -> None:
    """Noise a fifth smaller would break the promise."""
    large = _histories()[0]
    first = Tape()
    released = _run(large, first, monkeypatch)
    clamps = released.released["all"][1].caps
    # Small in every year, and up by the clamp where the other goes down.
    swing = float(clamps["flows"])
    jobs = {year: 0.0 if year % 2 == 0 else swing for year in YEARS}
    small = _with(2000, 2006, jobs, dict.fromkeys(YEARS, 900_000.0))
    second = Tape(first)
    assert _run(small, second, monkeypatch).to_bytes() == released.to_bytes()
    assert 0.8 * EPSILON < second.lost <= EPSILON * (1 + 1e-9)


NOTHING = [0.0] * len(YEARS)


@pytest.mark.parametrize(
    ("question", "one", "two"),
    [
        ("levels", ([5000.0] * len(YEARS), NOTHING), (NOTHING, NOTHING)),
        ("tops", ([5000.0] * len(YEARS), NOTHING), (NOTHING, NOTHING)),
        ("tops of all years", ([5000.0] * len(YEARS), NOTHING), (NOTHING, NOTHING)),
        ("flows", (RISING, NOTHING), (RISING[::-1], NOTHING)),
        ("flows of all years", (RISING, NOTHING), (RISING[::-1], NOTHING)),
        ("sum jobs", ([5000.0] * len(YEARS), NOTHING), (NOTHING, NOTHING)),
        ("years pay", ([50.0] * len(YEARS), NOTHING), ([50.0] * len(YEARS), [900_000.0] * len(YEARS))),
        ("sum pay", ([50.0] * len(YEARS), NOTHING), ([50.0] * len(YEARS), [900_000.0] * len(YEARS))),
    ],
)
def test_a_sum_is_worth_what_it_costs(
    question: str,
    one: tuple[list[float], list[float]],
    two: tuple[list[float], list[float]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Some pair of histories, jobs and pay, reaches its whole share of ε, so that its noise could not be smaller."""
    first = Tape()
    second = Tape(first)
    for tape, history in ((first, one), (second, two)):
        jobs, pay = (dict(zip(YEARS, numbers, strict=True)) for numbers in history)
        _run(_with(1999, 2006, jobs, pay), tape, monkeypatch)
    budget = Budget.of(plan(epsilon=str(EPSILON)).layout(wide_schema()), Fraction(EPSILON), len(FILE))
    lost = [
        Tape.told(asked, before, now)
        for (asked, before, _), (_, now, _) in zip(first.steps, second.steps, strict=True)
        if asked[0].endswith(f": {question}")
    ]
    assert lost == [budget[question]]


def test_a_firm_touches_its_own_group_only(monkeypatch: pytest.MonkeyPatch) -> None:
    first = Tape()
    _run(FILE, first, monkeypatch, group="sector")
    second = Tape(first)
    _run(_histories()[0], second, monkeypatch, group="sector")
    own = FILE.loc[FIRM, "industry"][:2]
    touched = {
        asked[0].split(":")[0]
        for (asked, before, _), (_, now, _) in zip(first.steps, second.steps, strict=True)
        if not np.array_equal(before, now)
    }
    assert touched == {own}
    assert {asked[0].split(":")[0] for asked, _, _ in first.steps} == {"11", "22"}


def test_another_county_is_another_file_not_a_neighbour() -> None:
    other = FILE.copy()
    other.loc[FIRM, "county"] = "0202" if FILE.loc[FIRM, "county"] != "0202" else "0101"
    one = plan(epsilon="4")
    runs = [one.run(Confidential.from_frame(each, wide_schema()), SeededEntropy(11)) for each in (FILE, other)]
    assert runs[0].measured["groups"]["all"]["public"] != runs[1].measured["groups"]["all"]["public"]
    assert "county, industry of every firm are public: a replaced firm keeps them" in one.guarantee.assumes
