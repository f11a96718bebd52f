"""Paper mode scores as printed in tran2023's Table 1, and says that it protects nothing."""

from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest

from tacita.evaluation import compare
from tacita.evaluation.marginals import k_marginal_six_bins
from tacita.mechanisms.kng.convergence import bulk_ess, split_rhat
from tacita.noise.entropy import SeededEntropy
from tacita.privacy import AddRemoveOne, ReplaceOne
from tacita_studies.kng import paper
from tacita_studies.kng.budget import QUANTILES
from tacita_studies.kng.chain import start_stream

PRINTED = {
    ("stepwise", "fixed"): 743.62,
    ("stepwise", "varying"): 531.40,
    ("sandwich", "fixed"): 762.32,
    ("sandwich", "varying"): 743.99,
    ("plain", "varying"): 49.30,
}
TINY = Fraction(1, 10**9)


def simulated(seed: int, rows: int = 5000) -> pd.DataFrame:
    x1, xi, gamma = np.random.default_rng(seed).exponential(10.0, (3, rows))
    x2 = 4 + 3 * x1 + xi
    return pd.DataFrame({"x1": x1, "x2": x2, "x3": 3 + 2 * x1 + x2 + gamma})


def scores(kind: Any, slope: Any, replicates: int, **given: Any) -> list[float]:
    metric, found = k_marginal_six_bins(), []
    for seed in range(replicates):
        training = simulated(seed)
        made = paper.paper_synthesis(training, kind, slope, entropy=SeededEntropy(seed), **given)
        found.append(metric(compare(training, made)).value)
    return found


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "slope"), PRINTED)
def test_the_k_marginal_of_table_1(kind: str, slope: str) -> None:
    assert float(np.mean(scores(kind, slope, 10))) == pytest.approx(PRINTED[kind, slope], abs=60)


@pytest.mark.slow
def test_most_of_a_printed_score_is_there_without_any_budget() -> None:
    """Stepwise with varying slopes hardly leaves its start; from a start that reveals nothing it scores far less."""
    without_budget = float(np.mean(scores("stepwise", "varying", 6, epsilon=TINY)))
    assert without_budget > 0.75 * PRINTED["stepwise", "varying"]
    public = float(np.mean(scores("stepwise", "varying", 3, start=paper.public_start(100.0))))
    assert public < 0.25 * PRINTED["stepwise", "varying"]


@pytest.mark.slow
def test_longer_chains_score_far_below_the_printed_row() -> None:
    longer = paper.with_steps(paper.settings("stepwise", "varying"), 10_000)
    assert float(np.mean(scores("stepwise", "varying", 2, chosen=longer))) < PRINTED["stepwise", "varying"] - 150


def test_one_replicate_is_near_the_printed_row() -> None:
    assert scores("sandwich", "fixed", 1)[0] == pytest.approx(PRINTED["sandwich", "fixed"], abs=150)


@pytest.mark.parametrize(("kind", "slope"), paper.LAYOUTS)
def test_paper_mode_says_that_it_has_no_guarantee_and_what_the_formula_costs(kind: Any, slope: Any) -> None:
    promise = paper.paper_guarantee(kind, slope)
    assert str(promise) == "no guarantee"
    assert promise.holds == "never"
    (why,) = promise.assumes
    assert "chain not converged, starts not private" in why
    assert f"ε = {float(paper.printed_cost(kind, slope)):.3g}" in why
    assert promise.loss.epsilon == paper.printed_cost(kind, slope) > Fraction(3, 2)


def test_the_cost_of_the_printed_formula_by_hand() -> None:
    """Plain: 49 equal shares of 0.5, 0.25 and 0.25, each inflated by 1/(2(1 − τ)), or max(τ, 1 − τ)/(2(1 − τ))."""
    replaced = sum(Fraction(1, 49) / (2 * (1 - tau)) for tau in QUANTILES)
    added = sum(Fraction(1, 49) * max(tau, 1 - tau) / (2 * (1 - tau)) for tau in QUANTILES)
    assert paper.printed_cost("plain", "varying", 1, ReplaceOne("firm")) == replaced
    assert paper.printed_cost("plain", "varying", 1, AddRemoveOne("firm")) == added
    assert paper.printed_cost("plain", "varying", 2) == 2 * replaced


def test_a_file_depends_on_its_seed_only_and_runs_at_any_size() -> None:
    training = simulated(1, 200)
    one, two, other = (
        paper.paper_synthesis(training, "sandwich", "varying", entropy=SeededEntropy(seed)) for seed in (1, 1, 2)
    )
    pd.testing.assert_frame_equal(one, two)
    assert not one.equals(other)
    assert one.shape == (200, 3)


@pytest.mark.parametrize(("kind", "slope"), [("stepwise", "fixed"), ("sandwich", "fixed"), ("sandwich", "varying")])
def test_quantiles_keep_their_order_where_it_is_checked(kind: Any, slope: Any) -> None:
    training = simulated(2, 400)
    setting = paper.settings(kind, slope)[1]
    check = np.column_stack([np.ones(50), np.linspace(0, 60, 50)])
    x, y = training[["x1"]].to_numpy(), training["x2"].to_numpy()
    planes = paper.paper_planes(x, y, setting, start_stream(SeededEntropy(1)), check)
    assert (np.diff(planes @ check.T, axis=0) >= 0).all()
    assert (planes[1:] @ check.T <= 1000).all()


def test_the_start_is_the_non_private_median() -> None:
    training = simulated(3, 500)
    x, y = training[["x1"]].to_numpy(), training["x2"].to_numpy()
    plane = paper.median_plane(x, y)
    assert abs(np.mean(y <= plane[0] + plane[1] * x[:, 0]) - 0.5) < 0.01
    still = paper.with_steps([paper.settings("stepwise", "fixed")[1]], 1)[0]
    planes = paper.paper_planes(x, y, still, start_stream(SeededEntropy(1)), None)
    assert planes[24] == pytest.approx(plane)


def test_a_chain_as_short_as_the_paper_s_is_worth_few_independent_draws() -> None:
    training = simulated(4, 1000)
    x, y = training[["x1"]].to_numpy(), training["x2"].to_numpy()
    setting = paper.settings("sandwich", "varying")[1]
    states = np.array([paper.median_chain(x, y, setting, start_stream(SeededEntropy(seed))) for seed in range(4)])
    assert states.shape == (4, 1000, 2)
    assert bulk_ess(states[:, :, 0]) < 40  # of 4,000 states
    assert split_rhat(states[:, :, 0]) > 1.1
