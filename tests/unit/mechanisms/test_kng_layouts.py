"""Layouts: who gets which share, planes that do not cross, and files that are hard to draw from."""

from fractions import Fraction
from itertools import product

import numpy as np
import pandas as pd
import pytest

from tacita.errors import UsageError
from tacita.noise.entropy import SeededEntropy, SystemEntropy
from tacita.noise.replay import Recording
from tacita.privacy import AddRemoveOne, ReplaceOne, StrongAlpha
from tacita_studies.kng.budget import MAIN_IN_CODE, MAIN_IN_TEXT, QUANTILES, Layout
from tacita_studies.kng.layouts import HonestLayout, Variable, simulation, synthesis_guarantee, synthesize
from tacita_studies.kng.sensitivity import box_size, gradient_sensitivity, printed_rate, true_epsilon

F = Fraction
FIVE = [F(1, 10), F(1, 4), F(1, 2), F(3, 4), F(9, 10)]
WALKED = [(kind, slope) for kind in ("stepwise", "sandwich") for slope in ("fixed", "varying")]


def file_with_one_predictor(rows: int = 300) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(7)
    x = random.uniform(10, 50, (rows, 1))
    return x, 5 + 2 * x[:, 0] + random.exponential(20, rows)


@pytest.mark.parametrize("layout", [Layout(kind, slope) for kind, slope in [*WALKED, ("plain", "varying")]], ids=str)
@pytest.mark.parametrize("quantiles", [QUANTILES, FIVE, [F(1, 2)]])
def test_shares_add_to_one_exactly(layout: Layout, quantiles: list[Fraction]) -> None:
    shares = layout.shares(quantiles)
    assert sum(shares.values()) == 1
    assert list(shares) == sorted(quantiles)
    assert min(shares.values()) > 0


def test_the_shares_of_the_text() -> None:
    stepwise = Layout("stepwise", "fixed", "0.8").shares(QUANTILES)
    assert stepwise[F(1, 2)] == F(4, 5)
    assert stepwise[F(99, 100)] == F(1, 5) / 48
    sandwich = Layout("sandwich", "fixed", "0.8", "0.8").shares(QUANTILES)
    assert sandwich[F(1, 2)] == F(4, 5) * F(4, 5)
    assert sandwich[F(95, 100)] == F(4, 5) * F(1, 5) / 5
    assert sandwich[F(3, 100)] == F(1, 5) / 43
    assert len(MAIN_IN_TEXT) + 1 == len(MAIN_IN_CODE) == 7


@pytest.mark.parametrize(("kind", "slope"), WALKED)
def test_every_draw_lies_between_the_nearest_drawn_before(kind: str, slope: str) -> None:
    done: list[Fraction] = []
    for step in Layout(kind, slope).steps(QUANTILES):  # type: ignore[arg-type]
        below, above = [one for one in done if one < step.tau], [one for one in done if one > step.tau]
        assert step.floor == max(below, default=None)
        assert step.cap == min(above, default=None)
        done.append(step.tau)
    assert sorted(done) == list(QUANTILES)


@pytest.mark.parametrize(("kind", "slope"), WALKED)
def test_planes_do_not_cross_on_the_public_box_and_keep_the_bounds(kind: str, slope: str) -> None:
    x, y = file_with_one_predictor()
    layout = HonestLayout(kind, slope)  # type: ignore[arg-type]
    planes = layout.fit(x, y, box=[(10, 60)], bounds=(0, 500), quantiles=FIVE, epsilon="20", entropy=SeededEntropy(3))
    for corner in (10.0, 60.0):
        values = planes @ [1.0, corner]
        assert (np.diff(values) >= -1e-9).all()
        assert values[0] >= -1e-9
        assert values[-1] <= 500 + 1e-6
    if slope == "fixed":
        assert np.ptp(planes[:, 1]) < 1e-12
    else:
        assert np.ptp(planes[:, 1]) > 0


