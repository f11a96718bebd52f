"""A regression in formula-like form, and its fit on every file of a comparison.

Rows with a missing response or a missing numeric predictor are left out of a fit; a missing category is a level of its
own. Each factor's reference level is the first one that occurs in every file, so terms mean the same everywhere.

>>> Regression.from_formula("vote ~ age + prereg*registered", family="logistic", firth=True).predictors
('age', 'prereg', 'registered', 'prereg:registered')
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from tacita.errors import UsageError
from tacita.evaluation.encoding import Comparison, Encoded
from tacita.evaluation.linear_models import Design, Fit, Predictor, aggregate, fit_linear, fit_logistic

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


def fits_of(model: Regression, comparison: Comparison) -> tuple[Fit, tuple[Fit, ...]]:
    """The model on the original and on each synthetic file, fitted once for all metrics."""

    def fit_all() -> tuple[Fit, tuple[Fit, ...]]:
        data = model_data(model, comparison)
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
    return replace(fit, estimable=fit.estimable & ~unmatched)


def model_data(
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
                made[name] = Predictor(name, file.squarable(name)[rows])
        products = tuple(tuple(made[name] for name in term.split(":")) for term in model.predictors)
        width = 1 + sum(math.prod(len(one.terms) for one in product) for product in products)
        if width > _MOST_TERMS:
            raise UsageError(
                f"{model}: has more than {_MOST_TERMS} terms; drop or group the predictor with most levels"
            )
        design = Design(len(rows), products)
        unmatched = np.zeros(width, dtype=bool)
        if lacking:
            shares = [
                any(part.startswith(f"{name}=") for name in lacking for part in term.split(":"))
                for term in design.terms
            ]
            unmatched = np.array(shares)
            unmatched[0] = True
        return design, answer[rows], unmatched

    return data


def _response(model: Regression, files: Sequence[Encoded]) -> Callable[[Encoded], tuple[Floats, NDArray[np.bool_]]]:
    """A function from a file to the response and where it is known."""
    column = files[0].column(model.response)
    if column.kind == "numeric":
        if model.family == "logistic":
            for file in files:
                values = file.numbers[model.response]
                if not np.isin(values[~np.isnan(values)], (0.0, 1.0)).all():
                    raise UsageError(f"{model.response}: a logistic response is 0 and 1, or a category with success=…")
        return lambda file: (file.squarable(model.response), ~file.missing(model.response))
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
            raise UsageError(
                f"{model.response}: does not have two levels; name the one that counts as 1 with success=…"
            )
        success = int(seen[1])
    return lambda file: (
        (file.codes[model.response] == success).astype(np.float64),
        ~file.missing(model.response),
    )
