"""Play the same randomness to two files and compare what was asked of it.

Run a plan on a file with a `Recording`, run it on a neighbouring file with `Replaying`: the requests must agree in
number, order, label, law, shape and in how many words they used. What is left to compare, the true values and
their scales, comes back from `compare`, so that a test can hold it against the declared sensitivity.

>>> from tacita.noise.entropy import SeededEntropy
>>> from tacita.noise.discrete import add_discrete_laplace
>>> from fractions import Fraction
>>> first = Recording(SeededEntropy(1))
>>> noisy = add_discrete_laplace(np.array([10, 20]), Fraction(2), first, "jobs")
>>> second = Replaying(first)
>>> other = add_discrete_laplace(np.array([10, 21]), Fraction(2), second, "jobs")
>>> (other - noisy).tolist(), [d.true_d2.tolist() for d in compare(first, second)]
([0, 1], [[10, 21]])
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from tacita.errors import TacitaError, UsageError
from tacita.noise.entropy import Entropy, Request, Words


class ReplayMismatch(TacitaError):  # noqa: N818 -- the name says what happened; every Tacita error is an exception
    """The second run asked for noise in another way than the first: its control flow depends on the rows."""


@dataclass(frozen=True, eq=False)
class Draw:
    """One announced request and the blocks of words it used."""

    request: Request
    blocks: list[Words] = field(default_factory=list)


@dataclass(frozen=True, eq=False)
class Difference:
    """One request as two files made it. Confidential, like the files: for tests only."""

    label: str
    law: str
    true_d: NDArray[Any]
    true_d2: NDArray[Any]
    scale_d: NDArray[Any]
    scale_d2: NDArray[Any]

    def __repr__(self) -> str:
        return f"Difference({self.label!r}, {self.law!r}, shape={self.true_d.shape})"


def _kept(request: Request) -> Request:
    """A copy that later changes of the caller's arrays cannot reach."""
    return Request(request.label, request.law, np.array(request.true), np.array(request.scale))


class _Listener:
    """What recording and replaying share. Noise that is kept can be taken off again, so neither may release."""

    def __init__(self) -> None:
        self.draws: list[Draw] = []

    @property
    def rehearsal(self) -> bool:
        return True

    @property
    def requests(self) -> list[Request]:
        return [draw.request for draw in self.draws]

    def _current(self) -> Draw:
        if not self.draws:
            raise UsageError("noise was drawn before any request was announced; call entropy.announce(...) first")
        return self.draws[-1]

    def __reduce__(self) -> NoReturn:
        raise UsageError("a record of noise does not pickle: it holds confidential values")


class Recording(_Listener):
    """Wraps a source and keeps every request together with the words that answered it."""

    def __init__(self, entropy: Entropy) -> None:
        super().__init__()
        self._entropy = entropy

    def announce(self, request: Request) -> None:
        self._entropy.announce(request)
        self.draws.append(Draw(_kept(request)))

    def words(self, count: int) -> Words:
        block = self._entropy.words(count)
        self._current().blocks.append(block.copy())
        return block


class Replaying(_Listener):
    """Answers a second run with the words of a `Recording`, and stops at the first request that differs."""

    def __init__(self, recording: Recording) -> None:
        super().__init__()
        self._record = recording

    def announce(self, request: Request) -> None:
        place = len(self.draws)
        self._check_used_up()
        if place >= len(self._record.draws):
            raise ReplayMismatch(
                f"request {place + 1} ({request.label!r}) was not made in the recorded run, which made {place}"
            )
        before = self._record.draws[place].request
        for what, then, now in (
            ("label", before.label, request.label),
            ("law", before.law, request.law),
            ("shape", before.true.shape, np.shape(request.true)),
            ("shape of scale", before.scale.shape, np.shape(request.scale)),
        ):
            if then != now:
                raise ReplayMismatch(
                    f"request {place + 1} ({request.label!r}): {what} is {now!r}, in the recorded run it was {then!r}"
                )
        self.draws.append(Draw(_kept(request)))

    def words(self, count: int) -> Words:
        current = self._current()
        recorded = self._record.draws[len(self.draws) - 1].blocks
        block = len(current.blocks)
        if block >= len(recorded) or recorded[block].size != count:
            raise ReplayMismatch(
                f"request {len(self.draws)} ({current.request.label!r}): block {block + 1} of its random words differs "
                "in size from the recorded run"
            )
        current.blocks.append(recorded[block])
        return recorded[block].copy()

    def _check_used_up(self) -> None:
        """The request that just ended must have used all the words it used in the recorded run."""
        if self.draws and len(self.draws[-1].blocks) != len(self._record.draws[len(self.draws) - 1].blocks):
            raise ReplayMismatch(
                f"request {len(self.draws)} ({self.draws[-1].request.label!r}) used fewer random words than in the "
                "recorded run"
            )

    def finish(self) -> None:
        """Check that the second run made every request of the first."""
        self._check_used_up()
        if len(self.draws) != len(self._record.draws):
            missing = self._record.draws[len(self.draws)].request
            raise ReplayMismatch(
                f"request {len(self.draws) + 1} ({missing.label!r}) of the recorded run was not made; "
                f"it made {len(self._record.draws)}, this run {len(self.draws)}"
            )


def compare(recording: Recording, replaying: Replaying) -> list[Difference]:
    """The true values and scales of both runs, request by request; raises where a request is missing."""
    replaying.finish()
    return [
        Difference(one.label, one.law, one.true, two.true, one.scale, two.scale)
        for one, two in zip(recording.requests, replaying.requests, strict=True)
    ]
