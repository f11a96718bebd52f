"""Released tables of a panel, and the synthetic files that follow from them. Post-processing only."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa

from tacita.data.schema import Schema
from tacita.errors import UsageError, VerificationError
from tacita.implicates import Implicates
from tacita.privacy import text
from tacita.synthesis.panel.formal.drawing import draw_formal
from tacita.synthesis.panel.formal.frame import Frame
from tacita.synthesis.panel.formal.released import Measurement, Noisy
from tacita.synthesis.panel.layout import Layout
from tacita.synthesis.panel.streams import stream
from tacita.synthesis.panel.tables import joined_groups, synthesized, to_table

_FORM = "panel-model-1"


@dataclass(frozen=True, eq=False, repr=False)
class PanelModel:
    """What the ledger keeps and a bundle publishes: noisy tables of every group. `implicates` are its files.

    Each file is drawn from the same measurement. Several files also draw how many units have each life, the laws of
    sizes and steps, and the sums of each year, as far as the noise leaves them open; a single one takes the middle.
    """

    layout: Layout
    groups: Mapping[str, tuple[Frame, Measurement]]
    sets: int
    seed: str
    plan: Mapping[str, Any]
    rehearsal: bool

    @property
    def schema(self) -> Schema:
        return self.layout.schema

    @cached_property
    def implicates(self) -> Implicates:
        return self.sample(self.sets)

    def sample(self, m: int | None = None) -> Implicates:
        """m synthetic panels, by default as many as the plan says."""
        count = self.sets if m is None else m
        if isinstance(count, bool) or not isinstance(count, int) or count < 1:
            raise UsageError("m: give the number of files, at least 1")
        files = tuple(
            joined_groups([self.group_file(group, number, count) for group in self.groups], self.layout)
            for number in range(1, count + 1)
        )
        return Implicates(files, self.schema, synthesized(self.layout), "one-measurement")

    def only(self, groups: Iterable[str]) -> PanelModel:
        """What was released about some groups: all that their files need."""
        return replace(self, groups={group: self.groups[group] for group in groups})

    def group_file(self, group: str, number: int, m: int) -> pa.Table:
        """The rows of one group in one of m files: large panels are written one by one. A file has its own stream."""
        frame, found = self.groups[group]
        random = stream(self.seed, group, f"{number} of several" if m > 1 else "one")
        return to_table(draw_formal(frame.panel(self.layout), found, random, middle=m == 1))

    def __repr__(self) -> str:
        return f"PanelModel(groups={len(self.groups)}, files={self.sets})"

    # ------------------------------------------------------------ stored as plain JSON

    @property
    def measured(self) -> dict[str, Any]:
        """Every released table with the scale of its noise, and the clamps that were chosen from earlier ones."""
        found = {}
        for group, (frame, one) in self.groups.items():
            tables = {
                name: {"values": noisy.values.tolist(), "scale": text(noisy.scale)}
                for name, noisy in one.tables.items()
            }
            found[group] = {"tables": tables, "clamps": dict(one.caps), "public": frame.to_dict()}
        return {"groups": found}

    def to_bytes(self) -> bytes:
        stored = {
            "form": _FORM,
            "plan": dict(self.plan),
            "schema": self.schema.to_dict(),
            "seed": self.seed,
            "rehearsal": self.rehearsal,
            "sets": self.sets,
            **self.measured,
        }
        return json.dumps(stored, sort_keys=True, separators=(",", ":")).encode()


def unpacked(stored: bytes) -> tuple[dict[str, Any], dict[str, tuple[Frame, Measurement]]]:
    """What was stored, and its groups."""
    content = json.loads(stored)
    if content.get("form") != _FORM:
        raise VerificationError("a stored result is not one that Tacita wrote; restore the ledger from its backup")
    groups = {}
    for group, one in content["groups"].items():
        tables = {
            name: Noisy(np.array(noisy["values"], dtype=np.int64), Fraction(noisy["scale"]))
            for name, noisy in one["tables"].items()
        }
        groups[group] = Frame.from_dict(one["public"]), Measurement(tables, one["clamps"])
    return content, groups
