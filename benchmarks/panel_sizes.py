"""From which ε on the formal limits of the kinney2007 study hold together, for panels of several sizes.

The limits are those of the study (`tacita_studies.kinney2007.rows`): employment within 5% and job creation within 15%
in 24 years, entry and exit rates of all years within 5%, a k-marginal of 900. Beside the draws stands the chance that
the forecast of the plan gives to all but the k-marginal, of which it does not speak: errors that are normal (of entries
and exits Laplace) and have the median that was foretold for units as unlike, and that move as far, as these. Half of
the variance of employment is the same in all years; otherwise they are for themselves.

    python benchmarks/panel_sizes.py [--sizes 5000,20000] [--epsilons 16,32] [--draws 3] [--reduced]
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter

import numpy as np
from scipy.special import ndtri
from scipy.stats import binom, norm

from tacita.synthesis.panel import PanelSynthesis
from tacita.synthesis.panel.formal.foresight import flow_error, life_error, total_errors, usual_flow
from tacita_studies.accuracy.foretold_files import skewness
from tacita_studies.kinney2007.facts import YEARS
from tacita_studies.kinney2007.figures import Figures, Floats, yearly
from tacita_studies.kinney2007.rows import LIMITS, WITHIN, limits_missed
from tacita_studies.kinney2007.simulation import ONE, Industry, formal_plan, schema

FILES = 5
SIZES, EPSILONS, DRAWS = "5000,20000,130000", "1,2,4,8,16,32,64", 3
ENDS = 0.05  # of an entry or exit rate
_PLACES = 200  # of a normal law, for a mean over it


def foretold(plan: PanelSynthesis, industry: Industry, truth: Figures, sizes: Floats) -> float:
    """The chance that employment, job creation, entry and exit keep their limits, as the forecast has it."""
    there = (~np.isnan(sizes)).sum(axis=1)
    layout, units = plan.layout(schema((industry,))), industry.establishments
    least = {bar.metric.partition(":")[0]: int(bar.least or 0) for bar in LIMITS}
    width = skewness(np.nansum(sizes, axis=0))
    usual, gained = usual_flow(), float(np.median(truth.creation))
    total = total_errors(layout, plan.promise, units, width=width)["employment"]
    created = flow_error(layout, plan.promise, units, width=width, moving=gained / usual) / gained
    chance = 1.0
    for name, error, years, same in (("employment", total, YEARS, 0.5), ("job creation", created, YEARS[1:], 0.0)):
        deviation = error / ndtri(0.75)
        level = deviation * same**0.5 * ndtri((np.arange(_PLACES) + 0.5) / _PLACES)
        ends = (np.array([[-1.0], [1.0]]) * WITHIN[name] - level) / (deviation * (1 - same) ** 0.5)
        each = norm.cdf(ends[1]) - norm.cdf(ends[0])
        chance *= float(binom.sf(least[name] - 1, len(years), each).mean())
    for rate in (truth.entry, truth.exit):
        room = ENDS * rate * there[1:]
        chance *= float(np.prod(1 - 0.5 ** (room / life_error(plan.promise, layout, units))))
    return chance


def _say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def main() -> None:
    asked = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    asked.add_argument("--sizes", default=SIZES)
    asked.add_argument("--epsilons", default=EPSILONS)
    asked.add_argument("--draws", type=int, default=DRAWS)
    asked.add_argument("--reduced", action="store_true", help="one draw of 5,000 establishments at ε = 16")
    given = asked.parse_args()
    if given.reduced:
        given.sizes, given.epsilons, given.draws = "5000", "16", 1
    _say("| establishments | ε | draws in which all limits hold | the forecast | limits missed | processor s |")
    _say("| --- | --- | --- | --- | --- | --- |")
    for size in map(int, given.sizes.split(",")):
        industry = Industry(ONE.sic3, ONE.sector, size)
        panel = industry.simulate(seed=2007)
        truth, employment = Figures.of(panel), yearly(panel, "emp")
        for epsilon in given.epsilons.split(","):
            plan, missed, held, begun = formal_plan(epsilon, FILES), Counter[str](), 0, time.process_time()
            chance = foretold(plan, industry, truth, employment)
            for draw in range(given.draws):
                files = plan.rehearse(panel, schema((industry,)), seed=draw).implicates
                broken = limits_missed([Figures.of(one) for one in files.tables], truth)
                missed.update(broken)
                held += not broken
            said = ", ".join(f"{name} ({count})" for name, count in missed.most_common())
            spent = time.process_time() - begun
            _say(f"| {size:,} | {epsilon} | {held} of {given.draws} | {chance:.0%} | {said} | {spent:.0f} |")


if __name__ == "__main__":
    main()
