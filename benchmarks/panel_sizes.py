"""From which ε on the formal limits of the kinney2007 study hold together, for panels of several sizes.

The limits are those of the study (`tacita_studies.kinney2007.rows`): employment within 5% and job creation within 15%
in 24 years, entry and exit rates of all years within 5%, a k-marginal of 900. Beside the draws stands the chance that
the forecast of the plan gives to all but the k-marginal, of which it does not speak: years for themselves, with errors
that are normal (of entries and exits Laplace) and have the median that was foretold.

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
from tacita.synthesis.panel.formal.foresight import flow_error, life_error, total_errors
from tacita_studies.kinney2007.facts import YEARS
from tacita_studies.kinney2007.figures import Figures, Floats, yearly
from tacita_studies.kinney2007.rows import LIMITS, WITHIN, limits_missed
from tacita_studies.kinney2007.simulation import ONE, Industry, formal_plan, schema

FILES = 5
SIZES, EPSILONS, DRAWS = "5000,20000,130000", "1,2,4,8,16,32,64", 3
ENDS = 0.05  # of an entry or exit rate


def foretold(plan: PanelSynthesis, industry: Industry, truth: Figures, there: Floats) -> float:
    """The chance that employment, job creation, entry and exit keep their limits, as the forecast has it; so many
    are there in each year."""
    layout, units = plan.layout(schema((industry,))), industry.establishments
    least = {bar.metric.partition(":")[0]: int(bar.least or 0) for bar in LIMITS}
    total = total_errors(layout, plan.promise, units)["employment"]
    created = flow_error(layout, plan.promise, units) / float(np.mean(truth.creation))
    chance = 1.0
    for name, error, years in (("employment", total, len(YEARS)), ("job creation", created, len(YEARS) - 1)):
        each = 2 * norm.cdf(WITHIN[name] / error * ndtri(0.75)) - 1
        chance *= float(binom.sf(least[name] - 1, years, each))
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
        truth, there = Figures.of(panel), (~np.isnan(yearly(panel, "emp"))).sum(axis=1)
        for epsilon in given.epsilons.split(","):
            plan, missed, held, begun = formal_plan(epsilon, FILES), Counter[str](), 0, time.process_time()
            chance = foretold(plan, industry, truth, there)
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
