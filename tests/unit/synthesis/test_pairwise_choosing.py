"""Pairs chosen privately: what a choice costs, what one record can change, and that strong pairs are found."""

from fractions import Fraction
from itertools import combinations, pairwise, product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.people import NAMES, ZEROS, persons, schema
from tacita.data.gathered import CodedRows
from tacita.noise.concentrated import rho_for
from tacita.noise.entropy import SeededEntropy
from tacita.noise.replay import Recording
from tacita.synthesis import PairwiseSynthesis, StepsSynthesis
from tacita.synthesis.pairwise.choosing import choose_pairs, distance, how_many, largest_change, rate_of, unrelated
from tacita.synthesis.pairwise.measuring import measure
from tacita.synthesis.pairwise.model import Answer
from tacita.synthesis.pairwise.queries import Query, pair_errors, singles, some_queries

Codes = Any
PLENTY = (Fraction(10**6), Fraction(10**6))


def ones_of(codes: Codes, levels: tuple[int, ...]) -> tuple[Answer, ...]:
    return measure(
        CodedRows(codes, levels), some_queries(singles(levels), levels, Fraction(10**9), True), SeededEntropy(1)
    )


def far(codes: Codes, levels: tuple[int, ...], pair: tuple[int, int], expected: Any) -> int:
    (exact,) = CodedRows(codes, levels).tables([pair])
    return distance(exact, expected)


def related(rows: int = 4000, seed: int = 1) -> Codes:
    """Attributes 0 and 1 are nearly the same, 2 and 3 a little alike, 4 has nothing to do with any."""
    random = np.random.default_rng(seed)
    found = random.integers(0, 3, (rows, 5))
    found[:, 1] = np.where(random.random(rows) < 0.9, found[:, 0], found[:, 1])
    found[:, 3] = np.where(random.random(rows) < 0.3, found[:, 2], found[:, 3])
    return found


# ---------------------------------------------------------------- what it costs


@settings(max_examples=200, deadline=None)
@given(st.fractions(Fraction(1, 10**6), 10**3), st.integers(1, 500), st.booleans())
def test_all_choices_together_cost_the_budget_and_no_more(rho: Fraction, choices: int, replace: bool) -> None:
    # Scores move by at most Δ up or down: the logarithm of a ratio of laws spans 2·Δ·rate, which costs its square / 8.
    spent = choices * (2 * largest_change(replace) * rate_of(rho, choices, replace)) ** 2 / 8
    assert spent <= rho
    assert spent > rho * Fraction(999, 1000)


@pytest.mark.parametrize("replace", [True, False])
@pytest.mark.parametrize("noise", [0, 3])
def test_no_neighbour_changes_a_distance_by_more_than_is_paid_for(replace: bool, noise: int) -> None:
    """All files of three records, all neighbours, with one-way tables as noisy as they like to be."""
    levels, random, worst = (2, 3), np.random.default_rng(1), 0
    kinds = np.array(list(product(*map(range, levels))))
    for file in product(range(len(kinds)), repeat=3):
        codes = kinds[list(file)]
        noisy = [
            Answer(Query((a,), False, Fraction(1), Fraction(0)), np.bincount(codes[:, a], minlength=size) + wrong)
            for a, size in enumerate(levels)
            for wrong in [random.integers(-noise, noise + 1, size)]
        ]
        here = far(codes, levels, (0, 1), unrelated(noisy, 3, (0, 1)))
        others = [np.vstack([codes[1:], kind] if replace else [codes, kind]) for kind in kinds]
        worst = max([worst, *(abs(far(other, levels, (0, 1), unrelated(noisy, 3, (0, 1))) - here) for other in others)])
    assert worst == largest_change(replace)


@pytest.mark.parametrize("replace", [True, False])
def test_the_law_of_a_choice_is_as_near_as_its_rate_says(replace: bool) -> None:
    """Exact probabilities of the first choice for two neighbours."""
    codes, levels = related(12), (3, 3, 3, 3, 3)
    ones, rate = ones_of(codes, levels), Fraction(1, 3)
    other = codes.copy()[1:] if not replace else np.vstack([codes[1:], [[2, 0, 1, 2, 0]]])
    pairs = list(combinations(range(5), 2))
    laws = []
    for file in (codes, other):
        weights = np.exp([float(rate) * far(file, levels, pair, unrelated(ones, 12, pair)) for pair in pairs])
        laws.append(np.log(weights / weights.sum()))
    assert 0 < np.ptp(laws[0] - laws[1]) <= 2 * largest_change(replace) * float(rate) + 1e-12


# ---------------------------------------------------------------- what it finds


def test_a_distance_is_that_from_unrelated_attributes() -> None:
    codes = np.array([[0, 0]] * 30 + [[0, 1]] * 10 + [[1, 0]] * 10 + [[1, 1]] * 50)
    ones = ones_of(codes, (2, 2))
    free = np.rint(np.outer([40, 60], [40, 60]) / 100)
    assert (
        far(codes, (2, 2), (0, 1), unrelated(ones, 100, (0, 1)))
        == np.abs(np.array([[30, 10], [10, 50]]) - free).sum()
        == 56
    )
    alike = np.array([[a, b] for a in range(2) for b in range(3)] * 7)
    assert far(alike, (2, 3), (0, 1), unrelated(ones_of(alike, (2, 3)), 42, (0, 1))) == 0


