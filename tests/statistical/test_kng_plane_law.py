"""Do plane draws have the law of the definition? The same test rejects a rate 20 percent off."""

from fractions import Fraction

import numpy as np
import pytest
from numpy.typing import NDArray

from support.goodness_of_fit import counts_p_value, fits
from support.planes_by_hand import Planes, small
from tacita.mechanisms.kng import plane
from tacita.mechanisms.kng.plane import draw_plane
from tacita.noise.entropy import SeededEntropy

DRAWS = 4_000


def drawn(given: Planes, rate: Fraction, draws: int) -> NDArray[np.int64]:
    """How often each lattice point came."""
    source = SeededEntropy(20260101)
    values = [[one.value(j) for j in range(1 << one.bits)] for one in given.axes]
    counts = np.zeros([len(one) for one in values], dtype=np.int64)
    for _ in range(draws):
        theta = draw_plane(given.phi, given.v, given.cell, given.cells, given.axes, rate, source, "y")
        counts[tuple(int(np.argmin(np.abs(np.array(values[k]) - theta[k]))) for k in range(len(values)))] += 1
    return counts.ravel()


@pytest.mark.parametrize(
    ("p", "rows", "most_boxes"),
    [
        (2, 12, None),
        (3, 9, 2),
        *(pytest.param(*one, marks=pytest.mark.slow) for one in [(2, 12, 2), (2, 12, 6), (3, 9, None), (3, 9, 6)]),
    ],
)
def test_draws_have_their_law_whatever_the_boxes(
    p: int, rows: int, most_boxes: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Few boxes make a poor envelope and many rejections, never another law."""
    if most_boxes is not None:
        monkeypatch.setattr(plane, "_MOST_BOXES", most_boxes)
    given, rate = small(p, rows, seed=p, bits=3 if p == 2 else 2), Fraction(1, 2)
    counts = drawn(given, rate, DRAWS)
    assert fits(counts_p_value(counts, np.exp(given.log_law(rate))))
    # By score, where a wrong rate shows most: twelve records and few draws must do.
    for factor, accepted in ((Fraction(1), True), (Fraction(4, 5), False), (Fraction(6, 5), False)):
        chances = np.bincount(given.scores(), np.exp(given.log_law(rate * factor)))
        found = counts_p_value(np.bincount(given.scores(), counts), chances)
        assert fits(found) is accepted


def test_without_records_every_plane_is_as_likely() -> None:
    given = small(2, 0, seed=1, bits=2)
    assert fits(counts_p_value(drawn(given, Fraction(1), 1_600), np.full(16, 1 / 16)))
