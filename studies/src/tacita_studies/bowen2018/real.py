"""Public person files: the same plans and metrics where nobody chose the law.

Levels come from the files' documentation, never from their rows; numbers get public cuts, and are read as the bins of
those cuts, so that all methods and metrics see the same table. Categories that follow from others stay in: the region
from the state, the decile of an income from the income, and who is not asked how they registered from other answers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd

from tacita_studies.bowen2018 import methods
from tacita_studies.bowen2018.printed import ALONE, SECONDS, SPECKS, TV2
from tacita_studies.bowen2018.scores import general
from tacita_studies.bowen2018.simulation import PersonFile
from tacita_studies.harness.experiment import timed
from tacita_studies.harness.real import TABLE, RealFile, each_file
from tacita_studies.harness.replicates import Progress
from tacita_studies.harness.results import Row, mean_and_se

RESAMPLED = "Rows drawn again from the file"


def person_file(
    name: str,
    path: str,
    levels: Mapping[str, Sequence[str | int]],
    cuts: Mapping[str, Sequence[int]],
    changed: Callable[[pd.DataFrame], pd.DataFrame] = lambda frame: frame,
) -> RealFile[PersonFile]:
    """`levels` are documented codes, `cuts` the public borders of a number's bins."""
    binned = {column: _bins(len(borders) + 1) for column, borders in cuts.items()}

    def prepare(where: Path) -> pd.DataFrame:
        frame = changed(pd.read_csv(where, dtype=str, keep_default_na=False))
        made = {column: frame[column] for column in levels}
        for column, borders in cuts.items():
            place = np.searchsorted(np.array(borders), frame[column].astype(float), side="right")
            made[column] = pd.Series(np.array(binned[column])[place])
        return pd.DataFrame(made).reset_index(drop=True)

    coded = {column: tuple(map(str, codes)) for column, codes in levels.items()}
    return RealFile(name, path, prepare, PersonFile(name, coded | binned))


def _bins(count: int) -> tuple[str, ...]:
    return tuple(f"bin {one:02d}" for one in range(count))


def _codes(last: int, first: int = 1) -> tuple[int, ...]:
    return tuple(range(first, last + 1))


_STATES = tuple(code for code in range(1, 57) if code not in (3, 7, 14, 43, 52))
_ASKED = (-9, -3, -2, -1)  # no response, refused, does not know, not asked
_AGES = (5, 10, 15, 18, 21, 25, 30, 35, 40, 45, 50, 55, 60, 65, 70, 75, 80)

CPS_2016 = person_file(
    "CPS August 2016, workers",
    "cps2016_categorical/cps2016.csv.gz",
    {
        "educ": _codes(16), "fam_income": _codes(16), "sex": _codes(2), "marital": _codes(6), "race": _codes(6),
        "region": _codes(4), "state": _STATES, "citizen": _codes(5), "worker_class": _codes(6),
        "industry": _codes(14), "occupation": _codes(11), "ismarried": (0, 1), "faminc_50": (0, 1),
    },
    {
        "age": _AGES[3:], "weekly_hrs": (1, 10, 20, 30, 35, 40, 41, 45, 50, 60), "num_in_house": (2, 3, 4, 5, 6, 8),
        "num_child": (1, 2, 3, 4, 6),
    },
)  # fmt: skip

CPS_VOTING = person_file(
    "CPS voting supplement 2016",
    "cps_voting_10k/cps_2016_10k.csv.gz",
    {
        "STATE": _STATES, "SEX": (-1, 1, 2), "EDUCATION": (-1, *_codes(46, 31)), "RACE": (-1, *_codes(26)),
        "HISPANIC": (-1, 1, 2), "VRS_VOTE": (*_ASKED, 1, 2), "VRS_REG": (*_ASKED, 1, 2),
        "VRS_REG_WHYNOT": (*_ASKED, *_codes(9)), "VRS_VOTE_WHYNOT": (*_ASKED, *_codes(11)),
        "VRS_VOTEMODE_2004toPRESENT": (*_ASKED, 1, 2), "VRS_VOTEWHEN_2004toPRESENT": (*_ASKED, 1, 2),
        "VRS_REG_METHOD": (*_ASKED, *_codes(9)), "VRS_RESIDENCE": (*_ASKED, *_codes(6)),
    },
    {"AGE": (0, *_AGES)},
)  # fmt: skip


