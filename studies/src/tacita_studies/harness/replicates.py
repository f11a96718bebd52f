"""Independent replicates of a simulation, side by side on the machine's cores."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from typing import TypeVar

Result = TypeVar("Result")
Progress = Callable[[str, int, int], None]


def silent(what: str, done: int, total: int) -> None:
    """Progress that nobody hears of."""


def each(work: Callable[[int], Result], count: int, workers: int, say: Progress, what: str) -> list[Result]:
    """work(0), work(1), …, work(count − 1) in that order, whatever order they finish in.

    With more than one worker `work` goes to other processes, so it must be something that pickle knows: a function
    of a module, or a frozen dataclass with `__call__`. Each replicate derives its own seed from its number, so the
    result does not depend on the number of workers.
    """
    say(what, 0, count)
    if workers <= 1 or count <= 1:
        return list(_counted(map(work, range(count)), count, say, what))
    # A fresh interpreter per worker: compiled loops keep threads, which a fork would not survive.
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(min(workers, count), mp_context=context) as pool:
        asked = [pool.submit(work, number) for number in range(count)]
        for _ in _counted(as_completed(asked), count, say, what):
            pass
        return [one.result() for one in asked]


def _counted(results: Iterator[Result], count: int, say: Progress, what: str) -> Iterator[Result]:
    for done, one in enumerate(results, start=1):
        say(what, done, count)
        yield one
