"""Kernels that Numba compiles when they are first called: to import it takes longer than most of what Tacita is asked.

`njit` and `vectorize` are used as Numba's own are. They see what a kernel is given, and nothing else.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property, update_wrapper
from typing import Any


class Kernel:
    """A function that is compiled when it is first called, with those that it calls."""

    def __init__(self, function: Any, kind: str, options: dict[str, Any]) -> None:
        self._function, self._kind, self._options = function, kind, options
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


def njit(**options: Any) -> Callable[[Any], Any]:
    """
    >>> @njit()
    ... def twice(number):
    ...     return 2 * number
    >>> twice(21)
    42
    """
    return lambda function: Kernel(function, "njit", options)


def vectorize(**options: Any) -> Callable[[Any], Any]:
    return lambda function: Kernel(function, "vectorize", options)
