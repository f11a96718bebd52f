"""What the noise leaves open: several files differ by it; values lean within their bins; pairs with a weight."""

from fractions import Fraction

import numpy as np
import pytest

from tacita.data.gathered import CodedRows
from tacita.data.schema import Schema
from tacita.noise.entropy import SeededEntropy
from tacita.synthesis.file.bins import number_of
from tacita.synthesis.file.budget import Budget, Question
from tacita.synthesis.file.columns import Grid, Shape
from tacita.synthesis.file.fitting import Fit, fitted, unsure
from tacita.synthesis.file.measuring import measure_tables
from tacita.synthesis.file.plan import FileSynthesis
from tacita.synthesis.file.targets import Answer
from tacita.synthesis.file.values import units_of

LEVELS, RECORDS, NOISE = (8, 6), 4000, Fraction(900)


def released(random: np.random.Generator) -> tuple[tuple[Answer, ...], np.ndarray]:
    """Noisy tables of two columns whose relation is about as large as the noise, and the true one."""
    odds = np.exp(random.normal(0, 0.3, LEVELS))
    truth = random.multinomial(RECORDS, (odds / odds.sum()).ravel()).reshape(LEVELS).astype(np.int64)

    def noisy(attributes: tuple[int, ...], counts: np.ndarray) -> Answer:
        more = np.rint(random.normal(0, float(NOISE) ** 0.5, counts.shape)).astype(np.int64)
        return Answer(Question(attributes, False, NOISE, Fraction(1), False), counts + more)

    return (noisy((0,), truth.sum(axis=1)), noisy((1,), truth.sum(axis=0)), noisy((0, 1), truth)), truth


def expected(fit: Fit, random: np.random.Generator) -> np.ndarray:
    (table,) = fit.field.copy().expected([(0, 1)], RECORDS, 4, random)
    return table


def test_unsure_fields_differ_by_as_much_as_is_unknown() -> None:
    """The error of the likeliest field is about what others differ from it by; with half of it they would not cover."""
    errors, spreads = [], []
    for seed in range(6):
        random = np.random.default_rng(seed)
        answers, truth = released(random)
        fit = fitted(answers, LEVELS, (), float(RECORDS), random)
        middle = expected(fit, random)
        errors.append(((middle - truth) ** 2).mean())
        others = [expected(unsure(fit, answers, random), random) for _ in range(3)]
        spreads.append(np.mean([((one - middle) ** 2).mean() for one in others]))
    assert 0.6 < (np.mean(spreads) / np.mean(errors)) ** 0.5 < 1.6


def test_pairs_of_which_nothing_was_measured_are_open_too() -> None:
    random = np.random.default_rng(1)
    answers, _ = released(random)
    third = Answer(Question((2,), False, NOISE, Fraction(1), False), np.full(4, RECORDS // 4, dtype=np.int64))
    fit = fitted((*answers, third), (*LEVELS, 4), (), float(RECORDS), random)
    assert set(fit.field.theta) == {(0, 1)}
    found = set(unsure(fit, (*answers, third), random).field.theta)
    assert (0, 1) in found
    assert len(found) == 2, "as many as were measured, at most"


def test_pairs_that_were_not_measured_are_no_more_related_than_those_that_were() -> None:
    """Where few records in rare states (missing in both) tie two columns, others came out with a quarter of the records
    in the wrong cell."""
    random = np.random.default_rng(1)
    levels, records = (6, 5, 4), 20_000
    rare = random.random(records) < 0.03
    codes = np.column_stack([np.where(rare, n - 1, random.integers(0, n - 1, records)) for n in levels[:2]])

    def noisy(attributes: tuple[int, ...], counts: np.ndarray) -> Answer:
        more = np.rint(random.normal(0, 10, counts.shape)).astype(np.int64)
        return Answer(Question(attributes, False, Fraction(100), Fraction(1), False), counts + more)

    def tabled(*columns: int) -> np.ndarray:
        cells = np.ravel_multi_index(codes[:, columns].T, [levels[a] for a in columns])
        return np.bincount(cells, minlength=30).reshape(6, 5).astype(np.int64)

    both = tabled(0, 1)
    answers = (
        *(noisy((a,), both.sum(axis=1 - a)) for a in (0, 1)),
        noisy((2,), np.full(4, records // 4, dtype=np.int64)),
        noisy((0, 1), both),
    )
    fit = fitted(answers, levels, (), float(records), random)
    for seed in range(4):
        other = np.random.default_rng(seed)
        fields = unsure(fit, answers, other).field
        (unmeasured,) = set(fields.theta) - {(0, 1)}
        table = fields.expected([unmeasured], 1.0, 8, other)[0]
        apart = np.abs(table - np.outer(table.sum(axis=1), table.sum(axis=0))).sum() / 2
        assert 0.003 < apart < 0.12


def test_records_that_lean_upwards_have_the_higher_values_of_a_bin_and_all_together_the_same_ones() -> None:
    grid = Grid(0, 99, 1.0)
    number = number_of("x", grid, False, Shape(1000, tuple(range(100)), (10,) * 100, noise=1.0), 4)
    codes = number.code(np.random.default_rng(1).integers(0, 100, 4000).astype(np.float64))
    leaning = np.where(np.arange(4000) % 2 == 0, -2.0, 2.0)
    plain = units_of(number, codes, np.random.default_rng(2))
    leant = units_of(number, codes, np.random.default_rng(2), leaning)
    for state in range(number.size):
        assert plain[codes == state].mean() == pytest.approx(leant[codes == state].mean(), abs=1.5)
        up, down = (leant[(codes == state) & (leaning == one)].mean() for one in (2.0, -2.0))
        assert up - down > 4, "of 25 values"
    assert (number.code(leant.astype(np.float64)) == codes).all()


@pytest.mark.parametrize("amount", [Fraction(1, 4000), Fraction(1, 200)])
def test_pairs_with_the_weight_are_measured_and_cost_no_more(amount: Fraction) -> None:
    random = np.random.default_rng(1)
    levels = (6,) * 7
    codes = random.integers(0, 6, (3000, 7))
    budget = Budget(amount, False, True)
    answers = measure_tables(
        CodedRows(codes, levels), levels, 3000, budget, amount, SeededEntropy(1), (0,) * 7, weight=4
    )
    pairs = [one.question.attributes for one in answers if len(one.question.attributes) == 2]
    assert {pair for pair in pairs if 4 in pair} == {tuple(sorted((4, a))) for a in range(7) if a != 4}
    assert len(pairs) < 21, "or it shows nothing"
    assert sum(one.question.cost for one in answers) <= amount


def test_a_plan_says_what_means_of_files_of_other_sizes_will_be_off_by() -> None:
    pay = {"role": "confidential", "type": "numeric", "lower": 0, "upper": 10**6, "scale": 0}
    both = {"pay": pay, "w": {**pay, "role": "weight", "upper": 1000}}
    schema = Schema.from_dict({"dataset": {"identity": "pay", "unit": "person"}, "variables": both})
    for columns, means in ((["pay"], "means"), (["pay", "w"], "weighted means")):
        told = " ".join(FileSynthesis(columns, "2").forecast(schema).sentences)
        assert f"with 100,000 records {means} are off" in told
        assert "with 1,000 records no totals are measured" in " ".join(
            FileSynthesis(columns, "1/4").forecast(schema).sentences
        )
        alone = " ".join(FileSynthesis(columns, "2", rows=5000).forecast(schema).sentences)
        assert "with 100,000" not in alone, "where the length is given"
