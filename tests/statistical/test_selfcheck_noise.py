"""The noise of a self-check has the size that it says, a fifth less or more would show, and its intervals hold."""

from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from scipy.stats import binom, chi2

from support.goodness_of_fit import WRONG, fits
from support.mixed_people import COLUMNS, people, schema
from tacita.data.confidential import Confidential
from tacita.mechanisms.table.noise import Budget, spread_of
from tacita.noise.entropy import SeededEntropy
from tacita.synthesis.selfcheck.measuring import measure
from tacita.synthesis.selfcheck.report import Report, as_limits

# Where the size of the noise is tested, enough to tell a fifth more or less; the seeds are fixed, since 150 draws would
# by chance accept noise a fifth too large once in seventy times.
DRAWS = {True: 150, False: 60}
LIMITS = as_limits({})


def report(budget: Budget, entropy: Any, replaced: bool) -> Report:
    """Some people against others, as if the others were synthetic."""
    others = people(300, seed=2)
    file = pa.Table.from_pandas(others.assign(hours=others["hours"].where(others["hours"] != -9)), preserve_index=False)
    data = Confidential.from_frame(people(400), schema())
    return measure(data, file, tuple(COLUMNS), None, budget, LIMITS, replaced, entropy)


@pytest.mark.parametrize("replaced", [False, True], ids=["added", "replaced"])
def test_the_noise_is_as_large_as_declared_and_the_intervals_hold_together(replaced: bool) -> None:
    budget = Budget.of_rho(Fraction(1, 10))
    exact = report(Budget(Fraction(10**9)), SeededEntropy(1), replaced)
    reports = [report(budget, SeededEntropy(seed), replaced) for seed in range(100, 100 + DRAWS[replaced])]
    if replaced:  # else the table to compare with follows the noisy number of records
        off = np.array(
            [
                (one.noisy - true.noisy) / spread_of(dict(one.noise))[0] ** 0.5
                for each in reports
                for one, true in zip(each.findings, exact.findings, strict=True)
                if one.name != "mean"  # whose clamp follows the noise
            ]
        )

        def p_value(scale: float) -> float:
            squares = float(((off / scale) ** 2).sum())
            return float(2 * min(chi2.cdf(squares, off.size), chi2.sf(squares, off.size)))

        assert fits(p_value(1.0))
        for wrong in WRONG:
            assert not fits(p_value(float(wrong)))
    names = [one.name for one in exact.findings if one.name != "mean"]
    truth = {one.name: one.value for one in exact.findings}
    held = sum(
        all(one.low <= truth[one.name] <= (one.high or 1.0) for one in each.findings if one.name in names)
        for each in reports
    )
    assert fits(float(binom.cdf(held, len(reports), 0.95)))
