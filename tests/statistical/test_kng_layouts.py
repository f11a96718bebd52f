"""Do the one-dimensional draws of the layouts have the law of the definition? One declared failure rate."""

from fractions import Fraction

import numpy as np
import pytest

from support.goodness_of_fit import counts_p_value, fits
from tacita.noise.entropy import SystemEntropy
from tacita.privacy import AddRemoveOne, Neighbours, ReplaceOne
from tacita_studies.kng.layouts import HonestLayout

pytestmark = pytest.mark.fresh
DRAWS = 15_000
FEWER = 6_000  # where two numbers are drawn each time, and no wrong rate is to be told from the right one
VALUES = np.array([1.0, 2.0, 2.5, 4.0, 4.1, 5.0, 6.0, 6.2, 7.0, 7.5, 8.0, 9.5])
HALF, UPPER = Fraction(1, 2), Fraction(3, 4)


def gap_chances(tau: float, multiplier: float, low: float = 0.0, high: float = 10.0) -> np.ndarray:
    """The chance of each gap between records under a flat base measure, from the printed density."""
    edges = np.concatenate(([low], np.clip(VALUES, low, high), [high]))
    count = np.arange(VALUES.size + 1)
    weight = np.diff(edges) * np.exp(-multiplier * np.abs(count - tau * VALUES.size))
    return np.asarray(weight / weight.sum())


@pytest.mark.parametrize(
    ("tau", "relation", "sensitivity"),
    [
        pytest.param(Fraction(1, 2), AddRemoveOne("firm"), 0.5, marks=pytest.mark.slow),
        pytest.param(Fraction(9, 10), AddRemoveOne("firm"), 0.9, marks=pytest.mark.slow),
        (Fraction(1, 10), ReplaceOne("firm"), 1.0),
    ],
)
def test_one_quantile(tau: Fraction, relation: Neighbours, sensitivity: float) -> None:
    layout, entropy, epsilon = HonestLayout("plain", neighbours=relation), SystemEntropy(), 2.0
    drawn = [
        layout.fit(
            np.zeros((VALUES.size, 0)), VALUES, box=[], bounds=(0, 10), quantiles=[tau], epsilon="2", entropy=entropy
        )[0, 0]
        for _ in range(DRAWS)
    ]
    seen = np.bincount(np.searchsorted(VALUES, drawn), minlength=VALUES.size + 1)
    multiplier = epsilon / (2 * sensitivity)
    assert fits(counts_p_value(seen, gap_chances(float(tau), multiplier)))
    for wrong in (multiplier * 0.8, multiplier * 1.25):
        assert not fits(counts_p_value(seen, gap_chances(float(tau), wrong)))


def test_a_quantile_above_the_median_given_the_median() -> None:
    """The upper quartile is drawn above the drawn median, with the target rank of the whole file."""
    layout, entropy = HonestLayout("stepwise", median="0.5"), SystemEntropy()
    seen, wanted = np.zeros(VALUES.size + 1), np.zeros(VALUES.size + 1)
    for _ in range(FEWER):
        median, upper = layout.fit(
            np.zeros((VALUES.size, 0)), VALUES, box=[], bounds=(0, 10), quantiles=[HALF, UPPER], epsilon="3",
            entropy=entropy,
        )[:, 0]  # fmt: skip
        assert upper >= median
        seen[np.searchsorted(VALUES, upper)] += 1
        wanted += gap_chances(0.75, 1.5 / (2 * 0.75), low=median)
    assert fits(counts_p_value(seen, wanted / FEWER))