@pytest.mark.parametrize(("kind", "slope"), [("sandwich", "fixed"), ("stepwise", "fixed"), ("sandwich", "varying")])
def test_with_a_large_budget_the_planes_are_those_of_the_file(kind: str, slope: str) -> None:
    x, y = file_with_one_predictor(2000)
    planes = HonestLayout(kind, slope).fit(  # type: ignore[arg-type]
        x, y, box=[(10, 50)], bounds=(0, 500), quantiles=FIVE, epsilon="2000", entropy=SeededEntropy(5)
    )
    below = [float(np.mean(y <= plane[0] + plane[1] * x[:, 0])) for plane in planes]
    assert below == pytest.approx([float(tau) for tau in FIVE], abs=0.04)


def test_two_predictors_and_a_fixed_slope() -> None:
    random = np.random.default_rng(1)
    x = random.uniform(0, 5, (600, 2))
    y = 3 + x @ [2.0, 4.0] + random.exponential(2, 600)
    planes = HonestLayout("sandwich").fit(
        x, y, box=[(0, 5), (-1, 5)], bounds=(-50, 100), quantiles=FIVE, epsilon="300", entropy=SeededEntropy(2)
    )
    assert planes[2][1:] == pytest.approx([2, 4], abs=0.5)
    for corner in product((0, 5), (-1, 5)):
        assert (np.diff(planes @ [1, *corner]) >= -1e-9).all()


@pytest.mark.parametrize("rows", [0, 1, 2, 5])
@pytest.mark.parametrize("kind", ["plain", "stepwise", "sandwich"])
def test_hardly_any_records_give_quantiles_inside_the_bounds(rows: int, kind: str) -> None:
    y = np.linspace(1, 3, rows)
    planes = HonestLayout(kind).fit(  # type: ignore[arg-type]
        np.zeros((rows, 0)), y, box=[], bounds=(0, 8), quantiles=FIVE, epsilon="1", entropy=SeededEntropy(1)
    )
    assert planes.shape == (5, 1)
    assert ((planes >= 0) & (planes <= 8)).all()


def test_missing_infinite_and_outlying_values_are_moved_to_the_ends() -> None:
    x = np.array([[np.nan], [np.inf], [-np.inf], [0.5]] * 50)
    y = np.array([np.nan, np.inf, -np.inf, 1e300] * 50)
    moved_x, moved_y = np.array([[0.0], [1.0], [0.0], [0.5]] * 50), np.array([0.0, 9.0, 0.0, 9.0] * 50)
    layout = HonestLayout("stepwise")
    one, two = (
        layout.fit(a, b, box=[(0, 1)], bounds=(0, 9), quantiles=FIVE, epsilon="5", entropy=SeededEntropy(4))
        for a, b in ((x, y), (moved_x, moved_y))
    )
    assert (one == two).all()


@pytest.mark.parametrize("kind", ["plain", "stepwise", "sandwich"])
def test_neighbouring_files_ask_for_noise_in_the_same_way(kind: str) -> None:
    y = np.arange(40.0)
    asked = []
    for values in (y, y[:-1], np.append(y, 1e9)):
        source = Recording(SeededEntropy(1))
        HonestLayout(kind).fit(  # type: ignore[arg-type]
            np.zeros((values.size, 0)), values, box=[], bounds=(0, 99), quantiles=FIVE, epsilon="1", entropy=source
        )
        asked.append(source)
    labels = [[(request.label, request.law) for request in one.requests] for one in asked]
    assert labels[0] == labels[1] == labels[2]
    assert len(labels[0]) == len(FIVE)


def test_a_smaller_budget_and_a_stronger_relation_are_noisier() -> None:
    y = np.sort(np.random.default_rng(1).exponential(10, 2000))

    def error(epsilon: str, layout: HonestLayout) -> float:
        gaps = []
        for seed in range(60):
            planes = layout.fit(
                np.zeros((2000, 0)), y, box=[], bounds=(0, 1000), quantiles=[F(1, 2)], epsilon=epsilon,
                entropy=SeededEntropy(seed),
            )  # fmt: skip
            gaps.append(abs(np.searchsorted(y, planes[0, 0]) - 1000))
        return float(np.mean(gaps))

    base = error("0.1", HonestLayout("plain"))
    assert error("0.02", HonestLayout("plain")) > 3 * base
    assert error("0.1", HonestLayout("plain", neighbours=ReplaceOne("firm"))) > 1.4 * base


