"""Exact draws from a finite law: the double-precision path, the certain path behind it, and their agreement."""

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from flint import arb, ctx, fmpq
from hypothesis import given, settings
from hypothesis import strategies as st

from support.goodness_of_fit import counts_p_value, fits, share_p_value
from tacita.errors import UsageError
from tacita.noise import choice
from tacita.noise.choice import accepts, choose, uniform_below, uniform_bits
from tacita.noise.entropy import SeededEntropy, SystemEntropy, reserve

DRAWS = 20_000


def exact_shares(widths: Any, scores: Any, rate: Fraction, shift: Any = None) -> list[Fraction]:
    """P(i) by rational arithmetic over enclosures so tight that their width cannot matter."""
    shift = [0] * len(widths) if shift is None else shift
    floor = min(int(k) for k, w in zip(scores, widths, strict=True) if w)
    with ctx.workprec(1200):
        weights = [
            (-arb(fmpq(rate.numerator, rate.denominator)) * (int(k) - floor)).exp() * (int(w) << int(s))
            if w
            else arb(0)
            for w, k, s in zip(widths, scores, shift, strict=True)
        ]
        total = sum(weights, arb(0))
        return [Fraction(int((one / total * arb(2) ** 600).mid().floor().unique_fmpz()), 2**600) for one in weights]


LAWS: dict[str, tuple[list[int], list[int], Fraction, list[int] | None]] = {
    "plain": ([1, 2, 3, 4], [0, 1, 2, 3], Fraction(1, 2), None),
    "rate 0": ([5, 0, 7, 1], [9, 0, -4, 10**9], Fraction(0), None),
    "zero widths": ([0, 3, 0, 0, 9, 0], [0, 5, -50, 1, 9, 2], Fraction(3, 10), None),
    "negative scores": ([1, 1, 1], [-3, -2, -1], Fraction(1), None),
    "shifts": ([1, 1, 1, 3], [0, 30, 60, 61], Fraction(7, 10), [0, 30, 60, 60]),
    "wide against narrow": ([1 << 40, 1, 7], [28, 0, 2], Fraction(1), None),
    "steep": ([1, 1, 1], [0, 1, 2], Fraction(5), None),
}


