"""Combining rules against numbers worked out by hand, other implementations, and what must be refused."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from tacita import Implicates, Schema, combine
from tacita.errors import UsageError
from tacita.inference import (
    Estimate,
    FixedMeasurement,
    FullSynthesis,
    LargeSample,
    OneMeasurement,
    PartialSynthesis,
    Rule,
    combine_chi_square,
    combine_estimates,
    combine_p_values,
    likelihood_ratio_test,
    survey,
    wald_test,
)
from tacita.inference.significance import wald_test_of

SCHEMA = Schema.from_dict(
    {
        "dataset": {"identity": "demo", "unit": "person"},
        "variables": {
            "age": {"type": "integer", "role": "public", "lower": 0, "upper": 120},
            "pay": {"type": "numeric", "role": "confidential", "lower": -1000, "upper": 1000},
        },
    }
)


def files(kind: Any = "partial", m: int = 4, n: int = 60) -> Implicates:
    rng = np.random.default_rng(2)
    age = rng.integers(20, 60, n)
    frames = tuple(pd.DataFrame({"age": age, "pay": 10 + 0.5 * age + rng.normal(0, 3, n)}) for _ in range(m))
    return Implicates(frames, SCHEMA, ("pay",), kind)


def answers(values: list[float], variances: list[float]) -> list[Estimate]:
    return [Estimate(value, variance) for value, variance in zip(values, variances, strict=True)]


def mean_pay(frame: pd.DataFrame) -> tuple[float, float]:
    return float(frame["pay"].mean()), float(frame["pay"].var() / len(frame))


# By hand: q = 9, 12, 15 has the mean 12 and B = 9; u = 3, 4, 5 has the mean 4; m = 3.
Q, U = [9.0, 12.0, 15.0], [3.0, 4.0, 5.0]
BY_HAND = [
    (PartialSynthesis(), 4 + 9 / 3, 2 * (1 + 4 / 3) ** 2),
    (FullSynthesis(), 4 / 3 * 9 - 4, max(2 * (1 - 4 / 12) ** 2, 1)),
    (OneMeasurement(), 4 + 4 / 3 * 9, 2 * (1 + 4 / 12) ** 2),
    (FixedMeasurement(5.0), 4 + 5 + 9 / 3, 2 * (1 + 9 / 3) ** 2),
    (LargeSample(size_ratio=0.5), 4 * (0.5 + 1 / 3), np.inf),
    (LargeSample(size_ratio=0.5, drawn_parameters=True), 4 * (0.5 + 1.5 / 3), np.inf),
]


@pytest.mark.parametrize(
    ("rule", "variance", "df"), BY_HAND, ids=lambda one: str(one) if isinstance(one, tuple) else ""
)
def test_every_rule_by_hand(rule: Rule, variance: float, df: float) -> None:
    found = combine_estimates(answers(Q, U), rule)
    assert found.value == pytest.approx(12)
    assert found.variance == pytest.approx(variance)
    assert found.df == pytest.approx(df)
    lower, upper = found.interval(0.9)
    assert upper - 12 == pytest.approx(stats.t.ppf(0.95, df) * variance**0.5)
    assert 12 - lower == pytest.approx(upper - 12)


@pytest.mark.parametrize(
    ("case", "rule", "analysis_df"),
    [
        ("rubin1987, 30 degrees of freedom", OneMeasurement(), 30.0),
        ("rubin1987", OneMeasurement(), np.inf),
        ("reiter2003", PartialSynthesis(), np.inf),
    ],
)
def test_rules_are_those_of_an_independent_implementation(case: str, rule: Rule, analysis_df: float) -> None:
    """R's mice::pool.scalar on five printed means and standard errors; the stored file names source and command."""
    stored = json.loads((Path(__file__).parents[2] / "data" / "combining_reference.json").read_text(encoding="utf-8"))
    pairs = zip(stored["inputs"]["estimate"], stored["inputs"]["standard_error"], strict=True)
    found = combine_estimates([Estimate(q, s**2, analysis_df) for q, s in pairs], rule)
    assert [found.value, found.variance, found.df] == pytest.approx(stored["cases"][case], rel=1e-12)


