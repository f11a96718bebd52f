"""Tables by different columns agree as the general least-squares solution has it."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from tacita.agreement.marginals import Marginal, agree_marginals
from tacita.agreement.overlapping import NoisyTable, agree
from tacita.errors import UsageError

SIZES = {"a": 3, "b": 4, "c": 2, "d": 5}
LAYOUT = ((("a",), 2.0), (("b", "a"), 1.0), (("b", "c"), 3.0), (("c", "d", "a"), 0.5))


def _measured(seed: int) -> list[Marginal]:
    random = np.random.default_rng(seed)
    return [
        Marginal(by, random.normal(100, variance**0.5, [SIZES[name] for name in by]), variance)
        for by, variance in LAYOUT
    ]


def test_values_and_variances_are_those_of_the_general_solution() -> None:
    tables = _measured(1)
    codes = dict(
        zip(SIZES, np.unravel_index(np.arange(np.prod(list(SIZES.values()))), list(SIZES.values())), strict=True)
    )
    general = agree(
        [
            NoisyTable(
                np.ravel_multi_index([codes[name] for name in one.by], one.values.shape),
                one.values.ravel(),
                np.full(one.values.size, one.variance),
            )
            for one in tables
        ]
    )
    for ours, values, variances in zip(agree_marginals(tables), general.values, general.variances, strict=True):
        np.testing.assert_allclose(ours.values.ravel(), values, rtol=1e-8)
        np.testing.assert_allclose(ours.variance, variances, rtol=1e-8)


def test_common_sums_are_the_same_and_no_variance_grows() -> None:
    tables = _measured(2)
    agreed = agree_marginals(tables)
    by_a = [
        one.values.sum(axis=tuple(at for at, name in enumerate(one.by) if name != "a"))
        for one in agreed
        if "a" in one.by
    ]
    for one, two in pairwise(by_a):
        np.testing.assert_allclose(one, two)
    assert all(after.variance <= before.variance for before, after in zip(tables, agreed, strict=True))


def test_many_columns_need_no_cross_of_all() -> None:
    random = np.random.default_rng(3)
    tables = [Marginal((f"c{at}", f"c{at + 1}"), random.normal(size=(50, 50)), 1.0) for at in range(30)]
    assert all(one.variance < 1 for one in agree_marginals(tables))


def test_one_column_has_the_same_levels_everywhere() -> None:
    with pytest.raises(UsageError, match="a has different levels"):
        agree_marginals([Marginal(("a",), np.zeros(3), 1.0), Marginal(("a",), np.zeros(4), 1.0)])
