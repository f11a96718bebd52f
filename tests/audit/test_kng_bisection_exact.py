"""Private quantiles by bisection against the definition: every output of neighbouring files, and the worst ratio.

The laws are written down here. `bisect` runs with a stand-in for its draws that says what may be drawn and with which
probability, so that all runs of a whole bisection are followed: which record lies in which part, on which lattice, and
how often it is paid for are the code's own.
"""

from collections.abc import Iterator
from fractions import Fraction
from itertools import combinations_with_replacement
from typing import Any

import numpy as np
import pytest

from support.bisections_by_hand import LATTICE, TARGETS, Floats, followed, log_law, whole_law
from tacita.mechanisms.kng import line
from tacita.mechanisms.kng.line import Lattice, draw_threshold
from tacita.noise.entropy import SeededEntropy, reserve

TAUS = [Fraction(one, 100) for one in (1, 5, 10, 25, 50, 75, 90, 95, 99)]
EPSILONS = [Fraction(1, 10), Fraction(1), Fraction(4)]
FLOAT = 1e-9
File = tuple[int, ...]


# ---------------------------------------------------------------- one draw


def coded_log_law(
    places: File,
    end: int,
    share: Fraction,
    epsilon: Fraction,
    patch: pytest.MonkeyPatch,
    factor: Fraction = Fraction(1),
) -> Floats:
    """log P(t) of the code: the weights it hands to `choose`, each shared out evenly over its gap."""
    seen: dict[str, Any] = {}

    def choose(widths: Any, scores: Any, rate: Fraction, spare: Any) -> int:
        seen.update(widths=np.array(widths), weights=-float(rate / factor) * np.array(scores, dtype=float))
        return int(np.flatnonzero(widths)[0])

    patch.setattr(line, "choose", choose)
    draw_threshold(np.array(sorted(places), dtype=np.int64), end, share, epsilon, reserve(8, SeededEntropy(1)))
    each = np.repeat(seen["weights"], seen["widths"])
    assert each.size == end + 1
    most = each.max()
    return np.asarray(each - most - np.log(np.exp(each - most).sum()))


def added(files: int, end: int) -> Iterator[tuple[File, File]]:
    for size in range(files + 1):
        for file in combinations_with_replacement(range(end), size):
            yield from ((file, tuple(sorted((*file, new)))) for new in range(end))


def replaced(files: int, end: int) -> Iterator[tuple[File, File]]:
    for size in range(1, files + 1):
        for file in combinations_with_replacement(range(end), size):
            yield from (
                (file, tuple(sorted((*file[:i], *file[i + 1 :], new)))) for i in range(size) for new in range(end)
            )


@pytest.mark.parametrize("tau", TAUS, ids=str)
def test_the_code_has_the_law_of_the_definition(tau: Fraction, monkeypatch: pytest.MonkeyPatch) -> None:
    for size in range(4):
        for file in combinations_with_replacement(range(5), size):
            for epsilon in EPSILONS:
                got = coded_log_law(file, 5, tau, epsilon, monkeypatch)
                assert got == pytest.approx(log_law(file, 5, tau, epsilon), abs=FLOAT)


@pytest.mark.parametrize("tau", TAUS, ids=str)
@pytest.mark.parametrize(("pairs", "times"), [(added, 1), (replaced, 2)], ids=["add/remove", "replace"])
def test_no_small_file_loses_more_than_epsilon(
    tau: Fraction, pairs: Any, times: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Files of up to three records on five places with every neighbour: ε when one is added, 2ε when replaced."""
    known: dict[File, Floats] = {}

    def law(file: File) -> Floats:
        if file not in known:
            known[file] = coded_log_law(file, 5, tau, Fraction(1), monkeypatch)
        return known[file]

    worst = max(float(np.abs(law(one) - law(two)).max()) for one, two in pairs(3, 5))
    assert worst <= times + FLOAT


def telling(n: int, end: int) -> Iterator[tuple[File, File]]:
    """Nearly all thresholds gain what a rare one loses, so that the normalizing sum moves as far as a weight."""
    yield (0,) * n, (0,) * n + (end - 1,)
    yield (end - 1,) * n, (0,) + (end - 1,) * n


def telling_replaced(n: int, end: int) -> Iterator[tuple[File, File]]:
    yield (0,) + (1,) * n, (1,) * n + (end - 1,)
    yield (end - 2,) * n + (end - 1,), (0,) + (end - 2,) * n


@pytest.mark.parametrize("tau", TAUS, ids=str)
def test_the_loss_reaches_epsilon_so_a_fifth_less_noise_breaks_it(
    tau: Fraction, monkeypatch: pytest.MonkeyPatch
) -> None:
    end, epsilon = 4000, Fraction(2)

    def worst(factor: Fraction, pairs: Any) -> float:
        return max(
            float(
                np.abs(
                    coded_log_law(one, end, tau, epsilon, monkeypatch, factor)
                    - coded_log_law(two, end, tau, epsilon, monkeypatch, factor)
                ).max()
            )
            for n in (1, 30, 250)
            for one, two in pairs(n, end)
        )

    assert 0.95 * 2 < worst(Fraction(1), telling) <= 2 + FLOAT
    assert worst(Fraction(4, 5), telling) > 2.2
    # Replacing moves the rank by 1 where adding moves it by max(τ, 1 − τ).
    bound = 2 / float(max(tau, 1 - tau))
    assert 0.9 * bound < worst(Fraction(1), telling_replaced) <= bound + FLOAT <= 4 + 2 * FLOAT


# ---------------------------------------------------------------- a whole bisection


@pytest.mark.parametrize("name", TARGETS)
def test_a_whole_bisection_loses_no_more_than_the_sum_of_its_levels(name: str) -> None:
    targets, epsilons = TARGETS[name], (Fraction(1), Fraction(3, 2))
    places = LATTICE.value(np.arange(4)) + 0.01  # one value well inside each place
    known: dict[File, dict[tuple[float, ...], float]] = {}

    def law(file: File) -> dict[tuple[float, ...], float]:
        if file not in known:
            known[file] = whole_law(places[list(file)], LATTICE, targets, epsilons)
        return known[file]

    worst = {1: 0.0, 2: 0.0}
    for pairs, times in ((added, 1), (replaced, 2)):
        for one, two in pairs(2, 4):
            p, q = law(one), law(two)
            assert p.keys() == q.keys()
            worst[times] = max(worst[times], *(abs(np.log(p[key] / q[key])) for key in p))
    assert worst[1] <= 2.5 + FLOAT
    assert worst[2] <= 5 + FLOAT
    assert worst[1] > 0.2 * 2.5, "the files tell nothing"


@pytest.mark.parametrize("name", ["quarters", "far out"])
def test_both_levels_are_really_paid_for(name: str) -> None:
    """On a long lattice a record that lies in the same part twice costs nearly ε₁ + ε₂: no level is free."""
    lattice, epsilons = Lattice(0.0, 8.0, unit=1e6, centre=0.0, bits=11), (Fraction(1), Fraction(1))
    low, high = np.full(40, 0.001), np.full(40, 7.999)
    losses = []
    for values, new, choices in ((low, 7.999, (0, 0, 0)), (high, 0.001, (2048, 2048, 0))):
        logs = [
            followed(one, lattice, TARGETS[name], epsilons, choices)[1].log for one in (values, np.append(values, new))
        ]
        losses.append(abs(logs[0] - logs[1]))
    assert 1.8 < max(losses) <= 2 + FLOAT
