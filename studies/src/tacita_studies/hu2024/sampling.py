"""Samples as in section 4.1: stratified by field, drawn with chances proportional to size.

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

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from tacita_studies.hu2024.population import SAMPLE_SIZE, Case, population
from tacita_studies.hu2024.printed import INTERIOR

Floats = NDArray[np.float64]


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
        found = _drawn(case, random, sampled)
        if len(found.groupby(["field", "gender"])) == len(INTERIOR):
            return found


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
    found: pd.DataFrame = pd.concat(parts, ignore_index=True)
    return found


def _systematic(chance: Floats, count: int, random: np.random.Generator) -> NDArray[np.int64]:
    """Equal steps along the cumulated chances from a random start; persons stand in the order of gender."""
    reached = np.cumsum(chance)
    steps = (np.arange(count) + random.random()) * (reached[-1] / count)
    return np.asarray(np.searchsorted(reached, steps), dtype=np.int64)
