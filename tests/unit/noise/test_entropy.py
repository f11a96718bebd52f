"""Words come from where they should; a second run must ask for noise exactly as the first did."""

import pickle
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from tacita.errors import UsageError
from tacita.noise import entropy as module
from tacita.noise.discrete import add_discrete_laplace
from tacita.noise.entropy import Entropy, Request, SeededEntropy, SystemEntropy
from tacita.noise.laws import Student
from tacita.noise.replay import Recording, Replaying, ReplayMismatch, compare
from tacita.noise.rounding import noisy_on_grid

FORK = """
import os
from tacita.noise.entropy import SystemEntropy
source = SystemEntropy()
source.words(3)
read, write = os.pipe()
if os.fork() == 0:
    os.write(write, source.words(8).tobytes())
    os._exit(0)
os.wait()
child, parent = os.read(read, 64), source.words(8).tobytes()
assert len(child) == 64
assert not {child[i:i + 8] for i in range(0, 64, 8)} & {parent[i:i + 8] for i in range(0, 64, 8)}
"""


def test_both_sources_satisfy_the_protocol() -> None:
    assert isinstance(SystemEntropy(), Entropy)
    assert isinstance(SeededEntropy(1), Entropy)


def test_only_system_entropy_may_release() -> None:
    assert SystemEntropy().rehearsal is False
    assert SeededEntropy(1).rehearsal is True
    assert SeededEntropy(1).child("a").rehearsal is True


def test_a_forked_child_draws_other_words_than_its_parent() -> None:
    done = subprocess.run([sys.executable, "-c", FORK], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr


def test_threads_never_share_a_word() -> None:
    source = SystemEntropy()
    with ThreadPoolExecutor(8) as pool:
        words = np.concatenate(list(pool.map(source.words, [500] * 16)))
    assert np.unique(words).size == 8000


def test_a_request_larger_than_a_block_is_filled_to_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_BLOCK_BYTES", 24)
    words = SystemEntropy().words(10)
    assert words.dtype == np.uint64
    assert np.unique(words).size == 10


def test_the_words_come_from_the_operating_system(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module.os, "urandom", lambda size: b"\x01" + b"\x00" * (size - 1))
    assert SystemEntropy().words(2).tolist() == [1, 0]


def test_no_words_is_an_empty_block() -> None:
    assert SystemEntropy().words(0).size == 0
    assert SeededEntropy(1).words(0).size == 0


def test_system_entropy_refuses_to_pickle() -> None:
    with pytest.raises(UsageError, match="does not pickle"):
        pickle.dumps(SystemEntropy())


def test_a_seed_fixes_the_stream_and_another_seed_changes_it() -> None:
    assert SeededEntropy(5).words(9).tolist() == SeededEntropy(5).words(9).tolist()
    assert not set(SeededEntropy(5).words(9).tolist()) & set(SeededEntropy(6).words(9).tolist())


def test_a_child_depends_on_its_labels_not_on_earlier_draws() -> None:
    drawn, fresh = SeededEntropy(5), SeededEntropy(5)
    drawn.words(100)
    assert drawn.child("x").words(4).tolist() == fresh.child("x").words(4).tolist()
    nested = fresh.child("x").child("y").words(4).tolist()
    assert nested != fresh.child("xy").words(4).tolist()
    assert nested != fresh.child("y").child("x").words(4).tolist()


@pytest.mark.parametrize("seed", ["7", 7.0, True, None])
def test_a_seed_must_be_a_whole_number(seed: object) -> None:
    with pytest.raises(UsageError, match="seed"):
        SeededEntropy(seed)  # type: ignore[arg-type]


def test_a_request_shows_no_values() -> None:
    request = Request("jobs", "law", np.array([987654]), np.array([123456]))
    assert "987654" not in repr(request)
    assert "123456" not in repr(request)


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


@pytest.mark.parametrize(
    ("steps", "what"),
    [
        (["second"], "label"),
        (["first", 2, 5, "second", 1, "third"], "was not made in the recorded run"),
        (["first", 2, 5, None], "'second'"),
        (["first", 3], "words"),
        (["first", 2, 5, 1], "block 3"),
        (["first", 2, "second"], "fewer"),
    ],
    ids=["order", "more requests", "fewer requests", "other number of words", "more blocks", "fewer blocks"],
)
def test_a_run_that_goes_another_way_is_stopped(recording: Recording, steps: list[Any], what: str) -> None:
    """Requests by their label, draws by their number of words; None ends the run."""
    replay = Replaying(recording)

    def take(step: Any) -> None:
        if step is None:
            compare(recording, replay)
        elif isinstance(step, int):
            replay.words(step)
        else:
            replay.announce(request(step))

    for step in steps[:-1]:
        take(step)
    with pytest.raises(ReplayMismatch, match=what):
        take(steps[-1])


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
