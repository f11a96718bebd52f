"""`tc.Table`: values and limits that are drawn from ladders, and margins of what lies beyond them."""

from fractions import Fraction
from itertools import product
from typing import Any
from unittest.mock import patch

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.earners import FRAME, earners, published, table_of
from tacita.mechanisms.table.accuracy import MIDDLE_OF_TWO, middle_of
from tacita.mechanisms.table.clamp import clamp_from
from tacita.mechanisms.table.ladder import Ladder, draw_ends, runs, scores_of
from tacita.mechanisms.table.quantiles import shift_of
from tacita.noise.entropy import SeededEntropy, reserve
from tacita.tables.unseen import Unseen, beyond


@given(st.integers(-(2**53), 2**53), st.integers(0, 2**40), st.data())
def test_the_ladder_rises_and_every_step_lies_on_its_rung(lower: int, length: int, data: Any) -> None:
    ladder = Ladder(lower, min(lower + length, 2**53))
    steps = np.sort(data.draw(st.lists(st.integers(ladder.lower, ladder.upper), min_size=1)))
    rungs = ladder.rung(np.array(steps, dtype=np.int64))
    assert (np.diff(rungs) >= 0).all()
    assert ladder.bottom <= rungs.min()
    assert rungs.max() <= ladder.top
    assert (ladder.first(rungs) <= steps).all()
    assert (steps <= ladder.last(rungs)).all()
    for ends in (ladder.first(rungs), ladder.last(rungs)):
        assert (ladder.rung(ends) == rungs).all()


@pytest.mark.parametrize("rows", [3, 30, 100, *(pytest.param(one, marks=pytest.mark.slow) for one in (0, 10))])
def test_quantiles_of_few_records_are_left_empty_or_hold(rows: int) -> None:
    frame = FRAME.head(400).assign(sex=np.where(np.arange(400) < rows, "M", "F"))
    true = frame.groupby("sex")["pay"].quantile(0.5, interpolation="lower")
    said, held = 0, 0
    for seed in range(60):
        found = published(table_of("median", of="pay", by=["sex"]), frame, seed=seed).set_index("sex").loc["M"]
        if pd.notna(found["value"]):
            said += 1
            held += abs(found["value"] - true.get("M", np.inf)) <= found["margin_of_error"]
    assert said <= 6 if rows <= 3 else said - held <= 6
    assert rows < 100 or said >= 55


def test_a_value_that_many_share_is_drawn_itself() -> None:
    rungs, counts, half = np.array([10, 40, 70]), np.array([100, 300, 100]), Fraction(1, 2)
    drawn = {
        draw_ends(rungs, counts, Ladder(0, 10**4), half, 20, Fraction(1, 4), reserve(64, SeededEntropy(seed)))
        for seed in range(50)
    }
    assert drawn == {(40, 40)}


def _law_of_ends(rate: float) -> np.ndarray:
    """Every pair of five rungs, by hand: 9 records on rung 1 and 12 on rung 3, the median and two ranks."""
    law = np.zeros((5, 5))
    for low, high in product(range(5), repeat=2):
        away = []
        for rung, wanted in ((low, 10.5 - 2), (high, 10.5 + 2)):
            below, upto = 9 * (rung > 1) + 12 * (rung > 3), 9 * (rung >= 1) + 12 * (rung >= 3)
            away.append(max(below - wanted, wanted - upto, 0.0))
        law[low, high] = np.exp(-2 * rate * max(away))
    return law / law.sum()


@pytest.mark.parametrize(("rate", "right"), [(Fraction(1, 10), True), (Fraction(1, 8), False)])
def test_the_law_of_two_ends(rate: Fraction, right: bool) -> None:
    """Frequencies of pairs against the law itself, by a chi-square; a rate for a fifth less noise is refused."""
    many, law = 3_000, _law_of_ends(1 / 10)
    rungs, counts, spare = np.array([1, 3]), np.array([9, 12]), reserve(20_000, SeededEntropy(3))
    drawn = [draw_ends(rungs, counts, Ladder(0, 4), Fraction(1, 2), 2, rate, spare) for _ in range(many)]
    seen = np.zeros((5, 5))
    np.add.at(seen, tuple(np.array(drawn).T), 1)
    assert (law * many).min() > 10
    distance = float(((seen - many * law) ** 2 / (many * law)).sum())
    assert (distance < 58) == right  # 24 degrees of freedom, 1 in 10,000


def test_two_ends_enclose_as_often_as_their_law_says() -> None:
    """Of even values with rungs between them, both ends are beyond the median in all but a part of the doubt, and the
    median error of their middle is the foretold one."""
    rungs, counts, stray = 10 * np.arange(1, 402), np.ones(401, dtype=np.int64), Fraction(2)
    shift, rate, spare = shift_of(stray, 0.05), 1 / (2 * stray), reserve(40_000, SeededEntropy(5))
    drawn = [draw_ends(rungs, counts, Ladder(0, 4020), Fraction(1, 2), shift, rate, spare) for _ in range(2_000)]
    ends = np.array(drawn)
    missed = np.mean((ends[:, 0] > 2010) | (ends[:, 1] < 2010))
    assert 0.01 < missed < 0.03
    assert np.median(np.abs(ends.mean(axis=1) - 2010)) == pytest.approx(10 * MIDDLE_OF_TWO * float(stray), rel=0.1)


