"""The non-private baseline of tran2023 scores as printed: that calibrates the metrics."""

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import linprog

from tacita.evaluation import compare
from tacita.evaluation.marginals import k_marginal_six_bins
from tacita.evaluation.propensity import pmse
from tacita.evaluation.wasserstein import wasserstein_ratio
from tacita_studies.tran2023.simulation import QUANTILES, check_loss, quantile_planes, simulate, synthesize

REPLICATES = 20


def nrmse(fitted_on: pd.DataFrame, tested_on: pd.DataFrame, response: str, predictors: list[str]) -> float:
    """Root mean squared error of a linear regression on other rows, over the response's standard deviation there."""

    def design(frame: pd.DataFrame) -> np.ndarray:
        return np.column_stack([np.ones(len(frame)), frame[predictors]])

    beta = np.linalg.lstsq(design(fitted_on), fitted_on[response], rcond=None)[0]
    error = tested_on[response] - design(tested_on) @ beta
    return float(np.sqrt(np.mean(error**2)) / tested_on[response].std())


@pytest.fixture(scope="module")
def means() -> dict[str, float]:
    metrics = {
        "without": pmse(),
        "with": pmse(interactions=True),
        "k-marginal": k_marginal_six_bins(),
        "wasserstein": wasserstein_ratio(permutations=50),
    }
    found: dict[str, list[float]] = {name: [] for name in (*metrics, "x2", "x3")}
    for seed in range(REPLICATES):
        training, testing = simulate(seed=seed)
        synthetic = synthesize(training, seed=1000 + seed)
        comparison = compare(training, synthetic)
        for name, metric in metrics.items():
            found[name].append(metric(comparison).value)
        found["x2"].append(nrmse(synthetic, testing, "x2", ["x1"]))
        found["x3"].append(nrmse(synthetic, testing, "x3", ["x1", "x2"]))
    return {name: float(np.mean(values)) for name, values in found.items()}


@pytest.mark.parametrize(
    ("name", "printed", "within"),
    [
        ("without", 0.0003, 0.0001),
        ("with", 0.0004, 0.0001),
        ("k-marginal", 952.34, 5),
        ("wasserstein", 2.86, 0.4),
        ("x2", 0.317, 0.003),
        ("x3", 0.193, 0.003),
    ],
)
def test_the_first_rows_of_tables_1_and_2(means: dict[str, float], name: str, printed: float, within: float) -> None:
    assert means[name] == pytest.approx(printed, abs=within)


def test_drawing_all_quantiles_evenly_would_score_better_than_printed() -> None:
    scores = []
    for seed in range(4):
        training, _ = simulate(seed=seed)
        scores.append(pmse()(compare(training, synthesize(training, seed=seed, evenly=True))).value)
    assert float(np.mean(scores)) < 0.0001


def test_the_quantiles_are_the_papers() -> None:
    assert len(QUANTILES) == 49
    assert QUANTILES[:2] == (0.01, 0.03)
    assert QUANTILES[23:26] == (0.47, 0.5, 0.53)
    assert QUANTILES[-2:] == (0.97, 0.99)


@pytest.mark.parametrize("quantile", [0.01, 0.5, 0.99])
def test_quantile_regression_reaches_the_optimum_of_the_linear_programme(quantile: float) -> None:
    training, _ = simulate(400, seed=3)
    design = np.column_stack([np.ones(400), training.x1, training.x2])
    response = training.x3.to_numpy()
    best = linprog(-response, A_eq=design.T, b_eq=(1 - quantile) * design.sum(axis=0), bounds=(0, 1), method="highs")
    (plane,) = quantile_planes(design[:, 1:], response, [quantile])
    least = check_loss(response + design @ best.eqlin.marginals, quantile)
    assert check_loss(response - design @ plane, quantile) == pytest.approx(least, rel=1e-12)
    assert np.count_nonzero(np.abs(response - design @ plane) < 1e-8) == 3  # a vertex passes through three records


def test_without_predictors_the_plane_is_the_sample_quantile() -> None:
    values = np.random.default_rng(1).exponential(10, 501)
    planes = quantile_planes(np.zeros((501, 0)), values, [0.25, 0.9])
    for quantile, (value,) in zip([0.25, 0.9], planes, strict=True):
        assert np.mean(values <= value) >= quantile
        assert np.mean(values < value) < quantile


def test_files_depend_on_their_seed_only() -> None:
    training, testing = simulate(200, seed=1)
    assert not training.equals(testing)
    pd.testing.assert_frame_equal(training, simulate(200, seed=1)[0])
    pd.testing.assert_frame_equal(synthesize(training, seed=2), synthesize(training, seed=2))
    assert not synthesize(training, seed=2).equals(synthesize(training, seed=3))
