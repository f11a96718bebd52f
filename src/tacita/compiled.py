"""Kernels that Numba compiles when they are first called: to import it takes longer than most of what Tacita is asked.

`njit` and `vectorize` are used as Numba's own are. They see what a kernel is given, and nothing else.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import cached_property, update_wrapper
from typing import Any

_LITTLE = 4_000  # steps of some microseconds each; to load Numba takes a third of a second


class Kernel:
    """A function that is compiled when it is first called, with those that it calls."""

    def __init__(self, function: Any, kind: str, options: dict[str, Any]) -> None:
        self._function, self._kind, self._options, self._done = function, kind, options, 0
        update_wrapper(self, function)

    @cached_property
    def _compiled(self) -> Any:
        import numba

        known = self._function.__globals__
        for name in self._function.__code__.co_names:
            if isinstance(other := known.get(name), Kernel):
                known[name] = other._compiled  # a compiled function calls compiled ones alone
        return getattr(numba, self._kind)(**self._options)(self._function)

    def __call__(self, *given: Any) -> Any:
        return self._compiled(*given)

    def of(self, work: int) -> Callable[..., Any]:
        """The same for so many steps of work: as it is written, while all of it so far is too little to load Numba for.

        >>> njit()(lambda number: 2 * number).of(work=1)(21)
        42
        """
        self._done += work
        chosen: Callable[..., Any] = self._function
        return self._compiled if self._done > _LITTLE or "numba" in sys.modules else chosen


def njit(**options: Any) -> Callable[[Any], Kernel]:
    """
    >>> @njit()
    ... def twice(number):
    ...     return 2 * number
    >>> twice(21)
    42
    """
    return lambda function: Kernel(function, "njit", options)


def vectorize(**options: Any) -> Callable[[Any], Kernel]:
    return lambda function: Kernel(function, "vectorize", options)
