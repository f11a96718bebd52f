"""What `PanelSynthesis` promises and says beforehand."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction

from tacita.privacy import Guarantee, Loss, NumbersWithin, ReplaceOne, text
from tacita.synthesis.panel.formal.budget import Budget
from tacita.synthesis.panel.formal.sensitivities import WholeHistory, WithinAlpha
from tacita.synthesis.panel.layout import Layout

# Questions whose answers follow from lives, static variables and public columns alone.
LIVES = ("lives", "static ", "public ", "change ")


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

    def budget(self, layout: Layout) -> Budget:
        """ε of each question. With α, questions about lives take nothing from ε, since no neighbour changes their
        answers; they keep the noise that they have without α, and the others share out all of ε."""
        found = Budget.of(layout, self.epsilon)
        if self.alpha is None:
            return found
        rest = sum(part for name, part in found.parts if not name.startswith(LIVES))
        more = self.epsilon / rest
        parts = ((name, part if name.startswith(LIVES) else part * more) for name, part in found.parts)
        return replace(found, parts=tuple(parts))

    def knows(self, unit: str) -> str:
        """What was measured, for readers of the page."""
        said = "Lives, categories, sizes, steps and totals were counted over all units, and random noise was added to "
        said += "each count and sum. The files are drawn from these and the public columns alone."
        if self.alpha is None:
            return said
        return f"{said} When a {unit} was there and its categories are not covered by the promise, for all the noise."

    def guarantee(self, unit: str, keep: tuple[str, ...]) -> Guarantee:
        """Groups are split by a public column, so that each unit is in one of them and ε is that of one group."""
        public = f"{', '.join(keep)} of every {unit} are public: a replaced {unit} keeps them"
        if self.alpha is None:
            rows = f"every row belongs to the {unit} that its id names: all years of a {unit} are replaced together"
            return Guarantee(ReplaceOne(unit), Loss(self.epsilon), assumes=(rows, public))
        assumes = (
            f"every row belongs to the {unit} that its id names: the numbers of all years of a {unit} change together",
            f"{', '.join(keep)} of every {unit} are public",
            f"when a {unit} was there, its categories and which of its numbers are missing or break an edit may be "
            "known: the promise does not cover them",
        )
        return Guarantee(NumbersWithin(unit, self.alpha), Loss(self.epsilon), assumes=assumes)


def foreseen(layout: Layout, promise: Promise) -> tuple[list[str], dict[str, float]]:
    """Where ε goes and how large the noise is, in sentences and figures."""
    budget, epsilon, alpha = promise.budget(layout), promise.epsilon, promise.alpha
    years = len(layout.years)
    size = layout.yearly[0].name
    spent = {name: part for name, part in budget.parts if alpha is None or not name.startswith(LIVES)}

    def percent(*starts: str) -> str:
        part = sum(one for name, one in spent.items() if name.startswith(starts))
        return f"{100 * float(part / epsilon):.0f}%"

    lives = 2 * 2**0.5 / float(budget["lives"])
    about = f"{percent(*LIVES)} of ε" if alpha is None else "outside the promise, so at no cost; but with noise"
    sentences = [
        f"ε = {text(epsilon)} covers all {years} years of a unit together: a further year needs a new plan and a new ε",
        f"lives and static variables: {about}; the number of units with a given first and last year has noise of about "
        f"{lives:.2g}, whatever it is",
        f"{size} when first seen: {percent('sizes', 'entrants')} of ε, from one record of each unit",
        f"sums of {size}: {percent('levels', 'tops')} of ε, of each year, which has a part in {years}, and of all "
        "years together; values above a clamp that follows from the released sizes count as the clamp",
    ]
    if years > 1:
        sentences.append(
            f"steps of {size} from year to year: {percent('steps', 'kinds')} of ε for their law, which is the same in "
            f"all years, {percent('flows')} for what is gained and lost in each, which has a part in {years - 1}, "
            f"and in all together, {percent('present', 'leaving')} for which sizes leave"
        )
    for one in layout.yearly[1:]:
        names = tuple(f"{part} {one.name}" for part in ("range", "centres", "ratios", "total", "moves"))
        sentences.append(
            f"{one.name}: {percent(*names)} of ε, for its logarithm per unit of {size}: a centre of each year, "
            "moves whose law is the same in all years, and a clamped sum of all years together"
        )
    figures = {f"share of epsilon, {name}": float(one / epsilon) for name, one in spent.items()}
    return sentences, figures | {"noise of a count of lives": lives}
