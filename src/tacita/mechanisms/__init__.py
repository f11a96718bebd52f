"""What reads confidential rows once and returns a measured value. A proof file stands beside each mechanism."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tacita.mechanisms import eree, magnitude

__all__ = ["eree", "magnitude"]


def __getattr__(name: str) -> Any:
    # Synthesizers measure with `kng` alone; the laws of `eree` take half a second to load.
    if name in __all__:
        return import_module(f"tacita.mechanisms.{name}")
    raise AttributeError(f"module 'tacita.mechanisms' has no attribute {name!r}")
