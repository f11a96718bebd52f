"""Draws against an independent long run on densities written out record by record."""

import importlib.util

import numpy as np
import pytest
from scipy.stats import invwishart, matrix_normal, norm

from support.pseudo import stretch
from tacita.errors import RefusedError
from tacita.synthesis.comparison.pseudo import fbp
from tacita.synthesis.comparison.pseudo.fbp import PopulationModel, SampleModel
from tacita.synthesis.comparison.pseudo.nuts import Nuts, check
from tacita.synthesis.survey.moments import Moments

EFFECTS = np.array([[1.0, 0], [1, 1]])
LOW, HIGH = np.array([0.0, 0.0]), np.array([12.0, 9.0])
numpyro_there = pytest.mark.skipif(
    importlib.util.find_spec("numpyro") is None, reason="NumPyro is not installed (extra bayes)"
)


def sample(many: int, seed: int = 4) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    random = np.random.default_rng(seed)
    cell = random.integers(0, 2, many)
    y = 6 + 0.4 * cell + 0.6 * random.standard_normal(many)
    w = 4 - 0.7 * (y - 6) + 0.4 * random.standard_normal(many)
    return np.column_stack([y, w]), cell, random.uniform(0.2, 1.0, many)


def agree(one: np.ndarray, other: np.ndarray, *, effective: float) -> None:
    """Means and spreads within five standard errors of the weaker run."""
    spread = np.maximum(one.std(axis=0), other.std(axis=0))
    assert (np.abs(one.mean(axis=0) - other.mean(axis=0)) <= 5 * spread / effective**0.5).all()
    assert (np.abs(np.log(one.std(axis=0) / other.std(axis=0))) <= 6 / (2 * effective) ** 0.5).all()


def flat(drawn: dict[str, np.ndarray], names: tuple[str, ...]) -> np.ndarray:
    return np.hstack([drawn[name].reshape(len(drawn[name]), -1) for name in names])


def test_closed_form_draws_agree_with_gibbs_steps() -> None:
    z, cell, alpha = sample(60)
    model = SampleModel(EFFECTS, LOW, HIGH)
    drawn = model.draw(Moments.of(z, cell, 2, alpha), np.random.default_rng(1).random((20_000, model.numbers)))
    x, start = EFFECTS[cell], np.array([[6.0, 4.5], [0.0, 0.0]])
    prior_scale, gram = np.diag([0.36, 0.2025]), (x * alpha[:, None]).T @ x
    covariance, kept = np.eye(2), []
    random = np.random.default_rng(2)
    for _ in range(6000):
        precision = gram + 0.01 * np.eye(2)
        centre = np.linalg.solve(precision, (x * alpha[:, None]).T @ z + 0.01 * start)
        b = matrix_normal(centre, np.linalg.inv(precision), covariance).rvs(random_state=random)
        left = z - x @ b
        scale = prior_scale + (left * alpha[:, None]).T @ left + 0.01 * (b - start).T @ (b - start)
        covariance = invwishart(3 + alpha.sum() + 2, scale).rvs(random_state=random)
        kept.append(np.append(b.ravel(), covariance[np.triu_indices(2)]))
    found = flat({"b": drawn["coefficients"], "s": drawn["covariance"][:, [0, 0, 1], [0, 1, 1]]}, ("b", "s"))
    agree(found, np.array(kept[500:]), effective=3000)


def log_posterior(theta: np.ndarray, z: np.ndarray, cell: np.ndarray, alpha: np.ndarray, unit: float) -> np.ndarray:
    """Equations 6, 7, 17 to 19, record by record; spreads on the log scale."""
    beta, kappa_x, kappa_y, sy, sp = (
        theta[:, :2],
        theta[:, 2:4],
        theta[:, 4:5],
        np.exp(theta[:, 5:6]),
        np.exp(theta[:, 6:]),
    )
    y, log_pi, x = z[:, 0], np.log(unit) - z[:, 1], EFFECTS[cell]
    with np.errstate(over="ignore"):
        found = norm.logpdf(log_pi, kappa_y * y + kappa_x @ x.T, sp) + norm.logpdf(y, beta @ x.T, sy)
        found = found - (kappa_x @ x.T + sp**2 / 2 + kappa_y * (beta @ x.T) + kappa_y**2 * sy**2 / 2)
        prior = -(theta[:, :5] ** 2).sum(axis=1) / 200 - np.log1p(np.exp(2 * theta[:, 5:])).sum(axis=1)
    return found @ alpha + prior + theta[:, 5:].sum(axis=1)


@pytest.mark.parametrize(("many", "unit"), [pytest.param(80, 50.0, marks=pytest.mark.slow), (6, 1.0)])
def test_quadrature_agrees_with_a_long_run(many: int, unit: float) -> None:
    """Also with six records, where the laws of the spreads are far from normal."""
    z, cell, alpha = sample(many)
    cell[:2] = [0, 1]
    model = PopulationModel(EFFECTS, unit)
    drawn = model.draw(Moments.of(z, cell, 2, alpha), np.random.default_rng(1).random((20_000, model.numbers)))
    found = flat(drawn, ("beta", "kappa_x", "kappa_y", "sigma_y", "sigma_pi"))
    found[:, 5:] = np.log(found[:, 5:])
    start = found[:200] + 0.01 * np.random.default_rng(3).standard_normal((200, 7))
    long_run = stretch(lambda theta: log_posterior(theta, z, cell, alpha, unit), start, 6000, seed=5)
    agree(found, long_run, effective=1500)
    # The whole law of what is drawn on grids, not only its first moments.
    for at in (4, 5, 6):
        inside = [np.mean(long_run[:, at] <= q) for q in np.quantile(found[:, at], [0.05, 0.25, 0.5, 0.75, 0.95])]
        assert inside == pytest.approx([0.05, 0.25, 0.5, 0.75, 0.95], abs=0.045)


