"""Steps of sizes from one year to the next, by released laws that are tilted to each year. Post-processing only."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tacita.synthesis.panel.formal import former
from tacita.synthesis.panel.formal.lattice import AGES, Bins, Floats, Integers, Steps, coarse_steps
from tacita.synthesis.panel.formal.released import BROAD, ROWS, Measurement, step_laws, step_rows
from tacita.synthesis.panel.formal.smoothing import counts_of, joint, law_of, pick_from, towards
from tacita.synthesis.panel.formal.targets import Targets
from tacita.synthesis.panel.formal.units import young
from tacita.synthesis.panel.panel import Panel

_FURTHEST = 2.0  # tilts beyond exp(±this) would follow noise
_ASTRAY = 0.2  # of the steps beyond a clamp: what their law may miss


@dataclass(frozen=True, eq=False)
class StepLaws:
    """The law of the next step, by size and age; tilted so that a year's sums are met."""

    rows: Bins
    laws: Floats  # rows × ages × steps

    @classmethod
    def of(cls, made: Panel, found: Measurement, doubt: np.random.Generator | None) -> StepLaws:
        rows, broad = (step_rows(found.tables, made.layout, shares) for shares in (ROWS, BROAD))
        coarse = coarse_steps()
        if len(made.layout.years) == 1:
            return cls(rows, np.ones((rows.count, AGES, Steps.count)))
        noisy, kinds = found["steps"], found["kinds"]
        if any(former.is_former(found, one.name) for one in made.layout.yearly):
            steps = former.step_laws(noisy, rows, doubt)
        else:
            steps = step_laws(noisy, rows, doubt)
        own = counts_of(kinds.values, kinds.spread, doubt)
        pooled = own.sum(axis=1)
        ratio = law_of(towards(own, pooled[:, None, :], kinds.spread)) / np.maximum(law_of(pooled), 1e-3)[:, None, :]
        finer = _beyond(rows)
        steps = _carried_on(steps, rows, finer)
        laws = steps[:, None, :] * ratio[broad.of(finer.lower)][:, :, coarse]
        return cls(finer, law_of(laws))

    def drawn(
        self,
        made: Panel,
        place: int,
        who: Integers,
        before: Integers,
        targets: Targets,
        entered: list[float],
        random: np.random.Generator,
    ) -> Integers:
        row = self.rows.of(before) * self.laws.shape[1] + young(made, place, who)
        laws = self.laws.reshape(-1, Steps.count)
        down, up = laws[:, : Steps.same], laws[:, Steps.same + 1 :]
        most = self.rows.most
        # Where each unit would go if it shrank and if it grew; which of the two, or neither, is then decided.
        lower = Steps.drawn(before, pick_from(_filled(down), row, random), most, random)
        higher = Steps.drawn(before, Steps.same + 1 + pick_from(_filled(up), row, random), most, random)
        lost, gained = (before - lower).astype(np.float64), (higher - before).astype(np.float64)
        odds = Odds(
            np.where(lower < before, down.sum(axis=1)[row], 0.0),
            np.where(higher > before, up.sum(axis=1)[row], 0.0),
            np.minimum(lost, targets.flow_cap),
            np.minimum(gained, targets.flow_cap),
        )
        odds = odds.with_far(lost, gained, targets, place)
        shrink, grow = odds.shrink.copy(), odds.grow.copy()
        # From the largest units down: those above the lower end of a layer lean so that its sum is approached.
        above = np.full(len(who), False)
        for layer, new in list(zip(targets.layers, entered, strict=True))[:0:-1]:
            mine = (before > layer.low) & ~above
            above |= mine
            held = [layer.part(one) for one in (before, lower, higher)]
            missing = layer.gain[place] * (layer.sums[place] - new - _expected(held, shrink, grow))
            shrink[mine], grow[mine] = odds.at(mine).leaning([one[mine] for one in held], missing)
        # The others are held to the year's sums of steps, less what the large ones already make up.
        small, few, lowest = odds.at(~above), odds.at(above), targets.layers[0]
        wanted = targets.flows[place - 1] - [float(grow[above] @ few.gained), float(shrink[above] @ few.lost)]
        shrink[~above], grow[~above] = small.held(wanted[0], wanted[1])
        held = [lowest.part(one) for one in (before, lower, higher)]
        # What is missing to the year's released total is made up for in part, half by each direction.
        missing = lowest.gain[place] * (lowest.sums[place] - entered[0] - _expected(held, shrink, grow)) / 2
        shrink[~above], grow[~above] = small.held(wanted[0] + missing, wanted[1] - missing)
        at = random.random(len(who))
        return np.where(at < shrink, lower, np.where(at < shrink + grow, higher, before))


def _beyond(rows: Bins) -> Bins:
    """The last row cut where its sizes double: few units are there, but their steps move many jobs."""
    ends = [int(rows.lower[-1])]
    while 0 < 2 * ends[-1] <= rows.most:
        ends.append(2 * ends[-1])
    return Bins(np.concatenate([rows.lower[:-1], ends]), rows.most)


