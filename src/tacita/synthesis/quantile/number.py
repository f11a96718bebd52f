"""One number of a group: its point masses, its own distribution, and how it goes with the numbers and categories before
it. Each step spends a part of what the steps before have left; released numbers alone decide which comes next.
Proof: quantile.md.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from math import prod, sqrt

import numpy as np
from numpy.typing import NDArray

from tacita.mechanisms.kng.line import levels_for
from tacita.noise.entropy import Entropy
from tacita.synthesis.quantile.budget import (
    ABUNDANT,
    ALONE,
    CELLS,
    CLOSE,
    CLOSENESS,
    CONNECTED,
    COUNTED,
    ENOUGH,
    FIRST,
    LOOK,
    MASSES,
    OCTAVES,
    OWN,
    PLAIN,
    SCALED,
    SCARCE,
    SPIKES,
    TOTAL,
    TOTALLED,
    conditional_levels,
    marginal_levels,
)
from tacita.synthesis.quantile.counting import Inside, enough_for_a_cell, measure_shares, pooled
from tacita.synthesis.quantile.design import Design
from tacita.synthesis.quantile.fitting import fit_conditional, fit_marginal
from tacita.synthesis.quantile.model import Fitted, Part
from tacita.synthesis.quantile.numeric import Marginal, Noise, NumericModel
from tacita.synthesis.quantile.octaves import Octaves, is_wide
from tacita.synthesis.quantile.own import Own
from tacita.synthesis.quantile.owning import (
    FAR,
    SEEN_BEFORE,
    candidates,
    count_octaves,
    held_to_one,
    look,
    masses_of,
    measure_ranks,
    measure_total,
    noise_of_total,
    quantiles,
    shown_masses,
)
from tacita.synthesis.quantile.ranks import Ranks
from tacita.synthesis.quantile.sharing import Shares
from tacita.synthesis.quantile.ties import spread_within_step
from tacita.synthesis.quantile.variables import Range

Floats = NDArray[np.float64]
Masses = tuple[tuple[float, float], ...]

_MINOR = 0.25  # of the records at point masses: with more, the rest is no reason to leave scores


def measure_number(inside: Inside, epsilon: Fraction) -> Fitted:
    """The released model of a number, for exactly ε."""
    return _Measuring(inside, epsilon).model()


class _Measuring:
    """The steps of one number. `left` is what they have not spent."""

    def __init__(self, inside: Inside, epsilon: Fraction) -> None:
        self.inside, self.variable, self.left = inside, inside.variable, epsilon
        self.column, self.label, self.entropy = inside.variable.column, inside.label, inside.entropy
        self.values = inside.columns[inside.variable.name]

    def model(self) -> Fitted:
        worth = self.inside.records * self.left
        # Counts of octaves show point masses too. In a large file these are found before, to be drawn apart.
        by_octaves = is_wide(self.column) and TOTALLED <= worth < ABUNDANT
        at_once = by_octaves and not self.variable.spikes and worth < SCALED * prod(self.variable.levels)
        masses = () if at_once else self._masses()
        worth = self.inside.records * self.left
        large = worth >= SCALED * prod(self.variable.levels)
        smooth = _share(masses) < _MINOR
        apart = bool(self.variable.spikes) or (large and self.variable.has_predictors and smooth)
        spikes = None
        if masses and apart:
            spikes, masses = self._spikes(masses)
        self.records, self.apart = int(self.inside.records * (1 - _share(masses))), spikes is not None
        # Where point masses are drawn apart, only the other records go on to regressions.
        self.free = np.ones(self.inside.rows, dtype=np.bool_) if spikes is None else ~self._at(masses)
        # Records that differ in a kept column must not trade their parts of a step.
        self.spread = spread_within_step(self.values, self.column.step, self.inside.record, self.entropy, self.label)
        by_planes = self.variable.has_predictors and (apart or not masses) and not self.column.folds
        seen = own = None
        if large and worth < ABUNDANT and (by_planes or by_octaves):
            seen = self._look(masses, apart=spikes is not None)
            own = self._by_planes(seen) if by_planes else None
        if own is None:
            by_octaves = by_octaves and (seen is None or (seen.has_heavy_tail and seen.spans_octaves))
            find = self._by_octaves if by_octaves else self._own
            masses, own = find(masses, worth, apart=spikes is not None)
            scored = worth < ABUNDANT or not smooth or own.has_long_tail or self.column.folds
            own = replace(own, scored=scored)
        elif own.has_heavy_tail:
            own = self._with_total(own, PLAIN)  # on a scale of ratios planes know little of what a mean hangs on
        if not self.left:
            return Fitted(spikes, (), own)
        parts, ranks = self._dependence(own)
        return Fitted(spikes, parts, own, ranks)

    def _paid(self, share: Fraction) -> Fraction:
        """A share of what is left, which is thereby spent."""
        paid = self.left * share
        self.left -= paid
        return paid

    def _at(self, masses: Masses) -> NDArray[np.bool_]:
        return np.isin(self.values, [value for value, _ in masses])

    def _masses(self) -> Masses:
        """Declared ones, or those that are found among a few public values."""
        if self.variable.spikes:
            return tuple((value, 0.0) for value in self.variable.spikes)
        paid = min(self.left * COUNTED, Fraction(ENOUGH, 1 << self.inside.records.bit_length()))
        self.left -= paid
        label = f"{self.label}, values"
        return masses_of(self.values, self.column, paid, self.inside.records, self.entropy, label)

    def _spikes(self, masses: Masses) -> tuple[Shares, Masses]:
        """Which point mass, or none, in each cell of the predictors; and the shares of the whole that this gives."""
        outcome = np.full(self.inside.rows, len(masses))
        for place, (value, _) in enumerate(masses):
            outcome[self.values == value] = place
        label = f"{self.label}, point masses"
        shares = measure_shares(self.inside, outcome.astype(np.float64), len(masses) + 1, self._paid(SPIKES), label)
        counts = np.maximum(shares.counts.sum(axis=0, dtype=np.int64), 0)
        found = (counts / max(int(counts.sum(dtype=np.int64)), 1)).tolist()
        return shares, held_to_one(tuple((value, one) for (value, _), one in zip(masses, found[:-1], strict=True)))

    def _look(self, masses: Masses, *, apart: bool) -> Own:
        """Seven quantiles, which say what is worth measuring next."""
        label, others = f"{self.label}, look", self.spread[~self._at(masses)]
        own = look(others, self.column, self.variable.tail, self._paid(LOOK), self.records, self.entropy, label)
        return replace(own, masses=masses, apart=apart)

    def _by_planes(self, own: Own) -> Own | None:
        """The range that a look sets for planes, or None where the number has long tails, ends at a limit that many
        share, differs by ratio on a scale of differences, or does not stay close to one of its predictors: ranks then
        lose less.
        """
        by_ratio = self.column.scale == "identity" and is_wide(self.column) and own.spans_octaves
        if own.has_long_tail or own.has_edge or by_ratio:
            return None
        if self.variable.numbers:
            paid = self._paid(CLOSENESS)
            scored = replace(own, scored=True)
            ranks = self._ranks(scored.score(self.values)[self.free], scored.above, paid, "closeness to")
            if ranks.closest < CLOSE:
                return None
        return own

    def _own(self, masses: Masses, worth: Fraction, *, apart: bool) -> tuple[Masses, Own]:
        """The number's own distribution, which its files will have."""
        # Of a number that few records have, its middle is what can be learnt; half the budget would not find it.
        scarce = self.records * self.left * OWN < SCARCE
        connected = worth >= CONNECTED and self.variable.has_predictors and not (masses and scarce)
        added = worth >= TOTALLED and (connected or not scarce)
        paid = self._paid(OWN if connected else FIRST if added else Fraction(1))
        if masses and not apart:
            # Noise may have made a point mass where none is; it does not do so twice.
            label = f"{self.label}, point masses"
            counted = self.inside.records, self.entropy, label, SEEN_BEFORE
            again = dict(masses_of(self.values, self.column, paid * MASSES, *counted))
            masses = tuple((value, again[value]) for value, _ in masses if value in again)
            self.records = int(self.inside.records * (1 - _share(masses)))
            paid -= paid * MASSES
        others, tail, label = self.spread[~self._at(masses)], self.variable.tail, f"{self.label}, own"
        curve, noise = quantiles(others, self.column, tail, paid, self.records, self.entropy, label)
        own = Own(self.column, curve, noise, ranked=True, scored=False, masses=masses, apart=apart)
        return masses, self._totalled(own, connected) if added else own

    def _by_octaves(self, masses: Masses, worth: Fraction, *, apart: bool) -> tuple[Masses, Own]:
        """The same of a number with wide bounds, from counts of octaves."""
        connected = worth >= CONNECTED and self.variable.has_predictors
        paid = self._paid(OCTAVES if connected else ALONE)
        others = ~self._at(masses) if apart else np.ones(self.inside.rows, dtype=np.bool_)
        likely = () if apart else candidates(self.column)
        octaves = Octaves.of(self.column, self.records * paid)
        label = f"{self.label}, octaves"
        at, noisy = count_octaves(self.spread[others], self.values[others], likely, octaves, paid, self.entropy, label)
        if not apart:
            masses = shown_masses(likely, at.tolist(), paid, self.inside.records, further=FAR)
            self.records = int(self.inside.records * (1 - _share(masses)))
            for value, one in zip(likely, at.tolist(), strict=True):
                if value not in dict(masses):
                    noisy[octaves.place(np.array([value]))] += one
        found = octaves.curve(noisy, float(1 / paid), self.records, self.variable.tail)
        if found is None:
            return self._own(masses, self.inside.records * self.left, apart=apart)
        curve, parts = found
        levels = levels_for(curve.shares.size)
        noise = Noise(float(self.records), 0.0, 0.0, (float(paid) * 2 / sqrt(max(parts, 4)),) * levels)
        own = Own(self.column, curve, noise, ranked=True, scored=False, masses=masses, apart=apart)
        # Quantiles know more of where in an octave values lie, where there are records enough for several.
        if not own.spans_octaves and self.records * self.left * OWN >= 2 * SCARCE:
            return self._own(masses, self.inside.records * self.left, apart=apart)
        return masses, self._totalled(own, connected)

    def _totalled(self, own: Own, connected: bool) -> Own:
        """With what all records add up to, unless its quantiles say more of its mean than a noisy total would."""
        if not connected:
            return self._with_total(own, Fraction(1))
        share = TOTAL
        if not own.has_heavy_tail:
            # As much as it takes to know half as little as quantiles leave open.
            noise = noise_of_total(own, self.left, self.inside.records, self.inside.stays)
            share = min(max(Fraction(2 * noise).limit_denominator(64), PLAIN), TOTAL)
            if noise > float(share) and not own.has_tail:
                return own
        return self._with_total(own, share)

    def _with_total(self, own: Own, share: Fraction) -> Own:
        records, paid = self.inside.records, self._paid(share)
        pin = measure_total(self.values, own, paid, records, self.inside.stays, self.entropy, self.label)
        return replace(own, total=(pin, records))

    def _dependence(self, own: Own) -> tuple[tuple[Part, ...], Ranks | None]:
        """Quantiles or planes in each combination of categorical predictors, and rank tables with numeric ones."""
        released = self.inside.released
        varying = bool(self.variable.numbers) and bool(np.ptp(released, axis=0).any() if len(released) else False)
        by_ranks = own.scored and varying
        share = Fraction(1) if not by_ranks else CELLS if self.variable.levels else Fraction(0)
        parts, middle = self._parts(own, self._paid(share))
        if not by_ranks:
            return parts, None
        # Within cells of categorical predictors, scores are counted from their middle.
        response = own.score(self.values)[self.free] - middle[self.free]
        above = 0.5 if parts else own.above
        return parts, self._ranks(response, above, self._paid(Fraction(1)), "ranks with", parts)

    def _parts(self, own: Own, epsilon: Fraction) -> tuple[tuple[Part, ...], Floats]:
        """A model for each combination of categorical predictors, small ones together, and each record's middle."""
        middle = np.zeros(self.inside.rows)
        if not epsilon:
            return (), middle
        response, released = own.response(self.spread), self.inside.released
        numbers, _ = self.inside.predictors
        if own.scored:
            released = released[:, :0]
        several = bool(self.variable.levels)
        cell, drafted = self.inside.cells
        sizes = np.bincount(drafted, minlength=prod(self.variable.levels)) if several else np.ones(1)
        expected = np.rint(float(self.records) * sizes / max(sizes.sum(), 1)).astype(np.int64)
        parts = []
        for cells in pooled(expected, enough_for_a_cell(epsilon), several):
            here = self.free & np.isin(cell, cells) if several else self.free
            known = released[np.isin(drafted, cells)] if several else released
            size = int(expected[cells].sum())
            model, noise = _number(
                response[here], numbers[here], known, own.range, epsilon, size, self.entropy, self.label
            )
            parts.append(Part(tuple(cells) if several else (), model, noise))
            if isinstance(model, Marginal):
                middle[here] = model.middle
        return tuple(parts), middle

    def _ranks(
        self, response: Floats, above: float, epsilon: Fraction, what: str, parts: tuple[Part, ...] = ()
    ) -> Ranks:
        ours, released = self.inside.scores
        # Files have ranks within each part: only how predictors vary there moves them.
        _, drafted = self.inside.cells
        members = [np.isin(drafted, one.cells) for one in parts if one.cells]
        labels = [f"{self.label}, {what} {one.name}" for one in self.variable.numbers]
        scored, stays = self.inside.has_scores, self.inside.stays
        # Point masses that are not drawn apart have ranks as well.
        numbers, records = ours[self.free], self.records if self.apart else self.inside.records
        ranks = measure_ranks(response, numbers, released, scored, above, epsilon, records, stays, self.entropy, labels)
        return ranks.within(released, members)


def _share(masses: Masses) -> float:
    return sum(share for _, share in masses)


def _number(
    y: Floats,
    numbers: Floats,
    released: Floats,
    bounds: Range,
    epsilon: Fraction,
    records: int,
    entropy: Entropy,
    label: str,
) -> tuple[NumericModel, Noise]:
    design = Design.of(released) if released.shape[1] and len(released) else None
    if design is None or design.directions == 0:
        levels = marginal_levels(epsilon, records)
        model: NumericModel = fit_marginal(y, bounds, levels.halvings, entropy, label)
    else:
        levels = conditional_levels(epsilon, records)
        model = fit_conditional(
            y, numbers, design, bounds, levels.plane, levels.scale, levels.halvings, entropy, label, records=records
        )
    noise = Noise(float(records), float(levels.plane), float(levels.scale), tuple(float(e) for e in levels.halvings))
    return model, noise
