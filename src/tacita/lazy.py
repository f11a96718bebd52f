"""Names of a package that are loaded when they are first asked for, so that using one does not load the others; and the
studies, a package of their own that need not be there."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
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
