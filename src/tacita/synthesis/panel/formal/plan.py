"""`PanelSynthesis`: panels drawn from noisy tables, with a guarantee for a unit's whole history."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from attrs import field, frozen

from tacita.data.confidential import Confidential
from tacita.data.schema import Schema
from tacita.errors import UsageError
from tacita.noise.entropy import Entropy
from tacita.plan import Forecast
from tacita.plan.fields import as_epsilon
from tacita.plan.how import FREE, How, Worth
from tacita.privacy import Guarantee, Neighbours, Number, exact
from tacita.synthesis.base import Synthesizer
from tacita.synthesis.panel.formal.foresight import foreseen, worth_of
from tacita.synthesis.panel.formal.frame import Frame
from tacita.synthesis.panel.formal.measuring import measure
from tacita.synthesis.panel.formal.model import PanelModel
from tacita.synthesis.panel.formal.promise import Promise
from tacita.synthesis.panel.formal.released import Noisy, moved_share
from tacita.synthesis.panel.layout import Layout
from tacita.synthesis.panel.reading import all_groups
from tacita.synthesis.panel.settings import PanelPlan
from tacita.synthesis.panel.streams import recorded_seed


def _as_alpha(given: Number | None) -> Fraction | None:
    alpha = None if given is None else exact(given, "alpha")
    if alpha is not None and alpha <= 0:
        raise UsageError('alpha: must be above 0, such as "0.1" for ten percent')
    return alpha


def _seen(layout: Layout, group: Mapping[str, Any]) -> tuple[int, dict[str, Noisy], float | None]:
    """The units of a group, released octaves of its numbers, which earlier measurements do not have, and which share of
    the size's total moves in a year."""
    tables = ((one.name, group["tables"].get(f"octaves {one.name}")) for one in layout.yearly)
    counted = {name: Noisy.from_dict(table) for name, table in tables if table is not None}
    steps = {name: Noisy.from_dict(group["tables"][name]) for name in ("sizes", "steps") if name in group["tables"]}
    moved = moved_share(steps, layout) if len(steps) > 1 else None
    return Frame.from_dict(group["public"]).units, counted, moved


@frozen(kw_only=True)
class PanelSynthesis(PanelPlan[PanelModel]):
    """Synthetic panels of businesses, drawn from noisy tables: ε holds for all years of a unit together. With `alpha`
    it holds for the unit's numbers to within a factor 1 + α, and not for its life or categories. The other settings
    are those of `PanelPlan`; `PlainPanelSynthesis` draws the same panels without a guarantee.

    >>> columns = {"employment": "emp{year}"}
    >>> print(PanelSynthesis(columns, "4", unit="firm", keep=["county"], years=(1976, 1978)).guarantee)
    ε = 4 under one firm's record replaced
    """

    gone = ("models",)
    model = PanelModel

    epsilon: Fraction = field(converter=as_epsilon, kw_only=False)
    alpha: Fraction | None = field(default=None, converter=_as_alpha)

    @property
    def promise(self) -> Promise:
        """What the noise is for."""
        return Promise(self.epsilon, self.alpha)

    @property
    def neighbours(self) -> Neighbours:
        return self.guarantee.neighbours

    @property
    def guarantee(self) -> Guarantee:
        return self.promise.guarantee(self.unit, self.keep)

    @property
    def proof(self) -> str:
        return self.promise.proof

    @property
    def on_grid(self) -> bool:
        return self.alpha is not None

    @property
    def how(self) -> How:
        return How(self.promise.knows(self.unit), self.public, FREE)

    def former_descriptions(self) -> tuple[dict[str, Any], ...]:
        return (self.described_before(models=[]),)

    def forecast(self, schema: Schema) -> Forecast:
        layout = self.layout(schema)
        sentences, figures = foreseen(layout, self.promise)
        cells = len(self.promise.budget(layout, 1).parts) * layout.group_count
        files = f"{self.files} from one measurement{self.collected}"
        return Forecast(self.product, cells, (files, *sentences), figures | {"files": float(self.sets)})

    def worth(self, schema: Schema, measured: Mapping[str, Any]) -> Worth:
        """For readers of the page: the number of units in each group is public, and how large they are was counted."""
        layout = self.layout(schema)
        return worth_of(layout, self.promise, [_seen(layout, one) for one in measured["groups"].values()])

    def run(self, data: Confidential, entropy: Entropy) -> PanelModel:
        """Everything is measured, one group in memory at a time."""
        layout, promise = self.layout(data.schema), self.promise
        groups = {
            group: (
                Frame.of(panel),
                measure(panel, promise.budget(layout, panel.rows), entropy, group, promise.change),
            )
            for group, panel in all_groups(data, layout)
        }
        return PanelModel(self, data.schema, groups, int(recorded_seed(entropy), 16), entropy.rehearsal)


# By what it has, not by descent: its columns are patterns, and what is protected follows from unit and alpha.
Synthesizer.register(PanelSynthesis)
