"""From measured tables to records: they come nearer, keep off what is impossible, and are never nonsense."""

from typing import Any

import numpy as np
import pytest

from tacita.data.schema import Integer, Numeric, Schema
from tacita.errors import UsageError
from tacita.synthesis.attributes import Attribute, attribute_of
from tacita.synthesis.pairwise import records as made
from tacita.synthesis.pairwise.mixture import fit_mixture, tempered
from tacita.synthesis.pairwise.records import agreeing_records, pair_counts
from tacita.synthesis.pairwise.targets import Targets

Zeros = list[tuple[int, int, int, int]]


def targets_of(codes: Any, levels: tuple[int, ...], zeros: Zeros | None = None, noise: float = 0.0) -> Targets:
    """What measuring these records would give, by hand."""
    random, found = np.random.default_rng(3), Targets(levels, zeros or [])
    whole = pair_counts(codes, found)
    for a in range(len(levels)):
        table = np.diag(whole)[found.span(a)]
        found.set_one(a, table + random.normal(0, noise, table.shape), 1.0)
        for b in range(a + 1, len(levels)):
            table = whole[found.span(a), found.span(b)]
            values = measured(table)
            found.set_pair(a, b, values + random.normal(0, noise, values.shape), 0.5, 2 in (levels[a], levels[b]))
    return found


def measured(table: Any) -> Any:
    """The difference over every axis of two levels: what is asked of a pair."""
    for axis in (1, 0):
        if table.shape[axis] == 2:
            table = table.take(0, axis) - table.take(1, axis)
    return np.asarray(table)


def loss(codes: Any, targets: Targets) -> float:
    """Σ (count − target)²·weight, from the definition."""
    whole = pair_counts(codes, targets)
    weights = np.repeat(targets.one_step, targets.levels)
    total = float((weights * (np.diag(whole) - targets.ones) ** 2).sum())
    for (a, b), wanted in targets.tables.items():
        here = whole[targets.span(a), targets.span(b)]
        total += float(targets.step[a, b] * ((measured(here) - wanted) ** 2).sum())
    return total


def on_cells(numbers: Any, shape: tuple[int, int]) -> Any:
    """Each number with its sign on all cells that it is made of."""
    found = np.zeros(shape)
    for u, v in np.ndindex(*shape):
        at = tuple(place for place, size in ((u, shape[0]), (v, shape[1])) if size != 2)
        found[u, v] = numbers[at] * (-1.0) ** sum(place for place, size in zip((u, v), shape, strict=True) if size == 2)
    return found


def people(rows: int, seed: int = 1) -> Any:
    random = np.random.default_rng(seed)
    kind = random.integers(0, 2, rows)
    return np.column_stack(
        [
            kind,
            np.where(random.random(rows) < 0.8, kind, 1 - kind),
            random.choice(4, rows, p=[0.6, 0.25, 0.1, 0.05]),
            np.minimum(random.poisson(0.5 + kind, rows), 2),
        ]
    )


LEVELS = (2, 2, 4, 3)


def test_pair_counts_are_cross_tabulations() -> None:
    codes, targets = people(50), Targets(LEVELS, [])
    found = pair_counts(codes, targets)
    for a in range(4):
        for b in range(4):
            table = np.zeros((LEVELS[a], LEVELS[b]))
            np.add.at(table, (codes[:, a], codes[:, b]), 1)
            assert np.array_equal(found[targets.span(a), targets.span(b)], table)


@pytest.mark.parametrize("noise", [0.0, 10.0, 500.0])
def test_sweeps_bring_records_nearer(noise: float, monkeypatch: pytest.MonkeyPatch) -> None:
    targets = targets_of(people(800), LEVELS, noise=noise)
    monkeypatch.setattr(made, "tempered", lambda given, mixture, rows: given)
    found = agreeing_records(targets, 800, np.random.default_rng(1))
    start = fit_mixture(targets, 800, np.random.default_rng(1)).draw(targets, 800, np.random.default_rng(2))
    assert loss(found, targets) < loss(start, targets)
    # A state where no single change helps.
    base = loss(found, targets)
    for i in range(0, 800, 97):
        for a in range(4):
            for level in range(LEVELS[a]):
                other = found.copy()
                other[i, a] = level
                assert loss(other, targets) >= base - 0.01 * base - 1e-6


