"""One recorded seed, and from it a stream for every group and file: what was drawn can be drawn again, once killed."""

from __future__ import annotations

import hashlib

import numpy as np

from tacita.noise.entropy import Entropy, Request


def recorded_seed(entropy: Entropy) -> str:
    """128 random bits: all the randomness of a run."""
    entropy.announce(Request("seed of the panel's files", "uniform words", np.zeros(0), np.zeros(0)))
    return "".join(f"{int(word):016x}" for word in entropy.words(2))


def stream(seed: str, group: str, part: str) -> np.random.Generator:
    """The generator of one part of one group; groups and parts do not share numbers.

    >>> bool(stream("00ff", "542", "1").random() == stream("00ff", "542", "1").random())
    True
    >>> bool(stream("00ff", "542", "1").random() == stream("00ff", "542", "2").random())
    False
    """
    text = "".join(f"{len(one)}:{one}" for one in (seed, group, part))
    key = np.frombuffer(hashlib.sha256(text.encode()).digest()[:16], dtype=np.uint64)
    return np.random.Generator(np.random.Philox(key=key))
