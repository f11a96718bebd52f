"""All broken twins, and which check of the audit catches each.

Those of employer-employee tables and of two synthesizers are here, each made from the sound plan by one mistake.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np

from tacita.audit.drawn import law_findings
from tacita.audit.examples import (
    MAGNITUDE_SETTINGS,
    SLOW_SETTINGS,
    TABLE_SETTINGS,
    Example,
    examples,
    magnitude_plan,
    table_plan,
)
from tacita.audit.forced import Finding, force, opened
from tacita.audit.jobs import Form, job_files
from tacita.audit.panels import panel_files
from tacita.audit.twins_rows import Twin, row_twins
from tacita.data.workforce import Workforce
from tacita.errors import TacitaError
from tacita.mechanisms.eree import (
    EdgeLaplace,
    LogLaplace,
    SmoothLaplace,
    SmoothStaircase,
    SmoothStudent,
    SmoothVector,
    TruncatedLaplace,
)
from tacita.mechanisms.eree.staircase_design import least_noise
from tacita.mechanisms.magnitude import SmoothSums
from tacita.mechanisms.slow import SlowSums
from tacita.noise.entropy import Entropy, SeededEntropy
from tacita.noise.forcing import Tape
from tacita.privacy import Guarantee, PerRecord
from tacita.synthesis import PanelSynthesis, PseudoPosterior
from tacita.synthesis.panel.formal.budget import Budget
from tacita.synthesis.panel.formal.promise import Promise
from tacita.synthesis.panel.layout import Layout


def table_twins() -> tuple[Twin, ...]:
    def twin(name: str, of: str, mechanism: Callable[..., Any], setting: str, form: Form = "linked") -> Twin:
        plan = table_plan(mechanism, TABLE_SETTINGS[setting])
        return Twin(name, of, Example(name, plan, job_files(form, plan.guarantee.neighbours), adaptive=True))

    return (
        twin("noise a fifth too small", "SmoothStaircase", TooLittleNoise, "workplace"),
        twin("the scale has no floor", "SmoothStudent", NoFloor, "workplace"),
        twin("noise scaled to one class of workers", "SmoothStaircase", LocalSensitivity, "worker"),
        twin("every worker cell gets all of ε", "SmoothStaircase", BudgetNotShared, "two worker attributes"),
        twin("every worker cell gets all of ε, weakly", "LogLaplace", LogBudgetNotShared, "weak, worker"),
        twin("the margin of error is not paid for", "SmoothStudent", MarginNotPaid, "margin paid"),
        twin("a vector scaled to a part of the workforce", "SmoothVector", SizeOfOneClass, "worker"),
        twin("every worker cell may fail with all of δ", "SmoothLaplace", FailsTooOften, "two worker attributes"),
        twin("large establishments are not left out", "TruncatedLaplace", NothingDropped, "workplace"),
        twin("half of the noise", "EdgeLaplace", HalfOfTheNoise, "workplace"),
        twin("sizes are clamped for the scale only", "SmoothStaircase", _SizeClamp, "workplace", "size"),
        twin("a size that is also a code for missing", "SmoothStudent", _CodeInside, "workplace", "size"),
        twin("cells in which nobody works are left out", "TruncatedLaplace", _OccupiedCells, "workplace"),
        _magnitudes("every sum gets all of ε", EverySumGetsAll, "two numbers"),
        _slowly("a fifth less noise on a logarithm", LessOnTheScale),
        _slowly("noise for another offset", OtherOffset, offset="200"),
        _asymptotic(),
        _spent_twice(),
    )


class TooLittleNoise(SmoothStaircase):
    """The right law at 0.8 of its scale."""

    def _scales(self, largest: Any, k: Fraction) -> Any:
        numerator, denominator = super()._scales(largest, k)
        return 4 * numerator, 5 * denominator


class NoFloor(SmoothStudent):
    """S = α·largest, without the floor: an establishment's first worker multiplies the noise."""

    @property
    def floor(self) -> Fraction:
        return Fraction(1, 1000)


class LocalSensitivity(SmoothStaircase):
    """Noise scaled to what could change next, one class at a time, under the strong definition."""

    def deciding_size(self, counted: Workforce) -> Any:
        return counted.largest


class BudgetNotShared(SmoothStaircase):
    """Gives every worker cell the whole ε, as if they composed in parallel (theorem 7.5)."""

    def epsilon_per_cell(self, cells: int) -> Fraction:
        return self.epsilon * (1 - self.margin_share)


class LogBudgetNotShared(LogLaplace):
    """The same under the weak definition."""

    def epsilon_per_cell(self, cells: int) -> Fraction:
        return self.epsilon


class MarginNotPaid(SmoothStudent):
    """Measures the largest establishment on top of a budget already spent."""

    def epsilon_per_cell(self, cells: int) -> Fraction:
        return self.epsilon / cells


class SizeOfOneClass(SmoothVector):
    """Scales a vector's noise to a part of the workforce."""

    def _noisy(self, counted: Workforce, entropy: Entropy, law: Any, k: Fraction) -> Any:
        return super()._noisy(replace(counted, largest_total=counted.largest[:, 0]), entropy, law, k)


