"""Survey estimates equal those of R's survey package to eight digits, on R's own example files."""

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from support.r_reference import Reference, data_folder, from_r, stored
from tacita.inference import Estimate, survey
from tacita.inference.survey import Design, ReplicateDesign

pytestmark = pytest.mark.realdata

BRR = tuple(f"brr_{number}" for number in range(1, 33))
JKW = tuple(f"jkw_{number}" for number in range(1, 63))
BSR = tuple(f"bsrw{number}" for number in range(1, 51))

STRAT = Design(weights="pw", strata="stype", fpc="fpc")
CLUS2 = Design(psu=("dnum", "snum"), fpc=("fpc1", "fpc2"))
NHANES = Design(weights="WTMEC2YR", strata="SDMVSTRA", psu="SDMVPSU")
NHANES2 = Design(weights="finalwgt", strata="stratid", psu="psuid")
HALVES = ReplicateDesign("finalwgt", BRR, "brr")
FAY = ReplicateDesign("finalwgt", BRR, "fay", fay=0.3)
LEFT_OUT = tuple(f"left_out_{number}" for number in range(20))


@cache
def read(folder: str, name: str) -> pd.DataFrame:
    return pd.read_csv(data_folder() / folder / f"{name}.csv.gz")


def apistrat() -> pd.DataFrame:
    return read("survey_r_package", "apistrat")


def apiclus2() -> pd.DataFrame:
    return read("survey_r_package", "apiclus2")


def nhanes() -> pd.DataFrame:
    return read("survey_r_package", "nhanes")


def nhanes2() -> pd.DataFrame:
    return read("nhanes2_nmihs", "nhanes2")


def halves() -> pd.DataFrame:
    frame = read("nhanes2_nmihs", "nhanes2brr")
    return frame.assign(tall=np.where(frame["height"] > 170, "tall", "other"))


def fay_weights() -> pd.DataFrame:
    frame = halves()
    return frame.assign(**{name: 0.3 * frame["finalwgt"] + 0.7 * frame[name] for name in BRR})


def twenty_schools() -> pd.DataFrame:
    frame = read("survey_r_package", "apisrs").iloc[:20]
    weights = frame["pw"].to_numpy()[:, None] * (1 - np.eye(20)) * 20 / 19
    return pd.concat([frame, pd.DataFrame(weights, columns=list(LEFT_OUT), index=frame.index)], axis=1)


def one_high_school() -> pd.DataFrame:
    frame = apistrat()
    return pd.concat([frame[frame["stype"] == "E"].iloc[:10], frame[frame["stype"] == "H"].iloc[:1]])


def lonely(rule: Any) -> Design:
    return Design(weights="pw", strata="stype", one_psu=rule)


def by_category(found: Estimate, domains: int) -> Estimate:
    """In R's order: categories outside, domains inside."""
    order = np.arange(found.size).reshape(domains, -1).T.ravel()
    return Estimate(found.value[order], found.variance[np.ix_(order, order)], found.df[order])