@pytest.mark.fresh
@pytest.mark.parametrize("name", LAWS)
@pytest.mark.parametrize("certain", [False, True])
def test_every_choice_has_its_chance(name: str, certain: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    widths, scores, rate, shift = LAWS[name]
    if certain:
        monkeypatch.setattr(choice, "_WEIGHT_ERROR", 1.0)
    draws, spare = DRAWS // 10 if certain else DRAWS, reserve(64, SystemEntropy())
    law = (np.array(widths), np.array(scores), rate, spare)
    found = [choose(*law, shift=None if shift is None else np.array(shift)) for _ in range(draws)]
    seen = np.bincount(found, minlength=len(widths))
    assert fits(counts_p_value(seen, exact_shares(widths, scores, rate, shift)))
    if rate:
        off = exact_shares(widths, scores, rate * Fraction(6, 5), shift)
        if not certain and name != "rate 0":
            assert not fits(counts_p_value(seen, off)), "a rate 20 percent off is not noticed"


finite_laws = st.integers(1, 12).flatmap(
    lambda size: st.tuples(
        st.lists(st.integers(0, 1 << 40), min_size=size, max_size=size).filter(any),
        st.lists(st.integers(-(10**6), 10**6), min_size=size, max_size=size),
        st.fractions(0, 100, max_denominator=1000),
        st.lists(st.integers(0, 90), min_size=size, max_size=size),
    )
)


def _one_word(law: Any, word: int, *, error: float, patch: pytest.MonkeyPatch) -> int:
    widths, scores, rate, shift = law
    patch.setattr(choice, "_WEIGHT_ERROR", error)
    spare = _Scripted([word])
    return choose(np.array(widths), np.array(scores), rate, spare, shift=np.array(shift))  # type: ignore[arg-type]


class _Scripted:
    """A reserve that hands out the given words, then a fixed stream."""

    def __init__(self, words: list[int]) -> None:
        self._words, self.taken = list(words), 0

    def take(self) -> int:
        self.taken += 1
        return self._words.pop(0) if self._words else 0x0123456789ABCDEF


@settings(max_examples=150, deadline=None)
@given(finite_laws, st.integers(0, 2**64 - 1))
def test_both_paths_say_the_same_for_the_same_word(law: Any, word: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        float_path = _one_word(law, word, error=2.0**-41, patch=patch)
        certain = _one_word(law, word, error=1.0, patch=patch)
    assert float_path == certain


@settings(max_examples=60, deadline=None)
@given(finite_laws, st.integers(0, 11), st.integers(-3, 3))
def test_both_paths_agree_at_the_borders(law: Any, at: int, off: int) -> None:
    """Words that lie next to a border, where a double cannot tell."""
    widths, scores, rate, shift = law
    below = sum(exact_shares(widths, scores, rate, shift)[: at % len(widths)], Fraction(0))
    word = min(max(int(below * 2**64) + off, 0), 2**64 - 1)
    with pytest.MonkeyPatch.context() as patch:
        found = [_one_word(law, word, error=error, patch=patch) for error in (2.0**-41, 1.0)]
    assert found[0] == found[1]
    assert widths[found[0]] > 0
    # The answer is the first index whose cumulative share lies above the uniform number.
    reached, shares = Fraction(0), exact_shares(widths, scores, rate, shift)
    for i, one in enumerate(shares):
        reached += one
        if i == found[0]:
            assert reached >= Fraction(word, 2**64) - Fraction(1, 2**550)
            assert reached - one <= Fraction(word + 1, 2**64) + Fraction(1, 2**550)


@settings(max_examples=200, deadline=None)
@given(finite_laws)
def test_the_error_bound_of_double_precision_holds(law: Any) -> None:
    """Cumulative weights in double precision lie within `lost` of the exact ones, with room for U·total as well."""
    widths, scores, rate, shift = (
        np.array(law[0], dtype=np.int64),
        np.array(law[1], dtype=np.int64),
        law[2],
        np.array(law[3], dtype=np.int64),
    )
    reached, lost = choice._reached(widths, scores, rate, shift)
    exact = np.cumsum(exact_shares(widths, scores, rate, shift))
    worst = max(
        abs(Fraction(float(r)) - one * Fraction(float(reached[-1]))) for r, one in zip(reached, exact, strict=True)
    )
    assert worst <= Fraction(lost)


def test_far_scores_are_chosen_never_but_do_not_disturb() -> None:
    spare = reserve(64, SeededEntropy(3))
    widths, scores = np.array([1 << 40, 1, 1 << 40]), np.array([10**15, 0, -(10**15) + 10**15 + 10**12])
    assert {choose(widths, scores, Fraction(1), spare) for _ in range(500)} == {1}


def test_one_choice_uses_one_word() -> None:
    spare = _Scripted([2**64 - 1])
    assert choose(np.array([3]), np.array([77]), Fraction(1, 7), spare) == 0  # type: ignore[arg-type]
    assert spare.taken == 1


def test_equal_halves_split_the_words_exactly() -> None:
    halves = (np.array([1, 1]), np.array([4, 4]), Fraction(1))
    assert choose(*halves, _Scripted([2**63 - 1])) == 0  # type: ignore[arg-type]
    assert choose(*halves, _Scripted([2**63])) == 1  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("widths", "rate"), [([], Fraction(1)), ([0, 0], Fraction(1)), ([1, -1], Fraction(1)), ([1], Fraction(-1))]
)
def test_a_law_without_a_choice_is_refused(widths: list[int], rate: Fraction) -> None:
    with pytest.raises(UsageError, match="at least one choice"):
        choose(np.array(widths), np.zeros(len(widths)), rate, reserve(8, SeededEntropy(1)))


# ---------------------------------------------------------------- the small draws beside it


@pytest.mark.fresh
@pytest.mark.parametrize("exponent", [Fraction(1, 1000), Fraction(1, 3), Fraction(2), Fraction(7)])
def test_accepts_with_its_probability(exponent: Fraction) -> None:
    spare, chance = reserve(64, SystemEntropy()), float(np.exp(-float(exponent)))
    kept = sum(accepts(exponent, spare) for _ in range(DRAWS))
    assert fits(float(share_p_value(kept, DRAWS, chance)))


def test_accepts_decides_by_exactly_the_exponential() -> None:
    """exp(−1)·2^64 = 6786177901268885274.5…: the word on either side of it decides."""
    assert accepts(Fraction(1), _Scripted([6786177901268885273]))  # type: ignore[arg-type]
    assert not accepts(Fraction(1), _Scripted([6786177901268885275]))  # type: ignore[arg-type]
    undecided = _Scripted([6786177901268885274, 0])
    assert accepts(Fraction(1), undecided)  # type: ignore[arg-type]
    assert undecided.taken == 2


def test_accepts_knows_certainty_and_refuses_growth() -> None:
    untouched = _Scripted([])
    assert accepts(Fraction(0), untouched)  # type: ignore[arg-type]
    assert untouched.taken == 0
    with pytest.raises(UsageError, match="exponent"):
        accepts(Fraction(-1), untouched)  # type: ignore[arg-type]
    assert not accepts(Fraction(10**9), reserve(8, SeededEntropy(1)))


@pytest.mark.fresh
@pytest.mark.parametrize("end", [1, 2, 3, 7, 8, 100])
def test_uniform_below_is_uniform(end: int) -> None:
    spare = reserve(64, SystemEntropy())
    seen = np.bincount([uniform_below(end, spare) for _ in range(DRAWS)], minlength=end)
    assert seen.size == end
    assert fits(counts_p_value(seen, np.full(end, 1 / end)))


def test_uniform_below_rejects_instead_of_wrapping() -> None:
    words = _Scripted([2**64 - 1, 0b101 << 61, 0b100 << 61])  # three bits each: 7 and 5 are too large for 5 choices
    assert uniform_below(5, words) == 4  # type: ignore[arg-type]
    assert words.taken == 3
    assert uniform_below(1 << 64, _Scripted([2**64 - 1])) == 2**64 - 1  # type: ignore[arg-type]


@pytest.mark.parametrize("end", [0, -1, (1 << 64) + 1])
def test_uniform_below_refuses_what_it_cannot_reach(end: int) -> None:
    with pytest.raises(UsageError, match="end"):
        uniform_below(end, reserve(8, SeededEntropy(1)))


def test_uniform_bits_are_the_first_bits() -> None:
    assert [uniform_bits(bits, _Scripted([0b1011 << 60])) for bits in (0, 1, 2, 4)] == [0, 1, 2, 11]  # type: ignore[arg-type]
    for bits in (-1, 65):
        with pytest.raises(UsageError, match="bits"):
            uniform_bits(bits, reserve(8, SeededEntropy(1)))
