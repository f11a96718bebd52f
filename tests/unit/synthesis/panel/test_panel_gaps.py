"""Years without a row within a life: files have them too, and nothing of a unit that is away is counted."""

import numpy as np
import pandas as pd
import pytest

from support.panels import YEARS, long_plan, long_schema, plan, to_long, wide, wide_schema
from support.tape import Tape
from tacita.data.confidential import Confidential
from tacita.noise.entropy import SeededEntropy
from tacita.synthesis.panel.formal import measuring
from tacita.synthesis.panel.reading import all_groups

BARE = {"first": None, "last": None, "static": [], "change": {}, "ratios": {}}


def _with_gaps(firms: int, share: float) -> pd.DataFrame:
    """Small firms are away in 2002 and 2003, most of them in both."""
    frame, random = to_long(wide(firms, seed=5)), np.random.default_rng(2)
    spans = frame.groupby("firm").year.agg(["min", "max"]).reindex(frame.firm)
    within = (frame.year > spans["min"].to_numpy()) & (frame.year < spans["max"].to_numpy())
    first = frame.groupby("firm").jobs.transform("first")
    away = frame.firm.isin(frame.firm[(first < 8) & (random.random(len(frame)) < share)])
    return frame[~(within & away & frame.year.isin([2002, 2003]))].reset_index(drop=True)


def _per_year(frame: pd.DataFrame) -> np.ndarray:
    return np.asarray(frame.groupby("year").size().reindex(YEARS, fill_value=0))


def _returns(frame: pd.DataFrame) -> int:
    years = frame.sort_values(["firm", "year"]).groupby("firm").year
    return int((years.diff() > 1).sum())


def _flows(frame: pd.DataFrame) -> np.ndarray:
    """What is gained and lost from year to year, with units that are away and back again."""
    steps = np.diff(frame.pivot_table(index="firm", columns="year", values="jobs").fillna(0).to_numpy(), axis=1)
    return np.array([np.maximum(steps, 0).sum(axis=0), np.maximum(-steps, 0).sum(axis=0)])


def test_plain_files_have_the_gaps_of_the_file_and_its_totals() -> None:
    frame = _with_gaps(1500, 0.3)
    for table in long_plan(**BARE).rehearse(frame, long_schema(), seed=1).released:
        made = table.to_pandas()
        assert _per_year(made).tolist() == _per_year(frame).tolist()
        assert _returns(made) == pytest.approx(_returns(frame), rel=0.2)
        assert made.groupby("year").jobs.sum().to_numpy() == pytest.approx(
            frame.groupby("year").jobs.sum().to_numpy(), rel=0.03
        )
        assert _flows(made) == pytest.approx(_flows(frame), rel=0.06)
        assert made.notna().all(axis=None)


def test_files_with_a_guarantee_have_about_as_many_gaps() -> None:
    frame = _with_gaps(3000, 0.3)
    for table in long_plan(epsilon="50", **BARE).rehearse(frame, long_schema(), seed=1).implicates:
        made = pd.DataFrame(table)
        assert _per_year(made) == pytest.approx(_per_year(frame), rel=0.1)
        assert _returns(made) == pytest.approx(_returns(frame), rel=0.25)


def test_noise_alone_makes_no_gaps() -> None:
    frame = to_long(wide(300))
    for table in long_plan(epsilon="2", **BARE).rehearse(frame, long_schema(), seed=1).implicates:
        assert _returns(pd.DataFrame(table)) == 0


def test_a_wide_file_has_missing_values_and_no_gaps() -> None:
    frame = wide(200)
    frame.loc[frame.jobs2003.notna() & frame.jobs2002.notna() & frame.jobs2004.notna(), "jobs2003"] = np.nan
    ((_, panel),) = all_groups(Confidential.from_frame(frame, wide_schema()), plan(**BARE).layout(wide_schema()))
    assert not panel.gaps.any()
    assert "gaps" not in dict(plan(epsilon="4").promise.budget(plan(epsilon="4").layout(wide_schema()), 200).parts)


def test_gaps_cost_no_more_than_their_share(monkeypatch: pytest.MonkeyPatch) -> None:
    """A firm that is away whenever it can be, against one that never is: the answers differ by at most their noise's
    scale times the share of ε."""
    frame, firm, one = to_long(wide(40)), 1, long_plan(epsilon="4", **BARE)
    own = pd.DataFrame({"firm": firm, "county": "0101", "industry": "111", "year": YEARS, "jobs": 5, "pay": 100.0})
    tapes = []
    for rows in (own, own.iloc[[0, 1, -1]], own.iloc[[0, -1]], own.iloc[[2]]):
        tape = Tape(tapes[0]) if tapes else Tape()
        monkeypatch.setattr(measuring, "add_discrete_laplace", tape.laplace)
        one.run(Confidential.from_frame(pd.concat([frame, rows]), long_schema()), SeededEntropy(3))
        tapes.append(tape)
        assert tape.lost <= 4 * (1 + 1e-9)
    budget = one.promise.budget(one.layout(long_schema()), 41)
    for tape in tapes[1:]:
        ((asked, before, _),) = [step for step in tapes[0].steps if step[0][0].endswith(": gaps")]
        ((_, now, _),) = [step for step in tape.steps if step[0][0].endswith(": gaps")]
        assert np.abs(now - before).sum() / asked[1] <= budget["gaps"]
