"""Names of a package, and libraries, that are loaded when they are first asked for, so that using one does not load the
others; plans of other packages; and the studies, a package of their own that need not be there."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from importlib import import_module
from types import ModuleType
from typing import Any

from tacita.errors import UsageError

STUDIES = ("haney2017", "tran2023", "bowen2018", "hu2024", "kinney2007")


def lazily(package: str, homes: Mapping[str, str]) -> Callable[[str], Any]:
    """A `__getattr__` for a package; `homes` has the module of each name, as seen from the package.

    >>> lazily("tacita", {"Loss": "privacy"})("Loss")
    <class 'tacita.privacy.loss.Loss'>
    """

    def get(name: str) -> Any:
        if name in homes:
            return getattr(import_module(f"{package}.{homes[name]}"), name)
        raise AttributeError(f"module {package!r} has no attribute {name!r}")

    return get


class _Later(ModuleType):
    """A library that is imported when the first of its names is asked for."""

    def __getattr__(self, name: str) -> Any:
        return getattr(import_module(self.__name__), name)


def later(library: str) -> Any:
    """Stands for a library that takes long to import, where most uses of a module go without it.

    >>> later("fractions").Fraction(1, 2)
    Fraction(1, 2)
    """
    return _Later(library)


def third_party() -> Iterator[Any]:
    """What other packages register in the entry point group `tacita.plans`: an `Example` of each of their plans."""
    for entry in later("importlib.metadata").entry_points(group="tacita.plans"):
        yield from entry.load()()


def study_named(name: str) -> Callable[..., object]:
    """What runs a study; the one place that asks for that package.

    >>> study_named("haney2016")
    Traceback (most recent call last):
    ...
    tacita.errors.UsageError: there is no study haney2016; the studies so far are haney2017, ...
    """
    if name not in STUDIES:
        raise UsageError(f"there is no study {name}; the studies so far are {', '.join(STUDIES)}")
    try:
        run: Callable[..., object] = import_module(f"tacita_studies.{name}").run
    except ModuleNotFoundError as error:
        if error.name not in ("tacita_studies", f"tacita_studies.{name}"):
            raise
        raise UsageError(
            "the studies are a package of their own, tacita-studies, which is not installed; "
            "from a clone of the repository: pip install -e ./studies"
        ) from None
    return run
