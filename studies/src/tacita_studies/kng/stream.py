"""A fast stream of random numbers in compiled code: xoshiro256++ of Blackman and Vigna, started from 256 fresh bits.

For Markov chains and for paper mode only. A chain asks for millions of numbers, and its law is not exact in any case;
mechanisms that are exact take every bit from `tacita.noise.entropy` itself.
"""

from __future__ import annotations

import math

import numba
import numpy as np

from tacita.noise.entropy import Entropy, Words

_TO_UNIT = 1.0 / (1 << 53)


def start_stream(entropy: Entropy) -> Words:
    """The state of a new stream; four words that are all zero would stay zero."""
    state = entropy.words(4)
    return np.asarray(state) if state.any() else start_stream(entropy)


@numba.njit(cache=True, nogil=True)
def _turn(word, by):  # type: ignore[no-untyped-def]
    return (word << np.uint64(by)) | (word >> np.uint64(64 - by))


@numba.njit(cache=True, nogil=True)
def uniform(state):  # type: ignore[no-untyped-def]
    """A number in [0, 1) with 53 random bits."""
    word = _turn(state[0] + state[3], 23) + state[0]
    kept = state[1] << np.uint64(17)
    state[2] ^= state[0]
    state[3] ^= state[1]
    state[1] ^= state[2]
    state[0] ^= state[3]
    state[2] ^= kept
    state[3] = _turn(state[3], 45)
    return float(word >> np.uint64(11)) * _TO_UNIT


@numba.njit(cache=True, nogil=True)
def normal(state):  # type: ignore[no-untyped-def]
    """A standard normal number."""
    return math.sqrt(-2.0 * math.log(1.0 - uniform(state))) * math.cos(2.0 * math.pi * uniform(state))
