"""Draws far out: what is clipped is the sum, roundings far out are right, and scores that would wrap are refused."""

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from tacita.errors import UsageError
from tacita.noise.choice import choose
from tacita.noise.entropy import SeededEntropy, Spare, reserve
from tacita.noise.plateau import WEIGHT_BITS, Draws, PlateauLaw
from tacita.noise.power import PowerLaw

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
    for at in range(1, 60):
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
