"""Regression metrics against statsmodels, against formulas worked by hand, and on awkward files."""

import math
import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
import statsmodels.formula.api as smf
from scipy import stats
from scipy.optimize import minimize

from tacita.errors import UsageError
from tacita.evaluation.encoding import compare
from tacita.evaluation.linear_models import Design, Predictor, aggregate, fit_linear, fit_logistic
from tacita.evaluation.regression import (
    Regression,
    coefficient_coverage,
    coefficient_difference,
    difference_in_differences,
    holdout_nrmse,
    interval_overlap,
    overlaps,
    regression_metrics,
    sign_agreement,
)
from tacita.evaluation.regression_model import fits_of, model_data


def sample(n: int, seed: int, shift: float = 0.0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    sex = rng.choice(["F", "M"], n)
    area = rng.choice(["east", "north", "south"], n, p=[0.5, 0.3, 0.2])
    age = rng.integers(18, 90, n).astype(float)
    pay = 20 + 0.3 * age + 4 * (sex == "M") + (2 + shift) * (area == "south") + rng.normal(0, 5, n)
    chance = 1 / (1 + np.exp(-(-1 + 0.02 * age + (0.5 + shift) * (sex == "M") - 0.4 * (area == "south"))))
    vote = np.where(rng.random(n) < chance, "yes", "no")
    return pd.DataFrame({"sex": sex, "area": area, "age": age, "pay": pay, "vote": vote})


LINEAR = Regression.from_formula("pay ~ age + sex*area")
LOGISTIC = Regression.from_formula("vote ~ age + sex + area", family="logistic")


def by_statsmodels(frame: pd.DataFrame, logistic: bool) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Coefficients, standard errors and 95% intervals in the order of our terms."""
    if logistic:
        fit = smf.logit("v ~ age + C(sex) + C(area)", frame.assign(v=(frame.vote == "yes") * 1)).fit(disp=0, tol=1e-14)
        order = ["Intercept", "age", "C(sex)[T.M]", "C(area)[T.north]", "C(area)[T.south]"]
    else:
        fit = smf.ols("pay ~ age + C(sex)*C(area)", frame).fit()
        order = ["Intercept", "age", "C(sex)[T.M]", "C(area)[T.north]", "C(area)[T.south]"]
        order += ["C(sex)[T.M]:C(area)[T.north]", "C(sex)[T.M]:C(area)[T.south]"]
    return fit.params[order].to_numpy(), fit.bse[order].to_numpy(), fit.conf_int().loc[order].to_numpy()


@pytest.mark.parametrize("model", [LINEAR, LOGISTIC], ids=str)
def test_difference_overlap_sign_and_coverage_agree_with_statsmodels(model: Regression) -> None:
    original, synthetic = sample(900, 1), sample(700, 2, shift=0.7)
    logistic = model.family == "logistic"
    theta, error, ends = by_statsmodels(original, logistic)
    other, _, other_ends = by_statsmodels(synthetic, logistic)
    comparison = compare(original, synthetic)

    assert coefficient_difference(model)(comparison).value == pytest.approx(np.mean(abs(theta - other) / error), 1e-7)
    common = np.minimum(ends[:, 1], other_ends[:, 1]) - np.maximum(ends[:, 0], other_ends[:, 0])
    expected = [
        (max(c, 0) / (e[1] - e[0]) + max(c, 0) / (o[1] - o[0])) / 2
        for c, e, o in zip(common, ends, other_ends, strict=True)
    ]
    assert interval_overlap(model)(comparison).value == pytest.approx(np.mean(expected), 1e-7)
    assert sign_agreement(model)(comparison).value == pytest.approx(np.mean(np.sign(theta) == np.sign(other)))
    covered = (other_ends[:, 0] <= theta) & (theta <= other_ends[:, 1])
    assert 0 < covered.mean() < 1  # the case must be able to tell right from wrong
    assert coefficient_coverage(model)(comparison).value == pytest.approx(covered.mean())


def test_a_copy_of_the_original_scores_perfectly() -> None:
    original = sample(300, 3)
    comparison = compare(original, [original, original])
    assert [metric(comparison).value for metric in regression_metrics(LOGISTIC)] == pytest.approx([0, 1, 1, 1])


def test_files_are_averaged_and_combined_by_reiter() -> None:
    original = sample(400, 4)
    files = [sample(400, seed, shift=0.4) for seed in (5, 6, 7)]
    comparison = compare(original, files)
    score = coefficient_difference(LOGISTIC)(comparison)
    singles = [coefficient_difference(LOGISTIC)(compare(original, one)).value for one in files]
    assert score.by_implicate == pytest.approx(singles)
    assert score.value == pytest.approx(np.mean(singles))

    fits = [by_statsmodels(one, logistic=True) for one in files]
    q = np.stack([one[0] for one in fits])
    within = np.mean([one[1] ** 2 for one in fits], axis=0)
    total = within + q.var(axis=0, ddof=1) / 3
    df = 2 * (1 + within / (q.var(axis=0, ddof=1) / 3)) ** 2
    half = stats.t.ppf(0.975, df) * np.sqrt(total)
    theta = by_statsmodels(original, logistic=True)[0]
    covered = np.abs(q.mean(axis=0) - theta) <= half
    found = coefficient_coverage(LOGISTIC)(comparison)
    assert list(found.details["terms"].values()) == covered.tolist()
    assert (
        list(sign_agreement(LOGISTIC)(comparison).details["terms"].values())
        == (np.sign(q.mean(axis=0)) == np.sign(theta)).tolist()
    )


def test_nrmse_on_a_holdout_file_agrees_with_statsmodels() -> None:
    original, synthetic, test = sample(500, 8), sample(500, 9, shift=3), sample(300, 10)
    score = holdout_nrmse(LINEAR)(compare(original, synthetic, holdout=test))
    for frame, ours in ((synthetic, score.value), (original, score.details["fitted on the original"])):
        predicted = smf.ols("pay ~ age + C(sex)*C(area)", frame).fit().predict(test)
        assert ours == pytest.approx(np.sqrt(np.mean((test.pay - predicted) ** 2)) / test.pay.std(), 1e-9)
    assert score.value > score.details["fitted on the original"]


# ------------------------------------------------------------------ the arithmetic under it


def test_large_offsets_do_not_spoil_a_linear_fit() -> None:
    """Years and incomes in cents: normal equations would lose all digits here, QR keeps ten."""
    rng = np.random.default_rng(0)
    year, income = rng.integers(1_000_000, 1_000_040, 400).astype(float), rng.lognormal(14, 2, 400)
    y = 3 + 0.5 * (year - 1_000_000) + 1e-6 * income + rng.normal(0, 1, 400)
    design = Design(400, ((Predictor("year", year),), (Predictor("income", income),)))
    fit = fit_linear(design, y)
    centred = sm.OLS(y, sm.add_constant(np.column_stack([year - year.mean(), income]))).fit()
    assert fit.coefficients[1:] == pytest.approx(centred.params[1:], rel=1e-8)
    assert fit.standard_errors[1:] == pytest.approx(centred.bse[1:], rel=1e-8)


def test_blocks_and_aggregation_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    frame = sample(3000, 11)
    codes = {name: pd.Categorical(frame[name]) for name in ("sex", "area")}
    predictors = [Predictor(n, c.codes.astype(np.int32), tuple(c.categories)) for n, c in codes.items()]
    design = Design(3000, (*((one,) for one in predictors), (Predictor("age", frame.age.to_numpy()),)))
    vote = (frame.vote == "yes").to_numpy()
    whole = fit_logistic(design, vote.astype(float), np.ones(3000))
    small, successes, trials = aggregate(design, vote)
    assert small.rows < 500
    assert trials.sum() == 3000
    assert successes.sum() == vote.sum()
    monkeypatch.setattr("tacita.evaluation.linear_models._BLOCK_ELEMENTS", 1000)
    for firth in (False, True):
        first = fit_logistic(design, vote.astype(float), np.ones(3000), firth=firth)
        second = fit_logistic(small, successes, trials, firth=firth)
        assert first.coefficients == pytest.approx(second.coefficients, rel=1e-9)
        assert first.standard_errors == pytest.approx(second.standard_errors, rel=1e-9)
    assert fit_logistic(small, successes, trials).coefficients == pytest.approx(whole.coefficients, rel=1e-9)


def two_by_two(a: int, b: int, c: int, d: int) -> tuple[Design, np.ndarray, np.ndarray]:
    """a successes and b failures without, c successes and d failures with the exposure."""
    exposure = Predictor("exposed", np.array([0, 1], dtype=np.int32), ("no", "yes"))
    return Design(2, ((exposure,),)), np.array([a, c], dtype=float), np.array([a + b, c + d], dtype=float)


@pytest.mark.parametrize("table", [(3, 7, 6, 4), (0, 10, 10, 0), (0, 8, 3, 9), (12, 0, 5, 5)])
def test_firth_on_a_two_by_two_table_adds_a_half_to_each_cell(table: tuple[int, int, int, int]) -> None:
    """For a saturated model Firth's estimate is the log odds with 1/2 added to each cell, even where a cell is 0."""
    a, b, c, d = (cell + 0.5 for cell in table)
    fit = fit_logistic(*two_by_two(*table), firth=True)
    assert fit.coefficients == pytest.approx([math.log(a / b), math.log(c / d) - math.log(a / b)], abs=1e-8)
    # Wald errors from the information at the estimate: n·p·(1-p) of each row of the table.
    information = [(a + b - 1) * a * b / (a + b) ** 2, (c + d - 1) * c * d / (c + d) ** 2]
    assert fit.standard_errors[1] == pytest.approx(math.sqrt(1 / information[0] + 1 / information[1]), rel=1e-8)


def test_firth_with_a_number_maximises_the_penalised_likelihood() -> None:
    """Separated data: an independent optimiser finds the same maximum of log-likelihood + log|information|/2."""
    x = np.array([1.0, 2, 3, 4, 5, 6, 7, 8])
    y = (x > 4).astype(float)
    matrix = np.column_stack([np.ones(8), x])

    def loss(beta: np.ndarray) -> float:
        p = 1 / (1 + np.exp(-matrix @ beta))
        information = matrix.T @ (matrix * (p * (1 - p))[:, None])
        return -float(np.sum(y * np.log(p) + (1 - y) * np.log(1 - p))) - np.linalg.slogdet(information)[1] / 2

    best = minimize(loss, [0.0, 0.0], method="Nelder-Mead", options={"xatol": 1e-10, "fatol": 1e-14, "maxiter": 5000})
    fit = fit_logistic(Design(8, ((Predictor("x", x),),)), y, np.ones(8), firth=True)
    assert fit.coefficients == pytest.approx(best.x, abs=1e-5)


def test_separation_is_an_error_without_firth_and_an_answer_with_it() -> None:
    frame = pd.DataFrame({"y": [0, 0, 0, 1, 1, 1], "x": [1.0, 2, 3, 4, 5, 6]})
    comparison = compare(frame, frame)
    with pytest.raises(UsageError, match="firth=True"):
        coefficient_difference(Regression("y", ("x",), family="logistic"))(comparison)
    model = Regression("y", ("x",), family="logistic", firth=True)
    assert coefficient_difference(model)(comparison).value == 0


# ------------------------------------------------------------------ awkward files


def test_a_level_the_synthetic_file_lost_counts_against_it() -> None:
    original = sample(400, 12)
    synthetic = original[original.area != "south"]
    comparison = compare(original, synthetic)
    model = Regression.from_formula("pay ~ age + area")
    difference = coefficient_difference(model)(comparison)
    assert difference.details["files"][0]["not estimable"] == ("area=south",)
    assert interval_overlap(model)(comparison).details["files"][0]["terms"]["area=south"] == 0
    assert sign_agreement(model)(comparison).value == 0.75


def test_reference_level_is_one_that_every_file_has() -> None:
    original = sample(400, 13)
    synthetic = original[original.area != "east"]
    terms = coefficient_difference(Regression.from_formula("pay ~ area"))(compare(original, synthetic)).details["files"]
    assert set(terms[0]["terms"]) == {"(intercept)", "area=south"}
    assert terms[0]["not estimable"] == ("area=east",)


def test_factor_without_a_common_level_is_not_compared() -> None:
    original = sample(200, 14).assign(area="east")
    synthetic = sample(200, 15).assign(area="west")
    score = coefficient_difference(Regression.from_formula("pay ~ age + area"))(compare(original, synthetic))
    assert set(score.details["files"][0]["terms"]) == {"age"}


def test_constant_and_missing_columns_have_defined_answers() -> None:
    original = sample(200, 16).assign(one=1.0, gone=np.nan, some=lambda f: f.age.where(f.age > 40))
    comparison = compare(original, original)
    assert coefficient_difference(Regression.from_formula("pay ~ age + one"))(comparison).value == 0
    with pytest.raises(UsageError, match="no row"):
        coefficient_difference(Regression.from_formula("pay ~ age + gone"))(comparison)
    with_gaps = original[["pay", "some"]]
    whole = with_gaps.dropna()
    score, complete = (
        holdout_nrmse(Regression.from_formula("pay ~ some"))(compare(one, one, holdout=one)).value
        for one in (with_gaps, whole)
    )
    assert score == pytest.approx(complete)


def test_response_that_cannot_be_modelled_is_named() -> None:
    comparison = compare(sample(50, 17), sample(50, 18), holdout=sample(50, 19).assign(pay=3.0))
    with pytest.raises(UsageError, match="vote: is a category"):
        coefficient_difference(Regression.from_formula("vote ~ age"))(comparison)
    with pytest.raises(UsageError, match="pay: a logistic response is 0 and 1"):
        coefficient_difference(Regression.from_formula("pay ~ age", family="logistic"))(comparison)
    with pytest.raises(UsageError, match="area: does not have two levels"):
        coefficient_difference(Regression.from_formula("area ~ age", family="logistic"))(comparison)
    with pytest.raises(UsageError, match="nosuch: no such column"):
        coefficient_difference(Regression.from_formula("pay ~ nosuch"))(comparison)
    with pytest.raises(UsageError, match="constant in the hold-out"):
        holdout_nrmse(Regression.from_formula("pay ~ age"))(comparison)
    with pytest.raises(UsageError, match="hold"):
        holdout_nrmse(Regression.from_formula("pay ~ age"))(compare(sample(50, 17), sample(50, 18)))


def test_success_level_may_be_named() -> None:
    original, synthetic = sample(300, 20), sample(300, 21)
    yes, no = (
        coefficient_difference(Regression("vote", ("age",), "logistic", success=level))(compare(original, synthetic))
        for level in ("yes", "no")
    )
    assert yes.value == pytest.approx(no.value)  # signs flip together, distances stay


@pytest.mark.parametrize("formula", ["pay", "~ age", "pay ~", "pay ~ a*b*c", "pay ~ age + pay", "pay ~ age + "])
def test_bad_formulas_are_refused(formula: str) -> None:
    with pytest.raises(UsageError, match="regression"):
        Regression.from_formula(formula)


def test_intervals_that_do_not_meet_overlap_nothing_and_points_are_inside_or_not() -> None:
    low, high = np.array([0.0, 0.0, 1.0, 1.0]), np.array([1.0, 1.0, 1.0, 1.0])
    other_low, other_high = np.array([2.0, 0.25, 0.0, 2.0]), np.array([3.0, 0.75, 2.0, 2.0])
    assert overlaps((low, high), (other_low, other_high)).tolist() == [0.0, 0.75, 0.5, 0.0]


def test_difference_in_differences_recovers_the_planted_effect() -> None:
    rng = np.random.default_rng(22)
    n = 20_000
    treated, after, age = rng.integers(0, 2, n), rng.integers(0, 2, n), rng.integers(18, 25, n)
    chance = 1 / (1 + np.exp(-(-2 + 0.05 * age + 0.2 * treated + 0.3 * after + 0.6 * treated * after)))
    frame = pd.DataFrame({"treated": treated, "after": after, "age": age, "vote": rng.random(n) < chance})
    model = difference_in_differences("vote", "treated", "after", ["age"], success="True")
    comparison = compare(frame, [frame.sample(n // 2, random_state=1)], categorical=["treated", "after"])
    score = coefficient_difference(model)(comparison)
    assert "treated=1:after=1" in score.details["files"][0]["terms"]
    fit = fits_of(model, comparison)[0]
    at = fit.terms.index("treated=1:after=1")
    assert abs(fit.coefficients[at] - 0.6) < 4 * fit.standard_errors[at] < 0.5


# ------------------------------------------------------------------ a real file


@pytest.fixture(scope="module")
def voters() -> pd.DataFrame:
    folder = Path(os.environ.get("TACITA_DATA", Path(__file__).parents[4] / "shared" / "data"))
    path = folder / "cps_voting_10k" / "cps_2016_10k.csv.gz"
    if not path.exists():
        pytest.skip("needs cps_voting_10k in ../shared/data or in the folder that TACITA_DATA names")
    frame = pd.read_csv(path)
    return frame[frame.VRS_VOTE.isin([1, 2])][["VRS_VOTE", "AGE", "SEX", "RACE", "HISPANIC", "VRS_RESIDENCE"]]


FACTORS = ("SEX", "RACE", "HISPANIC", "VRS_RESIDENCE")


@pytest.mark.realdata
def test_logistic_fit_of_a_real_file_agrees_with_statsmodels(voters: pd.DataFrame) -> None:
    model = Regression("VRS_VOTE", ("AGE", "SEX", "HISPANIC", "VRS_RESIDENCE", "AGE:SEX"), "logistic", success="1")
    comparison = compare(voters, [voters.head(2000)], categorical=["VRS_VOTE", *FACTORS])
    fit = fits_of(model, comparison)[0]
    theirs = smf.logit(
        "v ~ AGE + C(SEX) + C(HISPANIC) + C(VRS_RESIDENCE) + AGE:C(SEX)", voters.assign(v=(voters.VRS_VOTE == 1) * 1)
    ).fit(disp=0, tol=1e-14)
    assert sorted(fit.coefficients) == pytest.approx(sorted(theirs.params), rel=1e-6)
    assert sorted(fit.standard_errors) == pytest.approx(sorted(theirs.bse), rel=1e-6)


@pytest.mark.realdata
def test_difference_in_differences_of_a_real_file_solves_firths_equations(voters: pd.DataFrame) -> None:
    """Rare races separate the outcomes; the penalised score, worked out densely here, must vanish at the fit."""
    model = difference_in_differences("VRS_VOTE", "SEX", "HISPANIC", ["AGE", "RACE", "VRS_RESIDENCE"], success="1")
    comparison = compare(voters, [voters.head(2000)], categorical=["VRS_VOTE", *FACTORS])
    fit = fits_of(model, comparison)[0]
    design, vote, _ = model_data(model, comparison)(comparison.original)
    kept = np.flatnonzero(fit.estimable)
    matrix = design.block(slice(0, design.rows))[:, kept]
    chance = 1 / (1 + np.exp(-matrix @ fit.coefficients[kept]))
    weight = chance * (1 - chance)
    covariance = np.linalg.inv(matrix.T @ (weight[:, None] * matrix))
    leverage = weight * np.einsum("ij,jk,ik->i", matrix, covariance, matrix)
    score = matrix.T @ (vote - chance + leverage * (0.5 - chance))
    assert score @ covariance @ score < 1e-9  # squared length in standard errors
    assert fit.standard_errors[kept] == pytest.approx(np.sqrt(np.diag(covariance)), rel=1e-6)
    assert any(term.startswith("RACE=") for term in np.array(fit.terms)[kept])
    assert np.abs(fit.coefficients).max() < 10


def test_a_lacking_reference_level_does_not_touch_a_column_whose_name_ends_alike() -> None:
    """No file shares a level of `age`, so its terms have no common reference; those of `wage` do."""
    rng = np.random.default_rng(30)
    n = 200
    original = pd.DataFrame({"age": rng.choice(["a", "b"], n), "wage": rng.choice(["low", "high"], n)})
    original["pay"] = rng.normal(size=n) + (original["wage"] == "high")
    synthetic = original.assign(age=rng.choice(["c", "d"], n))
    _, (fit,) = fits_of(Regression("pay", ("age", "wage")), compare(original, synthetic))
    estimable = dict(zip(fit.terms, fit.estimable.tolist(), strict=True))
    assert [estimable[term] for term in estimable if term.startswith("wage=")] == [True]
    assert not any(estimable[term] for term in estimable if term.startswith("age="))


def test_numbers_whose_squares_overflow_are_refused_by_name() -> None:
    frame = sample(60, 31)
    huge = frame.assign(pay=frame["pay"] * 1e300)
    with pytest.raises(UsageError, match="pay: holds numbers beyond"):
        sign_agreement(Regression("pay", ("age",)))(compare(huge, huge))
    with pytest.raises(UsageError, match="pay: holds numbers beyond"):
        sign_agreement(Regression("age", ("pay",)))(compare(huge, huge))
