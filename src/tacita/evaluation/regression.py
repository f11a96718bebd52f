"""Specific utility: does a regression tell the same story on the synthetic file?

A model is fitted on the original and on every synthetic file, and compared term by term.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacita.errors import UsageError
from tacita.evaluation.encoding import Comparison
from tacita.evaluation.linear_models import Fit
from tacita.evaluation.metric import Metric, Outcome, mean_of
from tacita.evaluation.regression_model import Regression, difference_in_differences, fits_of, model_data
from tacita.inference import Estimate, PartialSynthesis, Rule, combine_estimates

__all__ = [
    "Regression",
    "coefficient_coverage",
    "coefficient_difference",
    "difference_in_differences",
    "holdout_nrmse",
    "interval_overlap",
    "overlaps",
    "regression_metrics",
    "sign_agreement",
]

Floats = NDArray[np.float64]


def coefficient_difference(model: Regression) -> Metric:
    """Mean over terms of |original - synthetic| / standard error of the original (tran2023 section 4.3).

    Terms that cannot be estimated on the synthetic file are named in the details and not part of the mean.
    """

    def of_file(fit: Fit, original: Fit) -> Outcome:
        both = original.estimable & fit.estimable
        if not both.any():
            raise UsageError(f"{model}: no term can be estimated on both files; drop predictors with rare levels")
        scaled = _standardised(model, original, fit)
        per_term = {term: float(v) for term, v, ok in zip(fit.terms, scaled, both, strict=True) if ok}
        lost = tuple(t for t, o, s in zip(fit.terms, original.estimable, fit.estimable, strict=True) if o and not s)
        return Outcome(float(scaled[both].mean()), {"terms": per_term, "not estimable": lost})

    return Metric(
        f"standardised coefficient difference: {model}",
        "lower",
        (0.0, math.inf),
        0.0,
        "mean distance of the coefficients in standard errors of the original; a fresh sample gives about 1.13",
        _per_file(model, of_file),
    )


def interval_overlap(model: Regression, confidence: float = 0.95) -> Metric:
    """Mean over terms of the confidence-interval overlap of Karr et al. (2006).

    The overlap of a term is the average of the share of the original's interval and the share of the synthetic
    interval that lie in both; intervals that do not meet, and terms the synthetic file cannot estimate, count 0.
    """
    _check_confidence(confidence)

    def of_file(fit: Fit, original: Fit) -> Outcome:
        overlap = overlaps(original.interval(confidence), fit.interval(confidence))
        return _over_terms(original, np.where(fit.estimable, overlap, 0.0))

    return _share(
        f"confidence-interval overlap: {model}",
        f"average overlap of the {confidence:.0%} intervals of all coefficients; a fresh sample gives about 0.71",
        _per_file(model, of_file),
    )


def sign_agreement(model: Regression) -> Metric:
    """Share of coefficients whose mean over the synthetic files has the original's sign (bowen2018, Table 5)."""

    def score(comparison: Comparison) -> Outcome:
        original, fits = fits_of(model, comparison)
        everywhere = np.all([fit.estimable for fit in fits], axis=0)
        mean = np.mean([fit.coefficients for fit in fits], axis=0)
        same = everywhere & (np.sign(mean) == np.sign(original.coefficients))
        return _over_terms(original, same)

    return _share(
        f"sign agreement: {model}",
        "share of coefficients with the same sign as on the original; a term that cannot be estimated disagrees",
        score,
    )


def coefficient_coverage(model: Regression, confidence: float = 0.95, rule: Rule | None = None) -> Metric:
    """Share of original coefficients inside the synthetic files' interval (bowen2018, Table 6).

    Over m files the interval is that of a combining rule; without one, of partial synthesis (Ū + B/m), which bowen2018
    uses too, and with a single file that file's own interval.
    """
    _check_confidence(confidence)

    def score(comparison: Comparison) -> Outcome:
        original, fits = fits_of(model, comparison)
        estimate, everywhere = _combined(fits, rule)
        lower, upper = estimate.interval(confidence)
        # A tie within rounding (a model that fits exactly on both files) counts as covered.
        slack = 1e-9 * np.abs(original.coefficients)
        inside = (lower - slack <= original.coefficients) & (original.coefficients <= upper + slack) & everywhere
        return _over_terms(original, inside)

    return _share(
        f"coefficient coverage: {model}",
        f"share of the original's coefficients that lie in the {confidence:.0%} interval of the synthetic files",
        score,
    )


