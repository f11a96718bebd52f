"""Noisy sums by cell with the law of their error: all that leaves a plan of magnitudes. No true value is in here."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tacita.errors import UsageError
from tacita.measured import Measured
from tacita.mechanisms.magnitude.error import MagnitudeError
from tacita.plan.stored import opened, packed

_FORM = "magnitudes-1"


@dataclass(frozen=True)
class Column:
    """One published number of each cell: its name, its decimal places and the law of its error."""

    name: str
    places: int
    error: MagnitudeError
    size: int = 0
    """Which of the paid-for sizes goes with it."""


@dataclass(frozen=True, eq=False)
class MeasuredSums:
    """One row per cell, one column per sum, in whole steps of the last decimal place."""

    keys: dict[str, NDArray[np.int32]]
    columns: tuple[Column, ...]
    values: NDArray[np.int64]
    plan: dict[str, Any]
    guarantee: str
    rehearsal: bool
    largest: NDArray[np.int64] | None = None

    def __getitem__(self, name: str) -> Measured:
        """One of the sums, as tables are published from it."""
        for at, one in enumerate(self.columns):
            if one.name == name:
                sizes = None if self.largest is None else self.largest[:, one.size : one.size + 1]
                return Measured(
                    keys=self.keys,
                    worker=(),
                    values=self.values[:, at : at + 1],
                    error=one.error,
                    plan=self.plan,
                    guarantee=self.guarantee,
                    rehearsal=self.rehearsal,
                    largest=sizes,
                    places=one.places,
                )
        raise UsageError(f"{name}: was not measured; there are {', '.join(one.name for one in self.columns)}")

    @property
    def measurements(self) -> pa.Table:
        """The noisy values as they were drawn, in steps, with the law of the noise: the file for modellers."""
        table = {name: pa.array(code) for name, code in self.keys.items()}
        table |= {f"noisy_{one.name}": pa.array(self.values[:, at]) for at, one in enumerate(self.columns)}
        if self.largest is not None:
            width = self.largest.shape[1]
            table |= {f"noisy_largest_{at}": pa.array(self.largest[:, at]) for at in range(width)}
        meta = {
            "guarantee": self.guarantee,
            "columns": {one.name: {"places": one.places, **one.error.describe()} for one in self.columns},
        }
        return pa.table(table).replace_schema_metadata({b"noise": json.dumps(meta, sort_keys=True).encode()})

    def to_bytes(self) -> bytes:
        """Arrow IPC with the plan in its metadata: an open format, never a pickle."""
        meta = {
            "keys": list(self.keys),
            "columns": {one.name: [one.places, one.error.most] for one in self.columns},
            "sizes": 0 if self.largest is None else self.largest.shape[1],
            "plan": self.plan,
            "guarantee": self.guarantee,
            "rehearsal": self.rehearsal,
        }
        arrays = {f"key:{name}": pa.array(code) for name, code in self.keys.items()}
        arrays |= {f"value:{at}": pa.array(self.values[:, at]) for at in range(self.values.shape[1])}
        if self.largest is not None:
            arrays |= {f"largest:{at}": pa.array(self.largest[:, at]) for at in range(self.largest.shape[1])}
        return packed(_FORM, meta, pa.table(arrays))


def stored_domains(stored: bytes) -> dict[str, tuple[int, int]]:
    """Of each stored sum: decimal places, and the largest size that the schema allowed. A plan makes the error laws."""
    meta, _ = opened(stored, _FORM)
    return {name: (int(places), int(most)) for name, (places, most) in meta["columns"].items()}


def restored(stored: bytes, columns: tuple[Column, ...]) -> MeasuredSums:
    """What was stored."""
    meta, table = opened(stored, _FORM)

    def matrix(stem: str, width: int) -> NDArray[np.int64]:
        if not table.num_rows:
            return np.zeros((0, width), dtype=np.int64)
        return np.column_stack([table[f"{stem}:{at}"].to_numpy() for at in range(width)])

    return MeasuredSums(
        keys={name: table[f"key:{name}"].to_numpy() for name in meta["keys"]},
        columns=columns,
        values=matrix("value", len(columns)),
        plan=meta["plan"],
        guarantee=meta["guarantee"],
        rehearsal=meta["rehearsal"],
        largest=matrix("largest", meta["sizes"]) if meta["sizes"] else None,
    )