@pytest.mark.parametrize("stray", [Fraction(1, 2), Fraction(2), Fraction(8)])
def test_the_middle_of_two_ends_errs_as_foretold_where_no_value_occurs_twice(stray: Fraction) -> None:
    """Evenly drawn values of 800 records, 1,000 steps apart in the mean: gaps between them count as well as noise."""
    random, ladder, spare = np.random.default_rng(4), Ladder(0, 800_000), reserve(20_000, SeededEntropy(6))
    shift, off = shift_of(stray, 0.05), []
    for _ in range(800):
        values = np.sort(random.integers(0, 800_000, 800))
        rungs, counts = np.unique(ladder.rung(values), return_counts=True)
        ends = draw_ends(rungs, counts, ladder, Fraction(1, 2), shift, 1 / (2 * stray), spare)
        middle = (ladder.first(np.array(ends[:1])) + ladder.last(np.array(ends[1:]))) / 2
        off.append(abs(float(middle[0]) - np.median(values)) / 1000)
    assert np.median(off) == pytest.approx(middle_of(float(stray), shift), rel=0.12)


def test_ends_of_a_median_at_the_end_of_a_heap_are_further_out() -> None:
    """Multiples of 1,018 with 40 records each: a gap of twenty rungs, with a round number in it, stands beside every
    rung that has records. The median is the last record of its heap, the worst that can be: both ends may fall into
    the gap above it."""
    ladder, values, stray = Ladder(0, 10**8), 1018 * np.arange(1, 122), Fraction(4)
    rungs, counts = ladder.rung(values), np.full(values.size, 40)
    counts[-2] = 0
    number = int(counts.sum())
    middle = int(rungs[np.searchsorted(np.cumsum(counts), number / 2)])
    missed = []
    for strays in (0.0, number / 4):
        shift, spare = shift_of(stray, 0.05, strays), reserve(20_000, SeededEntropy(6))
        ends = [draw_ends(rungs, counts, ladder, Fraction(1, 2), shift, 1 / (2 * stray), spare) for _ in range(1_000)]
        missed.append(np.mean([low > middle or high < middle for low, high in ends]))
    assert missed[0] > 0.3
    assert missed[1] < 0.12


def test_answers_in_round_numbers_are_found() -> None:
    """Incomes in full thousands: quantiles are answers that were given, and the interval holds the true one."""
    random = np.random.default_rng(5)
    frame = FRAME.assign(pay=1000 * np.round(np.exp(3.5 + 0.6 * random.standard_normal(len(FRAME)))))
    true = frame["pay"].quantile(0.5, interpolation="lower")
    held = []
    for seed in range(20):
        found = published(table_of("median", of="pay", by=[]), frame, seed=seed)
        held.append(abs(found["value"][0] - true) <= found["margin_of_error"][0])
    assert np.mean(held) >= 0.9