def test_a_synthetic_file_has_the_public_number_of_rows_and_its_bounds() -> None:
    random = np.random.default_rng(1)
    a = random.exponential(10, 500)
    frame = pd.DataFrame({"a": a, "b": 3 * a + random.exponential(10, 500)})
    for kind in ("plain", "sandwich"):
        layout = HonestLayout(kind)  # type: ignore[arg-type]
        variables = [Variable("a", layout, "0.5", (0, 200)), Variable("b", layout, "0.5", (0, 900), ((0, 200),))]
        made = synthesize(frame, variables, epsilon="5", rows=321, entropy=SeededEntropy(1), quantiles=FIVE)
        assert made.shape == (321, 2)
        assert list(made) == ["a", "b"]
        assert made["a"].between(0, 200).all()
        assert made["b"].between(0, 900).all()
        pd.testing.assert_frame_equal(
            made, synthesize(frame, variables, epsilon="5", rows=321, entropy=SeededEntropy(1), quantiles=FIVE)
        )


def test_what_is_promised() -> None:
    promise = synthesis_guarantee(simulation("sandwich", "varying"), "1")
    assert promise.loss.epsilon == 1
    assert promise.neighbours == AddRemoveOne("record")
    assert promise.holds == "asymptotically"
    assert any("evidence, not proof" in one for one in promise.assumes)
    exact_part = HonestLayout("stepwise").guarantee("0.5", predictors=0)
    assert exact_part.holds == "always"


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"epsilon": "0"}, "epsilon: must be above 0"),
        ({"epsilon": 1.0}, "epsilon: give it as a string"),
        ({"bounds": (5, 5)}, "pay: its public lower bound"),
        ({"box": [(0, 1), (0, 1)]}, "one public range per predictor"),
        ({"box": [(1, 1)]}, "public range of predictor 1"),
        ({"quantiles": [F(1, 4)]}, "include 1/2"),
        ({"quantiles": [F(1, 2), F(1, 2)]}, "give each once"),
        ({"quantiles": []}, "give each once"),
    ],
)
def test_wrong_arguments_are_refused_before_anything_is_drawn(change: dict[str, object], says: str) -> None:
    given: dict[str, object] = {
        "box": [(0, 1)], "bounds": (0, 9), "quantiles": FIVE, "epsilon": "1", "label": "pay",
    }  # fmt: skip
    source = Recording(SystemEntropy())
    with pytest.raises(UsageError, match=says):
        HonestLayout("stepwise").fit(np.zeros((9, 1)), np.zeros(9), **{**given, **change}, entropy=source)  # type: ignore[arg-type]
    assert not source.requests


def test_sensitivities_refuse_what_is_not_proved() -> None:
    with pytest.raises(UsageError, match="not for α-neighbours"):
        gradient_sensitivity("0.5", StrongAlpha("0.1"))
    with pytest.raises(UsageError, match="strictly between 0 and 1"):
        printed_rate("1", "1")
    with pytest.raises(UsageError, match="norm: one of"):
        box_size([(0, 1)], "other")  # type: ignore[arg-type]
    radius, diameter = box_size([(0, 1), (0, 1)], "euclid")
    assert 0 <= radius**2 - 3 < F(1, 10**11)
    assert 0 <= diameter**2 - 2 < F(1, 10**11)
    assert box_size([(0, F(4, 3))], "euclid")[0] == F(5, 3)


def test_the_true_cost_of_49_equal_shares() -> None:
    shares = {tau: F(1, 49) for tau in QUANTILES}
    by_hand = sum(F(1, 49) / (2 * (1 - tau)) for tau in QUANTILES)
    assert true_epsilon(shares, ReplaceOne("firm"), 1) == by_hand
    assert 2 < by_hand < 4
