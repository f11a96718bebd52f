"""Linear and logistic regression on blocks of rows: the arithmetic under the regression metrics.

The design matrix is never held whole. Each block of rows is turned into numbers, reduced with a QR step and
dropped, so memory follows the number of terms, not of rows. A column that is a combination of earlier ones (a level
nobody has) is left out and named, as R does, instead of making the fit fail.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy import stats
from scipy.linalg import LinAlgError, cholesky, solve_triangular
from scipy.special import expit

from tacita.errors import UsageError

Floats = NDArray[np.float64]
Codes = NDArray[np.int32]

_BLOCK_ELEMENTS = 4_000_000  # 32 MB of design matrix at a time
_DEPENDENT = 1e-9  # a column whose part not explained by earlier ones is below this share of it is left out
_MOST_PATTERNS = 2**62  # keys of row patterns stay within 64-bit integers


@dataclass(frozen=True)
class Predictor:
    """One column of a file as a model sees it: numbers, or level codes with their labels.

    `reference` is the level without a dummy variable; `levels` is None for a numeric column.
    """

    name: str
    values: NDArray[np.float64] | Codes
    levels: tuple[str, ...] | None = None
    reference: int = 0

    @cached_property
    def terms(self) -> tuple[str, ...]:
        if self.levels is None:
            return (self.name,)
        return tuple(f"{self.name}={level}" for code, level in enumerate(self.levels) if code != self.reference)

    def block(self, rows: slice) -> Floats:
        values = self.values[rows]
        if self.levels is None:
            return np.asarray(values, dtype=np.float64)[:, None]
        codes = np.asarray(values, dtype=np.intp)
        columns = codes - (codes > self.reference)
        wanted = np.flatnonzero(codes != self.reference)
        dummies = np.zeros((len(codes), len(self.levels) - 1))
        dummies[wanted, columns[wanted]] = 1.0
        return dummies


@dataclass(frozen=True)
class Design:
    """Intercept, predictors and products of predictors, in the order they are written.

    >>> sex = Predictor("sex", np.array([0, 1, 1], dtype=np.int32), ("F", "M"))
    >>> age = Predictor("age", np.array([30.0, 40.0, 50.0]))
    >>> design = Design(3, ((sex,), (age,), (sex, age)))
    >>> design.terms
    ('(intercept)', 'sex=M', 'age', 'sex=M:age')
    >>> design.block(slice(1, 2)).tolist()
    [[1.0, 1.0, 40.0, 40.0]]
    """

    rows: int
    products: tuple[tuple[Predictor, ...], ...]

    @cached_property
    def terms(self) -> tuple[str, ...]:
        names = ["(intercept)"]
        for product in self.products:
            labels = list(product[0].terms)
            for factor in product[1:]:
                labels = [f"{left}:{right}" for left in labels for right in factor.terms]
            names += labels
        return tuple(names)

    def block(self, rows: slice) -> Floats:
        height = len(range(*rows.indices(self.rows)))
        parts = [np.ones((height, 1))]
        for product in self.products:
            part = product[0].block(rows)
            for factor in product[1:]:
                part = (part[:, :, None] * factor.block(rows)[:, None, :]).reshape(height, -1)
            parts.append(part)
        return np.hstack(parts)

    def blocks(self) -> Iterator[tuple[slice, Floats]]:
        step = max(256, _BLOCK_ELEMENTS // max(1, len(self.terms)))
        for start in range(0, self.rows, step):
            rows = slice(start, min(start + step, self.rows))
            yield rows, self.block(rows)

    @cached_property
    def columns(self) -> tuple[Predictor, ...]:
        """Every predictor once, however many products it is in."""
        return tuple({factor.name: factor for product in self.products for factor in product}.values())

    def take(self, index: NDArray[np.intp]) -> Design:
        """The design of some of the rows."""
        kept = {c.name: Predictor(c.name, c.values[index], c.levels, c.reference) for c in self.columns}
        return Design(len(index), tuple(tuple(kept[factor.name] for factor in product) for product in self.products))


@dataclass(frozen=True)
class Fit:
    """Coefficients with their covariance; a term that could not be estimated has estimable = False and value 0.

    `df` is the residual degrees of freedom of a linear model and infinite for a logistic one.
    """

    terms: tuple[str, ...]
    estimable: NDArray[np.bool_]
    coefficients: Floats
    standard_errors: Floats
    df: float
    logistic: bool
    rows: int

    def interval(self, confidence: float) -> tuple[Floats, Floats]:
        """Wald intervals: Student's t for a linear model, normal for a logistic one."""
        half = float(stats.t.ppf(0.5 + confidence / 2, self.df)) * self.standard_errors
        return self.coefficients - half, self.coefficients + half

    def predict(self, design: Design) -> Floats:
        """Fitted means (probabilities for a logistic model) of the rows of a design with the same terms."""
        means = np.empty(design.rows)
        for rows, block in design.blocks():
            means[rows] = block @ self.coefficients
        return expit(means) if self.logistic else means