def holdout_nrmse(model: Regression) -> Metric:
    """Root mean squared error on hold-out rows of the model fitted on synthetic rows, over the hold-out's own sd.

    The details hold the same for the model fitted on the original: the best that synthesis can hope for. For a
    logistic model the error is that of the fitted probabilities.
    """

    def score(comparison: Comparison) -> Outcome:
        if comparison.holdout is None:
            raise UsageError(f"{model}: NRMSE needs rows kept out of the synthesis; give compare(…, holdout=frame)")
        original, fits = fits_of(model, comparison)
        design, truth, _ = model_data(model, comparison)(comparison.holdout)
        spread = float(np.std(truth, ddof=1)) if len(truth) > 1 else 0.0
        if spread <= 0:
            raise UsageError(f"{model.response}: is constant in the hold-out file; NRMSE needs a response that varies")
        errors = [float(np.sqrt(np.mean((truth - fit.predict(design)) ** 2))) / spread for fit in (original, *fits)]
        values = tuple(errors[1:])
        return Outcome(math.fsum(values) / len(values), {"fitted on the original": errors[0]}, values)

    return Metric(
        f"hold-out NRMSE: {model}",
        "lower",
        (0.0, math.inf),
        None,
        "prediction error on hold-out rows over their own spread; compare with the model fitted on the original",
        score,
    )


def regression_metrics(model: Regression, confidence: float = 0.95, rule: Rule | None = None) -> tuple[Metric, ...]:
    """Every metric of one model that needs no hold-out file."""
    return (
        coefficient_difference(model),
        interval_overlap(model, confidence),
        sign_agreement(model),
        coefficient_coverage(model, confidence, rule),
    )


def overlaps(first: tuple[Floats, Floats], second: tuple[Floats, Floats]) -> Floats:
    """Karr's overlap of two sets of intervals, 0 where they do not meet.

    >>> overlaps((np.array([0.0]), np.array([2.0])), (np.array([1.0]), np.array([5.0]))).tolist()
    [0.375]
    """
    common = np.minimum(first[1], second[1]) - np.maximum(first[0], second[0])
    shares = []
    for low, high in (first, second):
        width = high - low
        point = width <= 0  # an interval of one point is either wholly inside the other or not
        shares.append(np.where(point, common >= 0, np.maximum(common, 0.0) / np.where(point, 1.0, width)))
    answer: Floats = (shares[0] + shares[1]) / 2
    return answer


def _share(name: str, meaning: str, score: Callable[[Comparison], Outcome]) -> Metric:
    return Metric(name, "higher", (0.0, 1.0), 1.0, meaning, score)


def _over_terms(original: Fit, values: NDArray[Any]) -> Outcome:
    """The mean over the terms that the original estimates, and the value of each."""
    kept = np.flatnonzero(original.estimable)
    if not len(kept):
        raise UsageError("regression: no term can be estimated on the original; drop predictors with rare levels")
    terms = {original.terms[at]: value for at, value in zip(kept, values[kept].tolist(), strict=True)}
    return Outcome(float(values[kept].mean()), {"terms": terms})


def _per_file(model: Regression, of_file: Callable[[Fit, Fit], Outcome]) -> Callable[[Comparison], Outcome]:
    def score(comparison: Comparison) -> Outcome:
        original, fits = fits_of(model, comparison)
        return mean_of([of_file(fit, original) for fit in fits])

    return score


def _standardised(model: Regression, original: Fit, fit: Fit) -> Floats:
    gap = np.abs(original.coefficients - fit.coefficients)
    size = np.maximum(np.abs(original.coefficients), np.abs(fit.coefficients))
    gap = np.where(gap <= 1e-9 * size, 0.0, gap)
    exact = original.standard_errors <= 1e-12 * size  # the model fits the original without error
    if bool((exact & (gap > 0) & original.estimable & fit.estimable).any()):
        raise UsageError(f"{model}: fits the original without error, so a difference in standard errors is not defined")
    scaled: Floats = np.where(exact, 0.0, gap / np.where(exact, 1.0, original.standard_errors))
    return scaled


def _combined(fits: Sequence[Fit], rule: Rule | None) -> tuple[Estimate, NDArray[np.bool_]]:
    """The coefficients over all files, and which terms every file estimates."""
    everywhere = np.all([fit.estimable for fit in fits], axis=0)
    estimates = [Estimate(fit.coefficients, fit.standard_errors**2, fit.df, fit.terms) for fit in fits]
    if len(fits) == 1 and rule is None:
        return estimates[0], everywhere
    return combine_estimates(estimates, rule or PartialSynthesis()), everywhere


def _check_confidence(confidence: float) -> None:
    if not 0 < confidence < 1:
        raise UsageError(f"confidence: must lie between 0 and 1, not {confidence:g}")
