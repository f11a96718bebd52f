"""The methods of section 4: the paper's, the paper's drawn from the laws they name, peers, and bisection."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial

import numpy as np
import pandas as pd

from tacita.data.schema import Schema
from tacita.noise.entropy import SeededEntropy
from tacita.synthesis.panel.planes import quantile_planes
from tacita.synthesis.quantile import QuantileSynthesis
from tacita_studies.harness.results import in_words
from tacita_studies.kng import layouts
from tacita_studies.kng.budget import Kind, Slope
from tacita_studies.kng.chain import Gate
from tacita_studies.kng.paper import LAYOUTS, paper_guarantee, paper_synthesis, printed_cost
from tacita_studies.tran2023.peers.pmse import PublicFrame, pmse_mechanism
from tacita_studies.tran2023.section4 import FileMethod
from tacita_studies.tran2023.simulation import ORDER, Numbers, Variant, synthesize

NO_PRIVACY = "none: the synthetic file is made from the confidential rows without protection"
UPPER = {"x1": 1000.0, "x2": 1000.0, "x3": 2000.0}  # section 4.1; the lower bound is 0
MIDPOINTS_250 = tuple((place + 0.5) / 250 for place in range(250))
EPSILONS = ("1", "0.5")  # at which bisection takes part
VANISHING = "0.000000001"
AS_RUN, START_ONLY, HONEST = ", as run by the authors", ", as run, ε → 0", ", honest draw"
QUICK_GATE = Gate(rhat=1.05, ess=100.0, steps=200)  # for a study that ends in minutes; --full has the strict one
TEN, FEW, ONCE = 10, 4, 1  # most replicates of methods that take seconds, or minutes

_PRINTED_ROW = {
    ("stepwise", "fixed"): "Stepwise - Fixed",
    ("stepwise", "varying"): "Stepwise - Varying",
    ("sandwich", "fixed"): "Sandwich - Fixed",
    ("sandwich", "varying"): "Sandwich - Varying",
    ("plain", "varying"): "KNG",
}


def section4(gate: Gate) -> tuple[FileMethod, ...]:
    """Everybody who takes part in the simulation."""
    return (
        non_private(),
        non_private_fine(),
        *(bisection(epsilon) for epsilon in EPSILONS),
        *drawn_from_the_law(gate),
        pmse_peer(),
        *as_run_by_the_authors(),
        *start_values_only(),
    )


def on_variant(variant: Variant, gate: Gate) -> tuple[FileMethod, ...]:
    """Who meets a variant: bisection as it comes, and the others with the variant's own bounds."""
    peer = replace(pmse_peer(variant.upper), printed=None, most=FEW)
    return (non_private(), bisection("1", variant.upper), *drawn_from_the_law(gate, variant), peer)


def non_private() -> FileMethod:
    """The paper's first row, which every other row is held against."""
    name, file = "Non-private, 49 quantiles", "non-private-49"
    return FileMethod(name, file, "none", printed="Non-private", guarantee=NO_PRIVACY, make=_fitted)


def non_private_fine() -> FileMethod:
    """Pistner et al. (2018): 250 bins, each by its midpoint."""
    name, file = "Non-private, 250 quantiles", "non-private-250"
    return FileMethod(name, file, "none", guarantee=NO_PRIVACY, make=_fitted_fine, most=TEN)


def _fitted(training: pd.DataFrame, seed: int) -> pd.DataFrame:
    return synthesize(training, seed=seed)


def _fitted_fine(training: pd.DataFrame, seed: int) -> pd.DataFrame:
    return synthesize(training, seed=seed, quantiles=MIDPOINTS_250, evenly=True)


def bisection(epsilon: str, upper: Mapping[str, float] = UPPER) -> FileMethod:
    """Ours, as it comes: the order of the variables and their public bounds is all it is told."""
    promise = QuantileSynthesis(ORDER, epsilon, neighbours=layouts.ONE_RECORD).guarantee
    return FileMethod(
        f"Bisection, ε = {epsilon}",
        f"bisection-{epsilon}",
        "proved",
        epsilon,
        guarantee=f"{in_words(promise)}; every draw is exact; assumes: {'; '.join(promise.assumes)}; bounds and the "
        "file size are public",
        make=partial(_bisected, epsilon=epsilon, upper=upper),
    )


def _bisected(training: pd.DataFrame, seed: int, *, epsilon: str, upper: Mapping[str, float]) -> pd.DataFrame:
    plan = QuantileSynthesis(ORDER, epsilon, rows=len(training), neighbours=layouts.ONE_RECORD)
    variables = {
        name: {"type": "numeric", "role": "confidential", "lower": 0, "upper": most} for name, most in upper.items()
    }
    schema = Schema.from_dict({"dataset": {"identity": "tran2023", "unit": "record"}, "variables": variables})
    (made,) = plan.rehearse(training, schema, seed=seed).sample(m=1, seed=seed)
    return pd.DataFrame(made[list(ORDER)])


