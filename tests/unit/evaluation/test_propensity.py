"""Propensity scores against independent implementations: statsmodels, scikit-learn and SciPy."""

import os
import warnings
from pathlib import Path
from typing import Literal

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray
from scipy.stats import ks_2samp

from tacita.errors import UsageError
from tacita.evaluation import compare
from tacita.evaluation.design import build
from tacita.evaluation.fits import _Newton, lasso, logistic
from tacita.evaluation.passes import Passes
from tacita.evaluation.propensity import binned, grow, pmse, pmse_ratio, specks

DATA = Path(os.environ.get("TACITA_DATA", Path(__file__).parents[4] / "shared" / "data"))


def people(rows: int, seed: int, tilt: float = 0.0) -> pd.DataFrame:
    random = np.random.default_rng(seed)
    age = random.normal(40 + 5 * tilt, 12, rows)
    group = random.choice(["a", "b", "c"], rows, p=[0.5 - 0.2 * tilt, 0.3, 0.2 + 0.2 * tilt])
    income = random.exponential(10, rows) * (1 + (group == "c")) + 0.2 * age
    return pd.DataFrame({"age": age, "group": group, "sex": random.choice(["f", "m"], rows), "income": income})


def indicator_design(frame: pd.DataFrame, *, interactions: bool) -> NDArray[np.float64]:
    """The same model matrix, made the plain way: treatment coding, all two-way products of columns from different
    variables."""
    parts = []
    for name in frame.columns:
        if pd.api.types.is_numeric_dtype(frame[name]):
            parts.append(((frame[name] - frame[name].mean()) / frame[name].std()).to_numpy()[:, None])
        else:
            parts.append(pd.get_dummies(frame[name], drop_first=True).to_numpy(dtype=float))
    columns = [np.ones((len(frame), 1)), *parts]
    if interactions:
        columns += [
            (parts[a][:, :, None] * parts[b][:, None, :]).reshape(len(frame), -1)
            for a in range(len(parts))
            for b in range(a)
        ]
    return np.hstack(columns)


def by_statsmodels(original: pd.DataFrame, synthetic: pd.DataFrame, *, interactions: bool) -> NDArray[np.float64]:
    sm = pytest.importorskip("statsmodels.api")
    design = indicator_design(pd.concat([original, synthetic], ignore_index=True), interactions=interactions)
    is_original = np.arange(len(design)) < len(original)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it warns where one column determines another, and drops it as we do
        return np.asarray(sm.GLM(is_original * 1.0, design, family=sm.families.Binomial()).fit(tol=1e-12).fittedvalues)


def check_against_statsmodels(original: pd.DataFrame, synthetic: pd.DataFrame, *, interactions: bool) -> None:
    comparison = compare(original, synthetic)
    score = by_statsmodels(original, synthetic, interactions=interactions)
    share = len(original) / len(score)
    found = pmse(interactions=interactions, limit=5000)(comparison)
    assert found.details["files"][0]["left_out"] == ()
    assert found.details["files"][0]["ridge"] == 0.0
    assert found.value == pytest.approx(float(np.mean((score - share) ** 2)), abs=1e-6, rel=0)
    if not interactions:
        apart = ks_2samp(np.round(score[: len(original)], 9), np.round(score[len(original) :], 9)).statistic
        assert specks()(comparison).value == pytest.approx(float(apart), abs=1e-6)


@pytest.mark.parametrize("interactions", [False, True])
def test_mixed_columns_agree_with_statsmodels(interactions: bool) -> None:
    check_against_statsmodels(people(500, 1), people(300, 2, tilt=0.5), interactions=interactions)


@pytest.mark.parametrize("interactions", [False, True])
def test_categorical_columns_agree_with_statsmodels_and_use_patterns(interactions: bool) -> None:
    original, synthetic = people(500, 1)[["group", "sex"]], people(300, 2, tilt=0.5)[["group", "sex"]]
    check_against_statsmodels(original, synthetic, interactions=interactions)
    assert build(compare(original, synthetic).pairs[0], interactions=False, limit=0).rows == 6


