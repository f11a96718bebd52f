"""Estimates and intervals for the cells of two tables, counts and means, from a sample or from synthetic files."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from tacita.errors import UsageError
from tacita.implicates import Implicates
from tacita.inference.estimate import Estimate
from tacita.inference.survey.statistics import Count, Mean
from tacita.inference.survey.tables import sample_table, survey_table
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
    def of(cls, found: Estimate) -> Answer:
        lower, upper = found.interval(0.95)
        return cls(found.value, found.standard_error, lower, upper)


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
    found: dict[Statistic, Answer] = {}
    names: tuple[tuple[Statistic, str], ...] = (("count", "count"), ("mean", f"mean of {about.outcome}"))
    for statistic, name in names:
        part = table[table["statistic"] == name].set_index(list(about.by)).loc[list(about.cells)]
        columns = [part[key].to_numpy(dtype=np.float64) for key in ("estimate", "standard_error", "lower", "upper")]
        if np.isnan(columns[0]).any():
            raise UsageError(f"by: a cell of {about.name} has no record; merge levels")
        found[statistic] = Answer(*columns)
    return found
