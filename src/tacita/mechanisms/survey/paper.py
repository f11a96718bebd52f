"""hu2024, section 2.4, as printed: noise on every cell, margin and replicate, scaled to the confidential rows.

It has no guarantee: the scale of the noise is itself a function of the rows. What the text leaves open: the largest
sensitivity is taken within each kind of margin (cells, rows, columns, total); a replicate in which a cell has no record
is left out of the variance of its mean; the variance is taken around the noisy estimate.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from tacita.mechanisms.survey.measured import margins
from tacita.mechanisms.survey.sample import SurveyRows
from tacita.noise.entropy import Entropy
from tacita.noise.laws import Laplace
from tacita.noise.rounding import noisy_on_grid

Floats = NDArray[np.float64]

_PARTS = 10**6  # values are rounded to a millionth, and so are scales


def paper_estimates(
    sample: SurveyRows, factors: Floats, shape: tuple[int, ...], point: Fraction, spread: Fraction, entropy: Entropy
) -> tuple[Floats, Floats]:
    """Values and variances with margins, of the shape (statistic, *shape + 1).

    `point` is the ε of one estimate of one cell, `spread` that of one of its replicates.
    """
    full = (1 + len(sample.answers), *(size + 1 for size in shape))
    value, variance = np.full(full, np.nan), np.full(full, np.nan)
    place_of = np.unravel_index(sample.cell, shape) if shape else ()
    for kept, place in margins(shape):
        sizes = [size for size, keep in zip(shape, kept, strict=True) if keep]
        codes = [code for code, keep in zip(place_of, kept, strict=True) if keep]
        cell = np.ravel_multi_index(codes, sizes) if sizes else np.zeros(sample.cell.size, dtype=np.int64)
        for at, answer in enumerate((None, *sample.answers)):
            label = f"{answer or 'counts'} by {sum(kept)} variables"
            exact, scale = _answers(sample, cell, int(np.prod(sizes)), answer)
            noisy = _noisy(exact, scale / float(point), entropy, label)
            replicated = [_answers(sample, cell, exact.size, answer, sample.weight * one)[0] for one in factors.T]
            again = _noisy(np.array(replicated), scale / float(spread), entropy, f"{label}, half-samples")
            away = (again - noisy) ** 2
            known = np.isfinite(away)
            count = np.maximum(known.sum(axis=0), 1)
            found = np.where(known, away, 0.0).sum(axis=0) / count
            target = (at, *place)
            value[target] = noisy.reshape(value[target].shape)
            variance[target] = np.where(np.isfinite(noisy), found, np.nan).reshape(value[target].shape)
    return value, variance


def _answers(
    sample: SurveyRows, cell: NDArray[np.int64], cells: int, answer: str | None, weight: Floats | None = None
) -> tuple[Floats, float]:
    """Estimates by cell, and the largest of the cells' local sensitivities: equation 8 for counts, 9 for means."""
    weight = sample.weight if weight is None else weight
    count = np.bincount(cell, weights=weight, minlength=cells).astype(np.float64)
    empty = np.bincount(cell, minlength=cells) == 0
    ranged = _range(weight, cell, cells)
    if answer is None:
        return count, float(ranged.max())
    product = weight * sample.answers[answer]
    total = np.bincount(cell, weights=product, minlength=cells)
    with np.errstate(divide="ignore", invalid="ignore"):
        sensitivity = np.where(empty, 0.0, _range(product, cell, cells) / (count - ranged))
        return np.where(count > 0, total / count, np.nan), float(sensitivity.max())


def _range(values: Floats, cell: NDArray[np.int64], cells: int) -> Floats:
    low, high = np.full(cells, np.inf), np.full(cells, -np.inf)
    np.minimum.at(low, cell, values)
    np.maximum.at(high, cell, values)
    return np.where(np.isfinite(low), high - low, 0.0)


def _noisy(values: Floats, scale: float, entropy: Entropy, label: str) -> Floats:
    known = np.isfinite(values)
    centre = np.rint(np.where(known, values, 0.0) * _PARTS).astype(np.int64)
    steps = np.full(values.shape, np.rint(scale * _PARTS), dtype=np.float64).astype(np.int64)
    noisy = noisy_on_grid(centre, steps, 1, Laplace(), entropy, label)
    return np.where(known, noisy / _PARTS, np.nan)
