"""Specific utility: does a regression tell the same story on the synthetic file?

A model is given in formula-like form, fitted on the original and on every synthetic file, and compared term by term.
Rows with a missing response or a missing numeric predictor are left out of a fit; a missing category is a level of its
own. Each factor's reference level is the first one that occurs in every file, so terms mean the same everywhere.

>>> Regression.from_formula("vote ~ age + prereg*registered", family="logistic", firth=True).predictors
('age', 'prereg', 'registered', 'prereg:registered')
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from tacita.errors import UsageError
from tacita.evaluation.encoding import Comparison, Encoded
from tacita.evaluation.linear_models import Design, Fit, Predictor, aggregate, fit_linear, fit_logistic
from tacita.evaluation.metric import Metric, Outcome
from tacita.inference import Estimate, PartialSynthesis, Rule, combine_estimates

Floats = NDArray[np.float64]
_MOST_TERMS = 2000


@dataclass(frozen=True)
class Regression:
    """A response, predictors ("a", or "a:b" for their product) and a family.

    `success` is the level that counts as 1 in a logistic model; it may be left out where the response has two levels
    (the second counts) or is stored as 0 and 1. `firth` asks for Firth's bias-reduced likelihood, which stays finite
    where a predictor separates the outcomes.
    """

    response: str
    predictors: tuple[str, ...]
    family: Literal["linear", "logistic"] = "linear"
    firth: bool = False
    success: str | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "predictors", tuple(self.predictors))
        if self.family not in ("linear", "logistic"):
            raise UsageError('regression family: must be "linear" or "logistic"')
        if self.firth and self.family != "logistic":
            raise UsageError("regression firth: is a correction of logistic models; drop it or set family")
        names = [frozenset(one.split(":")) for one in self.predictors]
        if len(set(names)) != len(names) or any(not part for one in names for part in one):
            raise UsageError("regression predictors: a term is empty or written twice; keep each once")
        if any(self.response in one for one in names):
            raise UsageError(f"regression: {self.response} is the response and cannot predict itself")

    @classmethod
    def from_formula(cls, formula: str, **options: Any) -> Regression:
        """Read "y ~ a + b + a:b" or "y ~ a*b"; options are the other fields."""
        response, tilde, right = (part.strip() for part in formula.partition("~"))
        if not tilde or not response or not right:
            raise UsageError('regression formula: write it as "response ~ predictor + predictor"')
        terms: list[str] = []
        for written in right.split("+"):
            factors = [part.strip() for part in written.split("*")]
            if len(factors) > 2:
                raise UsageError("regression formula: * joins two predictors; write longer products with :")
            terms += factors
            if len(factors) == 2:
                terms.append(":".join(factors))
        tidy = [":".join(part.strip() for part in term.split(":")) for term in terms]
        return cls(response, tuple(dict.fromkeys(tidy)), **options)

    @property
    def columns(self) -> tuple[str, ...]:
        """Predictor columns, each once."""
        return tuple(dict.fromkeys(name for term in self.predictors for name in term.split(":")))

    def __str__(self) -> str:
        kind = "Firth logistic" if self.firth else self.family
        return f"{self.response} ~ {' + '.join(self.predictors) or '1'} ({kind})"


def difference_in_differences(
    outcome: str, treated: str, period: str, controls: Sequence[str] = (), success: str | None = None
) -> Regression:
    """The logistic difference-in-differences model of bowen2018 section 3.3, with Firth's correction.

    The effect of interest is the coefficient of treated:period; `controls` enter as they are encoded.

    >>> str(difference_in_differences("vote", "prereg", "registered", ["age"]))
    'vote ~ age + prereg + registered + prereg:registered (Firth logistic)'
    """
    predictors = (*controls, treated, period, f"{treated}:{period}")
    return Regression(outcome, predictors, family="logistic", firth=True, success=success)


# ------------------------------------------------------------------ the metrics


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
        overlap = np.where(fit.estimable, overlap, 0.0)
        per_term = {t: float(v) for t, v, ok in zip(fit.terms, overlap, original.estimable, strict=True) if ok}
        return Outcome(float(overlap[original.estimable].mean()), {"terms": per_term})

    return Metric(
        f"confidence-interval overlap: {model}",
        "higher",
        (0.0, 1.0),
        1.0,
        f"average overlap of the {confidence:.0%} intervals of all coefficients; a fresh sample gives about 0.71",
        _per_file(model, of_file),
    )


def sign_agreement(model: Regression) -> Metric:
    """Share of coefficients whose mean over the synthetic files has the original's sign (bowen2018, Table 5)."""

    def score(comparison: Comparison) -> Outcome:
        original, fits = _fits(model, comparison)
        everywhere = np.all([fit.estimable for fit in fits], axis=0)
        mean = np.mean([fit.coefficients for fit in fits], axis=0)
        same = everywhere & (np.sign(mean) == np.sign(original.coefficients))
        per_term = {t: bool(v) for t, v, ok in zip(original.terms, same, original.estimable, strict=True) if ok}
        return Outcome(float(same[original.estimable].mean()), {"terms": per_term})

    return Metric(
        f"sign agreement: {model}",
        "higher",
        (0.0, 1.0),
        1.0,
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
        original, fits = _fits(model, comparison)
        estimate, everywhere = _combined(fits, rule)
        lower, upper = estimate.interval(confidence)
        # A tie within rounding (a model that fits exactly on both files) counts as covered.
        slack = 1e-9 * np.abs(original.coefficients)
        inside = (lower - slack <= original.coefficients) & (original.coefficients <= upper + slack) & everywhere
        per_term = {t: bool(v) for t, v, ok in zip(original.terms, inside, original.estimable, strict=True) if ok}
        return Outcome(float(inside[original.estimable].mean()), {"terms": per_term})

    return Metric(
        f"coefficient coverage: {model}",
        "higher",
        (0.0, 1.0),
        1.0,
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
        original, fits = _fits(model, comparison)
        design, truth, _ = _model_data(model, comparison)(comparison.holdout)
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
        "prediction error on hold-out rows over their standard deviation; compare with the model fitted on the original",
        score,
    )


def regression_metrics(model: Regression, confidence: float = 0.95) -> tuple[Metric, ...]:
    """Every metric of one model that needs no hold-out file."""
    return (
        coefficient_difference(model),
        interval_overlap(model, confidence),
        sign_agreement(model),
        coefficient_coverage(model, confidence),
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


# ------------------------------------------------------------------ fitting


def _per_file(model: Regression, of_file: Callable[[Fit, Fit], Outcome]) -> Callable[[Comparison], Outcome]:
    def score(comparison: Comparison) -> Outcome:
        original, fits = _fits(model, comparison)
        found = [of_file(fit, original) for fit in fits]
        values = tuple(one.value for one in found)
        return Outcome(math.fsum(values) / len(values), {"files": tuple(one.details for one in found)}, values)

    return score


def _fits(model: Regression, comparison: Comparison) -> tuple[Fit, tuple[Fit, ...]]:
    """The model on the original and on each synthetic file, fitted once for all metrics."""

    def fit_all() -> tuple[Fit, tuple[Fit, ...]]:
        data = _model_data(model, comparison)
        original, *rest = (_fit(model, *data(file)) for file in (comparison.original, *comparison.synthetic))
        return original, tuple(rest)

    return comparison.pairs[0].once(("regression", model), fit_all)


def _fit(model: Regression, design: Design, response: Floats, unmatched: NDArray[np.bool_]) -> Fit:
    if model.family == "linear":
        fit = fit_linear(design, response)
    else:
        fit = fit_logistic(*aggregate(design, response), firth=model.firth)
    if not unmatched.any():
        return fit
    return Fit(
        fit.terms, fit.estimable & ~unmatched, fit.coefficients, fit.standard_errors, fit.df, fit.logistic, fit.rows
    )


def _model_data(
    model: Regression, comparison: Comparison
) -> Callable[[Encoded], tuple[Design, Floats, NDArray[np.bool_]]]:
    """A function from a file to its design, its response, and the terms whose reference level the file lacks."""
    files = [comparison.original, *comparison.synthetic]
    files += [comparison.holdout] if comparison.holdout is not None else []
    respond = _response(model, files)
    levels: dict[str, tuple[NDArray[np.intp], tuple[str, ...], int]] = {}
    for name in model.columns:
        column = comparison.original.column(name)
        if column.kind == "categorical":
            counts = np.stack([np.bincount(one.codes[name], minlength=len(column.levels)) for one in files])
            seen = np.flatnonzero(counts.any(axis=0))
            everywhere = np.flatnonzero((counts[:, seen] > 0).all(axis=0))
            lookup = np.zeros(len(column.levels), dtype=np.intp)
            lookup[seen] = np.arange(len(seen))
            reference = int(everywhere[0]) if len(everywhere) else int(np.flatnonzero(counts[0, seen])[0])
            levels[name] = (lookup, tuple(column.levels[code] for code in seen), reference)

    def data(file: Encoded) -> tuple[Design, Floats, NDArray[np.bool_]]:
        answer, known = respond(file)
        for name in model.columns:
            if name not in levels:
                known = known & ~np.isnan(file.numbers[name])
        rows = np.flatnonzero(known)
        if not len(rows):
            raise UsageError(f"{model}: no row has a response and all numeric predictors; drop the all-missing column")
        made: dict[str, Predictor] = {}
        lacking = set()
        for name in model.columns:
            if name in levels:
                lookup, labels, reference = levels[name]
                codes = lookup[file.codes[name][rows]].astype(np.int32)
                made[name] = Predictor(name, codes, labels, reference)
                if not (codes == reference).any():
                    lacking.add(name)
            else:
                made[name] = Predictor(name, file.numbers[name][rows])
        products = tuple(tuple(made[name] for name in term.split(":")) for term in model.predictors)
        width = 1 + sum(math.prod(len(one.terms) for one in product) for product in products)
        if width > _MOST_TERMS:
            raise UsageError(f"{model}: {width} terms are too many to compare; drop or group the predictor with most levels")
        design = Design(len(rows), products)
        unmatched = np.zeros(width, dtype=bool)
        if lacking:
            shares = [any(f"{name}=" in part for name in lacking for part in term.split(":")) for term in design.terms]
            unmatched = np.array(shares)
            unmatched[0] = True
        return design, answer[rows], unmatched

    return data


def _response(
    model: Regression, files: Sequence[Encoded]
) -> Callable[[Encoded], tuple[Floats, NDArray[np.bool_]]]:
    """A function from a file to the response and where it is known."""
    column = files[0].column(model.response)
    if column.kind == "numeric":
        if model.family == "logistic":
            for file in files:
                values = file.numbers[model.response]
                if not np.isin(values[~np.isnan(values)], (0.0, 1.0)).all():
                    raise UsageError(f"{model.response}: a logistic response must be 0 and 1, or a category with success=…")
        return lambda file: (file.numbers[model.response], ~file.missing(model.response))
    if model.family == "linear":
        raise UsageError(f'{model.response}: is a category; a linear model needs a number (or use family="logistic")')
    if model.success is not None:
        if model.success not in column.levels:
            raise UsageError(f"{model.response}: success names a level that is not in the files; correct it")
        success = column.levels.index(model.success)
    else:
        seen = np.unique(np.concatenate([np.unique(file.codes[model.response]) for file in files]))
        seen = seen[seen != (-1 if column.missing is None else column.missing)]
        if len(seen) != 2:
            raise UsageError(f"{model.response}: has {len(seen)} levels; name the one that counts as 1 with success=…")
        success = int(seen[1])
    return lambda file: (
        (file.codes[model.response] == success).astype(np.float64),
        ~file.missing(model.response),
    )


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
