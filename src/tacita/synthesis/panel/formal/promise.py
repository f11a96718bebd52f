"""What `PanelSynthesis` promises, and how it shares out ε."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction

from tacita.privacy import Guarantee, Loss, NumbersWithin, ReplaceOne
from tacita.synthesis.panel.formal.budget import Budget
from tacita.synthesis.panel.formal.sensitivities import WholeHistory, WithinAlpha
from tacita.synthesis.panel.layout import Layout

# Questions whose answers follow from lives, static variables and public columns alone.
LIVES = ("lives", "gaps", "static ", "public ", "change ")


@dataclass(frozen=True)
class Promise:
    """ε for all that one unit's rows say; with α, for its numbers to within a factor 1 + α."""

    epsilon: Fraction
    alpha: Fraction | None = None

    @property
    def proof(self) -> str:
        return f"synthesis/panel/formal/{'formal' if self.alpha is None else 'alpha'}.md"

    @property
    def change(self) -> WholeHistory:
        return WholeHistory() if self.alpha is None else WithinAlpha(self.alpha)

    def budget(self, layout: Layout, units: int) -> Budget:
        """ε of each question in a group of so many units. With α, questions about lives take nothing from ε, since no
        neighbour changes their answers; they keep the noise that they have without α, and the others share out all of
        ε."""
        shared = Budget.of(layout, self.epsilon, units)
        if self.alpha is None:
            return shared
        rest = sum(part for name, part in shared.parts if not name.startswith(LIVES))
        more = self.epsilon / rest
        parts = ((name, part if name.startswith(LIVES) else part * more) for name, part in shared.parts)
        return replace(shared, parts=tuple(parts))

    def knows(self, unit: str) -> str:
        """What was measured, for readers of the page."""
        said = "Lives, categories, sizes, steps and totals were counted over all units, and random noise was added to "
        said += "each count and sum. The files are drawn from these and the public columns alone."
        if self.alpha is None:
            return said
        return f"{said} When a {unit} was there and its categories are not covered by the promise, for all the noise."

    def guarantee(self, unit: str, keep: tuple[str, ...]) -> Guarantee:
        """Groups are split by a public column, so that each unit is in one of them and ε is that of one group."""
        public = (f"{', '.join(keep)} of every {unit} are public",) if keep else ()
        if self.alpha is None:
            rows = f"every row belongs to the {unit} that its id names: all years of a {unit} are replaced together"
            kept = tuple(f"{one}: a replaced {unit} keeps them" for one in public)
            return Guarantee(ReplaceOne(unit), Loss(self.epsilon), assumes=(rows, *kept))
        assumes = (
            f"every row belongs to the {unit} that its id names: the numbers of all years of a {unit} change together",
            *public,
            f"when a {unit} was there, its categories and which of its numbers are missing or break an edit may be "
            "known: the promise does not cover them",
        )
        return Guarantee(NumbersWithin(unit, self.alpha), Loss(self.epsilon), assumes=assumes)
