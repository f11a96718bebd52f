"""Lattices, bisection and layouts: edges, shares, planes that do not cross, files that are hard to draw from."""

from fractions import Fraction
from itertools import product

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tacita.errors import UsageError
from tacita.mechanisms.kng.line import Lattice, TailLattice, bisect, draw_threshold, halves, levels_for
from tacita.noise.entropy import SeededEntropy, SystemEntropy, reserve
from tacita.noise.replay import Recording, Replaying, compare
from tacita.privacy import AddRemoveOne, ReplaceOne, StrongAlpha
from tacita_studies.kng.budget import MAIN_IN_CODE, MAIN_IN_TEXT, QUANTILES, Layout
from tacita_studies.kng.layouts import HonestLayout, Variable, simulation, synthesis_guarantee, synthesize
from tacita_studies.kng.sensitivity import box_size, gradient_sensitivity, printed_rate, true_epsilon

numbers = st.floats(-1e6, 1e6, allow_nan=False)


@settings(max_examples=100, deadline=None)
@given(numbers, st.floats(1e-3, 1e6), st.lists(st.floats(0, 1), min_size=1, max_size=20))
def test_places_are_monotone_and_come_back(lower: float, width: float, at: list[float]) -> None:
    upper = lower + width
    values = np.sort(lower + width * np.array(at))
    for lattice in (
        Lattice.spread(lower, upper),
        TailLattice(lower, upper, width / 7),
        TailLattice(upper, lower, width),
    ):
        places = lattice.place(values)
        assert (np.diff(places) >= 0).all()
        assert places.min() >= 0
        assert places.max() < lattice.places
        assert lattice.value(places) == pytest.approx(values, abs=1e-6 * width + 1e-9 * abs(lower))


def test_values_outside_stand_at_the_ends() -> None:
    lattice = Lattice.spread(-5.0, 10.0)
    assert lattice.place(np.array([-1e9, 1e9])).tolist() == [0, lattice.places - 1]


@pytest.mark.parametrize(("lower", "upper", "unit"), [(1.0, 1.0, 1.0), (2.0, 1.0, 1.0), (0.0, 1.0, 0.0)])
def test_an_empty_lattice_is_refused(lower: float, upper: float, unit: float) -> None:
    with pytest.raises(UsageError, match="lower < upper"):
        Lattice(lower, upper, unit=unit, centre=0.0)


@pytest.mark.parametrize("size", [0, 1, 2, 5000])
def test_equal_values_are_no_obstacle(size: int) -> None:
    """The middle gaps have width 0 and by far the best scores."""
    lattice = Lattice.spread(0.0, 100.0)
    found = bisect(np.full(size, 42.0), lattice, halves(3), [Fraction(5)] * 3, SeededEntropy(1), "y")
    assert found.shape == (7,)
    assert (np.diff(found) >= 0).all()
    assert ((found >= 0) & (found <= 100)).all()


@settings(max_examples=60, deadline=None)
@given(st.lists(st.floats(0, 100), max_size=40), st.integers(0, 2**32), st.integers(1, 4), st.integers(2, 40))
def test_thresholds_never_cross(values: list[float], seed: int, levels: int, bits: int) -> None:
    lattice = Lattice(0.0, 100.0, unit=1.0, centre=0.0, bits=bits)
    epsilons = [Fraction(1, 3)] * levels
    found = bisect(np.sort(np.array(values)), lattice, halves(levels), epsilons, SeededEntropy(seed), "y")
    assert (np.diff(found) >= 0).all()
    assert ((found >= 0) & (found <= 100 + 1e-9)).all()


def test_much_budget_finds_the_quantiles() -> None:
    values = np.sort(np.random.default_rng(1).lognormal(3, 1, 20_001))
    found = bisect(values, Lattice.spread(0.0, 1e5), halves(5), [Fraction(50)] * 5, SeededEntropy(1), "y")
    ranks = np.searchsorted(values, found) / values.size
    assert ranks == pytest.approx(np.arange(1, 32) / 32, abs=2e-4)


def test_a_level_is_announced_once_with_the_sizes_of_its_parts() -> None:
    source = Recording(SeededEntropy(1))
    bisect(np.arange(80.0), Lattice.spread(0.0, 80.0), halves(3), [Fraction(1, 3)] * 3, source, "y")
    assert [one.label for one in source.requests] == ["y, level 1", "y, level 2", "y, level 3"]
    assert [one.law for one in source.requests] == ["threshold, epsilon=1/3"] * 3
    assert [one.true.sum() for one in source.requests] == [80, 80, 80]
    assert [one.true.size for one in source.requests] == [1, 2, 4]


def test_a_neighbouring_file_asks_for_the_same_words() -> None:
    """How many words a rejection used must not show: the block of a level is large enough for all of them."""
    values, lattice = np.sort(np.random.default_rng(2).uniform(0, 80, 60)), Lattice.spread(0.0, 80.0)
    for seed in range(40):
        recording = Recording(SeededEntropy(seed))
        bisect(values, lattice, halves(3), [Fraction(1, 3)] * 3, recording, "y")
        replaying = Replaying(recording)
        bisect(values[1:], lattice, halves(3), [Fraction(1, 3)] * 3, replaying, "y")
        first = compare(recording, replaying)[0]
        assert (first.true_d.tolist(), first.true_d2.tolist()) == ([60], [59])


@pytest.mark.parametrize("targets", [1, 2, 3, 4, 31, 99])
def test_every_target_gets_a_threshold(targets: int) -> None:
    shares = [Fraction(j, targets + 1) for j in range(1, targets + 1)]
    epsilons = [Fraction(20)] * levels_for(targets)
    values = np.arange(0.0, 1000.0)
    found = bisect(values, Lattice.spread(0.0, 1000.0), shares, epsilons, SeededEntropy(1), "y")
    assert found == pytest.approx([1000 * float(one) for one in shares], abs=10)


def test_a_wrong_number_of_budgets_is_refused() -> None:
    with pytest.raises(UsageError, match="3 quantiles need 2 levels"):
        bisect(np.zeros(0), Lattice.spread(0.0, 1.0), halves(2), [Fraction(1)], SeededEntropy(1), "y")


@pytest.mark.parametrize("share", [Fraction(-1, 2), Fraction(3, 2), Fraction(0.01)])
def test_shares_that_would_overflow_or_lie_outside_are_refused(share: Fraction) -> None:
    """0.01 as a double is a fraction over 2^59: its scores would not fit into 64 bits."""
    with pytest.raises(UsageError, match="share"):
        draw_threshold(np.arange(100), 100, share, Fraction(1), reserve(8, SeededEntropy(1)))


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
