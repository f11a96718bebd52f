"""The pMSE mechanism draws from the density it claims, and that density is as private as it claims."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

from tacita.errors import UsageError
from tacita_studies.tran2023.peers.pmse import PARAMETERS, PmseDraw, PublicFrame, pmse_mechanism, rate_for, score
from tacita_studies.tran2023.peers.pmse_as_run import pmse_as_run
from tacita_studies.tran2023.simulation import simulate


def test_one_record_changes_the_score_within_the_proved_range() -> None:
    rng = np.random.default_rng(11)
    lowest, highest = 0.0, 0.0
    for _ in range(2000):
        a = rng.integers(0, 6, 5).astype(float)
        b = rng.choice([0.0, 1e-9, 0.3, 5.0, 1e4], 5)
        more = a.copy()
        more[rng.integers(5)] += 1
        change = score(more, b) - score(a, b)
        lowest, highest = min(lowest, change), max(highest, change)
    assert -3 <= lowest < -2.99
    assert 0.99 < highest <= 1 + 1e-12


def test_the_score_is_the_pmse_of_a_classifier_with_these_cells() -> None:
    a, b = np.array([3.0, 1.0, 0.0]), np.array([1.0, 1.0, 2.0])
    share = np.repeat(b / (a + b), (a + b).astype(int))
    assert score(a, b) / (4 * len(share)) == pytest.approx(np.mean((share - 0.5) ** 2))


def test_the_rate_is_right_and_no_larger_would_do() -> None:
    """Two models for an empty file of two cells: one expects a crowd where the new record falls, one expects nobody."""
    models = [np.array([1e6, 0.0]), np.array([0.0, 1.0])]

    def log_chances(a: np.ndarray) -> np.ndarray:
        logs = np.array([-rate_for(Fraction(2)) * score(a, b) for b in models])
        return np.asarray(logs - np.logaddexp.reduce(logs))

    loss = np.abs(log_chances(np.array([0.0, 0.0])) - log_chances(np.array([1.0, 0.0]))).max()
    assert 1.99 < loss <= 2.0


def test_the_density_over_parameters_is_private() -> None:
    """The exponential mechanism on a small set of models, enumerated, for neighbouring files."""
    frame = PublicFrame(rows=5, bins=4, points=256)
    rng = np.random.default_rng(12)
    models = frame.box[:, 0] + rng.random((400, len(PARAMETERS))) * (frame.box[:, 1] - frame.box[:, 0])
    expected = [frame.expected(model) for model in models]
    training, _ = simulate(5, seed=1)

    def log_chances(data: pd.DataFrame, epsilon: float) -> np.ndarray:
        logs = np.array([-rate_for(Fraction(epsilon)) * score(frame.counts(data), b) for b in expected])
        return np.asarray(logs - np.logaddexp.reduce(logs))

    full = log_chances(training, 2.0)
    for row in range(5):
        assert np.abs(full - log_chances(training.drop(index=row), 2.0)).max() <= 2.0 + 1e-9


def test_the_chain_draws_from_the_density() -> None:
    """Against importance sampling over the whole box, where the data say little."""
    frame = PublicFrame(rows=20, bins=4, points=256)
    training, _ = simulate(20, seed=3)
    counts = frame.counts(training)
    rng = np.random.default_rng(13)
    models = frame.box[:, 0] + rng.random((20_000, len(PARAMETERS))) * (frame.box[:, 1] - frame.box[:, 0])
    logs = np.array([-0.125 * score(counts, frame.expected(model)) for model in models])
    weights = np.exp(logs - logs.max())
    wanted = weights @ models[:, 0] / weights.sum()
    effective = weights.sum() ** 2 / (weights**2).sum()
    assert effective > 200
    spread = math.sqrt(weights @ (models[:, 0] - wanted) ** 2 / weights.sum())
    drawn = [
        -math.log(
            pmse_mechanism(
                training, "0.5", np.random.default_rng(k), public=frame, populations=2, chains=16, generations=40
            ).parameters["rate1"]
        )
        for k in range(100)
    ]
    assert abs(np.mean(drawn) - wanted) < 5 * spread * math.sqrt(1 / 100 + 1 / effective)


def test_a_draw_repeats_under_its_seed() -> None:
    frame = PublicFrame(rows=200, bins=8, points=512)
    training, _ = simulate(200, seed=2)
    first, second = (
        pmse_mechanism(training, "1", np.random.default_rng(3), public=frame, chains=24, generations=150)
        for _ in range(2)
    )
    assert first == second
    made = first.synthesize(50, np.random.default_rng(1))
    assert made.shape == (50, 3)


@pytest.mark.parametrize(("r_hat", "said"), [(1.02, "ε = 1 under one record added or removed"), (1.2, "no guarantee")])
def test_a_draw_from_chains_that_disagree_has_no_guarantee(r_hat: float, said: str) -> None:
    guarantee = PmseDraw({}, Fraction(1), r_hat, 1).guarantee
    assert str(guarantee) == said
    assert any("converged" in one for one in guarantee.assumes)


def test_the_chain_as_run_repeats_moves_and_claims_nothing() -> None:
    training, _ = simulate(300, seed=4)
    first, second = (pmse_as_run(training, 1.0, np.random.default_rng(5), files=1) for _ in range(2))
    assert first == second
    assert 0 < first.accepted < 1
    assert first.guarantee.startswith("no guarantee")
    assert first.synthesize(20, np.random.default_rng(1)).shape == (20, 3)
    # Without any budget every step is taken, so that the end is as far away as 100 steps go.
    assert pmse_as_run(training, 1e-12, np.random.default_rng(5), files=1).accepted > 0.95


def test_bad_settings_are_refused() -> None:
    training, _ = simulate(10, seed=2)
    with pytest.raises(UsageError, match=r"^epsilon"):
        pmse_mechanism(training, "0", np.random.default_rng(1))
    with pytest.raises(UsageError, match="power of two"):
        PublicFrame(bins=12)
    with pytest.raises(UsageError, match=r"^populations"):
        pmse_mechanism(training, "1", np.random.default_rng(1), populations=1)
