"""Contributor rules against a loop over cells, and the canary bound against mechanisms whose ε is known."""

import math

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from tacita.errors import UsageError
from tacita.evaluation.encoding import compare
from tacita.evaluation.risk import Dominance, PPercent, canary_bound, detection_power, given_away_cells, sensitive_cells
from tacita.evaluation.risk.canary import Draw
from tacita.evaluation.risk.contributors import Cells


def establishments(n: int, seed: int) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "place": rng.integers(0, 30, n).astype(str),
            "sector": rng.choice(list("ab"), n),
            "jobs": np.where(rng.random(n) < 0.1, 0, np.round(rng.lognormal(2, 1.5, n))),
        }
    )


@pytest.mark.parametrize("rule", [PPercent(10), PPercent(50), Dominance(1, 75), Dominance(3, 90)], ids=str)
def test_sensitive_cells_agree_with_a_loop_over_cells(rule: PPercent | Dominance) -> None:
    frame = establishments(300, 1)
    sensitive = cells = 0
    for _, cell in frame.groupby(["place", "sector"]):
        jobs = sorted(cell.jobs[cell.jobs > 0], reverse=True)
        if not jobs:
            continue
        cells += 1
        if isinstance(rule, PPercent):
            sensitive += sum(jobs) - sum(jobs[:2]) < rule.p / 100 * jobs[0]
        else:
            sensitive += sum(jobs[: rule.n]) > rule.k / 100 * sum(jobs)
    score = sensitive_cells(["place", "sector"], "jobs", rule)(compare(frame, frame))
    assert 0 < sensitive < cells
    assert (score.details["sensitive"], score.details["cells"]) == (sensitive, cells)
    assert score.value == pytest.approx(sensitive / cells)


def test_an_exact_release_gives_every_sensitive_cell_away_and_a_distorted_one_does_not() -> None:
    frame = establishments(300, 2)
    exact = given_away_cells(["place", "sector"], "jobs")(compare(frame, [frame, frame]))
    assert exact.details["given away"] == exact.details["sensitive"] > 0
    doubled = given_away_cells(["place", "sector"], "jobs")(compare(frame, frame.assign(jobs=frame.jobs * 2)))
    assert doubled.details["given away"] == 0
    assert doubled.details["sensitive"] == exact.details["sensitive"]


def test_one_cell_by_hand() -> None:
    """90, 6, 4: the second takes 6 from the total 100 and is at 94, within 10% of 90 but not within 4%."""
    frame = pd.DataFrame({"place": ["x"] * 3, "jobs": [90.0, 6.0, 4.0]})
    for p, expected in ((10, 1.0), (4, 0.0)):
        assert sensitive_cells(["place"], "jobs", PPercent(p))(compare(frame, frame)).value == expected
    noisy = frame.assign(jobs=[85.0, 6.0, 4.0])  # released 95: estimate 89
    assert given_away_cells(["place"], "jobs", PPercent(10))(compare(frame, noisy)).value == 1
    noisy = frame.assign(jobs=[110.0, 6.0, 4.0])  # released 120: estimate 114
    assert given_away_cells(["place"], "jobs", PPercent(10))(compare(frame, noisy)).value == 0
    assert Dominance(1, 80).within == pytest.approx(25)


def test_awkward_contributions_are_named() -> None:
    frame = establishments(20, 3)
    for bad in (frame.assign(jobs=0.0), frame.assign(jobs=np.nan)):
        with pytest.raises(UsageError, match="jobs: nobody contributes"):
            sensitive_cells(["place"], "jobs")(compare(bad, frame))
    with pytest.raises(UsageError, match="not negative"):
        sensitive_cells(["place"], "jobs")(compare(frame.assign(jobs=-1.0), frame))
    with pytest.raises(UsageError, match="sector: contributions must be numbers"):
        sensitive_cells(["place"], "sector")(compare(frame, frame))
    with pytest.raises(UsageError, match="p must lie"):
        PPercent(0)
    with pytest.raises(UsageError, match="rule"):
        Dominance(0, 75)
    with pytest.raises(UsageError, match="one cell per contribution"):
        Cells.of(np.array([1]), np.array([1.0, 2.0]))


