"""The privacy loss of whole runs of `SurveyLaplace`, added up exactly, and their control flow.

Discrete Laplace noise of scale b on whole numbers that a neighbour changes by d (in L1) loses d/b, and exactly that for
the outputs beyond both values (discrete.md). A run on a neighbouring file is played the same random words: it must ask
the same questions, and the losses of all of them together must not exceed ε.
"""

from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest

from support.survey import HOURS, PAYS, PLANS, WEIGHTS, people, plan, schema
from tacita.data.confidential import Confidential
from tacita.mechanisms.survey import SurveyLaplace
from tacita.mechanisms.survey.laplace import _Grid
from tacita.noise.entropy import SeededEntropy
from tacita.noise.replay import Recording, Replaying, ReplayMismatch, compare

ENDS = {"w": WEIGHTS, "pay": PAYS, "hours": HOURS}


def lost(given: SurveyLaplace, frame: pd.DataFrame, other: pd.DataFrame, public: Any = None, seed: int = 3) -> float:
    """The largest loss over all outputs of the two runs."""
    public = public or schema()
    recording = Recording(SeededEntropy(seed))
    first = given.run(Confidential.from_frame(frame, public), recording)
    replaying = Replaying(recording)
    second = given.run(Confidential.from_frame(other, public), replaying)
    assert first.measured["size"] == second.measured["size"]
    assert first.measured["replicated_noise"] == second.measured["replicated_noise"]
    total = 0.0
    for one in compare(recording, replaying):
        assert np.array_equal(one.scale_d, one.scale_d2), "a scale depends on the rows"
        if one.true_d.size:
            total += float((np.abs(one.true_d - one.true_d2) / one.scale_d).sum())
    return total


def replaced(frame: pd.DataFrame, at: int, ends: dict[str, int]) -> pd.DataFrame:
    return frame.assign(
        **{name: np.where(frame.index == at, ENDS[name][end], frame[name]) for name, end in ends.items()}
    )


def extremes(frame: pd.DataFrame, at: int) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The record as small as it can be, and as large as it can be, in everything at once."""
    low, high = (replaced(frame, at, dict.fromkeys(ENDS, end)) for end in (0, 1))
    return low, high


@pytest.mark.parametrize("name", PLANS)
def test_no_record_loses_more_than_epsilon_and_some_record_loses_nearly_all(name: str) -> None:
    given, frame = plan(**PLANS[name]), people(13)
    losses = [lost(given, *extremes(frame, at)) for at in frame.index]
    epsilon = float(given.epsilon)
    assert max(losses) <= epsilon * (1 + 1e-12)
    # So noise that is a fifth too small would be found: it loses 1.25 times as much. Weight times hours is smallest
    # with the largest weight, so the ends of the columns are not quite the ends of that product.
    assert max(losses) > epsilon * (0.85 if "hours" in given.means else 0.9999)


STRANGE: dict[str, dict[str, Any]] = {
    "out of bounds": {"w": 1e12, "pay": -1e12, "hours": 1e9},
    "infinite": {"pay": float("inf"), "hours": float("-inf")},
    "tiny weight": {"w": 1e-12},
    "at one border": {"w": 1.0, "pay": 900.0, "hours": -20.0},
    "at the other": {"w": 40.0, "pay": 10.0, "hours": -20.0},
    "between two steps": {"w": 17.005, "pay": 123.456789, "hours": 0.05},
}


@pytest.mark.parametrize("design", [{}, {"psu": ["district"], "public": ["field", "gender", "district"]}])
@pytest.mark.parametrize("name", ["counts and means", "two answers", "few replicates"])
def test_strange_neighbours_lose_no_more(name: str, design: dict[str, Any]) -> None:
    given, frame, public = plan(**PLANS[name]), people(13), schema(**design)
    for new in STRANGE.values():
        other = frame.copy()
        for column, value in new.items():
            other.loc[7, column] = value
        assert lost(given, frame, other, public) <= float(given.epsilon) * (1 + 1e-12)


def test_with_clusters_and_populations_the_worst_record_still_pays_all() -> None:
    public = schema(psu=["district"], population="fpc", public=["field", "gender", "district", "fpc"])
    given, frame = plan(), people(13)
    losses = [lost(given, *extremes(frame, at), public) for at in frame.index]
    assert 0.9999 * 2 < max(losses) <= 2 * (1 + 1e-12)


def too_little(scale: Any) -> Any:
    return lambda self, reach: Fraction(4, 5) * scale(self, reach)


@pytest.mark.parametrize("part", ["_point_scale", "_replicated_scale"])
def test_noise_a_fifth_too_small_is_found(part: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(SurveyLaplace, part, too_little(getattr(SurveyLaplace, part)))
    given, frame = plan(), people(13)
    assert max(lost(given, *extremes(frame, at)) for at in frame.index) > 2.2


def test_replicates_paid_as_if_each_record_were_in_half_of_them_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_Grid, "reach", lambda self, factors: self.range * factors.shape[1])
    given, frame = plan(), people(13)
    assert max(lost(given, *extremes(frame, at)) for at in frame.index) > 2.1


def test_the_paper_scales_its_noise_to_the_rows() -> None:
    """The audit sees what the label says: two neighbours get noise of different scales."""
    given, frame = plan(calibration="paper"), people()
    recording = Recording(SeededEntropy(3))
    given.run(Confidential.from_frame(frame, schema()), recording)
    replaying = Replaying(recording)
    try:
        given.run(Confidential.from_frame(replaced(frame, 0, {"w": 1, "pay": 1}), schema()), replaying)
    except ReplayMismatch:
        return
    assert any(not np.array_equal(one.scale_d, one.scale_d2) for one in compare(recording, replaying))


def test_steps_are_monotone_where_floats_round() -> None:
    """The heart of the proof: no two values between the bounds are further apart in steps than the bounds."""
    rng = np.random.default_rng(1)
    for low, high in ((1.0, 40.0), (-800.0, 2400.0), (0.1, 0.1000001), (1e-9, 1e9)):
        grid = _Grid(low, high)
        for factor in (1.0, 2.0, 1 / 3, 2.414213562373095, 0.0):
            values = np.sort(rng.uniform(low, high, 5000))
            steps = grid.steps(values, factor)
            assert (np.diff(steps) >= 0).all()
            ends = grid.steps(np.array([low, high]), factor)
            assert ends[0] <= steps[0]
            assert steps[-1] <= ends[1]
        assert grid.range <= 2**23
