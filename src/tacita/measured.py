"""A noisy answer with the public law of its error: all that ever leaves a mechanism.

`Measured` (jobs of employers) and `Measurements` (tables of any file) are the bridge between measuring and publishing.
They hold no true value and know whether they were drawn in a rehearsal.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tacita.errors import UsageError
from tacita.noise.error import ErrorLaw
from tacita.plan.stored import opened, packed

_FORM = "table-1"
# Columns of published tables and of measurement files: no attribute of a table may have such a name.
RESERVED = ("value", "margin_of_error", "confidence", "guarantee", "quality", "level", "quantile", "measure")
NOISY = "noisy_"


def refuse_own_names(names: Sequence[str]) -> None:
    """Names of columns that every table has."""
    if taken := [name for name in names if name in RESERVED or name.startswith(NOISY)]:
        raise UsageError(f"by: a column of every table is called {taken[0]}; rename the variable")


@dataclass(frozen=True, eq=False)
class Measured:
    """Noisy counts: one row per workplace cell, one column per worker cell.

    `keys` are level codes (positions in the declared list) of the workplace attributes; `worker` names the
    worker attributes whose full cross of levels gives the columns. `largest` is the paid-for noisy size of the
    largest establishment, where there is one.
    """

    keys: dict[str, NDArray[np.int32]]
    worker: tuple[str, ...]
    values: NDArray[np.int64]
    error: ErrorLaw
    plan: dict[str, Any]
    guarantee: str
    rehearsal: bool
    largest: NDArray[np.int64] | None = None

    @property
    def measurements(self) -> pa.Table:
        """The noisy values as they were drawn, with the law of the noise: the file for modellers."""
        columns = {name: pa.array(code) for name, code in self.keys.items()}
        d = self.values.shape[1]
        for j in range(d):
            columns[self._column("noisy", j)] = pa.array(self.values[:, j])
        if self.largest is not None:
            for j in range(self.largest.shape[1]):
                columns["noisy_largest" if self.largest.shape[1] == 1 else f"noisy_largest_{j}"] = pa.array(
                    self.largest[:, j]
                )
        meta = {"noise": self.error.describe(), "guarantee": self.guarantee, "worker_attributes": list(self.worker)}
        return pa.table(columns).replace_schema_metadata({b"noise": json.dumps(meta, sort_keys=True).encode()})

    def _column(self, stem: str, j: int) -> str:
        return stem if self.values.shape[1] == 1 else f"{stem}_{j}"

    def intervals(self, confidence: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Lower and upper ends that hold the true count with at least the stated confidence."""
        largest = None if self.largest is None else self.largest.astype(np.float64)
        return self.error.interval(self.values.astype(np.float64), confidence, largest)

    def to_bytes(self) -> bytes:
        """Arrow IPC with the plan in its metadata: an open format, never a pickle."""
        meta = {
            "keys": list(self.keys),
            "worker": list(self.worker),
            "cells": self.values.shape[1],
            "largest": 0 if self.largest is None else self.largest.shape[1],
            "plan": self.plan,
            "guarantee": self.guarantee,
            "rehearsal": self.rehearsal,
        }
        arrays = {f"key:{name}": pa.array(code) for name, code in self.keys.items()}
        arrays |= {f"value:{j}": pa.array(self.values[:, j]) for j in range(self.values.shape[1])}
        if self.largest is not None:
            arrays |= {f"largest:{j}": pa.array(self.largest[:, j]) for j in range(self.largest.shape[1])}
        return packed(None, meta, pa.table(arrays))

    @classmethod
    def from_bytes(cls, stored: bytes, error_law: Callable[[int], ErrorLaw]) -> Measured:
        """What was stored; the law of the error follows from the plan and the number of worker cells."""
        meta, table = opened(stored, None)

        def matrix(stem: str, width: int) -> NDArray[np.int64]:
            if not table.num_rows:
                return np.zeros((0, width), dtype=np.int64)
            return np.column_stack([table[f"{stem}:{j}"].to_numpy() for j in range(width)])

        return cls(
            keys={name: table[f"key:{name}"].to_numpy() for name in meta["keys"]},
            worker=tuple(meta["worker"]),
            values=matrix("value", meta["cells"]),
            error=error_law(meta["cells"]),
            plan=meta["plan"],
            guarantee=meta["guarantee"],
            rehearsal=meta["rehearsal"],
            largest=matrix("largest", meta["largest"]) if meta["largest"] else None,
        )


@dataclass(frozen=True, eq=False)
class Measurements:
    """Noisy values of a table of any kind: for each cell one whole number of every name in `noisy`.

    `keys` are level codes of the attributes that make the cells. `facts` are all that is needed to turn the values into
    estimates with margins, as JSON values: laws of the noise, steps, clamps that were bought.
    """

    keys: dict[str, NDArray[np.int32]]
    noisy: dict[str, NDArray[np.int64]]
    facts: dict[str, Any]
    plan: dict[str, Any]
    guarantee: str
    rehearsal: bool

    @property
    def cells(self) -> int:
        return next(iter(self.noisy.values())).size

    @property
    def statistic(self) -> str:
        return str(self.plan.get("statistic") or self.facts["statistic"])

    def promised(self, plan: Any) -> Measurements:
        """The same as a result of the plan around the one that measured it (`plan/bounded.py`)."""
        return replace(self, plan=plan.describe(), guarantee=str(plan.guarantee))

    def to_bytes(self) -> bytes:
        meta = {
            "keys": list(self.keys),
            "noisy": list(self.noisy),
            "facts": self.facts,
            "plan": self.plan,
            "guarantee": self.guarantee,
            "rehearsal": self.rehearsal,
        }
        arrays = {f"key:{name}": pa.array(code) for name, code in self.keys.items()}
        arrays |= {f"noisy:{name}": pa.array(values) for name, values in self.noisy.items()}
        return packed(_FORM, meta, pa.table(arrays))

    @classmethod
    def from_bytes(cls, stored: bytes) -> Measurements:
        meta, table = opened(stored, _FORM)
        return cls(
            keys={name: table[f"key:{name}"].to_numpy() for name in meta["keys"]},
            noisy={name: table[f"noisy:{name}"].to_numpy() for name in meta["noisy"]},
            facts=meta["facts"],
            plan=meta["plan"],
            guarantee=meta["guarantee"],
            rehearsal=meta["rehearsal"],
        )
