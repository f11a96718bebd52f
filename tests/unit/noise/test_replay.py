"""A second run must ask for noise exactly as the first did; what may differ is handed back for judging."""

import pickle
from fractions import Fraction

import numpy as np
import pytest

from tacita.errors import UsageError
from tacita.noise import (
    Recording,
    Replaying,
    ReplayMismatch,
    Request,
    SeededEntropy,
    Student,
    SystemEntropy,
    add_discrete_laplace,
    compare,
    noisy_on_grid,
)


def request(label: str = "jobs", law: str = "L", shape: tuple[int, ...] = (3,)) -> Request:
    return Request(label, law, np.zeros(shape, dtype=np.int64), np.ones(shape))


@pytest.fixture
def recording() -> Recording:
    record = Recording(SeededEntropy(3))
    record.announce(request("first"))
    record.words(2)
    record.words(5)
    record.announce(request("second"))
    record.words(1)
    return record


def test_the_same_words_come_back(recording: Recording) -> None:
    replay = Replaying(recording)
    replay.announce(request("first"))
    got = [replay.words(2), replay.words(5)]
    replay.announce(request("second"))
    got.append(replay.words(1))
    replay.finish()
    expected = [block for draw in recording.draws for block in draw.blocks]
    assert [block.tolist() for block in got] == [block.tolist() for block in expected]


@pytest.mark.parametrize(
    ("changed", "what"),
    [
        (request("other"), "label"),
        (request("first", law="M"), "law"),
        (request("first", shape=(4,)), "shape"),
        (request("first", shape=(3, 1)), "shape"),
        (Request("first", "L", np.zeros(3), np.ones(1)), "shape of scale"),
    ],
)
def test_a_changed_request_stops_the_replay(recording: Recording, changed: Request, what: str) -> None:
    with pytest.raises(ReplayMismatch, match=what):
        Replaying(recording).announce(changed)


def test_the_order_of_requests_matters(recording: Recording) -> None:
    with pytest.raises(ReplayMismatch, match="label"):
        Replaying(recording).announce(request("second"))


def test_more_requests_than_recorded(recording: Recording) -> None:
    replay = Replaying(recording)
    replay.announce(request("first"))
    replay.words(2)
    replay.words(5)
    replay.announce(request("second"))
    replay.words(1)
    with pytest.raises(ReplayMismatch, match="was not made in the recorded run"):
        replay.announce(request("third"))


def test_fewer_requests_than_recorded(recording: Recording) -> None:
    replay = Replaying(recording)
    replay.announce(request("first"))
    replay.words(2)
    replay.words(5)
    with pytest.raises(ReplayMismatch, match="'second'"):
        compare(recording, replay)


def test_another_number_of_words(recording: Recording) -> None:
    replay = Replaying(recording)
    replay.announce(request("first"))
    with pytest.raises(ReplayMismatch, match="words"):
        replay.words(3)


def test_more_blocks_of_words(recording: Recording) -> None:
    replay = Replaying(recording)
    replay.announce(request("first"))
    replay.words(2)
    replay.words(5)
    with pytest.raises(ReplayMismatch, match="block 3"):
        replay.words(1)


def test_fewer_blocks_of_words(recording: Recording) -> None:
    replay = Replaying(recording)
    replay.announce(request("first"))
    replay.words(2)
    with pytest.raises(ReplayMismatch, match="fewer"):
        replay.announce(request("second"))


@pytest.mark.parametrize("wrap", [lambda: Recording(SystemEntropy()), lambda: Replaying(Recording(SystemEntropy()))])
def test_an_unannounced_draw_is_refused(wrap: object) -> None:
    with pytest.raises(UsageError, match="announce"):
        wrap().words(1)  # type: ignore[operator]


def test_neither_may_release_nor_pickle() -> None:
    record = Recording(SystemEntropy())
    for source in (record, Replaying(record)):
        assert source.rehearsal is True
        with pytest.raises(UsageError, match="pickle"):
            pickle.dumps(source)


def test_the_record_keeps_its_own_copy() -> None:
    record = Recording(SeededEntropy(1))
    true = np.array([1, 2, 3])
    record.announce(Request("jobs", "L", true, np.ones(3)))
    words = record.words(4)
    kept = words.copy()
    true[:] = 0
    words[:] = 0
    assert record.requests[0].true.tolist() == [1, 2, 3]
    assert record.draws[0].blocks[0].tolist() == kept.tolist()


def test_the_same_noise_is_added_to_two_files_and_compared() -> None:
    d, d2 = np.array([10, 20, 30]), np.array([10, 25, 30])
    record = Recording(SystemEntropy())
    one = add_discrete_laplace(d, Fraction(3), record, "jobs")
    replay = Replaying(record)
    two = add_discrete_laplace(d2, Fraction(3), replay, "jobs")
    assert (two - one).tolist() == [0, 5, 0]
    (difference,) = compare(record, replay)
    assert difference.label == "jobs"
    assert np.abs(difference.true_d2 - difference.true_d).sum() == 5
    assert difference.scale_d.tolist() == difference.scale_d2.tolist() == [3.0, 3.0, 3.0]
    assert "25" not in repr(difference)


def test_scales_that_depend_on_the_rows_are_shown_per_file() -> None:
    record = Recording(SystemEntropy())
    noisy_on_grid(np.array([10, 20]), np.array([5, 6]), 10, Student(Fraction(3)), record, "jobs")
    replay = Replaying(record)
    noisy_on_grid(np.array([10, 22]), np.array([5, 8]), 10, Student(Fraction(3)), replay, "jobs")
    (difference,) = compare(record, replay)
    assert difference.scale_d.tolist() == [0.5, 0.6]
    assert difference.scale_d2.tolist() == [0.5, 0.8]
