"""Hand a run what another run released: how an audit looks at a plan from outside, without changing it.

Every sampler is marked with `settles`, which says which of its arguments come from confidential rows. With an ordinary
source of randomness the mark does nothing. With a `Tape` the draw is kept: the first run makes it, and a run on another
file, `Tape(first)`, is given the same output. All that the second run may learn from its rows then stands in the
confidential arguments of its draws; `tacita.audit` turns them into the privacy loss. Everything else, the order of
requests, their public arguments, the words drawn outside of samplers, must be the same, or the tape stops the run.

>>> from fractions import Fraction
>>> from tacita.noise.discrete import add_discrete_laplace
>>> from tacita.noise.entropy import SeededEntropy
>>> first = Tape(SeededEntropy(1))
>>> one = add_discrete_laplace(np.array([10, 20]), Fraction(2), first, "jobs")
>>> second = Tape(first)
>>> two = add_discrete_laplace(np.array([11, 20]), Fraction(2), second, "jobs")
>>> bool((one == two).all()), [draw.confidential["values"].tolist() for draw in second.draws]
(True, [[11, 20]])
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any, NoReturn, ParamSpec, Protocol, TypeVar

import numpy as np

from tacita.errors import UsageError
from tacita.noise.entropy import Entropy, Request, Spare, Words, reserve
from tacita.noise.replay import ReplayMismatch

# Confidential arguments of these names are answered value by value: how many there are would show in the output.
_ONE_BY_ONE = ("values", "centre", "count")

P = ParamSpec("P")
T = TypeVar("T")


@dataclass(frozen=True, eq=False)
class Draw:
    """One draw of a sampler: its public arguments, the confidential ones, and what came out."""

    sampler: str
    public: dict[str, Any]
    confidential: dict[str, Any]
    output: Any = None
    make: Callable[..., Any] | None = None

    def again(self, entropy: Entropy, **changed: Any) -> Any:
        """The same sampler once more, with fresh randomness and other values where given."""
        if self.make is None:
            raise UsageError("this draw was not made by a marked sampler")
        return self.make(entropy, **changed)

    def __repr__(self) -> str:
        return f"Draw({self.sampler!r}, {sorted(self.public)})"


class Settling(Protocol):
    """A source of randomness that decides itself what a draw gives."""

    def settle(self, draw: Draw, make: Callable[[], Any]) -> Any: ...


def settles(*confidential: str, like: str | None = None) -> Callable[[Callable[P, T]], Callable[P, T]]:
    """Mark a sampler. `confidential` names the arguments that come from rows; all others must follow from public
    settings and from what was released before. Its randomness comes in as an `Entropy` or as a `Spare`. Audits know
    samplers by their name; one with the law and the arguments of another says so with `like`."""

    def mark(sampler: Callable[P, T]) -> Callable[P, T]:
        signature = inspect.signature(sampler)

        @functools.wraps(sampler)
        def settled(*args: P.args, **kwargs: P.kwargs) -> T:
            source = _listener((*args, *kwargs.values()))
            if source is None:
                return sampler(*args, **kwargs)
            given = signature.bind(*args, **kwargs)
            given.apply_defaults()
            named = {key: value for key, value in given.arguments.items() if not _is_random(value)}
            randomness = {key: value for key, value in given.arguments.items() if key not in named}
            hidden = {key: _copied(named.pop(key)) for key in confidential}

            def again(entropy: Entropy, **changed: Any) -> Any:
                fresh = {
                    key: reserve(64, entropy) if isinstance(one, Spare) else entropy for key, one in randomness.items()
                }
                return sampler(**{**named, **hidden, **changed, **fresh})  # type: ignore[call-arg]

            draw = Draw(like or sampler.__qualname__, named, hidden, make=again)
            result: T = source.settle(draw, lambda: sampler(*args, **kwargs))
            return result

        return settled

    return mark


def _is_random(value: Any) -> bool:
    # Whether something is an Entropy is a slow question; arrays and numbers, which most arguments are, have no words.
    return isinstance(value, Spare) or (hasattr(value, "words") and isinstance(value, Entropy))


def follows(entropy: Entropy, released: bytes, make: Callable[[], T]) -> T:
    """What `make` gives, which follows from `released` alone. A tape hands over what the first run made of the same."""
    again = getattr(entropy, "again", None)
    return make() if again is None else again(released, make)


def _listener(arguments: tuple[Any, ...]) -> Settling | None:
    for one in arguments:
        source: Any = one.source if isinstance(one, Spare) else one
        if callable(getattr(source, "settle", None)):
            listener: Settling = source
            return listener
    return None


def _copied(value: Any) -> Any:
    return np.array(value) if isinstance(value, np.ndarray) else value


@dataclass(frozen=True, eq=False)
class _Event:
    """What a run did, in order: announced a request, took words outside of a sampler, or drew."""

    kind: str
    what: Any
    result: Any = None


class Tape:
    """Randomness that is kept: made from `source` in a first run, handed over from `Tape(first)` in every other.

    It holds confidential values and noise that can be taken off again, so nothing made with it may be released.
    """

    def __init__(self, source: Entropy | Tape) -> None:
        self._first = source if isinstance(source, Tape) else None
        self._entropy = source
        self._events: list[_Event] = []
        self._followed: dict[bytes, Any] = {}
        self._inside = False

    @property
    def rehearsal(self) -> bool:
        return True

    @property
    def draws(self) -> list[Draw]:
        """Every draw of the run, with its confidential arguments."""
        return [event.what for event in self._events if event.kind == "draw"]

    def again(self, released: bytes, make: Callable[[], T]) -> T:
        """What was made of the same release before, in this run or in the first."""
        kept = self._followed if self._first is None else self._first._followed
        if released not in kept:
            kept[released] = make()
        made: T = kept[released]
        return made

    def announce(self, request: Request) -> None:
        if not self._inside:
            asked = (request.label, request.law, np.shape(request.true), np.shape(request.scale))
            self._next("request", asked, request.label)

    def words(self, count: int) -> Words:
        if self._inside:
            return self._entropy.words(count)
        before = self._next("words", count, "random words")
        block = self._entropy.words(count) if before is None else before.result
        self._events[-1] = _Event("words", count, block)
        return np.array(block)

    def settle(self, draw: Draw, make: Callable[[], Any]) -> Any:
        if self._inside:
            return make()
        label = str(draw.public.get("label", draw.sampler))
        before = self._next("draw", draw, label)
        if before is None:
            self._inside = True
            try:
                output = make()
            finally:
                self._inside = False
        else:
            _same_arguments(before.what, draw, label)
            output = before.result
            _same_shapes(before.what, draw, label)
        whole = replace(draw, output=output)
        self._events[-1] = _Event("draw", whole, output)
        return _copied(output)

    def _next(self, kind: str, what: Any, label: str) -> _Event | None:
        """The event of the first run at this place, which must be of the same kind."""
        self._events.append(_Event(kind, what))
        if self._first is None:
            return None
        place = len(self._events)
        if place > len(self._first._events):
            raise ReplayMismatch(f"step {place} ({label}) was not made in the first run: control flow depends on rows")
        before = self._first._events[place - 1]
        if before.kind != kind or (kind != "draw" and before.what != what):
            raise ReplayMismatch(f"step {place} ({label}) differs from that of the first run: it depends on the rows")
        return before

    def finish(self) -> None:
        """Check that the run did everything that the first one did."""
        if self._first is not None and len(self._events) != len(self._first._events):
            raise ReplayMismatch(
                f"the first run made {len(self._first._events)} steps, this one {len(self._events)}: "
                "what is drawn depends on the rows"
            )

    def __reduce__(self) -> NoReturn:
        raise UsageError("a tape does not pickle: it holds confidential values")


def _same_arguments(first: Draw, second: Draw, label: str) -> None:
    if first.sampler != second.sampler:
        raise ReplayMismatch(f"{label}: drawn by {second.sampler}, in the first run by {first.sampler}")
    for name, value in second.public.items():
        if not same(value, first.public[name]):
            raise ReplayMismatch(f"{label}: {name} of {second.sampler} is public, but differs between the two files")


def _same_shapes(first: Draw, second: Draw, label: str) -> None:
    """Where outputs answer values one by one, both files must have as many values."""
    for name in _ONE_BY_ONE:
        if name in first.confidential and np.shape(first.confidential[name]) != np.shape(second.confidential[name]):
            raise ReplayMismatch(f"{label}: how many values are noised differs between the two files")


def same(one: Any, two: Any) -> bool:
    """Equal to the bit, whatever they are made of.

    >>> same((1, np.array([1, 2])), (1, np.array([1, 2]))), same([0.0], [0])
    (True, False)
    """
    if one is two or type(one) is not type(two):
        return one is two
    if isinstance(one, np.ndarray):
        return bool(one.dtype == two.dtype and one.shape == two.shape and one.tobytes() == two.tobytes())
    if isinstance(one, list | tuple):
        return len(one) == len(two) and all(same(a, b) for a, b in zip(one, two, strict=True))
    if isinstance(one, dict):
        return one.keys() == two.keys() and all(same(one[key], two[key]) for key in one)
    if is_dataclass(one):
        return all(same(getattr(one, field.name), getattr(two, field.name)) for field in fields(one))
    return bool(one == two)