def test_a_published_worked_example_of_the_components() -> None:
    """IBM SPSS Amos 21 User's Guide (Arbuckle 2012), example 31, page 472: a regression weight over ten imputed files.

    Printed: mean 1.172, within 0.0233, between 0.0085, total 0.0326, standard error 0.1807, t 6.49, 109 degrees of
    freedom. Ten estimates with exactly that mean and variance stand for the files, which the page does not list. The
    guide's own figures are rounded, so the last printed digit may be off by one.
    """
    spread = np.linspace(-1, 1, 10)
    values = 1.172 + spread * np.sqrt(0.0085 / spread.var(ddof=1))
    found = combine_estimates(answers(values.tolist(), [0.0233] * 10), OneMeasurement())
    assert found.value == pytest.approx(1.172, abs=1e-12)
    assert found.variance == pytest.approx(0.0326, abs=1e-4)
    assert found.standard_error == pytest.approx(0.1807, abs=1e-4)
    assert found.value / found.standard_error == pytest.approx(6.49, abs=0.01)
    assert found.df == pytest.approx(109, abs=1)
    # The same components under the other rules, which weigh the variance between files differently.
    assert combine_estimates(answers(values.tolist(), [0.0233] * 10), PartialSynthesis()).variance == pytest.approx(
        0.0233 + 0.0085 / 10
    )


def test_a_published_example_of_combined_chi_squares() -> None:
    """The example of micombine.chisquare in the manual of the R package miceadds: F(4, 482.06) = 4.438, p = 0.00157."""
    found = combine_chi_square([24.957, 18.051, 18.812, 17.362, 21.234, 18.615, 19.84], df=4)
    assert round(found.statistic, 3) == 4.438
    assert round(found.df_denominator, 2) == 482.06
    assert round(found.p_value, 5) == 0.00157


def test_p_values_are_the_chi_squares_they_come_from() -> None:
    statistics = [7.1, 9.3, 8.2]
    p_values = stats.chi2.sf(statistics, 3).tolist()
    assert combine_p_values(p_values, 3).p_value == pytest.approx(combine_chi_square(statistics, 3).p_value)


@pytest.mark.parametrize(("kind", "rule"), [("partial", PartialSynthesis()), ("full", FullSynthesis())])
def test_the_kind_of_the_files_chooses_the_rule(kind: Any, rule: Rule) -> None:
    chosen, named = combine(files(kind), mean_pay), combine(files(kind), mean_pay, rule)
    assert (chosen.value, chosen.variance, chosen.df) == (named.value, named.variance, named.df)
    assert combine(files("one-measurement"), mean_pay).variance > combine(files("partial"), mean_pay).variance


def test_a_negative_variance_is_replaced_number_by_number() -> None:
    few = [Estimate([0.0, -3.0], np.eye(2)), Estimate([0.1, 0.0], np.eye(2)), Estimate([0.2, 3.0], np.eye(2))]
    found = combine_estimates(few, FullSynthesis(size_ratio=2.0))
    assert found.variances == pytest.approx([2.0, 4 / 3 * 9 - 1])
    assert found.df[0] == np.inf
    assert found.covariance[0, 1] == 0


def test_a_vector_is_combined_as_its_numbers_are() -> None:
    def both(frame: pd.DataFrame) -> Estimate:
        values = frame[["pay", "age"]]
        return Estimate(values.mean(), np.asarray(values.cov()) / len(values))

    together, alone = combine(files(), both), combine(files(), mean_pay)
    assert together.names == ("pay", "age")
    assert together.value[0] == pytest.approx(alone.value)
    assert together.variances[0] == pytest.approx(alone.variance)
    assert together.df[0] == pytest.approx(alone.df)
    assert list(together.table().index) == ["pay", "age"]


