"""Each law against itself, and the intervals made from it against brute force."""

from fractions import Fraction

import numpy as np
import pytest
from flint import arb, ctx
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.stats import t as student_t

from tacita.errors import TacitaError, UsageError
from tacita.noise.discrete import DiscreteLaplace
from tacita.noise.entropy import SystemEntropy
from tacita.noise.error import FixedError, HiddenScaleError, LogError, inverted, margin_of
from tacita.noise.laws import FLOAT_ERROR, Laplace, QuarticCauchy, Student, SymmetricLaw
from tacita.noise.power import PowerLaw

LAWS: list[SymmetricLaw] = [
    Laplace(),
    Student(Fraction(101, 100)),
    Student(Fraction(2)),
    Student(Fraction(3)),
    Student(Fraction(337, 100)),
    Student(Fraction(1000)),
    QuarticCauchy(),
]

TOP = 1 << 64
# Both ends of the tail shortcut, of the halves and of everything, each with its neighbours.
EDGES = [0, 1, 2, (1 << 44) - 1, 1 << 44, (1 << 53) + 1, 1 << 61, (1 << 63) - 1]

EDGE_WORDS = sorted({w for edge in EDGES for w in (edge, TOP - 1 - edge)})

every_law = pytest.mark.parametrize("law", LAWS, ids=lambda law: law.name)


@every_law
def test_enclosures_contain_the_quantiles_of_both_ends_of_the_word(law: SymmetricLaw) -> None:
    words = np.concatenate((np.array(EDGE_WORDS, dtype=np.uint64), SystemEntropy().words(400)))
    low, high = law.enclose(words)
    for word, a, b in zip(words.tolist(), low.tolist(), high.tolist(), strict=True):
        with ctx.workprec(256):
            at_most = arb(0) if a == -np.inf else law.cdf_arb(arb(a), 256) * arb(TOP)
            at_least = arb(TOP) if b == np.inf else law.cdf_arb(arb(b), 256) * arb(TOP)
        assert at_most <= word
        assert at_least >= word + 1


