"""The privacy loss of whole runs of `PanelSynthesis` with epsilon and alpha, added up exactly, and their control flow.

As in `test_panel_formal`, but neighbours are files in which one firm's numbers differ, each by at most max(α · the
smaller, 1). Any two histories can be compared given what a run on the file has released.
"""

from collections.abc import Callable
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
from tacita.synthesis.panel.formal.model import PanelModel
from tacita.synthesis.panel.formal.promise import LIVES

EPSILON, ALPHA = 4, Fraction(1, 10)
FILE = wide(60, seed=3).astype({"born": float, "gone": float})
LARGER = wide(2000, seed=3).astype({"born": float, "gone": float})
FIRM = 7
PLANS: dict[str, dict[str, Any]] = {
    "whole": {},
    "grouped": {"group": "sector"},
    "jobs only": {"columns": {"jobs": "jobs{year}"}},
    "lives from rows": {"first": None, "last": None, "static": [], "change": {}},
    "one year": {"years": (2006, 2006), "static": [], "change": {}},
}
Numbers = list[int]


def _with(jobs: Numbers, pay: Numbers, file: pd.DataFrame = FILE) -> pd.DataFrame:
    """The file with a firm that is there in all years and has these numbers."""
    other = file.copy()
    other.loc[FIRM, ["born", "gone", "switched"]] = [2000, 2006, np.nan]
    other.loc[FIRM, "kind"] = "multi"
    for year, one, two in zip(YEARS, jobs, pay, strict=True):
        other.loc[FIRM, [f"jobs{year}", f"pay{year}"]] = [one, two / 10]  # pay has one decimal place
    return other


def _run(frame: pd.DataFrame, tape: Tape, monkeypatch: pytest.MonkeyPatch, **changes: Any) -> PanelModel:
    monkeypatch.setattr(measuring, "add_discrete_laplace", tape.laplace)
    monkeypatch.setattr(measuring, "add_cube", tape.cube)
    one = plan(**{"epsilon": str(EPSILON), "alpha": str(ALPHA), "ratios": {}, **changes})
    model = one.run(Confidential.from_frame(frame, wide_schema()), SeededEntropy(11))
    assert isinstance(model, PanelModel)
    return model


def _lost(one: pd.DataFrame, two: pd.DataFrame, run: Tape, monkeypatch: pytest.MonkeyPatch, **changes: Any) -> Tape:
    """What tells two files apart, given what a run released."""
    middle = Tape(run)
    released = _run(one, middle, monkeypatch, **changes).to_bytes()
    last = Tape(middle)
    assert _run(two, last, monkeypatch, **changes).to_bytes() == released
    assert len(last.steps) == len(run.steps)
    return last


def _least(number: int) -> int:
    """The smallest neighbour of a number."""
    found = number - 1
    while found > 0 and number - (found - 1) <= max(1, ALPHA * (found - 1)):
        found -= 1
    return max(found, 0)


def _most(number: int, bound: int) -> int:
    return min(bound, number + max(1, int(ALPHA * number)))