# ------------------------------------------------------------------ canary


def laplace(epsilon: float, noise: float = 1.0) -> Draw:
    """A count with Laplace noise of scale `noise`/ε: ε-private for noise = 1, (ε/noise)-private in truth."""

    def draw(canary_in: bool, count: int, rng: np.random.Generator) -> np.ndarray:
        return rng.laplace(float(canary_in), noise / epsilon, count)

    return draw


def randomised_response(epsilon: float) -> Draw:
    truth = math.exp(epsilon) / (1 + math.exp(epsilon))

    def draw(canary_in: bool, count: int, rng: np.random.Generator) -> np.ndarray:
        return (rng.random(count) < (truth if canary_in else 1 - truth)).astype(float)

    return draw


@pytest.mark.parametrize(
    ("mechanism", "epsilon"), [(laplace(1.0), 1.0), (laplace(0.3), 0.3), (randomised_response(1.0), 1.0)]
)
def test_bound_of_a_correct_mechanism_exceeds_its_epsilon_no_more_often_than_it_says(
    mechanism: Draw, epsilon: float
) -> None:
    """300 experiments at 90%: more than 51 wrong bounds would happen by chance less than once in 10,000."""
    assert stats.binom.sf(51, 300, 0.1) < 1e-4
    bounds = [canary_bound(mechanism, trials=400, confidence=0.9, seed=seed).epsilon for seed in range(300)]
    assert sum(bound > epsilon for bound in bounds) <= 51
    assert max(bounds) > epsilon / 3  # a bound that is always 0 would be true and useless


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 2.0])
def test_a_mechanism_with_a_fifth_of_its_noise_missing_is_refuted(epsilon: float) -> None:
    found = canary_bound(laplace(epsilon, noise=0.8), trials=40_000, seed=4)
    assert epsilon < found.epsilon <= epsilon / 0.8
    assert found.refutes(epsilon)
    assert not canary_bound(laplace(epsilon), trials=40_000, seed=4).refutes(epsilon)


def test_power_is_what_simulated_experiments_show() -> None:
    """The event is known in the formula and searched for in the experiment, so the formula is a near upper limit."""
    predicted = detection_power(1.0, 1.25, trials=1500)
    refuted = np.mean([canary_bound(laplace(1.0, 0.8), trials=1500, seed=seed).refutes(1.0) for seed in range(100)])
    assert 0.8 < predicted < 0.95
    assert predicted - 0.3 < refuted < predicted + 0.1
    # Too few trials find nothing, and the result says how much it could have found at most.
    small = canary_bound(laplace(5.0), trials=50, seed=5)
    assert small.ceiling < 5.0
    assert not small.refutes(5.0)


def test_direction_and_delta_are_handled() -> None:
    def lowered(canary_in: bool, count: int, rng: np.random.Generator) -> np.ndarray:
        return rng.laplace(-float(canary_in), 1.0, count)

    found = canary_bound(lowered, trials=5000, seed=6)
    assert 0.8 < found.epsilon < 1

    def leaky(canary_in: bool, count: int, rng: np.random.Generator) -> np.ndarray:
        """Shows the canary in 5% of runs and is silent otherwise: (0, 0.05)-private, and not ε-private for any ε."""
        return (rng.random(count) < 0.05 * canary_in).astype(float)

    assert canary_bound(leaky, trials=5000, seed=7).epsilon > 3
    assert canary_bound(leaky, trials=5000, delta=0.06, seed=7).epsilon == 0


def test_a_constant_mechanism_shows_nothing_and_bad_draws_are_refused() -> None:
    nothing = canary_bound(lambda canary_in, count, rng: np.zeros(count), trials=100)
    assert nothing.epsilon == 0
    frame = pd.DataFrame({"x": [1]})
    assert nothing.metric(compare(frame, frame)).value == 0
    with pytest.raises(UsageError, match="not a number"):
        canary_bound(lambda canary_in, count, rng: np.full(count, np.nan), trials=100)
    with pytest.raises(UsageError, match="must return"):
        canary_bound(lambda canary_in, count, rng: np.zeros(3), trials=100)
    with pytest.raises(UsageError, match="too few"):
        canary_bound(laplace(1.0), trials=3)
