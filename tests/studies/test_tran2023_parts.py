"""The pieces of the tran2023 study: simulated data, scores and rows, and the pMSE mechanism."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest

from tacita.errors import UsageError
from tacita_studies.harness.replicates import each
from tacita_studies.tran2023 import panel_private, printed
from tacita_studies.tran2023.panel import (
    COLUMNS,
    MOST_EMPLOYEES,
    YEARS,
    Fit,
    Numbers,
    births_in,
    continuers_in,
    non_private,
    simulate_panel,
    synthesize,
)
from tacita_studies.tran2023.peers import QUANTILE_PEERS
from tacita_studies.tran2023.peers.pmse import PARAMETERS, PmseDraw, PublicFrame, pmse_mechanism, rate_for, score
from tacita_studies.tran2023.peers.pmse_as_run import pmse_as_run
from tacita_studies.tran2023.scores import general, general_and_specific
from tacita_studies.tran2023.section4 import FileMethod, Replicates, measure, rows_of
from tacita_studies.tran2023.section5 import PanelExperiment, PanelMethod, measure_panel, panel_rows
from tacita_studies.tran2023.simulation import VARIANTS, check_loss, quantile_planes, simulate
from tacita_studies.tran2023.unconditional import OURS, RANK_ERROR, quantile_rows


@pytest.fixture(scope="module")
def panel() -> pd.DataFrame:
    return simulate_panel(seed=1)


# ---------------------------------------------------------------- the panel of section 5


def test_the_panel_has_the_establishments_of_table_4(panel: pd.DataFrame) -> None:
    assert panel.groupby("sic3").size().to_dict() == {"178": 10_975, "239": 27_396, "542": 39_670, "829": 45_709}


def test_employment_is_known_exactly_in_the_public_life_of_an_establishment(panel: pd.DataFrame) -> None:
    for year in YEARS:
        alive = births_in(panel, year) | continuers_in(panel, year)
        assert (panel[COLUMNS[year]].notna() == alive).all()
        assert (alive == ((panel.firstyear <= year) & (panel.lastyear >= year))).all()
    assert panel.lastyear.between(1976, 2000).all()


def test_employment_is_whole_bounded_skewed_and_persistent(panel: pd.DataFrame) -> None:
    values = panel[list(COLUMNS.values())].to_numpy()
    known = values[~np.isnan(values)]
    assert (known == np.round(known)).all()
    assert known.min() == 1
    assert known.max() == MOST_EMPLOYEES
    for _, industry in panel.groupby("sic3"):
        goes_on = continuers_in(industry, 1988)
        before, after = (np.log(industry.loc[goes_on, name]) for name in ("emp1987", "emp1988"))
        assert np.corrcoef(before, after)[0, 1] > 0.9
        this_year = industry.emp1988.dropna()
        assert this_year.mean() > 1.2 * this_year.median()


def test_synthesis_keeps_what_is_public_and_draws_each_year_from_the_synthetic_year_before() -> None:
    frame = simulate_panel(scale=0.01, seed=2).query("sic3 == '239'").reset_index(drop=True)
    seen: list[tuple[int, str]] = []

    class PlusOne:
        def draw(self, before: Numbers, random: np.random.Generator) -> Numbers:
            return before[:, 0] + 1 if before.shape[1] else np.full(len(before), 10.0)

    def fit(year: int, kind: str, before: Numbers, now: Numbers, released: Numbers) -> PlusOne:
        seen.append((year, kind))
        assert before.shape == released.shape
        assert len(now) == len(before)
        return PlusOne()

    made = synthesize(frame, fit, np.random.default_rng(1))
    assert seen[0] == (1976, "births")
    assert (1976, "continuers") not in seen
    for name in ("firstyear", "lastyear", "sic3"):
        assert (made[name] == frame[name]).all()
    for year in YEARS:
        column = COLUMNS[year]
        assert (made[column].isna() == frame[column].isna()).all()
        alive = frame[column].notna()
        assert (made.loc[alive, column] == 10 + year - frame.loc[alive, "firstyear"]).all()


def test_table_5_scores_a_copy_as_perfect_and_a_constant_as_its_public_lives_only() -> None:
    class Copy:
        def __init__(self, now: Numbers) -> None:
            self.now = now

        def draw(self, before: Numbers, random: np.random.Generator) -> Numbers:
            return self.now

    class Constant:
        def draw(self, before: Numbers, random: np.random.Generator) -> Numbers:
            return np.full(len(before), float(MOST_EMPLOYEES))

    def copying(frame: pd.DataFrame, seed: int):  # type: ignore[no-untyped-def]
        return lambda year, kind, before, now, released: Copy(now)

    def constant(frame: pd.DataFrame, seed: int):  # type: ignore[no-untyped-def]
        return lambda year, kind, before, now, released: Constant()

    methods = (
        PanelMethod("copy", "copy", "none", printed="Non-private", guarantee="none", fit=copying, noisy=False),
        PanelMethod("constant", "constant", "none", guarantee="none", fit=constant, noisy=False),
    )
    found = measure_panel(PanelExperiment(methods, 1, 0.02, seed=3), 1, lambda *_: None)
    rows = {(row.method, row.metric, row.where.get("sic3")): row for row in panel_rows(found, methods[0])}
    copy = rows["copy", printed.K_MARGINAL, "239"]
    assert copy.ours == 1000
    assert copy.paper == 905
    assert rows["copy", printed.PMSE_LASSO, "178"].ours == pytest.approx(0, abs=1e-9)
    assert rows["copy", "net job creation rate: mean absolute error over the years", None].ours == pytest.approx(0)
    lost = rows["constant", printed.K_MARGINAL, "239"]
    assert lost.ours is not None
    assert 300 < lost.ours < 800
    assert rows["constant", "gross employment: relative error over the years", "178"].ours > 10  # type: ignore[operator]


# ---------------------------------------------------------------- section 4


def test_quantile_regression_with_weights_is_that_of_repeated_rows() -> None:
    random = np.random.default_rng(4)
    x = random.integers(1, 9, 600).astype(float)
    y = np.round(2 * x + random.exponential(3.0, 600))
    distinct, counts = np.unique(np.column_stack([x, y]), axis=0, return_counts=True)
    taus = (0.1, 0.5, 0.93)
    repeated = quantile_planes(x[:, None], y, taus)
    weighted = quantile_planes(distinct[:, :1], distinct[:, 1], taus, counts.astype(float))
    for tau, one, other in zip(taus, repeated, weighted, strict=True):
        losses = [check_loss(y - plane[0] - plane[1] * x, tau) for plane in (one, other)]
        assert losses[0] == pytest.approx(losses[1], rel=1e-9)


def test_a_copy_scores_perfectly_and_noise_does_not() -> None:
    training, testing = simulate(800, seed=5)
    perfect = general_and_specific(training, testing, training.copy())
    assert perfect[printed.K_MARGINAL] == 1000
    assert perfect[printed.WRT] == 0
    assert perfect[printed.SLOPE] == perfect[printed.INTERCEPT] == 0
    assert 0.25 < perfect[printed.NRMSE_X2] < 0.4
    random = np.random.default_rng(1)
    shuffled = pd.DataFrame({name: random.permutation(training[name]) for name in training})
    broken = general_and_specific(training, testing, shuffled)
    assert broken[printed.SLOPE] > 20
    assert broken[printed.K_MARGINAL] < 600


def test_coefficient_differences_are_in_standard_errors_of_the_original() -> None:
    training, testing = simulate(500, seed=6)
    moved = training.assign(x2=training.x2 + 2.0)
    x = np.column_stack([np.ones(500), training.x1])
    residual = np.linalg.lstsq(x, training.x2, rcond=None)[1]
    error = math.sqrt(residual[0] / 498 * np.linalg.inv(x.T @ x)[0, 0])
    found = general_and_specific(training, testing, moved)
    assert found[printed.INTERCEPT] == pytest.approx(2.0 / error, rel=1e-6)
    assert found[printed.SLOPE] == pytest.approx(0, abs=1e-6)


def test_variants_break_slopes_tails_and_smoothness() -> None:
    slope, tail, lumps = (variant.simulate(20_000, seed=7)[0] for variant in VARIANTS)
    low, high = quantile_planes(slope[["x1"]].to_numpy(), slope.x2.to_numpy(), [0.1, 0.9])[:, 1]
    assert high - low > 0.05
    hill = np.log(np.sort(tail.x1)[-400:]) - np.log(np.sort(tail.x1)[-400])
    assert 1.5 < 1 / hill[1:].mean() < 2.7
    for name in ("x1", "x2", "x3"):
        assert abs((lumps[name] == 0).mean() - 0.2) < 0.015
    for variant in VARIANTS:
        training, testing = variant.simulate(1000, seed=8)
        assert all((training[name] <= most).all() for name, most in variant.upper.items())
        assert general(training, testing, further=True)[printed.K_MARGINAL] > 850


def double(number: int) -> int:
    return 2 * number


def test_replicates_come_in_order_from_one_process_or_two() -> None:
    told: list[tuple[str, int, int]] = []
    assert each(double, 5, 1, lambda *one: told.append(one), "doubling") == [0, 2, 4, 6, 8]
    assert told[-1] == ("doubling", 5, 5)


def _same(training: pd.DataFrame, seed: int) -> pd.DataFrame:
    return training.copy()


def test_rows_have_the_printed_number_the_reference_and_their_own_replicates() -> None:
    exact = FileMethod("copy", "copy", "none", printed="Non-private", guarantee="none", make=_same)
    rare = FileMethod("rare", "rare", "paper", "1", "KNG", guarantee="none", make=_same, most=2)
    found = measure(Replicates((exact, rare), 300, seed=1), 3, 1, lambda *_: None, "test")
    rows = {(row.method, row.metric): row for row in rows_of(found, exact)}
    row = rows["rare", printed.K_MARGINAL]
    assert (row.table, row.paper, row.ours, row.se, row.reference, row.replicates) == (
        "Table 1", 49.30, 1000, 0, 1000, 2,
    )  # fmt: skip
    assert rows["copy", printed.NRMSE_X2].replicates == 3
    assert rows["copy", printed.NRMSE_X2].table == "Table 2"
    assert rows["rare", printed.K_MARGINAL].as_json()["mode"] == "paper"


def test_the_non_private_panel_fit_is_made_once_and_follows_the_quantiles() -> None:
    fit = non_private((0.25, 0.5, 0.75))
    now = np.array([1.0, 2.0, 3.0, 4.0])
    none = np.zeros((4, 0))
    law = fit(1976, "births", none, now, none)
    assert law is fit(1976, "births", none, now + 1, none)
    drawn = law.draw(np.zeros((3000, 0)), np.random.default_rng(1))
    assert set(drawn) == {1.0, 2.0, 3.0}


@pytest.mark.parametrize("division", [panel_private.year_by_year, panel_private.over_the_years])
def test_no_establishment_spends_more_than_its_industry_has(
    division: Callable[[pd.DataFrame, int], Fit], monkeypatch: pytest.MonkeyPatch
) -> None:
    births: list[Fraction] = []
    continuers: list[Fraction] = []
    marginal, conditional = panel_private.fit_marginal, panel_private.fit_conditional

    def spent_on_births(*arguments: Any) -> Any:
        births.append(sum(arguments[2], Fraction(0)))
        return marginal(*arguments)

    def spent_on_continuers(*arguments: Any) -> Any:
        # A model of all years counts an establishment once for each year it goes on.
        times = 24 if len(arguments[0]) > 1000 else 1
        continuers.append(times * (arguments[4] + arguments[5] + sum(arguments[6], Fraction(0))))
        return conditional(*arguments)

    monkeypatch.setattr(panel_private, "fit_marginal", spent_on_births)
    monkeypatch.setattr(panel_private, "fit_conditional", spent_on_continuers)
    frame = simulate_panel(scale=0.02, seed=9).query("sic3 == '239'").reset_index(drop=True)
    made = synthesize(frame, division(frame, 1), np.random.default_rng(1))
    assert len(births) == 25
    # An establishment is born in one year and goes on in at most 24.
    assert max(births) + sum(continuers) <= 1
    values = made[list(COLUMNS.values())].to_numpy()
    known = values[~np.isnan(values)]
    assert known.min() >= 1
    assert known.max() <= MOST_EMPLOYEES
    again = synthesize(frame, division(frame, 1), np.random.default_rng(1))
    pd.testing.assert_frame_equal(made, again)


def test_bisection_is_with_the_best_for_many_quantiles_of_one_variable() -> None:
    rows = {(row.method, row.metric): row.ours for row in quantile_rows(6, 5000, 1, lambda *_: None)}
    errors = {method: value for (method, metric), value in rows.items() if metric == RANK_ERROR and value is not None}
    assert len(errors) == 1 + len(QUANTILE_PEERS)
    assert errors[OURS] < 1.3 * min(errors.values())
    assert errors[OURS] < 0.5 * errors["independent exponential mechanisms"]


def test_one_record_changes_the_score_within_the_proved_range() -> None:
    rng = np.random.default_rng(11)
    lowest, highest = 0.0, 0.0
    for _ in range(2000):
        a = rng.integers(0, 6, 5).astype(float)
        b = rng.choice([0.0, 1e-9, 0.3, 5.0, 1e4], 5)
        more = a.copy()
        more[rng.integers(5)] += 1
        change = score(more, b) - score(a, b)
        lowest, highest = min(lowest, change), max(highest, change)
    assert -3 <= lowest < -2.99
    assert 0.99 < highest <= 1 + 1e-12


def test_the_score_is_the_pmse_of_a_classifier_with_these_cells() -> None:
    a, b = np.array([3.0, 1.0, 0.0]), np.array([1.0, 1.0, 2.0])
    share = np.repeat(b / (a + b), (a + b).astype(int))
    assert score(a, b) / (4 * len(share)) == pytest.approx(np.mean((share - 0.5) ** 2))


def test_the_rate_is_right_and_no_larger_would_do() -> None:
    """Two models for an empty file of two cells: one expects a crowd where the new record falls, one expects nobody."""
    models = [np.array([1e6, 0.0]), np.array([0.0, 1.0])]

    def log_chances(a: np.ndarray) -> np.ndarray:
        logs = np.array([-rate_for(Fraction(2)) * score(a, b) for b in models])
        return np.asarray(logs - np.logaddexp.reduce(logs))

    loss = np.abs(log_chances(np.array([0.0, 0.0])) - log_chances(np.array([1.0, 0.0]))).max()
    assert 1.99 < loss <= 2.0


def test_the_density_over_parameters_is_private() -> None:
    """The exponential mechanism on a small set of models, enumerated, for neighbouring files."""
    frame = PublicFrame(rows=5, bins=4, points=256)
    rng = np.random.default_rng(12)
    models = frame.box[:, 0] + rng.random((400, len(PARAMETERS))) * (frame.box[:, 1] - frame.box[:, 0])
    expected = [frame.expected(model) for model in models]
    training, _ = simulate(5, seed=1)

    def log_chances(data: pd.DataFrame, epsilon: float) -> np.ndarray:
        logs = np.array([-rate_for(Fraction(epsilon)) * score(frame.counts(data), b) for b in expected])
        return np.asarray(logs - np.logaddexp.reduce(logs))

    full = log_chances(training, 2.0)
    for row in range(5):
        assert np.abs(full - log_chances(training.drop(index=row), 2.0)).max() <= 2.0 + 1e-9


def test_the_chain_draws_from_the_density() -> None:
    """Against importance sampling over the whole box, where the data say little."""
    frame = PublicFrame(rows=20, bins=4, points=256)
    training, _ = simulate(20, seed=3)
    counts = frame.counts(training)
    rng = np.random.default_rng(13)
    models = frame.box[:, 0] + rng.random((20_000, len(PARAMETERS))) * (frame.box[:, 1] - frame.box[:, 0])
    logs = np.array([-0.125 * score(counts, frame.expected(model)) for model in models])
    weights = np.exp(logs - logs.max())
    wanted = weights @ models[:, 0] / weights.sum()
    effective = weights.sum() ** 2 / (weights**2).sum()
    assert effective > 200
    spread = math.sqrt(weights @ (models[:, 0] - wanted) ** 2 / weights.sum())
    drawn = [
        -math.log(
            pmse_mechanism(
                training, "0.5", np.random.default_rng(k), public=frame, populations=2, chains=16, generations=40
            ).parameters["rate1"]
        )
        for k in range(100)
    ]
    assert abs(np.mean(drawn) - wanted) < 5 * spread * math.sqrt(1 / 100 + 1 / effective)


def test_a_draw_repeats_under_its_seed() -> None:
    frame = PublicFrame(rows=200, bins=8, points=512)
    training, _ = simulate(200, seed=2)
    first, second = (
        pmse_mechanism(training, "1", np.random.default_rng(3), public=frame, chains=24, generations=150)
        for _ in range(2)
    )
    assert first == second
    made = first.synthesize(50, np.random.default_rng(1))
    assert made.shape == (50, 3)


@pytest.mark.parametrize(("r_hat", "said"), [(1.02, "ε = 1 under one record added or removed"), (1.2, "no guarantee")])
def test_a_draw_from_chains_that_disagree_has_no_guarantee(r_hat: float, said: str) -> None:
    guarantee = PmseDraw({}, Fraction(1), r_hat, 1).guarantee
    assert str(guarantee) == said
    assert any("converged" in one for one in guarantee.assumes)


def test_the_chain_as_run_repeats_moves_and_claims_nothing() -> None:
    training, _ = simulate(300, seed=4)
    first, second = (pmse_as_run(training, 1.0, np.random.default_rng(5), files=1) for _ in range(2))
    assert first == second
    assert 0 < first.accepted < 1
    assert first.guarantee.startswith("no guarantee")
    assert first.synthesize(20, np.random.default_rng(1)).shape == (20, 3)
    # Without any budget every step is taken, so that the end is as far away as 100 steps go.
    assert pmse_as_run(training, 1e-12, np.random.default_rng(5), files=1).accepted > 0.95


def test_bad_settings_are_refused() -> None:
    training, _ = simulate(10, seed=2)
    with pytest.raises(UsageError, match=r"^epsilon"):
        pmse_mechanism(training, "0", np.random.default_rng(1))
    with pytest.raises(UsageError, match="power of two"):
        PublicFrame(bins=12)
    with pytest.raises(UsageError, match=r"^populations"):
        pmse_mechanism(training, "1", np.random.default_rng(1), populations=1)
