"""Who takes part in a study."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Method:
    """`name` stands in the results and `file` on disk; `mode` says how its promise comes about, at which `epsilon`.

    `printed` is the paper's own name for it, where the paper prints its numbers.
    """

    name: str
    file: str
    mode: str = "proved"
    epsilon: str | None = None
    printed: str | None = None

    @property
    def where(self) -> dict[str, Any]:
        """What its rows say beside their numbers."""
        return {"mode": self.mode, "epsilon": self.epsilon}