def test_the_sweep_keeps_its_books(monkeypatch: pytest.MonkeyPatch) -> None:
    """Slopes are updated change by change; after a sweep they must be those of the records as they are now."""
    targets = targets_of(people(300), LEVELS, noise=5.0)
    seen: list[tuple[float, float]] = []
    honest = made._sweep

    def watched(records: Any, order: Any, starts: Any, levels: Any, slope: Any, *rest: Any) -> int:
        before = loss(records, targets)
        changed: int = honest(records, order, starts, levels, slope, *rest)
        whole = pair_counts(records, targets)
        for (a, b), wanted in targets.tables.items():
            here = whole[targets.span(a), targets.span(b)]
            part = on_cells(measured(here) - wanted, here.shape)
            assert np.allclose(slope[targets.span(a), targets.span(b)], part * targets.step[a, b], atol=1e-8)
            assert np.allclose(slope[targets.span(b), targets.span(a)], part.T * targets.step[a, b], atol=1e-8)
        seen.append((before, loss(records, targets)))
        return changed

    monkeypatch.setattr(made, "tempered", lambda given, mixture, rows: given)
    monkeypatch.setattr(made, "_sweep", watched)
    agreeing_records(targets, 300, np.random.default_rng(1))
    assert all(after <= before for before, after in seen)
    assert seen[0][1] < seen[0][0]


def test_without_noise_tables_are_met() -> None:
    codes = people(2000)
    targets = targets_of(codes, LEVELS)
    found = pair_counts(agreeing_records(targets, 2000, np.random.default_rng(1)), targets)
    exact = pair_counts(codes, targets)
    assert np.abs(found - exact).max() <= 12
    assert np.abs(np.diag(found) - np.diag(exact)).max() <= 4


def test_pairs_that_were_not_measured_are_not_made_up() -> None:
    """Two groups of attributes, each measured within itself: nothing between the groups but chance."""
    random, rows = np.random.default_rng(2), 20_000
    a, c = random.integers(0, 3, rows), random.integers(0, 3, rows)
    b = np.where(random.random(rows) < 0.7, a, random.integers(0, 3, rows))
    d = np.where(random.random(rows) < 0.7, c, random.integers(0, 3, rows))
    whole = targets_of(np.column_stack([a, b, c, d]), (3, 3, 3, 3))
    targets = Targets((3, 3, 3, 3), [])
    for one in range(4):
        targets.set_one(one, whole.ones[whole.span(one)], 1.0)
    for pair in ((0, 1), (2, 3)):
        targets.set_pair(*pair, whole.tables[pair], 0.5, False)
    for seed in range(3):
        found = pair_counts(agreeing_records(targets, rows, np.random.default_rng(seed)), targets)
        for one, two in ((0, 2), (0, 3), (1, 2), (1, 3)):
            table = found[targets.span(one), targets.span(two)]
            free = np.outer(table.sum(1), table.sum(0)) / rows
            assert np.abs(table - free).sum() / 2 / rows < 0.06
        assert np.abs(found[targets.span(0), targets.span(1)] - whole.tables[0, 1]).max() < 40