def fit_linear(design: Design, response: Floats) -> Fit:
    """Least squares with the usual covariance: residual variance times the inverse of X'X.

    >>> line = Design(4, ((Predictor("x", np.array([0.0, 1.0, 2.0, 3.0])),),))
    >>> fit = fit_linear(line, np.array([1.0, 3.0, 5.0, 7.2]))
    >>> [round(float(b), 10) for b in fit.coefficients]
    [0.96, 2.06]
    """
    width = len(design.terms)
    triangle = np.zeros((0, width + 1))
    for rows, block in design.blocks():
        triangle = _reduced(triangle, np.column_stack([block, response[rows]]))
    kept = _independent(triangle[:, :width])
    basis, upper = np.linalg.qr(triangle[:, :width][:, kept])
    projected = basis.T @ triangle[:, width]
    solution = solve_triangular(upper, projected)
    residual = triangle[:, width] - basis @ projected
    df = design.rows - len(kept)
    if df < 1:
        raise UsageError("regression: there are not more complete rows than terms; drop predictors or use more rows")
    variance = float(residual @ residual) / df
    return _fit(design, kept, solution, upper, np.sqrt(variance), float(df), logistic=False)


def fit_logistic(design: Design, successes: Floats, trials: Floats, *, firth: bool = False) -> Fit:
    """Maximum likelihood by Newton steps; with `firth`, Firth's penalised likelihood (Jeffreys prior).

    Firth (1993) adds half the log determinant of the information to the likelihood, so every coefficient is finite
    even where a predictor separates the outcomes. Standard errors come from the inverse of the information at the
    solution (Wald), as combining over implicates needs.
    """
    if design.rows == 0:
        raise UsageError("regression: no complete rows to fit; check the response and predictors for missing values")
    even = _information(design, trials / 4)
    kept = _independent(even)
    # Coordinates in which the information at probability one half is the identity: raw units cost no digits, and
    # the information anywhere else is read as a share of the most there can be.
    even = _reduced(np.zeros((0, len(kept))), even[:, kept])
    state = _Logistic(design, successes, trials, kept, solve_triangular(even, np.eye(len(kept))), firth)
    gamma, eta = np.zeros(len(kept)), np.zeros(design.rows)
    value, upper, slope, score = state.evaluate(eta)
    last, decrement = np.inf, np.inf
    for iteration in range(200 if firth else 60):
        half_step = solve_triangular(slope, score, trans="T")
        decrement = float(half_step @ half_step)  # squared length of the step in standard errors
        exact = decrement < 1e-20 or (decrement < 1e-14 and decrement > last / 4)
        if exact or (
            iteration > 30 and decrement < 1e-10
        ):  # slow near separation: a hundred-thousandth of an error is enough
            break
        if not firth and _separated(upper):
            break
        last = decrement
        step = solve_triangular(slope, half_step)
        change = state.predictor(step)
        # Nobody's log odds move by more than 5 at once: near separation a full step would land in nowhere.
        share = min(1.0, 5 / float(np.abs(change).max()))
        for _ in range(30):
            candidate = state.evaluate(eta + share * change)
            if candidate[0] >= value - 1e-12 * max(1.0, abs(value)):
                break
            share /= 2
        gamma, eta = gamma + share * step, eta + share * change
        value, upper, slope, score = candidate
    if (not firth and _separated(upper)) or decrement > 1e-8:
        raise UsageError(
            "regression: the logistic fit does not converge, predictors separate the outcomes; "
            + ("drop some of them" if firth else "use firth=True or drop some of them")
        )
    return _fit(design, kept, solve_triangular(even, gamma), upper @ even, 1.0, np.inf, logistic=True)


