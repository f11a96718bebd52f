"""Public survey files with weights: how far each method's tables lie from those of the file, and from a known truth.

Levels and bounds are declared from the files' documentation, never read from rows; values beyond a bound count as the
bound. Incomes and wages are those of persons who have any.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd

from tacita.errors import RefusedError, UsageError
from tacita_studies.harness.experiment import timed
from tacita_studies.harness.real import TABLE, RealFile, each_file
from tacita_studies.harness.replicates import Progress
from tacita_studies.harness.results import Row
from tacita_studies.hu2024.answers import Answer, Answers, Floats, from_sample
from tacita_studies.hu2024.methods import SAMPLE, Entry, SurveyMethod
from tacita_studies.hu2024.printed import ALL, STATISTICS, Statistic
from tacita_studies.hu2024.survey_file import SurveyFile

_NAMES: dict[Statistic, str] = {"count": "counts", "mean": "means"}
_SAYS = "Distances are from the file's own estimates, in its standard errors, over all cells and margins."
_API_SAYS = "Schools drawn by type; the whole population is known. Cells covered are those of the population."
REPETITIONS = 3


def _earnings(path: Path) -> pd.DataFrame:
    frame = pd.read_csv(path, dtype={"occupation": str})
    return frame.assign(occupation=frame["occupation"].str[0])


_AGES = ("under 25", "25 to 34", "35 to 44", "45 to 54", "55 to 64", "65 and over")


def _wages(path: Path) -> pd.DataFrame:
    frame = pd.read_csv(path, usecols=["MARS", "age_head", "s006", "e00200"], dtype={"MARS": str})
    frame = frame[frame["e00200"] > 0]
    band = np.digitize(frame["age_head"], (25, 35, 45, 55, 65))
    weight = frame["s006"] / 100
    return frame.assign(age=np.array(_AGES)[band], status=frame["MARS"], wage=frame["e00200"], weight=weight)


_SCHOOLING = ("no high school", "high school", "some college", "bachelor", "beyond")


def _incomes(path: Path) -> pd.DataFrame:
    frame = pd.read_csv(path, usecols=["SEX", "EDU", "PINCP", "PWGTP"], dtype={"SEX": str, "EDU": str, "PINCP": str})
    frame = frame[(frame["PINCP"] != "N") & (frame["EDU"] != "N")]
    frame = frame.assign(income=frame["PINCP"].astype(float), weight=frame["PWGTP"].astype(float))
    group = np.digitize(frame["EDU"].astype(int), (5, 7, 9, 10))
    return frame.assign(schooling=np.array(_SCHOOLING)[group])[frame["income"] > 0]


def _schools(path: Path) -> pd.DataFrame:
    return pd.read_csv(path, usecols=["stype", "awards", "api00", "pw"])


def all_schools(data: Path) -> pd.DataFrame:
    """The population that apistrat was drawn from."""
    return pd.read_csv(data / "survey_r_package/apipop.csv.gz", usecols=["stype", "awards", "api00"]).assign(pw=1.0)


OCCUPATIONS = {"occupation": ("1", "2", "3", "4", "5", "7", "8", "9"), "sex": ("male", "female")}
SCHOOLING = {"schooling": _SCHOOLING, "SEX": ("1", "2")}
SCHOOLS = {"stype": ("E", "H", "M"), "awards": ("No", "Yes")}


def _abouts() -> Iterator[tuple[str, Callable[[Path], pd.DataFrame], SurveyFile]]:
    for weight in ("weights", "weightsEmployers", "weightsEmployees"):
        bounds, name = (
            {"earnings": (100, 1_000_000), weight: (1, 50)},
            f"Earnings by occupation and sex (ses), {weight}",
        )
        yield "laeken_eusilc_ses/ses", _earnings, SurveyFile(name, "earnings", weight, OCCUPATIONS, bounds, False)
    bounds, name = {"wage": (100, 5_000_000), "weight": (1, 10_000)}, "Wages by age and filing status (taxcalc_cps)"
    levels = {"age": _AGES, "status": ("1", "2", "3", "4")}
    yield "taxcalc_cps/cps_core", _wages, SurveyFile(name, "wage", "weight", levels, bounds, False)
    for code, where in (("national", "national"), ("ma", "Massachusetts"), ("tx", "Texas")):
        name, bounds = (
            f"Income by schooling and sex (NIST excerpt, {where})",
            {"income": (4, 2_000_000), "weight": (1, 3_000)},
        )
        about = SurveyFile(name, "income", "weight", SCHOOLING, bounds, False)
        yield f"nist_diverse_communities/{code}2019", _incomes, about
    name = "Academic performance by school type and award (apistrat against apipop)"
    bounds = {"api00": (200, 1_000), "pw": (10, 60)}
    yield "survey_r_package/apistrat", _schools, SurveyFile(name, "api00", "pw", SCHOOLS, bounds)


def _columns(path: Path, prepare: Callable[[Path], pd.DataFrame], about: SurveyFile) -> pd.DataFrame:
    return prepare(path)[[*about.by, about.outcome, about.weight]].reset_index(drop=True)


FILES = tuple(
    RealFile(about.name, f"{path}.csv.gz", partial(_columns, prepare=prepare, about=about), about)
    for path, prepare, about in _abouts()
)


def real_rows(
    data: Path,
    seed: int,
    say: Progress,
    methods: Sequence[SurveyMethod],
    files: Sequence[RealFile[SurveyFile]] = FILES,
) -> Iterator[Row]:
    """Every method on every file that is there."""
    return each_file(files, data, say, partial(_rows, data=data, seed=seed, methods=methods))


def _rows(one: RealFile[SurveyFile], data: Path, seed: int, methods: Sequence[SurveyMethod]) -> Iterator[Row]:
    frame, about = one.read(data), one.about
    sample = from_sample(frame, about)
    truth = _truth(all_schools(data), about) if "apistrat" in one.path else None
    says = _SAYS if truth is None else f"{_SAYS} {_API_SAYS}"
    shared = {"name": about.name, "records": len(frame), "says": says}
    for method in methods:
        runs: list[dict[str, float]] = []
        (entry,) = method.entries(about)[-1:]
        for repetition in range(1 if entry == SAMPLE else REPETITIONS):
            try:
                made, seconds = timed(partial(method.make, frame, about, seed + repetition))
            except (RefusedError, UsageError):
                break  # the method cannot carry this file, or misses its bound; rows count the runs with a release
            entry = chosen(made.answers)
            runs.append(_distances(made.answers[entry], sample, truth) | {"seconds": seconds})
        for metric in runs[0] if runs else ():
            value = float(np.mean([run[metric] for run in runs]))
            said = method.guarantee(entry, about)
            where = {**shared, **entry.where}
            yield Row(TABLE, entry.method, metric, value, replicates=len(runs), guarantee=said, where=where)


def chosen(answers: Mapping[Entry, Answers]) -> Entry:
    """Of a method with several numbers of files the one with three, as in the paper."""
    return next((entry for entry in answers if entry.sets == 3), next(iter(answers)))


def _distances(ours: Answers, sample: Answers, truth: Mapping[Statistic, Floats] | None) -> dict[str, float]:
    distances = {}
    for statistic in STATISTICS:
        one, base = ours[statistic], sample[statistic]
        known = base.error > 1e-6 * np.abs(base.estimate)  # a stratum's count may be known exactly
        off = np.abs(one.estimate - base.estimate)[known] / base.error[known]
        name = _NAMES[statistic]
        distances[f"{name}: relative difference, median"] = float(np.median(np.abs(one.estimate / base.estimate - 1)))
        distances[f"{name}: distance, median"] = float(np.median(off))
        distances[f"{name}: distance, largest"] = float(off.max())
        distances[f"{name}: standard error over the file's, median"] = float(
            np.median(one.error[known] / base.error[known])
        )
        if truth is not None:
            distances[f"{name}: cells covered, of {len(one.estimate)}"] = _covered(one, truth[statistic])
    return distances


def _covered(one: Answer, truth: Floats) -> float:
    rounding = 1e-9 * np.abs(truth)  # counts of a stratum are known exactly, with an interval of no length
    return float(((one.lower <= truth + rounding) & (truth - rounding <= one.upper)).sum())


def _truth(population: pd.DataFrame, about: SurveyFile) -> dict[Statistic, Floats]:
    counts, means = [], []
    for cell in about.cells:
        inside = np.ones(len(population), dtype=bool)
        for name, level in zip(about.by, cell, strict=True):
            inside &= level == ALL or (population[name] == level).to_numpy()
        counts.append(float(inside.sum()))
        means.append(float(population.loc[inside, about.outcome].mean()))
    return {"count": np.array(counts), "mean": np.array(means)}
