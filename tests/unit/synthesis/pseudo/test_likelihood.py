"""The log-likelihood from moments, record by record, and as printed in the paper; and its extremes over draws."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import multivariate_normal, norm

from tacita.synthesis.comparison.pseudo import kernel
from tacita.synthesis.comparison.pseudo.fbp import PopulationModel, SampleModel
from tacita.synthesis.comparison.pseudo.kernel import Boxed
from tacita.synthesis.survey.moments import Moments

CELLS = 4
EFFECTS = np.array([[1.0, 0, 0], [1, 1, 0], [1, 0, 1], [1, 1, 1]])


def records(seed: int, many: int, d: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    random = np.random.default_rng(seed)
    mean = random.uniform(-5, 15, d)
    z = mean + random.normal(size=(many, d)) @ random.normal(size=(d, d))
    return z, random.integers(0, CELLS, many), random.random(many)


@given(seed=st.integers(0, 10_000), many=st.integers(1, 60), d=st.integers(2, 4))
@settings(max_examples=40, deadline=None)
def test_moments_give_the_sum_over_records_in_the_sample_model(seed: int, many: int, d: int) -> None:
    z, cell, alpha = records(seed, many, d)
    model = SampleModel(EFFECTS, np.full(d, -40.0), np.full(d, 40.0))
    uniforms = np.random.default_rng(seed + 1).random((5, model.numbers))
    moments = Moments.of(z, cell, CELLS, alpha)
    found = model.kernel(model.draw(moments, uniforms))
    by_record = found.of_records(z, cell)
    scale = np.abs(by_record * alpha).sum(axis=1)
    assert np.abs(found.total(moments) - by_record @ alpha).max() <= 1e-9 * scale.max()


@given(seed=st.integers(0, 10_000), many=st.integers(12, 60), unit=st.floats(0.01, 1e5))
@settings(max_examples=40, deadline=None)
def test_moments_give_the_sum_over_records_in_the_population_model(seed: int, many: int, unit: float) -> None:
    z, cell, alpha = records(seed, many, 2)
    model = PopulationModel(EFFECTS, unit)
    uniforms = np.random.default_rng(seed + 1).random((5, model.numbers))
    moments = Moments.of(z, cell, CELLS, alpha)
    found = model.kernel(model.draw(moments, uniforms))
    by_record = found.of_records(z, cell)
    scale = np.abs(by_record * alpha).sum(axis=1)
    assert np.abs(found.total(moments) - by_record @ alpha).max() <= 1e-9 * scale.max()


def test_the_sample_model_has_the_normal_density() -> None:
    z, cell, _ = records(3, 20, 3)
    model = SampleModel(EFFECTS, np.full(3, -40.0), np.full(3, 40.0))
    drawn = model.draw(Moments.of(z, cell, CELLS), np.random.default_rng(0).random((4, model.numbers)))
    found = model.kernel(drawn).of_records(z, cell)
    for s in range(4):
        means = EFFECTS @ drawn["coefficients"][s]
        wanted = [
            multivariate_normal(means[c], drawn["covariance"][s]).logpdf(one) for one, c in zip(z, cell, strict=True)
        ]
        assert found[s] == pytest.approx(wanted, rel=1e-10, abs=1e-10)


def test_shares_of_categories_are_counted() -> None:
    z, cell, _ = records(3, 50, 2)
    model = SampleModel(EFFECTS, np.full(2, -40.0), np.full(2, 40.0), categories=2)
    drawn = model.draw(Moments.of(z, cell, CELLS), np.random.default_rng(0).random((4, model.numbers)))
    shares = drawn["shares"]
    assert np.allclose(shares.reshape(4, 2, 2).sum(axis=2), 1)
    with_shares = model.kernel(drawn).of_records(z, cell)
    without = model.kernel({name: one for name, one in drawn.items() if name != "shares"}).of_records(z, cell)
    assert with_shares - without == pytest.approx(np.log(shares)[:, cell])


def test_the_population_model_is_equation_6() -> None:
    z, cell, _ = records(5, 30, 2)
    unit = 7.0
    model = PopulationModel(EFFECTS, unit)
    drawn = model.draw(Moments.of(z, cell, CELLS), np.random.default_rng(0).random((6, model.numbers)))
    found = model.kernel(drawn).of_records(z, cell)
    y, log_pi = z[:, 0], np.log(unit) - z[:, 1]
    for s in range(6):
        beta, kappa_x, kappa_y, sy, sp = (
            drawn[name][s] for name in ("beta", "kappa_x", "kappa_y", "sigma_y", "sigma_pi")
        )
        x_beta, x_kappa = EFFECTS[cell] @ beta, EFFECTS[cell] @ kappa_x
        printed = norm.logpdf(log_pi, kappa_y * y + x_kappa, sp) + norm.logpdf(y, x_beta, sy)
        printed -= x_kappa + sp**2 / 2 + kappa_y * x_beta + kappa_y**2 * sy**2 / 2
        assert found[s] == pytest.approx(printed, rel=1e-9, abs=1e-9)


def test_leaving_draws_out_changes_no_extreme(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernel, "_BOXES", 256)
    z, cell, _ = records(8, 20_000, 2)
    for model in (SampleModel(EFFECTS, np.full(2, -40.0), np.full(2, 40.0)), PopulationModel(EFFECTS, 3.0)):
        uniforms = np.random.default_rng(2).random((300, model.numbers))
        found = model.kernel(model.draw(Moments.of(z, cell, CELLS), uniforms))
        boxed = Boxed.of(z, cell, CELLS)
        assert boxed.cell.size > 50 * CELLS / 4
        wanted = np.abs(found.of_records(z, cell)).max(axis=0)
        assert boxed.extremes(found) == pytest.approx(wanted, rel=1e-10)
        chosen = np.random.default_rng(3).random(len(z)) < 0.1
        assert boxed.some(chosen).extremes(found) == pytest.approx(wanted[chosen], rel=1e-10)