class _Logistic:
    """The (penalised) likelihood, information and score at any log odds, in whitened coordinates."""

    def __init__(
        self,
        design: Design,
        successes: Floats,
        trials: Floats,
        kept: NDArray[np.intp],
        whiten: Floats,
        firth: bool,
    ) -> None:
        self.design, self.successes, self.trials, self.firth = design, successes, trials, firth
        self.whiten = np.zeros((len(design.terms), len(kept)))
        self.whiten[kept] = whiten

    def predictor(self, step: Floats) -> Floats:
        change = np.empty(self.design.rows)
        for rows, block in self.design.blocks():
            change[rows] = block @ (self.whiten @ step)
        return change

    def evaluate(self, eta: Floats) -> tuple[float, Floats, Floats, Floats]:
        """Value, upper triangular factors of the information and of the matrix for the step, and score."""
        mean = expit(eta)
        weight = self.trials * mean * (1 - mean)
        value = float(np.sum(self.successes * eta - self.trials * np.logaddexp(0, eta)))
        residual = self.successes - self.trials * mean
        width = self.whiten.shape[1]
        score, information = np.zeros(width), np.zeros((width, width))
        for rows, raw in self.design.blocks():
            block = raw @ self.whiten
            score += block.T @ residual[rows]
            information += block.T @ (weight[rows, None] * block)
        try:
            upper = np.asarray(cholesky(information))
        except LinAlgError:
            return -np.inf, np.eye(width), np.eye(width), score
        if not self.firth:
            return value, upper, upper, score
        # Firth's score is that of a file with each row's leverage added as trials, half of them successes; the
        # information of that file makes steps that do not overshoot where single rows carry a coefficient.
        value += float(np.sum(np.log(np.diag(upper))))  # half the log determinant
        for rows, raw in self.design.blocks():
            block = raw @ self.whiten
            unit = mean[rows] * (1 - mean[rows])
            leverage = weight[rows] * np.sum(solve_triangular(upper, block.T, trans="T") ** 2, axis=0)
            score += block.T @ (leverage * (0.5 - mean[rows]))
            information += block.T @ ((leverage * unit)[:, None] * block)
        return value, upper, np.asarray(cholesky(information)), score


def aggregate(
    design: Design, successes: NDArray[np.bool_] | Floats, dense: float = 0.5
) -> tuple[Design, Floats, Floats]:
    """Rows with equal predictors made one: the cost of a logistic fit then follows distinct patterns, not rows.

    Returns the design of the patterns, successes and trials. Where there are nearly as many patterns as rows the
    design comes back as it is.
    """
    weights = np.asarray(successes, dtype=np.float64)
    key = np.zeros(design.rows, dtype=np.int64)
    size = 1
    for column in design.columns:
        values, codes = (
            (np.arange(len(column.levels)), column.values.astype(np.int64))
            if column.levels is not None
            else np.unique(column.values, return_inverse=True)
        )
        if len(values) > dense * design.rows and column.levels is None:
            return design, weights, np.ones(design.rows)
        if size * len(values) >= _MOST_PATTERNS:
            seen, key = np.unique(key, return_inverse=True)
            size = len(seen)
        key = key * len(values) + codes
        size *= len(values)
    _, first, pattern = np.unique(key, return_index=True, return_inverse=True)
    if len(first) > dense * design.rows:
        return design, weights, np.ones(design.rows)
    trials = np.bincount(pattern, minlength=len(first)).astype(np.float64)
    hits = np.bincount(pattern, weights=weights, minlength=len(first)).astype(np.float64)
    return design.take(first), hits, trials


def _reduced(triangle: Floats, block: Floats) -> Floats:
    """The triangular factor of a matrix with some rows added: all that is kept of them."""
    factor: Floats = np.asarray(np.linalg.qr(np.vstack([triangle, block]), mode="r"), dtype=np.float64)
    return factor


def _information(design: Design, weights: Floats) -> Floats:
    triangle = np.zeros((0, len(design.terms)))
    for rows, block in design.blocks():
        triangle = _reduced(triangle, np.sqrt(weights[rows])[:, None] * block)
    return triangle


def _separated(upper: Floats) -> bool:
    """Whether some direction has lost all its information: its coefficient is running off to infinity.

    Probabilities of one in a million still leave 4e-6 of the information at one half; separation leaves none.
    """
    return bool(np.linalg.svd(upper, compute_uv=False).min() < 1e-4)


def _independent(triangle: Floats) -> NDArray[np.intp]:
    """Columns that earlier ones do not explain, by Gram-Schmidt (twice, for accuracy) on the triangular factor."""
    basis: list[Floats] = []
    kept: list[int] = []
    for j in range(triangle.shape[1]):
        column = triangle[:, j]
        length = float(np.linalg.norm(column))
        rest = column.copy()
        for _ in range(2):
            if basis:
                span = np.column_stack(basis)
                rest = rest - span @ (span.T @ rest)
        if length > 0 and np.linalg.norm(rest) > _DEPENDENT * length:
            basis.append(rest / np.linalg.norm(rest))
            kept.append(j)
    return np.asarray(kept, dtype=np.intp)


def _fit(
    design: Design, kept: NDArray[np.intp], solution: Floats, upper: Floats, scale: float, df: float, *, logistic: bool
) -> Fit:
    width = len(design.terms)
    inverse = solve_triangular(upper, np.eye(len(kept)))
    coefficients, errors = np.zeros(width), np.zeros(width)
    estimable = np.zeros(width, dtype=bool)
    coefficients[kept] = solution
    errors[kept] = scale * np.sqrt(np.sum(inverse**2, axis=1))
    estimable[kept] = True
    return Fit(design.terms, estimable, coefficients, errors, df, logistic, design.rows)