def test_a_fitted_model_is_an_analysis() -> None:
    models = pytest.importorskip("statsmodels.api")
    three = files(m=3)
    found = combine(three, lambda frame: models.OLS(frame["pay"], models.add_constant(frame[["age"]])).fit())
    slopes = [models.OLS(frame["pay"], models.add_constant(frame[["age"]])).fit() for frame in three]
    by_hand = combine_estimates(
        [Estimate(fit.params["age"], fit.bse["age"] ** 2, 58) for fit in slopes], PartialSynthesis()
    )
    assert found.names == ("const", "age")
    assert found.value[1] == pytest.approx(by_hand.value)
    assert found.variances[1] == pytest.approx(by_hand.variance)
    assert found.df[1] == pytest.approx(by_hand.df)


def test_survey_estimates_keep_their_few_degrees_of_freedom() -> None:
    frames = tuple(frame.assign(age=np.arange(len(frame)) // 12) for frame in files())
    clustered = Implicates(frames, SCHEMA, ("pay",), "partial")
    design = survey.Design(weights="age", psu="age")  # five clusters; the first weighs nothing
    found = combine(clustered, lambda frame: survey.mean(frame, "pay", design))
    assert found.df[0] <= 4
    assert found.names == ("all",)


def test_files_that_agree_leave_the_variance_within() -> None:
    found = combine_estimates(answers([5.0, 5.0], [2.0, 2.0]), PartialSynthesis())
    assert (found.variance, found.df) == (2.0, np.inf)


def test_p_values() -> None:
    assert Estimate(0.0, 0.0).p_value() == 1
    assert Estimate(1.0, 0.0).p_value() == 0
    assert Estimate(1.96, 1.0).p_value() == pytest.approx(0.05, abs=1e-4)
    assert Estimate([3.0, 1.0], [1.0, 1.0], df=4).p_value(1.0)[1] == 1


# ------------------------------------------------------------ joint tests


def test_a_joint_test_of_one_number_is_its_t_test() -> None:
    """With k = 1 and t = m − 1 > 4 the F test has the t interval's statistic; its denominator differs a little."""
    several = answers([1.0, 2.0, 3.0, 2.5, 1.5, 2.2], [1.0] * 6)
    for rule in (PartialSynthesis(), OneMeasurement()):
        joint, alone = wald_test_of(several, rule), combine_estimates(several, rule)
        assert joint.statistic == pytest.approx(alone.value**2 / alone.variance)


def test_the_likelihood_ratio_form_is_the_wald_form_for_normal_means() -> None:
    """With variance 1 known, twice the log-likelihood ratio is n·mean², at any parameters."""
    four = files()

    def log_likelihood(frame: pd.DataFrame, mean: Any) -> float:
        return float(-0.5 * ((frame["pay"] - mean[0]) ** 2).sum())

    ratio = likelihood_ratio_test(four, lambda frame: ([frame["pay"].mean()], [29.0]), log_likelihood, 1)
    wald = wald_test(four, lambda frame: (frame["pay"].mean(), 1 / len(frame)), null=29.0)
    assert ratio.statistic == pytest.approx(wald.statistic)
    assert ratio.df_denominator == pytest.approx(wald.df_denominator)
    assert ratio.p_value == pytest.approx(wald.p_value)


def test_full_synthesis_steps_in_where_the_joint_variance_is_negative() -> None:
    alike = [Estimate([1.0, 1.0 + step], np.eye(2)) for step in (0.0, 0.1, 0.2)]
    found = wald_test_of(alike, FullSynthesis(size_ratio=2.0))
    assert found.df_denominator == np.inf
    assert found.statistic == pytest.approx((1 + 1.1**2) / (2 * 2.0))


# ------------------------------------------------------------ what is refused


@pytest.mark.parametrize(
    "rule", [PartialSynthesis(), FullSynthesis(), OneMeasurement(), FixedMeasurement(1.0)], ids=str
)
def test_one_file_is_not_enough_and_the_error_says_what_to_do(rule: Rule) -> None:
    with pytest.raises(UsageError, match="needs at least 2 synthetic files, and there is 1; ask for more files"):
        combine(files(m=1), mean_pay, rule)
    with pytest.raises(UsageError, match="needs at least 2"):
        wald_test(files(m=1), mean_pay, rule=rule)


def test_one_file_is_enough_for_a_large_sample() -> None:
    one = files(m=1)
    found = combine(one, mean_pay, LargeSample())
    assert found.variance == pytest.approx(2 * mean_pay(next(iter(one)))[1])


@pytest.mark.parametrize(
    ("analysis", "said"),
    [
        (lambda frame: 3.0, "must return .estimate, variance."),
        (lambda frame: (np.nan, 1.0), "missing or infinite"),
        (lambda frame: (1.0, -1.0), "negative variance"),
        (lambda frame: ([1.0, 2.0], 1.0), "shape"),
        (
            lambda frame: (np.zeros(1 + int(frame["pay"].iloc[0] > 30)), np.ones(1 + int(frame["pay"].iloc[0] > 30))),
            "shapes",
        ),
    ],
)
def test_an_analysis_without_a_usable_answer_is_refused(analysis: Any, said: str) -> None:
    frames = (pd.DataFrame({"pay": [10.0], "age": [1]}), pd.DataFrame({"pay": [40.0], "age": [1]}))
    with pytest.raises(UsageError, match=said):
        combine(Implicates(frames, SCHEMA, ("pay",), "partial"), analysis)


def test_a_joint_test_needs_a_covariance_matrix_that_can_be_inverted() -> None:
    with pytest.raises(UsageError, match="needs the covariance matrix"):
        wald_test_of([Estimate([1.0, 2.0], [1.0, 1.0])] * 2, PartialSynthesis())
    with pytest.raises(UsageError, match="singular"):
        wald_test_of([Estimate([1.0, 2.0], np.ones((2, 2)))] * 2, PartialSynthesis())


@pytest.mark.parametrize("confidence", [0.0, 1.0, 95.0])
def test_a_confidence_is_a_share(confidence: float) -> None:
    with pytest.raises(UsageError, match="confidence"):
        Estimate(1.0, 1.0).interval(confidence)


@pytest.mark.parametrize("ratio", [0.0, -1.0, np.inf, np.nan])
def test_a_size_ratio_is_positive(ratio: float) -> None:
    for rule in (FullSynthesis, LargeSample):
        with pytest.raises(UsageError, match="size_ratio"):
            rule(size_ratio=ratio)


def test_chi_squares_that_are_none_are_refused() -> None:
    for statistics in ([-1.0, 2.0], [np.nan, 2.0], [3.0]):
        with pytest.raises(UsageError):
            combine_chi_square(statistics, 2)
    with pytest.raises(UsageError, match="p_values"):
        combine_p_values([0.0, 0.5], 2)
    with pytest.raises(UsageError, match="rule"):
        combine_chi_square([1.0, 2.0], 2, FullSynthesis())


def test_files_that_leave_no_variance_by_themselves_still_give_an_interval() -> None:
    """A number that is the same for every row of a file: only the files differ, on m − 1 degrees of freedom."""
    found = combine_estimates([Estimate(value, 0.0, df=30) for value in (1.0, 2.0, 4.0)], OneMeasurement())
    assert found.df == 2
    assert np.isfinite(found.interval()).all()


@pytest.mark.parametrize("wrong", [-1.0, np.nan, [1.0, -1.0], [[1.0, 0.0], [0.0, -2.0]]])
def test_a_noise_variance_below_zero_is_refused(wrong: Any) -> None:
    with pytest.raises(UsageError, match="noise_variance"):
        FixedMeasurement(wrong)
