"""An entropy source that says what it is told: for paths that chance would take once in 2^64 draws."""

import numpy as np
import pytest
from numpy.typing import NDArray

from tacita.noise.entropy import Request


class ScriptedEntropy:
    """Hands out the given words in order, then `after` for ever."""

    rehearsal = True

    def __init__(self, words: list[int], after: int = 0) -> None:
        self._left = list(words)
        self._after = after
        self.blocks: list[int] = []

    @classmethod
    def of_bytes(cls, stream: bytes, after: int = 0) -> "ScriptedEntropy":
        padded = stream + b"\x00" * (-len(stream) % 8)
        return cls(np.frombuffer(padded, dtype=np.uint64).tolist(), after)

    def words(self, count: int) -> NDArray[np.uint64]:
        self.blocks.append(count)
        given, self._left = self._left[:count], self._left[count:]
        return np.array(given + [self._after] * (count - len(given)), dtype=np.uint64)

    def announce(self, request: Request) -> None:
        """Nothing listens."""


@pytest.fixture
def scripted() -> type[ScriptedEntropy]:
    return ScriptedEntropy
