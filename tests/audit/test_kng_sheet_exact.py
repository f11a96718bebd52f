"""Boxes in sheared coordinates keep the law of the plane draw, and draw where a predictor hardly varies."""

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from support.planes_by_hand import Planes, small
from tacita.mechanisms.kng import plane, sheet
from tacita.mechanisms.kng.plane import Axis, draw_plane
from tacita.mechanisms.kng.sheet import File, Sheets
from tacita.noise.entropy import SeededEntropy
from tacita.synthesis.quantile.design import anchor_weights, cell_of

FILES = [(1, 5), (2, 0), (2, 1), (2, 6), (2, 25), (3, 0), (3, 5), (3, 20)]
KINDS = ["as drawn", "constant", "constant but one", "two kinds", "large"]


def file_of(given: Planes, kind: str) -> Planes:
    """The same records with predictors that leave the plane open in different ways."""
    phi = given.phi.copy()
    if kind == "constant":
        phi[:] = phi[:1]
    elif kind == "constant but one":
        phi[1:] = phi[1:2]
    elif kind == "two kinds":
        phi[::2], phi[1::2] = phi[:1], phi[1:2]
    elif kind == "large":
        phi *= 1e6
    return Planes(phi, given.v, given.cell, given.cells, given.axes)


def cuts(given: Planes, rate: float, boxes: int) -> list[Sheets]:
    """Both ways of choosing the shears."""
    records = np.bincount(given.cell, minlength=given.cells).astype(np.int64)
    table = np.array([(one.offset, one.unit, one.start, one.step) for one in given.axes])
    bits = np.array([one.bits for one in given.axes], dtype=np.int64)
    file = File(given.phi, given.v, given.cell, records)
    return [sheet._cut(file, table, bits, rate, boxes, enough) for enough in (0.25, 0.0)]


def inside(sheets: Sheets, box: int) -> Any:
    """Every point of the lattice that a box holds, as places and coefficients in the order of the plane."""
    p = len(sheets.order)

    def further(k: int, places: list[int], theta: Any) -> Any:
        if k < 0:
            whole, at = np.empty(p), np.empty(p, dtype=int)
            whole[sheets.order], at[sheets.order] = theta, places
            yield tuple(at), whole
            return
        begin, end = sheets.window(box, k, theta)
        assert end - begin <= int(sheets.held[box, k]) << int(sheets.shift[box, k])
        for place in range(begin, end):
            there = theta.copy()
            there[k] = plane._value(sheets.axes[k], place)
            yield from further(k - 1, [place, *places], there)

    yield from further(p - 1, [], np.zeros(p))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("boxes", [4, 40, 3000])
@pytest.mark.parametrize(("p", "rows"), FILES)
def test_windows_cover_the_lattice_once_and_never_promise_too_much(p: int, rows: int, boxes: int, kind: str) -> None:
    """Each plane in one box, no more places in a window than were counted on, least scores true bounds."""
    given = file_of(small(p, rows, seed=rows + p), kind)
    scores = given.scores().reshape([1 << one.bits for one in given.axes])
    records = np.bincount(given.cell, minlength=given.cells).astype(np.int64)
    for sheets in cuts(given, 0.5, boxes):
        seen = np.zeros(scores.shape, dtype=int)
        for box in range(len(sheets.least)):
            members = sheets.pool[sheets.start[box] : sheets.start[box] + sheets.count[box]]
            for at, theta in inside(sheets, box):
                found = plane._score(given.phi, given.v, given.cell, members, sheets.below[box], records, theta)
                assert found == scores[at]
                assert sheets.least[box] <= found
                seen[at] += 1
        assert (seen == 1).all()


def test_rounds_in_sheared_boxes_have_the_law() -> None:
    """4,000 draws against the law summed up from its definition, and against one with a quarter less noise."""
    given = file_of(small(2, 12, seed=3), "constant but one")
    thetas = {tuple(one): at for at, one in enumerate(given.thetas().tolist())}
    rate, entropy = Fraction(1, 4), SeededEntropy(20261116)
    records = np.bincount(given.cell, minlength=given.cells).astype(np.int64)
    table = np.array([(one.offset, one.unit, one.start, one.step) for one in given.axes])
    bits = np.array([one.bits for one in given.axes], dtype=np.int64)
    file = File(given.phi, given.v, given.cell, records)
    sheets = sheet.cut(file, table, bits, float(rate), 60)
    spare = plane.reserve(1024, entropy)
    counts = np.zeros(len(thetas))
    while counts.sum() < 4000:
        theta = sheet.propose(sheets, file, rate, spare)
        if theta is not None:
            counts[thetas[tuple(theta.tolist())]] += 1

    def apart(law: Any) -> float:
        """Pearson's statistic over groups of equal score, in standard deviations."""
        groups = np.unique(given.scores(), return_inverse=True)[1]
        expected = 4000 * np.bincount(groups, weights=np.exp(law))
        seen = np.bincount(groups, weights=counts)
        kept = expected > 5
        statistic = ((seen - expected)[kept] ** 2 / expected[kept]).sum()
        return float((statistic - kept.sum()) / (2 * kept.sum()) ** 0.5)

    assert apart(given.log_law(rate)) < 6
    assert apart(given.log_law(rate * Fraction(13, 10))) > 6


@pytest.mark.parametrize("epsilon", [1, 20, 200])
@pytest.mark.parametrize("kind", ["constant", "constant but one", "constant but two", "two kinds"])
def test_a_plane_is_drawn_where_predictors_hardly_vary(
    epsilon: int, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Boxes along the axes alone refuse such files a hundred thousand times; how long it takes must not be an error."""
    width, rows, random = 1000.0, 400, np.random.default_rng(0)
    z = np.full((rows, 2), 0.3)
    if kind == "two kinds":
        z[::2] = -0.5
    elif kind != "constant":
        z[0], z[1] = (-2.0, 2.0), (2.0, -2.0) if kind == "constant but two" else (0.3, 0.3)
    v = random.normal(0, 1e-3, rows)
    axes = [Axis.between(-width, 2 * width, unit=width / 2**14, centre=0.0) for _ in range(3)]
    rounds = []
    real = sheet.propose
    monkeypatch.setattr(plane, "_PATIENCE", 20)
    monkeypatch.setattr(plane, "propose", lambda *given: rounds.append(1) or real(*given))
    phi = anchor_weights(z)
    for seed in range(2):
        theta = draw_plane(
            phi, v, cell_of(z, np.zeros(2)), 4, axes, Fraction(epsilon, 2), SeededEntropy(seed), "median plane"
        )
        along = phi @ theta
        assert abs(np.median(along - v)) < 0.1
    assert len(rounds) < 800


def test_shears_are_never_steep() -> None:
    order, tilt = sheet.tilted(np.array([[0.1, 3.0, -2.0]] * 5 + [[1.0, 0.0, 0.0]]), 0.0)
    assert sorted(order) == [0, 1, 2]
    assert order[0] == 1
    assert np.abs(tilt).max() <= 1.0
