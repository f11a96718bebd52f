"""Words come from where they should, and no two workers ever see the same ones."""

import pickle
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from tacita.errors import UsageError
from tacita.noise import entropy as module
from tacita.noise.entropy import Entropy, Request, SeededEntropy, SystemEntropy

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
