"""What is measured, how much one record can change it, and that the costs add up to what is declared."""

from fractions import Fraction
from itertools import combinations, combinations_with_replacement, product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tacita.data.gathered import CodedRows
from tacita.noise.entropy import SeededEntropy
from tacita.noise.replay import Recording
from tacita.synthesis.pairwise.measuring import counts, measure
from tacita.synthesis.pairwise.queries import Query, error, pair_errors, queries, singles, some_queries

shapes = st.lists(st.integers(1, 9), min_size=1, max_size=7).map(tuple)
budgets = st.fractions(Fraction(1, 10**15), 10**4, max_denominator=10**15).filter(lambda rho: rho > 0)


@settings(max_examples=200, deadline=None)
@given(shapes, budgets, st.booleans())
def test_costs_never_add_up_to_more_than_rho_and_hardly_to_less(
    levels: tuple[int, ...], rho: Fraction, replace: bool
) -> None:
    found = queries(levels, rho, replace)
    spent = worst_case(found, levels, replace)
    assert spent <= rho
    smallest = min(query.variance for query in found)
    if replace and set(levels) == {1}:
        return  # nothing differs, whatever is replaced
    assert spent >= rho * (1 - Fraction(1, 10**8) - Fraction(1, 10**6) / smallest)
    for query in found:
        assert query.rho == _half_square(query.contrast, replace) / query.variance


def worst_case(found: list[Query], levels: tuple[int, ...], replace: bool) -> Fraction:
    """The most that one record costs, over every set of attributes in which a replaced one differs."""
    if not replace:
        return sum((query.rho for query in found), Fraction(0))
    most = Fraction(0)
    for differ in product(*((False, True) if size > 1 else (False,) for size in levels)):
        total = Fraction(0)
        for query in found:
            changed = [differ[one] for one in query.attributes]
            signs = [query.contrast and levels[one] == 2 for one in query.attributes]
            total += Fraction(_squares(changed, signs)) / (2 * query.variance)
        most = max(most, total)
    return most


def _squares(changed: list[bool], signs: list[bool]) -> int:
    """Δ² of a table or contrast, by counting: the record leaves one place and enters another."""
    where = {tuple(0 for sign in signs if not sign): 1}
    there = tuple(int(moved) for moved, sign in zip(changed, signs, strict=True) if not sign)
    turned = sum(moved and sign for moved, sign in zip(changed, signs, strict=True)) % 2
    where[there] = where.get(there, 0) - (-1 if turned else 1)
    return sum(step**2 for step in where.values())


def _half_square(contrast: bool, replace: bool) -> Fraction:
    """Δ²/2, counted by hand."""
    if replace:
        return Fraction(4, 2) if contrast else Fraction(2, 2)
    return Fraction(1, 2)


def test_every_attribute_and_every_pair_is_asked_for_once() -> None:
    levels = (2, 3, 2, 1)
    asked = [query.attributes for query in queries(levels, Fraction(1), True)]
    assert asked == [(0,), (1,), (2,), (3,), *combinations(range(4), 2)]
    contrasts = [q.attributes for q in queries(levels, Fraction(1), True) if q.contrast]
    assert contrasts == [(0, 1), (0, 2), (0, 3), (1, 2), (2, 3)]
    assert [query.attributes for query in queries((3,), Fraction(1), True)] == [(0,)]


@settings(max_examples=100, deadline=None)
@given(shapes, budgets, st.booleans(), st.data())
def test_some_tables_cost_what_they_are_given(
    levels: tuple[int, ...], rho: Fraction, replace: bool, data: st.DataObject
) -> None:
    every = singles(levels) + list(combinations(range(len(levels)), 2))
    sets = data.draw(st.lists(st.sampled_from(every), min_size=1, unique=True))
    found = some_queries(sets, levels, rho, replace)
    assert [query.attributes for query in found] == sets
    spent, smallest = sum(query.rho for query in found), min(query.variance for query in found)
    assert rho * (1 - Fraction(1, 10**8) - Fraction(1, 10**6) / smallest) <= spent <= rho


# ---------------------------------------------------------------- sensitivity, by trying every neighbour


def files(cells: int, rows: int) -> Any:
    """Every file of this many records, as a sorted tuple of cells: the order of records is nobody's business."""
    return combinations_with_replacement(range(cells), rows)


def replaced(file: tuple[int, ...], cells: int) -> set[tuple[int, ...]]:
    return {tuple(sorted((*file[:i], c, *file[i + 1 :]))) for i in range(len(file)) for c in range(cells)} - {file}


def added(file: tuple[int, ...], cells: int) -> set[tuple[int, ...]]:
    return {tuple(sorted((*file, c))) for c in range(cells)}


@pytest.mark.parametrize("levels", [(2, 2), (2, 3), (3, 1), (2, 2, 2)])
@pytest.mark.parametrize("replace", [True, False])
def test_no_neighbour_changes_a_query_by_more_than_it_pays_for(levels: tuple[int, ...], replace: bool) -> None:
    kinds = np.array(list(product(*map(range, levels))))
    for query in queries(levels, Fraction(1), replace):
        worst = 0
        for rows in (1, 2, 3, 4):
            for file in files(len(kinds), rows):
                (here,) = counts(CodedRows(kinds[list(file)], levels), [query])
                for other in (replaced if replace else added)(file, len(kinds)):
                    (there,) = counts(CodedRows(kinds[list(other)], levels), [query])
                    worst = max(worst, int(((here - there) ** 2).sum()))
        paid = 2 * query.rho * query.variance
        assert worst <= paid
        if np.prod([levels[one] for one in query.attributes]) > 1:
            assert worst == paid, "more is paid than needed, or the neighbours do not reach far enough"


def test_measured_tables_are_the_tables_with_noise() -> None:
    codes = np.array([[0, 1, 2], [1, 1, 0], [0, 0, 2], [0, 1, 2]])
    levels, listening = (2, 2, 3), Recording(SeededEntropy(1))
    answers = measure(CodedRows(codes, levels), queries(levels, Fraction(10**12), True), listening)
    exact = [[3, 1], [1, 3], [1, 0, 3], 0, [-1, 0, 3], [-1, 0, -1]]
    assert [answer.values.tolist() for answer in answers] == exact
    assert [request.label for request in listening.requests][3:5] == [
        "contrast of attribute 1 × attribute 2",
        "contrast of attribute 1 × attribute 3",
    ]


@pytest.mark.parametrize("replace", [True, False])
def test_the_error_of_usual_pairs_is_that_of_their_queries(replace: bool) -> None:
    levels, rho = (3, 3, 3, 3), Fraction(1, 10**6)
    pairs = [(0, 1), (1, 2), (0, 3)]
    direct = {query.attributes: error(query, levels) for query in some_queries(pairs, levels, rho, replace)}
    told = pair_errors(levels, rho, len(pairs), replace)
    assert {pair: told[pair] for pair in pairs} == {pair: round(found) for pair, found in direct.items()}
    mixed = pair_errors((2, 3, 9, 9), rho, 3, replace)
    assert mixed[0, 1] < mixed[1, 2] < mixed[2, 3], "larger tables take more noise"
