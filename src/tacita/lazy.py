"""Names of a package that are loaded when they are first asked for, so that using one does not load the others."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


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