@pytest.mark.realdata
@pytest.mark.parametrize("interactions", [False, True])
def test_cps_voting_agrees_with_statsmodels(interactions: bool) -> None:
    path = DATA / "cps_voting_10k" / "cps_2016_10k.csv.gz"
    if not path.exists():
        pytest.skip("needs shared/data/cps_voting_10k (or $TACITA_DATA)")
    frame = pd.read_csv(path).sample(4000, random_state=1, ignore_index=True)
    names = ["STATE", "SEX", "EDUCATION", "RACE", "HISPANIC", "VRS_VOTE", "VRS_REG", "VRS_RESIDENCE"]
    names = names[1:3] if interactions else names
    codes = frame[names].astype(str)
    for name in names:  # statsmodels has no answer where a rare level is in one file only
        codes[name] = codes[name].where(codes[name].map(codes[name].value_counts()) >= 100, "other")
    original = codes.assign(AGE=frame.AGE.astype(float))
    random = np.random.default_rng(7)
    synthetic = original.sample(frac=1, replace=True, random_state=7).reset_index(drop=True)
    for name in original:
        moved = random.random(len(synthetic)) < 0.15
        synthetic.loc[moved, name] = random.permutation(synthetic.loc[moved, name].to_numpy())
    synthetic["AGE"] = np.minimum(synthetic.AGE * random.choice([1.0, 1.1], len(synthetic)), 85)
    check_against_statsmodels(original, synthetic, interactions=interactions)


def test_the_fit_converges_far_beyond_the_bar() -> None:
    original, synthetic = people(500, 1), people(300, 2, tilt=0.5)
    score = by_statsmodels(original, synthetic, interactions=False)
    np.testing.assert_allclose(
        logistic(Passes(build(compare(original, synthetic).pairs[0], interactions=False, limit=0))).probability,
        score,
        atol=1e-7,
    )


def test_a_level_in_one_file_only_is_separated_without_harm() -> None:
    original = pd.DataFrame({"g": ["a"] * 50 + ["b"] * 50})
    synthetic = pd.DataFrame({"g": ["a"] * 50 + ["c"] * 50})
    # Propensities are 1/2 for a, 1 for b, 0 for c: pMSE is a quarter for half of the rows.
    assert pmse()(compare(original, synthetic)).value == pytest.approx(0.125, abs=1e-6)
    assert specks()(compare(original, synthetic)).value == 0.5


def test_columns_that_others_determine_are_not_counted() -> None:
    frame = people(400, 1)
    doubled = frame.assign(twice=2 * frame.age, same=frame.group, one=1.0)
    other = people(300, 2)
    other_doubled = other.assign(twice=2 * other.age, same=other.group, one=1.0)
    plain, more = pmse()(compare(frame, other)), pmse()(compare(doubled, other_doubled))
    assert more.value == pytest.approx(plain.value, rel=1e-8)
    assert more.details["files"][0]["parameters"] == plain.details["files"][0]["parameters"] == 6


def test_missing_numbers_have_a_flag() -> None:
    original, synthetic = people(400, 1), people(400, 2)
    synthetic.loc[:199, "income"] = np.nan
    # The flag finds half of the synthetic rows for sure: pMSE 1/4 · 1/4 + 3/4 · (2/3 − 1/2)² and a little noise.
    assert pmse()(compare(original, synthetic)).value == pytest.approx(1 / 16 + 1 / 48, abs=0.005)


@pytest.mark.parametrize(("model", "interactions"), [("logistic", False), ("logistic", True), ("cart", False)])
@pytest.mark.parametrize("rows", [500, 1500])
def test_the_ratio_of_a_resample_is_about_one_and_rises_with_the_distance(
    model: Literal["logistic", "cart"], interactions: bool, rows: int
) -> None:
    metric = pmse_ratio(model, interactions=interactions)
    resampled, fresh = [], []
    for seed in range(12):
        original = people(1000, seed)
        resampled.append(metric(compare(original, original.sample(rows, replace=True, random_state=seed))).value)
        fresh.append(metric(compare(original, people(rows, 100 + seed))).value)
    assert 0.7 < float(np.mean(resampled)) < 1.35
    assert float(np.mean(fresh)) == pytest.approx((1000 + rows) / 1000, rel=0.4)
    assert metric(compare(people(1000, 1), people(rows, 2, tilt=1))).value > 1.5 * (1000 + rows) / 1000