def _numbers(frame: pd.DataFrame) -> pd.DataFrame:
    """Not applicable becomes a number below all others, which the first cut keeps apart."""
    below = {"NOC": "-1", "NPF": "-1", "POVPIP": "-1", "PINCP": "-1000000"}
    return frame.assign(**{name: frame[name].replace("N", value) for name, value in below.items()})


def _nist(name: str, file: str, areas: Sequence[str]) -> RealFile[PersonFile]:
    return person_file(
        f"NIST excerpt, {name} 2019",
        f"nist_diverse_communities/{file}2019.csv.gz",
        {
            "PUMA": areas, "SEX": _codes(2), "MSP": ("N", *_codes(6)), "HISP": _codes(4, 0), "RAC1P": _codes(9),
            "HOUSING_TYPE": _codes(3), "OWN_RENT": _codes(2, 0), "INDP_CAT": ("N", *_codes(18, 0)),
            "EDU": ("N", *_codes(12)), "PINCP_DECILE": ("N", *_codes(9, 0)), "DVET": ("N", *_codes(6)),
            "DREM": ("N", 1, 2), "DPHY": ("N", 1, 2), "DEYE": _codes(2), "DEAR": _codes(2),
        },
        {
            "AGEP": _AGES, "NOC": _codes(8, 0), "NPF": _codes(10, 2),
            "PINCP": (-20_000, 0, 1, 5_000, 10_000, 15_000, 25_000, 35_000, 50_000, 75_000, 100_000, 150_000),
            "POVPIP": (0, 1, 50, 100, 150, 200, 300, 400, 501),
        },
        _numbers,
    )  # fmt: skip


NATIONAL = _nist(
    "national",
    "national",
    (
        "01-01301", "06-07502", "06-08507", "08-00803", "13-04600", "17-03529", "17-03531", "19-01700", "24-01004",
        "26-02702", "28-01100", "29-01901", "30-00600", "32-00405", "36-03710", "36-04010", "38-00100", "40-00200",
        "51-01301", "51-51255",
    ),
)  # fmt: skip
MASSACHUSETTS = _nist("Massachusetts", "ma", ("25-00503", "25-00703", "25-01000", "25-01300", "25-02800"))
TEXAS = _nist("Texas", "tx", ("48-02101", "48-02102", "48-02507", "48-02510", "48-02515", "48-02516"))
FILES = (CPS_2016, CPS_VOTING, NATIONAL, MASSACHUSETTS, TEXAS)
POWERS = (-1, 1)


def entrants() -> tuple[methods.PersonMethod, ...]:
    """One file each: here closeness counts, not inference."""
    return (methods.pairwise(1), methods.steps(None, sets=1), methods.laplace(sets=1), methods.independent(sets=1))


def real_rows(
    data: Path, seed: int, say: Progress, repetitions: int = 1, files: Sequence[RealFile[PersonFile]] = FILES
) -> Iterator[Row]:
    """SPECKS, pairs and tests on every file that is there, and the time each method takes."""
    return each_file(files, data, say, partial(_rows, data=data, seed=seed, repetitions=repetitions))


def _rows(one: RealFile[PersonFile], data: Path, seed: int, repetitions: int) -> Iterator[Row]:
    frame, about = one.read(data), one.about
    again = [frame.sample(len(frame), replace=True, random_state=seed + place) for place in range(3)]
    ideal = general(frame, again, about.schema)
    shared = {"file": one.name, "rows": len(frame), "cells": float(about.cells)}
    metrics = ((SPECKS, None), (TV2, None), (ALONE, 0.05))
    for metric, level in metrics:
        where = {**shared, "power": None}
        yield Row(TABLE, RESAMPLED, metric, ideal[metric, level], guarantee="none: rows of the file", where=where)
    for power in POWERS:
        for method in entrants():
            epsilon, scored, times = methods.EPSILONS[power], [], []
            for repetition in range(repetitions):
                made, seconds = timed(partial(method.make, frame, about, epsilon, seed + repetition))
                times.append(seconds)
                scored.append(general(frame, list(made), about.schema))
            where = {**shared, "power": power, "epsilon": epsilon, "mode": method.mode}
            row = partial(Row, TABLE, method.name, replicates=repetitions, where=where)
            row = partial(row, guarantee=method.guarantee(about, epsilon))
            for metric, level in metrics:
                mean, se = mean_and_se([each[metric, level] for each in scored])
                yield row(metric, mean, se, reference=ideal[metric, level])
            yield row(SECONDS, float(np.median(times)))