def _carried_on(steps: Floats, rows: Bins, finer: Bins) -> Floats:
    """Laws of the parts of the last row: larger units grow less, by as much as the rows before it show.

    The mean step falls with the logarithm of the size, as a line through the rows of the upper half tells; without
    this the largest units of a long panel would drift away, since nothing measured holds them.
    """
    logs = Steps.logs()
    upper = np.arange(rows.count // 2, rows.count)
    middle = np.log(
        np.maximum(rows.lower[upper], 1) * np.append(rows.upper[upper[:-1]] / rows.lower[upper[:-1]], 2) ** 0.5
    )
    drift = steps[upper] @ logs
    slope = float(np.polyfit(middle, drift, 1)[0]) if len(upper) > 2 else 0.0
    found = [steps]
    for part in range(1, finer.count - rows.count + 1):
        wanted = float(steps[-1] @ logs) + min(slope, 0.0) * part * np.log(2.0)
        low, high = -_FURTHEST, 0.0
        for _ in range(40):
            lean = (low + high) / 2
            law = law_of(steps[-1] * np.exp(lean * np.sign(logs)))
            low, high = (lean, high) if float(law @ logs) < wanted else (low, lean)
        found.append(law[None, :])
    return np.concatenate(found)


def _expected(held: list[Floats], shrink: Floats, grow: Floats) -> float:
    """The expected sum of something, given each unit's value of it if it stayed, shrank or grew."""
    stays, down, up = held
    return float(stays.sum() + shrink @ (down - stays) + grow @ (up - stays))


def _filled(laws: Floats) -> Floats:
    """No step of a direction is likely anywhere in a row that has none."""
    return np.asarray(laws + 1e-12)


@dataclass(frozen=True, eq=False)
class Odds:
    """Each unit's chances to shrink and to grow, and by how much it would, clamped."""

    shrink: Floats
    grow: Floats
    lost: Floats
    gained: Floats

    def held(self, up: float, down: float) -> tuple[Floats, Floats]:
        """Chances with odds tilted alike for all units, so that the expected clamped sums are as wanted."""
        tilt = np.zeros(2)
        for _ in range(30):
            shrink, grow = self._tilted(tilt)
            reached = np.array([float(grow @ self.gained), float(shrink @ self.lost)])
            off = np.log(np.maximum([up, down], 1.0)) - np.log(np.maximum(reached, 1.0))
            tilt = np.clip(tilt + off, -_FURTHEST, _FURTHEST)
            if float(np.abs(off).max()) < 1e-4:
                break
        return self._tilted(tilt)

    def with_far(self, lost: Floats, gained: Floats, targets: Targets, place: int) -> Odds:
        """Odds with which the year's steps, and what they have above their clamp, are as released."""
        odds, ends = self, (targets.flow_cap, targets.far_cap)
        far = [np.clip(one - ends[0], 0, ends[1] - ends[0]) for one in (lost, gained)]
        wanted: list[float] = []
        for _ in range(2):
            shrink, grow = odds.held(*targets.flows[place - 1])
            # What the law of steps tells of those beyond the clamp counts as well as their released sum.
            own = float(grow @ far[1]), float(shrink @ far[0])
            wanted = wanted or [
                joint(one, _ASTRAY * one, float(released), targets.far_open)[0]
                for one, released in zip(own, targets.far_flows[place - 1], strict=True)
            ]
            shrink, grow = Odds(shrink, grow, far[0], far[1]).held(*wanted)
            odds = Odds(shrink, grow, odds.lost, odds.gained)
        return odds

    def at(self, who: NDArray[np.bool_]) -> Odds:
        return Odds(self.shrink[who], self.grow[who], self.lost[who], self.gained[who])

    def leaning(self, held: list[Floats], missing: float) -> tuple[Floats, Floats]:
        """Chances with odds that lean one way, so that an expected sum moves by what is missing."""
        wanted = _expected(held, self.shrink, self.grow) + missing
        low, high = -_FURTHEST / 2, _FURTHEST / 2
        for _ in range(30):
            lean = (low + high) / 2
            shrink, grow = self._tilted(np.array([lean, -lean]))
            low, high = (lean, high) if _expected(held, shrink, grow) < wanted else (low, lean)
        return shrink, grow

    def _tilted(self, tilt: Floats) -> tuple[Floats, Floats]:
        grow = np.where(self.gained > 0, np.exp(tilt[0]), 1.0) * self.grow
        shrink = np.where(self.lost > 0, np.exp(tilt[1]), 1.0) * self.shrink
        total = np.maximum(1 - self.grow - self.shrink, 0) + grow + shrink
        return shrink / np.maximum(total, 1e-300), grow / np.maximum(total, 1e-300)
