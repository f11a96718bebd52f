"""Models of numbers: laws, tails, relations, the variance of a chain, parameter draws."""

import numpy as np
import pytest
from scipy.special import ndtri
from scipy.stats import norm

from support.goodness_of_fit import values_p_value
from tacita.errors import UsageError
from tacita.synthesis.panel import NormalRegression, NumberTree, QuantileRegression
from tacita.synthesis.panel.numbers import Scale
from tacita.synthesis.panel.predictors import Column, Predictors
from tacita.synthesis.panel.scores import NormalScores

WHOLE = Scale(0.0, 1e6, 1.0)


def random(seed: int = 1) -> np.random.Generator:
    return np.random.default_rng(seed)


def sizes(rows: int, seed: int = 1) -> np.ndarray:
    return np.round(np.exp(random(seed).normal(1.5, 1.2, rows)))


def growing(rows: int = 20_000, seed: int = 1) -> tuple[np.ndarray, Predictors]:
    """This year's size given last year's: fat tails, smaller steps for larger units, some stand still."""
    source = random(seed)
    before = sizes(rows, seed) + 1
    kind = source.integers(0, 2, rows)
    step = source.laplace(0, 0.3 * before**-0.15) + 0.1 * kind
    now = np.where(source.random(rows) < 0.2, before, np.round(before * np.exp(step)))
    columns = {"jobs before": Column(before), "kind": Column(kind, 2)}
    return np.maximum(now, 1.0), Predictors(rows, columns)


CHAIN = NormalRegression(("jobs before", "kind"), relative_to="jobs before")
MODELS = {
    "normal": CHAIN,
    "quantile": QuantileRegression(("jobs before", "kind"), relative_to="jobs before"),
    "tree": NumberTree(("jobs before", "kind")),
}
# Straight planes miss that larger units move less.
FLOWS = {"normal": 0.05, "quantile": 0.15, "tree": 0.10}


# ---------------------------------------------------------------- normal scores


def test_scores_of_any_law_are_normal_and_go_back() -> None:
    values = np.log1p(random().pareto(1.5, 5000))
    law = NormalScores.of(values)
    scores = law.scores_of(values)
    assert values_p_value(scores, norm.cdf) > 0.01
    back, atoms = law.values_of(scores)
    assert back == pytest.approx(values, abs=1e-6)
    assert not atoms.any()


@pytest.mark.parametrize("rows", [200, 5000])
def test_the_kernel_keeps_the_mean_of_a_heavy_tail(rows: int) -> None:
    """A kernel on the log scale would raise every total by half its variance."""
    values = random().normal(2, 1.3, rows)
    law = NormalScores.of(values)
    even = (np.arange(200_000) + 0.5) / 200_000
    drawn, _ = law.values_of(ndtri(even))
    assert np.exp(drawn).mean() == pytest.approx(np.exp(values).mean(), rel=0.01)
    assert drawn.std() == pytest.approx(values.std(), rel=0.02)


def test_an_atom_keeps_its_share_and_nothing_lies_beyond_the_reach_of_a_record() -> None:
    law = NormalScores.of(random().normal(0, 1, 1000), atom=0.3)
    _, atoms = law.values_of(random(2).normal(0, 1, 50_000))
    assert atoms.mean() == pytest.approx(0.3, abs=0.01)
    top, _ = law.values_of(np.array([40.0]))
    assert top[0] < 4.5
    assert NormalScores.of(np.zeros(0), atom=1.0).values_of(np.zeros(3))[1].all()
    same, _ = NormalScores.of(np.full(50, 2.0)).values_of(np.array([-3.0, 0.0, 3.0]))
    assert same == pytest.approx(2.0, abs=0.01)


# ---------------------------------------------------------------- all models


@pytest.mark.parametrize("name", MODELS)
def test_growth_totals_and_correlation_are_those_of_the_data(name: str) -> None:
    now, given = growing()
    before = given.columns["jobs before"].values
    drawn = WHOLE.published(MODELS[name].fit(now, given, WHOLE, random()).draw(given, random(2)))
    assert drawn.sum() == pytest.approx(now.sum(), rel=0.02)
    assert np.corrcoef(drawn, before)[0, 1] == pytest.approx(np.corrcoef(now, before)[0, 1], abs=0.02)
    for truth, made in ((now - before, drawn - before), (before - now, before - drawn)):
        assert np.maximum(made, 0).sum() == pytest.approx(np.maximum(truth, 0).sum(), rel=FLOWS[name])
    one = given.columns["kind"].values == 1
    assert np.log1p(drawn[one]).mean() - np.log1p(now[one]).mean() == pytest.approx(0, abs=0.03)


@pytest.mark.parametrize("name", MODELS)
def test_every_file_has_parameters_of_its_own(name: str) -> None:
    now, given = growing()
    few = given.at(np.arange(300))
    fitted = MODELS[name].fit(now[:300], few, WHOLE, random())
    one = given.columns["kind"].values == 1
    base = given.columns["jobs before"].values

    def effect(seed: int) -> float:
        growth = np.log1p(fitted.draw(given, random(seed))) - np.log1p(base)
        return float(growth[one].mean() - growth[~one].mean())

    effects = [effect(seed) for seed in range(25)]
    sampling = 2 * 0.4 / np.sqrt(len(base))
    assert np.std(effects) > 2 * sampling


