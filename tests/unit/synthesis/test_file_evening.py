"""A single file is drawn evenly: tables of three columns that nobody measured are hardly off by chance."""

from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest

from tacita.synthesis.file import evening
from tacita.synthesis.file.budget import Question
from tacita.synthesis.file.evening import even_goals, worth_evening
from tacita.synthesis.file.fitting import Fit, drawn, fitted, unsure
from tacita.synthesis.file.graph import tabulate_all
from tacita.synthesis.file.targets import Answer

LEVELS, RECORDS = (4, 3, 4, 3, 4, 3), 3000
THREES = list(combinations(range(len(LEVELS)), 3))


@pytest.fixture(scope="module")
def answers() -> tuple[Answer, ...]:
    """Tables of unrelated columns, two each, of which the first states are the fullest."""
    shares = [np.arange(size, 0, -1) / np.arange(1, size + 1).sum() for size in LEVELS]

    def measured(table: tuple[int, ...]) -> Answer:
        counts = RECORDS * (shares[table[0]] if len(table) == 1 else np.outer(*(shares[a] for a in table)))
        return Answer(Question(table, False, Fraction(4), Fraction(1), False), np.rint(counts).astype(np.int64))

    tables = [one for ways in (1, 2) for one in combinations(range(len(LEVELS)), ways)]
    return tuple(measured(one) for one in tables)


def off(fit: Fit, seed: int) -> float:
    """How far tables of three columns are from unrelated ones, in records that stand in the wrong cell."""
    records, _ = drawn(fit, RECORDS, np.random.default_rng(seed))
    found = []
    for table, counts in zip(THREES, tabulate_all(records, LEVELS, THREES), strict=True):
        law = np.array([RECORDS], dtype=np.float64)
        for a in table:
            law = np.outer(law, np.arange(LEVELS[a], 0, -1) / np.arange(1, LEVELS[a] + 1).sum()).ravel()
        found.append(np.abs(counts.ravel() - law).sum() / 2)
    return float(np.mean(found))


def test_chance_moves_tables_of_three_columns_less_than_half_as_far(
    answers: tuple[Answer, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    fit = fitted(answers, LEVELS, (), float(RECORDS), np.random.default_rng(1))
    even = off(fit, 2)
    monkeypatch.setattr(evening, "_WORK", 0)
    assert even < 0.5 * off(fit, 2)


def test_several_files_vary_by_chance_as_before(answers: tuple[Answer, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    fit = fitted(answers, LEVELS, (), float(RECORDS), np.random.default_rng(1))
    some = unsure(fit, answers, np.random.default_rng(2))
    one, _ = drawn(some, RECORDS, np.random.default_rng(3))
    monkeypatch.setattr(evening, "_WORK", 0)
    other, _ = drawn(some, RECORDS, np.random.default_rng(3))
    assert np.array_equal(one, other)


def test_of_many_columns_or_records_no_more_tables_are_looked_at_than_there_is_time_for() -> None:
    random = np.random.default_rng(1)
    assert len(worth_evening((5,) * 200, 5000, set(), random)) == 4000
    assert worth_evening((5,) * 20, 10**6, set(), random) == []
    assert worth_evening((5, 5, 5, 1), 1000, set(), random) == []
    assert worth_evening((30,) * 10, 1000, set(), random) == []


def test_goals_are_means_of_all_files_and_those_that_are_measured_are_none() -> None:
    random = np.random.default_rng(1)
    looks = [random.integers(0, 3, (200, 6)) for _ in range(4)]
    threes = worth_evening((3,) * 6, 200, {(0, 1, 2)}, random)
    assert (0, 1, 2) not in threes
    assert len(threes) == 19
    for goal in even_goals(looks, (3,) * 6, threes, 1.0):
        (whole,) = tabulate_all(np.concatenate(looks), (3,) * 6, [goal.attributes])
        assert np.allclose(goal.counts, whole / 4)