def test_tables_of_nothing_compare_with_even_shares() -> None:
    nothing = [Answer(Query((a,), False, Fraction(1), Fraction(0)), np.array([-3, 0])) for a in range(2)]
    assert far(np.zeros((8, 2), dtype=int), (2, 2), (0, 1), unrelated(nothing, 8, (0, 1))) == 6 + 2 + 2 + 2


@pytest.mark.parametrize("replace", [True, False])
def test_strong_pairs_are_found_and_every_attribute_is_reached(replace: bool) -> None:
    codes, levels = related(), (3, 3, 3, 3, 3)
    found = choose_pairs(
        CodedRows(codes, levels), levels, ones_of(codes, levels), 4000, PLENTY, replace, SeededEntropy(2)
    )
    assert len(found) == len(set(found)) == how_many(5) == 5
    assert found == sorted(found)
    assert {(0, 1), (2, 3)} <= set(found)
    assert {a for pair in found for a in pair} == set(range(5))


def test_with_hardly_any_budget_the_choice_is_chance() -> None:
    codes, levels = related(200), (3, 3, 3, 3, 3)
    ones, little = ones_of(codes, levels), (Fraction(1, 10**9), Fraction(1))
    missed = sum(
        (0, 1) not in choose_pairs(CodedRows(codes, levels), levels, ones, 200, little, True, SeededEntropy(seed))
        for seed in range(60)
    )
    assert 10 < missed < 50  # half of the pairs are left out


def test_a_table_whose_noise_would_drown_it_is_not_worth_its_price() -> None:
    """Two pairs just as far from unrelated; one of them has many cells."""
    random = np.random.default_rng(3)
    small, large = random.integers(0, 2, 3000), random.integers(0, 40, 3000)
    codes = np.column_stack([small, small, large, large])
    levels, budgets = (2, 2, 40, 40), (Fraction(10**6), Fraction(1, 1000))
    errors = pair_errors(levels, budgets[1], how_many(4), True)
    assert errors[2, 3] > 3000 > errors[0, 1]
    found = choose_pairs(
        CodedRows(codes, levels), levels, ones_of(codes, levels), 3000, budgets, True, SeededEntropy(1)
    )
    assert (0, 1) in found
    assert (2, 3) not in found


def test_every_choice_is_announced_with_the_scores_of_all_pairs() -> None:
    codes, levels = related(300), (3, 3, 3, 3, 3)
    listening = Recording(SeededEntropy(1))
    choose_pairs(CodedRows(codes, levels), levels, ones_of(codes, levels), 300, PLENTY, True, listening)
    assert [request.label for request in listening.requests] == [f"pair {k} of 5" for k in range(1, 6)]
    assert all(request.true.shape == (10,) for request in listening.requests)
    assert len({request.law.split()[1] for request in listening.requests}) == 1, "one rate for all"


# ---------------------------------------------------------------- pairs that are given


def test_given_pairs_are_measured_and_the_choice_goes_on_from_them() -> None:
    codes, levels = related(), (3, 3, 3, 3, 3)
    weak = [(0, 4), (1, 4)]
    listening = Recording(SeededEntropy(2))
    found = choose_pairs(CodedRows(codes, levels), levels, ones_of(codes, levels), 4000, PLENTY, True, listening, weak)
    assert set(weak) < set(found)
    assert (2, 3) in found
    assert len(found) == 5
    assert len(listening.requests) == 3, "given pairs are not paid for"
    assert listening.requests[0].law.split()[1] == f"rate={rate_of(PLENTY[0], 3, True)}"


def test_what_steps_elects_is_where_pairs_may_start() -> None:
    file, about = persons(3000), schema()
    model = StepsSynthesis(NAMES, "20", layers=3, zeros=ZEROS, election="private").rehearse(file, about, seed=1)
    (tree,) = model.released
    follows = {
        tuple(sorted((NAMES[above.attribute[parent]], NAMES[split])))
        for above, below in pairwise(tree.layers)
        for parent, split in zip(below.parent, below.attribute, strict=True)
        if split >= 0
    }
    assert model.pairs == tuple(sorted(follows))
    assert model.pairs
    plan = PairwiseSynthesis(NAMES, "1", select="private", pairs=model.pairs)
    measured = {answer.query.attributes for answer in plan.rehearse(file, about, seed=1).released.answers}
    assert {tuple(sorted((NAMES.index(a), NAMES.index(b)))) for a, b in model.pairs} <= measured


def test_enough_given_pairs_leave_nothing_to_choose() -> None:
    file, about = persons(3000), schema()
    given = [pair for pair in combinations(NAMES, 2) if "sex" not in pair]
    plan = PairwiseSynthesis(NAMES, "1", select="private", pairs=given)
    answers = plan.rehearse(file, about, seed=1).released.answers
    assert len(answers) == len(NAMES) + len(given) == 11
    spent = sum(answer.query.rho for answer in answers)
    rho = rho_for(plan.epsilon, plan.delta)
    assert rho * Fraction(999, 1000) < spent <= rho, "what nothing was chosen with goes to the pairs"
    every = PairwiseSynthesis(NAMES, "1", select="private", pairs=list(combinations(NAMES, 2)))
    assert len(every.rehearse(file, about, seed=1).released.answers) == 5 + 10
