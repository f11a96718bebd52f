"""Where randomness comes from: an argument of every run, never a global.

A release draws from `SystemEntropy`. A seed makes a rehearsal, and says so. Every draw is announced first,
which is where `tacita.noise.replay` listens.

A `Uniform` number has as many random bits as its comparisons need, and no more.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NoReturn, Protocol, runtime_checkable

import numpy as np
from flint import arb, ctx
from numpy.typing import NDArray

from tacita.errors import TacitaError, UsageError

Words = NDArray[np.uint64]

# One system call reads at most this much, so that a large request needs no second copy of everything.
_BLOCK_BYTES = 1 << 24


@dataclass(frozen=True, eq=False)
class Request:
    """One request for noise, as it is announced before the first bit is drawn.

    `label` says which statistic, `law` is a canonical text of the law and its public parameters. `true` holds
    the exact values about to be noised and `scale` the scale or sensitivity per value: both may be
    confidential, so the text form shows neither.

    >>> Request("jobs by place", "discrete-laplace scale=2", np.array([3, 4]), np.array([1, 1]))
    Request('jobs by place', 'discrete-laplace scale=2', shape=(2,))
    """

    label: str
    law: str
    true: NDArray[Any]
    scale: NDArray[Any]

    def __repr__(self) -> str:
        return f"Request({self.label!r}, {self.law!r}, shape={np.shape(self.true)})"


@runtime_checkable
class Entropy(Protocol):
    """A source of random 64-bit words."""

    @property
    def rehearsal(self) -> bool:
        """True when the draws could be made again, so that nothing drawn may be released."""
        ...

    def words(self, count: int) -> Words:
        """`count` fresh words, uniform and independent of all others."""
        ...

    def announce(self, request: Request) -> None:
        """Called before every draw with what is about to be noised."""
        ...


class SystemEntropy:
    """The operating system's generator: the only source a release may use.

    It keeps no state at all, not even a buffer. A forked child or a second thread therefore cannot see a word
    that its parent or sibling has used.

    >>> SystemEntropy().words(3).shape, SystemEntropy().rehearsal
    ((3,), False)
    """

    __slots__ = ()

    @property
    def rehearsal(self) -> bool:
        return False

    def words(self, count: int) -> Words:
        result = np.empty(count, dtype=np.uint64)
        raw = result.view(np.uint8)
        for start in range(0, raw.size, _BLOCK_BYTES):
            part = raw[start : start + _BLOCK_BYTES]
            part[:] = np.frombuffer(os.urandom(part.size), dtype=np.uint8)
        return result

    def announce(self, request: Request) -> None:
        """Nothing listens in a release."""

    def __reduce__(self) -> NoReturn:
        raise UsageError("system entropy does not pickle; create SystemEntropy() in the process that draws")


class SeededEntropy:
    """A reproducible source for rehearsals and studies on public data. Never for a release.

    >>> bool((SeededEntropy(7).words(4) == SeededEntropy(7).words(4)).all())
    True
    >>> a, b = SeededEntropy(7).child("east"), SeededEntropy(7).child("west")
    >>> bool((a.words(4) == b.words(4)).any())
    False
    """

    def __init__(self, seed: int) -> None:
        if isinstance(seed, bool) or not isinstance(seed, int | np.integer):
            raise UsageError("seed: must be a whole number, such as 20260101")
        self._start((str(int(seed)),))

    def _start(self, path: tuple[str, ...]) -> None:
        self._path = path
        digest = hashlib.sha256("".join(f"{len(part)}:{part}" for part in path).encode()).digest()
        self._stream = np.random.Philox(key=np.frombuffer(digest[:16], dtype=np.uint64))

    @property
    def rehearsal(self) -> bool:
        return True

    def words(self, count: int) -> Words:
        return np.asarray(self._stream.random_raw(count), dtype=np.uint64)

    def announce(self, request: Request) -> None:
        """Nothing listens unless a `Recording` wraps this source."""

    def child(self, label: str) -> SeededEntropy:
        """An independent stream that depends on the seed and the labels alone, not on what was drawn before."""
        source = SeededEntropy.__new__(SeededEntropy)
        source._start((*self._path, label))
        return source


# Words kept back with every draw for the rare values that need more than one: so a value that does never shows in how
# many words were asked for.
_RESERVE = 64


class Spare:
    """The reserve of one draw; refilled only when all of it is used."""

    def __init__(self, words: Words, entropy: Entropy) -> None:
        self._words, self._entropy, self._used = words, entropy, 0

    @property
    def source(self) -> Entropy:
        """Where its words come from."""
        return self._entropy

    def take(self) -> int:
        if self._used == self._words.size:
            self._words, self._used = self._entropy.words(_RESERVE), 0
        self._used += 1
        return int(self._words[self._used - 1])


def reserve(count: int, entropy: Entropy) -> Spare:
    """Words to take one by one, for a draw that needs a few and not always the same number."""
    return Spare(entropy.words(count), entropy)


def drawn(count: int, entropy: Entropy) -> tuple[Words, Spare]:
    """`count` words and a reserve."""
    words = entropy.words(count + _RESERVE)
    return words[:count], Spare(words[count:], entropy)


_WORD_BITS = 64
_MOST_BITS = 64 * _WORD_BITS


class Uniform:
    """A uniform number of which the first `bits` bits are known: leading/2^bits <= U <= (leading + 1)/2^bits."""

    def __init__(self, word: int, spare: Spare) -> None:
        self.leading, self.bits, self._spare = word, _WORD_BITS, spare

    def at_least(self, cdf: Callable[[int], Any]) -> bool:
        """Whether U >= F for the number F that `cdf` encloses; draws more bits until that is certain."""
        while True:
            precision = self.bits + _WORD_BITS
            value = cdf(precision)
            with ctx.workprec(precision):
                scaled = value * arb(2) ** self.bits
            if scaled <= self.leading:
                return True
            if scaled >= self.leading + 1:
                return False
            if self.bits >= _MOST_BITS:
                raise TacitaError("an exact draw did not end: a certified distribution function does not converge")
            self.leading = (self.leading << _WORD_BITS) | self._spare.take()
            self.bits += _WORD_BITS
