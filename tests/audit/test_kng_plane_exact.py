"""The plane draw against its definition on lattices small enough to be summed up."""

import inspect
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest

from support.planes_by_hand import Planes, small
from tacita.mechanisms.kng import plane
from tacita.mechanisms.kng.plane import Axis, draw_plane
from tacita.noise.entropy import SeededEntropy
from tacita.noise.replay import Recording

FLOAT = 1e-9
FILES = [(2, 0), (2, 1), (2, 6), (2, 25), (3, 0), (3, 5), (3, 20)]


def refined(given: Planes, rate: Fraction, most_boxes: int) -> Any:
    records = np.bincount(given.cell, minlength=given.cells).astype(np.int64)
    table = np.array([(one.offset, one.unit, one.start, one.step) for one in given.axes])
    bits = np.array([one.bits for one in given.axes], dtype=np.int64)
    return records, table, plane._refine(given.phi, given.v, given.cell, records, table, bits, float(rate), most_boxes)


@pytest.mark.parametrize("most_boxes", [2, 8, 40, 5000])
@pytest.mark.parametrize(("p", "rows"), FILES)
def test_boxes_cover_the_lattice_once_and_never_promise_too_much(p: int, rows: int, most_boxes: int) -> None:
    """Exactness rests on three things: each point in one box, scores inside a box exact, least scores true bounds."""
    given = small(p, rows, seed=rows + p)
    scores = given.scores().reshape([1 << one.bits for one in given.axes])
    records, table, (corner, sizes, least, start, count, below, leaf, pool) = refined(given, Fraction(1, 2), most_boxes)
    seen = np.zeros(scores.shape, dtype=int)
    for box in np.flatnonzero(leaf):
        members = pool[start[box] : start[box] + count[box]]
        for at in product(*(range(c, c + (1 << s)) for c, s in zip(corner[box], sizes[box], strict=True))):
            theta = np.array([plane._value(table[k], at[k]) for k in range(p)])
            assert plane._score(given.phi, given.v, given.cell, members, below[box], records, theta) == scores[at]
            assert least[box] <= scores[at]
            seen[at] += 1
    assert (seen == 1).all()
    assert leaf.sum() <= max(most_boxes, 1)


def test_boxes_are_split_where_it_matters() -> None:
    given = small(2, 25, seed=4, bits=6)
    _, _, (_, _, least, _, _, _, leaf, _) = refined(given, Fraction(4), 60_000)
    assert leaf.sum() > 20
    assert least[leaf].min() == given.scores().min()


def test_a_small_pool_is_tidied_and_the_boxes_stay_right(monkeypatch: pytest.MonkeyPatch) -> None:
    """The lists of undecided records are moved together when room runs out; shown on the plain Python function."""
    given = small(2, 300, seed=6, bits=6)
    moved = []
    original = inspect.unwrap(plane._compact)

    def compact(pool: Any, start: Any, count: Any, leaf: Any, boxes: int) -> int:
        before = {box: sorted(pool[start[box] : start[box] + count[box]]) for box in range(boxes) if leaf[box]}
        used = original(pool, start, count, leaf, boxes)
        after = {box: sorted(pool[start[box] : start[box] + count[box]]) for box in range(boxes) if leaf[box]}
        assert before == after
        moved.append(used)
        return int(used)

    real_empty = np.empty
    monkeypatch.setattr(plane, "_compact", compact)
    monkeypatch.setattr(plane.np, "empty", lambda size, kind=None: real_empty(4 * len(given.v), kind))
    records = np.bincount(given.cell, minlength=given.cells).astype(np.int64)
    table = np.array([(one.offset, one.unit, one.start, one.step) for one in given.axes])
    bits = np.array([one.bits for one in given.axes], dtype=np.int64)
    for name in ("_split_records", "_bounds", "_envelope", "_value"):
        monkeypatch.setattr(plane, name, inspect.unwrap(getattr(plane, name)))
    found = inspect.unwrap(plane._refine)(given.phi, given.v, given.cell, records, table, bits, 2.0, 200)
    corner, sizes, _, start, count, below, leaf, pool = found
    assert moved
    monkeypatch.undo()
    scores = given.scores().reshape(64, 64)
    for box in np.flatnonzero(leaf):
        members = pool[start[box] : start[box] + count[box]]
        at = tuple(corner[box] + (1 << sizes[box]) - 1)
        theta = np.array([plane._value(table[k], at[k]) for k in range(2)])
        assert plane._score(given.phi, given.v, given.cell, members, below[box], records, theta) == scores[at]


# ---------------------------------------------------------------- privacy


def hostile(given: Planes, seed: int) -> list[Planes]:
    """One record more, placed to tell the most: far above, far below, in each cell, on a plane of the lattice."""
    random, p = np.random.default_rng(seed), len(given.axes)
    return [
        given.with_record(np.append([1.0], random.choice([-9.0, 0.0, 9.0], p - 1)), v, cell)
        for v in (-1e6, 0.0, 1e6)
        for cell in range(given.cells)
    ]


@pytest.mark.parametrize("epsilon", [Fraction(1, 10), Fraction(2)])
@pytest.mark.parametrize(("p", "rows"), FILES)
def test_one_record_more_costs_at_most_epsilon(p: int, rows: int, epsilon: Fraction) -> None:
    given = small(p, rows, seed=rows)
    before = given.log_law(epsilon / 2)
    after = [one.log_law(epsilon / 2) for one in hostile(given, rows)]
    assert max(np.abs(before - one).max() for one in after) <= float(epsilon) + FLOAT
    # Two files that share all but one record: removed here, added there.
    assert max(np.abs(one - two).max() for one in after for two in after) <= 2 * float(epsilon) + FLOAT
    replaced = [one.log_law(epsilon / 4) for one in hostile(given, rows)]
    assert max(np.abs(one - two).max() for one in replaced for two in replaced) <= float(epsilon) + FLOAT


def test_the_loss_reaches_epsilon_so_a_fifth_less_noise_breaks_it() -> None:
    """Nearly every plane lies above all records and gains by a record far above, the lowest ones lose."""
    axes = [Axis.between(0.0, 1024.0, unit=1e6, centre=0.0, bits=10)]
    ones = np.ones((31, 1))
    given = Planes(ones, np.full(31, 0.5), np.zeros(31, dtype=np.int64), 1, axes)
    other = given.with_record(np.ones(1), 1e6, 0)

    def worst(epsilon: Fraction) -> float:
        return float(np.abs(given.log_law(epsilon / 2) - other.log_law(epsilon / 2)).max())

    assert 0.95 * 2 < worst(Fraction(2)) <= 2 + FLOAT
    assert worst(Fraction(2) / Fraction(4, 5)) > 2.2


def test_the_request_shows_counts_by_cell_and_the_rate() -> None:
    given, source = small(3, 20, seed=1), Recording(SeededEntropy(1))
    draw_plane(given.phi, given.v, given.cell, given.cells, given.axes, Fraction(1, 8), source, "y")
    (request,) = source.requests
    assert request.law == "plane rate=1/8"
    assert request.true.tolist() == np.bincount(given.cell, minlength=4).tolist()
