"""Released tables of a panel, and the synthetic files that follow from them. Post-processing only."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
from attrs import evolve, frozen
from scipy.special import ndtri

from tacita.data.schema import Schema
from tacita.implicates import Implicates
from tacita.synthesis.base import Model
from tacita.synthesis.panel.formal.drawing import draw_formal
from tacita.synthesis.panel.formal.frame import Frame
from tacita.synthesis.panel.formal.lattice import Floats
from tacita.synthesis.panel.formal.released import Measurement, Noisy
from tacita.synthesis.panel.layout import Layout
from tacita.synthesis.panel.streams import stream
from tacita.synthesis.panel.tables import joined_groups, synthesized, to_table


@frozen(eq=False, repr=False)
class PanelModel(Model[Mapping[str, tuple[Frame, Measurement]]]):
    """What the ledger keeps and a bundle publishes: noisy tables of every group. `implicates` are its files.

    Each file is drawn from the same measurement. Several files also draw how many units have each life, the laws of
    sizes and steps, and the sums of each year, as far as the noise leaves them open; a single one takes the middle.
    """

    form = "panel-model-1"

    @cached_property
    def layout(self) -> Layout:
        layout: Layout = self.plan.layout(self.schema)
        return layout

    def random(self, seed: int) -> str:
        """Groups and files have streams of their own, all from one seed."""
        return f"{seed:032x}"

    def files(self, m: int, random: str, rows: int | None) -> Implicates:
        drawn = tuple(
            joined_groups([self._drawn(group, number, m, random) for group in self.released], self.layout)
            for number in range(1, m + 1)
        )
        return Implicates(drawn, self.schema, synthesized(self.layout), "one-measurement")

    def only(self, groups: Iterable[str]) -> PanelModel:
        """What was released about some groups: all that their files need."""
        return evolve(self, released={group: self.released[group] for group in groups})

    def group_file(self, group: str, number: int, m: int) -> pa.Table:
        """The rows of one group in one of m files: large panels are written one by one."""
        return self._drawn(group, number, m, self.random(self.seed))

    def _drawn(self, group: str, number: int, m: int, seed: str) -> pa.Table:
        frame, measurement = self.released[group]
        random = stream(seed, group, f"{number} of several" if m > 1 else "one")
        levels = _levels(stream(seed, group, f"levels of {m}"), len(self.layout.yearly), m)[:, number - 1]
        return to_table(draw_formal(frame.panel(self.layout), measurement, random, levels, middle=m == 1))

    def __repr__(self) -> str:
        return f"PanelModel(groups={len(self.released)}, files={self.plan.sets})"

    # ------------------------------------------------------------ stored as plain JSON

    @property
    def measured(self) -> Mapping[str, Any]:
        """Every released table with the scale of its noise, and the clamps that were chosen from earlier ones."""
        groups = {}
        for group, (frame, one) in self.released.items():
            tables = {name: noisy.to_dict() for name, noisy in one.tables.items()}
            groups[group] = {"tables": tables, "clamps": dict(one.caps), "public": frame.to_dict()}
        return {"groups": groups}

    def stored(self) -> tuple[Mapping[str, Any], None]:
        return {"seed": self.random(self.seed), "sets": self.plan.sets, **self.measured}, None

    @classmethod
    def released_from(
        cls, content: Mapping[str, Any], table: pa.Table, plan: Any, schema: Schema
    ) -> Mapping[str, tuple[Frame, Measurement]]:
        groups = {}
        for group, one in content["groups"].items():
            tables = {name: Noisy.from_dict(noisy) for name, noisy in one["tables"].items()}
            groups[group] = Frame.from_dict(one["public"]), Measurement(tables, one["clamps"])
        return groups


def _levels(random: np.random.Generator, numbers: int, m: int) -> Floats:
    """For each number and file, where in what noise leaves open of its total the file is. Each file is as likely to be
    anywhere, but m files are spread evenly: their mean is in the middle, and how they differ tells how far that may be
    off."""
    places = (np.arange(m) + 0.5) / m
    return np.asarray(ndtri([random.permutation(places) for _ in range(numbers)]), dtype=np.float64)