class FailsTooOften(SmoothLaplace):
    """Every worker cell may fail with the whole δ."""

    def unit(self, cells: int) -> Any:
        return super().unit(1)


class NothingDropped(TruncatedLaplace):
    """Scales noise to θ and forgets to leave larger establishments out."""

    @property
    def drops_above(self) -> None:
        return None


class HalfOfTheNoise(EdgeLaplace):
    """Worker-level noise of half the scale."""

    def scale(self, S: Fraction | int = 1) -> Fraction:
        return super().scale(S) / 2


class _SizeClamp(SmoothStaircase):
    def deciding_size(self, counted: Workforce) -> Any:
        return np.minimum(counted.largest, 20)


class _CodeInside(SmoothStudent):
    """Establishments of size 11 count as missing, so that the step from 10 or to 12 is one of 11."""

    def measure(self, exact_counts: Workforce, entropy: Entropy) -> Any:
        counts = np.where(exact_counts.counts == 11, 0, exact_counts.counts)
        return super().measure(replace(exact_counts, counts=counts), entropy)


class _OccupiedCells(TruncatedLaplace):
    def measure(self, exact_counts: Workforce, entropy: Entropy) -> Any:
        kept = exact_counts.counts.sum(axis=1) > 0
        values = np.zeros_like(exact_counts.counts)
        values[kept] = super().measure(replace(exact_counts, counts=exact_counts.counts[kept]), entropy)
        return values


class EverySumGetsAll(SmoothSums):
    """Pay and jobs of one firm, each with the whole ε, as if they could not change together."""

    def law(self) -> Any:
        return least_noise(self.alpha, self.budget)


def _magnitudes(name: str, mechanism: type[SmoothSums], setting: str) -> Twin:
    plan = magnitude_plan(mechanism, MAGNITUDE_SETTINGS["SmoothSums"][setting])
    return Twin(name, "SmoothSums", Example(name, plan, panel_files(plan.guarantee.neighbours), adaptive=True))


class OtherOffset(SlowSums):
    """The scale begins at ten times the offset of the promise, so that large numbers lie further apart on it."""

    @property
    def guarantee(self) -> Guarantee:
        promised = PerRecord(self.unit, self.scaling, offset=self.offset / 10, reference=self.reference)
        return replace(super().guarantee, neighbours=promised)


class LessOnTheScale(SlowSums):
    """A fifth less noise on the logarithm."""

    @property
    def variance(self) -> Fraction:
        return super().variance * Fraction(16, 25)


def _slowly(name: str, mechanism: type[SlowSums], **changed: str) -> Twin:
    plan = mechanism("0.5", unit="firm", **{**SLOW_SETTINGS["log"], **changed})
    return Twin(name, "SlowSums", Example(name, plan, panel_files(plan.guarantee.neighbours), adaptive=True))


class _SoldAsProved(PseudoPosterior):
    """An asymptotic claim that forgot to say so."""

    @property
    def guarantee(self) -> Guarantee:
        return replace(super().guarantee, holds="always")


def _asymptotic() -> Twin:
    (real,) = [one for one in examples() if one.name == "PseudoPosterior"]
    settings = {key: value for key, value in real.plan.describe().items() if key != "mechanism"}
    plan = _SoldAsProved(**{**settings, "neighbours": real.plan.neighbours})
    name = "an asymptotic claim sold as one that always holds"
    return Twin(name, "PseudoPosterior", Example(name, plan, real.files, adaptive=True))


@dataclass(frozen=True)
class _Twice(Promise):
    """Every question is given twice its share of ε."""

    def budget(self, layout: Layout, units: int) -> Budget:
        budget = super().budget(layout, units)
        return replace(budget, parts=tuple((name, 2 * part) for name, part in budget.parts))


class _SpentTwice(PanelSynthesis):
    @property
    def promise(self) -> Promise:
        return _Twice(self.epsilon, self.alpha)


def _spent_twice() -> Twin:
    real = next(one for one in examples() if one.name == "PanelSynthesis")
    plan = _SpentTwice(**{key: value for key, value in real.plan.describe().items() if key != "mechanism"})
    name = "every question is given twice its share"
    return Twin(name, "PanelSynthesis", Example(name, plan, real.files, adaptive=True))


_FAMILIES, _NEAR, _TIMES = 60, 8, 3000


@cache
def twins() -> tuple[Twin, ...]:
    return (*row_twins(), *table_twins())


def caught_by(twin: Twin, seed: int = 1) -> str | None:
    """The first check that finds what is wrong with a twin; None where all of them let it pass."""
    random = np.random.default_rng(seed)
    findings = _law(twin, random)
    for outcome in force(twin.example.plan, twin.example.files, random, families=_FAMILIES, near=_NEAR):
        if findings:
            break
        findings = outcome.findings
    return findings[0].check if findings else None


def _law(twin: Twin, random: np.random.Generator) -> tuple[Finding, ...]:
    data = opened(twin.example.plan, twin.example.files.family(random, 0).base, twin.example.files)
    if data is None:
        return ()
    tape = Tape(SeededEntropy(5))
    try:
        twin.example.plan.run(data, tape)
    except TacitaError:
        return ()
    return law_findings(tape.draws, times=_TIMES)