def test_deviations_are_kept_as_far_as_they_exceed_the_noise() -> None:
    """A mixture that knows it all needs no correction; where it is far off, what was measured stays."""
    targets = targets_of(people(500), LEVELS, noise=1.0)
    mixture = fit_mixture(targets, 500, np.random.default_rng(1))
    assert mixture.weights.sum() == pytest.approx(1)
    for a in range(4):
        assert np.allclose(mixture.shares[:, targets.span(a)].sum(axis=1), 1)
    exact = targets.copy()
    exact.ones = mixture.ones * 500
    for a, b in exact.tables:
        exact.tables[a, b] = targets.numbers(a, b, mixture.pairs[targets.span(a), targets.span(b)] * 500)
    near, far = exact.copy(), exact.copy()
    random = np.random.default_rng(5)
    for given, size in ((near, 0.1), (far, 100.0)):
        given.ones = exact.ones + random.normal(0, size, exact.ones.shape)
        for pair, values in exact.tables.items():
            given.tables[pair] = values + random.normal(0, size, values.shape)
    kept = [
        max(
            float(np.abs(tempered(given, mixture, 500).tables[pair] - wanted.tables[pair]).max())
            for pair in given.tables
        )
        for given, wanted in ((near, exact), (far, far))
    ]
    assert kept[0] < 1e-9
    assert kept[1] < 5
    assert tempered(far, mixture, 500).tables[2, 3] is not far.tables[2, 3]


@pytest.mark.parametrize("rows", [1, 2, 7])
@pytest.mark.parametrize("levels", [(1,), (2,), (5,), (1, 1), (1, 2), (2, 2), (3, 1, 2)])
def test_small_files_are_files(levels: tuple[int, ...], rows: int) -> None:
    for value in (0.0, -40.0, 1e6):
        targets = Targets(levels, [])
        for a in range(len(levels)):
            targets.set_one(a, np.full(levels[a], value), 1.0)
            for b in range(a + 1, len(levels)):
                contrast = 2 in (levels[a], levels[b])
                shape = tuple(size for size in (levels[a], levels[b]) if size != 2)
                targets.set_pair(a, b, np.full(shape, value), 0.3, contrast)
        found = agreeing_records(targets, rows, np.random.default_rng(1))
        assert found.shape == (rows, len(levels))
        assert (found >= 0).all()
        assert (found < np.array(levels)).all()


def test_levels_that_nobody_has_stay_rare() -> None:
    codes = people(1000)
    targets = targets_of(codes, (2, 2, 6, 3), noise=3.0)
    found = agreeing_records(targets, 1000, np.random.default_rng(1))
    assert np.bincount(found[:, 2], minlength=6)[4:].max() < 15


# ---------------------------------------------------------------- structural zeros


def impossible(codes: Any, zeros: Zeros) -> int:
    return sum(int(((codes[:, a] == u) & (codes[:, b] == v)).sum()) for a, u, b, v in zeros)


def only(allowed: set[tuple[int, int]], a: int, b: int, size: int) -> Zeros:
    return [(a, u, b, v) for u in range(size) for v in range(size) if (u, v) not in allowed]


@pytest.mark.parametrize(
    ("levels", "zeros"),
    [
        (LEVELS, [(0, 0, 1, 1)]),
        (LEVELS, [(0, 0, 1, 1), (1, 1, 0, 1)]),
        (LEVELS, [(2, 0, 3, 0), (2, 1, 3, 0), (2, 2, 3, 0), (2, 3, 3, 0)]),
        # Only pairs of equal levels: a random level is right once in twelve times.
        ((12, 12), only({(k, k) for k in range(12)}, 0, 1, 12)),
        # A chain: each attribute one more than the last, so that a single record is left.
        ((4, 4, 4, 4), [z for a in range(3) for z in only({(k, k + 1) for k in range(3)}, a, a + 1, 4)]),
        # Three attributes that exclude each other two by two.
        ((2, 2, 2), [(0, 1, 1, 1), (0, 1, 2, 1), (1, 1, 2, 1)]),
    ],
)
def test_impossible_combinations_never_occur(levels: tuple[int, ...], zeros: Zeros) -> None:
    random = np.random.default_rng(1)
    # Targets that know nothing of the zeros, and ask for what is impossible.
    codes = np.column_stack([random.integers(0, size, 600) for size in levels])
    found = agreeing_records(targets_of(codes, levels, zeros, noise=30.0), 600, random)
    assert impossible(found, zeros) == 0
    assert (found < np.array(levels)).all()