CASES: dict[str, Callable[[], Estimate]] = {
    "apistrat mean": lambda: survey.mean(apistrat(), "api00", STRAT),
    "apistrat total": lambda: survey.total(apistrat(), "enroll", STRAT),
    "apistrat ratio": lambda: survey.ratio(apistrat(), "api.stu", "enroll", STRAT),
    "apistrat domains": lambda: survey.mean(apistrat(), "api00", STRAT, by=("sch.wide", "stype")),
    "apistrat domain totals": lambda: survey.total(apistrat(), "enroll", STRAT, by="sch.wide"),
    "apistrat domain ratios": lambda: survey.ratio(apistrat(), "api.stu", "enroll", STRAT, by="awards"),
    "apistrat proportions": lambda: survey.proportions(apistrat(), "awards", STRAT),
    "apistrat proportions by domain": lambda: by_category(
        survey.proportions(apistrat(), "awards", STRAT, by="stype"), 3
    ),
    "apistrat quantiles": lambda: survey.quantiles(apistrat(), "api00", STRAT, (0.25, 0.5, 0.9)).estimate,
    "apistrat without fpc": lambda: survey.mean(apistrat(), "api00", Design(weights="pw", strata="stype")),
    "apiclus2 mean": lambda: survey.mean(apiclus2(), "api00", CLUS2),
    "apiclus2 total": lambda: survey.total(apiclus2(), "enroll", CLUS2, missing="domain"),
    "apiclus2 ratio": lambda: survey.ratio(apiclus2(), "api.stu", "enroll", CLUS2, missing="domain"),
    "apiclus2 domains": lambda: survey.mean(apiclus2(), "api00", CLUS2, by="stype"),
    "apiclus2 domain totals": lambda: survey.total(apiclus2(), "enroll", CLUS2, by="stype", missing="domain"),
    "apiclus2 quantiles": lambda: survey.quantiles(apiclus2(), "api00", CLUS2, (0.25, 0.5, 0.75)).estimate,
    "apiclus2 without fpc": lambda: survey.mean(apiclus2(), "api00", Design(weights="pw", psu=("dnum", "snum"))),
    "nhanes mean": lambda: survey.mean(nhanes(), "HI_CHOL", NHANES, missing="domain"),
    "nhanes total": lambda: survey.total(nhanes(), "HI_CHOL", NHANES, missing="domain"),
    "nhanes domains": lambda: survey.mean(nhanes(), "HI_CHOL", NHANES, by=("RIAGENDR", "race"), missing="domain"),
    "nhanes proportions": lambda: by_category(survey.proportions(nhanes(), "agecat", NHANES, by="race"), 4),
    "nhanes2 domains": lambda: survey.mean(nhanes2(), "zinc", NHANES2, by="region", missing="domain"),
    "nhanes2 quantiles": lambda: (
        survey.quantiles(nhanes2(), "zinc", NHANES2, (0.1, 0.5, 0.9), missing="domain").estimate
    ),
    "nhanes2 domain quantiles": lambda: (
        survey.quantiles(nhanes2(), "zinc", NHANES2, 0.5, by="region", missing="domain").estimate
    ),
    "brr mean": lambda: survey.mean(halves(), "height", HALVES),
    "brr total": lambda: survey.total(halves(), "weight", HALVES),
    "brr ratio": lambda: survey.ratio(halves(), "weight", "height", HALVES),
    "brr domains": lambda: survey.mean(halves(), "weight", HALVES, by="tall"),
    "brr proportions": lambda: survey.proportions(halves(), "tall", HALVES),
    "brr quantiles": lambda: survey.quantiles(halves(), "height", HALVES, (0.25, 0.5)).estimate,
    "brr around the estimate": lambda: survey.ratio(
        halves(), "weight", "height", ReplicateDesign("finalwgt", BRR, "brr", center="estimate")
    ),
    "fay ratio": lambda: survey.ratio(fay_weights(), "weight", "height", FAY),
    "jkn ratio": lambda: survey.ratio(
        read("nhanes2_nmihs", "nhanes2jk"),
        "weight",
        "height",
        ReplicateDesign("finalwgt", JKW, "jkn", rscales=(0.5,) * 62),
    ),
    "bootstrap mean": lambda: survey.mean(
        read("nhanes2_nmihs", "nmihs"), "birth_weight", ReplicateDesign("finalwgt", BSR, "bootstrap")
    ),
    "jk1 mean": lambda: survey.mean(twenty_schools(), "api00", ReplicateDesign("pw", LEFT_OUT, "jk1")),
    "one psu certainty mean": lambda: survey.mean(one_high_school(), "api00", lonely("certainty")),
    "one psu certainty total": lambda: survey.total(one_high_school(), "api00", lonely("certainty")),
    "one psu adjust mean": lambda: survey.mean(one_high_school(), "api00", lonely("adjust")),
    "one psu adjust total": lambda: survey.total(one_high_school(), "api00", lonely("adjust")),
}


@cache
def found(case: str) -> Estimate:
    return CASES[case]()


@pytest.fixture(scope="module", params=["stored", "R"])
def reference(request: pytest.FixtureRequest) -> dict[str, Reference]:
    folder: Path = data_folder()
    return stored() if request.param == "stored" else from_r(folder)


@pytest.mark.parametrize("case", CASES)
def test_estimates_and_errors_are_those_of_r(case: str, reference: dict[str, Reference]) -> None:
    ours, theirs = found(case), reference[case]
    np.testing.assert_allclose(ours.value, theirs.estimate, rtol=1e-8)
    np.testing.assert_allclose(ours.standard_error, theirs.error, rtol=1e-8)


@pytest.mark.parametrize(
    "case", ["apistrat mean", "apiclus2 mean", "nhanes mean", "brr mean", "bootstrap mean", "jkn ratio"]
)
def test_degrees_of_freedom_are_those_of_r(case: str, reference: dict[str, Reference]) -> None:
    assert found(case).df[0] == reference[case].df


def test_covariance_between_domains_is_that_of_r(reference: dict[str, Reference]) -> None:
    ours = survey.mean(apistrat(), "api00", STRAT, by="awards")
    np.testing.assert_allclose(ours.covariance.ravel(), reference["apistrat covariance"].error, rtol=1e-8)


def test_woodruff_intervals_are_those_of_r(reference: dict[str, Reference]) -> None:
    ours = survey.quantiles(apistrat(), "api00", STRAT, (0.25, 0.5, 0.9))
    theirs = reference["apistrat quantile intervals"]
    np.testing.assert_allclose(ours.lower, theirs.estimate, rtol=1e-8)
    np.testing.assert_allclose(ours.upper, theirs.error, rtol=1e-8)


def test_the_stored_values_are_those_that_r_gives_now() -> None:
    fresh, kept = from_r(data_folder()), stored()
    assert fresh.keys() == kept.keys()
    for case, one in kept.items():
        np.testing.assert_allclose(fresh[case].estimate, one.estimate, rtol=1e-10)
        np.testing.assert_allclose(fresh[case].error, one.error, rtol=1e-10)


def test_every_stored_value_is_compared() -> None:
    elsewhere = {"apistrat covariance", "apistrat quantile intervals"}
    assert set(stored()) == set(CASES) | elsewhere
