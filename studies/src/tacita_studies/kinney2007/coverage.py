"""Do intervals from synthetic panels cover? Log employment on age and being part of a larger firm, pooled over years.

The truth is the regression in a panel so large that its own error does not matter. Every smaller panel from the same
law is synthesized; the regression is run on each file, with variances that allow for the years of one establishment
hanging together, and the answers are combined by the rule for the kind of files.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from tacita.implicates import Implicates
from tacita.inference import Estimate, combine_estimates, rule_for
from tacita_studies.harness.experiment import Experiment
from tacita_studies.harness.study import Settings
from tacita_studies.kinney2007.facts import YEARS
from tacita_studies.kinney2007.figures import Floats, yearly
from tacita_studies.kinney2007.methods import BusinessMethod
from tacita_studies.kinney2007.simulation import ONE, STATUSES, Industry

CONFIDENTIAL = "confidential panel"
COEFFICIENTS = ("intercept", "age", "part of a larger firm")
SIZE = 3_000
LARGE = 650_000
_PART = 130_000
_LARGE_SEED = 7_000_000  # far from the seeds of the panels


def regression(table: pa.Table) -> Estimate:
    """Establishments and years with anybody employed; an establishment is a cluster.

    A first year before the panel counts as the year before it.
    """
    jobs = yearly(table, "emp")
    used = np.nan_to_num(jobs) > 0
    years = np.asarray(YEARS, dtype=np.float64)[:, None]
    larger = 1.0 - pa.compute.equal(table["multiunit"], STATUSES[0]).cast(pa.float64()).to_numpy()
    age = years - table["firstyear"].to_numpy()
    design = np.stack([np.ones_like(jobs), age, np.broadcast_to(larger, jobs.shape)]) * used
    response = np.log(np.where(used, jobs, 1.0))
    bread = np.linalg.inv(np.einsum("ktn,ltn->kl", design, design))
    slopes = bread @ np.einsum("ktn,tn->k", design, response)
    scores = np.einsum("ktn,tn->kn", design, response - np.einsum("k,ktn->tn", slopes, design))
    units = int(used.any(axis=0).sum())
    middle = scores @ scores.T * units / (units - 1)
    return Estimate(slopes, bread @ middle @ bread, df=units - 1, names=COEFFICIENTS)


def combined(files: Implicates) -> Estimate:
    return combine_estimates([regression(table) for table in files.tables], rule_for(files.kind))


def law(establishments: int = LARGE) -> Floats:
    """The coefficients of the law that panels are drawn from."""
    parts = [min(_PART, establishments - start) for start in range(0, establishments, _PART)]
    means = [
        regression(Industry(ONE.sic3, ONE.sector, size).simulate(seed=_LARGE_SEED + at)).value
        for at, size in enumerate(parts)
    ]
    return np.average(means, axis=0, weights=parts)


@dataclass(frozen=True)
class RepeatedPanels(Experiment[dict[str, Estimate]]):
    """One panel for each number: the confidential answer and that of every method."""

    methods: tuple[BusinessMethod, ...]
    size: int

    def __call__(self, number: int) -> dict[str, Estimate]:
        industry = Industry(ONE.sic3, ONE.sector, self.size)
        panel = industry.simulate(seed=self.seed + 1 + number)
        estimates = {CONFIDENTIAL: regression(panel)}
        for method in self.methods:
            estimates[method.name] = combined(method.make(panel, industry, 1_000_003 * (self.seed + number)))
        return estimates


@dataclass(frozen=True)
class Coverage:
    """One coefficient: how often intervals cover, how long they are beside the confidential ones, how far off."""

    coefficient: str
    truth: float
    share: float
    length: float
    bias: float  # of the mean over panels, in standard errors of the confidential panel


def coverage(
    methods: Sequence[BusinessMethod], panels: int, size: int, large: int, chosen: Settings
) -> Mapping[str, tuple[Coverage, ...]]:
    """By method, the confidential panel first."""
    chosen.say("regressions: the law", 0, 1)
    truth = law(large)
    experiment = RepeatedPanels(tuple(methods), size, seed=chosen.seed)
    answers = experiment.all(panels, chosen.workers, chosen.say, "regressions: repeated panels")
    own = _widths([one[CONFIDENTIAL] for one in answers])
    error = np.sqrt(np.mean([one[CONFIDENTIAL].variances for one in answers], axis=0))
    covered = {}
    for name in answers[0]:
        estimates = [one[name] for one in answers]
        ends = [one.interval() for one in estimates]
        inside = np.mean([(low <= truth) & (truth <= high) for low, high in ends], axis=0)
        length = _widths(estimates) / own
        bias = (np.mean([one.value for one in estimates], axis=0) - truth) / error
        covered[name] = tuple(
            Coverage(*one)
            for one in zip(COEFFICIENTS, truth.tolist(), inside.tolist(), length.tolist(), bias.tolist(), strict=True)
        )
    return covered


def _widths(estimates: Sequence[Estimate]) -> Floats:
    return np.asarray(np.mean([np.subtract(*reversed(one.interval())) for one in estimates], axis=0))
