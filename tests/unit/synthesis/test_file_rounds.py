"""Tables of three columns: chosen where pairs do not explain them, left alone where noise hides them, within budget."""

from fractions import Fraction
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
import pytest

from tacita.audit.losses import loss_of
from tacita.data.gathered import CodedRows
from tacita.data.schema import Schema
from tacita.noise.entropy import SeededEntropy
from tacita.noise.forcing import Tape
from tacita.privacy import AddRemoveOne
from tacita.synthesis import FileSynthesis
from tacita.synthesis.file import choosing
from tacita.synthesis.file import field as fields
from tacita.synthesis.file.budget import Budget
from tacita.synthesis.file.choosing import beyond
from tacita.synthesis.file.field import Field, Wanted
from tacita.synthesis.file.graph import Graph, tabulate, tabulate_all
from tacita.synthesis.file.measuring import measure_tables
from tacita.synthesis.file.rounds import candidates, most_tables, share_of_rounds

LEVELS = (2, 3, 2, 4, 2)
TRIPLE = (0, 1, 2)


def odd_ones(rows: int) -> np.ndarray:
    """Five columns. Any two of them are unrelated; of the first three each follows from the other two, but for a tenth
    of the records."""
    random = np.random.default_rng(1)
    codes = np.column_stack([random.integers(0, size, rows) for size in LEVELS]).astype(np.int64)
    follows = (codes[:, 0] + (codes[:, 1] == 2)) % 2
    codes[:, 2] = np.where(random.random(rows) < 0.9, follows, codes[:, 2])
    balanced = (codes[:, 1] == 0) & (random.random(rows) < 0.5)  # as many that follow one way as the other
    codes[balanced, 2] = 1 - codes[balanced, 2]
    return codes


def distance(one: np.ndarray, two: np.ndarray, columns: tuple[int, ...]) -> float:
    tables = [tabulate(codes, LEVELS, columns) / len(codes) for codes in (one, two)]
    return float(np.abs(tables[0] - tables[1]).sum() / 2)


def released(codes: np.ndarray, epsilon: str, **more: Any) -> tuple[Any, np.ndarray]:
    kinds = {
        f"c{k}": {"role": "confidential", "type": "categorical", "levels": [str(level) for level in range(size)]}
        for k, size in enumerate(LEVELS)
    }
    schema = Schema.from_dict({"dataset": {"identity": "odd", "unit": "person"}, "variables": kinds})
    plan = FileSynthesis(list(kinds), epsilon, neighbours=AddRemoveOne("person"), **more)
    model = plan.rehearse(pd.DataFrame(codes.astype(str), columns=list(kinds)), schema, seed=3)
    file = next(iter(model.implicates.tables)).to_pandas()
    return model, file.astype(int).to_numpy()


def test_a_relation_of_three_columns_that_no_pair_shows_is_kept() -> None:
    codes = odd_ones(5000)
    unrelated = np.column_stack([np.random.default_rng(k).permutation(codes[:, k]) for k in range(len(LEVELS))])
    assert distance(codes, unrelated, TRIPLE) > 0.15, "there is something to find"
    for pair in ((0, 2), (1, 2), (0, 1)):
        assert distance(codes, unrelated, pair) < 0.12
    for more in ({}, {"delta": "0"}):
        model, file = released(codes, "4", **more)
        assert TRIPLE in [one.question.attributes for one in model.released.answers]
        assert distance(codes, file, TRIPLE) < 0.03


def test_where_noise_hides_every_table_of_three_nothing_is_spent_on_them() -> None:
    budget = Budget(Fraction(1, 10**6), False, False)
    assert share_of_rounds(LEVELS, 5000, budget, budget.total) == 0
    model, _ = released(odd_ones(300), "1/10")
    assert max(len(one.question.attributes) for one in model.released.answers) == 2


