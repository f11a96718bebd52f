"""Do thresholds and whole bisections have the law that the audit sums up? A rate 20 percent off is rejected."""

from collections import Counter
from fractions import Fraction

import numpy as np
import pytest

from support.bisections_by_hand import LATTICE, TARGETS, log_law, whole_law
from support.goodness_of_fit import counts_p_value, fits
from tacita.mechanisms.kng.line import bisect, draw_threshold
from tacita.noise.entropy import SeededEntropy, reserve


@pytest.mark.parametrize("share", [Fraction(1, 100), Fraction(1, 4), Fraction(1, 2), Fraction(99, 100)], ids=str)
@pytest.mark.parametrize("places", [(), (3,), (0, 0, 7, 11), tuple(range(12)), (5,) * 9])
def test_a_threshold_has_its_law(places: tuple[int, ...], share: Fraction) -> None:
    source, epsilon = reserve(64, SeededEntropy(7)), Fraction(3, 2)
    ordered = np.array(places, dtype=np.int64)
    found = [draw_threshold(ordered, 12, share, epsilon, source) for _ in range(4_000)]
    seen = np.bincount(found, minlength=13)
    assert fits(counts_p_value(seen, np.exp(log_law(places, 12, share, epsilon))))


@pytest.mark.parametrize("factor", [Fraction(4, 5), Fraction(6, 5)])
def test_a_threshold_of_a_wrong_rate_is_rejected(factor: Fraction) -> None:
    source, places = reserve(64, SeededEntropy(8)), np.arange(30, dtype=np.int64)
    found = [draw_threshold(places, 30, Fraction(1, 2), factor / 2, source) for _ in range(8_000)]
    law = np.exp(log_law(places.tolist(), 30, Fraction(1, 2), Fraction(1, 2)))
    away = np.abs(np.arange(31) - 15)
    assert not fits(counts_p_value(np.bincount(away[found], minlength=16), np.bincount(away, law)))


@pytest.mark.parametrize("name", TARGETS)
def test_a_whole_bisection_has_its_law(name: str) -> None:
    values = np.sort(LATTICE.value(np.array([0, 1, 1, 3])) + 0.01)
    epsilons = (Fraction(1), Fraction(2))
    law = whole_law(values, LATTICE, TARGETS[name], epsilons)
    source = SeededEntropy(9)
    seen = Counter(tuple(bisect(values, LATTICE, TARGETS[name], epsilons, source, "y").tolist()) for _ in range(2_500))
    assert set(seen) <= set(law)
    counts, chances = np.array([seen[key] for key in law]), np.array(list(law.values()))
    assert fits(counts_p_value(counts, chances))
