"""The Wasserstein distance against SciPy, and the ratio at its two fixed points."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import wasserstein_distance

from tacita.errors import UsageError
from tacita.evaluation import compare
from tacita.evaluation.marginals import distances, wasserstein_ratio


def people(rows: int, seed: int, shift: float = 0.0) -> pd.DataFrame:
    random = np.random.default_rng(seed)
    return pd.DataFrame(
        {"x": random.exponential(10, rows) + shift, "g": random.choice(["a", "b", "c"], rows, p=[0.5, 0.3, 0.2])}
    )


def test_distances_agree_with_scipy_in_standard_deviations_and_with_total_variation() -> None:
    first, second = people(300, 1), people(170, 2, shift=2)
    number, level = distances(compare(first, second).pairs[0])
    assert number == pytest.approx(wasserstein_distance(first.x, second.x) / first.x.std(ddof=0), rel=1e-12)
    gap = first.g.value_counts(normalize=True) - second.g.value_counts(normalize=True)
    assert level == pytest.approx(gap.abs().sum() / 2)


def test_missing_numbers_add_the_difference_in_their_shares() -> None:
    first = pd.DataFrame({"x": [0.0, 1.0, 0.0, 1.0]})
    second = pd.DataFrame({"x": [0.0, 1.0, np.nan, np.nan]})
    assert distances(compare(first, second).pairs[0]).tolist() == [0.5]
    nothing = pd.DataFrame({"x": [np.nan] * 4})
    assert distances(compare(first, nothing).pairs[0]).tolist() == [1.0]


def test_equal_files_score_zero_and_a_fresh_sample_about_one() -> None:
    first = people(2000, 1)
    assert wasserstein_ratio()(compare(first, first)).value == 0.0
    fresh = [wasserstein_ratio(permutations=50)(compare(first, people(2000, seed))).value for seed in range(10, 20)]
    assert 0.6 < float(np.mean(fresh)) < 1.6
    shifted = wasserstein_ratio()(compare(first, people(2000, 3, shift=2)))
    assert shifted.value > 4
    assert shifted.details["files"][0]["null_at_least_as_far"] == 0.0


def test_the_null_moves_whole_records_and_is_repeatable() -> None:
    comparison = compare(people(100, 1), people(100, 2))
    assert wasserstein_ratio(seed=5)(comparison).value == wasserstein_ratio(seed=5)(comparison).value
    assert wasserstein_ratio(seed=5)(comparison).value != wasserstein_ratio(seed=6)(comparison).value
    with pytest.raises(UsageError, match="permutations"):
        wasserstein_ratio(permutations=0)