@pytest.mark.parametrize("name", PLANS)
def test_neighbours_follow_the_same_path_within_the_promise(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    random, first = np.random.default_rng(5), Tape()
    _run(FILE, first, monkeypatch, **PLANS[name])
    for _ in range(3):
        jobs = np.round(np.exp(random.uniform(0, 8.2, len(YEARS)))).astype(int) - random.integers(0, 2)
        pay = np.round(np.exp(random.uniform(0, 15, len(YEARS)))).astype(int) - 1
        up = random.random((2, len(YEARS))) < 0.5
        others = [
            [_most(int(one), bound) if more else _least(int(one)) for one, more in zip(numbers, which, strict=True)]
            for numbers, which, bound in ((jobs, up[0], 4990), (pay, up[1], 9_000_000))
        ]
        pair = _with(jobs.tolist(), pay.tolist()), _with(*others)
        last = _lost(*pair, first, monkeypatch, **PLANS[name])
        assert last.lost <= EPSILON * (1 + 1e-9)
        assert last.first is not None
        for (asked, before, _), (_, now, _) in zip(last.first.steps, last.steps, strict=True):
            # Lives, static variables and public columns do not change, so they cost nothing.
            assert not asked[0].split(": ")[1].startswith(LIVES) or np.array_equal(before, now)


OF_SUMS = ("octaves ", "sum ", "years ")


def _spent(last: Tape, questions: Callable[[str], bool]) -> float:
    """What tells two files apart in some of the questions."""
    assert last.first is not None
    return sum(
        float(Tape.told(asked, before, now))
        for (asked, before, _), (_, now, _) in zip(last.first.steps, last.steps, strict=True)
        if questions(asked[0].partition(": ")[2])
    )


def _share(epsilon: int, questions: Callable[[str], bool]) -> Fraction:
    one = plan(epsilon=str(epsilon), alpha=str(ALPHA))
    parts = one.promise.budget(one.layout(wide_schema()), len(LARGER)).parts
    return sum((part for name, part in parts if questions(name) and not name.startswith(LIVES)), Fraction(0))


def test_the_worst_numbers_take_nearly_all_of_epsilon(monkeypatch: pytest.MonkeyPatch) -> None:
    """At the clamps, numbers go down in one file where they go up in the other, and by other steps: noise a quarter
    smaller would break the promise. Files and ε are large enough for clamps that hold more than a handful of jobs. Sums
    of years, which such numbers leave as they are, are tried below."""
    worst, random = 0.0, np.random.default_rng(1)
    for epsilon in (10, 16):
        first = Tape()
        caps = _run(LARGER, first, monkeypatch, epsilon=str(epsilon)).released["all"][1].caps
        rest = _share(epsilon, lambda name: not name.startswith(OF_SUMS))
        for attempt in range(4):
            high = caps["levels"] + 1 + attempt % 2
            low = int(high / random.uniform(1.12, 1.17))
            jobs = [(high, low)[year % 2] for year in YEARS]
            pay = [int(high * random.uniform(150, 260))] * len(YEARS)
            other_jobs = [_least(one) if one == high else _most(one, 4990) for one in jobs]
            other_pay = [_most(one, 9_000_000) for one in pay]
            files = _with(jobs, pay, LARGER), _with(other_jobs, other_pay, LARGER)
            last = _lost(*files, first, monkeypatch, epsilon=str(epsilon))
            assert last.lost <= epsilon * (1 + 1e-9)
            worst = max(worst, _spent(last, lambda name: not name.startswith(OF_SUMS)) / float(rest))
    assert worst > 0.75


@pytest.mark.parametrize("question", ["sum jobs", "sum pay", "years pay", "octaves jobs"])
def test_sums_of_years_take_nearly_all_of_their_share(question: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Numbers that all rise at once, to the clamp: noise a fifth smaller would break the promise."""
    epsilon, first = 16, Tape()
    caps, worst = _run(LARGER, first, monkeypatch, epsilon=str(epsilon)).released["all"][1].caps, 0.0
    for times in (0.99, 1.0, 1.01):
        top = {
            "sum jobs": caps["sum jobs"] / len(YEARS),
            "octaves jobs": 2**9 / len(YEARS),
            "sum pay": caps["sum pay"] / len(YEARS),
            "years pay": float(caps["years pay"]),
        }[question]
        high = max(int(top * times) + 1, 20)
        jobs, pay = (
            ([high] * len(YEARS), [5] * len(YEARS)) if "jobs" in question else ([10] * len(YEARS), [high] * len(YEARS))
        )
        less = [_least(one) for one in jobs], [_least(one) for one in pay]
        files = _with(jobs, pay, LARGER), _with(*less, LARGER)
        last = _lost(*files, first, monkeypatch, epsilon=str(epsilon))
        worst = max(worst, _spent(last, lambda name: name == question))
    assert 0.8 < worst / float(_share(epsilon, lambda name: name == question)) <= 1 + 1e-9