def drawn_from_the_law(gate: Gate, variant: Variant | None = None) -> tuple[FileMethod, ...]:
    """The paper's layouts with the right sensitivity, drawn from the laws they name at ε = 1.

    `gate` says what their chains must show before a plane is used.
    """
    draws = []
    for kind, slope in LAYOUTS:
        variables = layouts.simulation(kind, slope, gate=gate)
        if variant is not None:  # at their best: thresholds spaced by ratio lose less in heavy tails
            variables = _moved(layouts.simulation(kind, slope, spacing="ratio", gate=gate), variant)
        promise = layouts.synthesis_guarantee(variables, "1")
        draws.append(
            FileMethod(
                layout_name(kind, slope) + HONEST,
                f"{kind}-{slope}-honest",
                "honest",
                "1",
                guarantee=f"{in_words(promise)}; assumes: {'; '.join(promise.assumes)}",
                make=partial(_drawn, variables=variables),
                most=ONCE if kind == "plain" else FEW,
            )
        )
    return tuple(draws)


def _moved(
    variables: tuple[layouts.Variable, layouts.Variable, layouts.Variable], variant: Variant
) -> tuple[layouts.Variable, layouts.Variable, layouts.Variable]:
    """The same variables with the bounds and the predictors' boxes of a variant."""
    first, second, third = (replace(one, bounds=(0, int(variant.upper[one.name]))) for one in variables)
    sides = [(0, variant.box[name]) for name in ("x1", "x2")]
    return first, replace(second, box=(sides[0],)), replace(third, box=(sides[0], sides[1]))


def _drawn(training: pd.DataFrame, seed: int, *, variables: Sequence[layouts.Variable]) -> pd.DataFrame:
    return layouts.synthesize(training, variables, epsilon="1", rows=len(training), entropy=SeededEntropy(seed))


def pmse_peer(upper: Mapping[str, float] = UPPER) -> FileMethod:
    """Snoke and Slavković's mechanism, which is told the parametric form of the simulation, as in the paper."""
    return FileMethod(
        "pMSE mechanism (told the simulation's form)",
        "pmse-mechanism",
        "peer",
        "1",
        "pMSE Mechanism",
        guarantee="ε = 1 under one record added or removed, if its chains have converged (R-hat at most 1.1) and "
        "arithmetic is ideal; bounds, cells, the box of parameters and the file size are public",
        make=partial(_pmse, upper=upper),
        most=TEN,
    )


def _pmse(training: pd.DataFrame, seed: int, *, upper: Mapping[str, float]) -> pd.DataFrame:
    random = np.random.default_rng(seed)
    drawn = pmse_mechanism(training, "1", random, public=PublicFrame(rows=len(training), upper=upper))
    return drawn.synthesize(len(training), random)


def as_run_by_the_authors() -> tuple[FileMethod, ...]:
    """Paper mode: Metropolis-Hastings from a non-private start, the last state of a short chain released."""
    return tuple(
        FileMethod(
            layout_name(kind, slope) + AS_RUN,
            f"{kind}-{slope}-paper",
            "paper",
            "1",
            _PRINTED_ROW[kind, slope],
            guarantee="; ".join(paper_guarantee(kind, slope).assumes),
            make=partial(_chain, kind=kind, slope=slope, epsilon="1"),
            most=TEN,
            details=_true_costs(kind, slope),
        )
        for kind, slope in LAYOUTS
    )


def start_values_only() -> tuple[FileMethod, ...]:
    """The same chains with a budget of almost nothing: what they still get right is their start value."""
    return tuple(
        FileMethod(
            layout_name(kind, slope) + START_ONLY,
            f"{kind}-{slope}-start",
            "start only",
            VANISHING,
            guarantee="none: chain not converged, starts not private; a budget of 10⁻⁹ buys nothing, so all utility is "
            "the start",
            make=partial(_chain, kind=kind, slope=slope, epsilon=VANISHING),
            most=FEW,
        )
        for kind, slope in LAYOUTS
    )


def layout_name(kind: Kind, slope: Slope) -> str:
    return "Plain KNG" if kind == "plain" else f"{kind.capitalize()}, {slope} slope"


def _true_costs(kind: Kind, slope: Slope) -> dict[str, float]:
    """What the printed calibration would cost under both relations, if its chains had converged."""
    return {
        "true_epsilon_replace_one": float(printed_cost(kind, slope)),
        "true_epsilon_add_remove": float(printed_cost(kind, slope, neighbours=layouts.ONE_RECORD)),
    }


def _chain(training: pd.DataFrame, seed: int, *, kind: Kind, slope: Slope, epsilon: str) -> pd.DataFrame:
    return paper_synthesis(training, kind, slope, entropy=SeededEntropy(seed), epsilon=epsilon, start=_median_plane)


def _median_plane(predictors: Numbers, response: Numbers) -> Numbers:
    """The non-private start, by the study's own solver: the same plane as a linear programme's, sooner."""
    return np.asarray(quantile_planes(predictors, response, [0.5])[0])
