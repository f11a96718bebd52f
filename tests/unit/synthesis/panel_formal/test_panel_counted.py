"""Who begins and ends in each year, from noisy counts."""

from fractions import Fraction

import numpy as np
import pytest

from support.panels import plan, wide_schema
from tacita.synthesis.panel.formal.counted import life_counts, possible_lives, units_there
from tacita.synthesis.panel.formal.released import Noisy
from tacita.synthesis.panel.formal.units import alive

LAYOUT = plan(epsilon="4").layout(wide_schema())


def _truth(units: int) -> np.ndarray:
    random = np.random.default_rng(1)
    cells = np.where(possible_lives(LAYOUT), random.exponential(1.0, possible_lives(LAYOUT).shape), 0)
    cells[0, -1] = cells.sum()
    return np.asarray(random.multinomial(units, (cells / cells.sum()).ravel()).reshape(cells.shape))


def _released(truth: np.ndarray, scale: int, seed: int) -> dict[str, Noisy]:
    random = np.random.default_rng(seed)
    tables = {"lives": truth, "lives begun": truth.sum(axis=1), "lives ended": truth.sum(axis=0)}
    return {
        name: Noisy(table + np.rint(random.laplace(0, scale, table.shape)).astype(np.int64), Fraction(scale))
        for name, table in tables.items()
    }


def test_counts_are_those_of_the_file_where_noise_is_small() -> None:
    truth = _truth(20_000)
    counts = life_counts(_released(truth, 1, 1), LAYOUT, 20_000)
    assert counts.sum() == pytest.approx(20_000)
    assert not counts[~possible_lives(LAYOUT)].any()
    assert counts.sum(axis=0) == pytest.approx(truth.sum(axis=0), abs=10)
    assert counts.sum(axis=1) == pytest.approx(truth.sum(axis=1), abs=10)
    assert units_there(_released(truth, 1, 1), LAYOUT, 20_000) == pytest.approx(alive(LAYOUT, truth), rel=0.01)


def test_margins_that_are_counted_tell_more_than_the_table_of_lives() -> None:
    truth, better, worse = _truth(600), 0.0, 0.0
    for seed in range(20):
        released = _released(truth, 8, seed)
        better += float(np.abs(life_counts(released, LAYOUT, 600).sum(axis=0) - truth.sum(axis=0)).sum())
        worse += float(np.abs(released["lives"].values.sum(axis=0) - truth.sum(axis=0)).sum())
    assert better < worse / 2


def test_files_differ_as_far_as_noise_leaves_counts_open_and_keep_their_mean() -> None:
    released, random = _released(_truth(600), 4, 1), np.random.default_rng(1)
    drawn = np.array([life_counts(released, LAYOUT, 600, random).sum(axis=1) for _ in range(200)])
    middle = life_counts(released, LAYOUT, 600).sum(axis=1)
    assert drawn.mean(axis=0) == pytest.approx(middle, abs=3)
    assert drawn.std(axis=0)[1:].max() > 1
