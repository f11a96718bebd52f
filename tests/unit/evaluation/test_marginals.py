"""Marginal scores against values worked out by hand and against plain cross-tabulations."""

from itertools import combinations

import numpy as np
import pandas as pd
import pytest

from tacita.errors import UsageError
from tacita.evaluation import cells as cells_module
from tacita.evaluation import compare
from tacita.evaluation.marginals import (
    full_table_distance,
    k_marginal,
    k_marginal_six_bins,
    six,
    total_variation,
    worst_total_variation,
)


def coded(rows: int, columns: int, seed: int) -> pd.DataFrame:
    random = np.random.default_rng(seed)
    return pd.DataFrame({f"c{j}": random.integers(0, 2 + j % 4, rows).astype(str) for j in range(columns)})


def by_crosstab(first: pd.DataFrame, second: pd.DataFrame, columns: list[str]) -> float:
    both = pd.concat(
        [first.value_counts(columns, normalize=True), second.value_counts(columns, normalize=True)], axis=1
    )
    return float((both.iloc[:, 0].fillna(0) - both.iloc[:, 1].fillna(0)).abs().sum())


def test_six_bins_by_hand() -> None:
    # Original 1..8: minimum 1, quartiles 2.75, 4.5, 6.25, maximum 8; shares 0, 2/8, 2/8, 2/8, 2/8, 0.
    original = pd.DataFrame({"x": [1, 2, 3, 4, 5, 6, 7, 8]})
    # Below the minimum; at the minimum; at a quartile; in (Q1, median]; at the maximum; above it.
    synthetic = pd.DataFrame({"x": [0, 1, 2.75, 4, 8, 9, 9, 9]})
    # Synthetic shares 1/8, 2/8, 1/8, 0, 1/8, 3/8: differences 1/8 + 0 + 1/8 + 2/8 + 1/8 + 3/8 = 1.
    score = k_marginal_six_bins()(compare(original, synthetic))
    assert score.details["files"][0]["total_difference"] == pytest.approx(1.0)
    assert score.value == pytest.approx(500.0)


def test_six_bins_cross_all_variables_by_hand() -> None:
    # Both margins agree, so only the crossing can tell the files apart: no combination of bins is shared.
    original = pd.DataFrame({"x": [1, 2, 3, 4], "g": ["a", "a", "b", "b"]})
    synthetic = pd.DataFrame({"x": [1, 2, 3, 4], "g": ["b", "b", "a", "a"]})
    assert k_marginal_six_bins()(compare(original, synthetic)).value == 0.0
    assert k_marginal_six_bins()(compare(original[["x"]], synthetic[["x"]])).value == 1000.0


def test_cut_points_of_a_heap_are_kept_once() -> None:
    assert six(np.array([0.0, 0.0, 0.0, 5.0])).tolist() == [np.nextafter(0, -1), 0.0, 1.25, 5.0]
    assert six(np.array([np.nan])).size == 0


@pytest.mark.parametrize("k", [1, 2, 3, 4])
def test_total_variation_agrees_with_cross_tabulations(k: int) -> None:
    first, second = coded(300, 6, 1), coded(211, 6, 2)
    comparison = compare(first, second)
    expected = {
        names: by_crosstab(first, second, list(names)) / 2 for names in combinations([f"c{j}" for j in range(6)], k)
    }
    assert total_variation(k)(comparison).value == pytest.approx(np.mean(list(expected.values())))
    assert k_marginal(k)(comparison).value == pytest.approx(1000 * (1 - np.mean(list(expected.values()))))
    worst = worst_total_variation(k)(comparison)
    assert worst.value == pytest.approx(max(expected.values()))
    named, value = worst.details["files"][0]["worst"][0]
    assert expected[named] == pytest.approx(value)
    if k == 2:
        assert dict(worst.details["files"][0]["all"]) == pytest.approx(expected)


def test_large_marginals_are_counted_by_key_with_the_same_result(monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = coded(300, 5, 1), coded(211, 5, 2)
    dense = total_variation(3)(compare(first, second)).value
    monkeypatch.setattr(cells_module, "_DENSE", 0)
    assert total_variation(3)(compare(first, second)).value == pytest.approx(dense, abs=1e-15)


def test_the_full_cross_needs_no_dense_table() -> None:
    # 40 columns of four levels have 4^40 cells, more than any integer key can number at once.
    random = np.random.default_rng(3)
    heap = random.integers(0, 4, (50, 40))
    first = pd.DataFrame(heap[random.integers(0, 50, 400)]).add_prefix("v").astype(str)
    second = pd.DataFrame(heap[random.integers(0, 50, 300)]).add_prefix("v").astype(str)
    found = full_table_distance()(compare(first, second)).value
    assert found == pytest.approx(by_crosstab(first, second, list(first.columns)))
    assert 0 < found < 2


def test_random_marginals_are_distinct_and_repeatable() -> None:
    comparison = compare(coded(50, 12, 1), coded(50, 12, 2))
    one, same, other = (k_marginal(3, most=20, seed=seed)(comparison) for seed in (1, 1, 2))
    assert one.details["files"][0]["marginals"] == 20
    assert one.value == same.value
    assert one.value != other.value


def test_k_is_cut_to_the_number_of_columns_and_must_be_positive() -> None:
    comparison = compare(coded(50, 2, 1), coded(50, 2, 2))
    assert k_marginal(3)(comparison).details["files"][0]["k"] == 2
    with pytest.raises(UsageError, match="k"):
        k_marginal(0)(comparison)
