"""Survey estimators without R: identities they must satisfy, and designs they must refuse."""

from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from tacita.errors import UsageError
from tacita.inference import survey
from tacita.inference.survey import Design, ReplicateDesign, preston_weights


def sample(n: int = 240) -> pd.DataFrame:
    rng = np.random.default_rng(4)
    frame = pd.DataFrame({"region": np.repeat(["a", "b", "c"], n // 3), "school": np.arange(n) // 8})
    frame["w"] = np.repeat([5.0, 8.0, 3.0], n // 3)
    frame["sex"] = rng.choice(["f", "m"], n)
    frame["pay"] = rng.normal(20, 5, n) + 2.0 * rng.normal(size=n // 8)[frame["school"]]
    return frame


FRAME = sample()
DESIGN = Design(weights="w", strata="region", psu="school")


def test_the_linearised_variance_of_a_mean_written_out() -> None:
    """Residuals w·(y − mean)/N̂, summed by cluster, n/(n − 1) per stratum."""
    found = survey.mean(FRAME, "pay", DESIGN)
    w, y = FRAME["w"], FRAME["pay"]
    mean = (w * y).sum() / w.sum()
    residual = (w * (y - mean) / w.sum()).groupby([FRAME["region"], FRAME["school"]]).sum()
    variance = sum(len(z) / (len(z) - 1) * ((z - z.mean()) ** 2).sum() for _, z in residual.groupby(level=0))
    assert found.value[0] == pytest.approx(mean)
    assert found.variances[0] == pytest.approx(variance)
    assert found.df[0] == 30 - 3


def test_domain_totals_add_up_with_their_covariances() -> None:
    parts, whole = survey.total(FRAME, "pay", DESIGN, by=["sex", "region"]), survey.total(FRAME, "pay", DESIGN)
    assert parts.names[0] == "sex=f, region=a"
    assert parts.value.sum() == pytest.approx(whole.value[0])
    assert parts.covariance.sum() == pytest.approx(whole.variances[0])


def test_proportions_sum_to_one_without_error() -> None:
    found = survey.proportions(FRAME, "region", DESIGN, by="sex")
    assert found.value.reshape(2, 3).sum(axis=1) == pytest.approx([1, 1])
    assert found.covariance[:3, :3].sum() == pytest.approx(0, abs=1e-15)


def test_a_census_has_no_variance_and_weights_follow_from_its_size() -> None:
    everyone = survey.mean(FRAME.assign(size=80), "pay", Design(strata="region", fpc="size"))
    assert everyone.value[0] == pytest.approx(FRAME["pay"].mean())
    assert everyone.variances[0] == 0


def test_fractions_say_the_same_as_sizes() -> None:
    sized = survey.mean(FRAME.assign(size=400.0), "pay", Design(strata="region", fpc="size"))
    share = survey.mean(FRAME.assign(size=0.2), "pay", Design(strata="region", fpc="size"))
    assert sized.variances[0] == pytest.approx(share.variances[0])


def test_the_same_cluster_code_in_two_strata_is_two_clusters() -> None:
    renamed = FRAME.assign(school=FRAME["school"] % 10)
    assert survey.mean(renamed, "pay", DESIGN).variances == pytest.approx(survey.mean(FRAME, "pay", DESIGN).variances)


def test_rows_without_a_value_are_an_error_or_another_domain() -> None:
    holes = FRAME.assign(pay=FRAME["pay"].where(FRAME["sex"] == "f"))
    with pytest.raises(UsageError, match='pay: has missing values; write missing="domain"'):
        survey.mean(holes, "pay", DESIGN)
    found, domain = survey.mean(holes, "pay", DESIGN, missing="domain"), survey.mean(FRAME, "pay", DESIGN, by="sex")
    assert found.value[0] == pytest.approx(domain.value[0])
    assert found.variances[0] == pytest.approx(domain.variances[0])


def test_an_arrow_table_is_a_frame() -> None:
    assert survey.mean(pa.Table.from_pandas(FRAME), "pay", DESIGN).value == survey.mean(FRAME, "pay", DESIGN).value


def test_quantile_ends_are_infinite_where_the_share_leaves_its_range() -> None:
    found = survey.quantiles(FRAME.iloc[:20], "pay", Design(weights="w"), 0.02)
    assert found.lower[0] == -np.inf
    assert np.isfinite(found.upper[0])


# ------------------------------------------------------------ replicate weights


def with_replicates(frame: pd.DataFrame, weights: Any) -> tuple[pd.DataFrame, tuple[str, ...]]:
    names = tuple(f"r{number}" for number in range(weights.shape[1]))
    return pd.concat([frame, pd.DataFrame(weights, columns=list(names), index=frame.index)], axis=1), names


@pytest.mark.parametrize("clusters", ["even", "odd"])
def test_half_samples_estimate_the_linearised_variance(clusters: str) -> None:
    frame = FRAME if clusters == "even" else FRAME[~FRAME["school"].isin([0, 10, 20])]
    weights = preston_weights(frame, DESIGN, 1500, np.random.default_rng(1))
    wide, names = with_replicates(frame, weights)
    for estimate in (survey.total, survey.mean):
        exact = estimate(frame, "pay", DESIGN).variances[0]
        found = estimate(wide, "pay", ReplicateDesign("w", names, "preston")).variances[0]
        assert found == pytest.approx(exact, rel=0.15)


def test_half_samples_keep_the_size_of_every_stratum() -> None:
    weights = preston_weights(FRAME, DESIGN, 5, np.random.default_rng(2))
    for region, size in FRAME.groupby("region")["w"].sum().items():
        assert weights[FRAME["region"] == region].sum(axis=0) == pytest.approx(np.full(5, size))
    assert set(np.unique(weights / FRAME["w"].to_numpy()[:, None])) == {0.0, 2.0}


def test_half_samples_know_the_finite_population() -> None:
    frame = FRAME.assign(schools=12.0)
    design = Design(weights="w", strata="region", psu="school", fpc="schools")
    wide, names = with_replicates(frame, preston_weights(frame, design, 1500, np.random.default_rng(3)))
    found = survey.total(wide, "pay", ReplicateDesign("w", names, "preston")).variances[0]
    assert found == pytest.approx(survey.total(frame, "pay", design).variances[0], rel=0.15)


def test_a_domain_that_some_replicate_lacks_is_an_error_or_drops_the_replicate() -> None:
    frame = pd.DataFrame({"y": [1.0, 2.0, 3.0, 4.0], "w": 1.0, "d": ["a", "b", "b", "b"]})
    wide, names = with_replicates(frame, np.array([[2.0, 0, 2, 2], [0, 2, 0, 2], [2, 0, 2, 0], [0, 2, 0, 0]]))
    with pytest.raises(UsageError, match=r"by: 1 replicates give no weight"):
        survey.mean(wide, "y", ReplicateDesign("w", names, "brr"), by="d")
    kept = survey.mean(wide, "y", ReplicateDesign("w", names, "brr", empty="drop"), by="d")
    assert np.isfinite(kept.variances).all()


# ------------------------------------------------------------ what is refused


@pytest.mark.parametrize(
    ("act", "said"),
    [
        (lambda: survey.mean(FRAME, "wage", DESIGN), "wage: no such column"),
        (lambda: survey.mean(FRAME, "sex", DESIGN), "sex: is not numeric; use proportions"),
        (lambda: survey.mean(FRAME.iloc[:0], "pay", DESIGN), "frame: has no rows"),
        (lambda: survey.mean([1], "pay", DESIGN), "must be a pandas or Arrow table"),
        (lambda: survey.mean(FRAME, "pay", Design(strata="region")), "weights: name the column"),
        (lambda: survey.mean(FRAME.assign(w=-1.0), "pay", DESIGN), "w: has values below 0"),
        (lambda: survey.mean(FRAME.assign(w=np.nan), "pay", DESIGN), "w: has missing or infinite"),
        (lambda: survey.mean(FRAME.assign(region=None), "pay", DESIGN), "region: has missing values"),
        (lambda: survey.mean(FRAME.assign(w=0.0), "pay", DESIGN), "denominator of all is zero"),
        (
            lambda: survey.mean(FRAME.assign(f=3.0), "pay", Design(strata="region", fpc="f")),
            "f: implies that more units",
        ),
        (lambda: survey.mean(FRAME.assign(f=FRAME["pay"] + 100), "pay", Design(fpc="f")), "f: must have one value"),
        (lambda: survey.mean(FRAME, "pay", Design(weights="w", strata="school", psu="region")), "single sampled unit"),
        (lambda: survey.mean(FRAME, "pay", Design(weights="w", fpc=("a", "b"))), "at most one column per stage"),
        (lambda: survey.mean(FRAME.assign(sex=None), "pay", DESIGN, by="sex"), "by: every row lacks"),
        (lambda: survey.quantiles(FRAME, "pay", DESIGN, 1.0), "p: must lie strictly"),
        (lambda: ReplicateDesign("w", ("a",), "brr"), "at least two columns"),
        (lambda: ReplicateDesign("w", ("a", "b"), "fay"), "fay: give the factor"),
        (lambda: ReplicateDesign("w", ("a", "b"), "jkn"), "rscales: jkn needs"),
        (lambda: ReplicateDesign("w", ("a", "b"), "brr", rscales=(1.0,)), "rscales: 1 given for 2"),
        (lambda: preston_weights(FRAME, DESIGN, 1, np.random.default_rng(1)), "at least two"),
    ],
)
def test_wrong_designs_are_refused_with_the_reason(act: Any, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        act()


def test_errors_quote_no_value() -> None:
    secret = FRAME.assign(w=-987654.25)
    with pytest.raises(UsageError) as caught:
        survey.mean(secret, "pay", DESIGN)
    assert "987654" not in str(caught.value)