@pytest.mark.parametrize("name", MODELS)
def test_births_have_no_year_before(name: str) -> None:
    jobs = sizes(3000)
    births = Predictors(3000, {"kind": Column(random().integers(0, 2, 3000), 2)})
    drawn = WHOLE.published(MODELS[name].fit(jobs, births, WHOLE, random()).draw(births, random(1)))
    for share in (0.1, 0.5, 0.9):
        assert np.quantile(drawn, share) == pytest.approx(np.quantile(jobs, share), rel=0.15, abs=1)


# ---------------------------------------------------------------- normal regression


def test_a_chain_of_years_keeps_its_variance_and_mean() -> None:
    """Regression to the mean, or noise on top, would show after many years."""
    random_ = random(5)
    rows = 20_000
    jobs = np.round(np.exp(random_.normal(2, 1, rows))) + 1
    made, truth, synthetic = jobs.copy(), [], []
    for _ in range(25):
        before = jobs
        step = random_.laplace(0, 0.25, rows) + 0.06 * (2.2 - np.log(before))
        jobs = np.maximum(np.floor(before * np.exp(step) + random_.random(rows)), 1)
        fitted = CHAIN.fit(jobs, Predictors(rows, {"jobs before": Column(before)}), WHOLE, random_)
        made = WHOLE.published(fitted.draw(Predictors(rows, {"jobs before": Column(made)}), random_))
        truth.append((np.log(jobs).std(), jobs.sum()))
        synthetic.append((np.log(made).std(), made.sum()))
    assert np.array(synthetic)[:, 0] == pytest.approx(np.array(truth)[:, 0], rel=0.03)
    assert np.array(synthetic)[:, 1] == pytest.approx(np.array(truth)[:, 1], rel=0.03)


def test_slopes_vary_between_files_as_their_posterior_does() -> None:
    source = random()
    rows = 400
    kind = source.integers(0, 2, rows)
    pay = np.exp(source.normal(3 + 0.5 * kind, 1, rows))
    given = Predictors(rows, {"kind": Column(kind, 2)})
    fine = Scale(0.0, 1e9, 1e-6)
    fitted = NormalRegression(("kind",)).fit(pay, given, fine, random())
    (part,) = fitted.parts
    slopes = np.array([part.drawn(random(seed), proper=False)[1] for seed in range(2000)])
    # One standardised predictor: the classical standard error is the residual spread over √n.
    assert slopes.std() == pytest.approx(part.sigma / np.sqrt(rows), rel=0.06)
    assert slopes.mean() == pytest.approx(part.beta[0], abs=0.01)
    levels = np.array([part.drawn(random(seed), proper=True)[0] for seed in range(2000)])
    assert levels.std() == pytest.approx(part.sigma / np.sqrt(rows), rel=0.06)


def test_nobody_stays_nobody_where_the_data_say_so() -> None:
    """Zeros are an atom of their own: their share is kept, and no other class makes them."""
    before = np.repeat([0.0, 1.0, 50.0], 4000)
    now = np.where(before == 0, random().binomial(1, 0.4, 12_000) * 3.0, before + random(2).integers(0, 5, 12_000))
    given = Predictors(12_000, {"jobs before": Column(before)})
    drawn = WHOLE.published(CHAIN.fit(now, given, WHOLE, random()).draw(given, random(3)))
    assert (drawn[before == 0] == 0).mean() == pytest.approx(0.6, abs=0.02)
    assert (drawn[before > 0] > 0).all()


def test_a_file_does_not_extrapolate() -> None:
    """Units far outside what was seen grow like the largest that were."""
    now, given = growing()
    fitted = CHAIN.fit(now, given, WHOLE, random())
    far = Predictors(200, {"jobs before": Column(np.full(200, 3e5)), "kind": Column(np.ones(200, dtype=np.int64), 2)})
    growth = np.log(fitted.draw(far, random(1)) / 3e5)
    top = given.columns["jobs before"].values > np.quantile(given.columns["jobs before"].values, 0.99)
    seen = np.log(now[top] / given.columns["jobs before"].values[top])
    assert abs(growth).max() <= abs(seen).max() + 0.3


def test_wrong_settings_are_refused() -> None:
    with pytest.raises(UsageError, match="least"):
        NormalRegression(least=3)
    with pytest.raises(UsageError, match="bounds"):
        NormalRegression(bounds=(5, 1))
    with pytest.raises(UsageError, match="planes"):
        QuantileRegression(planes=1)


def test_trees_yield_values_of_donors_only() -> None:
    now, given = growing(2000)
    drawn = NumberTree(("jobs before",)).fit(now, given, WHOLE, random()).draw(given, random(1))
    assert set(drawn) <= set(now)


def test_growth_does_not_fall_short_where_few_units_are_drawn_at_once() -> None:
    """A year of a small group: totals of many small draws are those of the units, tails included."""
    response, given = growing(8_000)
    fitted = CHAIN.fit(response, given, WHOLE, random())
    source, total, logs = random(2), 0.0, 0.0
    for start in range(0, 8_000, 400):
        made = WHOLE.published(fitted.draw(given.at(np.arange(start, start + 400)), source))
        total, logs = total + made.sum(), logs + np.log(np.maximum(made, 1)).sum()
    assert total == pytest.approx(response.sum(), rel=0.004)
    assert logs / 8_000 == pytest.approx(np.log(response).mean(), abs=0.004)
