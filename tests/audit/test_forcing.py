"""The tape: a second run is handed what the first released, and is stopped where it does something else."""

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from tacita.errors import UsageError
from tacita.noise.discrete import add_discrete_laplace
from tacita.noise.entropy import Entropy, Request, SeededEntropy
from tacita.noise.forcing import Tape
from tacita.noise.replay import ReplayMismatch

SCALE = Fraction(3)


def _counts(*values: int) -> np.ndarray:
    return np.array(values, dtype=np.int64)


def _adaptive(values: np.ndarray, entropy: Entropy) -> tuple[int, ...]:
    """What is asked second follows from what was released first, and a seed is drawn at the end."""
    first = add_discrete_laplace(values, SCALE, entropy, "first")
    again = add_discrete_laplace(values[: 1 + int(first[0]) % 2], SCALE, entropy, "second")
    entropy.announce(Request("seed", "uniform words", np.zeros(0), np.zeros(0)))
    return (*first.tolist(), *again.tolist(), int(entropy.words(1)[0]))


def test_the_second_run_releases_what_the_first_did_and_keeps_its_own_values() -> None:
    first = Tape(SeededEntropy(4))
    released = _adaptive(_counts(5, 9), first)
    for values in (_counts(6, 9), _counts(10**6, -7)):
        second = Tape(first)
        assert _adaptive(values, second) == released
        second.finish()
        assert np.array_equal(second.draws[0].confidential["values"], values)
        assert np.array_equal(second.draws[0].output, first.draws[0].output)


def test_a_run_without_a_tape_draws_as_before() -> None:
    values = _counts(5, 9)
    assert _adaptive(values, SeededEntropy(4)) == _adaptive(values, Tape(SeededEntropy(4)))


def test_a_tape_is_never_for_a_release_and_stays_where_it_is() -> None:
    import pickle

    tape = Tape(SeededEntropy(1))
    assert tape.rehearsal
    with pytest.raises(UsageError, match="confidential"):
        pickle.dumps(tape)


def _run(tape: Tape, *, scale: Fraction = SCALE, label: str = "jobs", blocks: tuple[int, ...] = (2,)) -> Tape:
    add_discrete_laplace(_counts(1, 2), scale, tape, label)
    tape.announce(Request("seed", "uniform words", np.zeros(0), np.zeros(0)))
    for count in blocks:
        tape.words(count)
    tape.finish()
    return tape


@pytest.mark.parametrize("change", [{"scale": SCALE + 1}, {"label": "firms"}, {"blocks": ()}, {"blocks": (3,)}])
def test_whatever_follows_the_rows_stops_the_run(change: dict[str, Any]) -> None:
    first = _run(Tape(SeededEntropy(4)))
    _run(Tape(first))
    with pytest.raises(ReplayMismatch):
        _run(Tape(first), **change)


def test_another_number_of_values_stops_the_run() -> None:
    first = Tape(SeededEntropy(4))
    add_discrete_laplace(_counts(1, 2), SCALE, first, "jobs")
    with pytest.raises(ReplayMismatch, match="how many values"):
        add_discrete_laplace(_counts(1, 2, 3), SCALE, Tape(first), "jobs")


def test_one_draw_more_stops_the_run() -> None:
    first = _run(Tape(SeededEntropy(4)))
    with pytest.raises(ReplayMismatch, match="was not made in the first run"):
        _run(Tape(first), blocks=(2, 1))