@pytest.mark.parametrize(("lower", "upper"), [(0, 10**8), (-(10**5), 10**7), (7, 10**9), (-(2**53), 2**53), (0, 80)])
def test_weights_of_rungs_are_positive_and_no_octave_is_heavier_than_the_others(lower: int, upper: int) -> None:
    ladder = Ladder(lower, upper)
    weights = np.diff(ladder.reached)
    assert ladder.reached.size == ladder.top - ladder.bottom + 2
    assert weights.min() >= 1
    assert int(ladder.reached[-1]) < 2**31  # products of two fit into a word
    octaves = weights[: weights.size // 1024 * 1024].reshape(-1, 1024).sum(axis=1) if weights.size >= 1024 else weights
    assert octaves.max() <= 16 * max(octaves.min(), 1)


def test_stretches_cover_the_ladder_once() -> None:
    first, many, below, upto = runs(np.array([0, 7]), np.array([2, 1]), Ladder(0, 7))
    assert many.tolist() == [0, 1, 6, 1, 0]
    assert first.tolist() == [0, 0, 1, 7, 8]
    assert scores_of(below, upto, Fraction(1, 2), 0).tolist() == [3, 0, 1, 1, 3]


@pytest.mark.parametrize(("falling", "expected"), [(8, 8), (2, 9)])
def test_the_clamp_lies_further_above_the_visible_where_counts_fall_slowly(falling: int, expected: int) -> None:
    counts = np.zeros(30)
    counts[:7] = 40.0 * float(falling) ** np.arange(7)[::-1]
    found = clamp_from(counts, 0, 10.0, 1.0)
    assert found is not None
    assert found.exponent == expected


@pytest.mark.parametrize(("law", "statistic"), [("pareto", "variance"), ("log-normal", "sum"), ("exponential", "sum")])
def test_margins_hold_what_lies_above_a_bought_clamp(law: str, statistic: str) -> None:
    """Of files of one law, each with a seed of its own, nearly all have their value within the margin, or no margin:
    squares of a Pareto law of shape 2.2 hardly fall from one octave to the next."""
    held, given = [], []
    for seed in range(20):
        random = np.random.default_rng(seed)
        drawn = {
            "pareto": 1000 * (random.pareto(2.2, 3000) + 1),
            "log-normal": np.exp(10 + 1.5 * random.standard_normal(3000)),
            "exponential": random.exponential(30_000, 3000),
        }[law]
        frame = earners(3000).assign(pay=np.round(drawn).clip(0, 10**9))
        found = published(table_of(statistic, "1", of="pay"), frame, seed=seed)
        true = frame["pay"].sum() if statistic == "sum" else frame["pay"].var()
        given.append(np.isfinite(found["margin_of_error"][0]))
        held.append(not abs(found["value"][0] - true) > found["margin_of_error"][0])
    assert np.mean(held) >= 0.8
    assert law != "exponential" or np.mean(given) >= 0.8


def test_where_nobody_is_visible_nothing_is_said() -> None:
    found = published(table_of("mean", "1/10", of="pay", by=["region"]), FRAME.head(5))
    assert found["value"].isna().all()
    assert found["margin_of_error"].isna().all()
    assert set(found["quality"]) == {"D"}


def test_rungs_out_of_reach_keep_their_place_in_the_law() -> None:
    """Scores are told apart up to a limit; at a rate of next to nothing every rung beyond it is drawn as well."""
    rungs, counts, spare = np.array([3, 5]), np.array([10**6, 10**6]), reserve(20_000, SeededEntropy(2))
    with patch("tacita.mechanisms.table.ladder.furthest", return_value=3):
        drawn = [
            draw_ends(rungs, counts, Ladder(0, 9), Fraction(1, 2), 1, Fraction(1, 10), spare) for _ in range(4_000)
        ]
    low, high = (np.bincount(one, minlength=10) for one in np.array(drawn).T)
    # Rung 3 has the median and a rank below it, rung 5 what is a rank above: a score of 0 for 3, 2 for none else.
    law = np.full((10, 10), np.exp(-0.3))
    law[3, 5] = 1.0
    law[3, 4] = law[4, 5] = law[4, 4] = np.exp(-0.2)
    law /= law.sum()
    for seen, expected in ((low, law.sum(axis=1)), (high, law.sum(axis=0))):
        assert float(((seen - 4_000 * expected) ** 2 / (4_000 * expected)).sum()) < 33.7  # 9 degrees, 1 in 10,000


def _tail(shape: float, records: int, octaves: int = 30) -> np.ndarray:
    """Records by octave of a Pareto law."""
    above = records * 2.0 ** (-shape * np.arange(octaves + 1))
    return np.round(above[:-1] - above[1:])


@pytest.mark.parametrize(("shape", "is_open"), [(0.9, True), (1.3, True), (2.0, False), (3.0, False)])
def test_a_tail_is_closed_only_where_it_surely_falls(shape: float, is_open: bool) -> None:
    """At shape 1 amounts no longer fall; at 1.3 noise cannot tell."""
    found = clamp_from(_tail(shape, 20_000), 0, 10.0, 3.5)
    assert found is not None
    assert found.open is is_open


def test_a_tail_that_flattens_is_open_where_one_that_steepens_as_much_is_not() -> None:
    steeper, flatter = np.array([0.6, 0.5, 0.42, 0.35]), np.array([0.3, 0.33, 0.36, 0.4])
    found = []
    for falls in (steeper, flatter):
        above = 8_000 * np.cumprod(np.concatenate(([1.0], falls, np.full(20, falls[-1]))))
        found.append(clamp_from(np.round(above[:-1] - above[1:]), 0, 12.0, 4.0))
    assert [one is not None and one.open for one in found] == [False, True]


def test_the_louder_the_sum_the_lower_its_limit() -> None:
    limits = [clamp_from(_tail(2.0, 20_000), 0, 4.0, scale) for scale in (0.5, 2.0, 8.0)]
    exponents = [one.exponent for one in limits if one is not None]
    assert exponents == sorted(exponents, reverse=True)
    assert exponents[0] > exponents[-1]


def test_what_few_records_have_by_chance_adds_to_noise_by_squares() -> None:
    unseen = Unseen(np.array([10.0, np.inf]), np.array([4.0, 0.0]))
    assert unseen.beside(np.array([3.0, 3.0])).tolist() == [15.0, np.inf]
    assert unseen.times(np.array([2.0, 0.0])).beside(np.array([6.0, 1.0])).tolist() == [30.0, np.inf]


def test_bundles_of_earlier_versions_keep_their_margins() -> None:
    """They say nothing of chance, and all that lies above a limit is added."""
    facts = {"unseen": 2.0, "upper": 100.0}
    assert beyond(facts, np.array([50.0]), np.array([1.0])).beside(np.array([7.0])).tolist() == [207.0]
