"""The public part of a group: its units' public columns, as combinations and how many units have each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from tacita.synthesis.panel.formal.lattice import Integers
from tacita.synthesis.panel.layout import Layout
from tacita.synthesis.panel.panel import MISSING, Panel
from tacita.synthesis.panel.predictors import Column


@dataclass(frozen=True, eq=False)
class Frame:
    """`labels` are the levels that occur; `codes` has a row for each combination of them, `counts` its units."""

    labels: dict[str, tuple[str, ...]]
    codes: Integers
    counts: Integers

    @classmethod
    def of(cls, panel: Panel) -> Frame:
        keep = panel.layout.keep
        # Units without a public column have nothing that tells them apart.
        alike = np.zeros((1, 0), dtype=np.int64), np.array([panel.rows])
        table = [panel.public[name].values for name in keep]
        codes, counts = np.unique(np.column_stack(table), axis=0, return_counts=True) if keep else alike
        return cls({name: panel.labels[name] for name in keep}, codes.astype(np.int64), counts.astype(np.int64))

    def panel(self, layout: Layout) -> Panel:
        """Units with these public columns, in their order, and nothing else known about them."""
        public, labels = {}, dict(self.labels)
        for at, name in enumerate(layout.keep):
            public[name] = Column(np.repeat(self.codes[:, at], self.counts), len(labels[name]))
        for name, of, digits in layout.coarser:
            short = [label[:digits] for label in labels[of]]
            labels[name] = tuple(sorted(set(short)))
            to = np.array([labels[name].index(one) for one in short], dtype=np.int64)
            public[name] = Column(to[public[of].values], len(labels[name]))
        rows = self.units
        nothing = np.full(rows, MISSING)
        return Panel(layout, rows, public, labels, nothing, nothing).blank()

    @property
    def units(self) -> int:
        return int(self.counts.sum(dtype=np.int64))

    def to_dict(self) -> dict[str, Any]:
        labels = {name: list(levels) for name, levels in self.labels.items()}
        return {"labels": labels, "codes": self.codes.tolist(), "units": self.counts.tolist()}

    @classmethod
    def from_dict(cls, found: dict[str, Any]) -> Frame:
        labels = {name: tuple(levels) for name, levels in found["labels"].items()}
        return cls(labels, np.array(found["codes"], dtype=np.int64), np.array(found["units"], dtype=np.int64))