def test_what_the_zeros_leave() -> None:
    chain = [z for a in range(3) for z in only({(k, k + 1) for k in range(3)}, a, a + 1, 4)]
    assert Targets((4, 4, 4, 4), chain).possible() == [0, 1, 2, 3]
    assert Targets((2, 3), []).possible() == [0, 0]
    assert Targets((2, 2), only(set(), 0, 1, 2)).possible() is None
    assert Targets((2, 2, 2), [(0, 0, 1, 0), (0, 0, 1, 1), (0, 1, 2, 0), (0, 1, 2, 1)]).possible() is None


# ---------------------------------------------------------------- numbers


def number_schema(**kind: Any) -> Schema:
    return Schema.from_dict(
        {
            "dataset": {"identity": "x", "unit": "person"},
            "variables": {
                "x": {"role": "confidential", **kind},
                "sex": {"role": "confidential", "type": "categorical", "levels": ["F", "M"]},
                "who": {"role": "id", "entity": "person"},
            },
        }
    )


@pytest.mark.parametrize(
    ("kind", "cuts"),
    [
        (Integer(0, 99), (18.0, 40.0, 65.0)),
        (Integer(0, 99), (10.5, 12.0, 99.0)),
        (Integer(-5, 5), (-4.0, 0.0)),
        (Integer(0, 10), ()),
        (Numeric(-50, 5000, scale=2), (0.0, 1000.5, 1000.51)),
        (Numeric(0, 1, scale=1), (0.1, 0.2, 0.3, 0.7)),
        (Numeric(0, 1, scale=2), (0.29, 0.57, 0.58)),
        (Numeric(0.005, 2.345, scale=2), (1.005,)),
        (Numeric(0, 10, scale=0), (2.5, 7.2)),
    ],
)
def test_a_number_falls_into_the_bin_it_was_drawn_for(kind: Any, cuts: tuple[float, ...]) -> None:
    attribute, random = Attribute("x", kind, cuts), np.random.default_rng(1)
    codes = random.integers(0, attribute.size, 5000)
    values = attribute.column(codes, random)
    numbers = values.to_numpy().astype(float)
    assert attribute.code(numbers).tolist() == codes.tolist()
    assert numbers.min() >= kind.lower
    assert numbers.max() <= kind.upper
    scale = getattr(kind, "scale", 0)
    assert [round(float(one), scale) for one in numbers] == numbers.tolist()
    assert values.type == ("int64" if isinstance(kind, Integer) else "double")


def test_numbers_fill_their_bins() -> None:
    attribute, random = Attribute("x", Integer(0, 9), (4.0,)), np.random.default_rng(1)
    values = attribute.column(np.repeat([0, 1], 6000), random).to_numpy()
    seen = np.bincount(values, minlength=10)
    assert (np.abs(seen[:4] - 1500) < 200).all()
    assert (np.abs(seen[4:] - 1000) < 200).all()


@pytest.mark.parametrize(
    ("name", "cuts", "words"),
    [
        ("x", None, r"cuts: x is a number; give the public borders"),
        ("x", (5.0, 3.0), r"cuts\.x: must rise strictly"),
        ("x", (3.0, 3.0), r"cuts\.x: must rise strictly"),
        ("x", (0.0,), r"cuts\.x: .* above lower"),
        ("x", (11.0,), r"cuts\.x: .* not above upper"),
        ("x", (float("nan"),), r"cuts\.x"),
        ("x", (3.2, 3.7), r"cuts\.x: no value of x lies between"),
        ("x", (0.5, 0.7), r"cuts\.x: no value of x lies between"),
        ("sex", (1.0,), r"cuts: sex is categorical"),
        ("who", None, r"columns: who is an id"),
    ],
)
def test_cuts_that_make_no_bins_are_refused(name: str, cuts: tuple[float, ...] | None, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        attribute_of(number_schema(type="integer", lower=0, upper=10), name, cuts)
