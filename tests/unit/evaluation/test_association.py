"""All two-way chi-square tests against SciPy, and their combination over files."""

from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from scipy.optimize import brentq

from tacita.errors import UsageError
from tacita.evaluation.association import chi_square_agreement, independence
from tacita.evaluation.encoding import compare
from tacita.inference import combine_chi_square


def people(n: int, seed: int, link: float = 0.3) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    a = rng.integers(0, 3, n)
    b = np.where(rng.random(n) < link, a, rng.integers(0, 3, n))
    c = np.where(rng.random(n) < 0.1, a, rng.integers(0, 4, n))
    d = rng.integers(0, 2, n)
    e = np.where(rng.random(n) < 0.08, d, rng.integers(0, 2, n))
    return pd.DataFrame({"a": a, "b": b, "c": c, "d": d, "e": e}).astype(str)


def by_scipy(frame: pd.DataFrame, first: str, second: str) -> tuple[float, int, float]:
    found = stats.chi2_contingency(pd.crosstab(frame[first], frame[second]), correction=False)
    return found.statistic, found.dof, found.pvalue


def test_every_p_value_agrees_with_scipy_and_the_rate_counts_equal_conclusions() -> None:
    original, synthetic = people(400, 1), people(300, 2, link=0.02)
    score = chi_square_agreement(0.05)(compare(original, synthetic))
    same = 0
    for a, b in combinations("abcde", 2):
        p, q = by_scipy(original, a, b)[2], by_scipy(synthetic, a, b)[2]
        assert score.details["pairs"][f"{a} × {b}"] == pytest.approx({"original": p, "synthetic": q}, rel=1e-9)
        same += (p < 0.05) == (q < 0.05)
    assert 0 < same < 10  # the case must be able to tell right from wrong
    assert score.value == same / 10
    assert sum(score.details["confusion"].values()) == 10


def test_statistics_of_several_files_are_combined_by_li_and_others() -> None:
    """D = [mean(d)/k - (m+1)/(m-1)·r]/(1+r), r = (1+1/m)·var(sqrt d), against F with k^(-3/m)(m-1)(1+1/r)² df."""
    original, files = people(300, 3), [people(300, seed) for seed in (4, 5, 6, 7)]
    pairs = chi_square_agreement()(compare(original, files)).details["pairs"]
    for a, b in (("a", "b"), ("a", "c"), ("d", "e")):
        d = np.array([by_scipy(one, a, b)[0] for one in files])
        k = by_scipy(original, a, b)[1]
        r = (1 + 1 / 4) * np.var(np.sqrt(d), ddof=1)
        statistic = (d.mean() / k - (4 + 1) / (4 - 1) * r) / (1 + r)
        df = k ** (-3 / 4) * (4 - 1) * (1 + 1 / r) ** 2
        assert pairs[f"{a} × {b}"]["synthetic"] == pytest.approx(stats.f.sf(max(statistic, 0), k, df), rel=1e-9)


def test_sparse_and_dense_tables_give_the_same_statistic() -> None:
    rng = np.random.default_rng(8)
    first, second = rng.integers(0, 5, 200), rng.integers(0, 6, 200)
    dense = independence(first, second, (5, 6))
    sparse = independence(first, second, (500, 600))
    assert dense.statistic == pytest.approx(sparse.statistic, rel=1e-12)
    assert dense.df == sparse.df == 20


def test_numbers_are_tested_in_fifths_of_the_original() -> None:
    rng = np.random.default_rng(9)
    original = pd.DataFrame({"x": rng.normal(size=500)}).assign(y=lambda f: f.x + rng.normal(size=500))
    synthetic = pd.DataFrame({"x": rng.normal(size=500), "y": rng.normal(size=500)})
    found = chi_square_agreement()(compare(original, synthetic))
    cuts = [np.r_[-np.inf, original[name].quantile([0.2, 0.4, 0.6, 0.8]), np.inf] for name in ("x", "y")]
    table = pd.crosstab(*(pd.cut(original[name], cut) for name, cut in zip(("x", "y"), cuts, strict=True)))
    expected = stats.chi2_contingency(table, correction=False).pvalue
    assert found.details["pairs"]["x × y"]["original"] == pytest.approx(expected, rel=1e-9)
    assert found.value == 0
    assert found.details["confusion"]["- +"] == 1


def test_constant_and_missing_columns_show_no_association() -> None:
    frame = people(50, 10)[["a"]].assign(one="x", gone=np.nan)
    score = chi_square_agreement()(compare(frame, [frame, frame]))
    assert score.value == 1
    assert score.details["pairs"]["a × one"] == {"original": 1.0, "synthetic": 1.0}
    assert score.details["pairs"]["a × gone"] == {"original": 1.0, "synthetic": 1.0}


def test_one_column_has_no_pairs_and_levels_are_checked() -> None:
    frame = people(20, 11)[["a"]]
    with pytest.raises(UsageError, match="two columns"):
        chi_square_agreement()(compare(frame, frame))
    with pytest.raises(UsageError, match="level"):
        chi_square_agreement(1.5)


def test_the_combined_test_of_few_files_is_weak_and_the_score_says_so() -> None:
    """Two files that show every association as clearly as the original does: only combining them loses it."""
    original, files = people(2000, 12, link=0.5), [people(2000, seed, link=0.5) for seed in (40, 41)]
    score = chi_square_agreement()(compare(original[["a", "b"]], [one[["a", "b"]] for one in files]))
    assert all(by_scipy(one, "a", "b")[2] < 1e-100 for one in (original, *files))
    assert score.value == 0
    assert score.details["one by one"] == 1
    assert "2 files is weak" in score.note
    assert "here 1 of the 1 pairs that disagree" in score.note
    assert "agree on 100% of the pairs" in score.note
    assert score.note in score.summary()


def test_a_note_is_left_out_where_the_combination_costs_nothing() -> None:
    original = people(400, 15)
    assert chi_square_agreement()(compare(original, people(400, 16))).note == ""
    copies = chi_square_agreement()(compare(original, [original] * 6))
    assert (copies.value, copies.note) == (1.0, "")


@pytest.mark.parametrize(
    ("m", "k", "documented"), [(2, 1, 0.59), (2, 4, 0.29), (3, 4, 0.29), (5, 4, 0.37), (10, 4, 0.61), (10, 16, 0.12)]
)
def test_power_of_the_combined_test_is_as_documented(m: int, k: int, documented: float) -> None:
    """Statistics of an association that one file shows 99 times in 100; 600 repetitions, four standard errors."""
    strength = brentq(lambda x: stats.ncx2.sf(stats.chi2.isf(0.05, k), k, x) - 0.99, 1, 200)
    drawn = np.random.default_rng(17).noncentral_chisquare(k, strength, (600, m))
    found = np.mean([combine_chi_square(one.tolist(), k).p_value < 0.05 for one in drawn])
    assert abs(found - documented) < 4 * np.sqrt(documented * (1 - documented) / 600)
