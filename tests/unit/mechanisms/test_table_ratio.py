"""Ratios whose denominators are little surer than nothing, and forecasts of small shares of a cell."""

from dataclasses import replace

import numpy as np
import pytest

from support.earners import FRAME, SCHEMA, table_of
from tacita.tables.estimates import estimated
from tacita.tables.statistics import half_length

SCALE, CELLS = 1_000, 100_000


@pytest.mark.parametrize(("size", "least"), [(1.0, 0.87), (1.2, 0.935), (3.0, 0.955)])
def test_margins_of_ratios_hold_where_the_denominator_is_little_surer_than_nothing(size: float, least: float) -> None:
    """The cells that show a value are those whose denominator came out large; `size` is over what they need. At least a
    fifth of the cells is shown, so that the standard error is below 0.003."""
    first = table_of("ratio", of=["age", "w"], where={"sex": ["F"]})
    result = first.rehearse(FRAME, SCHEMA, seed=1)
    facts = {
        name: {
            **result.facts[name],
            "step": 1.0,
            "unseen": 0.0,
            "chance": 0.0,
            "law": {"law": "discrete-laplace", "scale": str(scale)},
        }
        for name, scale in (("above", SCALE // 20), ("below", SCALE))
    }
    drawn, below = np.random.default_rng(7), size * 1.5 * 3 * SCALE
    noisy = {
        name: np.rint(true + drawn.laplace(0, scale, CELLS)).astype(np.int64)
        for name, true, scale in (("above", 0.02 * below, SCALE / 20), ("below", below, SCALE))
    }
    shown = estimated(replace(result, noisy=noisy, facts=facts), 0.95)
    there = np.isfinite(shown.value)
    assert there.mean() > 0.2
    assert shown.value[there].min() == 0  # amounts that are not negative have no negative ratio
    half = half_length(shown.value, (np.maximum(shown.lower, 0), shown.upper), (shown.lower, shown.upper))
    assert np.mean(np.abs(shown.value - 0.02)[there] <= half[there]) > least


def test_small_shares_of_a_cell_are_foretold_with_the_digits_that_tell() -> None:
    said = " ".join(table_of("count", by=["region"]).forecast(SCHEMA).sentences)
    assert "3% of a cell of 100; 0.3% of a cell of 1,000; 0.03% of a cell of 10,000" in said
