"""Estimates and intervals for the cells of two tables, counts and means, from a sample or from synthetic files.

What answers over repeated samples are worth: error against the population, coverage, interval length, CV.

Two definitions of the root mean squared error stand side by side. The paper's takes one sample: squared distance of the
estimate from the population's value plus the estimated variance. The one that answers how far estimates are off takes
the mean over repeated samples of the squared distance alone, and bars refer to it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from tacita.errors import UsageError
from tacita.implicates import Implicates
from tacita.inference.estimate import Estimate
from tacita.inference.survey.tables import Count, Mean, sample_table, survey_table
from tacita_studies.hu2024.printed import Statistic
from tacita_studies.hu2024.survey_file import SurveyFile

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Answer:
    """Estimates, standard errors and the ends of 95% intervals, one per cell."""

    estimate: Floats
    error: Floats
    lower: Floats
    upper: Floats

    @classmethod
    def of(cls, estimate: Estimate) -> Answer:
        lower, upper = estimate.interval(0.95)
        return cls(estimate.value, estimate.standard_error, lower, upper)


Answers = Mapping[Statistic, Answer]


def from_sample(frame: Any, about: SurveyFile) -> Answers:
    return as_answers(sample_table(frame, about.schema, about.by, _statistics(about)), about)


def from_files(files: Implicates, about: SurveyFile, m: int) -> Answers:
    """Answers from the first m files.

    One file says nothing of the difference between files, so its own variance must do, as in the paper.
    """
    if m == 1:
        return from_sample(next(iter(files)), about)
    # The design is the one that is asked for, which need not be the one the files were made with.
    chosen = Implicates(files.frames[:m], about.schema, files.synthesized, files.kind)
    return as_answers(survey_table(chosen, about.by, _statistics(about)), about)


def _statistics(about: SurveyFile) -> tuple[Count, Mean]:
    return Count(), Mean(about.outcome)


def as_answers(table: pd.DataFrame, about: SurveyFile) -> Answers:
    """A tidy table of counts and means with margins, cells in the order of `about.cells`."""
    answers: dict[Statistic, Answer] = {}
    names: tuple[tuple[Statistic, str], ...] = (("count", "count"), ("mean", f"mean of {about.outcome}"))
    for statistic, name in names:
        part = table[table["statistic"] == name].set_index(list(about.by)).loc[list(about.cells)]
        columns = [part[key].to_numpy(dtype=np.float64) for key in ("estimate", "standard_error", "lower", "upper")]
        if np.isnan(columns[0]).any():
            raise UsageError(f"by: a cell of {about.name} has no record; merge levels")
        answers[statistic] = Answer(*columns)
    return answers


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
    >>> scored = score([one, other], np.array([10.0]))
    >>> scored.rmse, scored.first_rmse, scored.coverage, scored.length
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