def test_the_more_noise_the_less_goes_to_tables_of_three() -> None:
    shares = [share_of_rounds((8,) * 12, 50_000, Budget(Fraction(1), False, False), Fraction(1, part))
              for part in (1, 100, 10_000)]  # fmt: skip
    assert shares == sorted(shares, reverse=True)
    assert shares[0] == Fraction(1, 2)


@pytest.mark.parametrize("pure", [False, True])
@pytest.mark.parametrize("replace", [False, True])
def test_tables_and_choices_use_the_whole_and_no_more(
    pure: bool, replace: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    rates: list[Fraction] = []
    sound = choosing.choose
    monkeypatch.setattr(choosing, "choose", lambda *given: rates.append(given[2]) or sound(*given))
    budget = Budget(Fraction(16 if pure else 2), pure, replace)
    amount = Fraction(3, 4) * budget.total
    answers = measure_tables(
        CodedRows(odd_ones(3000), LEVELS), LEVELS, 3000, budget, amount, SeededEntropy(1), (0,) * 5
    )
    assert rates
    change = 2 if replace else 1
    chosen = sum((2 * rate * change if pure else (2 * rate * change) ** 2 / 8 for rate in rates), Fraction(0))
    spent = chosen + sum((one.question.cost for one in answers), Fraction(0))
    assert amount * Fraction(98, 100) < spent <= amount


def neighbours() -> tuple[np.ndarray, np.ndarray]:
    one = odd_ones(3000)
    two = one.copy()
    two[0] = (np.array(LEVELS) - 1) - one[0]
    return one, two


def over_given(monkeypatch: pytest.MonkeyPatch, times: int) -> list[float]:
    """What each choice loses on two files that differ in one record, over what it was given."""
    budget, given, tapes = Budget(Fraction(2), False, True), {}, [Tape(SeededEntropy(5))]
    sound = Budget.rate

    def louder(self: Budget, amount: Fraction) -> Fraction:
        rate = times * sound(self, amount)
        given[rate] = amount
        return rate

    with monkeypatch.context() as patch:
        patch.setattr(Budget, "rate", louder)
        for codes in neighbours():
            measure_tables(CodedRows(codes, LEVELS), LEVELS, 3000, budget, budget.total, tapes[-1], (0,) * 5)
            tapes.append(Tape(tapes[0]))
    draws = [[draw for draw in tape.draws if draw.sampler == "choose"] for tape in tapes[:2]]
    return [loss_of(one, two).rho / float(given[one.public["rate"]]) for one, two in zip(*draws, strict=True)]


def test_choices_lose_no_more_than_they_were_given_and_less_noise_would_show(monkeypatch: pytest.MonkeyPatch) -> None:
    assert 0.5 < max(over_given(monkeypatch, 1)) <= 1
    assert max(over_given(monkeypatch, 2)) > 1


def test_one_record_changes_what_a_table_is_worth_by_one() -> None:
    random = np.random.default_rng(1)
    for _ in range(200):
        table, expected = random.integers(0, 20, (2, 3, 2)), random.integers(0, 20, (2, 3, 2))
        more = table.copy()
        more[tuple(random.integers(0, size) for size in table.shape)] += 1
        hidden = int(random.integers(0, 6))
        assert abs(beyond(more, expected, hidden) - beyond(table, expected, hidden)) <= 1


def test_of_many_columns_the_most_related_triples_are_looked_at_and_not_too_many() -> None:
    random = np.random.default_rng(1)
    pool = random.integers(0, 3, (2000, 150))
    pool[:, 7] = pool[:, 11] = pool[:, 130]
    levels, every = (3,) * 150, set(combinations(range(150), 2))
    found = candidates(levels, 10**6, 10.0, every, pool)
    assert len(found) == 200
    assert (7, 11, 130) in found
    assert len(candidates(levels, 1000, 10.0, every, pool)) == 4000
    assert (7, 11, 130) not in candidates(levels, 10**6, 10.0, every, pool, [(7, 130)]), "one says the other"
    assert all(len(one) == 2 for one in candidates(levels, 10**6, 10.0, set(), pool)), "pairs first"
    assert candidates((2000,) * 3, 1000, 10.0, set(), pool) == [], "cells without number"
    assert len(candidates((40,) * 150, 10**5, 0.1, every, pool)) < 200, "nor too many cells in all"


def test_many_tables_at_once_are_those_one_by_one() -> None:
    codes, tables = odd_ones(500), [(0, 1), (1, 2, 3), (4,), (0, 3, 4)]
    for table, found in zip(tables, tabulate_all(codes, LEVELS, tables), strict=True):
        assert np.array_equal(found, tabulate(codes, LEVELS, table))


def test_joined_tables_say_of_every_record_what_the_single_ones_say() -> None:
    random, levels = np.random.default_rng(3), (2, 3, 4, 2, 9)
    tables = [*combinations(range(5), 2), (0, 2, 4), (1, 2, 3)]
    values = [random.standard_normal([levels[a] for a in one]) for one in tables]
    records = np.column_stack([random.integers(size, size=50) for size in levels])
    apart, joined = (Graph(levels, tables, (), joined=one) for one in (False, True))
    assert len(joined.laid) < len(apart.laid)
    cells = np.split(joined.cells(values), np.cumsum([np.prod([levels[a] for a in one]) for one in joined.laid]))
    found = np.zeros(50)
    for one, flat in zip(joined.laid, cells, strict=False):
        found += flat.reshape([levels[a] for a in one])[tuple(records[:, a] for a in one)]
    wanted = sum(value[tuple(records[:, a] for a in one)] for one, value in zip(tables, values, strict=True))
    np.testing.assert_allclose(found, wanted)
    assert apart.busiest() == joined.busiest()


def test_more_tables_share_the_amount_where_each_is_clear_and_never_more_than_twice_as_many() -> None:
    budget, levels = Budget(Fraction(1), False, False), (5,) * 15
    numbers = [most_tables(levels, records, budget, Fraction(1, 2)) for records in (1_000, 20_000, 25_000, 10**7)]
    assert numbers == sorted(numbers)
    assert (numbers[0], numbers[-1]) == (24, 48)
    assert 24 < numbers[2] < 48


def test_columns_are_tied_by_what_is_beyond_noise_alone() -> None:
    """Of 300 records in five by five states: told, drowned by noise, and all but a few in one cell."""
    apart, drowned, one_cell = 60 * np.eye(5), np.full((5, 5), 12.0), np.zeros((5, 5))
    drowned[0, 1] = drowned[2, 3] = 70.0
    one_cell[0, 0] = 296.0
    for counts, variance, tied in ((apart, 100.0, 1), (drowned, 900.0, 0), (one_cell, 100.0, 0)):
        field = Field((5, 5), [np.full(5, 1 / 5)] * 2, (), np.zeros((3, 2), dtype=np.int64))
        field.tie([Wanted((0, 1), counts, variance, 25)], 300.0)
        assert len(field.tied) == tied


@pytest.mark.parametrize("rows", [1, 3, 500])
def test_records_that_are_drawn_by_several_processors_are_those_of_one(
    monkeypatch: pytest.MonkeyPatch, rows: int
) -> None:
    monkeypatch.setattr(fields, "_FEWEST_APART", 20)
    pools = []
    for workers in (1, 3):
        monkeypatch.setattr(fields, "_WORKERS", workers)
        field = Field((3, 3), [np.full(3, 1 / 3)] * 2, (), np.zeros((rows, 2), dtype=np.int64))
        wanted = [Wanted((0, 1), 100 * np.eye(3), 1.0, 9)]
        field.tie(wanted, 300.0)
        assert len(field.tied) == 1
        field.fit(wanted, 300.0, 3, np.random.default_rng(1))
        pools.append(field.pool)
    assert np.array_equal(*pools)