def test_finer_grids_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    z, cell, alpha = sample(40)
    model, uniforms = PopulationModel(EFFECTS, 50.0), np.random.default_rng(1).random((500, 7))
    moments = Moments.of(z, cell, 2, alpha)
    usual = flat(model.draw(moments, uniforms), ("kappa_y", "sigma_y", "sigma_pi"))
    monkeypatch.setattr(fbp, "_POINTS", 4097)
    monkeypatch.setattr(fbp, "_DEPTH", 40.0)
    fine = flat(model.draw(moments, uniforms), ("kappa_y", "sigma_y", "sigma_pi"))
    assert (np.abs(usual - fine) <= 0.01 * fine.std(axis=0)).all()


def test_draws_do_not_depend_on_the_number_of_records_given_the_moments() -> None:
    """A thousand copies at a thousandth of the weight are one record."""
    z, cell, alpha = sample(30)
    many = Moments.of(np.repeat(z, 1000, axis=0), np.repeat(cell, 1000), 2, np.repeat(alpha / 1000, 1000))
    for model in (SampleModel(EFFECTS, LOW, HIGH), PopulationModel(EFFECTS, 50.0)):
        uniforms = np.random.default_rng(1).random((20, model.numbers))
        one, other = model.draw(Moments.of(z, cell, 2, alpha), uniforms), model.draw(many, uniforms)
        for name in one:
            assert one[name] == pytest.approx(other[name], rel=1e-6, abs=1e-8)


@numpyro_there
def test_nuts_agrees_with_quadrature() -> None:
    z, cell, alpha = sample(80)
    model, moments = PopulationModel(EFFECTS, 50.0), Moments.of(z, cell, 2, alpha)
    names = ("beta", "kappa_x", "kappa_y", "sigma_y", "sigma_pi")
    exact = flat(model.draw(moments, np.random.default_rng(1).random((20_000, model.numbers))), names)
    agree(exact, flat(Nuts(model, 2000, 3)(moments), names), effective=600)


def log_supplement(theta: np.ndarray, z: np.ndarray, alpha: np.ndarray) -> np.ndarray:
    """FBS with a constant only and the priors of supplement C: logarithms of spreads, Fisher's z of the correlation."""
    b, log_prior, log_sigma, fisher = theta[:, :2], theta[:, 2:4], theta[:, 4:6], theta[:, 6]
    rho = np.tanh(fisher)
    u = (z[None] - b[:, None]) / np.exp(log_sigma)[:, None]
    one = 1 - rho[:, None] ** 2
    quadratic = (u[..., 0] ** 2 - 2 * rho[:, None] * u[..., 0] * u[..., 1] + u[..., 1] ** 2) / one
    records = -quadratic / 2 - np.log(one) / 2 - log_sigma.sum(axis=1)[:, None]
    found = records @ alpha + norm.logpdf(b, 0, np.exp(log_prior)).sum(axis=1)
    for log_spread in (log_prior, log_sigma):
        found += (-2 * np.log1p(np.exp(2 * log_spread) / 300) + log_spread).sum(axis=1)
    return found + 5 * np.log(one[:, 0]) + np.log(one[:, 0])  # LKJ(6), and the Jacobian of Fisher's z


@pytest.mark.slow
@numpyro_there
def test_nuts_with_the_priors_of_the_supplement_agrees_with_a_long_run() -> None:
    z, _, alpha = sample(40)
    model = SampleModel(np.ones((1, 1)), LOW, HIGH)
    drawn = Nuts(model, 2000, 3)(Moments.of(z, np.zeros(40, dtype=np.int64), 1, alpha))
    found = np.hstack([drawn["coefficients"].reshape(-1, 2), drawn["covariance"][:, [0, 0, 1], [0, 1, 1]]])
    start = np.array([6, 4, 2, 2, -0.5, -0.5, -0.5]) + 0.1 * np.random.default_rng(3).standard_normal((200, 7))
    theta = stretch(lambda one: log_supplement(one, z, alpha), start, 5000, seed=5)
    sigma = np.exp(theta[:, 4:6])
    long_run = np.column_stack(
        [theta[:, :2], sigma[:, 0] ** 2, np.tanh(theta[:, 6]) * sigma.prod(axis=1), sigma[:, 1] ** 2]
    )
    agree(found, long_run, effective=600)


def test_chains_that_disagree_are_refused() -> None:
    random = np.random.default_rng(1)
    good = random.standard_normal((4, 500, 2))
    check({"beta": good}, 0)
    with pytest.raises(RefusedError, match="diverge"):
        check({"beta": good}, 3)
    with pytest.raises(RefusedError, match="not converged"):
        check({"beta": good + np.arange(4)[:, None, None]}, 0)
    slow = np.cumsum(random.standard_normal((4, 500, 1)), axis=1)
    with pytest.raises(RefusedError, match="not converged"):
        check({"beta": slow}, 0)
