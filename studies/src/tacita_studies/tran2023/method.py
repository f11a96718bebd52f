"""What the study calls a method: a function from a file and a seed to a synthetic file, and what it promises."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import pandas as pd

Mode = Literal["none", "proved", "honest", "peer", "paper", "start only"]


@dataclass(frozen=True)
class Method:
    """`printed` names the paper's row, `most` caps the replicates of a slow method, `file` the name on disk.

    `mode` says how the numbers come about: "none" has no privacy, "proved" is drawn exactly, "honest" from the law that
    the method names, as far as chains that pass a gate can tell, "peer" is somebody else's method, "paper" the authors'
    own chain, "start only" the same with ε → 0.
    """

    name: str
    file: str
    mode: Mode
    guarantee: str
    make: Callable[[pd.DataFrame, int], pd.DataFrame]
    epsilon: str | None = None
    printed: str | None = None
    most: int | None = None
    details: Mapping[str, Any] = field(default_factory=dict)

    @property
    def where(self) -> dict[str, Any]:
        return {"mode": self.mode, "epsilon": self.epsilon, **self.details}

    def runs_in(self, replicate: int) -> bool:
        return self.most is None or replicate < self.most
