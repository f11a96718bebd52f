"""What a panel with epsilon promises, says beforehand, and does: the formal side of `PanelSynthesis`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any

from tacita.confidential import Confidential
from tacita.noise.entropy import Entropy
from tacita.plan import Forecast
from tacita.privacy import Guarantee, Loss, ReplaceOne, text
from tacita.schema import Schema
from tacita.synthesis.panel.formal.budget import Budget
from tacita.synthesis.panel.formal.frame import Frame
from tacita.synthesis.panel.formal.measuring import measure
from tacita.synthesis.panel.formal.model import PanelModel, unpacked
from tacita.synthesis.panel.layout import Layout
from tacita.synthesis.panel.reading import all_groups
from tacita.synthesis.panel.streams import recorded_seed

PROOF = "synthesis/panel/formal/formal.md"


def guarantee(unit: str, keep: tuple[str, ...], epsilon: Fraction) -> Guarantee:
    """ε for a unit's whole history: groups are split by a public column, so that each unit is in one of them."""
    assumes = (
        f"every row belongs to the {unit} that its id names: all years of a {unit} are replaced together",
        f"{', '.join(keep)} of every {unit} are public: a replaced {unit} keeps them",
    )
    return Guarantee(ReplaceOne(unit), Loss(epsilon), assumes=assumes)


def forecast(layout: Layout, sets: int, epsilon: Fraction, groups: int) -> Forecast:
    budget = Budget.of(layout, epsilon)
    years = len(layout.years)
    size = layout.yearly[0].name
    spent = dict(budget.parts)

    def percent(*starts: str) -> str:
        part = sum(one for name, one in spent.items() if name.startswith(starts))
        return f"{100 * float(part / epsilon):.0f}%"

    lives = 2 * 2**0.5 / float(budget["lives"])
    sentences = [
        f"{sets} files from one measurement, with {', '.join(layout.keep)} as collected",
        f"ε = {text(epsilon)} covers all {years} years of a unit together: a further year needs a new plan and a new ε",
        f"lives and static variables: {percent('lives', 'static', 'public', 'change')} of ε; the number of units with "
        f"a given first and last year has noise of about {lives:.2g}, whatever it is",
        f"{size} when first seen: {percent('sizes', 'entrants')} of ε, from one record of each unit",
        f"sums of {size}: {percent('levels', 'tops')} of ε, of which every year has a part in {years}; values above a "
        "clamp that follows from the released sizes count as the clamp",
    ]
    if years > 1:
        sentences.append(
            f"steps of {size} from year to year: {percent('steps', 'kinds')} of ε for their law, which is the same in "
            f"all years, {percent('flows')} for what is gained and lost in each, of which every year has a part in "
            f"{years - 1}, {percent('present', 'leaving')} for which sizes leave"
        )
    for one in layout.yearly[1:]:
        names = tuple(f"{part} {one.name}" for part in ("range", "centres", "ratios", "moves"))
        sentences.append(
            f"{one.name}: {percent(*names)} of ε, for its logarithm per unit of {size}: a centre of each year, and "
            "moves whose law is the same in all years"
        )
    figures = {f"share of epsilon, {name}": float(one / epsilon) for name, one in budget.parts}
    figures |= {"noise of a count of lives": lives, "files": float(sets)}
    product = (
        f"Synthetic panel: {', '.join(one.name for one in layout.yearly)}, {layout.years[0]} to {layout.years[-1]}"
    )
    return Forecast(product, len(spent) * groups, tuple(sentences), figures)


def run(
    data: Confidential, layout: Layout, sets: int, epsilon: Fraction, plan: Mapping[str, Any], entropy: Entropy
) -> PanelModel:
    budget = Budget.of(layout, epsilon)
    groups = {
        group: (Frame.of(panel), measure(panel, budget, entropy, group)) for group, panel in all_groups(data, layout)
    }
    return PanelModel(layout, groups, sets, recorded_seed(entropy), plan, entropy.rehearsal)


def restore(stored: bytes, layout_of: Callable[[Schema], Layout]) -> PanelModel:
    """`layout_of` is the plan's layout for a schema."""
    content, groups = unpacked(stored)
    layout = layout_of(Schema.from_dict(content["schema"]))
    return PanelModel(layout, groups, content["sets"], content["seed"], content["plan"], content["rehearsal"])