def test_the_expected_pmse_is_the_published_formula() -> None:
    found = pmse_ratio()(compare(people(600, 1), people(300, 2))).details["files"][0]
    c, total, k = 300 / 900, 900, 6
    assert found["expected"] == pytest.approx((k - 1) * (1 - c) ** 2 * c / total)


def test_interactions_are_left_out_from_the_largest_and_named() -> None:
    comparison = compare(people(300, 1), people(300, 2))
    # Main effects have 6 parameters; products of numbers and sex × numbers cost 1 each and enter first.
    found = pmse(interactions=True, limit=10)(comparison).details["files"][0]
    assert set(found["left_out"]) == {"group×age", "group×income", "group×sex"}
    assert found["parameters"] == 9
    assert pmse(interactions=True)(comparison).details["files"][0]["left_out"] == ()


def test_heavy_tailed_products_that_nearly_separate_still_give_a_maximum() -> None:
    random = np.random.default_rng(4)
    rows = 4000
    made = {f"x{j}": np.where(random.random(rows) < 0.03, random.pareto(0.7, rows), 0.0) for j in range(8)}
    original = pd.DataFrame(made)
    synthetic = pd.DataFrame({name: random.permutation(values) * 1.5 for name, values in made.items()})
    score = pmse(interactions=True)(compare(original, synthetic))
    assert score.details["files"][0]["converged"]
    assert 0 < score.value < 0.25


def test_files_that_separate_completely_score_the_worst_possible() -> None:
    random = np.random.default_rng(1)
    apart = compare(pd.DataFrame({"x": random.random(500)}), pd.DataFrame({"x": 2 + random.random(500)}))
    assert pmse()(apart).value == pytest.approx(0.25, abs=1e-4)


def scaled(original: pd.DataFrame, synthetic: pd.DataFrame) -> NDArray[np.float64]:
    matrix = indicator_design(pd.concat([original, synthetic], ignore_index=True), interactions=False)[:, 1:]
    return np.asarray((matrix - matrix.mean(axis=0)) / matrix.std(axis=0))


def test_the_ridge_agrees_with_scikit_learn() -> None:
    linear = pytest.importorskip("sklearn.linear_model")
    original, synthetic = people(200, 1), people(100, 2, tilt=1)
    pair = compare(original, synthetic).pairs[0]
    fit = _Newton(Passes(build(pair, interactions=False, limit=0)))
    assert fit.climb(ridge=1.0)
    matrix = scaled(original, synthetic)
    # The reference level of a category matters to a penalty: the commonest one is a, as in the plain coding.
    model = linear.LogisticRegression(C=1.0, tol=1e-10, max_iter=10_000).fit(matrix, pair.is_original)
    np.testing.assert_allclose(fit.fitted, model.predict_proba(matrix)[:, 1], atol=1e-3)
    assert fit.propensity().ridge == 1.0


def test_lasso_agrees_with_scikit_learn_at_a_given_penalty() -> None:
    linear = pytest.importorskip("sklearn.linear_model")
    original, synthetic = people(500, 1)[["age", "sex", "income"]], people(300, 2, tilt=1)[["age", "sex", "income"]]
    pair = compare(original, synthetic).pairs[0]
    for penalty in (0.005, 0.05):
        found, _ = lasso(Passes(build(pair, interactions=False, limit=0)), penalty)
        matrix = scaled(original, synthetic)
        model = linear.LogisticRegression(
            l1_ratio=1, C=1 / (penalty * len(matrix)), solver="saga", tol=1e-12, max_iter=100_000
        ).fit(matrix, pair.is_original)
        np.testing.assert_allclose(found.probability, model.predict_proba(matrix)[:, 1], atol=1e-4)


