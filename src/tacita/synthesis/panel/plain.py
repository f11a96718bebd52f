"""`PlainPanelSynthesis`: panels drawn from models of the rows themselves, without a guarantee (kinney2007)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa
from attrs import field, frozen

from tacita.data.confidential import Confidential
from tacita.data.schema import Schema
from tacita.errors import UsageError
from tacita.implicates import Implicates
from tacita.noise.entropy import Entropy
from tacita.plan import Forecast
from tacita.plan.fields import by_name
from tacita.plan.how import How
from tacita.privacy import Guarantee, Loss, ReplaceOne
from tacita.synthesis.base import Model
from tacita.synthesis.panel.group import group_files
from tacita.synthesis.panel.layout import Layout
from tacita.synthesis.panel.models import Model as Conditional
from tacita.synthesis.panel.models import checked, defaults, model_from, model_to_dict
from tacita.synthesis.panel.reading import all_groups
from tacita.synthesis.panel.settings import PanelPlan
from tacita.synthesis.panel.streams import recorded_seed
from tacita.synthesis.panel.tables import joined_groups, synthesized

_NO_SEED = 0
_NO_GUARANTEE = "values are drawn from models of the confidential rows; nothing bounds what they show of one unit"


@frozen(eq=False, repr=False)
class PanelFiles(Model[tuple[pa.Table, ...]]):
    """m synthetic panels, each with parameters of its own. They were drawn with the fit: nothing else was kept. Their
    seed least of all: with it, whoever knows all rows but one could try out which one makes exactly these files."""

    form = "panel-files-1"

    def random(self, seed: int) -> None:
        if seed != self.seed:  # given by a person
            raise UsageError("seed: the files were drawn when the models were fitted; leave seed out")

    def files(self, m: int, random: None, rows: int | None) -> Implicates:
        """The first m of the files."""
        if m > len(self.released):
            raise UsageError(f"m: {len(self.released)} files were drawn; give a number up to that, or a plan with sets")
        return Implicates(self.released[:m], self.schema, self._synthesized, "partial")

    @property
    def _synthesized(self) -> tuple[str, ...]:
        return synthesized(self.plan.layout(self.schema))

    @property
    def measured(self) -> Mapping[str, Any]:
        """Nothing was measured: the files are drawn from the posterior given the confidential rows."""
        return {"files": len(self.released), "rows": [table.num_rows for table in self.released]}

    def stored(self) -> tuple[Mapping[str, Any], pa.Table]:
        content = {
            "synthesized": list(self._synthesized),
            "kind": "partial",
            "rows": self.measured["rows"],
        }
        return content, pa.concat_tables(self.released).combine_chunks()

    @classmethod
    def released_from(
        cls, content: Mapping[str, Any], table: pa.Table, plan: Any, schema: Schema
    ) -> tuple[pa.Table, ...]:
        tables, start = [], 0
        for rows in content["rows"]:
            tables.append(table.slice(start, rows))
            start += rows
        return tuple(tables)

    def __repr__(self) -> str:
        return f"PanelFiles(files={len(self.released)}, rows={self.released[0].num_rows})"


def _as_models(given: Mapping[str, Any] | Sequence[Any]) -> tuple[tuple[str, Conditional], ...]:
    return tuple(sorted((name, model_from(name, one)) for name, one in by_name(given, "models")))


@frozen(kw_only=True)
class PlainPanelSynthesis(PanelPlan[PanelFiles]):
    """Partially synthetic panels of businesses, one conditional model after another (kinney2007). No guarantee.

    `models` replaces the model of a variable, {"payroll": NumberTree(("employment", "payroll before"))}; the others
    have that of the paper. The other settings are those of `PanelPlan`.

    >>> columns = {"employment": "emp{year}"}
    >>> print(PlainPanelSynthesis(columns, unit="firm", keep=["county"], years=(1976, 1978)).guarantee)
    no guarantee
    """

    gone = ("epsilon", "alpha")
    model = PanelFiles
    proof = "synthesis/panel/panel.md"
    on_grid = False

    models: tuple[tuple[str, Conditional], ...] = field(default=(), converter=_as_models)

    @property
    def guarantee(self) -> Guarantee:
        return Guarantee(ReplaceOne(self.unit), Loss.zero(), holds="never", assumes=(_NO_GUARANTEE,))

    @property
    def how(self) -> How:
        return How(
            "The models were fitted to the confidential rows themselves, and the files are drawn from them. No noise "
            "was added and nothing is promised.",
            self.public,
        )

    def describe(self) -> dict[str, Any]:
        return super().describe() | {"models": [[name, model_to_dict(model)] for name, model in self.models]}

    def former_descriptions(self) -> tuple[dict[str, Any], ...]:
        return (self.described_before(epsilon=None, alpha=None),)

    def sequence(self, layout: Layout) -> dict[str, Conditional]:
        """The model of every variable: the declared ones, and the paper's for the others."""
        return checked(layout, defaults(layout) | dict(self.models))

    def reads(self, schema: Schema) -> tuple[str, ...]:
        self.sequence(self.layout(schema))
        return super().reads(schema)

    def forecast(self, schema: Schema) -> Forecast:
        layout = self.layout(schema)
        return Forecast(
            self.product,
            len(self.sequence(layout)) * layout.group_count,
            (
                f"{self.files} of the units of the file{self.collected}",
                "no noise is added: estimates differ from the confidential ones by the models' fit and by their draws",
                "no guarantee: what the files may show of one unit is not bounded",
            ),
            {"files": float(self.sets)},
        )

    def run(self, data: Confidential, entropy: Entropy) -> PanelFiles:
        """All files in memory. For panels that are too large for that, see `tacita.synthesis.panel.write_panel`."""
        layout = self.layout(data.schema)
        models, seed = self.sequence(layout), recorded_seed(entropy)
        sets = range(1, self.sets + 1)
        parts = [dict(group_files(panel, models, group, seed, sets)) for group, panel in all_groups(data, layout)]
        tables = tuple(joined_groups([part[number] for part in parts], layout) for number in sets)
        return PanelFiles(self, data.schema, tables, _NO_SEED, entropy.rehearsal)
