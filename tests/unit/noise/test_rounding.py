"""Fast and exact paths agree bit for bit, far out too."""

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from flint import arb, ctx

from tacita.errors import TacitaError, UsageError
from tacita.noise import entropy as entropy_module
from tacita.noise import rounding
from tacita.noise.choice import choose
from tacita.noise.entropy import SeededEntropy, Spare, SystemEntropy, reserve
from tacita.noise.laws import Laplace, QuarticCauchy, Student, SymmetricLaw
from tacita.noise.plateau import WEIGHT_BITS, Draws, PlateauLaw
from tacita.noise.power import PowerLaw
from tacita.noise.replay import Recording, Replaying, compare
from tacita.noise.rounding import SATURATION, noisy_log, noisy_on_grid

LAWS: list[SymmetricLaw] = [Laplace(), Student(Fraction(3)), Student(Fraction(29, 20)), QuarticCauchy()]

every_law = pytest.mark.parametrize("law", LAWS, ids=lambda law: law.name)

TOP = 1 << 64


class Blind:
    """A law that tells the fast path nothing, so that every cell takes the exact one."""

    def __init__(self, law: Any) -> None:
        self._law = law

    def __getattr__(self, name: str) -> Any:
        return getattr(self._law, name)

    def enclose(self, words: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return np.full(words.shape, -np.inf), np.full(words.shape, np.inf)


class Askew(Blind):
    """A law that sends the exact path looking in the wrong place first."""

    def enclose(self, words: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return np.full(words.shape, -(10.0**7)), np.full(words.shape, 10.0**9)


def certified(law: SymmetricLaw, word: int, g: int, centre: Fraction, scale: Fraction) -> bool:
    """Whether cell g can hold a draw whose first 64 bits are `word`; checked without the code under test."""
    with ctx.workprec(400):
        edges = [
            law.cdf_arb(arb(edge.numerator) / arb(edge.denominator), 400) * arb(TOP)
            for edge in ((g - Fraction(1, 2) - centre) / scale, (g + Fraction(1, 2) - centre) / scale)
        ]
    return bool(edges[0] < word + 1) and bool(edges[1] > word)


@every_law
@pytest.mark.parametrize("doubtful", [Blind, Askew])
@pytest.mark.parametrize("grid", [Fraction(1), Fraction(1, 7), Fraction(5)])
def test_exact_and_fast_path_agree_on_the_same_bits(law: SymmetricLaw, doubtful: Any, grid: Fraction) -> None:
    centre = np.arange(60) * 37 - 500
    scale = np.arange(60) * 11 + 1
    fast = noisy_on_grid(centre, scale, 3, law, SeededEntropy(8), "jobs", grid=grid)
    exact = noisy_on_grid(centre, scale, 3, doubtful(law), SeededEntropy(8), "jobs", grid=grid)
    assert fast.tolist() == exact.tolist()


@every_law
def test_each_result_is_the_cell_that_its_bits_fall_in(law: SymmetricLaw) -> None:
    words = SeededEntropy(2).words(200 + 64)
    result = noisy_on_grid(np.full(200, 41), np.full(200, 17), 2, law, SeededEntropy(2), "jobs")
    for word, g in zip(words.tolist(), result.tolist(), strict=False):
        assert certified(law, word, g, Fraction(41), Fraction(17, 2))


@every_law
def test_the_outermost_words_give_far_but_correct_cells(law: SymmetricLaw, scripted: Any) -> None:
    words = [0, 1, TOP - 2, TOP - 1, (1 << 63) - 1, 1 << 63]
    noise = SeededEntropy(6).words(64).tolist()  # what follows the first 64 bits
    result = noisy_on_grid(np.full(6, 5), np.full(6, 3), 1, law, scripted(words + noise), "jobs")
    for word, g in zip(words, result.tolist(), strict=True):
        assert certified(law, word, g, Fraction(5), Fraction(3))
    assert sorted(result[[0, 1, 4, 5, 2, 3]].tolist()) == result[[0, 1, 4, 5, 2, 3]].tolist()
    assert result[0] < -100
    assert result[3] > 100


def test_words_at_the_very_edge_of_a_cell_are_settled_by_further_bits(scripted: Any) -> None:
    """The first 64 bits agree with F at the edge between 1 and 2; the next word decides."""
    law = Student(Fraction(3))
    with ctx.workprec(300):
        scaled = law.cdf_arb(arb(3) / 2, 300) * arb(2) ** 128
        leading = int(scaled.floor().unique_fmpz())
    word, rest = divmod(leading, TOP)
    for following, expected in ((rest - 1, 1), (rest + 1, 2)):
        source = scripted([word, following])
        got = noisy_on_grid(np.array([0]), np.array([1]), 1, law, source, "jobs")
        assert got.tolist() == [expected]
        assert source.blocks == [1 + 64]


def test_a_tie_through_128_bits_takes_a_third_word(scripted: Any) -> None:
    law = Laplace()
    with ctx.workprec(400):
        leading = int((law.cdf_arb(arb(-5) / 2, 400) * arb(2) ** 192).floor().unique_fmpz())
    first, second, third = leading >> 128, leading >> 64 & (TOP - 1), leading & (TOP - 1)
    for shift, expected in ((-1, -3), (1, -2)):
        got = noisy_on_grid(np.array([0]), np.array([1]), 1, law, scripted([first, second, third + shift]), "jobs")
        assert got.tolist() == [expected]


def test_more_ties_than_the_reserve_draw_more_words(scripted: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(entropy_module, "_RESERVE", 2)
    with ctx.workprec(300):
        word = int((Laplace().cdf_arb(arb(1) / 2, 300) * arb(TOP)).floor().unique_fmpz())
    source = scripted([word] * 5, after=TOP - 1)
    got = noisy_on_grid(np.zeros(5, dtype=np.int64), np.array(1), 1, Laplace(), source, "jobs")
    assert got.tolist() == [1] * 5
    assert source.blocks == [5 + 2, 2, 2]


@pytest.mark.parametrize(("word", "bound"), [(0, -SATURATION), (TOP - 1, SATURATION - 1)])
def test_draws_beyond_the_integers_saturate(word: int, bound: int, scripted: Any) -> None:
    source = scripted([word], after=word)  # the tail of the tail: 256 equal bits
    got = noisy_on_grid(np.array([0]), np.array([1]), 1, Student(Fraction(3)), source, "jobs")
    assert got.tolist() == [bound]


def test_a_distribution_function_that_does_not_converge_is_an_error() -> None:
    class Useless(Blind):
        def cdf_arb(self, x: Any, prec: int) -> Any:
            return arb(0.5, 0.5)

    with pytest.raises(TacitaError, match="does not converge"):
        noisy_on_grid(np.array([0]), np.array([1]), 1, Useless(Laplace()), SystemEntropy(), "jobs")


@every_law
@pytest.mark.parametrize("shift", [10**6, 2**53 + 1, 2**60 + 1, -(2**60) - 1])
def test_shifting_the_centre_shifts_the_result_exactly(law: SymmetricLaw, shift: int) -> None:
    """Beyond 2^53 doubles have no units digit left: only exact arithmetic passes this."""
    here = noisy_on_grid(np.zeros(40, dtype=np.int64), np.array(9), 4, law, SeededEntropy(3), "jobs")
    there = noisy_on_grid(np.full(40, shift), np.array(9), 4, law, SeededEntropy(3), "jobs")
    assert (there - here).tolist() == [shift] * 40


def test_huge_and_tiny_scales() -> None:
    huge = noisy_on_grid(np.zeros(50, dtype=np.int64), np.array(2**55), 1, Laplace(), SeededEntropy(1), "jobs")
    assert np.median(np.abs(huge)) == pytest.approx(np.log(2) * 2**55, rel=0.7)
    tiny = noisy_on_grid(np.arange(50), np.array(1), 2**60, Laplace(), SeededEntropy(1), "jobs")
    assert tiny.tolist() == list(range(50))


def test_a_scale_of_zero_rounds_halves_up_and_adds_nothing() -> None:
    centre = np.array([-3, -2, -1, 0, 1, 2, 3])
    got = noisy_on_grid(centre, np.array(0), 1, Student(Fraction(3)), SystemEntropy(), "jobs", grid=Fraction(2))
    assert got.tolist() == [-1, -1, 0, 0, 1, 1, 2]


def test_shapes_are_kept() -> None:
    assert noisy_on_grid(np.zeros((2, 3), int), np.array(1), 1, Laplace(), SystemEntropy(), "jobs").shape == (2, 3)
    assert noisy_on_grid(np.zeros(0, int), np.array(1), 1, Laplace(), SystemEntropy(), "jobs").shape == (0,)
    assert noisy_log(np.zeros((2, 3), int), Fraction(1), Fraction(1), Fraction(1), SystemEntropy(), "jobs").shape == (
        2,
        3,
    )


def test_requests_do_not_differ_even_where_one_file_takes_the_exact_path() -> None:
    record = Recording(SystemEntropy())
    noisy_on_grid(np.zeros(30, int), np.array(1), 1, Laplace(), record, "jobs")
    replay = Replaying(record)
    # 2^60 is out of reach of doubles: every cell of the neighbour goes the exact way.
    noisy_on_grid(np.full(30, 2**60), np.array(1), 1, Laplace(), replay, "jobs")
    (difference,) = compare(record, replay)
    assert difference.law == "law=laplace grid=1"
    assert difference.true_d2.tolist() == [2**60] * 30


@pytest.mark.parametrize(
    ("scale", "denominator", "grid"), [(-1, 1, Fraction(1)), (1, 0, Fraction(1)), (1, 1, Fraction(0))]
)
def test_impossible_scales_and_grids_are_refused(scale: int, denominator: int, grid: Fraction) -> None:
    with pytest.raises(UsageError, match="jobs"):
        noisy_on_grid(np.array([1]), np.array([scale]), denominator, Laplace(), SystemEntropy(), "jobs", grid=grid)


# ---------------------------------------------------------------- log-Laplace

LOG = {"gamma": Fraction(10), "lam": Fraction(95311, 10**6), "factor": Fraction(99, 100)}


@pytest.mark.parametrize("grid", [Fraction(1), Fraction(1, 9), Fraction(5)])
@pytest.mark.parametrize("lam", [Fraction(95311, 10**6), Fraction(3, 2), Fraction(1, 10**9)])
def test_log_noise_takes_the_same_cells_on_both_paths(
    grid: Fraction, lam: Fraction, monkeypatch: pytest.MonkeyPatch
) -> None:
    counts = np.arange(50) ** 3
    parameters = {**LOG, "lam": lam}
    fast = noisy_log(counts, **parameters, entropy=SeededEntropy(5), label="jobs", grid=grid)
    monkeypatch.setattr(rounding, "FLOAT_ERROR", 0.2)  # every interval now straddles
    exact = noisy_log(counts, **parameters, entropy=SeededEntropy(5), label="jobs", grid=grid)
    assert fast.tolist() == exact.tolist()


def test_log_noise_never_falls_below_minus_gamma(scripted: Any) -> None:
    source = scripted([0, TOP - 1, 0, 1 << 63], after=12345)
    got = noisy_log(np.array([0, 0, 10**6, 10**6]), **{**LOG, "lam": Fraction(2)}, entropy=source, label="jobs")
    # (10^6 + 10)·0.99 − 10 = 989,999.9 at the centre; e^(2η) is about 2^126 at the top.
    assert got.tolist() == [-10, SATURATION - 1, -10, 990_000]


def test_log_noise_beyond_the_range_of_doubles_saturates(scripted: Any) -> None:
    words = [1 << 20, TOP - (1 << 20), 1 << 62]
    got = noisy_log(np.array([50] * 3), **{**LOG, "lam": Fraction(60)}, entropy=scripted(words), label="jobs")
    assert got.tolist() == [-10, SATURATION - 1, -10]


def test_a_negative_count_is_taken_as_zero() -> None:
    below = noisy_log(np.array([-7] * 9), **LOG, entropy=SeededEntropy(5), label="jobs")
    zero = noisy_log(np.array([0] * 9), **LOG, entropy=SeededEntropy(5), label="jobs")
    assert below.tolist() == zero.tolist()


@pytest.mark.parametrize("name", ["gamma", "lam", "factor", "grid"])
def test_log_parameters_must_be_positive(name: str) -> None:
    with pytest.raises(UsageError, match="jobs"):
        noisy_log(np.array([1]), **{**LOG, name: Fraction(0)}, entropy=SystemEntropy(), label="jobs")


def test_log_noise_is_announced_with_its_public_parameters() -> None:
    record = Recording(SystemEntropy())
    noisy_log(np.array([3, 4]), **LOG, entropy=record, label="jobs")
    (request,) = record.requests
    assert request.law == "law=log-laplace gamma=10 lambda=0.095311 factor=0.99 grid=1"
    assert request.true.tolist() == [3, 4]


F = Fraction

FARTHEST = 2**61

ONE = SeededEntropy(1)


def plateau_law(growth: Fraction) -> PlateauLaw:
    """A core between −1 and 1, and tails that begin with one plateau of width one."""
    quarter = 1 << WEIGHT_BITS - 2
    edges = (F(-2), F(-1), F(1), F(2))
    return PlateauLaw(edges, (quarter, 2 * quarter, quarter), 1, growth, (2 - growth) / (growth - 1), F(1, 2))


def drawn(monkeypatch: pytest.MonkeyPatch, column: int, periods: Any, along: Any) -> None:
    """The law's next draws, given."""
    periods = np.asarray(periods, dtype=np.int64)
    spare = Spare(np.zeros(64, dtype=np.uint64), SeededEntropy(2))
    made = Draws(np.full(periods.size, column), periods, np.asarray(along, dtype=np.uint64), spare)
    monkeypatch.setattr(PlateauLaw, "draw", lambda self, count, entropy: made)


def far_sums(law: PlateauLaw, centre: list[int]) -> list[int]:
    found = law.on_grid(np.array(centre), np.full(len(centre), 11_000), 10, SeededEntropy(1), "x")
    return [int(one) for one in found]


@pytest.mark.parametrize(("column", "end"), [(0, -FARTHEST), (2, FARTHEST)])
@pytest.mark.parametrize("period", [400, 1000, 5000, 20_000])
def test_a_clipped_draw_says_nothing_about_the_count(
    monkeypatch: pytest.MonkeyPatch, column: int, end: int, period: int
) -> None:
    counts = [0, 1000, 1001, 10**15]
    drawn(monkeypatch, column, [period] * 4, [12345] * 4)
    assert far_sums(plateau_law(F(11, 10)), counts) == [end] * 4


def test_near_the_bound_the_sum_is_exact_and_never_beyond(monkeypatch: pytest.MonkeyPatch) -> None:
    law, scale = plateau_law(F(11, 10)), F(11_000, 10)
    counts, periods = [0, 1000, 10**15, 2**60], list(range(330, 370))
    for period in periods:
        drawn(monkeypatch, 2, [period] * 4, [2**63 + 77] * 4)
        found = far_sums(law, counts)
        share = F(2**63 + 77, 2**64)
        noise = scale * ((1 + law.pivot + share) * law.growth**period - law.pivot)
        exact = int(noise + F(1, 2))
        assert found == [min(count + exact, FARTHEST) for count in counts], period


def test_roundings_after_many_periods_are_those_of_exact_arithmetic(monkeypatch: pytest.MonkeyPatch) -> None:
    """The double nearest to the growth is a little off, and its power off by that much for every period."""
    growth, period = 1 + F(1, 942), 10_000
    law, stretch = plateau_law(growth), growth**period
    # Positions on the plateau that put the noise a hair's breadth to either side of a half.
    along, expected = [], []
    lowest = (1 + law.pivot) * stretch - law.pivot
    for at in range(1, 60, 4):
        for apart in (F(sign * step, 10**6) for step in (3, 5, 10, 20) for sign in (1, -1)):
            half = lowest // 1 + 100 * at + F(1, 2)
            along.append(int((half + apart - lowest) / stretch * 2**64))
            expected.append(int(half + apart + F(1, 2)))
    drawn(monkeypatch, 2, [period] * len(along), along)
    found = law.on_grid(np.zeros(len(along), dtype=np.int64), np.ones(len(along), dtype=np.int64), 1, ONE, "x")
    assert found.tolist() == expected


class _Given:
    """Words that put the first uniform as near to 0 as it can be."""

    rehearsal = True

    def announce(self, request: Any) -> None: ...

    def words(self, count: int) -> Any:
        words = np.arange(count, dtype=np.uint64)
        words[0] = 2
        return words


def test_a_clipped_vector_says_nothing_about_the_count() -> None:
    law = PowerLaw(F(11, 10), F(2))
    found = [
        law.on_grid(np.array([[count, 7]]), np.array([2**61]), 10, _Given(), "x")[0, 0]  # type: ignore[arg-type]
        for count in (0, 1000, 1001, 10**15)
    ]
    assert found == [FARTHEST] * 4


@pytest.mark.parametrize("apart", [2**62, 2**63 - 1, 3 * 2**62])
def test_scores_whose_difference_would_wrap_are_refused(apart: int) -> None:
    scores = np.array([-(2**62) - 2**61, -(2**62) - 2**61 + apart], dtype=np.int64)
    spare = reserve(64, SeededEntropy(1))
    with pytest.raises(UsageError, match=r"scores: lie 2\^62 or more apart"):
        choose(np.array([1, 1]), scores, F(1), spare)
    # A choice of weight 0 is no choice, whatever its score.
    assert choose(np.array([1, 0]), scores, F(1), spare) == 0


def test_scores_far_apart_but_not_too_far_are_drawn_from() -> None:
    scores = np.array([0, 2**62 - 1], dtype=np.int64)
    assert choose(np.array([1, 1]), scores, F(1), reserve(64, SeededEntropy(1))) == 0