def test_lasso_without_a_penalty_is_the_maximum_and_chooses_fewer_terms_by_itself() -> None:
    pair = compare(people(500, 1), people(300, 2, tilt=1)).pairs[0]
    design = Passes(build(pair, interactions=True, limit=500))
    full = logistic(design)
    free, _ = lasso(design, 1e-9)
    assert free.pmse() == pytest.approx(full.pmse(), rel=1e-3)
    chosen, penalty = lasso(design)
    assert penalty > 0
    assert 1 < chosen.parameters < full.parameters
    assert 0 < chosen.pmse() < full.pmse()
    score = pmse("lasso", interactions=True)(compare(people(500, 1), people(300, 2, tilt=1)))
    assert score.value == pytest.approx(chosen.pmse())


def test_a_tree_on_numbers_agrees_with_scikit_learn() -> None:
    trees = pytest.importorskip("sklearn.tree")
    random = np.random.default_rng(1)
    original = pd.DataFrame(random.integers(0, 60, (700, 3)), columns=list("abc")).astype(float)
    synthetic = pd.DataFrame(random.integers([0, 5, 10], [50, 55, 60], (500, 3)), columns=list("abc")).astype(float)
    pair = compare(original, synthetic).pairs[0]
    for depth in (1, 2, 4):
        found = grow(binned(pair), pair.is_original, depth=depth, leaf=20)
        both = pd.concat([original, synthetic])
        model = trees.DecisionTreeClassifier(max_depth=depth, min_samples_leaf=20, random_state=0)
        expected = model.fit(both, pair.is_original).predict_proba(both)[:, 1]
        np.testing.assert_allclose(found, expected, atol=1e-12)


def test_a_tree_finds_the_best_grouping_of_levels() -> None:
    # The levels that differ are not neighbours: one split must gather a, c and e.
    original = pd.DataFrame({"g": list("ace") * 30 + list("bdf") * 10})
    synthetic = pd.DataFrame({"g": list("ace") * 10 + list("bdf") * 30})
    pair = compare(original, synthetic).pairs[0]
    assert sorted(set(grow(binned(pair), pair.is_original, depth=1, leaf=20))) == [0.25, 0.75]


def test_wrong_arguments_are_refused() -> None:
    with pytest.raises(UsageError, match="model"):
        pmse("forest")  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="limit"):
        pmse(interactions=True, limit=1)
    with pytest.raises(UsageError, match="permutations"):
        pmse_ratio("cart", permutations=0)


@pytest.mark.parametrize("interactions", [False, True])
def test_nested_categories_are_no_obstacle(interactions: bool) -> None:
    """A region that its states determine: columns depend on each other, the intercept among them."""

    def nested(seed: int, tilt: float) -> pd.DataFrame:
        random = np.random.default_rng(seed)
        states = np.array([f"s{number}" for number in range(12)])
        state = random.choice(states, 4000, p=np.linspace(1, 1 + tilt, 12) / np.linspace(1, 1 + tilt, 12).sum())
        region = np.array(["r" + one for one in "aaabbbcccddd"])[np.searchsorted(np.sort(states), state)]
        asked = np.where(region == "ra", "not asked", random.choice(["yes", "no"], 4000))
        return pd.DataFrame(
            {"asked": asked, "region": region, "state": state, "reply": np.where(asked == "yes", "1", "0")}
        )

    first, second = nested(1, 0.0), nested(2, 1.0)
    alone = ["state", "asked"]  # determine the other two
    pair, plain = compare(first, second), compare(first[alone], second[alone])
    if interactions:
        assert 0 < pmse(interactions=True)(pair).value < 0.25
    else:
        assert specks()(pair).value == pytest.approx(specks()(plain).value, abs=2e-3)
        assert pmse()(pair).value == pytest.approx(pmse()(plain).value, rel=1e-4)
