"""What is measured, how much one record can change it, and that the costs add up to what is declared."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations, combinations_with_replacement, product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tacita.noise.entropy import SeededEntropy
from tacita.noise.replay import Recording
from tacita.synthesis.pairwise.measuring import ADDED, REPLACED, association, associations, counts, measure
from tacita.synthesis.pairwise.plan import _chosen
from tacita.synthesis.pairwise.queries import Query, error, growing_error, queries

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
    some = queries(levels, Fraction(1), True, [(1, 2)])
    assert [query.attributes for query in some] == [(0,), (1,), (2,), (3,), (1, 2)]
    alone = queries(levels, Fraction(1), True, [])
    assert [query.attributes for query in alone] == [(0,), (1,), (2,), (3,)]
    assert sum(query.rho for query in alone) > Fraction(99, 100), "without pairs everything goes to single attributes"


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
                here = counts(kinds[list(file)], levels, query)
                for other in (replaced if replace else added)(file, len(kinds)):
                    there = counts(kinds[list(other)], levels, query)
                    worst = max(worst, int(((here - there) ** 2).sum()))
        paid = 2 * query.rho * query.variance
        assert worst <= paid
        if np.prod([levels[one] for one in query.attributes]) > 1:
            assert worst == paid, "more is paid than needed, or the neighbours do not reach far enough"


def most_changed(levels: tuple[int, int], rows: int, *, replace: bool) -> int:
    """The largest change of the association over all files of this size and all their neighbours."""
    kinds = np.array(list(product(*map(range, levels))))
    known: dict[tuple[int, ...], int] = {}

    def value(file: tuple[int, ...]) -> int:
        if file not in known:
            known[file] = association(kinds[list(file)], levels, 0, 1)
        return known[file]

    step = replaced if replace else added
    return max(abs(value(f) - value(g)) for f in files(len(kinds), rows) for g in step(f, len(kinds)))


@pytest.mark.parametrize("levels", [(2, 2), (2, 3)])
def test_one_record_changes_an_association_by_no_more_than_is_paid_for(levels: tuple[int, int]) -> None:
    sizes = range(1, 13 if levels == (2, 2) else 8)
    by_replacing = {rows: most_changed(levels, rows, replace=True) for rows in sizes}
    by_adding = {rows: most_changed(levels, rows, replace=False) for rows in sizes}
    assert max(by_replacing.values()) <= REPLACED
    assert all(change <= 7 for rows, change in by_replacing.items() if rows > 4)
    assert max(by_adding.values()) <= ADDED
    assert max(by_replacing.values()) >= 2, "the neighbours do not reach far enough"
    assert max(by_adding.values()) >= 2


def test_large_files_too() -> None:
    """Random tables of 5 to 1,000 records, with concentrated margins, which move an association most."""
    random, worst = np.random.default_rng(1), [0, 0]
    for _ in range(4000):
        levels = tuple(random.integers(2, 6, 2).tolist())
        rows = int(random.integers(5, 1000))
        sparse = random.dirichlet(np.full(levels[0] * levels[1], 0.2))
        codes = np.column_stack(np.unravel_index(random.choice(sparse.size, rows, p=sparse), levels))
        other, more = codes.copy(), np.vstack([codes, [[int(random.integers(size)) for size in levels]]])
        other[0] = [int(random.integers(size)) for size in levels]
        here = association(codes, levels, 0, 1)
        worst[0] = max(worst[0], abs(here - association(other, levels, 0, 1)))
        worst[1] = max(worst[1], abs(here - association(more, levels, 0, 1)))
    assert worst[0] <= 7
    assert worst[1] <= 4


def test_an_association_is_what_it_says() -> None:
    codes = np.array([[0, 0]] * 30 + [[0, 1]] * 10 + [[1, 0]] * 10 + [[1, 1]] * 50)
    table = np.array([[30, 10], [10, 50]])
    free = np.outer(table.sum(1), table.sum(0)) / 100
    assert association(codes, (2, 2), 0, 1) == int(np.abs(table - free).sum())
    assert association(codes[:0], (2, 2), 0, 1) == 0
    alike = np.array([[a, b] for a in range(2) for b in range(3)] * 7)
    assert association(alike, (2, 3), 0, 1) == 0


@pytest.mark.parametrize("replace", [True, False])
def test_associations_pay_their_share(replace: bool) -> None:
    listening, rho = Recording(SeededEntropy(1)), Fraction(1, 7)
    codes = np.random.default_rng(1).integers(0, 2, (50, 4))
    found = associations(codes, (2, 2, 2, 2), rho, replace, listening)
    (request,) = listening.requests
    variance = Fraction(request.law.partition("variance=")[2])
    change = 8 if replace else 5
    assert Fraction(change**2 * 6) / (2 * variance) == rho
    assert list(found) == list(combinations(range(4), 2))
    assert request.true.tolist() == [association(codes, (2, 2, 2, 2), a, b) for a, b in found]


def test_measured_tables_are_the_tables_with_noise() -> None:
    codes = np.array([[0, 1, 2], [1, 1, 0], [0, 0, 2], [0, 1, 2]])
    levels, listening = (2, 2, 3), Recording(SeededEntropy(1))
    answers = measure(codes, levels, queries(levels, Fraction(10**12), True), listening)
    exact = [[3, 1], [1, 3], [1, 0, 3], 0, [-1, 0, 3], [-1, 0, -1]]
    assert [answer.values.tolist() for answer in answers] == exact
    assert [request.label for request in listening.requests][3:5] == [
        "contrast of attribute 1 × attribute 2",
        "contrast of attribute 1 × attribute 3",
    ]


# ---------------------------------------------------------------- choosing pairs


@pytest.mark.parametrize("replace", [True, False])
def test_the_error_of_growing_sets_is_that_of_their_queries(replace: bool) -> None:
    levels, rho = (2, 2, 3, 5, 2), Fraction(1, 20)
    pairs = [(0, 1), (2, 3), (0, 4), (1, 3)]
    for size, found in enumerate(growing_error(pairs, levels, rho, replace), start=1):
        asked = queries(levels, rho, replace, pairs[:size])
        direct = sum(error(query, levels) for query in asked if len(query.attributes) == 2)
        assert found == pytest.approx(direct, rel=1e-6)


def test_strong_pairs_are_chosen_before_weak_ones() -> None:
    levels = (2, 3, 4, 5)
    strength = {(0, 1): 10_000, (0, 2): 3, (0, 3): -40, (1, 2): 8_000, (1, 3): 0, (2, 3): 20_000}
    assert _chosen(strength, levels, Fraction(1, 50), True) == [(0, 1), (1, 2), (2, 3)]
    assert _chosen(dict.fromkeys(strength, 0), levels, Fraction(1, 50), True) == []
    assert _chosen(dict.fromkeys(strength, 10**9), levels, Fraction(1, 50), True) == sorted(strength)
    assert _chosen(dict.fromkeys(strength, -5), levels, Fraction(1, 50), False) == []
