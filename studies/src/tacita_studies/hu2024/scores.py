"""What answers over repeated samples are worth: error against the population, coverage, interval length, CV.

Two definitions of the root mean squared error stand side by side. The paper's takes one sample: squared distance of the
estimate from the population's value plus the estimated variance. The one that answers how far estimates are off takes
the mean over repeated samples of the squared distance alone, and bars refer to it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tacita_studies.hu2024.answers import Answer, Floats


@dataclass(frozen=True, eq=False)
class Scores:
    """Per cell, over repeated samples."""

    rmse: Floats
    first_rmse: Floats
    coverage: Floats
    length: Floats
    cv: Floats
    bias: Floats
    replicates: int


def score(answers: Sequence[Answer], truth: Floats) -> Scores:
    """`answers` of one method for one statistic, one per sample; `first_rmse` is the paper's, of the first sample.

    >>> one, other = (Answer(np.array([v]), np.array([1.0]), np.array([v - 2]), np.array([v + 2])) for v in (9.0, 13.0))
    >>> found = score([one, other], np.array([10.0]))
    >>> found.rmse, found.first_rmse, found.coverage, found.length
    (array([2.236...]), array([1.414...]), array([0.5]), array([4.]))
    """
    estimate, error, lower, upper = (
        np.array([getattr(one, name) for one in answers]) for name in ("estimate", "error", "lower", "upper")
    )
    off = estimate - truth
    with np.errstate(divide="ignore", invalid="ignore"):
        cv = np.where(estimate != 0, error / np.abs(estimate), np.inf)
    return Scores(
        rmse=np.sqrt((off**2).mean(axis=0)),
        first_rmse=np.sqrt(off[0] ** 2 + error[0] ** 2),
        coverage=((lower <= truth) & (truth <= upper)).mean(axis=0),
        length=(upper - lower).mean(axis=0),
        cv=np.median(cv, axis=0),
        bias=off.mean(axis=0),
        replicates=len(answers),
    )