@every_law
def test_enclosures_are_narrow_outside_the_far_tail(law: SymmetricLaw) -> None:
    low, high = law.enclose(SystemEntropy().words(2000) // np.uint64(4) + np.uint64(3 << 61))
    assert np.all(high - low <= 8 * FLOAT_ERROR * (1 + np.maximum(np.abs(low), np.abs(high))))


@every_law
def test_only_the_first_and_last_word_reach_infinity(law: SymmetricLaw) -> None:
    low, high = law.enclose(np.array([0, 1, TOP - 2, TOP - 1], dtype=np.uint64))
    assert np.isinf(low).tolist() == [True, False, False, False]
    assert np.isinf(high).tolist() == [False, False, False, True]


@every_law
def test_fast_and_certified_distribution_functions_agree(law: SymmetricLaw) -> None:
    points = np.concatenate((np.linspace(-9, 9, 61), [-1e6, -40.0, 40.0, 1e6]))
    for x, fast in zip(points.tolist(), law.cdf(points).tolist(), strict=True):
        sure = law.cdf_arb(arb(x), 200)
        assert sure.rad() < 1e-30
        assert fast == pytest.approx(float(sure.mid()), rel=1e-11, abs=1e-15)


@every_law
def test_quantiles_undo_the_distribution_function(law: SymmetricLaw) -> None:
    for p in (1e-12, 0.01, 0.3, 0.5, 0.7, 0.975, 0.9999):
        assert float(law.cdf(np.array(law.quantile(p)))) == pytest.approx(p, rel=1e-10)


@every_law
def test_the_centre_is_exactly_one_half(law: SymmetricLaw) -> None:
    half = law.cdf_arb(arb(0), 64)
    assert half.is_exact()
    assert half == arb(1) / 2


@every_law
def test_a_ball_around_zero_is_covered(law: SymmetricLaw) -> None:
    wide = law.cdf_arb(arb(0, 0.25), 100)
    for x in (-0.25, -0.1, 0.0, 0.2, 0.25):
        assert wide.contains(law.cdf_arb(arb(x), 160).mid())


@every_law
def test_certified_values_near_the_centre_do_not_lose_their_digits(law: SymmetricLaw) -> None:
    assert law.cdf_arb(arb(2) ** -70, 192).rad() < 2.0**-180


@every_law
def test_mean_abs_and_density_match_their_integrals(law: SymmetricLaw) -> None:
    def density(z: float) -> float:
        return float(np.exp(law.log_density(np.array(z))))

    assert quad(density, -3, 5)[0] == pytest.approx(float(np.diff(law.cdf(np.array([-3.0, 5.0])))[0]), rel=1e-9)
    # E|Z| = 2 ∫ P(Z > z) dz; the slow tail beyond 1000 is that of a power, z·P(Z > z)/(ν - 1).
    body = 2 * quad(lambda z: float(law.tail(np.array(z))), 0, 1000, limit=500, points=[1, 10, 100])[0]
    power = float(law.nu) if isinstance(law, Student) else 3.0
    rest = 2 * 1000 * float(law.tail(np.array(1000.0))) / (power - 1)
    assert body + rest == pytest.approx(law.mean_abs(), rel=1e-5)


@every_law
def test_mills_ratio_bound_that_the_proof_uses(law: SymmetricLaw) -> None:
    z = np.concatenate((np.linspace(0, 12, 400), np.logspace(1.1, 2.4, 60)))
    assert np.all(law.tail(z) <= 2 * (1 + z) * np.exp(law.log_density(z)))


@every_law
def test_describe_names_the_exact_parameters(law: SymmetricLaw) -> None:
    described = law.describe()
    assert all(isinstance(value, str) for value in described.values())
    if isinstance(law, Student):
        assert Fraction(described["nu"]) == law.nu


def test_a_law_whose_quantiles_are_off_is_refused() -> None:
    class Sloppy(QuarticCauchy):
        def tail_quantile(self, t: np.ndarray) -> np.ndarray:
            return super().tail_quantile(t) * (1 + 1e-9)

    with pytest.raises(TacitaError, match="not accurate enough"):
        Sloppy().enclose(np.array([5], dtype=np.uint64))


@pytest.mark.parametrize("nu", [Fraction(1), Fraction(0), Fraction(1001), 3, 3.0])
def test_degrees_of_freedom_out_of_range(nu: object) -> None:
    with pytest.raises(UsageError, match="nu"):
        Student(nu)  # type: ignore[arg-type]


@pytest.mark.parametrize("p", [0.0, 1.0, 1.5])
def test_quantiles_need_a_probability(p: float) -> None:
    with pytest.raises(UsageError, match="p:"):
        Laplace().quantile(p)


F = Fraction


@pytest.mark.parametrize("confidence", [0.5, 0.8, 0.9, 0.95, 0.99])
def test_margins_of_known_laws(confidence: float) -> None:
    assert margin_of(Laplace(), confidence) == pytest.approx(-np.log(1 - confidence), rel=1e-9)
    assert margin_of(Student(F(3)), confidence) == pytest.approx(student_t(3).ppf((1 + confidence) / 2), rel=1e-9)
    law = PowerLaw(F(3), F(2))
    assert margin_of(law, confidence) == pytest.approx(law.margin(confidence), rel=1e-9)


@pytest.mark.parametrize("law", [Laplace(), Student(F(3)), QuarticCauchy()], ids=lambda one: one.name)
@pytest.mark.parametrize("blur", [F(1, 100), F(1, 4), F(1)])
def test_a_blurred_size_widens_the_margin_as_far_as_needed(law: Laplace, blur: Fraction) -> None:
    """P(|Z| ≤ m·e^η) by simulation."""
    m = margin_of(law, 0.9, blur)
    assert m > margin_of(law, 0.9)
    rng = np.random.default_rng(1)
    eta = rng.laplace(scale=float(blur), size=400_000)
    covered = float((law.cdf(m * np.exp(eta)) - law.cdf(-m * np.exp(eta))).mean())
    assert covered == pytest.approx(0.9, abs=0.002)


@given(st.integers(-400, 400), st.floats(0.01, 0.95), st.floats(0.1, 60), st.sampled_from([0.5, 1.5, 4.0]))
def test_the_inverted_interval_holds_every_count_that_could_be_true(
    value: int, share: float, least: float, rounding: float
) -> None:
    lower, upper = (float(end[0]) for end in inverted(np.array([float(value)]), share, least, rounding))
    n = np.arange(0, 12_000)
    possible = n[np.abs(value - n) <= np.maximum(share * n, least) + rounding]
    if possible.size:
        assert lower <= possible[0] + 1e-9
        assert upper >= possible[-1] - 1e-9
        # And no longer than it must be: one count further is impossible.
        assert lower > possible[0] - 1 - 1e-9
        if possible[-1] < n[-1] and value >= 0:
            assert upper < possible[-1] + 1 + 1e-9


def test_noise_as_large_as_the_count_leaves_no_upper_end() -> None:
    lower, upper = inverted(np.array([5.0]), 1.0, 2.0, 0.5)
    assert np.isinf(upper[0])
    assert np.isfinite(lower[0])


def test_a_value_no_count_could_lead_to_still_gets_an_interval() -> None:
    lower, upper = inverted(np.array([-1000.0]), 0.2, 3.0, 0.5)
    assert (lower[0], upper[0]) == (0.0, 3.5)


def test_what_bounds_the_scale_bounds_the_interval() -> None:
    values = np.array([[100.0, 20.0]])

    def error(bounded_by: str, blur: Fraction | None = None) -> HiddenScaleError:
        return HiddenScaleError(Student(F(3)), F(1, 2), F(1, 10), F(1), bounded_by, blur)

    own, row = error("value").interval(values, 0.9), error("row").interval(values, 0.9)
    assert (row[1] - row[0] > own[1] - own[0]).all()
    assert (row[1] - row[0]).max() == pytest.approx((row[1] - row[0]).min())  # one scale for the whole row
    for end in error("nothing").interval(values, 0.9):
        assert np.isinf(end).all()
    paid = error("nothing", F(1, 50)).interval(values, 0.9, np.array([[50.0]]))
    assert (paid[1] - paid[0] < own[1] - own[0])[0, 0]
    assert "confidential" in error("value").describe()["scale_is"]


@given(st.integers(0, 100_000), st.floats(0.001, 0.999), st.floats(-1, 1), st.sampled_from([F(1, 50), F(1, 3), F(2)]))
def test_log_noise_is_inverted_exactly(count: int, confidence: float, share: float, lam: Fraction) -> None:
    """Any draw within the stated part of the noise leads to an interval that holds the count."""
    error = LogError(lam, F(10), 1 - lam**2 if lam < 1 else F(1))
    eta = -np.log(1 - confidence) * share
    value = np.floor((count + 10) * np.exp(float(lam) * eta) * float(error.factor) - 10 + 0.5)
    lower, upper = error.interval(np.array([[value]]), confidence)
    assert lower[0, 0] <= count * (1 + 1e-12) + 1e-9
    assert upper[0, 0] >= count * (1 - 1e-12) - 1e-9


def test_fixed_noise_has_one_margin() -> None:
    law = DiscreteLaplace(F(2))
    lower, upper = FixedError(law).interval(np.array([[0.0, 7.0]]), 0.95)
    assert (upper - lower == 2 * law.margin(0.95)).all()
    assert FixedError(law).describe() == law.describe()


def test_a_paid_size_never_leaves_an_empty_interval() -> None:
    """A value far below zero with a small paid size: the two intervals have nothing in common."""
    error = HiddenScaleError(Student(F(3)), F(1, 2), F(1, 10), F(1), "value", F(1, 50))
    values = np.array([[-500.0], [-20.0], [-1.0], [0.0], [40.0]])
    lower, upper = error.interval(values, 0.9, np.full((5, 1), 12.0))
    assert (lower <= upper).all()
    assert upper[0, 0] > 0
