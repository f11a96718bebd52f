"""The population of section 4.1: 100,000 persons with the counts of Table 4 and the mean salaries of Table 5.

Salaries are log-normal with scale 0.4 within field and gender, scaled so that each of the 16 means is the printed one.
The size by which persons are drawn is the salary times log-normal noise of scale 0.4 (equation 11). In the nearly
non-informative case size hardly depends on salary: log size = −slope·log salary + noise, with the slope that makes
the correlation of salary and weight 0.09, which section 3.1 reports of the Survey of Doctorate Recipients. A third case
has the informative sizes and another way of drawing; see below.

Samples as in section 4.1: stratified by field, drawn with chances proportional to size.

Two things are open, and Tables 4 and 5 are all there is to go by.

*How many in each field.* In proportion to the persons in it: over the fields, the printed length of FBS's interval for
the mean over that of the sample's own is then 1.1 to 1.3, falling with the size of the field, and equal for fields 4
and 7, which are equally large. Divided by total size, fields 4 and 7 would part; divided equally, all fields would
have about the same length.

*How persons are drawn.* Footnote 2 says with replacement, but its inclusion probabilities belong to drawing without.
In Table 4 FBS covers the counts of men and of women in 95 to 100 of 100 samples, with intervals that allow for a random
number of men in a field's sample, and the counts of fields in 79 to 92: as if that number hardly varied. It does not
where persons are drawn systematically, in the order of field and gender. That is the default here. It is an inference,
against the paper's words, chosen for its agreement with the tables, and the tables do not settle it: over 100 samples
FBS's counts agree with the printed coverage in 22 of 24 cells if drawn systematically and 15 with replacement, but
FBP's in 21 and 24. The study reports samples drawn with replacement beside it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, cached_property
from typing import Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from tacita_studies.hu2024.printed import ALL, CELLS, FIELDS, GENDERS, INTERIOR, REPEATED, Cell, Statistic
from tacita_studies.hu2024.survey_file import SurveyFile

Floats = NDArray[np.float64]
Case = Literal["informative", "with replacement", "nearly non-informative"]

CASES: tuple[Case, ...] = ("informative", "with replacement", "nearly non-informative")
SAMPLE_SIZE = 1_000
SIZE = 100_000
SCALE = 0.4
_SEED = 2017
# What an agency knows of its survey without looking at the answers; a sample never leaves these bounds.
SALARY_BOUNDS = (15_000, 800_000)
WEIGHT_BOUNDS = (5, 2_000)
# The slope at which salary and 1/size correlate at 0.09 in this population; a test computes the correlation.
_SLOPE: dict[Case, float] = {"informative": 1.0, "with replacement": 1.0, "nearly non-informative": -0.097}


@dataclass(frozen=True, eq=False)
class Population:
    """One row per person: field, gender, salary, and the size that drawing is proportional to."""

    frame: pd.DataFrame

    @cached_property
    def strata(self) -> tuple[NDArray[np.int64], ...]:
        """The rows of each field."""
        code = pd.factorize(self.frame["field"], sort=True)[0]
        return tuple(np.flatnonzero(code == one) for one in range(len(FIELDS)))

    def truth(self, statistic: Statistic) -> Floats:
        """Counts or mean salaries of the 27 cells, in the order of CELLS."""
        inside = [self._inside(cell) for cell in CELLS]
        if statistic == "count":
            return np.array([float(one.sum()) for one in inside])
        salary = self.frame["salary"].to_numpy()
        return np.array([float(salary[one].mean()) for one in inside])

    def _inside(self, cell: Cell) -> NDArray[np.bool_]:
        inside = np.ones(len(self.frame), dtype=bool)
        for name, level in zip(("field", "gender"), cell, strict=True):
            if level != ALL:
                inside &= (self.frame[name] == level).to_numpy()
        return inside

    @property
    def correlation(self) -> float:
        """Of salary and 1/size, to which weights are proportional."""
        return float(np.corrcoef(self.frame["salary"], 1 / self.frame["size"])[0, 1])


@cache
def population(case: Case = "informative") -> Population:
    """The same persons every time; the cases differ in the sizes only.

    >>> people = population()
    >>> len(people.frame), round(people.correlation, 2), people.truth("count")[:3]
    (100000, -0.58, array([100000.,  58534.,  41466.]))
    """
    random = np.random.default_rng(_SEED)
    counts = [int(REPEATED["count"][cell].population) for cell in INTERIOR]
    salaries = []
    for cell, count in zip(INTERIOR, counts, strict=True):
        drawn = np.exp(SCALE * random.standard_normal(count))
        salaries.append(drawn * (REPEATED["mean"][cell].population / drawn.mean()))
    salary = np.concatenate(salaries)
    size = np.exp(_SLOPE[case] * np.log(salary) + SCALE * random.standard_normal(salary.size))
    field, gender = (np.repeat([cell[place] for cell in INTERIOR], counts) for place in (0, 1))
    return Population(pd.DataFrame({"field": field, "gender": gender, "salary": salary, "size": size}))


def doctorates() -> SurveyFile:
    """What is public about a sample: field and gender of everybody, and bounds of salary and weight."""
    return SurveyFile(
        "hu2024 doctorates, simulated",
        outcome="salary",
        weight="weight",
        levels={"field": FIELDS, "gender": GENDERS},
        bounds={"salary": SALARY_BOUNDS, "weight": WEIGHT_BOUNDS},
        persons=SIZE,
        records=SAMPLE_SIZE,
    )


def allocation(persons: NDArray[np.int64], sampled: int) -> NDArray[np.int64]:
    """Persons drawn in each stratum, proportional to the stratum; the largest remainders are rounded up.

    >>> allocation(np.array([500, 300, 200]), 11)
    array([6, 3, 2])
    """
    exact = sampled * persons / persons.sum()
    whole = np.floor(exact).astype(np.int64)
    upward = np.argsort(whole - exact, kind="stable")[: sampled - int(whole.sum())]
    whole[upward] += 1
    return np.asarray(whole)


def draw(case: Case, seed: int, sampled: int = SAMPLE_SIZE) -> pd.DataFrame:
    """Field, gender, salary and weight of the persons drawn; weights are the inverse of n·size/Σ size in the stratum.

    A sample that misses one of the 16 cells has no table and is drawn again; with replacement, that is one in 2,000.
    """
    random = np.random.default_rng((2024, seed))
    while True:
        sample = _drawn(case, random, sampled)
        if len(sample.groupby(["field", "gender"])) == len(INTERIOR):
            return sample


def _drawn(case: Case, random: np.random.Generator, sampled: int) -> pd.DataFrame:
    persons = population(case)
    frame, size = persons.frame, persons.frame["size"].to_numpy()
    counts = allocation(np.array([one.size for one in persons.strata]), sampled)
    parts = []
    for inside, count in zip(persons.strata, counts.tolist(), strict=True):
        chance = size[inside] / size[inside].sum()
        if case == "with replacement":
            place = random.choice(inside.size, size=count, replace=True, p=chance)
        else:
            place = _systematic(chance, count, random)
        drawn = frame.iloc[inside[place]][["field", "gender", "salary"]]
        parts.append(drawn.assign(weight=1 / (count * chance[place])))
    sample: pd.DataFrame = pd.concat(parts, ignore_index=True)
    return sample


def _systematic(chance: Floats, count: int, random: np.random.Generator) -> NDArray[np.int64]:
    """Equal steps along the cumulated chances from a random start; persons stand in the order of gender."""
    reached = np.cumsum(chance)
    steps = (np.arange(count) + random.random()) * (reached[-1] / count)
    return np.asarray(np.searchsorted(reached, steps), dtype=np.int64)
